/*
 * Ends a launch because of a faulty slice of a ragged all-to-all, or because a rank has refused its arguments.  Included by
 * ragged_all_to_all.cuh and the barrier kernel's source in generated/barrier/.
 */
#ifndef QUERN_DEVICE_SLICE_ERROR_CUH
#define QUERN_DEVICE_SLICE_ERROR_CUH

#include "kernels/cuda/barrier.cuh"

/* The same mapping as the host's quern_slice_status. */
static __device__ __forceinline__ quern_status status_of(int32_t fault) {
    return fault == QUERN_CHUNK_LATE                                           ? QUERN_PEER_TIMEOUT
           : fault == QUERN_SLICE_DISAGREEMENT || fault >= QUERN_SLICE_UPDATES ? QUERN_PEER_MISMATCH
                                                                               : QUERN_INVALID_SHAPE;
}

/* Called by one thread. */
static __device__ __forceinline__ void end_with(const quern_links &links, quern_phase phase, const quern_slice_report &report) {
    links.error->slice = report;
    store_relaxed_device(own_pad(links).grid(QUERN_GRID_ENDED), 1);
    poison(links, links.tag | (uint32_t)phase << 16, QUERN_KERNEL_ERROR_SLICE, status_of(report.fault));
}

/*
 * Whether no rank has refused its arguments; ranks that have refused dissent from the meeting.  If all ranks have, each one knows
 * it, and the group remains usable.
 */
static __device__ __forceinline__ bool nobody_refused(const quern_links &links, quern_phase phase, const meeting_result &result) {
    if (!result.ended && result.dissenter >= 0 && !result.unanimous && threadIdx.x == 0) {
        end_with(links, phase, {QUERN_SLICE_ARGUMENTS, result.dissenter, 0, 0, 0, 0, 0, 0});
    }
    return !result.ended && result.dissenter < 0;
}

#endif
