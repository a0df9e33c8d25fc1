/*
 * The 8-bit types of the OCP's specification (2023): E4M3, which has no infinity, and E5M2, whose codes are the upper halves of
 * f16's.  Included by share.cuh and scale.cuh.
 *
 * They are rounded by integer arithmetic, so the results are the same on every generation: the conversion instructions of some
 * generations only round to nearest, and turn infinity into the largest finite value.  quantize_codes.cuh uses them where they
 * have the same results.  Widening is exact, with or without an instruction.  At so few bytes per element arithmetic nearly
 * limits these kernels, so the path that nearly all values take is short.
 */
#ifndef QUERN_DEVICE_FP8_CUH
#define QUERN_DEVICE_FP8_CUH

#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/pair.cuh"

#ifndef QUERN_FP8_CONVERT
#error QUERN_FP8_CONVERT must be 1 where one instruction widens two 8-bit values, else 0
#endif

#define QUERN_NAN8 0x7fu /* the only NaN that is stored in 8 bits */

/* Bytes i and i + 1 (i is even) of the words as the upper bytes of two halves. */
static __device__ __forceinline__ uint32_t upper_bytes(const uint32_t *word, int i) {
    return __byte_perm(word[i / 4], 0, i % 4 ? 0x3424 : 0x1404);
}

/* A type with FRACTION bits of fraction and an exponent bias of BIAS. */
template <int FRACTION, int BIAS> struct fp8 {
    typedef uint8_t bits;
    enum { bytes = 1 };

    static constexpr int bias = BIAS;
    static constexpr int cut = 23 - FRACTION;                               /* fraction bits that fp32 has more */
    static constexpr uint32_t rebias = (127 - BIAS) << FRACTION;            /* moves an exponent to the type's bias */
    static constexpr uint32_t smallest_normal = (128 - BIAS) << 23;         /* as fp32 */
    /* Added to a subnormal value, this leaves its code in the last bits, because both have the same step. */
    static constexpr uint32_t aligner = (151 - BIAS - FRACTION) << 23;
    static constexpr uint32_t random_step = (112 - BIAS - FRACTION) << 23;  /* 2^-16 of that step */

    /* The code of a magnitude.  It must be finite and must not round to more than the largest code. */
    static __device__ __forceinline__ uint32_t nearest(float magnitude) {
        const uint32_t wide = __float_as_uint(magnitude);
        const uint32_t normal = ((wide + ((1u << (cut - 1)) - 1) + (wide >> cut & 1)) >> cut) - rebias;
        const uint32_t subnormal = __float_as_uint(__fadd_rn(magnitude, __uint_as_float(aligner))) - aligner;
        return wide >= smallest_normal ? normal : subnormal;
    }

    /* The same, rounded up with the probability of the cut-off part. */
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

#if QUERN_FP8_CONVERT
    /* Codes i and i + 1 (i is even) as two f16's, which have the codes' values; NaN stays NaN. */
    static __device__ __forceinline__ uint32_t halves(const uint32_t *word, int i) {
        uint32_t both;
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(both) : "h"((uint16_t)(word[i / 4] >> i % 4 * 8)));
        return both;
    }
    static constexpr float of_halves = 1.0f;
#else
    /* Codes i and i + 1 as the upper bytes of two f16's, which are 2^-8 times the codes' values, also for subnormals. */
    static __device__ __forceinline__ uint32_t halves(const uint32_t *word, int i) { return as_halves(upper_bytes(word, i)); }
    static constexpr float of_halves = 0x1p8f;
#endif
    static __device__ __forceinline__ uint32_t as_halves(uint32_t codes) {
        return (codes & 0x80008000u) | (codes >> 1 & 0x3f803f80u);
    }
    static constexpr float largest_factor = 0x1p119f; /* the largest factor that can be multiplied by 2^8 */

    static __device__ __forceinline__ bool has_nan(uint32_t word) { return ((word & 0x7f7f7f7fu) + 0x01010101u) & 0x80808080u; }
    static __device__ __forceinline__ bool is_nan(uint32_t code) { return (code & 0x7fu) == QUERN_NAN8; }
};

struct e5m2 : fp8<2, 15> {
    static constexpr float largest = 57344.0f;
    static constexpr uint32_t infinity = 0x7cu;

    /* Codes i and i + 1 as the upper bytes of two f16's, which have the codes' values. */
    static __device__ __forceinline__ uint32_t halves(const uint32_t *word, int i) { return upper_bytes(word, i); }
    static __device__ __forceinline__ uint32_t as_halves(uint32_t codes) { return codes; }
    static constexpr float of_halves = 1.0f; /* f16 has the same NaNs */
    static constexpr float largest_factor = 0x1p127f;

    static __device__ __forceinline__ bool has_nan(uint32_t) { return false; }
    static __device__ __forceinline__ bool is_nan(uint32_t) { return false; }
};

/* The upper bytes of four words. */
static __device__ __forceinline__ uint32_t upper_bytes_of(const uint32_t *word) {
    return __byte_perm(__byte_perm(word[0], word[1], 0x0073), __byte_perm(word[2], word[3], 0x0073), 0x5410);
}

/* Eight codes, their values multiplied by a power of two. */
template <class T> static __device__ __forceinline__ void widen_fp8(const uint32_t *word, float factor, float *x) {
    const float whole_factor = T::of_halves == 1.0f ? factor : __fmul_rn(factor, T::of_halves);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        const uint32_t halves = T::halves(word, i);
        set_pair(x, i, multiply({f16::widen_low(halves), f16::widen_high(halves)}, twice(whole_factor)));
    }
    if (T::of_halves != 1.0f && (T::has_nan(word[0]) || T::has_nan(word[1]) || !(factor <= T::largest_factor))) { /* rare */
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint32_t code = word[i / 4] >> i % 4 * 8;
            const float value = __fmul_rn(f16::widen((uint16_t)T::as_halves(code << 8 & 0xff00u)), T::of_halves);
            x[i] = T::is_nan(code) ? __uint_as_float(0x7fffffffu) : __fmul_rn(value, factor);
        }
    }
}

/*
 * Packs four values of a block with this scale into a word of codes, if all become normal ones with any rounding.  Multiplying by a
 * power of two only adds to exponents, so all four are added to at once, in the codes.
 */
template <class T, bool STOCHASTIC, bool POSITIVE>
static __device__ __forceinline__ uint32_t narrow_to_normal_fp8(const float *x, uint32_t scale, const uint32_t *random) {
    uint32_t wide[4], code[4]; /* the codes are in the upper bytes, without the sign */
#pragma unroll
    for (int i = 0; i < 4; i++) {
        wide[i] = __float_as_uint(x[i]);
        const uint32_t below =
            STOCHASTIC ? __byte_perm(random[i / 2], 0, i % 2 ? 0x4324 : 0x4104) : 0x7fffffu + (wide[i] >> T::cut & 1);
        code[i] = (wide[i] << (24 - T::cut)) + below;
    }
    const uint32_t added = (((T::bias - scale) << (23 - T::cut)) & 0x7fu) * 0x01010101u;
    const uint32_t codes = (upper_bytes_of(code) & 0x7f7f7f7fu) + added;
    return POSITIVE ? codes & 0x7f7f7f7fu : (codes & 0x7f7f7f7fu) | (upper_bytes_of(wide) & 0x80808080u);
}

/* Packs four values into a word of codes.  `random` has 16 bits for each value, unless they are rounded to nearest. */
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
    static __device__ __forceinline__ void nearest(const float *x, uint32_t *word) {
        word[0] = narrow_to_fp8<T, false>(x, nullptr);
        word[1] = narrow_to_fp8<T, false>(x + 4, nullptr);
    }
};
template <> struct packing<e4m3, 8> : fp8_packing<e4m3> {};
template <> struct packing<e5m2, 8> : fp8_packing<e5m2> {};

#endif
