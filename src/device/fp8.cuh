/*
 * The 8-bit types of the OCP's specification (2023): E4M3, which has no infinity, and E5M2, whose codes are the upper halves of
 * f16's.
 *
 * All by integer arithmetic, and so the same on every generation: the conversions that some have round to nearest only and make
 * the largest finite value of infinity, and these kernels wait for memory, not for the arithmetic.
 */
#ifndef QUERN_DEVICE_FP8_CUH
#define QUERN_DEVICE_FP8_CUH

#include "device/dtype.cuh"

#define QUERN_NAN8 0x7fu /* the one NaN that is ever stored in 8 bits */

/* A type with so many bits of fraction and so large an exponent's bias. */
template <int FRACTION, int BIAS> struct fp8 {
    typedef uint8_t bits;
    enum { bytes = 1 };

    static constexpr int cut = 23 - FRACTION;                               /* the bits that fp32 has more */
    static constexpr uint32_t rebias = (127 - BIAS) << FRACTION;            /* of an exponent in its new place */
    static constexpr uint32_t smallest_normal = (128 - BIAS) << 23;         /* as fp32 */
    /* Added to a subnormal value, this leaves its code in the last bits: their step is that of the subnormal codes. */
    static constexpr uint32_t aligner = (151 - BIAS - FRACTION) << 23;
    static constexpr uint32_t random_step = (112 - BIAS - FRACTION) << 23;  /* 2^-16 of that */

    /* The code of a magnitude; finite, and not so large that it would round to more than the largest one. */
    static __device__ __forceinline__ uint32_t nearest(float magnitude) {
        const uint32_t wide = __float_as_uint(magnitude);
        const uint32_t normal = ((wide + ((1u << (cut - 1)) - 1) + (wide >> cut & 1)) >> cut) - rebias;
        const uint32_t subnormal = __float_as_uint(__fadd_rn(magnitude, __uint_as_float(aligner))) - aligner;
        return wide >= smallest_normal ? normal : subnormal;
    }

    /* The same, rounded up with the probability of what is cut off. */
    static __device__ __forceinline__ uint32_t stochastic(float magnitude, uint32_t random16) {
        const uint32_t wide = __float_as_uint(magnitude);
        const uint32_t normal = ((wide + (random16 << (cut - 16))) >> cut) - rebias;
        const float sum = __fmaf_rn((float)random16, __uint_as_float(random_step), magnitude); /* the product is exact */
        const uint32_t subnormal = __float_as_uint(__fadd_rz(sum, __uint_as_float(aligner))) - aligner;
        return wide >= smallest_normal ? normal : subnormal;
    }
};

struct e4m3 : fp8<3, 7> {
    static constexpr float largest = 448.0f;
    static constexpr uint32_t infinity = QUERN_NAN8;

    /* Four codes; fp32's exponent has room for theirs, and one multiplication moves it to its place, from subnormals too. */
    static __device__ __forceinline__ void widen(uint32_t word, float *x) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t top = word << (24 - 8 * i);
            x[i] = __fmul_rn(__uint_as_float((top & 0x80000000u) | (top >> 4 & 0x07f00000u)), 0x1p120f);
        }
        if (((word & 0x7f7f7f7fu) + 0x01010101u) & 0x80808080u) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                x[i] = (word >> 8 * i & 0x7fu) == QUERN_NAN8 ? __uint_as_float(0x7fffffffu) : x[i];
            }
        }
    }
};

struct e5m2 : fp8<2, 15> {
    static constexpr float largest = 57344.0f;
    static constexpr uint32_t infinity = 0x7cu;

    static __device__ __forceinline__ void widen(uint32_t word, float *x) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[i] = f16::widen((uint16_t)(word >> 8 * i << 8));
        }
    }
};

/* Four values to a word of codes; `random` has 16 bits for each, unless they are rounded to nearest. */
template <class T, bool STOCHASTIC>
static __device__ __forceinline__ uint32_t narrow_to_fp8(const float *x, const uint32_t *random) {
    uint32_t code[4];
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t random16 = !STOCHASTIC ? 0 : i % 2 ? random[i / 2] >> 16 : random[i / 2] & 0xffffu;
        code[i] = STOCHASTIC ? T::stochastic(fabsf(x[i]), random16) : T::nearest(fabsf(x[i]));
        code[i] |= __float_as_uint(x[i]) >> 24 & 0x80u;
        total += fabsf(x[i]);
    }
    uint32_t word = __byte_perm(__byte_perm(code[0], code[1], 0x0040), __byte_perm(code[2], code[3], 0x0040), 0x5410);
    if (!(total < __uint_as_float(0x7f800000u))) { /* rare: infinity or NaN */
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t infinite = T::infinity == QUERN_NAN8 ? QUERN_NAN8 : T::infinity | (__float_as_uint(x[i]) >> 24 & 0x80u);
            const uint32_t other = x[i] != x[i] ? QUERN_NAN8 : infinite;
            word = fabsf(x[i]) < __uint_as_float(0x7f800000u) ? word : (word & ~(0xffu << 8 * i)) | other << 8 * i;
        }
    }
    return word;
}

template <class T> struct fp8_packing {
    static __device__ __forceinline__ void widen(const uint32_t *word, float *x) {
        T::widen(word[0], x);
        T::widen(word[1], x + 4);
    }
    static __device__ __forceinline__ void nearest(const float *x, uint32_t *word) {
        word[0] = narrow_to_fp8<T, false>(x, nullptr);
        word[1] = narrow_to_fp8<T, false>(x + 4, nullptr);
    }
};
template <> struct packing<e4m3, 8> : fp8_packing<e4m3> {};
template <> struct packing<e5m2, 8> : fp8_packing<e5m2> {};

#endif
