/*
 * The sums of a row with all options, from those of the threads of the blocks that share it.  Included by row_full_gradient.cuh.
 * The blocks are those of row_team.cuh; what they need beside its memory is here.
 */
#ifndef QUERN_DEVICE_ROW_FULL_TEAM_CUH
#define QUERN_DEVICE_ROW_FULL_TEAM_CUH

#include "kernels/cuda/row_full_sums.cuh"
#include "kernels/cuda/row_share.cuh"

/* The sums of a row.  Those for entropy and smoothing are relative to the origin, in natural units, and leave the label out. */
struct full_total {
    row_total total;
    float weights;      /* of all columns; the number of columns without class weights */
    float moment, weighted;
    float maximum;      /* the largest logit before the softcap, and the first column that has it; -1: none */
    int64_t argmax;
};

/* What a block tells the others of its cluster.  Sums are relative to its own origin. */
struct alignas(16) full_share_sums {
    float sum, largest /* y */, label, has_label;
    float moment, weighted, weights, maximum;
    int64_t argmax;

    __device__ __forceinline__ row_scale scale() const { return row_scale::of_largest(largest); }
};

/* The sums of a warp. */
struct alignas(16) warp_totals {
    float sum, moment, weighted;
    int column;  /* of the largest logit; NO_COLUMN: in another warp */
};

/* Beside team_memory. */
struct full_team_memory {
    warp_totals of_warp[WARPS];
    float2 largest_of_warp[WARPS];
    full_share_sums of_block[2][MOST_BLOCKS];
    float label_logit, label_slope, label_weight; /* slope: of the softcap; written by the leader before tell_ready() */
    float weights;                                /* of the share's columns, in the smoothing */
    float inverse_temperature, log_prob_scale, entropy_scale; /* of the row: likewise */
    float label_gradient;                         /* of the first thread, as the result, while it writes the gradient */
    full_total result;
};

static __device__ __forceinline__ full_team_memory &full_team() {
    return *(full_team_memory *)(block_memory + sizeof(team_memory));
}

/* The class weights of the share, once for all rows; by all threads, before a barrier. */
static __device__ __forceinline__ void sum_class_weights(const quern_cross_entropy_problem &problem, const row_columns &columns) {
    float sum = (float)columns.count;
    if (problem.class_weights && problem.label_smoothing != 0.0f) {
        sum = 0.0f;
        for (int first = threadIdx.x; first < columns.count; first += 16 * THREADS) {
            float some = 0.0f; /* a sum of sums is more accurate */
            for (int i = first; i < columns.count && i < first + 16 * THREADS; i += THREADS) {
                some += problem.class_weights[columns.first + i];
            }
            sum += some;
        }
        sum = reduce_block<false>(sum_of_warp(sum));
    }
    if (threadIdx.x == 0) {
        full_team().weights = sum;
    }
}

/* ---- a block ---- */

/* The column with the largest logit of the share, if this thread has the first such of its own columns, else NO_COLUMN. */
static __device__ __forceinline__ int column_of_largest(const summed_share &share, float largest, float mine, float rest) {
    int column = NO_COLUMN;
    if (mine == largest && largest > -INFINITY_F32) {
        column = first_column_with(largest, share.image, share.columns, share.label);
    }
    const int rest_column = share.columns / VECTOR * VECTOR + threadIdx.x;
    return column == NO_COLUMN && rest == largest && rest > -INFINITY_F32 && rest_column != share.label ? rest_column : column;
}

static __device__ __forceinline__ int first_of_warp(int column) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        column = min(column, __shfl_xor_sync(0xffffffffu, column, distance));
    }
    return column;
}

/* The sums of all warps, in the same order by every thread. */
static __device__ __forceinline__ warp_totals reduce_totals(const lane_totals &mine, int column, bool further, bool wants_argmax) {
    warp_totals own = {sum_of_warp(mine.sum), 0.0f, 0.0f, NO_COLUMN};
    if (further) {
        own.moment = sum_of_warp(mine.moment);
        own.weighted = sum_of_warp(mine.weighted);
    }
    if (wants_argmax) {
        own.column = first_of_warp(column);
    }
    if (threadIdx.x % 32 == 0) {
        full_team().of_warp[threadIdx.x / 32] = own;
    }
    __syncthreads();
    warp_totals all = {0.0f, 0.0f, 0.0f, NO_COLUMN};
#pragma unroll
    for (int i = 0; i < WARPS; i++) {
        const warp_totals one = full_team().of_warp[i];
        all.sum += one.sum;
        all.moment += one.moment;
        all.weighted += one.weighted;
        all.column = min(all.column, one.column);
    }
    return all;
}

/* The largest logit of the share and the largest magnitude, the same in all threads. */
static __device__ __forceinline__ float2 reduce_largest(float largest, float magnitude, bool needs_magnitude) {
    largest = largest_of_warp(largest);
    if (needs_magnitude) {
        magnitude = largest_of_warp(magnitude);
    }
    if (threadIdx.x % 32 == 0) {
        full_team().largest_of_warp[threadIdx.x / 32] = make_float2(largest, magnitude);
    }
    __syncthreads();
    float2 all = {-INFINITY_F32, 0.0f};
#pragma unroll
    for (int i = 0; i < WARPS; i++) {
        all.x = fmaxf(all.x, full_team().largest_of_warp[i].x);
        all.y = fmaxf(all.y, full_team().largest_of_warp[i].y);
    }
    return all;
}

/* 2^x for |x| up to a half, good to a unit in the last place. */
static __device__ __forceinline__ float exp2_of_fraction(float x) {
    const float series[8] = {1.52527338e-5f, 1.54035304e-4f, 1.33335581e-3f, 9.61812911e-3f, 5.55041087e-2f, 0.240226507f,
                             0.693147181f,   1.0f};
    float sum = series[0];
#pragma unroll
    for (int i = 1; i < 8; i++) {
        sum = __fmaf_rn(sum, x, series[i]);
    }
    return sum;
}

/*
 * What the sum of the exponentials lacks because that of the largest logit is approximate.  Where one column has nearly all of the
 * probability, this would be the error of a small entropy.
 */
template <bool CAPPED>
static __device__ __forceinline__ float error_of_largest(const quern_cross_entropy_problem &problem, row_scale scale,
                                                         float inverse_temperature, float largest, float *exponent) {
    const row_scale of_logits = scale_of_logits(scale, inverse_temperature);
    *exponent = row_exponents<CAPPED>(of_logits, problem.softcap, inverse_temperature).any(largest);
    return fabsf(*exponent) <= 1.0f ? exp2_of_fraction(*exponent) - exp2_flushed(*exponent) : 0.0f;
}

/* The sums of the share of this block, the same in all threads. */
template <bool CAPPED>
static __device__ __forceinline__ full_share_sums sum_full_share(const quern_cross_entropy_problem &problem, summed_share &share) {
    const largest_logits<CAPPED> logits = largest_of_share<CAPPED>(share.image, share.columns);
    const float rest = rest_of(share.image, share.columns), mine = logits.largest;
    const float2 all = reduce_largest(fmaxf(mine, rest), logits.magnitude, CAPPED);
    const float largest = all.x;
    share.is_near = !CAPPED || all.y <= nearest_of(problem.softcap);
    full_share_sums sums = {};
    sums.largest = (CAPPED ? softcap(problem.softcap)(largest) : largest) * share.inverse_temperature;
    const row_scale scale = sums.scale();
    const int column = problem.argmax ? column_of_largest(share, largest, mine, rest) : NO_COLUMN;
    const bool further = problem.label_smoothing != 0.0f || problem.wants_moment;
    warp_totals totals = reduce_totals(sum_what_is_needed<CAPPED>(problem, scale, share), column, further, problem.argmax);
    if (totals.sum != 0.0f) {
        float exponent;
        const float error = error_of_largest<CAPPED>(problem, scale, share.inverse_temperature, largest, &exponent);
        totals.sum += error;
        totals.moment += error * exponent;
    }
    const float unit = scale.slope == 1.0f ? 1.0f : 1.0f / LOG2_E;
    sums.sum = totals.sum;
    sums.label = team().label;
    sums.has_label = share.label >= 0 ? 1.0f : 0.0f;
    sums.moment = totals.moment * unit;
    sums.weighted = totals.weighted * unit;
    sums.weights = full_team().weights;
    if (problem.argmax) {
        place_of_largest place = {largest, totals.column == NO_COLUMN ? -1 : (int64_t)share.first + totals.column};
        const bool has_label = share.label >= 0 && full_team().label_logit > -INFINITY_F32;
        place.take(full_team().label_logit, has_label ? share.first + share.label : -1);
        if (CAPPED && place.column < 0) {
            place = {-INFINITY_F32, share.first}; /* all logits are -infinity, but the softcap makes y finite */
        }
        sums.maximum = place.value;
        sums.argmax = place.column;
    }
    return sums;
}

/* ---- the blocks of a cluster ---- */

/* The sums of each block to all blocks, by the first warp; then all threads can read them. */
static __device__ __forceinline__ const full_share_sums *exchange_fully(const full_share_sums &mine, exchanges &made) {
    enum { PIECES = sizeof(full_share_sums) / 16 };
    struct alignas(16) piece {
        uint32_t word[4];
    };
    const uint32_t place = made.place(), parity = made.parity(), blocks = blocks_of_cluster();
    made.count++;
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0) {
            expect_bytes(&team().merged[place], (uint32_t)sizeof(full_share_sums) * blocks);
        }
        __syncwarp();
        if (threadIdx.x < blocks) {
            piece *to = (piece *)&full_team().of_block[place][rank_in_cluster()];
            const piece *from = (const piece *)&mine;
#pragma unroll
            for (int i = 0; i < PIECES; i++) {
                store_async(to + i, from[i], &team().merged[place], threadIdx.x);
            }
        }
    }
    wait_for_blocks(&team().merged[place], parity);
    return full_team().of_block[place];
}

/* The sum over the blocks of a value that each eighth lane has. */
static __device__ __forceinline__ float sum_of_blocks(float mine) {
#pragma unroll
    for (int distance = 1; distance < MOST_BLOCKS; distance *= 2) {
        mine += __shfl_xor_sync(0xffffffffu, mine, distance);
    }
    return mine;
}

/*
 * The sums of all blocks, rescaled to the largest of their origins.  Each lane of a warp looks at one block; all get the same bits.
 */
static __device__ __forceinline__ full_total merge_full_shares(const quern_cross_entropy_problem &problem,
                                                               const full_share_sums *shares, float label_weight) {
    const uint32_t block = threadIdx.x % MOST_BLOCKS, blocks = blocks_of_cluster();
    full_share_sums mine = {};
    mine.largest = -INFINITY_F32;
    mine.argmax = -1;
    if (block < blocks) {
        mine = shares[block];
    }
    float largest = mine.largest;
#pragma unroll
    for (int distance = 1; distance < MOST_BLOCKS; distance *= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
    }
    const row_scale all = row_scale::of_largest(largest), own = mine.scale();
    /* Blocks with another slope are so far away that their exponentials are 0. */
    const bool counts = mine.largest > -INFINITY_F32 && own.slope == all.slope;
    const float factor = counts ? power_of_two((own.origin - all.origin) * (all.slope == 1.0f ? LOG2_E : 1.0f)) : 0.0f;
    const float distance = own.slope == all.slope ? (own.origin - all.origin) * (all.slope == 1.0f ? 1.0f : 1.0f / LOG2_E)
                                                  : mine.largest - largest;
    full_total merged;
    const bool is_nan = mine.sum != mine.sum;
    merged.total.others = sum_of_blocks(is_nan || counts ? mine.sum * factor : 0.0f);
    const uint32_t having = __ballot_sync(0xffffffffu, mine.has_label != 0.0f);
    const float label = __shfl_sync(0xffffffffu, mine.label, having ? __ffs((int)having) - 1 : 0);
    merged.total.label = having ? label : -INFINITY_F32;
    merged.total.scale = scale_of_row(largest, merged.total.label);
    merged.weights = sum_of_blocks(mine.weights);
    const float moved = mine.weights - (mine.has_label != 0.0f ? label_weight : 0.0f);
    merged.moment = sum_of_blocks(counts ? (mine.moment + mine.sum * distance) * factor : 0.0f);
    merged.weighted = sum_of_blocks(mine.weighted + product_or_zero(moved, distance));
    place_of_largest place = {mine.maximum, mine.argmax};
    if (problem.argmax) {
        place.reduce_warp();
    }
    merged.maximum = place.value;
    merged.argmax = place.column;
    return merged;
}

/* The sums of the row, the same in all threads of all its blocks. */
static __device__ __forceinline__ full_total sum_full_row(const quern_cross_entropy_problem &problem, summed_share &share,
                                                          exchanges &made) {
    const full_share_sums mine = problem.softcap != 0.0f ? sum_full_share<true>(problem, share)
                                                         : sum_full_share<false>(problem, share);
    if (blocks_of_cluster() > 1) {
        return merge_full_shares(problem, exchange_fully(mine, made), full_team().label_weight);
    }
    const row_total total = {scale_of_row(mine.largest, mine.label), mine.sum, mine.label};
    return {total, mine.weights, mine.moment, mine.weighted, mine.maximum, mine.argmax};
}

#endif
