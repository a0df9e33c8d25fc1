/*
 * The softcap of logits: y = cap * tanh(x / cap) and its derivative, 1 - (y / cap)^2.  Included by cross_entropy_options.cuh and
 * row_softcap.cuh.
 *
 * With q = exp(-2 |x / cap|) these are cap * (1 - q) / (1 + q) and 4 q / (1 + q)^2.  The latter does not cancel where tanh
 * saturates.  The former is computed as cap - 2 cap q / (1 + q), whose error is relative to the small part.  Near 0, where 1 - q
 * would cancel, a polynomial replaces it.
 */
#ifndef QUERN_DEVICE_SOFTCAP_CUH
#define QUERN_DEVICE_SOFTCAP_CUH

#include "kernels/cuda/exponential.cuh"

struct softcap {
    float cap;      /* 0: none */
    float inverse;

    __device__ __forceinline__ explicit softcap(float wanted) : cap(wanted) {
        inverse = wanted != 0 ? fminf(__frcp_rn(wanted), FLT_MAX) : 0.0f; /* finite, because infinity * 0 is NaN */
    }

    /* Valid only if there is a cap. */
    __device__ __forceinline__ float operator()(float x, float *slope) const {
        const float t = x * inverse;
        const float q = exp2_flushed(fabsf(t) * (-2.0f * LOG2_E));
        const float r = reciprocal_approximate(1.0f + q);
        const float share = q * r;
        *slope = 4.0f * share * r;
        const float s = t * t;
        float series = 1.4494819e-3f; /* tanh(t) / t = 1 + s * series, to 7e-9 for |t| < 0.85 */
        series = __fmaf_rn(series, s, -7.1626851e-3f);
        series = __fmaf_rn(series, s, 2.1136870e-2f);
        series = __fmaf_rn(series, s, -5.3802159e-2f);
        series = __fmaf_rn(series, s, 1.3331570e-1f);
        series = __fmaf_rn(series, s, -3.3333270e-1f);
        const float near = __fmaf_rn(x * s, series, x);
        const float far = copysignf(__fmaf_rn(share, -2.0f * cap, cap), x);
        return fabsf(t) > 0.85f ? far : near; /* NaN stays NaN */
    }
    __device__ __forceinline__ float operator()(float x) const {
        float slope;
        return (*this)(x, &slope);
    }
};

#endif
