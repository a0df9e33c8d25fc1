/*
 * The stages of a cross-entropy that find further columns of each row, the largest ones and given ones, and their
 * log-probabilities.  Included by the stages' source in generated/cross_entropy/.
 *
 *   cross_entropy_columns    one block for each row, before the gradient may replace the logits
 *   cross_entropy_log_probs  one warp for each row, from its stats; it also joins the lists of shards, and finds divergences
 *                            (cross_entropy_divergence.cuh)
 *
 * A warp keeps the largest columns that it has seen in the order of the list, one in each thread (WarpSelect: Johnson, Douze and
 * Jegou 2017, "Billion-scale similarity search with GPUs").  Few columns are larger than the last one of the list, so most cost
 * only a load and a comparison.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_COLUMNS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_COLUMNS_CUH

#include "kernels/cross_entropy_columns.h"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/row_stats.cuh"
#include "kernels/cuda/softcap.cuh"

/* ---- the largest columns of a warp ---- */

struct top_entry {
    float logit;
    int64_t id;                /* NO_ID: none */

    __device__ __forceinline__ bool is_before(const top_entry &other) const {
        return logit > other.logit || (logit == other.logit && id < other.id);
    }
};

enum { NO_ID = -1 };
#define LAST_ID 0x7fffffffffffffffll

static __device__ __forceinline__ top_entry entry_of_lane(const top_entry &entry, int lane) {
    return {__shfl_sync(0xffffffffu, entry.logit, lane), __shfl_sync(0xffffffffu, entry.id, lane)};
}

struct warp_top {
    int count;
    top_entry mine, last;      /* of this thread's place, and of the list's last place */

    __device__ __forceinline__ explicit warp_top(int64_t count)
        : count((int)count), mine({-INFINITY_F32, LAST_ID}), last(mine) {}

    /* By all threads of the warp: those of them that have a candidate. */
    __device__ __forceinline__ void add(const top_entry &candidate, bool has_one) {
        const int lane = threadIdx.x % 32;
        uint32_t left = __ballot_sync(0xffffffffu, has_one && candidate.is_before(last));
        while (left) {
            const top_entry next = entry_of_lane(candidate, __ffs((int)left) - 1);
            const int place = __popc(__ballot_sync(0xffffffffu, mine.is_before(next)));
            const top_entry before = {__shfl_up_sync(0xffffffffu, mine.logit, 1), __shfl_up_sync(0xffffffffu, mine.id, 1)};
            if (lane >= place) {
                mine = lane == place ? next : before;
            }
            last = entry_of_lane(mine, count - 1);
            left &= left - 1;
        }
    }
};

/* ---- before the rows ---- */

enum { COLUMNS_AT_ONCE = 8 };  /* of a thread: loads that are under way together */

/* An element of a matrix whose type the call names. */
static __device__ __forceinline__ float widen_any(const void *row, quern_dtype dtype, int64_t column) {
    if (dtype == QUERN_F32) {
        return f32::widen(load_element<f32>(row, column));
    }
    return dtype == QUERN_F16 ? f16::widen(load_element<f16>(row, column)) : bf16::widen(load_element<bf16>(row, column));
}

/* The logits of a row, of a type that the call names. */
struct searched_row {
    const void *logits;
    int64_t columns, first_column;
    quern_dtype dtype;
    bool has_softcap;

    __device__ __forceinline__ searched_row(const quern_columns_problem &problem, int64_t row)
        : columns(problem.rows.vocab), first_column(problem.rows.first_column), dtype((quern_dtype)problem.logits_dtype),
          has_softcap(problem.rows.softcap != 0.0f) {
        const int64_t bytes = dtype == QUERN_F32 ? f32::bytes : bf16::bytes;
        logits = (const char *)problem.rows.logits + row * problem.rows.logits_stride * bytes;
    }
    template <class T> __device__ __forceinline__ float at(int64_t column) const {
        return T::widen(load_element<T>(logits, column));
    }
    __device__ __forceinline__ float any(int64_t column) const { return widen_any(logits, dtype, column); }
    /* Without a softcap a column of -infinity belongs to no list. */
    __device__ __forceinline__ bool takes(float logit) const { return logit > -INFINITY_F32 || (has_softcap && logit == logit); }

    /* The largest of a thread's columns of a tile. */
    template <class T> __device__ __forceinline__ float largest(int64_t column) const {
        float largest = -INFINITY_F32;
#pragma unroll
        for (int i = 0; i < COLUMNS_AT_ONCE; i++) {
            largest = fmaxf(largest, at<T>(column + i * 32));
        }
        return largest;
    }
    __device__ __forceinline__ float largest_of_any(int64_t column) const {
        if (dtype == QUERN_F32) {
            return largest<f32>(column);
        }
        return dtype == QUERN_F16 ? largest<f16>(column) : largest<bf16>(column);
    }

    /* By a warp: its tiles of the row, the first of which begins with a column, in the order of the ids. */
    __device__ __forceinline__ void search(warp_top &top, int64_t first, int64_t step) const {
        const int lane = threadIdx.x % 32;
#pragma unroll 1
        for (; first < columns; first += step) {
            const bool is_whole = first + 32 * COLUMNS_AT_ONCE <= columns && top.last.id != LAST_ID;
            if (is_whole && !__any_sync(0xffffffffu, largest_of_any(first + lane) > top.last.logit)) {
                continue;
            }
#pragma unroll 1
            for (int i = 0; i < COLUMNS_AT_ONCE; i++) {
                const int64_t column = first + i * 32 + lane;
                const float logit = column < columns ? any(column) : -INFINITY_F32;
                top.add({logit, first_column + column}, column < columns && takes(logit));
            }
        }
    }
};

template <int THREADS> struct block_top {
    enum { WARPS = THREADS / 32 };
    top_entry of_warp[WARPS][QUERN_MOST_TOP];
};

/* The lists of all warps, by the first one. */
template <int THREADS> static __device__ __forceinline__ void join_warps(warp_top &top, block_top<THREADS> &block) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    block.of_warp[warp][lane] = top.mine;
    __syncthreads();
    if (warp != 0) {
        return;
    }
#pragma unroll 1
    for (int i = 1; i < THREADS / 32; i++) {
        const top_entry theirs = block.of_warp[i][lane];
        top.add(theirs, lane < top.count);
    }
}

template <int THREADS>
static __device__ __forceinline__ void find_in_row(const quern_columns_problem &problem, int64_t row, block_top<THREADS> &block) {
    const searched_row searched(problem, row);
    const int64_t count = problem.given_count, label = label_of(problem.rows, row);
    for (int64_t i = threadIdx.x; i < count + (problem.own_logits ? 1 : 0); i += THREADS) {
        const int64_t id = i < count ? problem.given_ids[row * count + i] : label, column = id - searched.first_column;
        const bool is_here = (uint64_t)column < (uint64_t)searched.columns;
        const float logit = is_here ? searched.any(column) : -INFINITY_F32;
        if (i < count && !problem.has_log_probs) {
            problem.given_log_probs[row * count + i] = logit;
        }
        if (problem.own_logits) {
            problem.own_logits[row * (count + 1) + i] = logit;
        }
    }
    if (problem.top_k == 0) {
        return;
    }
    warp_top top(problem.top_k);
    if (!is_skipped(problem.rows, label)) {
        constexpr int64_t tile = 32 * COLUMNS_AT_ONCE;
        searched.search(top, threadIdx.x / 32 * tile, THREADS / 32 * tile);
    }
    join_warps<THREADS>(top, block);
    if (threadIdx.x < problem.top_k) {
        const int64_t place = row * problem.top_k + threadIdx.x;
        problem.top_ids[place] = top.mine.id == LAST_ID ? NO_ID : top.mine.id;
        problem.top_log_probs[place] = top.mine.logit;
    }
}

/* Strict labels: nothing is written for the row. */
static __device__ __forceinline__ bool keeps_columns(const quern_cross_entropy_problem &problem, int64_t row) {
    return is_skipped(problem, label_of(problem, row)) && kept_of_skipped_row(problem, row) & QUERN_KEPT_OUTPUTS;
}

template <int THREADS> static __device__ __forceinline__ void run_columns(const quern_columns_problem &problem) {
    __shared__ block_top<THREADS> block;
    const int64_t row = blockIdx.x + blockIdx.y * (int64_t)gridDim.x;
    join_launches();
    if (row < problem.rows.rows && !keeps_columns(problem.rows, row)) {
        find_in_row<THREADS>(problem, row, block);
    }
}

/* ---- after the rows ---- */

/* What the log-probabilities of a row need. */
struct finished_row {
    int64_t label;             /* -1: the row is skipped */
    quern_row_stats stats;
    struct quern_row_values values;

    __device__ __forceinline__ finished_row(const quern_cross_entropy_problem &problem, int64_t row) {
        label = is_skipped(problem, label_of(problem, row)) ? -1 : label_of(problem, row);
        stats = problem.stats[row];
        values = quern_row_values(&problem, &stats);
    }
    __device__ __forceinline__ float log_prob(const quern_cross_entropy_problem &problem, int64_t row, int64_t id,
                                              float logit) const {
        const float capped = problem.softcap != 0.0f ? softcap(problem.softcap)(logit) : logit;
        const bool exists = (uint64_t)id < (uint64_t)problem.global_vocab;
        const float y = exists ? capped * inverse_temperature_of(problem, row) : -INFINITY_F32;
        return label < 0 ? 0.0f : quern_row_log_prob(&stats, &values, id == label, y);
    }
};

static __device__ __forceinline__ void finish_top(const quern_columns_problem &problem, int64_t row, const finished_row &finished) {
    const int lane = threadIdx.x % 32;
    const int64_t *const ids = problem.shard_count ? problem.shard_ids : problem.top_ids;
    const float *const logits = problem.shard_count ? problem.shard_logits : problem.top_log_probs;
    if (problem.top_k == 0) {
        return;
    }
    warp_top top(problem.top_k);
    int64_t shard = 0;
    do {
        top_entry theirs = {-INFINITY_F32, NO_ID};
        if (lane < top.count) {
            const int64_t place = (shard * problem.rows.rows + row) * problem.top_k + lane;
            theirs = {logits[place], ids[place]};
        }
        top.add(theirs, theirs.id >= 0);
    } while (++shard < problem.shard_count);
    if (lane < top.count) {
        const int64_t place = row * problem.top_k + lane, id = top.mine.id == LAST_ID ? NO_ID : top.mine.id;
        const float log_prob = finished.log_prob(problem.rows, row, id, top.mine.logit);
        problem.top_ids[place] = finished.label >= 0 && log_prob > -INFINITY_F32 ? id : NO_ID;
        problem.top_log_probs[place] = log_prob;
    }
}

static __device__ __forceinline__ void finish_given(const quern_columns_problem &problem, int64_t row,
                                                    const finished_row &finished) {
    const int64_t all = problem.rows.rows * problem.given_count;
    const float *const logits = problem.shard_count ? problem.given_logits : problem.given_log_probs;
    for (int64_t i = threadIdx.x % 32; i < problem.given_count; i += 32) {
        const int64_t place = row * problem.given_count + i;
        float logit = logits[place];
        for (int64_t shard = 1; shard < problem.shard_count; shard++) {
            logit = fmaxf(logit, logits[shard * all + place]);
        }
        problem.given_log_probs[place] = finished.log_prob(problem.rows, row, problem.given_ids[place], logit);
    }
}

#endif
