/*
 * main_grad = main_grad + scale * grad on a CPU, in fp32 and rounded once: 10 bytes for each 16-bit gradient, read once, 12 where
 * it is set to zero while it is still in the nearest cache, which spares the engine another pass.
 *
 * Rendered by gen/ from templates/adam/gradient_accumulate.c.j2; do not edit.
 */
#include "kernels/cpu/adam_vectors.h"
#include "kernels/kernel.h"

#include <string.h>

enum { PAIR = 2 * VECTOR_LANES, BLOCK = 1024 };

/* `count` is a number of whole pairs. */
static inline void add_f32(float *to, const float *from, int64_t count, vector scale) {
    for (int64_t i = 0; i < count; i += PAIR) {
        const struct vector_pair x = ordered_load_f32(from + i), sum = pair_load_f32(to + i);
        const struct vector_pair next = {vector_fma(scale, x.first, sum.first), vector_fma(scale, x.second, sum.second)};
        pair_store_f32(to + i, pair_settle(next, NAN_f32));
    }
}

static void add_rest_f32(float *to, const float *from, int64_t count, vector scale) {
    float main[PAIR] = {0};
    float rest[PAIR] = {0};
    memcpy(main, to, (size_t)count * sizeof *to);
    memcpy(rest, from, (size_t)count * sizeof *from);
    add_f32(main, rest, PAIR, scale);
    memcpy(to, main, (size_t)count * sizeof *to);
}

quern_gradient_accumulate_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_accumulate_f32);

void QUERN_KERNEL_NAME(adam_gradient_accumulate_f32)(float *main_grad, void *grad, int64_t count, float scale, int zero_grads) {
    const vector factor = vector_broadcast(scale);
    const int64_t whole = count / PAIR * PAIR;
    float *from = grad;
    for (int64_t block = 0; block < whole; block += BLOCK) {
        const int64_t elements = whole - block < BLOCK ? whole - block : BLOCK;
        add_f32(main_grad + block, from + block, elements, factor);
        if (zero_grads)
            memset(from + block, 0, (size_t)elements * sizeof *from);
    }
    add_rest_f32(main_grad + whole, from + whole, count - whole, factor);
    if (zero_grads)
        memset(from + whole, 0, (size_t)(count - whole) * sizeof *from);
}

/* `count` is a number of whole pairs. */
static inline void add_f16(float *to, const uint16_t *from, int64_t count, vector scale) {
    for (int64_t i = 0; i < count; i += PAIR) {
        const struct vector_pair x = ordered_load_f16(from + i), sum = pair_load_f32(to + i);
        const struct vector_pair next = {vector_fma(scale, x.first, sum.first), vector_fma(scale, x.second, sum.second)};
        pair_store_f32(to + i, pair_settle(next, NAN_f32));
    }
}

static void add_rest_f16(float *to, const uint16_t *from, int64_t count, vector scale) {
    float main[PAIR] = {0};
    uint16_t rest[PAIR] = {0};
    memcpy(main, to, (size_t)count * sizeof *to);
    memcpy(rest, from, (size_t)count * sizeof *from);
    add_f16(main, rest, PAIR, scale);
    memcpy(to, main, (size_t)count * sizeof *to);
}

quern_gradient_accumulate_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_accumulate_f16);

void QUERN_KERNEL_NAME(adam_gradient_accumulate_f16)(float *main_grad, void *grad, int64_t count, float scale, int zero_grads) {
    const vector factor = vector_broadcast(scale);
    const int64_t whole = count / PAIR * PAIR;
    uint16_t *from = grad;
    for (int64_t block = 0; block < whole; block += BLOCK) {
        const int64_t elements = whole - block < BLOCK ? whole - block : BLOCK;
        add_f16(main_grad + block, from + block, elements, factor);
        if (zero_grads)
            memset(from + block, 0, (size_t)elements * sizeof *from);
    }
    add_rest_f16(main_grad + whole, from + whole, count - whole, factor);
    if (zero_grads)
        memset(from + whole, 0, (size_t)(count - whole) * sizeof *from);
}

/* `count` is a number of whole pairs. */
static inline void add_bf16(float *to, const uint16_t *from, int64_t count, vector scale) {
    for (int64_t i = 0; i < count; i += PAIR) {
        const struct vector_pair x = ordered_load_bf16(from + i), sum = pair_load_f32(to + i);
        const struct vector_pair next = {vector_fma(scale, x.first, sum.first), vector_fma(scale, x.second, sum.second)};
        pair_store_f32(to + i, pair_settle(next, NAN_f32));
    }
}

static void add_rest_bf16(float *to, const uint16_t *from, int64_t count, vector scale) {
    float main[PAIR] = {0};
    uint16_t rest[PAIR] = {0};
    memcpy(main, to, (size_t)count * sizeof *to);
    memcpy(rest, from, (size_t)count * sizeof *from);
    add_bf16(main, rest, PAIR, scale);
    memcpy(to, main, (size_t)count * sizeof *to);
}

quern_gradient_accumulate_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_accumulate_bf16);

void QUERN_KERNEL_NAME(adam_gradient_accumulate_bf16)(float *main_grad, void *grad, int64_t count, float scale, int zero_grads) {
    const vector factor = vector_broadcast(scale);
    const int64_t whole = count / PAIR * PAIR;
    uint16_t *from = grad;
    for (int64_t block = 0; block < whole; block += BLOCK) {
        const int64_t elements = whole - block < BLOCK ? whole - block : BLOCK;
        add_bf16(main_grad + block, from + block, elements, factor);
        if (zero_grads)
            memset(from + block, 0, (size_t)elements * sizeof *from);
    }
    add_rest_bf16(main_grad + whole, from + whole, count - whole, factor);
    if (zero_grads)
        memset(from + whole, 0, (size_t)(count - whole) * sizeof *from);
}
