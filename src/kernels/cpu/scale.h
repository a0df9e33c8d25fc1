/*
 * The scale of a block of values, 2^(byte - 127), as vectors for loading and storing the block.  Included by scaled.h and
 * narrow_*.h, after one of vector_*.h.
 */
#ifndef QUERN_CPU_SCALE_H
#define QUERN_CPU_SCALE_H

#include <stdint.h>
#include <string.h>

static inline float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

enum { SCALE_FACTORS = 8 };

/*
 * 2^(scale - 127) for the blocks of `count` elements, at most SCALE_FACTORS blocks.  The smallest is subnormal; 255 means NaN and
 * is read as infinity.  A loop of constant length takes few instructions.
 */
static inline void scale_factors(float *to, const uint8_t *scales, int64_t count) {
    uint8_t all[SCALE_FACTORS] = {0};
    const uint32_t smallest = 1u << 22;
    if (count == SCALE_FACTORS * QUERN_SCALE_BLOCK)
        memcpy(all, scales, sizeof all);
    else
        for (int i = 0; i < (int)(count / QUERN_SCALE_BLOCK); i++) all[i] = scales[i];
    for (int i = 0; i < SCALE_FACTORS; i++) {
        const uint32_t bits = (uint32_t)all[i] << 23;
        to[i] = float_of_bits(bits > smallest ? bits : smallest);
    }
}

/* The factor of the element at an offset from those blocks. */
static inline vector factor_at(const float *factors, int64_t offset) {
    return vector_broadcast(factors[(uint64_t)offset / QUERN_SCALE_BLOCK]);
}

/* 2^(127 - scale), for a scale from scale_for. */
static inline vector scale_inverse(uint8_t scale) { return vector_broadcast(float_of_bits((254u - scale) << 23)); }

/* The scale that brings a finite magnitude, given as bits, just below 2^(top + 1). */
static inline uint8_t scale_for(uint32_t largest, int top) {
    const int exponent = (int)(largest >> 23);
    return (uint8_t)(exponent > top ? exponent - top : 0);
}

#endif
