/*
 * The arithmetic of one Adam step, the same operations in the same order as on a CPU, each rounded once: the results agree bit
 * for bit.
 */
#ifndef QUERN_DEVICE_ADAM_STEP_CUH
#define QUERN_DEVICE_ADAM_STEP_CUH

#include "device/dtype.cuh"
#include "device/philox.cuh"
#include "device/stochastic.cuh"
#include "problem.h"

/* One element: m, v and p become their new values, not yet rounded for storage. */
static __device__ __forceinline__ void adam_element(const quern_adam_step &step, float g, float &m, float &v, float &p) {
    if (step.l2_decay != 0.0f) {
        g = __fmaf_rn(step.l2_decay, p, g);
    }
    m = __fmaf_rn(step.one_minus_beta1, __fsub_rn(g, m), m);
    float v1 = __fmaf_rn(step.one_minus_beta2, __fmaf_rn(g, g, -v), v);
    v = fabsf(v) == __uint_as_float(0x7f800000u) ? v : v1; /* else infinity - infinity */

    float denominator = __fmaf_rn(__fsqrt_rn(v), step.inverse_sqrt_bias2, step.eps);
    float update = m == 0.0f ? 0.0f : __fdiv_rn(m, denominator); /* 0 / 0 without eps: nothing has moved yet */
    float delta = __fmul_rn(step.step_size, update);
    if (step.decoupled_decay != 0.0f) {
        delta = __fmaf_rn(step.decoupled_decay, p, delta);
    }
    p = __fsub_rn(p, delta);
}

/* Rounds the eight values of a group into the words that are stored. */
template <class T>
static __device__ __forceinline__ void store_group(const float *x, uint32_t *word, const quern_adam_step &step, int32_t is_stochastic,
                                                   uint64_t group, uint32_t place, uint32_t stream) {
    if constexpr (T::bytes == 2) {
        if (is_stochastic) {
            philox_words counter = {{(uint32_t)group, (uint32_t)(group >> 32), step.step, place << 2 | stream}};
            philox_words random = philox4x32(counter, step.seed[0], step.seed[1]);
#pragma unroll
            for (int i = 0; i < 8; i += 2) {
                word[i / 2] = stochastic<T>::pair(x[i], x[i + 1], random16(random, i), random16(random, i + 1));
            }
            return;
        }
    }
    packing<T, 8>::nearest(x, word);
}

#endif
