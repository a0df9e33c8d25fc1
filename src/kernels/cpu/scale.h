/*
 * The scale of a block of values, 2^(byte - 127), as the vectors that load and store the block need it.
 * Included after one of vector_*.h.
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

/* 2^(scale - 127), of which the smallest is subnormal; 255 stands for NaN and is read as infinity. */
static inline vector scale_value(uint8_t scale) {
    return vector_broadcast(float_of_bits(scale ? (uint32_t)scale << 23 : 1u << 22));
}

/* 2^(127 - scale), of a scale that scale_for has chosen. */
static inline vector scale_inverse(uint8_t scale) { return vector_broadcast(float_of_bits((254u - scale) << 23)); }

/* The scale that brings a finite magnitude, given as bits, just below 2^(top + 1). */
static inline uint8_t scale_for(uint32_t largest, int top) {
    const int exponent = (int)(largest >> 23);
    return (uint8_t)(exponent > top ? exponent - top : 0);
}

#endif
