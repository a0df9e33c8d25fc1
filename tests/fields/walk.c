/*
 * What follows from the rules of a call: its ignored fields, illegal values, alignments and overlaps.  Used by the suites of
 * fields.
 */
#include "fields/change.h"
#include "fields/walks.h"

/* ---- ignored fields ---- */

static uintptr_t written_buffer(void) {
    for (int i = 0; i < fields_slot_count; i++)
        if (fields_slots[i].home && strchr("Ww", fields_slots[i].letter)) return (uintptr_t)fields_slots[i].home;
    return 64;
}

enum { RUBBISH = 5 };

static void put_rubbish(const struct slot *slot, int kind) {
    static const double reals[RUBBISH] = {NAN, -INFINITY, -1, 1e300, 0};
    static const int64_t numbers[RUBBISH] = {-1, INT64_MIN, INT64_MAX, 1, 0};
    const uintptr_t pointers[RUBBISH] = {UINTPTR_MAX, 1, written_buffer() + 1, written_buffer(), 64};
    if (slot->field->kind == REAL) fields_put_real(slot, slot->field->bytes == sizeof(float) && kind == 3 ? 3e38 : reals[kind]);
    else if (fields_is_pointer(slot)) fields_put_pointer(slot, pointers[kind]);
    else if (slot->field->kind != STRUCT) fields_put_number(slot, numbers[kind]);
}

static void walk_ignored_alone(const struct call *call, const struct slot *slot) {
    for (int kind = 0; kind < RUBBISH; kind++) {
        char what[32];
        snprintf(what, sizeof what, "with rubbish %d", kind);
        put_rubbish(slot, kind);
        fields_expect_base_case(call, slot, what);
    }
}

static bool is_ignored(const struct slot *slot) { return strchr("-n", slot->letter) != NULL; }

/* Strides of ignored pointers keep their values: they must be valid if the pointer is not NULL. */
static void walk_ignored(const struct call *call) {
    const struct slot *last = NULL;
    for (int i = 0; i < fields_slot_count; i++)
        if (is_ignored(&fields_slots[i])) walk_ignored_alone(call, last = &fields_slots[i]);
    if (!last) return;
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *slot = &fields_slots[i];
        if (is_ignored(slot) && fields_is_pointer(slot)) fields_put_pointer(slot, UINTPTR_MAX - 1000u * (unsigned)i);
    }
    fields_expect_base_case(call, last, "and all other ignored pointers with rubbish");
}

/* ---- illegal values ---- */

/* A list of memory may be empty, and a workspace may have no bytes. */
static bool is_empty(const struct slot *slot) { return slot->home && !slot->bytes; }

/* A call without handles has no foreign ones either. */
static void walk_foreign(const struct call *call, const struct slot *slot) {
    fields_put(slot, slot->rule->foreign);
    if (fields_pointer_at(slot)) fields_expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "was made for another device");
    else fields_restore(call);
}

static bool is_workspace(const struct slot *slot) { return same_text(slot->field->name, "workspace"); }

static void walk_illegal_pointer(const struct call *call, const struct slot *slot) {
    if (slot->rule->foreign) walk_foreign(call, slot);
    if (slot->letter == 's' && fields_device.kind == QUERN_CPU) {
        fields_put_pointer(slot, 64);
        fields_expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "is not NULL: a CPU device has no streams");
    }
    if (!strchr("RWxa", slot->letter) || is_empty(slot)) return;
    fields_put_pointer(slot, 0);
    if (is_workspace(slot))
        fields_expect_refusal(call, slot, QUERN_NULL_POINTER, "is NULL: expected %lld bytes", (long long)slot->bytes);
    else fields_expect_refusal(call, slot, QUERN_NULL_POINTER, "is NULL");
}

static void walk_illegal(const struct call *call) {
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *slot = &fields_slots[i];
        if (strchr("cC", slot->letter)) fields_walk_values(call, slot);
        else if (slot->letter == '0') fields_walk_unused(call, slot);
        if (fields_is_pointer(slot)) walk_illegal_pointer(call, slot);
    }
}

/* What works on a device needs the operation there.  A plan of this device would be refused before. */
static void walk_unprepared(const struct call *call) {
    const struct slot *device = fields_slot_named("device"), *plan = fields_slot_named("plan");
    char detail[128];
    if (call->has_no_cpu_kernel && fields_device.kind == QUERN_CPU) return;
    if (!device || call->is_of_ranks || !fields_slot_named("stream") || (plan && fields_pointer_at(plan))) return;
    snprintf(detail, sizeof detail, "%s is not prepared on %s: call quern_prepare first", fields_operation,
             fields_device.kind == QUERN_CPU ? "cpu" : "cuda:0");
    fields_put(device, &fields_other_device);
    fields_refuse(__LINE__, QUERN_NOT_PREPARED, detail);
}

/* ---- what is left out, and what a call writes ---- */

static void walk_optional(const struct call *call) {
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *slot = &fields_slots[i];
        if (!strchr("rw", slot->letter)) continue;
        fields_put_pointer(slot, 0);
        fields_expect_success(call, slot, "is NULL");
        check(slot->letter != 'w' || !fields_changed(slot), "%s: %s is NULL, and its old place was written", call->name,
              fields_path(slot));
    }
}

static void check_written(const struct call *call) {
    check(fields_run(call) == QUERN_OK, "%s: %s", call->name, error_detail());
    for (int i = 0; i < fields_slot_count && !call->keeps_outputs; i++) {
        const struct slot *slot = &fields_slots[i];
        if (!slot->home || !slot->bytes) continue;
        check(!strchr("Rrxanp", slot->letter) || !fields_changed(slot), "%s wrote %s", call->name, fields_path(slot));
        if (call->scratch && same_text(call->scratch, slot->field->name)) continue;
        check(!strchr("Ww", slot->letter) || fields_changed(slot), "%s did not write %s", call->name, fields_path(slot));
    }
}

/* ---- alignment ---- */

static void refuse_misaligned(const struct call *call, const struct slot *slot) {
    const bool is_of_list = strchr(slot->part->prefix, '[') != NULL;
    if (is_workspace(slot)) fields_expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "is not at a multiple of 16 bytes");
    else if (is_of_list) fields_expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "is not at a multiple of its element's size");
    else fields_expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "is not at a multiple of %zu bytes, the size of its elements",
                               slot->alignment);
}

static void walk_alignment(const struct call *call) {
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *slot = &fields_slots[i];
        if (!strchr("RrWwxa", slot->letter) || slot->alignment < 2 || is_empty(slot)) continue;
        for (size_t offset = 1; offset < slot->alignment; offset *= 2) {
            fields_put_pointer(slot, fields_pointer_at(slot) + offset);
            refuse_misaligned(call, slot);
        }
    }
}

/* ---- overlaps ---- */

enum meeting { APART, BOTH_READ, REFUSED_PAIR };

static bool is_written(const struct slot *slot) { return strchr("WwxP", slot->letter); }

static bool allows(const struct slot *slot, const struct slot *other) {
    return slot->rule->may_overlap && same_text(slot->rule->may_overlap, other->field->name);
}

/* Only buffers whose memory the call uses and compares with others. */
static bool is_compared(const struct slot *slot) {
    return slot->home && slot->in_arena && slot->bytes && slot->alignment && strchr("RrWwxpP", slot->letter);
}

static enum meeting meeting_of(const struct slot *moved, const struct slot *slot) {
    if (moved == slot || !is_compared(moved) || !is_compared(slot) || strchr("pP", moved->letter) || moved->stays)
        return APART;
    if (allows(moved, slot) || allows(slot, moved) || (moved->rule == slot->rule && moved->rule->is_shared)) return APART;
    return is_written(moved) || is_written(slot) ? REFUSED_PAIR : BOTH_READ;
}

static uintptr_t align_down(const struct slot *slot, uintptr_t address) { return address - address % slot->alignment; }

/* The places at which the moved buffer covers the least of the other one's beginning, its middle, or the least of its end. */
static uintptr_t over(const struct slot *moved, const struct slot *slot, int where) {
    const uintptr_t at = (uintptr_t)slot->home;
    const uintptr_t places[] = {at - (uintptr_t)moved->bytes + moved->alignment, at + (uintptr_t)slot->bytes / 2,
                                at + (uintptr_t)slot->bytes - 1};
    return align_down(moved, places[where]);
}

/* The nearest places at which they only touch. */
static uintptr_t beside(const struct slot *moved, const struct slot *slot, int where) {
    const uintptr_t at = (uintptr_t)slot->home;
    return align_down(moved, where ? at + (uintptr_t)slot->bytes + moved->alignment - 1 : at - (uintptr_t)moved->bytes);
}

static bool tells(const struct slot *first, const struct slot *second, const char *format) {
    char text[2][300];
    const bool is_fixed = strchr("pP", second->letter) != NULL;
    snprintf(text[0], sizeof text[0], format, is_fixed ? "an array of args.plan" : fields_path(second));
    snprintf(text[1], sizeof text[1], format, fields_other_path(second));
    return fields_says(first, text[0]) || fields_says(first, text[1]);
}

/* Of two buffers of which one is written that one is named first, but in an item of a list and in a transfer. */
static bool tells_overlap(const struct slot *one, const struct slot *other) {
    static const char format[] = " overlaps %s: expected separate memory", of_item[] = " overlaps %s",
                      of_transfer[] = " and %s overlap: expected that what is received overlaps nothing";
    if (one->part == other->part && strchr(one->part->prefix, '[') && (tells(one, other, of_item) || tells(other, one, of_item)))
        return true;
    if (same_text(one->part->type, "quern_transfer_item")) return tells(one, other, of_transfer) || tells(other, one, of_transfer);
    return (is_written(one) && tells(one, other, format)) || (is_written(other) && tells(other, one, format)) ||
           (strchr("pP", other->letter) && tells(one, other, format));
}

static void refuse_overlap(const struct call *call, const struct slot *moved, const struct slot *slot, int where) {
    static const char *const names[] = {"beginning", "middle", "end"};
    char what[160];
    snprintf(what, sizeof what, "over the %s of %s", names[where], fields_path(slot));
    fields_put_pointer(moved, over(moved, slot, where));
    fields_expect_naming(call, moved, QUERN_INVALID_ARGUMENT, what);
    check(tells_overlap(moved, slot), "%s: %s %s: %s", call->name, fields_path(moved), what, error_detail());
}

/* Beside each other buffers may lie; what was a third one's place is then read for another purpose, and may be refused as such. */
static void accept_neighbours(const struct call *call, const struct slot *moved, const struct slot *slot, uintptr_t place) {
    if (call->contents_end_group && fields_device.kind == QUERN_CUDA && !is_written(moved)) return;
    fields_put_pointer(moved, place);
    const quern_status status = fields_run(call);
    check(status == QUERN_OK || !strstr(error_detail(), "overlaps"), "%s: %s beside %s: %s", call->name, fields_path(moved),
          fields_path(slot), error_detail());
    fields_restore(call);
}

static void walk_overlaps(const struct call *call) {
    for (int i = 0; i < fields_slot_count; i++)
        for (int j = 0; j < fields_slot_count; j++) {
            const struct slot *moved = &fields_slots[i], *slot = &fields_slots[j];
            const enum meeting meeting = meeting_of(moved, slot);
            if (meeting == APART) continue;
            if (meeting == REFUSED_PAIR)
                for (int where = 0; where < 3; where++) refuse_overlap(call, moved, slot, where);
            else
                accept_neighbours(call, moved, slot, over(moved, slot, 2));
            for (int where = 0; where < 2; where++) accept_neighbours(call, moved, slot, beside(moved, slot, where));
        }
}

/* A shorter buffer that is read lies legally within a longer one, and what is written over the end of the longer one is refused. */
static void refuse_over_outer(const struct call *call, const struct slot *inner, const struct slot *outer) {
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *moved = &fields_slots[i];
        if (meeting_of(moved, outer) != REFUSED_PAIR || !is_written(moved)) continue;
        const uintptr_t place = over(moved, outer, 2);
        if (place < (uintptr_t)(outer->home + inner->bytes)) continue;
        fields_put_pointer(inner, (uintptr_t)outer->home);
        fields_put_pointer(moved, place);
        fields_expect_naming(call, moved, QUERN_INVALID_ARGUMENT, "over the end of a buffer that has another one inside");
        check(fields_names(error_detail(), outer), "%s: %s", call->name, error_detail());
    }
}

static void walk_nested(const struct call *call) {
    for (int i = 0; i < fields_slot_count; i++)
        for (int j = 0; j < fields_slot_count; j++) {
            const struct slot *inner = &fields_slots[i], *outer = &fields_slots[j];
            if (meeting_of(inner, outer) == BOTH_READ && !strchr("pP", outer->letter) && inner->bytes < outer->bytes)
                refuse_over_outer(call, inner, outer);
        }
}

/* ---- all ---- */

void fields_walk(const struct call *call) {
    fields_prepare(call);
    if (call->shared) {
        walk_overlaps(call);
        return;
    }
    check_written(call);
    walk_ignored(call);
    walk_illegal(call);
    walk_unprepared(call);
    walk_optional(call);
    walk_alignment(call);
    walk_overlaps(call);
    walk_nested(call);
    if (fields_device.kind == QUERN_CPU) fields_walk_structs(call);
    const bool is_of_cublas = fields_device.kind == QUERN_CUDA && fields_slot_named("blas");  /* which refuses some dtypes itself */
    if (!call->is_of_ranks && !is_of_cublas) fields_walk_mixtures(call);
}

void fields_walk_each(const struct call *const *lists, size_t count, void (*end)(void)) {
    for (size_t i = 0; i < count; i++)
        for (const struct call *call = lists[i]; call->name; call++) {
            fields_walk(call);
            if (end) end();
        }
}
