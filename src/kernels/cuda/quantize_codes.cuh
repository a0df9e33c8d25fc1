/*
 * Eight fp32 values as 8-bit codes, saturated.  Included by quantize_cast.cuh, quantize_matrix.cuh and quantize_whole.cuh.
 *
 * To nearest, one instruction makes two codes where there is such an instruction.  Otherwise nearly always all eight become normal
 * codes without saturation, for which integer arithmetic on four codes at once suffices.
 */
#ifndef QUERN_DEVICE_QUANTIZE_CODES_CUH
#define QUERN_DEVICE_QUANTIZE_CODES_CUH

#include "kernels/cuda/fp8.cuh"

struct magnitudes {
    float smallest, largest, total;

    __device__ __forceinline__ magnitudes(const float *x) : smallest(fabsf(x[0])), largest(fabsf(x[0])), total(fabsf(x[0])) {
#pragma unroll
        for (int i = 1; i < 8; i++) {
            smallest = fminf(smallest, fabsf(x[i])); /* these two skip NaN, but the sum does not */
            largest = fmaxf(largest, fabsf(x[i]));
            total += fabsf(x[i]);
        }
    }

    /* Whether the products with `scale` become normal codes without saturation.  A product grows with its factor. */
    template <class Out> __device__ __forceinline__ bool become_normal(float scale) const {
        return __fmul_rn(smallest, scale) >= __uint_as_float(Out::smallest_normal) &
               __fmul_rn(largest, scale) <= Out::largest & total == total;
    }

    /* The same of values that are scaled with their block: only infinity and NaN, in the sum, are above the largest value. */
    template <class Out> __device__ __forceinline__ bool are_normal() const {
        return smallest >= __uint_as_float(Out::smallest_normal) & total < __uint_as_float(0x7f800000u);
    }
};

/* Four codes of any values. */
template <class Out, bool STOCHASTIC> static __device__ __forceinline__ uint32_t saturate(float *x, const uint32_t *random) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[i] = fabsf(x[i]) > Out::largest ? copysignf(Out::largest, x[i]) : x[i];
    }
    return narrow_to_fp8<Out, STOCHASTIC>(x, random);
}

#if QUERN_FP8_CONVERT

/* Two codes to nearest, saturated; `low` becomes the lower byte. */
template <class Out> static __device__ __forceinline__ uint32_t convert(float low, float high);

template <> __device__ __forceinline__ uint32_t convert<e4m3>(float low, float high) {
    uint16_t codes;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    return codes;
}

template <> __device__ __forceinline__ uint32_t convert<e5m2>(float low, float high) {
    uint16_t codes;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    return codes;
}

/* Makes QUERN_NAN8 of every NaN: PTX does not say which one a conversion stores.  No code of a number is above the largest. */
template <class Out> static __device__ __forceinline__ uint32_t one_nan(uint32_t codes) {
    constexpr uint32_t beyond = (Out::infinity == QUERN_NAN8 ? 0x01u : 0x03u) * 0x01010101u; /* carries into a NaN's sign */
    const uint32_t nan = ((codes & 0x7f7f7f7fu) + beyond) & 0x80808080u;
    return (Out::infinity == QUERN_NAN8 ? codes : codes | (nan - (nan >> 7))) & ~nan;
}

template <class Out> static __device__ __forceinline__ uint32_t nearest_four(const float *x, bool) {
    return one_nan<Out>(convert<Out>(x[0], x[1]) | convert<Out>(x[2], x[3]) << 16);
}

#else

template <class Out> static __device__ __forceinline__ uint32_t nearest_four(float *x, bool is_normal) {
    constexpr uint32_t one = 127; /* the scale of a block: these are scaled */
    return is_normal ? narrow_to_normal_fp8<Out, false, false>(x, one, nullptr) : saturate<Out, false>(x, nullptr);
}

#endif

/* The codes of eight scaled values, in two words; `random` has 16 bits for each. */
template <class Out, bool STOCHASTIC>
static __device__ __forceinline__ void code_eight(float *x, bool is_normal, const uint32_t *random, uint32_t *word) {
    constexpr uint32_t one = 127;
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
        if (!STOCHASTIC) {
            word[i / 4] = nearest_four<Out>(x + i, is_normal);
        } else if (is_normal) {
            word[i / 4] = narrow_to_normal_fp8<Out, STOCHASTIC, false>(x + i, one, random + i / 2);
        } else {
            word[i / 4] = saturate<Out, STOCHASTIC>(x + i, random + i / 2);
        }
    }
}

#endif
