/*
 * Moments in F16, E4M3 and E5M2.  Each block of QUERN_SCALE_BLOCK elements shares a power of two, 2^(byte - 127).  It is chosen
 * whenever the block is stored: it brings the largest finite magnitude just below 2^(top + 1), so that nothing overflows.  Included
 * by adam.h, after narrow_vectors.h and adam_arithmetic.h, whose names it uses.
 *
 *   scaled_store_*   `count` elements, whole blocks, from fp32, with their scales; `random` and `keep_positive` as in
 *                    narrow_avx512.h
 */
#ifndef QUERN_CPU_SCALED_H
#define QUERN_CPU_SCALED_H

#include <stdint.h>

#include "kernels/cpu/scale.h"

/* The types that have these functions, for the preprocessor. */
#define SCALED_f16 1
#define SCALED_e4m3 1
#define SCALED_e5m2 1

_Static_assert((int)SCALE_FACTORS * (int)QUERN_SCALE_BLOCK == (int)BLOCK, "a block of Adam has so many scales");

/* The exponent to which a block's largest magnitude is scaled: one below the type's own largest exponent. */
enum { SCALED_TOP_F16 = 14, SCALED_TOP_E4M3 = 7, SCALED_TOP_E5M2 = 14 };

#define FOR_EACH_PAIR(i) for (int i = 0; i < QUERN_SCALE_BLOCK; i += 2 * VECTOR_LANES)

/* Nearly always all are finite, so this computes the largest of all values first. */
static inline uint8_t scale_of(const float *x, int top) {
    vector_magnitude largest = magnitude_zero();
    FOR_EACH_PAIR(i) largest = magnitude_max(largest, pair_load_f32(x + i));
    uint32_t found = magnitude_reduce(largest);
    if (__builtin_expect(found >= F32_INFINITY, 0)) {
        largest = magnitude_zero();
        FOR_EACH_PAIR(i) largest = magnitude_max_finite(largest, pair_load_f32(x + i));
        found = magnitude_reduce(largest);
    }
    return scale_for(found, top);
}

/* A target may store the blocks of a block of Adam together, unless one of them needs care. */
#ifdef BLOCKS_ARE_STORED_TOGETHER
#define STORED_TOGETHER(type, count, ...) ((count) == BLOCK && blocks_store_##type(__VA_ARGS__))
#else
#define STORED_TOGETHER(type, count, ...) 0
#endif

#define SCALED_STORE(type, c_type, top)                                                                                        \
    static void scaled_store_one_##type(                                                                                       \
        c_type *to, uint8_t *scale, const float *x, const uint16_t *random, int keep_positive) {                               \
        const uint8_t chosen = scale_of(x, top);                                                                               \
        FOR_EACH_PAIR(i) ordered_scale_##type(to + i, pair_load_f32(x + i), chosen, random ? random + i : NULL, keep_positive); \
        *scale = chosen;                                                                                                       \
    }                                                                                                                          \
    static inline void scaled_store_##type(                                                                                    \
        c_type *to, uint8_t *scales, const float *x, const uint16_t *random, int keep_positive, int64_t count) {               \
        if (STORED_TOGETHER(type, count, to, scales, x, random, keep_positive, top)) return;                                   \
        for (int64_t i = 0; i < count; i += QUERN_SCALE_BLOCK)                                                                 \
            scaled_store_one_##type(to + i, scales + i / QUERN_SCALE_BLOCK, x + i, random ? random + i : NULL, keep_positive); \
    }
SCALED_STORE(f16, uint16_t, SCALED_TOP_F16)
SCALED_STORE(e4m3, uint8_t, SCALED_TOP_E4M3)
SCALED_STORE(e5m2, uint8_t, SCALED_TOP_E5M2)

#endif
