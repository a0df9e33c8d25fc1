/*
 * A row by the blocks of a cluster, each of which keeps some parts in its shared memory: rows far longer than a block can hold are
 * still read once.  Included by cross_entropy.cuh.  The blocks exchange one quern_row_stats for each part, 64 bytes for 32 KiB of
 * logits.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_CLUSTER_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_CLUSTER_CUH

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/cross_entropy_row.cuh"

/* The parts of a row that a block of a cluster keeps: each block has the same number, except the last ones. */
struct cluster_share {
    unsigned each, first;
    int count; /* 0: no parts are left for this block */

    __device__ __forceinline__ explicit cluster_share(const quern_cross_entropy_problem &problem) {
        const unsigned parts = (unsigned)problem.part_count, blocks = blocks_of_cluster();
        each = (parts + blocks - 1) / blocks;
        first = rank_in_cluster() * each < parts ? rank_in_cluster() * each : parts;
        count = (int)(parts - first < each ? parts - first : each);
    }
    __device__ __forceinline__ row_share columns(const quern_cross_entropy_problem &problem) const {
        const int64_t begin = (int64_t)first * PART_COLUMNS, end = begin + (int64_t)count * PART_COLUMNS;
        const bool is_last = count > 0 && first + count == (unsigned)problem.part_count;
        return {begin, count == 0 ? 0 : (is_last ? problem.vocab : end) - begin, first == 0, is_last};
    }
};

/* Starts the copies of this block's parts to shared memory, if they are aligned. */
static __device__ __forceinline__ void copy_share(const quern_cross_entropy_problem &problem, const cluster_share &share,
                                                  const char *logits, uint4 *kept) {
    if (threadIdx.x == 0 && can_be_copied(logits)) {
        for (int i = 0; i < share.count; i++) {
            make_mbarrier(&sums_of(i).arrived);
        }
        made_mbarriers();
        for (int i = 0; i < share.count; i++) {
            const row_part part(problem, share.first + i, -1);
            bulk_copy(shared_address(part_place(kept, i)), logits + part.first() * element::bytes,
                      part.columns * element::bytes / 16 * 16, &sums_of(i).arrived);
        }
    }
    __syncthreads(); /* from here on all threads may wait for the mbarriers */
}

/* The row's stats from those of all parts in all blocks, merged in the same order as by a single block. */
static __device__ __forceinline__ void merge_cluster(const quern_cross_entropy_problem &problem, const cluster_share &share) {
    const unsigned lane = threadIdx.x, parts = (unsigned)problem.part_count;
    if (lane < 32) {
        quern_row_stats merged = empty_stats();
        for (unsigned first = 0; first < parts; first += MERGED_AT_ONCE) {
            quern_row_stats mine = empty_stats();
            if (lane < MERGED_AT_ONCE && first + lane < parts) {
                const unsigned owner = (first + lane) / share.each;
                mine = *in_block(&sums_of(first + lane - owner * share.each).stats, owner);
            } else if (lane == MERGED_AT_ONCE) {
                mine = merged;
            }
            merged = merge_in_warp<QUERN_FULL>(problem, mine);
        }
        if (lane == 0) {
            merged_stats() = merged;
        }
    }
}

/*
 * The stats of a row, the same in all threads of all blocks.  A cluster_wait must follow, because the others read this block's
 * stats.
 */
static __device__ __forceinline__ quern_row_stats sum_row_in_cluster(const quern_cross_entropy_problem &problem,
                                                                     const row_options &options, const cluster_share &share,
                                                                     int64_t row, uint4 *kept) {
    const char *logits = row_of(problem, row);
    const int64_t label = label_column(problem, row);
    copy_share(problem, share, logits, kept);
#pragma unroll 1
    for (int i = 0; i < share.count; i++) {
        const row_part part(problem, share.first + i, label);
        if (can_be_copied(logits)) {
            wait_mbarrier(&sums_of(i).arrived);
        }
        const char *place = logits + part.first() * element::bytes;
        store_warp_sums(i, sum_warp(problem, options, part, keep_part<true>(part_place(kept, i), place, part)));
    }
    sum_warps(problem, options, logits, share.first, share.count, label);
    cluster_arrive();
    cluster_wait(); /* for the stats of all parts */
    merge_cluster(problem, share);
    cluster_arrive(); /* this block has read the others' */
    __syncthreads();
    return merged_stats();
}

static __device__ __forceinline__ void cross_entropy_row_in_cluster(const quern_cross_entropy_problem &problem,
                                                                    const row_options &options, int64_t row) {
    const cluster_share share(problem);
    const row_share columns = share.columns(problem);
    if (is_skipped(problem, label_of(problem, row))) {
        skip_row(problem, row, columns);
        return;
    }
    uint4 *kept = after_sums((int)share.each);
    const quern_row_stats stats = sum_row_in_cluster(problem, options, share, row, kept);
    finish_row(problem, options, row, stats, columns, [&](const row_gradient &gradient, char *grad) {
        store_resident_gradient(gradient, kept, grad, columns.columns);
    });
    cluster_wait(); /* until all have read this block's stats */
}

#endif
