/*
 * How the blocks of one launch learn which of them is the last to finish.  Included by ragged_all_to_all.cuh.  The word is in the
 * rank's pad, and the last block resets it, so that a graph can be replayed.  No block waits for another one.
 */
#ifndef QUERN_DEVICE_GRID_GATE_CUH
#define QUERN_DEVICE_GRID_GATE_CUH

#include "kernels/cuda/barrier.cuh"

/*
 * Called by every block at its end; true in the last one, to which all writes of the grid are visible.  The order has system
 * scope, because the last block then reports writes of this block to other GPUs.
 */
static __device__ __forceinline__ bool is_last_to_finish(const quern_links &links) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t *finished = own_pad(links).grid(QUERN_GRID_FINISHED);
        last = add_acquire_release_system(finished, 1) == gridDim.x - 1;
        if (last) {
            store_relaxed_device(finished, 0);
        }
    }
    __syncthreads();
    return last;
}

#endif
