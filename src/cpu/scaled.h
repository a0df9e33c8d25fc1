/*
 * Moments in F16, E4M3 and E5M2: each block of QUERN_SCALE_BLOCK elements shares a power of two, 2^(byte - 127), which is chosen
 * anew when the block is stored, by its largest finite magnitude, such that this one lies just below 2^(top + 1) and nothing
 * overflows.
 *
 *   scaled_load_*    2 * VECTOR_LANES elements of one block, whose scale is *scale
 *   scaled_store_*   a whole block from fp32, with its scale; `random` and `keep_positive` as in narrow_avx512.h
 *
 * Included after one of narrow_*.h and adam_arithmetic.h, whose names it uses.
 */
#ifndef QUERN_CPU_SCALED_H
#define QUERN_CPU_SCALED_H

#include <stdint.h>
#include <string.h>

/* The exponent to which a block's largest magnitude is scaled: one below the type's own largest. */
enum { SCALED_TOP_F16 = 14, SCALED_TOP_E4M3 = 7, SCALED_TOP_E5M2 = 14 };

static inline float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^(scale - 127), of which the smallest is subnormal; 255 stands for NaN and is read as infinity. */
static inline vector scale_value(uint8_t scale) {
    return vector_broadcast(float_of_bits(scale ? (uint32_t)scale << 23 : 1u << 22));
}

/* 2^(127 - scale), of a scale that scale_for has chosen. */
static inline vector scale_inverse(uint8_t scale) { return vector_broadcast(float_of_bits((254u - scale) << 23)); }

/* `largest` is the bits of a finite magnitude. */
static inline uint8_t scale_for(uint32_t largest, int top) {
    const int exponent = (int)(largest >> 23);
    return (uint8_t)(exponent > top ? exponent - top : 0);
}

/* ---- loads ---- */

static inline struct vector_pair scaled_load_f16(const uint16_t *from, const uint8_t *scale) {
    return pair_multiply(ordered_load_f16(from), scale_value(*scale));
}

static inline struct vector_pair scaled_load_e4m3(const uint8_t *from, const uint8_t *scale) {
    return pair_multiply(ordered_load_e4m3(from), scale_value(*scale));
}

static inline struct vector_pair scaled_load_e5m2(const uint8_t *from, const uint8_t *scale) {
    return pair_multiply(ordered_load_e5m2(from), scale_value(*scale));
}

/* ---- stores ---- */

#define FOR_EACH_PAIR(i) for (int i = 0; i < QUERN_SCALE_BLOCK; i += 2 * VECTOR_LANES)

static inline uint8_t scale_of(const float *x, int top) {
    vector_magnitude largest = magnitude_zero();
    FOR_EACH_PAIR(i) largest = magnitude_raise(largest, pair_load_f32(x + i));
    return scale_for(magnitude_reduce(largest), top);
}

static inline void scaled_store_e4m3(uint8_t *to, uint8_t *scale, const float *x, const uint16_t *random, int keep_positive) {
    *scale = scale_of(x, SCALED_TOP_E4M3);
    const vector factor = scale_inverse(*scale);
    FOR_EACH_PAIR(i) ordered_scale_e4m3(to + i, pair_load_f32(x + i), factor, random ? random + i : NULL, keep_positive);
}

static inline void scaled_store_e5m2(uint8_t *to, uint8_t *scale, const float *x, const uint16_t *random, int keep_positive) {
    *scale = scale_of(x, SCALED_TOP_E5M2);
    const vector factor = scale_inverse(*scale);
    FOR_EACH_PAIR(i) ordered_scale_e5m2(to + i, pair_load_f32(x + i), factor, random ? random + i : NULL, keep_positive);
}

static inline void scaled_store_f16(uint16_t *to, uint8_t *scale, const float *x, const uint16_t *random, int keep_positive) {
    *scale = scale_of(x, SCALED_TOP_F16);
    const vector factor = scale_inverse(*scale);
    FOR_EACH_PAIR(i) ordered_round_f16(to + i, pair_multiply(pair_load_f32(x + i), factor), random ? random + i : NULL);
    if (!keep_positive) return;
    for (int i = 0; i < QUERN_SCALE_BLOCK; i++)
        to[i] = (uint16_t)(to[i] | (to[i] == 0 && x[i] > 0));
}

#endif
