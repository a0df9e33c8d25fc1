/*
 * The 8-bit types of the OCP's specification (2023): E4M3, which has no infinity, and E5M2, whose codes are the upper halves of
 * f16's.  Included by share.cuh and scale.cuh.
 *
 * They are converted by integer arithmetic and f16, so the results are the same on every generation.  The conversion instructions
 * of some generations only round to nearest, and turn infinity into the largest finite value.  At so few bytes per element
 * arithmetic nearly limits these kernels, so the path that nearly all values take is short.
 */
#ifndef QUERN_DEVICE_FP8_CUH
#define QUERN_DEVICE_FP8_CUH

#include "kernels/cuda/dtype.cuh"

#define QUERN_NAN8 0x7fu /* the only NaN that is stored in 8 bits */

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

    /* Two codes as the upper bytes of two f16's.  The f16's are 2^-8 times the codes' values, also for subnormals. */
    static __device__ __forceinline__ uint32_t as_halves(uint32_t codes) {
        return (codes & 0x80008000u) | (codes >> 1 & 0x3f803f80u);
    }
    static constexpr float of_halves = 0x1p8f;
    static constexpr float largest_factor = 0x1p119f; /* the largest factor that can be multiplied by 2^8 */

    static __device__ __forceinline__ bool has_nan(uint32_t word) { return ((word & 0x7f7f7f7fu) + 0x01010101u) & 0x80808080u; }
    static __device__ __forceinline__ bool is_nan(uint32_t code) { return (code & 0x7fu) == QUERN_NAN8; }
};

struct e5m2 : fp8<2, 15> {
    static constexpr float largest = 57344.0f;
    static constexpr uint32_t infinity = 0x7cu;

    /* Two codes as the upper bytes of two f16's, which have the codes' values. */
    static __device__ __forceinline__ uint32_t as_halves(uint32_t codes) { return codes; }
    static constexpr float of_halves = 1.0f;
    static constexpr float largest_factor = 0x1p127f;

    static __device__ __forceinline__ bool has_nan(uint32_t) { return false; } /* f16 has the same NaNs */
    static __device__ __forceinline__ bool is_nan(uint32_t) { return false; }
};

/* Eight codes, their values multiplied by a power of two. */
template <class T> static __device__ __forceinline__ void widen_fp8(const uint32_t *word, float factor, float *x) {
    const float whole_factor = __fmul_rn(factor, T::of_halves);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        const uint32_t halves = T::as_halves(__byte_perm(word[i / 4], 0, i % 4 ? 0x3424 : 0x1404));
        x[i] = __fmul_rn(f16::widen_low(halves), whole_factor);
        x[i + 1] = __fmul_rn(f16::widen_high(halves), whole_factor);
    }
    if (T::has_nan(word[0]) | T::has_nan(word[1]) | (T::of_halves != 1.0f && !(factor <= T::largest_factor))) { /* rare */
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint32_t code = word[i / 4] >> i % 4 * 8;
            const float value = __fmul_rn(f16::widen((uint16_t)T::as_halves(code << 8 & 0xff00u)), T::of_halves);
            x[i] = T::is_nan(code) ? __uint_as_float(0x7fffffffu) : __fmul_rn(value, factor);
        }
    }
}

/*
 * Packs four values into a word of codes, if all become normal ones with any rounding.  The values are already multiplied by
 * 2^(T::bias - 127), which makes their exponents those of the codes.
 */
template <class T, bool STOCHASTIC>
static __device__ __forceinline__ uint32_t narrow_to_normal_fp8(const float *x, const uint32_t *random) {
    uint32_t code[4]; /* in the upper byte, without the sign */
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t wide = __float_as_uint(x[i]) << (24 - T::cut);
        const uint32_t below = STOCHASTIC ? __byte_perm(random[i / 2], 0, i % 2 ? 0x4324 : 0x4104) : 0x7fffffu + (wide >> 24 & 1);
        code[i] = wide + below;
    }
    const uint32_t codes = __byte_perm(__byte_perm(code[0], code[1], 0x0073), __byte_perm(code[2], code[3], 0x0073), 0x5410);
    const uint32_t signs = __byte_perm(__byte_perm(__float_as_uint(x[0]), __float_as_uint(x[1]), 0x0073),
                                       __byte_perm(__float_as_uint(x[2]), __float_as_uint(x[3]), 0x0073), 0x5410);
    return codes | (signs & 0x80808080u);
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
