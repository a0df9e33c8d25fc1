/*
 * The scale of a tensor or a block from its largest magnitude.  src/quantize/ and the CPU kernels include it as C, the GPU kernels
 * as CUDA, so that all give the same bits.  No step may flush subnormals: the inverse of a large scale is one.
 */
#ifndef QUERN_QUANTIZE_SCALE_H
#define QUERN_QUANTIZE_SCALE_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "kernels/public.h"
#include "kernels/quantize_problem.h"

/* The largest value of an 8-bit type. */
QUERN_QUANTIZE_INLINE float quern_quantize_largest(quern_dtype dtype) { return dtype == QUERN_E4M3 ? 448.0f : 57344.0f; }

/* The next power of two towards 0 of a positive normal value. */
QUERN_QUANTIZE_INLINE float quern_quantize_power(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0xFF800000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* largest: the largest value of the 8-bit type. */
QUERN_QUANTIZE_INLINE float quern_quantize_scale(float amax, float largest, float eps, int32_t power_of_two) {
    const float divisor = amax < eps ? eps : amax;
    if (!(divisor > 0.0f) || divisor > FLT_MAX) return 1.0f;
    const float scale = largest / divisor;
    const float finite = scale > FLT_MAX ? FLT_MAX : scale;
    return power_of_two ? quern_quantize_power(finite) : finite;
}

/* The scale of a tensor of whose history no amax can be used: the last one. */
QUERN_QUANTIZE_INLINE float quern_quantize_kept_scale(float last) { return last > 0.0f && last <= FLT_MAX ? last : 1.0f; }

/* What a history counts of an amax, as bits: nothing of infinity and NaN. */
QUERN_QUANTIZE_INLINE uint32_t quern_quantize_usable(uint32_t amax) { return amax < 0x7F800000u ? amax : 0; }

/* ---- blocks ---- */

enum { QUERN_QUANTIZE_INFINITE = 254 };  /* the scale of a block with infinity: 2^127 */

/*
 * The E8M0 scale of a block: the least power of two, 2^(scale - 127), by which amax becomes at most the largest value.  That is
 * 1.75 * 2^8 or 1.75 * 2^15, so a larger fraction needs the next power.  amax is not NaN.
 */
QUERN_QUANTIZE_INLINE uint32_t quern_quantize_block_scale(float amax, quern_dtype dtype) {
    const uint32_t power_of_largest = dtype == QUERN_E4M3 ? 8 : 15, above_fraction = 0x1FFFFF;
    uint32_t bits;
    memcpy(&bits, &amax, sizeof bits);
    if (amax > FLT_MAX) return QUERN_QUANTIZE_INFINITE;
    const uint32_t power = (bits + above_fraction) >> 23;
    return power > power_of_largest ? power - power_of_largest : 0;
}

/* Its inverse, 2^(127 - scale).  That of infinite blocks is subnormal. */
QUERN_QUANTIZE_INLINE float quern_quantize_block_factor(uint32_t scale) {
    const uint32_t bits = scale == QUERN_QUANTIZE_INFINITE ? 0x00400000u : (254 - scale) << 23;
    float factor;
    memcpy(&factor, &bits, sizeof factor);
    return factor;
}

#endif
