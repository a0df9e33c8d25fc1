/*
 * What follows from the sums of a row: its loss and outputs, and the factors of its gradient.  Included by row_team.cuh and
 * cross_entropy_rows.cuh.  In fp32, but for the distance between the label and the origin, which would cancel.
 */
#ifndef QUERN_DEVICE_ROW_RESULTS_CUH
#define QUERN_DEVICE_ROW_RESULTS_CUH

#include "kernels/cuda/row_powers.cuh"
#include "kernels/cuda/row_stats.cuh"

/* Above this exponent of 2, exponentials are inaccurate: fp32 knows the exponent to 2^-21. */
enum { LARGEST_EXPONENT = 10 };

/* The sums of a row.  NaN in one of them: the row has a NaN or +infinity. */
struct row_total {
    row_scale scale;
    float others;  /* the exponentials of all columns but the label's */
    float label;   /* the label's logit */

    __device__ __forceinline__ bool is_infinite() const { return others == 0.0f && label == -INFINITY_F32; }
    /* Natural units in one of the exponent's. */
    __device__ __forceinline__ double unit() const { return scale.slope == 1.0f ? 1.0 : 1.0 / (double)LOG2_E; }
};

/* The origin for a row from the largest logit but the label's: the label's if all others are -infinity, or there are none. */
static __device__ __forceinline__ row_scale scale_of_row(float largest, float label) {
    return row_scale::of_largest(largest == -INFINITY_F32 ? label : largest);
}

/*
 * The sum of all columns, relative to an origin that suits the gradient.  It is raised to the label if that is the larger: then
 * neither overflows nor loses the others.  It is raised if the sample has missed the largest logit, too: an exponent far above 0 is
 * inaccurate.
 */
struct row_whole {
    bool label_alone; /* so far above the others that they are 0 in fp32 */
    float origin;     /* of own and inverse */
    float own;        /* the label's exponential */
    float others;
    float inverse;    /* of the sum of both, 0 if that is 0 */

    __device__ __forceinline__ explicit row_whole(const row_total &total) {
        const float above = __fmaf_rn(total.label, total.scale.slope, -total.scale.origin);
        label_alone = above > 400.0f;
        const int exponent = (int)(__float_as_uint(total.others) >> 23) - 127;
        const float raised = fmaxf((float)(exponent - LARGEST_EXPONENT), 0.0f);
        origin = total.scale.origin + fmaxf(fminf(rintf(above), 400.0f), raised);
        own = label_alone ? 1.0f : exp2_flushed(__fmaf_rn(total.label, total.scale.slope, -origin));
        others = label_alone ? 0.0f * total.others : total.others * power_of_two(total.scale.origin - origin);
        const float sum = others + own;
        inverse = sum == 0.0f ? 0.0f : reciprocal_approximate(sum);
    }
};

/* log(sum), good to a unit in the last place of its distance from n * log(2). */
static __device__ __forceinline__ double log_of_sum(float sum) {
    const int exponent = (int)(__float_as_uint(sum) >> 23) - 127;
    const float fraction = __uint_as_float((__float_as_uint(sum) & 0x7fffffu) | 0x3f800000u);
    return sum == sum ? fma((double)exponent, 0.69314718055994530942, (double)logf(fraction)) : (double)sum;
}

/* -log p of the label. */
static __device__ __forceinline__ float surprise_of(const row_total &total, double below) {
    if (total.others == 0.0f) {
        return total.label == -INFINITY_F32 ? INFINITY_F32 : 0.0f * total.label;
    }
    if (below >= 60.0) {
        return (float)(below * total.unit() + log_of_sum(total.others));
    }
    const float bounded = fmaxf((float)below, -400.0f), whole = rintf(bounded);
    const float fraction = exp2_flushed((float)(below - whole)), half = rintf(0.5f * whole);
    const float ratio = total.others * fraction * power_of_two(half) * power_of_two(whole - half);
    return log1pf(ratio);
}

struct row_results {
    float loss, lse, log_prob;

    __device__ __forceinline__ row_results(const row_total &total, float z_loss) {
        const double below = (double)total.scale.origin - (double)total.label * (double)total.scale.slope;
        const float surprise = surprise_of(total, below);
        if (below < 0.0) {
            lse = total.label + surprise;
        } else {
            const float sum = total.others + exponential(total.label, total.scale);
            lse = (float)(total.scale.origin * total.unit() + log_of_sum(sum));
        }
        loss = z_loss != 0.0f ? surprise + z_loss * lse * lse : surprise;
        log_prob = -surprise;
    }
};

/*
 * The sums as quern_row_stats.  Their origin is an fp32 value in natural units: near the larger of the label and the others' log.
 */
static __device__ __forceinline__ quern_row_stats stats_of(const row_total &total) {
    quern_row_stats stats = empty_stats();
    stats.argmax = 0; /* not requested */
    stats.label_value = total.label;
    stats.label_weight = 1.0f;
    stats.has_label = 1;
    if (total.others != 0.0f) {
        const double origin = total.scale.origin * total.unit();
        stats.origin = fmaxf((float)(origin + log_of_sum(total.others)), total.label);
        stats.others = total.others * exp(origin - stats.origin);
    } else if (total.label != -INFINITY_F32) {
        stats.origin = total.label;
    }
    return stats;
}

static __device__ __forceinline__ void count_infinite_row(const quern_cross_entropy_problem &problem) {
    if (problem.report) {
        void *const count = problem.progress ? (void *)&problem.progress->infinite_rows : &problem.report->infinite_rows;
        atomicAdd((unsigned long long *)count, 1ull);
    }
}

/* Writes what a row has beside its gradient; by one thread. */
static __device__ __forceinline__ void write_results(const quern_cross_entropy_problem &problem, int64_t row,
                                                     const row_total &total) {
    if (problem.stats) {
        problem.stats[row] = stats_of(total);
    }
    if (total.is_infinite()) {
        count_infinite_row(problem);
        write_outputs(problem, row, INFINITY_F32, -INFINITY_F32, -INFINITY_F32, 0.0f, -1);
        return;
    }
    const row_results results(total, problem.z_loss);
    write_outputs(problem, row, results.loss, results.lse, results.log_prob, 0.0f, 0);
}

#endif
