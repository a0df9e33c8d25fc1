/*
 * Merges quern_row_stats of parts or shards into those of the row, and derives the row's loss, other outputs and gradient factors
 * from them.  Included by cross_entropy_stages.cuh, cross_entropy_shared.cuh and cross_entropy_options.cuh.
 *
 * All kernels merge a row's parts with merge_in_warp, MERGED_AT_ONCE at a time from the first on, so that they get the same bits.
 * A merge of a single part returns it unchanged.
 */
#ifndef QUERN_DEVICE_ROW_STATS_CUH
#define QUERN_DEVICE_ROW_STATS_CUH

#include "kernels/cuda/exponential.cuh"
#include "kernels/problem.h"
#include "kernels/public.h"

enum { MERGED_AT_ONCE = 8 };

/* ---- labels ---- */

__device__ __forceinline__ int64_t label_of(const quern_cross_entropy_problem &problem, int64_t row) {
    return problem.labels_are_int64 ? ((const int64_t *)problem.labels)[row] : ((const int32_t *)problem.labels)[row];
}

__device__ __forceinline__ bool is_skipped(const quern_cross_entropy_problem &problem, int64_t label) {
    return label == problem.ignore_index || (uint64_t)label >= (uint64_t)problem.global_vocab;
}

/* What is not written for a row that is skipped: QUERN_KEPT_... */
__device__ __forceinline__ int32_t kept_of_skipped_row(const quern_cross_entropy_problem &problem, int64_t row) {
    return label_of(problem, row) == problem.ignore_index ? 0 : problem.kept_of_bad_rows;
}

/* ---- merging ---- */

/* The stats of a skipped row, or of no columns. */
__device__ __forceinline__ quern_row_stats empty_stats() {
    quern_row_stats stats = {};
    stats.origin = -INFINITY_F64;
    stats.argmax = -1;
    stats.label_value = -INFINITY_F32;
    return stats;
}

/* The factor that rescales exponentials from one origin to another that is at least as large. */
__device__ __forceinline__ double origin_factor(double origin, double common) {
    return origin == common ? 1.0 : exp(origin - common);
}

/*
 * Merges the stats of all lanes; the result is the same in all lanes.  Lanes without a part pass empty stats.  FULL: the problem's
 * options may be on.
 */
template <bool FULL>
__device__ __forceinline__ quern_row_stats merge_in_warp(const quern_cross_entropy_problem &problem, quern_row_stats mine) {
    quern_row_stats all = empty_stats();
    all.argmax = 0; /* not requested */
    all.origin = largest_of_warp((float)mine.origin); /* every origin is an fp32 value */
    const double factor = origin_factor(mine.origin, all.origin);
    all.others = sum_of_warp(mine.others * factor);
    if (FULL && problem.wants_moment) {
        /* (y - all.origin) * exp(y - all.origin), from the same of mine.origin */
        const double moved = mine.others != 0 ? mine.moment + mine.others * (mine.origin - all.origin) : 0.0;
        all.moment = sum_of_warp(moved * factor);
    }
    if (FULL && problem.label_smoothing != 0) {
        const bool moves = mine.weights != 0 && mine.origin != all.origin;
        all.weighted = sum_of_warp(moves ? mine.weighted + mine.weights * (mine.origin - all.origin) : mine.weighted);
        all.weights = sum_of_warp(mine.weights);
    }
    if (FULL && problem.argmax) {
        place_of_largest place = {mine.maximum, mine.argmax};
        place.reduce_warp();
        all.argmax = place.column;
        all.maximum = place.column < 0 ? 0.0f : place.value;
    }
    const unsigned owners = __ballot_sync(0xffffffffu, mine.has_label);
    if (owners) {
        const int owner = __ffs(owners) - 1;
        all.has_label = 1;
        all.label_value = __shfl_sync(0xffffffffu, mine.label_value, owner);
        all.label_weight = __shfl_sync(0xffffffffu, mine.label_weight, owner);
    }
    return all;
}

/* ---- quantities of a row's stats ---- */

/* Every y is -infinity. */
__device__ __forceinline__ bool is_all_infinite(const quern_row_stats &stats) {
    return stats.origin == -INFINITY_F64 && stats.others == 0 && stats.label_value == -INFINITY_F32;
}

/* The sums of the exponentials; if the row has a NaN, all of them are NaN. */
struct row_sums {
    float above;  /* the label's y minus the origin */
    float own;    /* its exponential */
    double sum;   /* the sum over all columns */

    __device__ __forceinline__ explicit row_sums(const quern_row_stats &stats) {
        above = stats.label_value - (float)stats.origin;
        own = expf(above);
        sum = stats.others + own;
    }
};

/* The product, but 0 if the factor is 0 and the other is infinite; NaN stays NaN. */
template <class T> __device__ __forceinline__ T product_or_zero(float factor, T x) {
    return factor != 0 || x != x ? factor * x : 0;
}

/* ---- the outputs of a row, written by one thread ---- */

__device__ __forceinline__ void write_loss(const quern_cross_entropy_problem &problem, int64_t row, float loss) {
    if (problem.row_loss) {
        problem.row_loss[row] = loss;
    }
}

__device__ __forceinline__ void write_further_outputs(const quern_cross_entropy_problem &problem, int64_t row, float lse,
                                                      float log_prob, float entropy, int64_t argmax) {
    if (problem.lse) {
        problem.lse[row] = lse;
    }
    if (problem.log_prob) {
        problem.log_prob[row] = log_prob;
    }
    if (problem.entropy) {
        problem.entropy[row] = entropy;
    }
    if (problem.argmax) {
        problem.argmax[row] = argmax;
    }
}

__device__ __forceinline__ void write_outputs(const quern_cross_entropy_problem &problem, int64_t row, float loss, float lse,
                                              float log_prob, float entropy, int64_t argmax) {
    write_loss(problem, row, loss);
    write_further_outputs(problem, row, lse, log_prob, entropy, argmax);
}

/* The stats and, if it is the row's end, the outputs of a skipped row. */
__device__ __forceinline__ void write_skipped_row(const quern_cross_entropy_problem &problem, int64_t row, bool is_final) {
    const int32_t kept = kept_of_skipped_row(problem, row);
    if (is_final && !(kept & QUERN_KEPT_LOSS)) {
        write_loss(problem, row, 0.0f);
    }
    if (kept & QUERN_KEPT_OUTPUTS) {
        return;
    }
    if (is_final) {
        write_further_outputs(problem, row, 0.0f, 0.0f, 0.0f, -1);
    }
    if (problem.stats) {
        problem.stats[row] = empty_stats();
    }
}

template <bool FULL>
__device__ __forceinline__ void write_row_outputs(const quern_cross_entropy_problem &problem, int64_t row,
                                                  const quern_row_stats &stats) {
    if (is_all_infinite(stats)) {
        if (problem.report) {
            atomicAdd((unsigned long long *)&problem.report->infinite_rows, 1ull);
        }
        write_outputs(problem, row, INFINITY_F32, -INFINITY_F32, -INFINITY_F32, 0.0f, -1);
        return;
    }
    const row_sums sums(stats);
    /* lse - origin; for a confident row from the other columns alone, because 1 + others would lose them. */
    const double log_sum = sums.above == 0 ? log1p(stats.others) : log(sums.sum);
    const double surprise = log_sum - sums.above; /* -log p of the label */
    const double lse = stats.origin + log_sum;
    double loss = surprise, entropy = 0.0;
    if (FULL) {
        loss = product_or_zero((1.0f - problem.label_smoothing) * stats.label_weight, surprise);
        if (problem.label_smoothing != 0) {
            const double smoothed = stats.weights * log_sum - stats.weighted; /* sum of w * -log p */
            loss += problem.label_smoothing / (double)problem.global_vocab * smoothed;
        }
        if (problem.entropy) {
            const double moment = stats.moment + (sums.own != 0 ? (double)sums.above * sums.own : 0.0);
            entropy = log_sum - moment / sums.sum;
            entropy = entropy < 0 ? 0.0 : entropy; /* the terms of a confident row cancel; NaN stays */
        }
    }
    if (problem.z_loss != 0) {
        loss += problem.z_loss * lse * lse;
    }
    write_outputs(problem, row, (float)loss, (float)lse, (float)-surprise, (float)entropy,
                  sums.sum == sums.sum ? stats.argmax : -1);
}

/* ---- the gradient ---- */

/* The factor that multiplies a row's gradient, without the mean's divisor. */
__device__ __forceinline__ float whole_gradient_scale(const quern_cross_entropy_problem &problem, int64_t row) {
    return problem.grad_scale * (problem.grad_loss ? problem.grad_loss[row * problem.grad_loss_stride] : 1.0f);
}

/* The same divided by it. */
__device__ __forceinline__ float divided_gradient_scale(const quern_cross_entropy_problem &problem, float scale) {
    if (!problem.divisor) {
        return scale;
    }
    const float divisor = (float)problem.divisor[0];
    return divisor != 0 ? __fdiv_rn(scale, divisor) : 0.0f;
}

__device__ __forceinline__ float gradient_scale(const quern_cross_entropy_problem &problem, int64_t row) {
    return divided_gradient_scale(problem, whole_gradient_scale(problem, row));
}

/* What multiplies the logits of a row, after the softcap: NaN, which makes the row NaN, if it is not above 0 and finite. */
__device__ __forceinline__ float inverse_temperature_of(const quern_cross_entropy_problem &problem, int64_t row) {
    const float given = problem.inverse_temperatures ? problem.inverse_temperatures[row] : 1.0f;
    const float inverse = problem.inverse_temperature * given;
    return inverse > 0.0f && inverse <= FLT_MAX ? inverse : __uint_as_float(0x7fffffffu);
}

/* What multiplies the derivatives of the outputs of a row, and the inverse temperature; all but the first for full kernels. */
struct row_upstream {
    float loss, log_prob, entropy, inverse_temperature;

    __device__ __forceinline__ row_upstream(float loss, float log_prob, float entropy, float inverse_temperature)
        : loss(loss), log_prob(log_prob), entropy(entropy), inverse_temperature(inverse_temperature) {}
    /* divides: the mean's divisor can be read. */
    __device__ __forceinline__ row_upstream(const quern_cross_entropy_problem &problem, int64_t row, bool full, bool divides = true)
        : loss(divides ? gradient_scale(problem, row) : whole_gradient_scale(problem, row)), log_prob(0.0f), entropy(0.0f),
          inverse_temperature(1.0f) {
        if (full) {
            inverse_temperature = inverse_temperature_of(problem, row);
            if (problem.grad_log_prob) {
                log_prob = problem.grad_scale * problem.grad_log_prob[row * problem.grad_log_prob_stride];
            }
            if (problem.grad_entropy) {
                entropy = problem.grad_scale * problem.grad_entropy[row * problem.grad_entropy_stride];
            }
        }
    }
};

/* Exponentials below this distance from the origin are 0, but it is finite, so that 0 times it is not NaN. */
#define LEAST_DISTANCE -1000.0f

/* A value as the sum of two fp32 values. */
__device__ __forceinline__ void split(double x, float *value, float *rest) {
    *value = (float)x;
    *rest = (float)(x - *value);
}

/* The factors of a row's gradient with respect to the capped logits, including all that multiplies it. */
struct row_factors {
    float origin;
    float coefficient, coefficient_rest;  /* of exp(y - origin) */
    float tilt;                           /* of (y - origin) * exp(y - origin): the gradient of the entropy */
    float smoothing;                      /* of a column's class weight, to be subtracted */
    float label, label_rest;              /* the gradient of the label's column */

    __device__ __forceinline__ row_factors(const quern_cross_entropy_problem &problem, const quern_row_stats &stats,
                                           row_upstream upstream, bool full) {
        const row_sums sums(stats);
        const float approximate = __frcp_rn((float)sums.sum), scale = upstream.loss;
        const double inverse = approximate * (2.0 - sums.sum * approximate); /* Newton's step, good to 2^-46 */
        const double confidence = full ? (double)((1.0f - problem.label_smoothing) * stats.label_weight) : 1.0;
        double rest = 0.0, own_smoothing = 0.0; /* rest: the factor of the exponentials without the confidence term */
        origin = (float)stats.origin;
        smoothing = 0.0f;
        if (full && problem.label_smoothing != 0) {
            const float share = __fdiv_rn(problem.label_smoothing, (float)problem.global_vocab);
            rest = share * stats.weights;
            smoothing = share * scale;
            own_smoothing = (double)share * stats.label_weight;
        }
        if (problem.z_loss != 0) {
            rest += 2.0 * problem.z_loss * (stats.origin + log_of(stats, sums));
        }
        double of_all = (confidence + rest) * scale * inverse;
        double of_label = ((rest * sums.own - confidence * stats.others) * inverse - own_smoothing) * scale;
        tilt = 0.0f;
        if (full) {
            add_policy(stats, sums, upstream, inverse, &of_all, &of_label);
        }
        split(of_all, &coefficient, &coefficient_rest);
        split(of_label, &label, &label_rest);
    }

private:
    /* The gradients of log_prob and, p * (mean of y - y), of the entropy, and the temperature. */
    __device__ __forceinline__ void add_policy(const quern_row_stats &stats, const row_sums &sums, const row_upstream &upstream,
                                               double inverse, double *of_all, double *of_label) {
        if (upstream.log_prob != 0) {
            *of_all -= upstream.log_prob * inverse;
            *of_label += upstream.log_prob * (stats.others * inverse);
        }
        if (upstream.entropy != 0) {
            const double above = sums.own != 0 ? (double)sums.above : 0.0;
            const double mean = (stats.moment + sums.own * above) * inverse;
            *of_all += upstream.entropy * mean * inverse;
            *of_label += upstream.entropy * (sums.own * inverse) * ((stats.moment - above * stats.others) * inverse);
            tilt = (float)(-upstream.entropy * inverse * upstream.inverse_temperature);
        }
        *of_all *= upstream.inverse_temperature;
        *of_label *= upstream.inverse_temperature;
        smoothing *= upstream.inverse_temperature;
    }

    /* log(sum), from fp32 logarithms, which are cheap enough for every thread, and a Taylor step. */
    static __device__ __forceinline__ double log_of(const quern_row_stats &stats, const row_sums &sums) {
        const float others = (float)stats.others, sum = (float)sums.sum;
        return sums.above == 0 ? log1pf(others) + (double)__fdiv_rn((float)(stats.others - others), sum)
                               : logf(sum) + (double)__fdiv_rn((float)(sums.sum - sum), sum);
    }
};

#endif
