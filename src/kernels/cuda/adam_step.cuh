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
    float ordinary_total; /* sums of moments below this are ordinary: see are_ordinary() */
    float eps;
};

/* L2 mode: the decay is added to the gradient. */
static __device__ __forceinline__ void add_l2_decay(const adam_scalars &scalars, const float *p, float *g) {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        set_pair(g, i, multiply_add(twice(scalars.l2_decay), pair_of(p, i), pair_of(g, i)));
    }
}

/* A v that was infinite stays so: this avoids infinity - infinity. */
static __device__ __forceinline__ float keep_infinite(float old_v, float moved) {
    return fabsf(old_v) == __uint_as_float(0x7f800000u) ? old_v : moved;
}

/* The new moments of eight elements, not yet rounded for storage. */
static __device__ __forceinline__ void adam_moments(const adam_scalars &scalars, const float *gradients, float *m, float *v) {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        const pair g = pair_of(gradients, i), old_m = pair_of(m, i), old_v = pair_of(v, i);
        set_pair(m, i, multiply_add(twice(scalars.one_minus_beta1), add(g, negative(old_m)), old_m));
        const pair moved = multiply_add(twice(scalars.one_minus_beta2), multiply_add(g, g, negative(old_v)), old_v);
        v[i] = keep_infinite(old_v.low, moved.low);
        v[i + 1] = keep_infinite(old_v.high, moved.high);
    }
}

/* AMSGrad: the largest v so far; a NaN in either stays NaN. */
static __device__ __forceinline__ void raise_v_max(const float *v, float *v_max) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        v_max[i] = v[i] > v_max[i] || v[i] != v[i] ? v[i] : v_max[i];
    }
}

/* The least magnitude, besides 0, of moments that can use the fast square root and division. */
#define QUERN_LEAST_ORDINARY 0x1p-90f

/* Whether no magnitude of a group in which there are zeros is tiny.  Zeros are the largest numbers here. */
static __device__ __forceinline__ bool has_nothing_tiny(const float *m, const float *v) {
    uint32_t smallest = ~0u;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        smallest = min(smallest, min(2 * __float_as_uint(m[i]) - 1, 2 * __float_as_uint(v[i]) - 1));
    }
    return smallest >= 2 * __float_as_uint(QUERN_LEAST_ORDINARY) - 1;
}

/*
 * Whether these moments can use the fast square root and division, as nearly all groups can.  The bounds keep the denominator and
 * the quotient in the range that ordinary.cuh requires; the bias corrections are at least 1.  A v of 0, as in an embedding that was
 * never used, needs a denominator that is eps.
 */
static __device__ __forceinline__ bool are_ordinary(const adam_scalars &scalars, const float *m, const float *v) {
    pair total = {0.0f, 0.0f};
    float smallest = 1.0f;
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        total = add(multiply_add(pair_of(m, i), pair_of(m, i), total), pair_of(v, i));
        smallest = fminf(smallest, fminf(fabsf(m[i]), v[i]));
        smallest = fminf(smallest, fminf(fabsf(m[i + 1]), v[i + 1]));
    }
    const bool is_bounded = total.low + total.high < scalars.ordinary_total; /* a NaN is in the total */
    return (is_bounded & smallest >= QUERN_LEAST_ORDINARY) ||
           (is_bounded && smallest == 0.0f && scalars.eps >= 0x1p-60f && has_nothing_tiny(m, v));
}

/* The root of 0 is NaN, which the maximum replaces by eps; other denominators are at least that. */
static __device__ __forceinline__ pair quotient_ordinary(const adam_scalars &scalars, pair m, pair v) {
    const pair root = sqrt_ordinary(multiply_add(v, twice(scalars.inner_factor), twice(scalars.inner_addend)));
    const pair denominator = multiply_add(root, twice(scalars.outer_factor), twice(scalars.outer_addend));
    return divide_ordinary(m, {fmaxf(denominator.low, scalars.outer_addend), fmaxf(denominator.high, scalars.outer_addend)});
}

/* 0 if m is 0: without eps the quotient may be 0 / 0. */
static __device__ __forceinline__ float quotient(const adam_scalars &scalars, float m, float v) {
    const float root = __fsqrt_rn(__fmaf_rn(v, scalars.inner_factor, scalars.inner_addend));
    return m == 0.0f ? 0.0f : __fdiv_rn(m, __fmaf_rn(root, scalars.outer_factor, scalars.outer_addend));
}

/* Element i of eight that are in registers. */
static __device__ __forceinline__ float chosen(const float *x, int i) {
    float value = x[0];
#pragma unroll
    for (int j = 1; j < 8; j++) {
        value = i == j ? x[j] : value;
    }
    return value;
}

/* update = step_size * m / denominator.  v may be AMSGrad's. */
static __device__ __forceinline__ void adam_update(const adam_scalars &scalars, const float *m, const float *v, float *update,
                                                   bool ordinary) {
    if (ordinary) {
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            set_pair(update, i, quotient_ordinary(scalars, pair_of(m, i), pair_of(v, i)));
        }
    } else { /* rare, so small rather than fast: the results pass through one register */
#pragma unroll
        for (int i = 0; i < 8; i++) {
            update[i] = 0.0f;
        }
#pragma unroll 1
        for (int i = 0; i < 8; i++) {
            const float one = quotient(scalars, chosen(m, i), chosen(v, i));
#pragma unroll
            for (int j = 0; j < 7; j++) {
                update[j] = update[j + 1];
            }
            update[7] = one;
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        set_pair(update, i, multiply(twice(scalars.step_size), pair_of(update, i)));
    }
}

/* Updates the parameters. */
static __device__ __forceinline__ void adam_parameters(const adam_scalars &scalars, float *update, float *p) {
    if (scalars.decoupled_decay != 0.0f) {
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            set_pair(update, i, multiply_add(twice(scalars.decoupled_decay), pair_of(p, i), pair_of(update, i)));
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        set_pair(p, i, add(pair_of(p, i), negative(pair_of(update, i))));
    }
}

#endif
