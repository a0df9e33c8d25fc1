/*
 * 16-bit formats by integer arithmetic, for any split into exponent and fraction: the types that no instruction converts.  f16 is
 * one of them, but for its instructions.  Included by dtype.cuh.
 */
#ifndef QUERN_DEVICE_FORMAT_CUH
#define QUERN_DEVICE_FORMAT_CUH

#include <stdint.h>

#define QUERN_NAN16 0x7fffu /* the only NaN that is stored in 16 bits */

/* EXPONENT: its bits, 2 to 7, so that every finite value is a normal fp32. */
template <int EXPONENT> struct format {
    typedef uint16_t bits;
    enum { bytes = 2, fraction = 15 - EXPONENT, bias = (1 << (EXPONENT - 1)) - 1 };

    static constexpr int cut = 23 - fraction;                                 /* fraction bits that fp32 has more */
    static constexpr uint32_t infinity = ((1u << EXPONENT) - 1) << fraction;
    static constexpr uint32_t minus_infinity = 0x8000u | infinity;
    static constexpr uint32_t rebias = (127u - bias) << 23;                   /* as fp32, as all that follows */
    static constexpr uint32_t smallest_normal = (128u - bias) << 23;
    static constexpr uint32_t largest = (infinity << cut) + rebias - (1u << cut);
    static constexpr uint32_t overflow = (infinity << cut) + rebias - (1u << (cut - 1));
    /* Added to a subnormal value, this leaves its code in the last bits, because both have the same step. */
    static constexpr uint32_t aligner = (151u - bias - fraction) << 23;
    static constexpr uint32_t random_step = (128u - bias - fraction - cut) << 23; /* 2^-cut of that step */

    static __device__ __forceinline__ float widen(bits x) {
        const uint32_t wide = (x & 0x8000u) << 16 | (x & 0x7fffu) << cut;
        return (x & infinity) == infinity ? __uint_as_float(wide | 0x7f800000u)
                                          : __fmul_rn(__uint_as_float(wide), __uint_as_float((254u - bias) << 23));
    }
    static __device__ __forceinline__ float widen_low(uint32_t word) { return widen((bits)word); }
    static __device__ __forceinline__ float widen_high(uint32_t word) { return widen((bits)(word >> 16)); }

    static __device__ __forceinline__ bits nearest(float x) {
        const uint32_t wide = __float_as_uint(x) & 0x7fffffffu, sign = __float_as_uint(x) >> 16 & 0x8000u;
        const uint32_t normal = (wide + (wide >> cut & 1) + ((1u << (cut - 1)) - 1) - rebias) >> cut;
        const uint32_t subnormal = __float_as_uint(__fadd_rn(fabsf(x), __uint_as_float(aligner))) - aligner;
        const uint32_t number = wide >= overflow ? infinity : wide < smallest_normal ? subnormal : normal;
        return (bits)(x != x ? QUERN_NAN16 : number | sign);
    }
    static __device__ __forceinline__ uint32_t nearest_pair(float low, float high) {
        return nearest(low) | (uint32_t)nearest(high) << 16;
    }
    /* Toward zero, of a magnitude that is at most the largest finite value. */
    static __device__ __forceinline__ uint32_t truncate(float magnitude) {
        const uint32_t wide = __float_as_uint(magnitude);
        const uint32_t subnormal = __float_as_uint(__fadd_rz(magnitude, __uint_as_float(aligner))) - aligner;
        return wide < smallest_normal ? subnormal : (wide - rebias) >> cut;
    }
};

/* Stochastic rounding: stochastic.cuh describes it. */
template <class T> struct stochastic {
    /* random_bits: as many as are cut off. */
    static __device__ __forceinline__ uint32_t one(float x, uint32_t random_bits) {
        const float magnitude = fabsf(x);
        const uint32_t sign = __float_as_uint(x) >> 16 & 0x8000u;
        /* The step between subnormal values is constant, so there the bits are added as a number. */
        const float normal = __uint_as_float(__float_as_uint(magnitude) + random_bits);
        const float subnormal = __fadd_rn(magnitude, __fmul_rn((float)random_bits, __uint_as_float(T::random_step)));
        /* A carry into NaN becomes the largest value too. */
        const float sum = fminf(magnitude >= __uint_as_float(T::smallest_normal) ? normal : subnormal, __uint_as_float(T::largest));
        const uint32_t finite = T::truncate(sum) | sign;
        const uint32_t other = x != x ? QUERN_NAN16 : T::infinity | sign;
        return magnitude < __uint_as_float(0x7f800000u) ? finite : other;
    }

    template <int COUNT>
    static __device__ __forceinline__ void round(const float *x, const uint32_t *random, uint32_t *out, bool) {
#pragma unroll
        for (int i = 0; i < COUNT; i += 2) {
            const uint32_t word = random[i / 2];
            out[i / 2] = one(x[i], (word & 0xffffu) >> (16 - T::cut)) | one(x[i + 1], word >> (32 - T::cut)) << 16;
        }
    }
};

#endif
