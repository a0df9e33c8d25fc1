/*
 * Several fields at once, with values that a generator of random numbers chooses: the call returns a status with a reason, writes
 * nothing if it refuses, and does not crash.
 */
#include <limits.h>

#include "fields/change.h"
#include "fields/walks.h"
#include "harness/random.h"

/* A draw of the round: reproducible by the call, the round and the purpose. */
static uint64_t draw(uint64_t round, int purpose, uint64_t below) {
    return random_bits(33, round * 64 + (uint64_t)purpose) % below;
}

static void put_some_number(const struct slot *slot, uint64_t round, int purpose) {
    const int64_t base = fields_number_at(slot);
    const int64_t some[] = {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, -1, -100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, (int64_t)1 << 32,
                            base - 1, base + 1, base / 2, 2 * base};
    fields_put_number(slot, some[draw(round, purpose, sizeof some / sizeof *some)]);
}

static void put_some_real(const struct slot *slot, uint64_t round, int purpose) {
    static const double some[] = {0, 1, 0.5, -1, 1e-30, 3e38, 1e300, -0.0, (double)NAN, (double)INFINITY};
    fields_put_real(slot, some[draw(round, purpose, sizeof some / sizeof *some)]);
}

/* NULL, within an element, or the memory of another buffer. */
static void put_some_pointer(const struct slot *slot, uint64_t round, int purpose) {
    const struct slot *other = &fields_slots[draw(round, purpose, (uint64_t)fields_slot_count)];
    const char *const place = other->home ? other->home : slot->home;
    const uintptr_t some[] = {0, (uintptr_t)slot->home + (slot->alignment > 1), (uintptr_t)place};
    fields_put_pointer(slot, some[draw(round, purpose + 1, sizeof some / sizeof *some)]);
}

static void put_something(const struct slot *slot, uint64_t round, int purpose) {
    const enum kind kind = slot->field->kind;
    if (kind == REAL) put_some_real(slot, round, purpose);
    else if (kind == INTEGER || kind == FLAG || kind == ENUM) put_some_number(slot, round, purpose);
    else if (kind == MEMORY && slot->home && slot->alignment) put_some_pointer(slot, round, purpose);
}

void fields_walk_mixtures(const struct call *call) {
    const uint64_t rounds = (uint64_t)test_size(1000, 100);
    uint64_t refused = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        const int changes = 1 + (int)draw(round, 0, 4);
        for (int i = 0; i < changes; i++)
            put_something(&fields_slots[draw(round, 4 * i + 1, (uint64_t)fields_slot_count)], round, 4 * i + 2);
        const quern_status status = fields_is_safe() ? fields_run(call) : QUERN_OK;
        const bool is_refused = status != QUERN_OK, is_told = (int)status == FIELDS_TOLD;
        refused += is_refused;
        check(is_told || status < 3000, "%s, round %d: %s: %s", call->name, (int)round, quern_status_string(status),
              error_detail());
        check(!is_refused || strlen(error_detail()) > 0, "%s, round %d: a refusal without a reason", call->name, (int)round);
        check(!is_refused || is_told || fields_are_unchanged(), "%s, round %d: the refused call wrote: %s",
              call->name, (int)round, error_detail());
        fields_restore(call);
    }
    check(refused > 0 && refused < rounds, "%s: %d of %d refused", call->name, (int)refused, (int)rounds);
}
