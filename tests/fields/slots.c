/* The arena and the base case of a call: homes of buffers, contents, runs.  Used by choice.c and by the suites of fields. */
#include "fields/slots.h"

#include <ctype.h>

#include "harness/buffer.h"

enum { ROOM = FIELDS_ROOM, MOST_STRUCT = 1024, HOST_BYTES = 1 << 16,
       BEHIND = 20 * ROOM };  /* for what families place behind the last home */

struct test_device fields_device;
quern_device *fields_other_device;
const char *fields_operation;
struct slot fields_slots[MOST_SLOTS];
int fields_slot_count;

/* Memory with the contents before a run, after it, and after the base case.  What a refused call left need not be written again. */
struct space {
    char *memory;
    size_t bytes, used;
    unsigned char *before, *base;
    const unsigned char *after;
    bool holds_before;
};

static struct buffer buffer;        /* the arena's memory */
static struct space arena, host;
static _Alignas(64) char host_memory[HOST_BYTES];
static char kept[MOST_PARTS][MOST_STRUCT];

/* ---- memory ---- */

static void make_images(struct space *space) {
    space->before = zeroed(2 * space->bytes);
    space->base = space->before + space->bytes;
    space->used = space->bytes;
}

void fields_open(unsigned operations) {
    device_open(&fields_device, 0, NULL);
    check_ok(quern_prepare(fields_device.quern, operations));
    fields_operation = operations == QUERN_ADAM ? "adam" : operations == QUERN_QUANTIZE ? "quantize" : "cross_entropy";
    if (fields_device.kind == QUERN_CPU) check_ok(quern_set_threads(fields_device.quern, 1, NULL, NULL));
    check_ok(quern_device_open(fields_device.kind, 0, &fields_other_device));
    check_ok(quern_prepare(fields_other_device, QUERN_BARRIER));
    if (fields_device.kind == QUERN_CPU) check_ok(quern_set_threads(fields_other_device, 1, NULL, NULL));
    buffer_open(&buffer, &fields_device, FIELDS_ARENA, 0, NULL);
    arena = (struct space){.memory = buffer.data, .bytes = FIELDS_ARENA};
    host = (struct space){.memory = host_memory, .bytes = HOST_BYTES};
    make_images(&arena);
    make_images(&host);
}

void fields_use(void *memory) {
    buffer_close(&buffer);
    buffer_borrow(&buffer, &fields_device, memory, FIELDS_ARENA);
    arena.memory = buffer.data;
}

void *fields_arena(void) { return arena.memory; }

void fields_close(void) {
    free(arena.before);
    free(host.before);
    buffer_close(&buffer);
    quern_device_close(fields_other_device);
    device_close(&fields_device);
}

static struct space *space_of(const void *pointer) {
    const uintptr_t offset = (uintptr_t)pointer - (uintptr_t)host.memory;
    return offset < host.bytes ? &host : &arena;
}

void *fields_image(const void *pointer) {
    struct space *space = space_of(pointer);
    const uintptr_t offset = (uintptr_t)pointer - (uintptr_t)space->memory;
    check(offset < space->used, "%p is no buffer of the call", pointer);
    space->holds_before = false;
    return space->before + offset;
}

const void *fields_result(const void *pointer) {
    const struct space *space = space_of(pointer);
    return space->after + ((const char *)pointer - space->memory);
}

void fields_floats(const void *pointer, int64_t count, float value) {
    for (int64_t i = 0; i < count; i++) memcpy((char *)fields_image(pointer) + i * 4, &value, sizeof value);
}

void fields_bytes(const void *pointer, size_t bytes, int value) { memset(fields_image(pointer), value, bytes); }

static bool is_on_gpu(const struct space *space) { return space == &arena && fields_device.kind == QUERN_CUDA; }

static void write_space(struct space *space) {
    if (space->holds_before) return;
    if (is_on_gpu(space)) buffer_write(&buffer, space->before);
    else memcpy(space->memory, space->before, space->used);
}

void fields_write(void) {
    write_space(&host);
    write_space(&arena);
}

static void read_space(struct space *space) {
    space->after = is_on_gpu(space) ? buffer_read(&buffer) : (const unsigned char *)space->memory;
    space->holds_before = !memcmp(space->after, space->before, space->used);
}

bool fields_are_unchanged(void) { return arena.holds_before && host.holds_before; }

bool fields_are_as_in_base_case(void) {
    return !memcmp(arena.base, arena.after, arena.used) && !memcmp(host.base, host.after, host.used);
}

/* FNV-1a, of words. */
static uint64_t digest_of(const struct space *space, uint64_t digest) {
    for (size_t i = 0; i + sizeof digest <= space->used; i += sizeof digest) {
        uint64_t word;
        memcpy(&word, space->after + i, sizeof word);
        digest = (digest ^ word) * 0x100000001b3;
    }
    return digest;
}

uint64_t fields_digest(void) { return digest_of(&host, digest_of(&arena, 0xcbf29ce484222325)); }

bool fields_changed(const struct slot *slot) {
    const struct space *space = space_of(slot->home);
    const size_t offset = (size_t)(slot->home - space->memory);
    return memcmp(space->before + offset, space->after + offset, (size_t)slot->bytes) != 0;
}

/* ---- slots ---- */

static const struct record *record_in(const struct record *record, const char *name) {
    if (same_text(record->name, name)) return record;
    for (int i = 0; i < record->count; i++) {
        const struct record *found = record->fields[i].record ? record_in(record->fields[i].record, name) : NULL;
        if (found) return found;
    }
    return NULL;
}

const struct record *fields_record_of(const char *name) {
    for (int i = 0; i < header_function_count; i++) {
        const struct record *found = header_functions[i].record ? record_in(header_functions[i].record, name) : NULL;
        if (found) return found;
    }
    cr_assert_fail("the header has no %s", name);
    return NULL;
}

static void list_part(const struct part *part) {
    const struct record *record = fields_record_of(part->type);
    const struct rule *const *rule = part->rules;
    for (int i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        if (field->kind == SIZE) continue;
        check(fields_slot_count < MOST_SLOTS, "more fields than expected");
        const char *letters = (*rule)->letters;
        check(!letters[1] || (size_t)part->column < strlen(letters), "%s.%s has too few letters", part->type, field->name);
        fields_slots[fields_slot_count++] = (struct slot){
            .field = field, .rule = *rule, .part = part, .place = (char *)part->self + field->offset, .stays = (*rule)->stays,
            .letter = letters[1] ? letters[part->column] : letters[0]};
        rule++;
    }
}

static void list_slots(const struct call *call) {
    fields_slot_count = 0;
    for (const struct part *part = call->parts; part->type; part++) list_part(part);
}

/* A buffer in the middle of a room: there is as much space on both sides. */
static void send_home(struct slot *slot, struct space *space, size_t *used) {
    *used += ROOM;
    slot->home = space->memory + *used;
    slot->in_arena = space == &arena;
    *used += ROOM;
    check(*used + ROOM <= space->bytes, "the buffers do not fit");
    memcpy(slot->place, &slot->home, sizeof slot->home);
}

static void send_all_home(void) {
    size_t in_arena = 0, in_host = 0;
    for (int i = 0; i < fields_slot_count; i++) {
        struct slot *slot = &fields_slots[i];
        if (slot->field->kind != MEMORY || !slot->rule->alignment || !strchr("RrWwxanpP", slot->letter)) continue;
        if (slot->rule->host_calls >> slot->part->column & 1 && fields_device.kind == QUERN_CUDA) send_home(slot, &host, &in_host);
        else send_home(slot, &arena, &in_arena);
    }
    arena.used = in_arena + BEHIND < arena.bytes ? in_arena + BEHIND : arena.bytes;
    host.used = in_host + ROOM;
}

struct slot *fields_slot_named(const char *name) {
    for (int i = 0; i < fields_slot_count; i++)
        if (same_text(fields_slots[i].field->name, name)) return &fields_slots[i];
    return NULL;
}

static void share(const struct call *call) {
    if (!call->shared) return;
    struct slot *shared = fields_slot_named(call->shared), *other = fields_slot_named(call->other);
    check(shared && other, "%s has no %s or no %s", call->name, call->shared, call->other);
    memcpy(other->place, &shared->home, sizeof shared->home);
    other->letter = '.';
    shared->letter = 'W';
    shared->stays = true;
}

static void measure(void) {
    for (int i = 0; i < fields_slot_count; i++) {
        struct slot *slot = &fields_slots[i];
        if (slot->rule->alignment) slot->alignment = slot->rule->alignment(slot->part->self, slot->part->parent);
        if (slot->field->extent) slot->bytes = slot->field->extent(slot->part->self, slot->part->parent).bytes;
        if (!slot->home) continue;
        check(slot->bytes >= 0 && slot->bytes <= ROOM, "%s has %lld bytes", fields_path(slot), (long long)slot->bytes);
    }
}

static size_t part_bytes(const struct part *part) { return fields_record_of(part->type)->bytes; }

static void keep(const struct call *call) {
    for (int i = 0; i < MOST_PARTS && call->parts[i].type; i++) {
        check(part_bytes(&call->parts[i]) <= MOST_STRUCT, "%s is too large", call->parts[i].type);
        memcpy(kept[i], call->parts[i].self, part_bytes(&call->parts[i]));
    }
}

void fields_restore(const struct call *call) {
    for (int i = 0; i < MOST_PARTS && call->parts[i].type; i++)
        memcpy(call->parts[i].self, kept[i], part_bytes(&call->parts[i]));
}

static const char *path_with(const char *prefix, const struct slot *slot) {
    static char paths[4][128];
    static int next;
    const char *name = slot->rule->called ? slot->rule->called : slot->field->name;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s%s", prefix, name);
    return paths[next];
}

const char *fields_path(const struct slot *slot) { return path_with(slot->part->prefix, slot); }

const char *fields_other_path(const struct slot *slot) {
    return path_with(slot->part->other_prefix ? slot->part->other_prefix : slot->part->prefix, slot);
}

static bool has_word(const char *text, const char *word) {
    for (const char *at = text; (at = strstr(at, word)); at++) {
        const char before = at == text ? ' ' : at[-1], behind = at[strlen(word)];
        if (!isalnum(before) && before != '_' && !isalnum(behind) && behind != '_') return true;
    }
    return false;
}

bool fields_names(const char *detail, const struct slot *slot) {
    return has_word(detail, fields_path(slot)) || has_word(detail, fields_other_path(slot));
}

/* ---- calls ---- */

static const struct function *function_of(const struct call *call) {
    for (int i = 0; i < header_function_count; i++)
        if (same_text(header_functions[i].name, call->function)) return &header_functions[i];
    cr_assert_fail("the header has no %s", call->function);
    return NULL;
}

/* A function that returns the length of a text writes the detail in the place of an explanation. */
static quern_status status_of_text(const struct record *parameters, const void *self) {
    const char *text;
    memcpy(&text, (const char *)self + parameters->fields[parameters->count - 2].offset, sizeof text);
    return text && !strcmp(text, error_detail()) ? (quern_status)FIELDS_TOLD : QUERN_OK;
}

quern_status fields_run(const struct call *call) {
    const struct function *function = function_of(call);
    fields_write();
    const uint64_t result = function->call(call->parts[0].self);
    quern_status status = (quern_status)result;
    if (function->result == LENGTH) status = status_of_text(function->record, call->parts[0].self);
    else check(function->result == STATUS, "%s returns no status", call->function);
    if (status == QUERN_OK && call->after) call->after(call);
    device_synchronize(&fields_device);
    read_space(&host);
    read_space(&arena);
    return status;
}

/* The workspace that the call needs is in the detail of a refusal. */
static void size_workspace(const struct call *call) {
    for (int i = 0; i < fields_slot_count; i++) {
        struct slot *slot = &fields_slots[i];
        size_t needed = 0;
        if (slot->field->kind != INTEGER || !same_text(slot->field->name, "workspace_bytes")) continue;
        memcpy(slot->place, &needed, sizeof needed);
        if (fields_run(call) == QUERN_OK) continue;
        check(sscanf(error_detail(), "workspace_bytes is 0: expected at least %zu", &needed) == 1, "%s: %s", call->name,
              error_detail());
        memcpy(slot->place, &needed, sizeof needed);
    }
}

void fields_begin(const struct call *call) {
    fill_pattern(arena.before, arena.bytes);
    fill_pattern(host.before, host.bytes);
    arena.holds_before = host.holds_before = false;
    for (int i = 0; i < MOST_PARTS && call->parts[i].type; i++) memset(call->parts[i].self, 0, part_bytes(&call->parts[i]));
    call->set(call);
    list_slots(call);
    send_all_home();
    share(call);
    call->fill(call);
    fields_write();
    if (call->size) call->size(call);
    size_workspace(call);
}

void fields_prepare(const struct call *call) {
    fields_begin(call);
    fields_choose(call);
    measure();
    keep(call);
    const quern_status status = fields_run(call);
    check(status == QUERN_OK, "%s: %s: %s", call->name, quern_status_string(status), error_detail());
    memcpy(arena.base, arena.after, arena.used);
    memcpy(host.base, host.after, host.used);
}
