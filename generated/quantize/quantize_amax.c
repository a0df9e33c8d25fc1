/*
 * The largest magnitude of elements of a tensor, on a CPU: each value is read once.  NaN is skipped; infinity is larger than any
 * number.  The last place of the rest, which a rest never reaches, has the largest value of those that were compared as bits.
 *
 * Rendered by gen/ from templates/quantize/quantize_amax.c.j2; do not edit.
 */
#include <string.h>

#include "kernels/cpu/halves_largest.h"
#include "kernels/cpu/quantize_vectors.h"
#include "kernels/kernel.h"
#include "kernels/quantize_problem.h"

/* Several threads may raise one number.  They compare it as bits, which order magnitudes as their values do. */
static void raise(float *amax, float value) {
    uint32_t largest, *to = (uint32_t *)(void *)amax;
    uint32_t found = __atomic_load_n(to, __ATOMIC_RELAXED);
    memcpy(&largest, &value, sizeof largest);
    while (found < largest && !__atomic_compare_exchange_n(to, &found, largest, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}


quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_amax_f32);

void QUERN_KERNEL_NAME(quantize_amax_f32)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_piece *piece = problem;
    const float *from = (const float *)piece->input + first;
    const int64_t count = end - first, whole = count / PAIR * PAIR;
    float rest[PAIR] = {0};
    struct vector_pair largest = {vector_broadcast(0), vector_broadcast(0)};
    const int64_t done = 0;
    for (int64_t i = done; i < whole; i += PAIR)
        largest = pair_raise(largest, pair_load_f32(from + i));
    if (count > whole)
        memcpy(rest, from + whole, (size_t)(count - whole) * sizeof *from);
    if (count > whole || done)
        largest = pair_raise(largest, pair_load_f32(rest));
    raise(piece->amax, vector_reduce_max(vector_max(largest.first, largest.second)));
}


quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_amax_f16);

void QUERN_KERNEL_NAME(quantize_amax_f16)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_piece *piece = problem;
    const uint16_t *from = (const uint16_t *)piece->input + first;
    const int64_t count = end - first, whole = count / PAIR * PAIR;
    uint16_t rest[PAIR] = {0};
    struct vector_pair largest = {vector_broadcast(0), vector_broadcast(0)};
    const int64_t done = halves_largest(from, count, 0xFC00 & 0x7FFF, &rest[PAIR - 1]);
    for (int64_t i = done; i < whole; i += PAIR)
        largest = pair_raise(largest, pair_load_f16(from + i));
    if (count > whole)
        memcpy(rest, from + whole, (size_t)(count - whole) * sizeof *from);
    if (count > whole || done)
        largest = pair_raise(largest, pair_load_f16(rest));
    raise(piece->amax, vector_reduce_max(vector_max(largest.first, largest.second)));
}


quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_amax_bf16);

void QUERN_KERNEL_NAME(quantize_amax_bf16)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_piece *piece = problem;
    const uint16_t *from = (const uint16_t *)piece->input + first;
    const int64_t count = end - first, whole = count / PAIR * PAIR;
    uint16_t rest[PAIR] = {0};
    struct vector_pair largest = {vector_broadcast(0), vector_broadcast(0)};
    const int64_t done = halves_largest(from, count, 0xFF80 & 0x7FFF, &rest[PAIR - 1]);
    for (int64_t i = done; i < whole; i += PAIR)
        largest = pair_raise(largest, pair_load_bf16(from + i));
    if (count > whole)
        memcpy(rest, from + whole, (size_t)(count - whole) * sizeof *from);
    if (count > whole || done)
        largest = pair_raise(largest, pair_load_bf16(rest));
    raise(piece->amax, vector_reduce_max(vector_max(largest.first, largest.second)));
}
