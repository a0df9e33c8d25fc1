/*
 * Stochastic rounding of fp32 values to 16 bits: 16 random bits are added below the last bit that is kept, and the rest is cut
 * off.  Infinity stays infinity, NaN becomes the one stored NaN, and a finite value never becomes infinite.
 */
#ifndef QUERN_DEVICE_STOCHASTIC_CUH
#define QUERN_DEVICE_STOCHASTIC_CUH

#include "device/dtype.cuh"
#include "device/philox.cuh"

template <class T> struct stochastic;

template <> struct stochastic<bf16> {
    /* The rounded value in the upper half, anything in the lower. */
    static __device__ __forceinline__ uint32_t upper(float x, uint32_t random) {
        /* From the largest finite bf16 on, infinity and NaN included, there is nothing to round up to. */
        bool rounds = fabsf(x) < __uint_as_float(0x7f7f0000u);
        uint32_t rounded = __float_as_uint(x) + (rounds ? random : 0u);
        return x != x ? QUERN_NAN16 << 16 : rounded;
    }
    static __device__ __forceinline__ uint32_t pair(float low, float high, uint32_t random_low, uint32_t random_high) {
        return __byte_perm(upper(low, random_low), upper(high, random_high), 0x7632);
    }
};

template <> struct stochastic<f16> {
    static __device__ __forceinline__ uint32_t one(float x, uint32_t random) {
        float magnitude = fabsf(x);
        uint32_t random13 = random >> 3; /* fp32 has 13 bits more than f16 */
        /* The step between subnormal values of f16 does not shrink with the exponent: there the bits are added as a number. */
        float normal = __uint_as_float(__float_as_uint(magnitude) + random13);
        float subnormal = __fadd_rn(magnitude, __fmul_rn((float)random13, 0x1p-37f));
        float sum = fminf(magnitude >= 0x1p-14f ? normal : subnormal, 65504.0f); /* NaN from a carry becomes 65504 too */
        uint16_t cut;
        asm("cvt.rz.f16.f32 %0, %1;" : "=h"(cut) : "f"(sum));
        uint32_t finite = cut | (__float_as_uint(x) >> 16 & 0x8000u);
        if (magnitude < __uint_as_float(0x7f800000u)) {
            return finite;
        }
        return x != x ? QUERN_NAN16 : 0x7c00u | (__float_as_uint(x) >> 16 & 0x8000u);
    }
    static __device__ __forceinline__ uint32_t pair(float low, float high, uint32_t random_low, uint32_t random_high) {
        return one(low, random_low) | one(high, random_high) << 16;
    }
};

#endif
