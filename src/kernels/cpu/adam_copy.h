/*
 * The further copy of the new parameters: rounded from fp32 to nearest, in a type that is chosen at run time, with the largest
 * finite magnitude of the copied values.  Included by adam.h after narrow_vectors.h and adam_arithmetic.h.
 */
#ifndef QUERN_CPU_ADAM_COPY_H
#define QUERN_CPU_ADAM_COPY_H

#include <stdint.h>
#include <string.h>

#include "kernels/kernel.h"

struct copying {
    int32_t dtype;         /* quern_dtype; 0: no copy */
    vector scale;          /* of an 8-bit copy */
    float *raised;         /* receives the largest magnitude; NULL: not wanted */
    vector_magnitude largest;
};

static inline int copy_bytes(int32_t dtype) {
    return dtype == QUERN_E4M3 || dtype == QUERN_E5M2 ? 1 : 2;
}

static inline struct copying open_copy(const struct quern_adam_step *step, const struct quern_adam_extras *extras) {
    return (struct copying){
        .dtype = step->copy_dtype,
        .scale = vector_broadcast(extras->copy_scale ? *extras->copy_scale : 1),
        .raised = extras->copy_max,
        .largest = magnitude_zero(),
    };
}

/* Copies `count` values, a multiple of a group, from x to the elements of `to`. */
static inline void copy_values(struct copying *copying, void *to, const float *x, int64_t count) {
    enum { PAIR = 2 * VECTOR_LANES };
    if (copying->raised)
        for (int64_t i = 0; i < count; i += PAIR)
            copying->largest = magnitude_max_finite(copying->largest, pair_load_f32(x + i));
    switch (copying->dtype) {
#define COPY_HALVES(constant, name, exponent)                                                                \
    case constant:                                                                                           \
        for (int64_t i = 0; i < count; i += PAIR)                                                            \
            ordered_round_##name((uint16_t *)to + i, pair_settle(pair_load_f32(x + i), NAN_##name), NULL);   \
        break;
#define COPY_BYTES(constant, name)                                                                           \
    case constant:                                                                                           \
        for (int64_t i = 0; i < count; i += PAIR)                                                            \
            ordered_saturate_##name((uint8_t *)to + i, pair_multiply(pair_load_f32(x + i), copying->scale)); \
        break;
    COPY_HALVES(QUERN_F16, f16, 5)
    COPY_HALVES(QUERN_BF16, bf16, 8)
    QUERN_FOR_EACH_COMMON_DTYPE(COPY_HALVES)
    COPY_BYTES(QUERN_E4M3, e4m3)
    COPY_BYTES(QUERN_E5M2, e5m2)
    }
}

/* Several threads may raise one number.  They compare it as bits, which order magnitudes as their values do. */
static inline void close_copy(const struct copying *copying) {
    if (!copying->raised) return;
    const uint32_t largest = magnitude_reduce(copying->largest);
    uint32_t *to = (uint32_t *)(void *)copying->raised;
    uint32_t found = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (found < largest && !__atomic_compare_exchange_n(to, &found, largest, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

#endif
