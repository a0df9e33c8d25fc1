/*
 * main_grad = main_grad + scale * grad on a CPU, in fp32 and rounded once, or scale * grad alone: 10 or 6 bytes for each 16-bit
 * gradient and fp32 sum, read once, 2 more where the gradient is set to zero while it is still in the nearest cache, which spares
 * the engine another pass.
 *
 * Rendered by gen/ from templates/adam/gradient_accumulate.c.j2; do not edit.
 */
#include "kernels/cpu/adam_vectors.h"
#include "kernels/kernel.h"

#include <string.h>

enum { PAIR = 2 * VECTOR_LANES, BLOCK = 1024 };
/* `count` is a number of whole pairs.  -0 is the sum to which x is added without a change, whatever x is. */
static inline void add_f32_to_f32(float *to, const float *from, int64_t count, vector scale, int overwrite) {
    const vector nothing = vector_broadcast(-0.0f);
    for (int64_t i = 0; i < count; i += PAIR) {
        const struct vector_pair x = ordered_load_f32(from + i);
        struct vector_pair sum = {nothing, nothing};
        if (!overwrite)
            sum = ordered_load_f32(to + i);
        const struct vector_pair next = {vector_fma(scale, x.first, sum.first), vector_fma(scale, x.second, sum.second)};
        ordered_round_f32(to + i, pair_settle(next, NAN_f32), NULL);
    }
}

static void add_rest_f32_to_f32(float *to, const float *from, int64_t count, vector scale, int overwrite) {
    float sums[PAIR] = {0};
    float rest[PAIR] = {0};
    if (!overwrite)
        memcpy(sums, to, (size_t)count * sizeof *to);
    memcpy(rest, from, (size_t)count * sizeof *from);
    add_f32_to_f32(sums, rest, PAIR, scale, overwrite);
    memcpy(to, sums, (size_t)count * sizeof *to);
}

quern_gradient_accumulate_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_accumulate_f32);

void QUERN_KERNEL_NAME(adam_gradient_accumulate_f32)(void *main_grad, void *grad, int64_t count, float scale, int overwrite,
                                              int zero_grads) {
    const vector factor = vector_broadcast(scale);
    const int64_t whole = count / PAIR * PAIR;
    float *to = main_grad;
    float *from = grad;
    for (int64_t block = 0; block < whole; block += BLOCK) {
        const int64_t elements = whole - block < BLOCK ? whole - block : BLOCK;
        add_f32_to_f32(to + block, from + block, elements, factor, overwrite);
        if (zero_grads)
            memset(from + block, 0, (size_t)elements * sizeof *from);
    }
    add_rest_f32_to_f32(to + whole, from + whole, count - whole, factor, overwrite);
    if (zero_grads)
        memset(from + whole, 0, (size_t)(count - whole) * sizeof *from);
}
/* `count` is a number of whole pairs.  -0 is the sum to which x is added without a change, whatever x is. */
static inline void add_f32_to_bf16(uint16_t *to, const float *from, int64_t count, vector scale, int overwrite) {
    const vector nothing = vector_broadcast(-0.0f);
    for (int64_t i = 0; i < count; i += PAIR) {
        const struct vector_pair x = ordered_load_f32(from + i);
        struct vector_pair sum = {nothing, nothing};
        if (!overwrite)
            sum = ordered_load_bf16(to + i);
        const struct vector_pair next = {vector_fma(scale, x.first, sum.first), vector_fma(scale, x.second, sum.second)};
        ordered_round_bf16(to + i, pair_settle(next, NAN_bf16), NULL);
    }
}

static void add_rest_f32_to_bf16(uint16_t *to, const float *from, int64_t count, vector scale, int overwrite) {
    uint16_t sums[PAIR] = {0};
    float rest[PAIR] = {0};
    if (!overwrite)
        memcpy(sums, to, (size_t)count * sizeof *to);
    memcpy(rest, from, (size_t)count * sizeof *from);
    add_f32_to_bf16(sums, rest, PAIR, scale, overwrite);
    memcpy(to, sums, (size_t)count * sizeof *to);
}

quern_gradient_accumulate_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_accumulate_f32_mainbf16);

void QUERN_KERNEL_NAME(adam_gradient_accumulate_f32_mainbf16)(void *main_grad, void *grad, int64_t count, float scale, int overwrite,
                                              int zero_grads) {
    const vector factor = vector_broadcast(scale);
    const int64_t whole = count / PAIR * PAIR;
    uint16_t *to = main_grad;
    float *from = grad;
    for (int64_t block = 0; block < whole; block += BLOCK) {
        const int64_t elements = whole - block < BLOCK ? whole - block : BLOCK;
        add_f32_to_bf16(to + block, from + block, elements, factor, overwrite);
        if (zero_grads)
            memset(from + block, 0, (size_t)elements * sizeof *from);
    }
    add_rest_f32_to_bf16(to + whole, from + whole, count - whole, factor, overwrite);
    if (zero_grads)
        memset(from + whole, 0, (size_t)(count - whole) * sizeof *from);
}
/* `count` is a number of whole pairs.  -0 is the sum to which x is added without a change, whatever x is. */
static inline void add_f16_to_f32(float *to, const uint16_t *from, int64_t count, vector scale, int overwrite) {
    const vector nothing = vector_broadcast(-0.0f);
    for (int64_t i = 0; i < count; i += PAIR) {
        const struct vector_pair x = ordered_load_f16(from + i);
        struct vector_pair sum = {nothing, nothing};
        if (!overwrite)
            sum = ordered_load_f32(to + i);
        const struct vector_pair next = {vector_fma(scale, x.first, sum.first), vector_fma(scale, x.second, sum.second)};
        ordered_round_f32(to + i, pair_settle(next, NAN_f32), NULL);
    }
}

static void add_rest_f16_to_f32(float *to, const uint16_t *from, int64_t count, vector scale, int overwrite) {
    float sums[PAIR] = {0};
    uint16_t rest[PAIR] = {0};
    if (!overwrite)
        memcpy(sums, to, (size_t)count * sizeof *to);
    memcpy(rest, from, (size_t)count * sizeof *from);
    add_f16_to_f32(sums, rest, PAIR, scale, overwrite);
    memcpy(to, sums, (size_t)count * sizeof *to);
}

quern_gradient_accumulate_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_accumulate_f16);

void QUERN_KERNEL_NAME(adam_gradient_accumulate_f16)(void *main_grad, void *grad, int64_t count, float scale, int overwrite,
                                              int zero_grads) {
    const vector factor = vector_broadcast(scale);
    const int64_t whole = count / PAIR * PAIR;
    float *to = main_grad;
    uint16_t *from = grad;
    for (int64_t block = 0; block < whole; block += BLOCK) {
        const int64_t elements = whole - block < BLOCK ? whole - block : BLOCK;
        add_f16_to_f32(to + block, from + block, elements, factor, overwrite);
        if (zero_grads)
            memset(from + block, 0, (size_t)elements * sizeof *from);
    }
    add_rest_f16_to_f32(to + whole, from + whole, count - whole, factor, overwrite);
    if (zero_grads)
        memset(from + whole, 0, (size_t)(count - whole) * sizeof *from);
}
/* `count` is a number of whole pairs.  -0 is the sum to which x is added without a change, whatever x is. */
static inline void add_f16_to_bf16(uint16_t *to, const uint16_t *from, int64_t count, vector scale, int overwrite) {
    const vector nothing = vector_broadcast(-0.0f);
    for (int64_t i = 0; i < count; i += PAIR) {
        const struct vector_pair x = ordered_load_f16(from + i);
        struct vector_pair sum = {nothing, nothing};
        if (!overwrite)
            sum = ordered_load_bf16(to + i);
        const struct vector_pair next = {vector_fma(scale, x.first, sum.first), vector_fma(scale, x.second, sum.second)};
        ordered_round_bf16(to + i, pair_settle(next, NAN_bf16), NULL);
    }
}

static void add_rest_f16_to_bf16(uint16_t *to, const uint16_t *from, int64_t count, vector scale, int overwrite) {
    uint16_t sums[PAIR] = {0};
    uint16_t rest[PAIR] = {0};
    if (!overwrite)
        memcpy(sums, to, (size_t)count * sizeof *to);
    memcpy(rest, from, (size_t)count * sizeof *from);
    add_f16_to_bf16(sums, rest, PAIR, scale, overwrite);
    memcpy(to, sums, (size_t)count * sizeof *to);
}

quern_gradient_accumulate_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_accumulate_f16_mainbf16);

void QUERN_KERNEL_NAME(adam_gradient_accumulate_f16_mainbf16)(void *main_grad, void *grad, int64_t count, float scale, int overwrite,
                                              int zero_grads) {
    const vector factor = vector_broadcast(scale);
    const int64_t whole = count / PAIR * PAIR;
    uint16_t *to = main_grad;
    uint16_t *from = grad;
    for (int64_t block = 0; block < whole; block += BLOCK) {
        const int64_t elements = whole - block < BLOCK ? whole - block : BLOCK;
        add_f16_to_bf16(to + block, from + block, elements, factor, overwrite);
        if (zero_grads)
            memset(from + block, 0, (size_t)elements * sizeof *from);
    }
    add_rest_f16_to_bf16(to + whole, from + whole, count - whole, factor, overwrite);
    if (zero_grads)
        memset(from + whole, 0, (size_t)(count - whole) * sizeof *from);
}
/* `count` is a number of whole pairs.  -0 is the sum to which x is added without a change, whatever x is. */
static inline void add_bf16_to_f32(float *to, const uint16_t *from, int64_t count, vector scale, int overwrite) {
    const vector nothing = vector_broadcast(-0.0f);
    for (int64_t i = 0; i < count; i += PAIR) {
        const struct vector_pair x = ordered_load_bf16(from + i);
        struct vector_pair sum = {nothing, nothing};
        if (!overwrite)
            sum = ordered_load_f32(to + i);
        const struct vector_pair next = {vector_fma(scale, x.first, sum.first), vector_fma(scale, x.second, sum.second)};
        ordered_round_f32(to + i, pair_settle(next, NAN_f32), NULL);
    }
}

static void add_rest_bf16_to_f32(float *to, const uint16_t *from, int64_t count, vector scale, int overwrite) {
    float sums[PAIR] = {0};
    uint16_t rest[PAIR] = {0};
    if (!overwrite)
        memcpy(sums, to, (size_t)count * sizeof *to);
    memcpy(rest, from, (size_t)count * sizeof *from);
    add_bf16_to_f32(sums, rest, PAIR, scale, overwrite);
    memcpy(to, sums, (size_t)count * sizeof *to);
}

quern_gradient_accumulate_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_accumulate_bf16);

void QUERN_KERNEL_NAME(adam_gradient_accumulate_bf16)(void *main_grad, void *grad, int64_t count, float scale, int overwrite,
                                              int zero_grads) {
    const vector factor = vector_broadcast(scale);
    const int64_t whole = count / PAIR * PAIR;
    float *to = main_grad;
    uint16_t *from = grad;
    for (int64_t block = 0; block < whole; block += BLOCK) {
        const int64_t elements = whole - block < BLOCK ? whole - block : BLOCK;
        add_bf16_to_f32(to + block, from + block, elements, factor, overwrite);
        if (zero_grads)
            memset(from + block, 0, (size_t)elements * sizeof *from);
    }
    add_rest_bf16_to_f32(to + whole, from + whole, count - whole, factor, overwrite);
    if (zero_grads)
        memset(from + whole, 0, (size_t)(count - whole) * sizeof *from);
}
/* `count` is a number of whole pairs.  -0 is the sum to which x is added without a change, whatever x is. */
static inline void add_bf16_to_bf16(uint16_t *to, const uint16_t *from, int64_t count, vector scale, int overwrite) {
    const vector nothing = vector_broadcast(-0.0f);
    for (int64_t i = 0; i < count; i += PAIR) {
        const struct vector_pair x = ordered_load_bf16(from + i);
        struct vector_pair sum = {nothing, nothing};
        if (!overwrite)
            sum = ordered_load_bf16(to + i);
        const struct vector_pair next = {vector_fma(scale, x.first, sum.first), vector_fma(scale, x.second, sum.second)};
        ordered_round_bf16(to + i, pair_settle(next, NAN_bf16), NULL);
    }
}

static void add_rest_bf16_to_bf16(uint16_t *to, const uint16_t *from, int64_t count, vector scale, int overwrite) {
    uint16_t sums[PAIR] = {0};
    uint16_t rest[PAIR] = {0};
    if (!overwrite)
        memcpy(sums, to, (size_t)count * sizeof *to);
    memcpy(rest, from, (size_t)count * sizeof *from);
    add_bf16_to_bf16(sums, rest, PAIR, scale, overwrite);
    memcpy(to, sums, (size_t)count * sizeof *to);
}

quern_gradient_accumulate_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_accumulate_bf16_mainbf16);

void QUERN_KERNEL_NAME(adam_gradient_accumulate_bf16_mainbf16)(void *main_grad, void *grad, int64_t count, float scale, int overwrite,
                                              int zero_grads) {
    const vector factor = vector_broadcast(scale);
    const int64_t whole = count / PAIR * PAIR;
    uint16_t *to = main_grad;
    uint16_t *from = grad;
    for (int64_t block = 0; block < whole; block += BLOCK) {
        const int64_t elements = whole - block < BLOCK ? whole - block : BLOCK;
        add_bf16_to_bf16(to + block, from + block, elements, factor, overwrite);
        if (zero_grads)
            memset(from + block, 0, (size_t)elements * sizeof *from);
    }
    add_rest_bf16_to_bf16(to + whole, from + whole, count - whole, factor, overwrite);
    if (zero_grads)
        memset(from + whole, 0, (size_t)(count - whole) * sizeof *from);
}
