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

/* 2^(scale - 127), the smallest of which is subnormal; 255 means NaN and is read as infinity. */
static inline vector scale_value(uint8_t scale) {
    return vector_broadcast(float_of_bits(scale ? (uint32_t)scale << 23 : 1u << 22));
}

/* 2^(127 - scale), for a scale from scale_for. */
static inline vector scale_inverse(uint8_t scale) { return vector_broadcast(float_of_bits((254u - scale) << 23)); }

/* The scale that brings a finite magnitude, given as bits, just below 2^(top + 1). */
static inline uint8_t scale_for(uint32_t largest, int top) {
    const int exponent = (int)(largest >> 23);
    return (uint8_t)(exponent > top ? exponent - top : 0);
}

#endif
