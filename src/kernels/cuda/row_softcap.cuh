/*
 * The softcap and the temperature of the logits of a row, in exponents: y * slope - origin.  Included by row_full_sums.cuh
 * and row_full_gradient.cuh.
 *
 * Up to |x| = 0.6 cap, y is x times a polynomial of x^2, whose coefficients include the slope: five operations more than without a
 * softcap, and no approximation of the hardware.  Larger logits are rare and take softcap.cuh.  The formula depends on the logit
 * alone, so the bits do not depend on those beside it.
 */
#ifndef QUERN_DEVICE_ROW_SOFTCAP_CUH
#define QUERN_DEVICE_ROW_SOFTCAP_CUH

#include "kernels/cuda/row_largest.cuh"
#include "kernels/cuda/softcap.cuh"

/* The largest |x| that the polynomial takes; below 0: none, because its last terms could overflow or vanish. */
static __device__ __forceinline__ float nearest_of(float cap) {
    const float nearest = element::widen(element::nearest(0.597f * cap)); /* at most half a unit above 0.597 */
    return 0x1p-8f <= cap && cap <= 0x1p10f ? nearest : -1.0f;
}

/* The polynomial: what multiplies x to get a multiple of tanh(x / cap). */
struct near_softcap {
    float term[5]; /* by powers of x^2 */

    __device__ __forceinline__ near_softcap(float inverse, float multiple) {
        /* tanh(t) / t for t^2 up to 0.36, to 8.4e-8 */
        const float series[5] = {1.0f, -0.333325975f, 0.133131167f, -0.0522118069f, 0.0156126331f};
        multiple *= inverse;
#pragma unroll
        for (int i = 0; i < 5; i++) {
            term[i] = series[i] * multiple;
            multiple *= inverse * inverse;
        }
    }
    __device__ __forceinline__ pair factor(pair x) const {
        const pair square = multiply(x, x);
        pair sum = twice(term[4]);
#pragma unroll
        for (int i = 3; i >= 0; i--) {
            sum = multiply_add(sum, square, twice(term[i]));
        }
        return sum;
    }
};

/* Whether no |x| of these vectors is above the nearest one; NaN is passed over. */
template <int COUNT> static __device__ __forceinline__ bool are_near(const uint32_t (&word)[COUNT][4], float nearest) {
    if constexpr (COMPARES_PAIRS) {
        uint32_t largest = 0;
#pragma unroll
        for (int i = 0; i < COUNT * 4; i++) {
            largest = larger_halves(largest, word[i / 4][i % 4] & 0x7fff7fffu);
        }
        const uint32_t beyond = nearest < 0 ? 0x8000u : 0x7fffu - element::nearest(nearest);
        return (largest + beyond * 0x10001u & 0x80008000u) == 0;
    } else {
        float largest = 0.0f;
#pragma unroll
        for (int i = 0; i < COUNT * VECTOR / 2; i++) {
            const pair x = widen_pair(&word[0][0], i);
            largest = fmaxf(largest, fmaxf(fabsf(x.low), fabsf(x.high)));
        }
        return largest <= nearest;
    }
}

/*
 * Calls WORK with the number and the place of each vector of a thread whose batch is not near.  The batches are those of loops that
 * leave such batches out.
 */
template <class READ, class WORK>
static __device__ __forceinline__ void visit_far_batches(READ read, uint32_t at, uint32_t end, int batch, float nearest,
                                                         WORK work) {
    int count;
#pragma unroll 1
    for (int vector = threadIdx.x; at < end; at += count * STEP, vector += count * THREADS) {
        count = at + (batch - 1) * STEP < end ? batch : 1;
        bool near = true;
#pragma unroll 1
        for (int i = 0; i < count; i++) {
            uint32_t word[1][4];
            read(at + i * STEP, word[0]);
            near = near && are_near(word, nearest);
        }
        if (!near) {
#pragma unroll 1
            for (int i = 0; i < count; i++) {
                work(vector + i * THREADS, at + i * STEP);
            }
        }
    }
}

/* The scale of the logits, or of those after the softcap, from that of y. */
static __device__ __forceinline__ row_scale scale_of_logits(row_scale of_y, float inverse_temperature) {
    return {of_y.slope * inverse_temperature, of_y.origin};
}

/* Exponents of logits with or without a softcap, from the scale of the logits. */
template <bool CAPPED> struct row_exponents {
    row_scale scale;

    __device__ __forceinline__ row_exponents(row_scale scale, float, float) : scale(scale) {}
    __device__ __forceinline__ pair operator()(pair x) const { return multiply_add(x, twice(scale.slope), twice(-scale.origin)); }
    __device__ __forceinline__ float any(float x) const { return __fmaf_rn(x, scale.slope, -scale.origin); }
};

/* The operator is for logits near 0; any() is for all. */
template <> struct row_exponents<true> {
    row_scale scale;
    softcap far;
    near_softcap near;

    __device__ __forceinline__ row_exponents(row_scale scale, float cap, float inverse_temperature)
        : scale(scale), far(cap), near(far.inverse, cap * LOG2_E * inverse_temperature) {}
    __device__ __forceinline__ pair operator()(pair x) const { return multiply_add(x, near.factor(x), twice(-scale.origin)); }
    __device__ __forceinline__ float any(float x) const {
        const float close = (*this)(twice(x)).low, distant = __fmaf_rn(far(x), scale.slope, -scale.origin);
        return fabsf(x) <= nearest_of(far.cap) ? close : distant;
    }
};

/* The same for all logits. */
struct far_exponents : row_exponents<true> {
    using row_exponents<true>::row_exponents;
    __device__ __forceinline__ pair operator()(pair x) const { return {any(x.low), any(x.high)}; }
};

#endif
