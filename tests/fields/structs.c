/*
 * The sizes with which structs begin.  Those that the initialisers set and those of older headers are taken, all others refused.
 * What an older struct lacks counts as 0, and what lies behind it is not read.
 */
#include "fields/change.h"
#include "fields/walks.h"

enum { MARK = 0x51550000, MARK_BITS = 16 };

/* Structs that have grown: their first size, without a mark, and where the fields began that it lacks. */
static const struct {
    const char *type;
    size_t oldest, fields;
} grown[] = {
#define ENDED_BEFORE(type, field) {#type, offsetof(type, field), offsetof(type, field)}
    ENDED_BEFORE(quern_cross_entropy_args, strict_labels), ENDED_BEFORE(quern_accumulate_args, main_dtype),
    ENDED_BEFORE(quern_gradient_norm_args, grads),
    ENDED_BEFORE(quern_quantize_args, scaling), ENDED_BEFORE(quern_group_args, first_timeout),
    {"quern_adam_args", offsetof(quern_adam_args, amsgrad), offsetof(quern_adam_args, eps_mode)},  /* padding in its place */
};

struct sized {
    struct slot slot;      /* of the size */
    uint32_t known;
    size_t oldest, fields; /* known: the struct has not grown */
};

static bool is_marked(uint32_t size) { return size >> MARK_BITS == MARK >> MARK_BITS; }

static uint32_t bytes_of(uint32_t size) { return is_marked(size) ? size - MARK : size; }

static bool is_taken(const struct sized *sized, uint32_t size) {
    const uint32_t bytes = bytes_of(size), most = is_marked(size) ? sized->known : sized->known - 1;
    return bytes % sizeof(void *) == 0 && bytes >= sized->oldest && bytes <= most;
}

static void refuse_size(const struct call *call, const struct sized *sized, uint32_t size) {
    const uint32_t bytes = bytes_of(size);
    fields_put(&sized->slot, &size);
    if (bytes > sized->known || is_marked(size))
        fields_expect_refusal(call, &sized->slot, QUERN_INVALID_STRUCT_SIZE, "is that of %u bytes: expected %u%s", bytes,
                              sized->known, bytes > sized->known ? " (was the program compiled against a newer quern.h?)" : "");
    else
        fields_expect_refusal(call, &sized->slot, QUERN_INVALID_STRUCT_SIZE, "is %u%s: expected the size with the mark and the "
                              "defaults, as the struct's _INIT macro and _init function set them", size,
                              size == sized->known ? ", a plain sizeof" : "");
}

static void take_older(const struct call *call, const struct sized *sized, uint32_t size) {
    const uint32_t bytes = bytes_of(size);
    const size_t end = bytes == sized->oldest ? sized->fields : bytes;
    char *const rest = (char *)sized->slot.place + end;
    memset(rest, 0, sized->known - end);
    const quern_status expected = fields_run(call);
    const uint64_t digest = fields_digest();
    fields_put(&sized->slot, &size);
    memset(rest, 0xEE, sized->known - end);
    const quern_status status = fields_run(call);
    check(status == expected && fields_digest() == digest, "%s: %u bytes of an older %s: %s instead of %s: %s", call->name, bytes,
          sized->slot.part->type, quern_status_string(status), quern_status_string(expected), error_detail());
    fields_restore(call);
}

static void try_size(const struct call *call, const struct sized *sized, uint32_t size) {
    if (!is_taken(sized, size)) refuse_size(call, sized, size);
    else if (bytes_of(size) < sized->known) take_older(call, sized, size);
}

static void walk_part(const struct call *call, const struct part *given, const struct record *record) {
    static const struct rule no_rule = {.letters = "."};
    char prefix[64];
    struct part part = *given;
    struct sized sized = {.slot = {.field = record->fields, .rule = &no_rule, .part = &part, .place = part.self},
                          .known = record->bytes, .oldest = record->bytes, .fields = record->bytes};
    snprintf(prefix, sizeof prefix, "%s.", part.type);
    part.other_prefix = prefix;
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++)
        if (same_text(grown[i].type, part.type) && !part.parent) sized.oldest = grown[i].oldest, sized.fields = grown[i].fields;
    for (uint32_t size = 0; size <= sized.known + 16; size++) try_size(call, &sized, size), try_size(call, &sized, MARK + size);
    const uint32_t strange[] = {MARK - 0x10000 + sized.known, MARK + 0x10000 + sized.known, 0x80000000 + sized.known, UINT32_MAX,
                                MARK + 0xFFFF, sized.known << 16, MARK >> 16};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) try_size(call, &sized, strange[i]);
}

void fields_walk_structs(const struct call *call) {
    for (const struct part *part = call->parts; part->type; part++) {
        const struct record *record = fields_record_of(part->type);
        if (record->fields[0].kind == SIZE) walk_part(call, part, record);
    }
}
