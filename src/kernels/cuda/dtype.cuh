/*
 * The element types: their layout in 32-bit words, and their rounding to nearest.  Included by cross_entropy_layout.cuh,
 * remainder.cuh, fp8.cuh and stochastic.cuh.
 *
 * It uses shifts and single instructions instead of the toolkit's headers, which double a file's compile time.
 */
#ifndef QUERN_DEVICE_DTYPE_CUH
#define QUERN_DEVICE_DTYPE_CUH

#include "../generated/dtypes.h"
#include "kernels/cuda/format.cuh"

#ifndef QUERN_BF16_CONVERT
#error QUERN_BF16_CONVERT must be 1 where one instruction rounds a pair of fp32 values, else 0
#endif

struct f32 {
    typedef uint32_t bits;
    enum { bytes = 4, fraction = 23, bias = 127 };
    static constexpr uint32_t minus_infinity = 0xff800000u;
    static __device__ __forceinline__ float widen(bits x) { return __uint_as_float(x); }
    static __device__ __forceinline__ bits nearest(float x) { return __float_as_uint(x); }
};

struct f16 : format<5> {
    static __device__ __forceinline__ float widen(bits x) {
        float wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
        return wide;
    }
    static __device__ __forceinline__ float widen_low(uint32_t word) { return widen((bits)word); }
    static __device__ __forceinline__ float widen_high(uint32_t word) { return widen((bits)(word >> 16)); }
    static __device__ __forceinline__ bits nearest(float x) {
        bits narrow;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow) : "f"(x));
        return narrow;
    }
    static __device__ __forceinline__ uint32_t nearest_pair(float low, float high) {
#if QUERN_BF16_CONVERT
        uint32_t word;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
        return word;
#else
        return nearest(low) | (uint32_t)nearest(high) << 16;
#endif
    }
    /* Toward zero, of a finite magnitude. */
    static __device__ __forceinline__ uint32_t truncate(float magnitude) {
        uint16_t narrow;
        asm("cvt.rz.f16.f32 %0, %1;" : "=h"(narrow) : "f"(magnitude));
        return narrow;
    }
};

struct bf16 {
    typedef uint16_t bits;
    enum { bytes = 2, fraction = 7, bias = 127 };
    static constexpr uint32_t minus_infinity = 0xff80u;
    static __device__ __forceinline__ float widen(bits x) { return __uint_as_float((uint32_t)x << 16); }
    static __device__ __forceinline__ float widen_low(uint32_t word) { return __uint_as_float(word << 16); }
    static __device__ __forceinline__ float widen_high(uint32_t word) { return __uint_as_float(word & 0xffff0000u); }
#if QUERN_BF16_CONVERT
    static __device__ __forceinline__ uint32_t nearest_pair(float low, float high) {
        uint32_t word;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
        return word;
    }
    static __device__ __forceinline__ bits nearest(float x) { return (bits)nearest_pair(x, 0.0f); }
#else
    /* The rounded value in the upper half; the lower half is undefined. */
    static __device__ __forceinline__ uint32_t nearest_upper(float x) {
        uint32_t wide = __float_as_uint(x);
        return x != x ? QUERN_NAN16 << 16 : wide + 0x7fffu + (wide >> 16 & 1);
    }
    static __device__ __forceinline__ uint32_t nearest_pair(float low, float high) {
        return __byte_perm(nearest_upper(low), nearest_upper(high), 0x7632);
    }
    static __device__ __forceinline__ bits nearest(float x) { return (bits)(nearest_upper(x) >> 16); }
#endif
};

/* The types that share the conversions of formats. */
#define QUERN_DEFINE_FORMAT(constant, name, exponent) struct name : format<exponent> {};
QUERN_FOR_EACH_COMMON_DTYPE(QUERN_DEFINE_FORMAT)

template <class A, class B> constexpr bool is_same = false;
template <class A> constexpr bool is_same<A, A> = true;

template <bool FIRST, class A, class B> struct either { typedef A type; };
template <class A, class B> struct either<false, A, B> { typedef B type; };

/* The factor that repeats an element's bits over a word. */
template <class T> constexpr uint32_t in_all_places = T::bytes == 4 ? 1u : T::bytes == 2 ? 0x10001u : 0x1010101u;

/* COUNT elements (even) from words to floats and back. */

template <class T, int COUNT> struct packing {
    static __device__ __forceinline__ void widen(const uint32_t *word, float *x) {
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++) {
            x[2 * i] = T::widen_low(word[i]);
            x[2 * i + 1] = T::widen_high(word[i]);
        }
    }
    static __device__ __forceinline__ void nearest(const float *x, uint32_t *word) {
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++) {
            word[i] = T::nearest_pair(x[2 * i], x[2 * i + 1]);
        }
    }
};

template <int COUNT> struct packing<f32, COUNT> {
    static __device__ __forceinline__ void widen(const uint32_t *word, float *x) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            x[i] = __uint_as_float(word[i]);
        }
    }
    static __device__ __forceinline__ void nearest(const float *x, uint32_t *word) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            word[i] = __float_as_uint(x[i]);
        }
    }
};

/* Access to one element, if it is unaligned or does not fill a vector. */

template <class T> __device__ __forceinline__ typename T::bits load_element(const void *base, int64_t index) {
    return ((const typename T::bits *)base)[index];
}

template <class T> __device__ __forceinline__ void store_element(void *base, int64_t index, typename T::bits x) {
    ((typename T::bits *)base)[index] = x;
}

#endif
