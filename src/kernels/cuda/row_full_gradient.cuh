/*
 * The last pass with all options: the gradient of each logit, from the row's image to global memory.  Included by
 * cross_entropy_full_rows.cuh.  Vectors and edge are those of row_gradient.cuh.
 */
#ifndef QUERN_DEVICE_ROW_FULL_GRADIENT_CUH
#define QUERN_DEVICE_ROW_FULL_GRADIENT_CUH

#include "kernels/cuda/row_full_team.cuh"
#include "kernels/cuda/row_gradient.cuh"

/*
 * The factors of a column's gradient with respect to its capped logit: (coefficient + tilt * exponent) * exponential - smoothing *
 * class weight.
 */
struct column_factors {
    row_scale scale; /* of the capped logits */
    float coefficient, tilt, smoothing, inverse_temperature;

    /* As gradient_factors::needs_roots.  Under most softcaps no exponential is below 2^-125. */
    __device__ __forceinline__ bool needs_roots(float cap) const {
        const bool vanishes = cap == 0.0f || scale.origin + cap * inverse_temperature * LOG2_E > 125.0f;
        return element::bytes == 2 && vanishes && fabsf(coefficient) + 256.0f * fabsf(tilt) >= __uint_as_float(VISIBLE);
    }
};

/* Those of a row, and the label's gradient with respect to y. */
struct full_factors : column_factors {
    float label;

    __device__ __forceinline__ full_factors(const quern_cross_entropy_problem &problem, const full_total &full, float label_weight,
                                            const row_upstream &upstream) {
        const row_whole whole(full.total);
        const float confidence = (1.0f - problem.label_smoothing) * label_weight;
        float share = 0.0f, rest = 0.0f; /* rest: the factor of the exponentials without the confidence term */
        if (problem.label_smoothing != 0.0f && !full.total.is_infinite()) {
            share = __fdiv_rn(problem.label_smoothing, (float)problem.global_vocab);
            rest = share * full.weights;
        }
        if (problem.z_loss != 0.0f) {
            const float sum = whole.others + whole.own;
            rest += 2.0f * problem.z_loss * (float)(whole.origin * full.total.unit() + log_of_sum(sum));
        }
        const float inverse = whole.inverse * (whole.label_alone ? 0.0f : 1.0f); /* of the sum, for the other columns */
        scale = scale_of_logits({full.total.scale.slope, whole.origin}, upstream.inverse_temperature);
        coefficient = (confidence + rest) * upstream.loss * inverse;
        smoothing = share * upstream.loss;
        label = ((rest * whole.own - confidence * whole.others) * whole.inverse - share * label_weight) * upstream.loss;
        tilt = 0.0f;
        if (upstream.log_prob != 0.0f) {
            coefficient -= upstream.log_prob * inverse;
            label += upstream.log_prob * (whole.others * whole.inverse);
        }
        if (upstream.entropy != 0.0f) {
            add_entropy(full, whole, upstream.entropy, inverse);
        }
        inverse_temperature = upstream.inverse_temperature;
        coefficient *= inverse_temperature;
        tilt *= inverse_temperature;
        smoothing *= inverse_temperature;
        label *= inverse_temperature;
    }

private:
    /* The gradient of the entropy: p * (mean of y - y).  Distances are from the origin of the whole row, in natural units. */
    __device__ __forceinline__ void add_entropy(const full_total &full, const row_whole &whole, float upstream, float inverse) {
        const float unit = (float)full.total.unit(), moved = full.total.scale.origin - whole.origin;
        const float above = __fmaf_rn(full.total.label, full.total.scale.slope, -whole.origin) * unit;
        const float own_above = whole.own != 0.0f ? above : 0.0f;
        const float moment = whole.label_alone ? 0.0f : (full.moment + full.total.others * (moved * unit)) * power_of_two(moved);
        const float mean = (moment + whole.own * own_above) * whole.inverse;
        coefficient += upstream * mean * inverse;
        tilt = -upstream * inverse * unit;
        label += upstream * (whole.own * whole.inverse) * ((moment - own_above * whole.others) * whole.inverse);
    }
};

/* Gradients with respect to y, from exponents or, if ROOTS, from halves of them: the squares of roots are not flushed. */
template <bool ROOTS, bool TILTED> struct gradient_of_y {
    row_scale scale; /* of the exponential or root */
    float coefficient, tilt, smoothing;

    __device__ __forceinline__ explicit gradient_of_y(const column_factors &factors, float sign = 1.0f)
        : scale{factors.scale.slope * (ROOTS ? 0.5f : 1.0f), factors.scale.origin * (ROOTS ? 0.5f : 1.0f)},
          coefficient(factors.coefficient * sign), tilt(factors.tilt * sign * (ROOTS ? 2.0f : 1.0f)),
          smoothing(-factors.smoothing * sign) {}
    __device__ __forceinline__ pair of_exponents(pair exponent, pair weight) const {
        const pair e = {exp2_flushed(exponent.low), exp2_flushed(exponent.high)}, other = multiply(weight, twice(smoothing));
        pair factor = twice(coefficient);
        if (TILTED) {
            const pair distance = {fmaxf(exponent.low, LEAST_DISTANCE), fmaxf(exponent.high, LEAST_DISTANCE)};
            factor = multiply_add(distance, twice(tilt), factor);
        }
        return ROOTS ? multiply_add(multiply(e, factor), e, other) : multiply_add(e, factor, other);
    }
};

template <bool CAPPED, bool ROOTS, bool TILTED> struct full_gradient : gradient_of_y<ROOTS, TILTED> {
    __device__ __forceinline__ full_gradient(const column_factors &factors, float)
        : gradient_of_y<ROOTS, TILTED>(factors) {}
    __device__ __forceinline__ pair operator()(pair x, pair weight) const {
        return this->of_exponents(multiply_add(x, twice(this->scale.slope), twice(-this->scale.origin)), weight);
    }
    __device__ __forceinline__ float any(float x, float weight) const { return (*this)(twice(x), twice(weight)).low; }
};

/* The operator is for logits near 0 in the softcap; any() is for all.  Gradients of y are negative, for (y / cap)^2 - 1. */
template <bool ROOTS, bool TILTED> struct full_gradient<true, ROOTS, TILTED> : gradient_of_y<ROOTS, TILTED> {
    softcap far;
    near_softcap near;

    __device__ __forceinline__ full_gradient(const column_factors &factors, float cap)
        : gradient_of_y<ROOTS, TILTED>(factors, -1.0f), far(cap), near(far.inverse, 1.0f) {}
    __device__ __forceinline__ pair operator()(pair x, pair weight) const {
        const pair tanh = multiply(x, near.factor(x));
        const pair exponent = multiply_add(tanh, twice(far.cap * this->scale.slope), twice(-this->scale.origin));
        return multiply(this->of_exponents(exponent, weight), multiply_add(tanh, tanh, twice(-1.0f)));
    }
    __device__ __forceinline__ float any(float x, float weight) const {
        float slope;
        const float y = far(x, &slope), close = (*this)(twice(x), twice(weight)).low;
        const float exponent = __fmaf_rn(y, this->scale.slope, -this->scale.origin);
        const float distant = this->of_exponents(twice(exponent), twice(weight)).low * -slope;
        return fabsf(x) <= nearest_of(far.cap) ? close : distant;
    }
};

/* A thread's vectors, in batches that have a logit far into the softcap, to global memory. */
template <bool ROOTS>
static __device__ __noinline__ void store_far_vectors(const quern_cross_entropy_problem &problem, column_factors factors,
                                                      summed_share share, char *grad, int batch) {
    const full_gradient<true, ROOTS, false> gradient(factors, problem.softcap);
    const float *class_weights = problem.label_smoothing != 0.0f ? problem.class_weights : NULL;
    const gradient_layout layout(grad, share.columns);
    const uint32_t first = share.image + layout.head * element::bytes, base = first & ~15u;
    const turned_reader read(first - base);
    visit_far_batches(read, base + threadIdx.x * 16, base + layout.vectors * 16, batch, nearest_of(problem.softcap),
                      [&](int vector, uint32_t at) {
        uint32_t word[4];
        float x[VECTOR], weights[VECTOR];
        const int column = layout.head + vector * VECTOR;
        read(at, word);
        load_weights<VECTOR>(class_weights, share.first + column, weights);
        packing<element, VECTOR>::widen(word, x);
#pragma unroll
        for (int i = 0; i < VECTOR; i++) {
            x[i] = gradient.any(x[i], weights[i]);
        }
        packing<element, VECTOR>::nearest(x, word);
        store_vector_once<16>(grad + column * element::bytes, word);
    });
}

/*
 * COUNT vectors from `at` on to global memory, unless a logit is far into the softcap: then it returns false.  The distance of two
 * vectors is STEP.
 */
template <int COUNT, bool CAPPED, bool ROOTS, bool TILTED, class READER>
static __device__ __forceinline__ bool store_full_vectors(const full_gradient<CAPPED, ROOTS, TILTED> &gradient, float nearest,
                                                          bool is_near, const float *class_weights, int column, READER read,
                                                          uint32_t at, char *to) {
    uint32_t word[COUNT][4];
    float weights[COUNT * VECTOR];
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        read(at + i * STEP, word[i]);
        load_weights<VECTOR>(class_weights, column + i * THREADS * VECTOR, weights + i * VECTOR);
    }
    if (CAPPED && !TILTED && __builtin_expect(!is_near && !are_near(word, nearest), 0)) {
        return false;
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        float x[VECTOR];
#pragma unroll
        for (int j = 0; j < VECTOR / 2; j++) {
            const pair weight = {weights[i * VECTOR + 2 * j], weights[i * VECTOR + 2 * j + 1]};
            const pair logits = widen_pair(word[i], j);
            pair both = gradient(logits, weight);
            if (CAPPED && TILTED) { /* far ones, too: little code */
                both = {gradient.any(logits.low, weight.low), gradient.any(logits.high, weight.high)};
            }
            x[2 * j] = both.low, x[2 * j + 1] = both.high;
        }
        packing<element, VECTOR>::nearest(x, word[i]);
        store_vector_once<16>(to + i * STEP, word[i]);
    }
    return true;
}

template <bool CAPPED, bool CLASS_WEIGHTS, bool ROOTS, bool TILTED>
static __device__ __forceinline__ void store_full_share(const quern_cross_entropy_problem &problem, const column_factors &factors,
                                                        const summed_share &share, char *grad) {
    constexpr int batch = TILTED ? 1 : full_batch<CLASS_WEIGHTS>; /* little code: images have a size, too */
    const full_gradient<CAPPED, ROOTS, TILTED> gradient(factors, problem.softcap);
    const float *class_weights = CLASS_WEIGHTS && factors.smoothing != 0.0f ? problem.class_weights : NULL;
    const float nearest = CAPPED ? nearest_of(problem.softcap) : 0.0f;
    const gradient_layout layout(grad, share.columns);
    if ((int)threadIdx.x < layout.edge) {
        const int column = layout.edge_column(threadIdx.x);
        const float x = element::widen(load_shared_element(share.image + column * element::bytes));
        const float weight = class_weights ? __ldg(class_weights + share.first + column) : 1.0f;
        store_element<element>(grad, column, element::nearest(gradient.any(x, weight)));
    }
    bool near = true;
    read_turned_from(share.image + layout.head * element::bytes, [&](uint32_t base, auto read) {
        uint32_t at = base + threadIdx.x * 16;
        const uint32_t end = base + layout.vectors * 16;
        char *to = grad + layout.head * element::bytes + threadIdx.x * 16;
        int column = share.first + layout.head + threadIdx.x * VECTOR;
#pragma unroll 1
        for (; batch > 1 && at + (batch - 1) * STEP < end; at += batch * STEP, to += batch * STEP) {
            near &= store_full_vectors<batch>(gradient, nearest, share.is_near, class_weights, column, read, at, to);
            column += batch * THREADS * VECTOR;
        }
#pragma unroll 1
        for (; at < end; at += STEP, to += STEP, column += THREADS * VECTOR) {
            near &= store_full_vectors<1>(gradient, nearest, share.is_near, class_weights, column, read, at, to);
        }
    });
    if (CAPPED && !TILTED && __builtin_expect(!near, 0)) {
        store_far_vectors<ROOTS>(problem, factors, share, grad, batch);
    }
}

template <bool CAPPED, bool CLASS_WEIGHTS, bool TILTED>
static __device__ __forceinline__ void store_full_columns(const quern_cross_entropy_problem &problem, const column_factors &factors,
                                                          const summed_share &share, char *grad) {
    if (element::bytes == 2 && (TILTED || factors.needs_roots(problem.softcap))) {
        store_full_share<CAPPED, CLASS_WEIGHTS, true, TILTED>(problem, factors, share, grad);
    } else {
        store_full_share<CAPPED, CLASS_WEIGHTS, false, TILTED>(problem, factors, share, grad);
    }
}

/* With the gradient of the entropy there is one text, with or without class weights, and of 16 bits with roots. */
template <bool CAPPED>
static __device__ __forceinline__ void store_full_options(const quern_cross_entropy_problem &problem, const column_factors &factors,
                                                          const summed_share &share, char *grad) {
    if (factors.tilt != 0.0f) {
        store_full_columns<CAPPED, true, true>(problem, factors, share, grad);
    } else if (problem.class_weights && factors.smoothing != 0.0f) {
        store_full_columns<CAPPED, true, false>(problem, factors, share, grad);
    } else {
        store_full_columns<CAPPED, false, false>(problem, factors, share, grad);
    }
}

/* All columns; that of the label has no gradient yet. */
static __device__ __forceinline__ void store_full_gradient(const quern_cross_entropy_problem &problem,
                                                           const column_factors &factors, const summed_share &share, char *grad) {
    if (problem.softcap != 0.0f) {
        store_full_options<true>(problem, factors, share, grad);
    } else {
        store_full_options<false>(problem, factors, share, grad);
    }
}

#endif
