/*
 * Checks whether two slices that a rank receives would write the same row: one block sorts them by their first rows.  Included by
 * ragged_all_to_all.cuh.
 */
#ifndef QUERN_DEVICE_RAGGED_OVERLAP_CUH
#define QUERN_DEVICE_RAGGED_OVERLAP_CUH

#include "kernels/cuda/ragged_metadata.cuh"

static __device__ __forceinline__ bool comes_before(const quern_ragged_receipt &a, const quern_ragged_receipt &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.index < b.index;
}

/* Pads the list to the next power of two; slices without rows come last. */
static __device__ __forceinline__ uint32_t list_receipts(const quern_ragged_problem &problem) {
    const uint32_t count = problem.places * problem.updates, room = count < 2 ? count : 2u << (31 - __clz(count - 1));
    for (uint32_t index = threadIdx.x; index < room; index += blockDim.x) {
        quern_ragged_receipt listed = {INT64_MAX, INT64_MAX, index};
        if (index < count) {
            const ragged_receipt receipt(problem, index);
            if (receipt.offer.size > 0) {
                listed = {receipt.offer.output_offset, receipt.offer.output_offset + receipt.offer.size, index};
            }
        }
        problem.receipts[index] = listed;
    }
    __syncthreads();
    return room;
}

/* Bitonic sort (Batcher 1968). */
static __device__ __forceinline__ void sort_receipts(quern_ragged_receipt *list, uint32_t room) {
    for (uint32_t width = 2; width && width <= room; width *= 2) {
        for (uint32_t distance = width / 2; distance > 0; distance /= 2) {
            for (uint32_t i = threadIdx.x; i < room; i += blockDim.x) {
                const uint32_t other = i ^ distance;
                if (other > i && comes_before(list[i], list[other]) == ((i & width) != 0)) {
                    const quern_ragged_receipt kept = list[i];
                    list[i] = list[other];
                    list[other] = kept;
                }
            }
            __syncthreads();
        }
    }
}

/* Called if every receipt is valid by itself. */
static __device__ __forceinline__ void check_overlaps(const quern_ragged_problem &problem, ragged_faults &faults) {
    const uint32_t room = list_receipts(problem);
    sort_receipts(problem.receipts, room);
    for (uint32_t i = threadIdx.x; i + 1 < room; i += blockDim.x) {
        if (problem.receipts[i].begin != INT64_MAX && problem.receipts[i].end > problem.receipts[i + 1].begin) {
            atomicMin(&faults.overlap, i);
        }
    }
    __syncthreads();
}

static __device__ __forceinline__ quern_slice_report overlap_report(const quern_ragged_problem &problem, uint32_t place) {
    const quern_ragged_receipt &first = problem.receipts[place], &second = problem.receipts[place + 1];
    quern_slice_report report = blank_report(problem, QUERN_SLICE_OVERLAP, (uint32_t)second.index);
    const quern_slice_report other = blank_report(problem, QUERN_SLICE_OVERLAP, (uint32_t)first.index);
    report.other_peer = other.peer;
    report.other_update = other.update;
    report.value = second.begin;
    return report;
}

#endif
