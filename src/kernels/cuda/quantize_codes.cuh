/*
 * Eight fp32 values as 8-bit codes, saturated.  Included by quantize_cast.cuh and quantize_matrix.cuh.
 *
 * Nearly always all eight become normal codes without saturation, for which integer arithmetic on four codes at once suffices.
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
};

/* Four codes of any values. */
template <class Out, bool STOCHASTIC> static __device__ __forceinline__ uint32_t saturate(float *x, const uint32_t *random) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[i] = fabsf(x[i]) > Out::largest ? copysignf(Out::largest, x[i]) : x[i];
    }
    return narrow_to_fp8<Out, STOCHASTIC>(x, random);
}

/* The codes of eight scaled values, in two words; `random` has 16 bits for each. */
template <class Out, bool STOCHASTIC>
static __device__ __forceinline__ void code_eight(float *x, bool is_normal, const uint32_t *random, uint32_t *word) {
    constexpr uint32_t one = 127; /* the scale of a block: these are scaled */
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
        const uint32_t *four = STOCHASTIC ? random + i / 2 : nullptr;
        if (is_normal) {
            word[i / 4] = narrow_to_normal_fp8<Out, STOCHASTIC, false>(x + i, one, four);
        } else {
            word[i / 4] = saturate<Out, STOCHASTIC>(x + i, four);
        }
    }
}

#endif
