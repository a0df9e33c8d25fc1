/*
 * Parameters of the 8-bit floating-point formats of the OCP (2023) for the conversions in narrow_*.h: fraction bits, exponent bias,
 * and the codes for infinity and the largest finite value.  NaN is stored as 0x7F, the only NaN of E4M3.  Included by
 * narrow_avx512.h, narrow_avx2.h and narrow_portable.h.
 */
#ifndef QUERN_CPU_NARROW_H
#define QUERN_CPU_NARROW_H

#include <stdint.h>

#include "quern.h"

struct narrow_format {
    int fraction, bias;
    uint32_t infinity, largest;  /* E4M3 has no infinity: NaN */
};

static const struct narrow_format narrow_e4m3 = {3, 7, 0x7F, 0x7E}, narrow_e5m2 = {2, 15, 0x7C, 0x7B};

enum { NARROW_NAN = 0x7F, NARROW_SIGN = 0x80, F32_INFINITY = 0x7F800000 };

/* The NaN of each type as fp32, like those of adam_*.h.  Any NaN will do, because 8 bits have no room for a payload. */
enum { NAN_e4m3 = 0x7FFFFFFF, NAN_e5m2 = 0x7FFFFFFF };

/* The fraction bits of fp32 that a normal value loses, and the difference of the biases at its place in fp32. */
static inline int narrow_cut(struct narrow_format format) { return 23 - format.fraction; }

static inline int32_t narrow_rebias(struct narrow_format format) { return (127 - format.bias) << 23; }

/* The bits of 2^exponent, which is a normal fp32. */
static inline int32_t narrow_power(int exponent) { return (127 + exponent) << 23; }

/* The exponents of the smallest normal value and of the step between subnormal values. */
static inline int narrow_smallest(struct narrow_format format) { return 1 - format.bias; }

static inline int narrow_step(struct narrow_format format) { return 1 - format.bias - format.fraction; }

/*
 * Rounds x * 2^(127 - scale) without the multiplication: the number to add to the bits of x, and the least x whose product is
 * normal. If there is no such number, no product counts as normal.
 */
static inline int32_t narrow_rescale(struct narrow_format format, uint8_t scale) { return (format.bias - scale) * (1 << 23); }

static inline int32_t narrow_least(struct narrow_format format, uint8_t scale) {
    return scale >= format.bias ? (scale + 1 - format.bias) << 23 : F32_INFINITY;
}

/* The largest finite value as fp32. */
static inline int32_t narrow_largest(struct narrow_format format) {
    return ((int32_t)format.largest << narrow_cut(format)) + narrow_rebias(format);
}

/* The code for infinity of a given sign: E4M3's NaN has no sign. */
static inline uint32_t narrow_infinity_sign(struct narrow_format format) { return format.infinity == NARROW_NAN ? 0 : NARROW_SIGN; }

#endif
