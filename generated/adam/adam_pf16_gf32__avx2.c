/*
 * Adam on a CPU: one pass over param, grad, m and v that reads and writes each value once: 14 bytes per element when all
 * four are bf16, 28 when all are fp32, 20 for bf16 with an fp32 master, which is then read instead of the parameter, and
 * 18 with a remainder for a master.
 *
 * An element costs a square root, a division and, when it is rounded stochastically, its share of a Philox block; all of
 * that is to hide behind the time that its bytes take from memory.  The loop goes by blocks of 256 elements: it draws their
 * random bits at once and then passes over them twice, first for the roots and then for the divisions, because an element
 * waits long for either and many of a kind are done faster than both in turn.  What is stochastic and which decay is on is
 * the same for the whole call, so a branch on it inside the loop is always predicted.
 *
 * Rendered by gen/ from templates/adam/adam.c.j2; do not edit.
 */
#include "kernels/cpu/adam_avx2.h"
#include "kernels/cpu/adam_arithmetic.h"
#include "kernels/cpu/adam_arrays.h"
#include "kernels/cpu/adam_random.h"
#include "kernels/kernel.h"

enum { PAIR = 2 * VECTOR_LANES };

/* What waits for the second pass over a block, in fp32. */
struct pending {
    float m[BLOCK], denominator[BLOCK];
};

static void quern_adam_pf16_gf32_mf32_vf32__avx2_groups(
    const struct work *work, const struct arrays *arrays, int64_t first, int64_t count) {
    const struct rounded rounded = {1, 0, 0};
    const struct constants c = broadcast(work->step, work->tensor);
    struct random_source source;
    struct pending pending;
    uint16_t *param = (uint16_t *)arrays->at[PARAM];
    const float *grad = (float *)arrays->at[GRAD];
    float *m = (float *)arrays->at[M];
    float *v = (float *)arrays->at[V];
    open_source(&source, work->step, rounded, work->place);
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = count - block < BLOCK ? count : block + BLOCK;
        draw(&source, first + block, (int)(end - block));
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair g = pair_multiply(ordered_load_f32(grad + i), c.grad_factor);
            const struct vector_pair old_m = ordered_load_f32(m + i);
            const struct vector_pair old_v = ordered_load_f32(v + i);
            if (c.has_l2_decay)
                g = pair_fma(c.l2_decay, ordered_load_f16(param + i), g);
            struct vector_pair new_m = next_m(&c, old_m, g), new_v = next_v(&c, old_v, g);
            if (__builtin_expect(pair_has_nan(new_m) | pair_has_nan(new_v), 0))
                settle_moments(&new_m, NAN_F32, &new_v, NAN_F32, old_v);
            pair_store_f32(pending.denominator + (i - block), denominators(&c, new_v));
            pair_store_f32(pending.m + (i - block), new_m);
            ordered_round_f32(m + i, new_m, at(source.m_bits, i - block));
            ordered_round_f32(v + i, new_v, at(source.v_bits, i - block));
        }
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair p = ordered_load_f16(param + i);
            const struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            p = next_param(&c, p, new_m, pair_load_f32(pending.denominator + (i - block)));
            p = pair_settle(p, NAN_F16);
            ordered_round_f16(param + i, p, at(source.param_bits, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32__avx2;

void quern_adam_pf16_gf32_mf32_vf32__avx2(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras,
    uint32_t place, int64_t first, int64_t end) {
    const struct sizes sizes = {PLAIN_ARRAYS, {
        [PARAM] = 2, [GRAD] = 4, [M] = 4, [V] = 4,
        [MASTER] = 0,
    }};
    const struct work work = {step, tensor, extras, place};
    run(&work, &sizes, first, end, quern_adam_pf16_gf32_mf32_vf32__avx2_groups);
}

static void quern_adam_pf16_gf32_mf32_vf32_master32__avx2_groups(
    const struct work *work, const struct arrays *arrays, int64_t first, int64_t count) {
    const struct rounded rounded = {1, 0, 0};
    const struct constants c = broadcast(work->step, work->tensor);
    struct random_source source;
    struct pending pending;
    uint16_t *param = (uint16_t *)arrays->at[PARAM];
    const float *grad = (float *)arrays->at[GRAD];
    float *m = (float *)arrays->at[M];
    float *v = (float *)arrays->at[V];
    float *master = (float *)arrays->at[MASTER];
    open_source(&source, work->step, rounded, work->place);
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = count - block < BLOCK ? count : block + BLOCK;
        draw(&source, first + block, (int)(end - block));
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair g = pair_multiply(ordered_load_f32(grad + i), c.grad_factor);
            const struct vector_pair old_m = ordered_load_f32(m + i);
            const struct vector_pair old_v = ordered_load_f32(v + i);
            if (c.has_l2_decay)
                g = pair_fma(c.l2_decay, ordered_load_f32(master + i), g);
            struct vector_pair new_m = next_m(&c, old_m, g), new_v = next_v(&c, old_v, g);
            if (__builtin_expect(pair_has_nan(new_m) | pair_has_nan(new_v), 0))
                settle_moments(&new_m, NAN_F32, &new_v, NAN_F32, old_v);
            pair_store_f32(pending.denominator + (i - block), denominators(&c, new_v));
            pair_store_f32(pending.m + (i - block), new_m);
            ordered_round_f32(m + i, new_m, at(source.m_bits, i - block));
            ordered_round_f32(v + i, new_v, at(source.v_bits, i - block));
        }
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair p = ordered_load_f32(master + i);
            const struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            p = next_param(&c, p, new_m, pair_load_f32(pending.denominator + (i - block)));
            ordered_round_f32(master + i, pair_settle(p, NAN_F32), NULL);
            p = pair_settle(p, NAN_F16);
            ordered_round_f16(param + i, p, at(source.param_bits, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32_master32__avx2;

void quern_adam_pf16_gf32_mf32_vf32_master32__avx2(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras,
    uint32_t place, int64_t first, int64_t end) {
    const struct sizes sizes = {PLAIN_ARRAYS, {
        [PARAM] = 2, [GRAD] = 4, [M] = 4, [V] = 4,
        [MASTER] = 4,
    }};
    const struct work work = {step, tensor, extras, place};
    run(&work, &sizes, first, end, quern_adam_pf16_gf32_mf32_vf32_master32__avx2_groups);
}

static void quern_adam_pf16_gf32_mbf16_vbf16__avx2_groups(
    const struct work *work, const struct arrays *arrays, int64_t first, int64_t count) {
    const struct rounded rounded = {1, 1, 1};
    const struct constants c = broadcast(work->step, work->tensor);
    struct random_source source;
    struct pending pending;
    uint16_t *param = (uint16_t *)arrays->at[PARAM];
    const float *grad = (float *)arrays->at[GRAD];
    uint16_t *m = (uint16_t *)arrays->at[M];
    uint16_t *v = (uint16_t *)arrays->at[V];
    open_source(&source, work->step, rounded, work->place);
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = count - block < BLOCK ? count : block + BLOCK;
        draw(&source, first + block, (int)(end - block));
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair g = pair_multiply(ordered_load_f32(grad + i), c.grad_factor);
            const struct vector_pair old_m = ordered_load_bf16(m + i);
            const struct vector_pair old_v = ordered_load_bf16(v + i);
            if (c.has_l2_decay)
                g = pair_fma(c.l2_decay, ordered_load_f16(param + i), g);
            struct vector_pair new_m = next_m(&c, old_m, g), new_v = next_v(&c, old_v, g);
            if (__builtin_expect(pair_has_nan(new_m) | pair_has_nan(new_v), 0))
                settle_moments(&new_m, NAN_BF16, &new_v, NAN_BF16, old_v);
            pair_store_f32(pending.denominator + (i - block), denominators(&c, new_v));
            pair_store_f32(pending.m + (i - block), new_m);
            ordered_round_bf16(m + i, new_m, at(source.m_bits, i - block));
            ordered_round_bf16(v + i, new_v, at(source.v_bits, i - block));
        }
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair p = ordered_load_f16(param + i);
            const struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            p = next_param(&c, p, new_m, pair_load_f32(pending.denominator + (i - block)));
            p = pair_settle(p, NAN_F16);
            ordered_round_f16(param + i, p, at(source.param_bits, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16__avx2;

void quern_adam_pf16_gf32_mbf16_vbf16__avx2(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras,
    uint32_t place, int64_t first, int64_t end) {
    const struct sizes sizes = {PLAIN_ARRAYS, {
        [PARAM] = 2, [GRAD] = 4, [M] = 2, [V] = 2,
        [MASTER] = 0,
    }};
    const struct work work = {step, tensor, extras, place};
    run(&work, &sizes, first, end, quern_adam_pf16_gf32_mbf16_vbf16__avx2_groups);
}

static void quern_adam_pf16_gf32_mbf16_vbf16_master32__avx2_groups(
    const struct work *work, const struct arrays *arrays, int64_t first, int64_t count) {
    const struct rounded rounded = {1, 1, 1};
    const struct constants c = broadcast(work->step, work->tensor);
    struct random_source source;
    struct pending pending;
    uint16_t *param = (uint16_t *)arrays->at[PARAM];
    const float *grad = (float *)arrays->at[GRAD];
    uint16_t *m = (uint16_t *)arrays->at[M];
    uint16_t *v = (uint16_t *)arrays->at[V];
    float *master = (float *)arrays->at[MASTER];
    open_source(&source, work->step, rounded, work->place);
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = count - block < BLOCK ? count : block + BLOCK;
        draw(&source, first + block, (int)(end - block));
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair g = pair_multiply(ordered_load_f32(grad + i), c.grad_factor);
            const struct vector_pair old_m = ordered_load_bf16(m + i);
            const struct vector_pair old_v = ordered_load_bf16(v + i);
            if (c.has_l2_decay)
                g = pair_fma(c.l2_decay, ordered_load_f32(master + i), g);
            struct vector_pair new_m = next_m(&c, old_m, g), new_v = next_v(&c, old_v, g);
            if (__builtin_expect(pair_has_nan(new_m) | pair_has_nan(new_v), 0))
                settle_moments(&new_m, NAN_BF16, &new_v, NAN_BF16, old_v);
            pair_store_f32(pending.denominator + (i - block), denominators(&c, new_v));
            pair_store_f32(pending.m + (i - block), new_m);
            ordered_round_bf16(m + i, new_m, at(source.m_bits, i - block));
            ordered_round_bf16(v + i, new_v, at(source.v_bits, i - block));
        }
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair p = ordered_load_f32(master + i);
            const struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            p = next_param(&c, p, new_m, pair_load_f32(pending.denominator + (i - block)));
            ordered_round_f32(master + i, pair_settle(p, NAN_F32), NULL);
            p = pair_settle(p, NAN_F16);
            ordered_round_f16(param + i, p, at(source.param_bits, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16_master32__avx2;

void quern_adam_pf16_gf32_mbf16_vbf16_master32__avx2(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras,
    uint32_t place, int64_t first, int64_t end) {
    const struct sizes sizes = {PLAIN_ARRAYS, {
        [PARAM] = 2, [GRAD] = 4, [M] = 2, [V] = 2,
        [MASTER] = 4,
    }};
    const struct work work = {step, tensor, extras, place};
    run(&work, &sizes, first, end, quern_adam_pf16_gf32_mbf16_vbf16_master32__avx2_groups);
}
