/*
 * The sum or the maximum of the elements of all ranks, on a CPU.  A group of elements stays in registers while the inputs are added
 * to it in their order.  The results of a block go to every output, each with stores of whole lines; an output that is an input is
 * written when the block has been read.
 *
 * Rendered by gen/ from templates/collective/collective_combine.c.j2; do not edit.
 */
#include <string.h>

#include "kernels/collective_pieces.h"
#include "kernels/cpu/collective_combine.h"
#include "kernels/cpu/ragged_copy.h"
#include "kernels/kernel.h"

typedef struct quern_collective_combination combination;

enum { BLOCK_BYTES = 4096, PAIRS = 2, GROUP = PAIRS * PAIR };
/* ---- f32 ---- */

/* Elements beyond `count` are zeros. */
static inline struct vector_pair load_f32(const char *input, int64_t at, int64_t count) {
    const float *from = (const float *)(const void *)input + at;
    if (count >= PAIR)
        return pair_load_f32(from);
    _Alignas(64) float rest[PAIR] = {0};
    if (count > 0)
        load_part(rest, from, (size_t)count * sizeof *from);
    return pair_load_f32(rest);
}

static inline __attribute__((always_inline)) void sum_f32(const combination *all, int64_t at, int64_t count, float *to) {
    struct vector_pair sum[PAIRS];
    for (int k = 0; k < PAIRS; k++)
        sum[k] = load_f32(all->inputs[0], at + k * PAIR, count - k * PAIR);
    for (int32_t q = 1; q < all->input_count; q++)
        for (int k = 0; k < PAIRS; k++) {
            const struct vector_pair x = load_f32(all->inputs[q], at + k * PAIR, count - k * PAIR);
            sum[k] = (struct vector_pair){sum[k].first + x.first, sum[k].second + x.second};
        }
    for (int k = 0; k < PAIRS; k++)
        pair_store_f32(to + k * PAIR, (struct vector_pair){without_payload(sum[k].first, where_nan(sum[k].first)),
                                                  without_payload(sum[k].second, where_nan(sum[k].second))});
}

static inline __attribute__((always_inline)) void max_f32(const combination *all, int64_t at, int64_t count, float *to) {
    for (int k = 0; k < PAIRS; k++) {
        struct vector_pair most = load_f32(all->inputs[0], at + k * PAIR, count - k * PAIR);
        combine_bits first = where_nan(most.first), second = where_nan(most.second);
        for (int32_t q = 1; q < all->input_count; q++) {
            const struct vector_pair x = load_f32(all->inputs[q], at + k * PAIR, count - k * PAIR);
            first |= where_nan(x.first);
            second |= where_nan(x.second);
            most = (struct vector_pair){larger_of(most.first, x.first), larger_of(most.second, x.second)};
        }
        pair_store_f32(to + k * PAIR, (struct vector_pair){without_payload(most.first, first),
                                                  without_payload(most.second, second)});
    }
}

static void block_f32(const combination *all, int64_t at, int64_t count, float *to) {
    int64_t done = 0;
    if (all->is_max) {
        for (; done + GROUP <= count; done += GROUP)
            max_f32(all, at + done, GROUP, to + done);
        if (done < count)
            max_f32(all, at + done, count - done, to + done);
    } else {
        for (; done + GROUP <= count; done += GROUP)
            sum_f32(all, at + done, GROUP, to + done);
        if (done < count)
            sum_f32(all, at + done, count - done, to + done);
    }
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(collective_f32);

void QUERN_KERNEL_NAME(collective_f32)(const void *problem, int64_t first, int64_t end) {
    enum { BLOCK = BLOCK_BYTES / sizeof(float) };
    _Alignas(64) float block[BLOCK];
    const combination *all = problem;
    for (int64_t at = first; at < end; at += BLOCK) {
        const int64_t count = end - at < BLOCK ? end - at : BLOCK, bytes = (int64_t)sizeof *block;
        block_f32(all, at, count, block);
        for (int32_t o = 0; o < all->output_count; o++)
            copy_slice(all->outputs[o] + at * bytes, (const char *)block, count * bytes, all->streaming);
    }
}
/* ---- f16 ---- */

/* Elements beyond `count` are zeros. */
static inline struct vector_pair load_f16(const char *input, int64_t at, int64_t count) {
    const uint16_t *from = (const uint16_t *)(const void *)input + at;
    if (count >= PAIR)
        return pair_load_f16(from);
    _Alignas(64) uint16_t rest[PAIR] = {0};
    if (count > 0)
        load_part(rest, from, (size_t)count * sizeof *from);
    return pair_load_f16(rest);
}

static inline __attribute__((always_inline)) void sum_f16(const combination *all, int64_t at, int64_t count, uint16_t *to) {
    struct vector_pair sum[PAIRS];
    for (int k = 0; k < PAIRS; k++)
        sum[k] = load_f16(all->inputs[0], at + k * PAIR, count - k * PAIR);
    for (int32_t q = 1; q < all->input_count; q++)
        for (int k = 0; k < PAIRS; k++) {
            const struct vector_pair x = load_f16(all->inputs[q], at + k * PAIR, count - k * PAIR);
            sum[k] = (struct vector_pair){sum[k].first + x.first, sum[k].second + x.second};
        }
    for (int k = 0; k < PAIRS; k++)
        pair_store_f16(to + k * PAIR, (struct vector_pair){without_payload(sum[k].first, where_nan(sum[k].first)),
                                                  without_payload(sum[k].second, where_nan(sum[k].second))});
}

static inline __attribute__((always_inline)) void max_f16(const combination *all, int64_t at, int64_t count, uint16_t *to) {
    for (int k = 0; k < PAIRS; k++) {
        struct vector_pair most = load_f16(all->inputs[0], at + k * PAIR, count - k * PAIR);
        combine_bits first = where_nan(most.first), second = where_nan(most.second);
        for (int32_t q = 1; q < all->input_count; q++) {
            const struct vector_pair x = load_f16(all->inputs[q], at + k * PAIR, count - k * PAIR);
            first |= where_nan(x.first);
            second |= where_nan(x.second);
            most = (struct vector_pair){larger_of(most.first, x.first), larger_of(most.second, x.second)};
        }
        pair_store_f16(to + k * PAIR, (struct vector_pair){without_payload(most.first, first),
                                                  without_payload(most.second, second)});
    }
}

static void block_f16(const combination *all, int64_t at, int64_t count, uint16_t *to) {
    int64_t done = 0;
    if (all->is_max) {
        for (; done + GROUP <= count; done += GROUP)
            max_f16(all, at + done, GROUP, to + done);
        if (done < count)
            max_f16(all, at + done, count - done, to + done);
    } else {
        for (; done + GROUP <= count; done += GROUP)
            sum_f16(all, at + done, GROUP, to + done);
        if (done < count)
            sum_f16(all, at + done, count - done, to + done);
    }
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(collective_f16);

void QUERN_KERNEL_NAME(collective_f16)(const void *problem, int64_t first, int64_t end) {
    enum { BLOCK = BLOCK_BYTES / sizeof(uint16_t) };
    _Alignas(64) uint16_t block[BLOCK];
    const combination *all = problem;
    for (int64_t at = first; at < end; at += BLOCK) {
        const int64_t count = end - at < BLOCK ? end - at : BLOCK, bytes = (int64_t)sizeof *block;
        block_f16(all, at, count, block);
        for (int32_t o = 0; o < all->output_count; o++)
            copy_slice(all->outputs[o] + at * bytes, (const char *)block, count * bytes, all->streaming);
    }
}
/* ---- bf16 ---- */

/* Elements beyond `count` are zeros. */
static inline struct vector_pair load_bf16(const char *input, int64_t at, int64_t count) {
    const uint16_t *from = (const uint16_t *)(const void *)input + at;
    if (count >= PAIR)
        return pair_load_bf16(from);
    _Alignas(64) uint16_t rest[PAIR] = {0};
    if (count > 0)
        load_part(rest, from, (size_t)count * sizeof *from);
    return pair_load_bf16(rest);
}

static inline __attribute__((always_inline)) void sum_bf16(const combination *all, int64_t at, int64_t count, uint16_t *to) {
    struct vector_pair sum[PAIRS];
    for (int k = 0; k < PAIRS; k++)
        sum[k] = load_bf16(all->inputs[0], at + k * PAIR, count - k * PAIR);
    for (int32_t q = 1; q < all->input_count; q++)
        for (int k = 0; k < PAIRS; k++) {
            const struct vector_pair x = load_bf16(all->inputs[q], at + k * PAIR, count - k * PAIR);
            sum[k] = (struct vector_pair){sum[k].first + x.first, sum[k].second + x.second};
        }
    for (int k = 0; k < PAIRS; k++)
        pair_store_bf16(to + k * PAIR, (struct vector_pair){without_payload(sum[k].first, where_nan(sum[k].first)),
                                                  without_payload(sum[k].second, where_nan(sum[k].second))});
}

static inline __attribute__((always_inline)) void max_bf16(const combination *all, int64_t at, int64_t count, uint16_t *to) {
    for (int k = 0; k < PAIRS; k++) {
        struct vector_pair most = load_bf16(all->inputs[0], at + k * PAIR, count - k * PAIR);
        combine_bits first = where_nan(most.first), second = where_nan(most.second);
        for (int32_t q = 1; q < all->input_count; q++) {
            const struct vector_pair x = load_bf16(all->inputs[q], at + k * PAIR, count - k * PAIR);
            first |= where_nan(x.first);
            second |= where_nan(x.second);
            most = (struct vector_pair){larger_of(most.first, x.first), larger_of(most.second, x.second)};
        }
        pair_store_bf16(to + k * PAIR, (struct vector_pair){without_payload(most.first, first),
                                                  without_payload(most.second, second)});
    }
}

static void block_bf16(const combination *all, int64_t at, int64_t count, uint16_t *to) {
    int64_t done = 0;
    if (all->is_max) {
        for (; done + GROUP <= count; done += GROUP)
            max_bf16(all, at + done, GROUP, to + done);
        if (done < count)
            max_bf16(all, at + done, count - done, to + done);
    } else {
        for (; done + GROUP <= count; done += GROUP)
            sum_bf16(all, at + done, GROUP, to + done);
        if (done < count)
            sum_bf16(all, at + done, count - done, to + done);
    }
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(collective_bf16);

void QUERN_KERNEL_NAME(collective_bf16)(const void *problem, int64_t first, int64_t end) {
    enum { BLOCK = BLOCK_BYTES / sizeof(uint16_t) };
    _Alignas(64) uint16_t block[BLOCK];
    const combination *all = problem;
    for (int64_t at = first; at < end; at += BLOCK) {
        const int64_t count = end - at < BLOCK ? end - at : BLOCK, bytes = (int64_t)sizeof *block;
        block_bf16(all, at, count, block);
        for (int32_t o = 0; o < all->output_count; o++)
            copy_slice(all->outputs[o] + at * bytes, (const char *)block, count * bytes, all->streaming);
    }
}
