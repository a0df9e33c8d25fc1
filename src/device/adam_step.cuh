/*
 * The arithmetic of one Adam step, the same operations in the same order as on a CPU, each rounded once: the results agree
 * bit for bit.  It works on groups of eight elements, which share one call of the random generator.
 */
#ifndef QUERN_DEVICE_ADAM_STEP_CUH
#define QUERN_DEVICE_ADAM_STEP_CUH

#include "device/dtype.cuh"
#include "device/ordinary.cuh"
#include "device/philox.cuh"
#include "device/stochastic.cuh"
#include "problem.h"

/*
 * Whether square root and division of these moments can take the short way, as those of nearly all groups can.  The bounds
 * keep the denominator and the quotient, too, within what ordinary.cuh asks for; inverse_sqrt_bias2 is at least 1.
 */
static __device__ __forceinline__ bool are_ordinary(const quern_adam_step &step, const float *m, const float *v) {
    float total = 0.0f, smallest = 1.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        total += fabsf(m[i]) + fabsf(v[i]);
        smallest = fminf(smallest, fminf(fabsf(m[i]), v[i]));
    }
    return total < 0x1p30f & smallest > 0x1p-90f /* a NaN is in the total */
        & step.inverse_sqrt_bias2 < 0x1p10f & step.eps < 0x1p10f;
}

static __device__ __forceinline__ float quotient_ordinary(const quern_adam_step &step, float m, float v) {
    return divide_ordinary(m, __fmaf_rn(sqrt_ordinary(v), step.inverse_sqrt_bias2, step.eps));
}

/* 0 where m is 0: without eps it may be 0 / 0, and nothing has moved yet. */
static __device__ __forceinline__ float quotient(const quern_adam_step &step, float m, float v) {
    return m == 0.0f ? 0.0f : __fdiv_rn(m, __fmaf_rn(__fsqrt_rn(v), step.inverse_sqrt_bias2, step.eps));
}

/* Eight elements change places in a ring. */
static __device__ __forceinline__ void turn(float *x) {
    const float front = x[0];
#pragma unroll
    for (int i = 0; i < 7; i++) {
        x[i] = x[i + 1];
    }
    x[7] = front;
}

/* update = m / (sqrt(v) * inverse_sqrt_bias2 + eps); m and v keep their values. */
static __device__ __forceinline__ void adam_update(const quern_adam_step &step, float *m, float *v, float *update,
                                                   bool ordinary) {
    if (ordinary) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            update[i] = quotient_ordinary(step, m[i], v[i]);
        }
    } else { /* rare, hence small instead of fast: each element has its turn at the front, and all return to their places */
#pragma unroll
        for (int i = 0; i < 8; i++) {
            update[i] = 0.0f;
        }
#pragma unroll 1
        for (int i = 0; i < 8; i++) {
            update[0] = quotient(step, m[0], v[0]);
            turn(m);
            turn(v);
            turn(update);
        }
    }
}

/*
 * m, v and p of eight elements become their new values, not yet rounded for storage.  Returns true when none of the moments
 * is huge, infinite or NaN (false says nothing).
 */
static __device__ __forceinline__ bool adam_group(const quern_adam_step &step, float *g, float *m, float *v, float *p) {
    if (step.l2_decay != 0.0f) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            g[i] = __fmaf_rn(step.l2_decay, p[i], g[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        m[i] = __fmaf_rn(step.one_minus_beta1, __fsub_rn(g[i], m[i]), m[i]);
        const float moved = __fmaf_rn(step.one_minus_beta2, __fmaf_rn(g[i], g[i], -v[i]), v[i]);
        v[i] = fabsf(v[i]) == __uint_as_float(0x7f800000u) ? v[i] : moved; /* else infinity - infinity */
    }
    const bool ordinary = are_ordinary(step, m, v);
    float update[8];
    adam_update(step, m, v, update, ordinary);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        update[i] = __fmul_rn(step.step_size, update[i]);
    }
    if (step.decoupled_decay != 0.0f) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            update[i] = __fmaf_rn(step.decoupled_decay, p[i], update[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        p[i] = __fsub_rn(p[i], update[i]);
    }
    return ordinary;
}

/*
 * The random words of a group: drawn once and kept through all its roundings, or drawn again for each where registers are too
 * few to keep them.
 */
template <bool KEPT> struct random_words {
    philox_words counter, kept;
    const quern_adam_step &step;

    __device__ __forceinline__ random_words(const philox_words &counter, const quern_adam_step &step)
        : counter(counter), kept{}, step(step) {}

    __device__ __forceinline__ void draw_for_all(bool wanted) {
        if (KEPT && wanted) {
            kept = philox4x32(counter, step.seed);
        }
    }

    __device__ __forceinline__ philox_words get() {
        if (KEPT) {
            return kept;
        }
        return philox4x32(counter, step.seed);
    }
};

/* Rounds the eight values of a group into the words that are stored; `finite` says that none is huge, infinite or NaN. */
template <class T, int TURN, bool KEPT>
static __device__ __forceinline__ void round_group(const float *x, uint32_t *word, bool is_stochastic, bool finite,
                                                   random_words<KEPT> &random) {
    if constexpr (T::bytes == 2) {
        if (is_stochastic) {
            philox_words turned = random.get().template turned<TURN>();
            stochastic<T>::template round<8>(x, turned.word, word, finite);
            return;
        }
    }
    packing<T, 8>::nearest(x, word);
}

#endif
