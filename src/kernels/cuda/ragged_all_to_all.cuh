/*
 * A ragged all-to-all: two launches on each GPU.  Included by the kernel's source in generated/ragged_all_to_all/.
 *
 *   entry   one block: offers its slices to the members, meets them (entry), checks their offers and meets them again (vote); with
 *           a plan it only meets them
 *   copy    any number of blocks, which begin when the entry has ended, and end at once if it has failed.  Bytes, not slices, are
 *           divided among the warps of the grid, so that a few large slices take as long as many small ones.  The last block to
 *           finish meets the members again (exit): all outputs are complete
 *
 * So one block of a rank waits for other ranks at any time, and the rest of the GPU is free for other work.
 *
 * A rank that has found a fault dissents from the vote.  Then every member reports the fault of the lowest such rank, and no output
 * has been written.
 */
#ifndef QUERN_DEVICE_RAGGED_ALL_TO_ALL_CUH
#define QUERN_DEVICE_RAGGED_ALL_TO_ALL_CUH

#include "kernels/cuda/grid_gate.cuh"
#include "kernels/cuda/ragged_overlap.cuh"
#include "kernels/cuda/slice_error.cuh"
#include "kernels/cuda/warp_copy.cuh"

#ifndef QUERN_THREADS
#error QUERN_THREADS must be the number of threads of a block
#endif

enum { THREADS = QUERN_THREADS, WARPS = THREADS / WARP };

/* ---- meeting ---- */

static __device__ __forceinline__ quern_slice_report first_report(const quern_ragged_problem &problem,
                                                                  const ragged_faults &faults) {
    if (faults.own != faults.NONE) {
        return ragged_entry(problem, faults.own).report(problem, faults.own);
    }
    if (faults.header != faults.NONE) {
        return header_report(problem, faults);
    }
    if (faults.receipt != faults.NONE) {
        return ragged_receipt(problem, faults.receipt).report(problem, faults.receipt);
    }
    return overlap_report(problem, faults.overlap);
}

/* That of a rank whose workspace is elsewhere cannot be read: then it is this fault. */
static __device__ __forceinline__ quern_slice_report report_of(const quern_ragged_problem &problem, const ragged_faults &faults,
                                                              int place) {
    const quern_ragged_header *header = problem.header[place];
    const uint32_t rank = problem.rank_at[place];
    if (ragged_counterpart(problem, header).fault(problem, faults.epoch[rank], false) == QUERN_SLICE_WORKSPACE_PLACE) {
        return {QUERN_SLICE_WORKSPACE_PLACE, (int32_t)rank, (int32_t)problem.links.rank, 0, 0, 0, 0, 0};
    }
    return header->report;
}

static __device__ __forceinline__ void pass_vote(const quern_ragged_problem &problem, const ragged_faults &faults) {
    const bool dissents = faults.any();
    if (dissents && threadIdx.x == 0) {
        problem.header[problem.place]->report = first_report(problem, faults);
    }
    meeting vote(problem.links, QUERN_PHASE_VOTE, dissents);
    vote.put();
    const meeting_result result = vote.await();
    if (!result.ended && result.dissenter >= 0 && threadIdx.x == 0) {
        int place = 0;
        while (problem.rank_at[place] != result.dissenter) {
            place++;
        }
        end_with(problem.links, QUERN_PHASE_VOTE, report_of(problem, faults, place));
    }
}

/* If it fails, the rank has ended, and so does the copy. */
static __device__ __forceinline__ void enter(const quern_ragged_problem &problem) {
    __shared__ ragged_faults faults;
    if (has_ended(problem.links)) {
        return;
    }
    if (!problem.planned) {
        faults.clear();
        make_offers<THREADS>(problem, faults);
    }
    meeting entry(problem.links, QUERN_PHASE_ENTRY, false);
    entry.put();
    if (!nobody_refused(problem.links, QUERN_PHASE_ENTRY, entry.await()) || problem.planned) {
        return;
    }
    check_receipts(problem, faults);
    if (problem.receipts && !faults.any()) {
        check_overlaps(problem, faults);
    }
    pass_vote(problem, faults);
}

/* ---- copying ---- */

/* The last slice that begins at or before a byte of the work.  The lanes test 32 places at a time. */
static __device__ __forceinline__ uint64_t find_slice(const quern_ragged_work *work, uint64_t byte) {
    uint64_t first = 0, count = work->count;
    while (count > 1) {
        const uint64_t step = (count + WARP - 1) / WARP, probe = threadIdx.x % WARP * step;
        const bool before = probe < count && work->slice[first + probe].begin <= byte;
        const uint64_t skipped = (31 - __clz(__ballot_sync(~0u, before))) * step;
        first += skipped;
        count = min(step, count - skipped);
    }
    return first;
}

/* Rounds a cut inside a slice: shares end at whole cache lines of the destination. */
static __device__ __forceinline__ uint64_t cut_inside(const quern_ragged_slice &slice, uint64_t cut) {
    const uint64_t to = (uint64_t)slice.to, line = 128;
    if (cut <= slice.begin) {
        return 0;
    }
    return min((to + (cut - slice.begin) + line - 1) / line * line - to, slice.bytes);
}

/* A warp's share of the work. */
static __device__ __forceinline__ void copy_between(const quern_ragged_work *work, uint64_t from, uint64_t end) {
    const uint64_t count = work->count;
    for (uint64_t i = find_slice(work, from); i < count; i++) {
        const quern_ragged_slice slice = work->slice[i];
        if (slice.begin >= end) {
            return;
        }
        const uint64_t first = cut_inside(slice, from), last = cut_inside(slice, end);
        if (first < last) {
            warp_copy(slice.to + first, slice.from + first, last - first);
        }
    }
}

/* An even share, rounded up to keep every lane of a warp busy. */
static __device__ __forceinline__ uint64_t part(uint64_t bytes, uint32_t parts) {
    const uint64_t unit = WARP * 16, even = (bytes + parts - 1) / parts;
    return (even + unit - 1) / unit * unit;
}

static __device__ __forceinline__ void copy_share(const quern_ragged_work *work) {
    const uint64_t all = work->bytes, of_block = part(all, gridDim.x), of_warp = part(of_block, WARPS);
    const uint64_t block = blockIdx.x * of_block, block_end = min(block + of_block, all);
    const uint64_t from = block + threadIdx.x / WARP * of_warp;
    if (from < block_end) {
        copy_between(work, from, min(from + of_warp, block_end));
    }
}

static __device__ __forceinline__ void copy(const quern_ragged_problem &problem) {
    if (has_ended(problem.links)) {
        return;
    }
    copy_share(problem.work);
    if (is_last_to_finish(problem.links)) {
        meeting exit(problem.links, QUERN_PHASE_EXIT, false);
        exit.put();
        exit.await();
    }
}

static __device__ __forceinline__ void run_ragged_all_to_all(const quern_ragged_problem &problem) {
    if (problem.stage == QUERN_RAGGED_ENTRY) {
        enter(problem);
    } else {
        copy(problem);
    }
}

#endif
