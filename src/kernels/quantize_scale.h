/*
 * The scale of a tensor from its largest magnitude.  src/quantize/ includes it as C and quantize.cuh as CUDA, so that both give the
 * same bits.  No step may flush subnormals: the inverse of a large scale is one.
 */
#ifndef QUERN_QUANTIZE_SCALE_H
#define QUERN_QUANTIZE_SCALE_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "quern.h"

#ifdef __CUDACC__
#define QUERN_QUANTIZE_SCALE static __device__ __forceinline__
#else
#define QUERN_QUANTIZE_SCALE static inline
#endif

/* The largest value of an 8-bit type. */
QUERN_QUANTIZE_SCALE float quern_quantize_largest(quern_dtype dtype) { return dtype == QUERN_E4M3 ? 448.0f : 57344.0f; }

/* The next power of two towards 0 of a positive normal value. */
QUERN_QUANTIZE_SCALE float quern_quantize_power(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0xFF800000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* largest: the largest value of the 8-bit type. */
QUERN_QUANTIZE_SCALE float quern_quantize_scale(float amax, float largest, float eps, int32_t power_of_two) {
    const float divisor = amax < eps ? eps : amax;
    if (!(divisor > 0.0f) || divisor > FLT_MAX) return 1.0f;
    const float scale = largest / divisor;
    const float finite = scale > FLT_MAX ? FLT_MAX : scale;
    return power_of_two ? quern_quantize_power(finite) : finite;
}

#endif
