/*
 * The sum of the squares of a chunk of gradients, on a CPU.  Each value is read once, 2 or 4 bytes, and squared in double, where no
 * fp32 can overflow or vanish, so the sum is infinite or NaN only if a gradient is.  Several sums are accumulated in parallel, to
 * hide the latency of additions, and are added in a fixed order.
 *
 * Rendered by gen/ from templates/adam/gradient_norm.c.j2; do not edit.
 */
#include "kernels/cpu/squares_vectors.h"
#include "kernels/kernel.h"

#include <string.h>

enum { PAIR = 2 * VECTOR_LANES };

quern_gradient_norm_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_norm_f32);

double QUERN_KERNEL_NAME(adam_gradient_norm_f32)(const void *grad, int64_t count) {
    const float *from = grad;
    const int64_t whole = count / PAIR * PAIR;
    float rest[PAIR] = {0};
    struct squares sum = {0};
    for (int64_t i = 0; i < whole; i += PAIR)
        squares_add(&sum, pair_load_f32(from + i));
    memcpy(rest, from + whole, (size_t)(count - whole) * sizeof *from);
    squares_add(&sum, pair_load_f32(rest));
    return squares_total(&sum);
}

quern_gradient_norm_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_norm_f16);

double QUERN_KERNEL_NAME(adam_gradient_norm_f16)(const void *grad, int64_t count) {
    const uint16_t *from = grad;
    const int64_t whole = count / PAIR * PAIR;
    uint16_t rest[PAIR] = {0};
    struct squares sum = {0};
    for (int64_t i = 0; i < whole; i += PAIR)
        squares_add(&sum, pair_load_f16(from + i));
    memcpy(rest, from + whole, (size_t)(count - whole) * sizeof *from);
    squares_add(&sum, pair_load_f16(rest));
    return squares_total(&sum);
}

quern_gradient_norm_cpu_kernel QUERN_KERNEL_NAME(adam_gradient_norm_bf16);

double QUERN_KERNEL_NAME(adam_gradient_norm_bf16)(const void *grad, int64_t count) {
    const uint16_t *from = grad;
    const int64_t whole = count / PAIR * PAIR;
    uint16_t rest[PAIR] = {0};
    struct squares sum = {0};
    for (int64_t i = 0; i < whole; i += PAIR)
        squares_add(&sum, pair_load_bf16(from + i));
    memcpy(rest, from + whole, (size_t)(count - whole) * sizeof *from);
    squares_add(&sum, pair_load_bf16(rest));
    return squares_total(&sum);
}
