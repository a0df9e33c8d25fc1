/*
 * Scaled types: 32 elements of F16, E4M3 or E5M2 share a power of two, which is stored in one byte beside them (E8M0).  Included by
 * adam_copy.cuh and random_words.cuh.  The scale is chosen whenever a block is stored, so that its largest finite magnitude is just
 * below the type's largest value.
 *
 * A block is spread over a few neighbouring lanes of a warp, which compute its largest magnitude together.
 */
#ifndef QUERN_DEVICE_SCALE_CUH
#define QUERN_DEVICE_SCALE_CUH

#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/pair.cuh"
#include "kernels/cuda/stochastic.cuh"

/* The exponent of the largest magnitude when it is stored; negative: the type is not scaled. */
template <class T> struct scaled_top { static constexpr int value = -1; };
template <> struct scaled_top<f16> { static constexpr int value = 14; };
template <> struct scaled_top<e4m3> { static constexpr int value = 7; };
template <> struct scaled_top<e5m2> { static constexpr int value = 14; };

template <class T> constexpr bool is_scaled = scaled_top<T>::value >= 0;

/* The largest finite magnitude of eight values, or `sofar` if that is larger. */
static __device__ __forceinline__ float largest_finite(const float *x, float sofar) {
    float largest = sofar;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        largest = fmaxf(largest, fabsf(x[i])); /* skips NaN */
    }
    if (largest == __uint_as_float(0x7f800000u)) { /* rare */
        largest = sofar;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const float magnitude = fabsf(x[i]);
            largest = magnitude < __uint_as_float(0x7f800000u) ? fmaxf(largest, magnitude) : largest;
        }
    }
    return largest;
}

/* The largest over LANES neighbouring lanes; all lanes of the warp must take part. */
template <int LANES> static __device__ __forceinline__ float largest_of_lanes(float largest) {
#pragma unroll
    for (int distance = 1; distance < LANES; distance *= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, distance));
    }
    return largest;
}

template <class T> static __device__ __forceinline__ uint32_t scale_of(float largest) {
    return max((int)(__float_as_uint(largest) >> 23) - scaled_top<T>::value, 0);
}

/* 2^(scale - 127), which is subnormal at 0 and infinite at 255, and its inverse, for a scale from scale_of. */
static __device__ __forceinline__ float scale_factor(uint32_t scale) {
    return __uint_as_float(scale == 0 ? 0x00400000u : scale << 23);
}
static __device__ __forceinline__ float scale_divisor(uint32_t scale) { return __uint_as_float((254 - scale) << 23); }

template <class T> static __device__ __forceinline__ void widen_scaled(const uint32_t *word, float factor, float *x) {
    if constexpr (T::bytes == 1) {
        widen_fp8<T>(word, factor, x);
    } else {
        packing<T, 8>::widen(word, x);
#pragma unroll
        for (int i = 0; i < 8 && is_scaled<T>; i += 2) {
            set_pair(x, i, multiply(pair_of(x, i), twice(factor)));
        }
    }
}

/* A value above zero gets at least the smallest code. */
template <class T> static __device__ __forceinline__ uint32_t keep_positive(const float *x, uint32_t word) {
    constexpr int bits = 8 * T::bytes;
#pragma unroll
    for (int i = 0; i < 32 / bits; i++) {
        const uint32_t mask = ((1u << bits) - 1) << i * bits;
        word |= x[i] > 0.0f && !(word & mask) ? 1u << i * bits : 0;
    }
    return word;
}

/* Whether eight finite values are normal numbers and become normal 8-bit codes, as nearly all do. */
template <class T> static __device__ __forceinline__ bool become_normal(const float *x, uint32_t scale) {
    float smallest = fabsf(x[0]);
#pragma unroll
    for (int i = 1; i < 8; i++) {
        smallest = fminf(smallest, fabsf(x[i]));
    }
    return scale - T::bias < 127 & smallest >= __uint_as_float((scale + 1 - T::bias) << 23);
}

/*
 * Rounds eight values of a block with this scale, to nearest or with 16 random bits for each.  It works word by word, to save
 * registers.  `finite` promises that none is infinite or NaN.
 */
template <class T, bool STOCHASTIC, bool POSITIVE>
static __device__ __forceinline__ void narrow_scaled(const float *x, uint32_t scale, const uint32_t *random, uint32_t *word,
                                                     bool finite) {
    constexpr int per_word = 4 / T::bytes;
    if constexpr (T::bytes == 1) {
        if (finite && become_normal<T>(x, scale)) {
#pragma unroll
            for (int i = 0; i < 8; i += 4) {
                word[i / 4] = narrow_to_normal_fp8<T, STOCHASTIC, POSITIVE>(x + i, scale, STOCHASTIC ? random + i / 2 : nullptr);
            }
            return;
        }
    }
    const float divisor = scale_divisor(scale);
#pragma unroll
    for (int i = 0; i < 8; i += per_word) {
        float scaled[per_word];
#pragma unroll
        for (int j = 0; j < per_word; j++) {
            scaled[j] = __fmul_rn(x[i + j], divisor);
        }
        uint32_t &narrow = word[i / per_word];
        if constexpr (T::bytes == 1) {
            narrow = narrow_to_fp8<T, STOCHASTIC>(scaled, STOCHASTIC ? random + i / 2 : nullptr);
        } else if constexpr (STOCHASTIC) {
            stochastic<T>::template round<2>(scaled, random + i / 2, &narrow, false);
        } else {
            packing<T, 2>::nearest(scaled, &narrow);
        }
        narrow = POSITIVE ? keep_positive<T>(x + i, narrow) : narrow;
    }
}

#endif
