/*
 * A thread's sums over its columns of a share, with all options: of the exponentials, for the entropy of exponent * exponential,
 * and for label smoothing of weight * exponent.  Included by row_full_team.cuh.
 *
 * The largest logit is known, so no exponential overflows and none that counts is lost.  The label's place has the logit of another
 * column, a sampled one: its terms are no larger than those of the others, and subtracting them is accurate.
 */
#ifndef QUERN_DEVICE_ROW_FULL_SUMS_CUH
#define QUERN_DEVICE_ROW_FULL_SUMS_CUH

#include "kernels/cuda/class_weights.cuh"
#include "kernels/cuda/row_softcap.cuh"
#include "kernels/cuda/row_stats.cuh"

struct lane_totals {
    float sum, moment, weighted;

    __device__ __forceinline__ void add(float e, float exponent, float weight) {
        sum += e;
        moment += e != 0.0f ? e * exponent : 0.0f;
        weighted += product_or_zero(weight, exponent);
    }
    __device__ __forceinline__ bool are_finite() const {
        return fabsf(moment) < INFINITY_F32 && fabsf(weighted) < INFINITY_F32;
    }
};

/* What the loops sum beside the exponentials: nothing, both others without class weights, both with them. */
enum further { NOTHING, UNWEIGHTED, WEIGHTED };

/* The vectors that a thread has in flight.  Class weights need as many registers as the logits. */
template <bool CLASS_WEIGHTS> constexpr int full_batch = (CLASS_WEIGHTS ? 8 : 16) / VECTOR;

/* The weight of a column in the smoothing. */
static __device__ __forceinline__ float smoothing_weight(const quern_cross_entropy_problem &problem, int column) {
    return problem.class_weights && problem.label_smoothing != 0.0f ? __ldg(problem.class_weights + column) : 1.0f;
}

/* The share of a row that a thread sums. */
struct summed_share {
    uint32_t image;
    int columns;
    int first;     /* its column in the row */
    int label;     /* the label's column in the share, or -1 */
    bool is_near;  /* no logit is far into the softcap */
    float inverse_temperature;
};

/*
 * A thread's vectors one column after the other, without the label: for columns of -infinity, whose products count as 0.
 */
static __device__ __noinline__ lane_totals sum_one_by_one(const quern_cross_entropy_problem &problem, row_scale scale,
                                                          summed_share share) {
    const row_exponents<true> capped(scale, problem.softcap, share.inverse_temperature);
    const row_exponents<false> uncapped(scale, 0.0f, share.inverse_temperature);
    lane_totals totals = {};
#pragma unroll 1
    for (int first = threadIdx.x * VECTOR; first + VECTOR <= share.columns; first += THREADS * VECTOR) {
#pragma unroll 1
        for (int column = first; column < first + VECTOR; column++) {
            if (column != share.label) {
                const float x = element::widen(load_shared_element(share.image + column * element::bytes));
                const float exponent = problem.softcap != 0.0f ? capped.any(x) : uncapped.any(x);
                totals.add(exp2_flushed(exponent), exponent, smoothing_weight(problem, share.first + column));
            }
        }
    }
    return totals;
}

/* Adds COUNT vectors. */
template <int COUNT, further FURTHER, class EXPONENTS>
static __device__ __forceinline__ void add_vectors(lane_totals &totals, const EXPONENTS &exponents,
                                                   const uint32_t (&word)[COUNT][4], const float *weights) {
    constexpr int pairs = COUNT * VECTOR / 2;
    pair e[pairs], moment, weighted;
#pragma unroll
    for (int i = 0; i < pairs; i++) {
        const pair exponent = exponents(widen_pair(word[2 * i / VECTOR], i % (VECTOR / 2)));
        e[i] = {exp2_flushed(exponent.low), exp2_flushed(exponent.high)};
        if (FURTHER != NOTHING) {
            moment = i ? multiply_add(e[i], exponent, moment) : multiply(e[i], exponent);
        }
        if (FURTHER == UNWEIGHTED) {
            weighted = i ? add(weighted, exponent) : exponent;
        }
        if (FURTHER == WEIGHTED) {
            const pair weight = {weights[2 * i], weights[2 * i + 1]};
            weighted = i ? multiply_add(weight, exponent, weighted) : multiply(weight, exponent);
        }
    }
#pragma unroll
    for (int width = pairs / 2; width > 0; width /= 2) {
#pragma unroll
        for (int i = 0; i < width; i++) {
            e[i] = add(e[i], e[i + width]);
        }
    }
    totals.sum += e[0].low + e[0].high;
    if (FURTHER != NOTHING) {
        totals.moment += moment.low + moment.high;
        totals.weighted += weighted.low + weighted.high;
    }
}

/* A thread's vectors in batches that have a logit far into the softcap. */
static __device__ __noinline__ lane_totals sum_far_vectors(const quern_cross_entropy_problem &problem, row_scale scale,
                                                           summed_share share, int batch) {
    const far_exponents exponents(scale, problem.softcap, share.inverse_temperature);
    const float *class_weights = problem.label_smoothing != 0.0f ? problem.class_weights : NULL;
    const uint32_t base = share.image & ~15u;
    const turned_reader read(share.image - base);
    lane_totals totals = {};
    visit_far_batches(read, base + threadIdx.x * 16, base + share.columns / VECTOR * 16, batch, nearest_of(problem.softcap),
                      [&](int vector, uint32_t at) {
        uint32_t word[1][4];
        float weights[VECTOR];
        read(at, word[0]);
        load_weights<VECTOR>(class_weights, share.first + vector * VECTOR, weights);
        add_vectors<1, WEIGHTED>(totals, exponents, word, weights);
    });
    return totals;
}

/* Adds COUNT vectors of a thread from `at` on, unless a logit is far into the softcap: then it returns false. */
template <int COUNT, further FURTHER, bool CAPPED, class READER>
static __device__ __forceinline__ bool add_batch(lane_totals &totals, const quern_cross_entropy_problem &problem,
                                                 const row_exponents<CAPPED> &exponents, READER read, const summed_share &share,
                                                  uint32_t at, int column) {
    uint32_t word[COUNT][4];
    float weights[COUNT * VECTOR];
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        read(at + i * STEP, word[i]);
        if (FURTHER == WEIGHTED) {
            load_weights<VECTOR>(problem.class_weights, share.first + column + i * THREADS * VECTOR, weights + i * VECTOR);
        }
    }
    const bool near = !CAPPED || share.is_near || are_near(word, nearest_of(problem.softcap));
    if (__builtin_expect(near, 1)) {
        add_vectors<COUNT, FURTHER>(totals, exponents, word, weights);
    }
    return near;
}

/* A thread's vectors, with the logit in the label's place. */
template <further FURTHER, bool CAPPED>
static __device__ __forceinline__ lane_totals sum_all_vectors(const quern_cross_entropy_problem &problem,
                                                              const row_exponents<CAPPED> &exponents, const summed_share &share) {
    constexpr int batch = full_batch<FURTHER == WEIGHTED>;
    lane_totals totals = {};
    bool near = true;
    read_turned_from(share.image, [&](uint32_t base, auto read) {
        uint32_t at = base + threadIdx.x * 16;
        const uint32_t end = base + share.columns / VECTOR * 16;
        int column = threadIdx.x * VECTOR;
#pragma unroll 1
        for (; batch > 1 && at + (batch - 1) * STEP < end; at += batch * STEP, column += batch * THREADS * VECTOR) {
            near &= add_batch<batch, FURTHER>(totals, problem, exponents, read, share, at, column);
        }
#pragma unroll 1
        for (; at < end; at += STEP, column += THREADS * VECTOR) {
            near &= add_batch<1, FURTHER>(totals, problem, exponents, read, share, at, column);
        }
    });
    if (CAPPED && __builtin_expect(!near, 0)) {
        const lane_totals more = sum_far_vectors(problem, exponents.scale, share, batch);
        totals = {totals.sum + more.sum, totals.moment + more.moment, totals.weighted + more.weighted};
    }
    return totals;
}

/* A thread's columns, without the label. */
template <further FURTHER, bool CAPPED>
static __device__ __forceinline__ lane_totals sum_columns_of(const quern_cross_entropy_problem &problem, row_scale scale,
                                                             const summed_share &share) {
    const row_scale of_logits = scale_of_logits(scale, share.inverse_temperature);
    const row_exponents<CAPPED> exponents(of_logits, problem.softcap, share.inverse_temperature);
    lane_totals totals = sum_all_vectors<FURTHER>(problem, exponents, share);
    const int vectors = share.columns / VECTOR;
    if (FURTHER != NOTHING && __builtin_expect(!totals.are_finite(), 0)) {
        totals = sum_one_by_one(problem, of_logits, share);
    } else if (share.label >= 0 && share.label < vectors * VECTOR && share.label / VECTOR % THREADS == (int)threadIdx.x) {
        const float exponent = exponents.any(element::widen(load_shared_element(share.image + share.label * element::bytes)));
        const float e = exp2_flushed(exponent);
        totals.sum -= e;
        if (FURTHER != NOTHING) {
            totals.moment -= e * exponent;
            totals.weighted -= smoothing_weight(problem, share.first + share.label) * exponent;
        }
    }
    const int rest = vectors * VECTOR + threadIdx.x;
    if (rest < share.columns && rest != share.label) {
        const float exponent = exponents.any(element::widen(load_shared_element(share.image + rest * element::bytes)));
        totals.add(exp2_flushed(exponent), exponent, smoothing_weight(problem, share.first + rest));
    }
    return totals;
}

template <bool CAPPED>
static __device__ __forceinline__ lane_totals sum_what_is_needed(const quern_cross_entropy_problem &problem, row_scale scale,
                                                                 const summed_share &share) {
    if (problem.label_smoothing != 0.0f && problem.class_weights) {
        return sum_columns_of<WEIGHTED, CAPPED>(problem, scale, share);
    }
    if (problem.label_smoothing != 0.0f || problem.wants_moment) {
        return sum_columns_of<UNWEIGHTED, CAPPED>(problem, scale, share);
    }
    return sum_columns_of<NOTHING, CAPPED>(problem, scale, share);
}

#endif
