/*
 * What follows from the rules of a call: its ignored fields, illegal values, alignments and overlaps.  Used by the suites of
 * fields.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "fields/slots.h"
#include "harness/check.h"

/* ---- one change to the base case ---- */

static void put(const struct slot *slot, const void *value) {
    memcpy(slot->place, value, slot->field->bytes);
}

static void put_pointer(const struct slot *slot, uintptr_t address) {
    memcpy(slot->place, &address, sizeof address);
}

static uintptr_t pointer_at(const struct slot *slot) {
    uintptr_t address;
    memcpy(&address, slot->place, sizeof address);
    return address;
}

static bool is_pointer(const struct slot *slot) {
    const enum kind kind = slot->field->kind;
    return kind == STRUCTS || kind == MEMORY || kind == HANDLE || kind == HANDLES || kind == TEXT || kind == CALLBACK;
}

static void put_number(const struct slot *slot, int64_t number) {
    memcpy(slot->place, &number, slot->field->bytes);
}

static void put_real(const struct slot *slot, double real) {
    const float narrow = (float)real;
    put(slot, slot->field->bytes == sizeof narrow ? (const void *)&narrow : &real);
}

static int64_t number_at(const struct slot *slot) {
    int64_t number = 0;
    memcpy(&number, slot->place, slot->field->bytes);
    return number;
}

static bool is_text(const struct call *call) {
    return strstr(call->function, "_explain") != NULL;
}

/* ---- what a call may answer ---- */

static void expect_base_case(const struct call *call, const struct slot *slot, const char *what) {
    const quern_status status = fields_run(call);
    check(status == QUERN_OK, "%s: %s %s: %s: %s", call->name, fields_path(slot), what, quern_status_string(status),
          error_detail());
    check(fields_are_as_in_base_case(), "%s: %s %s changes the outputs", call->name, fields_path(slot), what);
    fields_restore(call);
}

static void expect_success(const struct call *call, const struct slot *slot, const char *what) {
    const quern_status status = fields_run(call);
    check(status == QUERN_OK, "%s: %s %s: %s: %s", call->name, fields_path(slot), what, quern_status_string(status),
          error_detail());
    fields_restore(call);
}

static void expect_refusal(const struct call *call, const struct slot *slot, quern_status expected, const char *what) {
    const quern_status status = fields_run(call);
    const bool is_told = is_text(call) && (int)status == FIELDS_TOLD;
    check(status == expected || is_told, "%s: %s %s: %s instead of %s: %s", call->name, fields_path(slot), what,
          quern_status_string(status), quern_status_string(expected), status ? error_detail() : "");
    check(fields_names(error_detail(), slot), "%s: %s %s: the detail names another field: %s", call->name, fields_path(slot), what,
          error_detail());
    check(is_told || fields_are_unchanged(), "%s: %s %s: the refused call wrote", call->name, fields_path(slot), what);
    fields_restore(call);
}

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
    if (slot->field->kind == REAL) put_real(slot, slot->field->bytes == sizeof(float) && kind == 3 ? 3e38 : reals[kind]);
    else if (is_pointer(slot)) put_pointer(slot, pointers[kind]);
    else if (slot->field->kind != STRUCT) put_number(slot, numbers[kind]);
}

static void walk_ignored_alone(const struct call *call, const struct slot *slot) {
    for (int kind = 0; kind < RUBBISH; kind++) {
        char what[32];
        snprintf(what, sizeof what, "with rubbish %d", kind);
        put_rubbish(slot, kind);
        expect_base_case(call, slot, what);
    }
}

static bool is_ignored(const struct slot *slot) {
    return strchr("-n", slot->letter) != NULL;
}

/* Strides of ignored pointers keep their values: they must be valid if the pointer is not NULL. */
static void walk_ignored(const struct call *call) {
    const struct slot *last = NULL;
    for (int i = 0; i < fields_slot_count; i++)
        if (is_ignored(&fields_slots[i])) walk_ignored_alone(call, last = &fields_slots[i]);
    if (!last) return;
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *slot = &fields_slots[i];
        if (is_ignored(slot) && is_pointer(slot)) put_pointer(slot, UINTPTR_MAX - 1000u * (unsigned)i);
    }
    expect_base_case(call, last, "and all other ignored pointers with rubbish");
}

/* ---- illegal values ---- */

static bool is_legal(const struct rule *rule, int value) {
    for (size_t i = 0; i < rule->legal_count; i++)
        if (rule->legal[i] == value) return true;
    return false;
}

static void refuse_number(const struct call *call, const struct slot *slot, int64_t number, quern_status status) {
    char what[48];
    snprintf(what, sizeof what, "is %lld", (long long)number);
    put_number(slot, number);
    expect_refusal(call, slot, status, what);
}

static void walk_choices(const struct call *call, const struct slot *slot) {
    const struct field *field = slot->field;
    const int base = (int)number_at(slot);
    if (slot->rule->legal_count) {
        for (int value = -1; value < 20; value++)
            if (!is_legal(slot->rule, value)) refuse_number(call, slot, value, QUERN_INVALID_DTYPE);
            else if (slot->letter == 'C' && value != base) refuse_number(call, slot, value, QUERN_INVALID_ARGUMENT);
        refuse_number(call, slot, INT_MIN, QUERN_INVALID_DTYPE);
        return;
    }
    const int last = field->kind == ENUM ? field->values[field->value_count - 1] : 1;
    refuse_number(call, slot, -1, QUERN_INVALID_ARGUMENT);
    refuse_number(call, slot, last + 1, QUERN_INVALID_ARGUMENT);
    refuse_number(call, slot, INT_MIN, QUERN_INVALID_ARGUMENT);
    if (slot->letter == 'C') refuse_number(call, slot, !base, QUERN_INVALID_ARGUMENT);
}

static void walk_values(const struct call *call, const struct slot *slot) {
    for (size_t i = 0; i < slot->rule->illegal_count; i++) {
        const struct illegal *illegal = &slot->rule->illegal[i];
        const int64_t base = illegal->is_relative ? number_at(slot) : 0;
        char what[48];
        if (illegal->calls && illegal->calls[slot->part->column] != 'x') continue;
        if (illegal->is_relative && !base) continue;
        if (slot->field->kind == REAL) put_real(slot, illegal->real);
        else put_number(slot, base + illegal->number);
        if (slot->field->kind == REAL) snprintf(what, sizeof what, "is %g", illegal->real);
        else snprintf(what, sizeof what, "is %lld", (long long)(base + illegal->number));
        expect_refusal(call, slot, illegal->status, what);
    }
}

/* A list of memory may be empty, and a workspace may have no bytes. */
static bool is_empty(const struct slot *slot) {
    return slot->home && !slot->bytes;
}

/* A call without handles has no foreign ones either. */
static void walk_foreign(const struct call *call, const struct slot *slot) {
    put(slot, slot->rule->foreign);
    if (pointer_at(slot)) expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "is of another device");
    else fields_restore(call);
}

static void walk_illegal(const struct call *call) {
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *slot = &fields_slots[i];
        const enum kind kind = slot->field->kind;
        if (strchr("cC", slot->letter)) {
            if (kind == ENUM || kind == FLAG) walk_choices(call, slot);
            walk_values(call, slot);
        }
        if (slot->letter == '0') {
            if (is_pointer(slot)) put_pointer(slot, 64);
            else put_number(slot, 1);
            expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "is not 0");
        }
        if (slot->rule->foreign) walk_foreign(call, slot);
        if (slot->letter == 's' && fields_device.kind == QUERN_CPU) {
            put_pointer(slot, 64);
            expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "is not NULL");
        }
        if (strchr("RWxa", slot->letter) && !is_empty(slot)) {
            put_pointer(slot, 0);
            expect_refusal(call, slot, QUERN_NULL_POINTER, "is NULL");
        }
    }
}

/* ---- what is left out, and what a call writes ---- */

static void walk_optional(const struct call *call) {
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *slot = &fields_slots[i];
        if (!strchr("rw", slot->letter)) continue;
        put_pointer(slot, 0);
        expect_success(call, slot, "is NULL");
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

static void walk_alignment(const struct call *call) {
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *slot = &fields_slots[i];
        if (!strchr("RrWwxa", slot->letter) || slot->alignment < 2 || is_empty(slot)) continue;
        for (size_t offset = 1; offset < slot->alignment; offset *= 2) {
            char what[64];
            snprintf(what, sizeof what, "is moved by %zu bytes", offset);
            put_pointer(slot, pointer_at(slot) + offset);
            expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, what);
        }
    }
}

/* ---- overlaps ---- */

enum meeting { APART, BOTH_READ, REFUSED_PAIR };

static bool is_written(const struct slot *slot) {
    return strchr("WwxP", slot->letter);
}

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

static uintptr_t align_down(const struct slot *slot, uintptr_t address) {
    return address - address % slot->alignment;
}

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

static void refuse_overlap(const struct call *call, const struct slot *moved, const struct slot *slot, int where) {
    static const char *const names[] = {"beginning", "middle", "end"};
    char what[160];
    snprintf(what, sizeof what, "over the %s of %s", names[where], fields_path(slot));
    put_pointer(moved, over(moved, slot, where));
    expect_refusal(call, moved, QUERN_INVALID_ARGUMENT, what);
    const bool is_fixed = strchr("pP", slot->letter) != NULL;
    const bool is_named = is_fixed ? strstr(error_detail(), "args.plan") != NULL : fields_names(error_detail(), slot);
    check(strstr(error_detail(), "overlaps") && is_named, "%s: %s %s: %s", call->name, fields_path(moved), what, error_detail());
}

/* Beside each other buffers may lie; what was a third one's place is then read for another purpose, and may be refused as such. */
static void accept_neighbours(const struct call *call, const struct slot *moved, const struct slot *slot, uintptr_t place) {
    if (call->contents_end_group && fields_device.kind == QUERN_CUDA && !is_written(moved)) return;
    put_pointer(moved, place);
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
        put_pointer(inner, (uintptr_t)outer->home);
        put_pointer(moved, place);
        expect_refusal(call, moved, QUERN_INVALID_ARGUMENT, "over the end of a buffer that has another one inside");
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
    walk_optional(call);
    walk_alignment(call);
    walk_overlaps(call);
    walk_nested(call);
}
