/*
 * The arithmetic of one Adam step.  It does the same operations in the same order as on a CPU, each rounded once, so the results
 * agree bit for bit.  It works on groups of eight elements, which share one call of the random generator.  Included by
 * adam_tile.cuh.
 */
#ifndef QUERN_DEVICE_ADAM_STEP_CUH
#define QUERN_DEVICE_ADAM_STEP_CUH

#include "kernels/cuda/ordinary.cuh"

/*
 * The scalars of a step for one tensor, including its multipliers.  The denominator is
 *
 *   sqrt(v * inner_factor + inner_addend) * outer_factor + outer_addend
 *
 * eps and the bias correction are either inside or outside the root; the unused factors are 1 and the unused addends 0.
 */
struct adam_scalars {
    float grad_factor, one_minus_beta1, one_minus_beta2;
    float inner_factor, inner_addend, outer_factor, outer_addend;
    float step_size, decoupled_decay, l2_decay;
};

/* L2 mode: the decay is added to the gradient. */
static __device__ __forceinline__ void add_l2_decay(const adam_scalars &scalars, const float *p, float *g) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        g[i] = __fmaf_rn(scalars.l2_decay, p[i], g[i]);
    }
}

/* The new moments of eight elements, not yet rounded for storage. */
static __device__ __forceinline__ void adam_moments(const adam_scalars &scalars, const float *g, float *m, float *v) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        m[i] = __fmaf_rn(scalars.one_minus_beta1, __fsub_rn(g[i], m[i]), m[i]);
        const float moved = __fmaf_rn(scalars.one_minus_beta2, __fmaf_rn(g[i], g[i], -v[i]), v[i]);
        v[i] = fabsf(v[i]) == __uint_as_float(0x7f800000u) ? v[i] : moved; /* avoids infinity - infinity */
    }
}

/* AMSGrad: the largest v so far; a NaN in either stays NaN. */
static __device__ __forceinline__ void raise_v_max(const float *v, float *v_max) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        v_max[i] = v[i] > v_max[i] || v[i] != v[i] ? v[i] : v_max[i];
    }
}

/*
 * Whether these moments can use the fast square root and division, as nearly all groups can.  The bounds keep the denominator and
 * the quotient in the range that ordinary.cuh requires; the bias corrections are at least 1.
 */
static __device__ __forceinline__ bool are_ordinary(const adam_scalars &scalars, const float *m, const float *v) {
    float total = 0.0f, smallest = 1.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        total += fabsf(m[i]) + fabsf(v[i]);
        smallest = fminf(smallest, fminf(fabsf(m[i]), v[i]));
    }
    return total < 0x1p30f & smallest > 0x1p-90f /* a NaN is in the total */
        & scalars.inner_factor < 0x1p20f & scalars.outer_factor < 0x1p10f & scalars.inner_addend + scalars.outer_addend < 0x1p10f;
}

static __device__ __forceinline__ float quotient_ordinary(const adam_scalars &scalars, float m, float v) {
    const float root = sqrt_ordinary(__fmaf_rn(v, scalars.inner_factor, scalars.inner_addend));
    return divide_ordinary(m, __fmaf_rn(root, scalars.outer_factor, scalars.outer_addend));
}

/* 0 if m is 0: without eps the quotient may be 0 / 0. */
static __device__ __forceinline__ float quotient(const adam_scalars &scalars, float m, float v) {
    const float root = __fsqrt_rn(__fmaf_rn(v, scalars.inner_factor, scalars.inner_addend));
    return m == 0.0f ? 0.0f : __fdiv_rn(m, __fmaf_rn(root, scalars.outer_factor, scalars.outer_addend));
}

/* Rotates eight elements. */
static __device__ __forceinline__ void turn(float *x) {
    const float front = x[0];
#pragma unroll
    for (int i = 0; i < 7; i++) {
        x[i] = x[i + 1];
    }
    x[7] = front;
}

/* update = step_size * m / denominator.  m and v keep their values; v may be AMSGrad's. */
static __device__ __forceinline__ void adam_update(const adam_scalars &scalars, float *m, float *v, float *update, bool ordinary) {
    if (ordinary) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            update[i] = quotient_ordinary(scalars, m[i], v[i]);
        }
    } else { /* rare, so small rather than fast: rotates each element to the front in turn, which restores the order at the end */
#pragma unroll
        for (int i = 0; i < 8; i++) {
            update[i] = 0.0f;
        }
#pragma unroll 1
        for (int i = 0; i < 8; i++) {
            update[0] = quotient(scalars, m[0], v[0]);
            turn(m);
            turn(v);
            turn(update);
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        update[i] = __fmul_rn(scalars.step_size, update[i]);
    }
}

/* Updates the parameters. */
static __device__ __forceinline__ void adam_parameters(const adam_scalars &scalars, float *update, float *p) {
    if (scalars.decoupled_decay != 0.0f) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            update[i] = __fmaf_rn(scalars.decoupled_decay, p[i], update[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        p[i] = __fsub_rn(p[i], update[i]);
    }
}

#endif
