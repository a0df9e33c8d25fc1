/*
 * A master in two halves: a bf16 parameter and its remainder.  On every row with such a pair, the result must equal that of the
 * same row with an fp32 master.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam.
 */
#include <math.h>

#include "harness/adam_case.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/adam_value.h"

/* The row with the same types but an fp32 master; NULL if the table has no such row. */
static const struct quern_kernel *with_whole_master(const struct quern_kernel *remainder) {
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row))
        if (row->key.adam.param == QUERN_BF16 && row->key.adam.grad == remainder->key.adam.grad
            && row->key.adam.m == remainder->key.adam.m && row->key.adam.v == remainder->key.adam.v
            && row->key.adam.master == QUERN_F32 && row->key.adam.full == remainder->key.adam.full)
            return row;
    return NULL;
}

static void set_grads(struct adam_problem *problem, int64_t step) {
    for (int64_t place = 0; place < problem->args.tensor_count; place++)
        for (int64_t i = 0; i < problem->tensors[place].count; i++)
            adam_set_value(problem, place, ARENA_GRAD, i, random_normal((uint64_t)(50 * step + place), (uint64_t)i));
}

/* The halves and the whole master, each on its row: the same masters and moments, bit for bit, after every step. */
TEST_ADAM_ROWS(adam_remainder, many_steps_lose_nothing) {
    const struct quern_kernel *other = row->key.adam.master == QUERN_REMAINDER ? with_whole_master(row) : NULL;
    if (!other) return;
    static const int64_t counts[] = {300, 7, 33};
    OPEN_ROW(whole_device, other);
    const quern_adam_args args = adam_args_of(row), whole_args = adam_args_of(other);
    struct adam_problem halves CLOSED_BY(adam_free), whole CLOSED_BY(adam_free);
    adam_make(&halves, &args, counts, COUNT(counts));
    adam_make(&whole, &whole_args, counts, COUNT(counts));
    for (int64_t step = 1; step <= test_size(200, 6); step++) {
        halves.args.step = whole.args.step = step;
        set_grads(&halves, step), set_grads(&whole, step);
        adam_run(device, &halves);
        adam_run(&whole_device, &whole);
        for (size_t place = 0; place < COUNT(counts); place++)
            for (int64_t i = 0; i < counts[place]; i++) {
                const double of_halves = adam_value_at(&halves, (int64_t)place, ARENA_MASTER, i);
                check(of_halves == adam_value_at(&whole, (int64_t)place, ARENA_MASTER, i),
                      "%s: step %d has lost a bit of the master", row->name, (int)step);
            }
        check(!memcmp(halves.arena[ARENA_M], whole.arena[ARENA_M], whole.bytes[ARENA_M]), "%s: another m", row->name);
        check(!memcmp(halves.arena[ARENA_V], whole.arena[ARENA_V], whole.bytes[ARENA_V]), "%s: another v", row->name);
    }
}

/* ---- every value ---- */

/* Values around all boundaries of rounding and joining, then random bits. */
static const uint32_t special[] = {
    0x00000000, 0x80000000, 0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF, 0xBF808000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F7F8000,
    0x7F7F8001, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000, 0x7F808000, 0x7F808001, 0x00000001,
    0x80000001, 0x00008000, 0x00008001, 0x00007FFF, 0x80008001, 0x007FFFFF, 0x00800000, 0x007F8001, 0x0000FFFF, 0x8000FFFF,
    0x3F7FFFFF, 0x3F800000,
};

static float value_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* With a learning rate of 0 the master must be unchanged, except the sign of a zero (x - 0 may change it) and a NaN's payload. */
TEST_ADAM_ROWS(adam_remainder, every_value_comes_back) {
    if (row->key.adam.master != QUERN_REMAINDER) return;
    const int64_t counts[] = {test_size(20000, 2500)};
    quern_adam_args args = adam_args_of(row);
    args.lr = 0, args.weight_decay = 0;
    struct adam_problem problem CLOSED_BY(adam_free), before CLOSED_BY(adam_free);
    adam_make(&problem, &args, counts, 1);
    uint16_t *param = problem.tensors[0].param, *remainder = problem.tensors[0].master;
    for (int64_t i = 0; i < counts[0]; i++) {
        const uint32_t bits = i < (int64_t)COUNT(special) ? special[i] : (uint32_t)random_bits(5, (uint64_t)i);
        adam_split_master(value_of(bits), &param[i], &remainder[i]);
        if (isnan(value_of(bits))) param[i] = (uint16_t)(bits >> 16), remainder[i] = (uint16_t)bits & 0x7FFF;  /* unchanged */
    }
    adam_copy(&before, &problem);
    adam_check_step(device, &problem, row->name);
    for (int64_t i = 0; i < counts[0]; i++) {
        const double was = adam_value_at(&before, 0, ARENA_MASTER, i), is = adam_value_at(&problem, 0, ARENA_MASTER, i);
        if (isnan(was)) check(isnan(is) && param[i] == 0x7FFF && remainder[i] == 0, "%s: NaN became 0x%04X", row->name, param[i]);
        else check(is == was, "%s: %a became %a", row->name, was, is);
    }
}

/* Halves that no step has written, such as a remainder above a half next to zero, are joined as documented. */
TEST_ADAM_ROWS(adam_remainder, any_halves) {
    if (row->key.adam.master != QUERN_REMAINDER) return;
    static const int64_t counts[] = {1000, 0, 31};
    const quern_adam_args args = adam_args_of(row);
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    uint16_t *param = problem.tensors[0].param, *remainder = problem.tensors[0].master;
    for (int64_t i = 0; i < counts[0]; i++) {
        const uint64_t bits = random_bits(6, (uint64_t)i);
        param[i] = bits & 7 ? (uint16_t)(bits >> 32) : (uint16_t)(bits & 8 ? 0x8000 : 0);
        remainder[i] = (uint16_t)(bits >> 16);
    }
    adam_check_step(device, &problem, row->name);
}

/* Parameters without a master start with remainders of zero: the same as a master that starts as the parameter. */
TEST_ADAM_ROWS(adam_remainder, zeros_begin_at_the_parameter) {
    if (row->key.adam.master != QUERN_REMAINDER) return;
    static const int64_t counts[] = {70};
    const quern_adam_args args = adam_args_of(row);
    struct adam_problem before;
    adam_make(&before, &args, counts, 1);
    memset(before.tensors[0].master, 0, sizeof(uint16_t) * 70);
    adam_check_only_step(device, &before, row->name);
}
