/*
 * A whole row by one block: the loop over its parts, the merging of their sums, the row's outputs and gradient.  Included by
 * cross_entropy.cuh and cross_entropy_steps.cuh.  The sums of the parts are merged eight at a time in a
 * fixed tree, which all kernels share, so that every path gives the same bits.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_ROW_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_ROW_CUH

#include "kernels/cuda/dependent_launch.cuh"
#if QUERN_ASYNC_COPY
#include "kernels/cuda/cross_entropy_copied.cuh"
#else
#include "kernels/cuda/cross_entropy_gradient.cuh"
#endif

static __device__ __forceinline__ void store_warp_sums(int place, const warp_sums &sums) {
    if (threadIdx.x % 32 == 0) {
        sums_of(place).of_warp[threadIdx.x / 32] = sums;
    }
}

/* The stats of parts [first, first + count), whose sums are at places from 0 on, by one warp per part.  Needs a barrier before. */
static __device__ __forceinline__ void sum_warps(const quern_cross_entropy_problem &problem, const row_options &options,
                                                 const char *logits, unsigned first, int count, int64_t label) {
    const int place = threadIdx.x / 32;
    __syncthreads();
    if (place < count) {
        const row_part part(problem, first + place, label);
        const quern_row_stats stats = part_stats(problem, options, part, sums_of(place).of_warp, logits);
        if (threadIdx.x % 32 == 0) {
            sums_of(place).stats = stats;
        }
    }
}

/*
 * Merges the stats of those parts into those of the earlier parts; first is a multiple of MERGED_AT_ONCE.  Needs a barrier before.
 */
static __device__ __forceinline__ void merge_parts(const quern_cross_entropy_problem &problem, unsigned first, int count) {
    const int lane = threadIdx.x;
    __syncthreads();
    if (lane < 32) {
        quern_row_stats mine = empty_stats();
        if (lane < count) {
            mine = sums_of(lane).stats;
        } else if (lane == MERGED_AT_ONCE && first > 0) {
            mine = merged_stats();
        }
        mine = merge_in_warp<QUERN_FULL>(problem, mine);
        __syncwarp();
        if (lane == 0) {
            merged_stats() = mine;
        }
    }
}

/* The stats of a row, the same in all threads.  kept receives one part after the other. */
static __device__ __forceinline__ quern_row_stats sum_row(const quern_cross_entropy_problem &problem, const row_options &options,
                                                          int64_t row, uint4 *kept) {
    const char *logits = row_of(problem, row);
    const int64_t label = label_column(problem, row);
#if QUERN_ASYNC_COPY
    auto copy = [&](unsigned index) {
        if (can_be_copied(logits) && index < problem.part_count) {
            const row_part part(problem, index, -1);
            copy_part(kept, logits + part.first() * element::bytes, part);
        }
        async_commit();
    };
    copy(0);
#endif
#pragma unroll 1
    for (unsigned index = 0; index < problem.part_count; index++) {
        const row_part part(problem, index, label);
        const char *place = logits + part.first() * element::bytes;
        const int slot = index % MERGED_AT_ONCE;
#if QUERN_ASYNC_COPY
        async_wait<0>();
        store_warp_sums(slot, sum_warp(problem, options, part, keep_part(kept, place, part)));
        copy(index + 1); /* overwrites a part that this thread itself has finished reading */
#else
        store_warp_sums(slot, sum_warp(problem, options, part, load_part(place, part)));
#endif
        if (slot == MERGED_AT_ONCE - 1 || index + 1 == problem.part_count) {
            sum_warps(problem, options, logits, index - slot, slot + 1, label);
            if (problem.part_count > 1) {
                merge_parts(problem, index - slot, slot + 1);
            }
        }
    }
    __syncthreads();
    return problem.part_count > 1 ? merged_stats() : sums_of(0).stats;
}

/* ---- the end of a row ---- */

static __device__ __forceinline__ void store_padding(const quern_cross_entropy_problem &problem, char *grad) {
    if (problem.padded_vocab > problem.vocab) {
        store_zeros(grad + problem.vocab * element::bytes, problem.padded_vocab - problem.vocab);
    }
}

static __device__ __forceinline__ void skip_row(const quern_cross_entropy_problem &problem, int64_t row) {
    if (problem.grad && !(kept_of_skipped_row(problem, row) & QUERN_KEPT_GRAD)) {
        store_zeros(gradient_row_of(problem, row), problem.padded_vocab);
    }
    if (threadIdx.x == 0) {
        write_skipped_row(problem, row, true);
    }
}

static __device__ __forceinline__ void finish_row(const quern_cross_entropy_problem &problem, const row_options &options,
                                                  int64_t row, const quern_row_stats &stats) {
    if (threadIdx.x == 0) {
        if (problem.stats) {
            problem.stats[row] = stats;
        }
        write_row_outputs<QUERN_FULL>(problem, row, stats);
    }
    if (!problem.grad) {
        return;
    }
    char *grad = gradient_row_of(problem, row);
    store_padding(problem, grad);
    if (is_all_infinite(stats)) {
        store_zeros(grad, problem.vocab);
        return;
    }
    const row_factors factors(problem, stats, row_upstream(problem, row, QUERN_FULL), QUERN_FULL);
    store_streamed_gradient(problem, options, factors, label_column(problem, row), 0, row_of(problem, row), grad, problem.vocab);
}

static __device__ __forceinline__ void cross_entropy_row(const quern_cross_entropy_problem &problem, const row_options &options,
                                                         int64_t row) {
    if (is_skipped(problem, label_of(problem, row))) {
        join_launches();
        skip_row(problem, row);
    } else {
        const quern_row_stats stats = sum_row(problem, options, row, after_sums(MERGED_AT_ONCE));
        join_launches(); /* the sums need no divisor */
        finish_row(problem, options, row, stats);
    }
}

#endif
