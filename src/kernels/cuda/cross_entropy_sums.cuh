/*
 * The first pass: merges the columns of a thread, a warp and a part into one quern_row_stats.  Included by
 * cross_entropy_gradient.cuh. It reads each logit once from the part's copy in registers or shared memory and writes nothing.  It
 * finds the largest before it computes exponentials, so that none overflows and none that counts is lost.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_SUMS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_SUMS_CUH

#include "kernels/cuda/cross_entropy_options.cuh"
#include "kernels/cuda/cross_entropy_part.cuh"
#include "kernels/cuda/cross_entropy_shared.cuh"

/*
 * Exponentials relative to a value near the warp's largest.  They are divided by a power of two; its choice changes only the
 * exponent of the results, not their other bits.  So the sum of a row does not depend on how its columns are divided among warps,
 * parts and shards, except for the rounding of sums, which is less than an fp32 value shows.  If y * log2(e) would be too large for
 * that, y is taken relative to the largest.
 */
static __device__ __forceinline__ float shift_of(float largest) {
    constexpr float limit = DIRECT ? 65536 : 4096;
    return fabsf(largest) > limit ? fmaxf(largest, -FLT_MAX) : 0.0f; /* finite, because -infinity - -infinity is NaN */
}

static __device__ __forceinline__ float scale_of(float largest) {
    return rintf((fmaxf(largest, -FLT_MAX) - shift_of(largest)) * LOG2_E);
}

/*
 * For stored 16-bit logits one operation suffices: exp((y - shift) * c) * 2^-scale, where exp(c) is 2^LOG2_E instead of e.  That
 * cancels, because the origin is subtracted in the same way.
 */
struct direct_exponentials {
    float slope, bias; /* 1 and a shift, or LOG2_E and a scale; beyond 2^16 no two logits are less than 256 apart */

    __device__ __forceinline__ direct_exponentials(float largest, const row_options &) {
        slope = shift_of(largest) != 0 ? 1.0f : LOG2_E;
        bias = shift_of(largest) + scale_of(largest);
    }
    __device__ __forceinline__ float operator()(float y) const { return exp2_flushed(__fmaf_rn(y, slope, -bias)); }
    __device__ __forceinline__ float root(float y) const { return exp2_flushed(__fmaf_rn(y, 0.5f * slope, -0.5f * bias)); }
};

struct shifted_exponentials {
    float shift, scale;
    row_options options;

    __device__ __forceinline__ shifted_exponentials(float largest, const row_options &options)
        : shift(shift_of(largest)), scale(scale_of(largest)), options(options) {}

    /*
     * y - origin, from the y of the exponentials: it is rounded if the shift is 0, else its distance from the shift.  Another one
     * would be an error of a small entropy.
     */
    __device__ __forceinline__ float distance(float x, float origin) const { return options.above(x, shift) + (shift - origin); }

    /* x: a capped logit. */
    __device__ __forceinline__ float operator()(float x) const {
        const float above = options.above(x, shift);
        if constexpr (element::bytes < 4) { /* as direct_exponentials */
            return exp2_flushed(__fmaf_rn(above, LOG2_E, -scale));
        } else { /* exp(y - shift) * 2^-scale */
            const float power = above * LOG2_E;
            const float lost = __fmaf_rn(above, LOG2_E_REST, __fmaf_rn(above, LOG2_E, -power));
            const float e = exp2_flushed(power - scale);
            return e != 0 ? __fmaf_rn(e, lost * LN_2, e) : 0.0f; /* no correction for -infinity */
        }
    }
};

typedef either<DIRECT, direct_exponentials, shifted_exponentials>::type exponentials_near;

/* log2 of the factor that rescales a sum of exponentials near the largest to another origin. */
static __device__ __forceinline__ double log2_to_origin(float largest, float origin) {
    constexpr double log2_e = element::bytes < 4 ? (double)LOG2_E : LOG2_E_F64;
    return scale_of(largest) + ((double)shift_of(largest) - origin) * log2_e;
}

/* One thread's sums over its columns of a part. */
struct lane_sums {
    static constexpr float beginning = 4; /* of the sum: no addend is larger, so that its rounding error is known exactly */
    exponentials_near exponential;
    float sum, lost; /* lost: the sum of its rounding errors */
#if QUERN_FULL
    float offset; /* the reference of moment and weighted */
    float moment, weighted, weights, maximum;
    int argmax;
#endif

    __device__ __forceinline__ lane_sums(float largest, const row_options &options) : exponential(largest, options) {
        sum = beginning;
        lost = 0.0f;
#if QUERN_FULL
        offset = fmaxf(largest, -FLT_MAX);
        moment = weighted = weights = 0.0f;
        maximum = -INFINITY_F32;
        argmax = -1;
#endif
    }

    __device__ __forceinline__ void add(float e) {
        const float before = sum;
        sum += e;
        lost += e - (sum - before);
    }

    /* Adds COUNT columns from one on; COUNT is a power of two. */
    template <int COUNT>
    __device__ __forceinline__ void add(const quern_cross_entropy_problem &problem, const row_options &options,
                                        const row_part &part, float *x, int column) {
        float e[COUNT];
#if QUERN_FULL
        if (problem.argmax) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const bool is_larger = x[i] > maximum;
                maximum = is_larger ? x[i] : maximum;
                argmax = is_larger ? column + i : argmax;
            }
        }
        if (options.cap.cap != 0) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                x[i] = column + i == part.label ? x[i] : options.cap(x[i]);
            }
        }
#endif
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            e[i] = exponential(x[i]);
        }
#if QUERN_FULL
        if (problem.wants_moment) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                moment += e[i] != 0 ? exponential.distance(x[i], offset) * e[i] : 0.0f;
            }
        }
        if (problem.label_smoothing != 0) {
            float weight[COUNT];
            load_weights<COUNT>(problem.class_weights, part.first() + column, weight);
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                const float own = column + i == part.label ? 0.0f : weight[i];
                weighted += product_or_zero(own, exponential.distance(x[i], offset));
                weights += own;
            }
        }
#endif
        constexpr int addends = element::bytes == 4 || COUNT == 1 ? COUNT : COUNT / 2; /* each is rounded once */
#pragma unroll
        for (int i = addends; i < COUNT; i++) {
            e[i - addends] += e[i];
        }
#pragma unroll
        for (int i = 0; i < addends; i++) {
            add(e[i]);
        }
    }

    __device__ __forceinline__ warp_sums of_warp(const quern_cross_entropy_problem &problem, float largest) const {
        warp_sums all;
        all.largest = largest;
        all.sum = sum_of_warp((double)(sum - beginning) + lost);
#if QUERN_FULL
        all.moment = problem.wants_moment ? sum_of_warp(moment) : 0.0f;
        all.weighted = problem.label_smoothing != 0 ? sum_of_warp(weighted) : 0.0f;
        all.weights = problem.label_smoothing != 0 ? sum_of_warp(weights) : 0.0f;
        place_of_largest place = {maximum, argmax};
        if (problem.argmax) {
            place.reduce_warp();
        }
        all.maximum = place.value;
        all.argmax = (int)place.column;
#endif
        return all;
    }
};

/* The sums of a warp over its columns of a part.  PART supplies a thread's vectors and its column of the rest. */
template <class PART>
static __device__ __forceinline__ warp_sums sum_warp(const quern_cross_entropy_problem &problem, const row_options &options,
                                                     const row_part &part, PART mine) {
    float largest = mine.rest;
#pragma unroll PART::unrolled
    for (int i = 0; i < PART_VECTORS; i++) {
        uint32_t word[VECTOR_WORDS];
        float x[VECTOR];
        mine.vector(i, word);
        packing<element, VECTOR>::widen(word, x);
        leave_out_label<VECTOR>(x, part.label, (threadIdx.x + i * THREADS) * VECTOR);
#pragma unroll
        for (int j = 0; j < VECTOR; j++) {
            largest = fmaxf(largest, x[j]);
        }
    }
    largest = options.y_of(largest_of_warp(largest));
    lane_sums sums(largest, options);
    mine.read_again();
#pragma unroll PART::unrolled
    for (int i = 0; i < PART_VECTORS; i++) {
        const int group = threadIdx.x + i * THREADS;
        if (group < part.groups()) {
            uint32_t word[VECTOR_WORDS];
            mine.vector(i, word);
#pragma unroll
            for (int j = 0; j < VECTOR; j += PIECE) {
                float x[PIECE];
                packing<element, PIECE>::widen(word + j * element::bytes / 4, x);
                leave_out_label<PIECE>(x, part.label, group * VECTOR + j);
                sums.add<PIECE>(problem, options, part, x, group * VECTOR + j);
            }
        }
    }
    if (part.rest_column() < part.columns) {
        float x = mine.rest;
        sums.add<1>(problem, options, part, &x, part.rest_column());
    }
    return sums.of_warp(problem, largest);
}

/*
 * The stats of a part, from the sums of its warps.  One warp rescales them to one origin, which is the largest y, the label's
 * included.  logits is the beginning of the row.
 */
static __device__ __forceinline__ quern_row_stats part_stats(const quern_cross_entropy_problem &problem, const row_options &options,
                                                             const row_part &part, const warp_sums *of_warp, const char *logits) {
    const int lane = threadIdx.x % 32;
    warp_sums mine = {};
    mine.largest = -INFINITY_F32;
#if QUERN_FULL
    mine.argmax = -1;
#endif
    if (lane < WARPS) {
        mine = of_warp[lane];
    }
    quern_row_stats stats = empty_stats();
    stats.argmax = 0; /* not requested */
    float label_logit = -INFINITY_F32;
    if (part.has_label()) {
        label_logit = element::widen(load_element<element>(logits, part.first() + part.label));
        stats.has_label = 1;
        stats.label_value = options.y_of(label_logit);
        stats.label_weight = QUERN_FULL && problem.class_weights ? problem.class_weights[part.first() + part.label] : 1.0f;
    }
    const float origin = fmaxf(largest_of_warp(mine.largest), stats.label_value);
#if QUERN_FULL
    const float below = mine.largest == origin ? 0.0f : mine.largest - origin;
#endif
    const double factor = mine.sum != 0 ? exp2(log2_to_origin(mine.largest, origin)) : 0.0;
    stats.origin = origin;
    stats.others = sum_of_warp(mine.sum * factor);
#if QUERN_FULL
    if (problem.wants_moment) {
        const double moved = mine.sum != 0 ? mine.moment + (double)mine.sum * below : 0.0;
        stats.moment = sum_of_warp(moved * factor);
    }
    if (problem.label_smoothing != 0) {
        const double moved = mine.weights != 0 ? mine.weighted + (double)mine.weights * below : 0.0;
        const float label_below = stats.label_value == -INFINITY_F32 ? -INFINITY_F32 : stats.label_value - origin;
        stats.weighted = sum_of_warp(moved) + product_or_zero(stats.label_weight, label_below);
        stats.weights = sum_of_warp((double)mine.weights) + stats.label_weight;
    }
    if (problem.argmax) {
        place_of_largest place = {mine.maximum, mine.argmax};
        place.reduce_warp();
        place.take(label_logit, label_logit > -INFINITY_F32 ? part.label : -1);
        if (place.column < 0 && problem.softcap != 0) {
            place = {-INFINITY_F32, 0}; /* all logits are -infinity, but the softcap makes y finite */
        }
        stats.argmax = place.column < 0 ? -1 : problem.first_column + part.first() + place.column;
        stats.maximum = place.column < 0 ? 0.0f : place.value;
    }
#endif
    return stats;
}

#endif
