/*
 * How the blocks of one launch wait for each other: the first block releases the others, and the last one to finish learns that it
 * is the last.  Included by ragged_all_to_all.cuh.  The words are in the rank's pad.  They count launches and the host never resets
 * them, so that a graph can be replayed.
 *
 * All blocks of the launch must be able to run at once.  The first block's own waits are bounded, so these are too.
 */
#ifndef QUERN_DEVICE_GRID_GATE_CUH
#define QUERN_DEVICE_GRID_GATE_CUH

#include "kernels/cuda/barrier.cuh"

struct grid_gate {
    const quern_links &links;

    __device__ __forceinline__ explicit grid_gate(const quern_links &links) : links(links) {}

    /* Called by the first block: its earlier writes are visible to all released blocks. */
    __device__ __forceinline__ void release() const {
        __syncthreads();
        if (threadIdx.x == 0) {
            store_release_device(own_pad(links).grid(QUERN_GRID_RELEASED), launch());
        }
    }

    /* Called by every other block; false: the rank has given up. */
    __device__ __forceinline__ bool await_release() const {
        __shared__ bool released;
        if (threadIdx.x == 0) {
            const uint32_t present = launch();
            while (!(released = load_acquire_device(own_pad(links).grid(QUERN_GRID_RELEASED)) == present) && !has_ended(links)) {
                sleep_nanoseconds(40);
            }
        }
        __syncthreads();
        return released;
    }

    /*
     * Called by every block at its end; true in the last one, to which all writes of the grid are visible.  The order has system
     * scope, because the last block then reports writes of this block to other GPUs.
     */
    __device__ __forceinline__ bool is_last_to_finish() const {
        __shared__ bool last;
        __syncthreads();
        if (threadIdx.x == 0) {
            const uint32_t present = launch();
            last = add_acquire_release_system(own_pad(links).grid(QUERN_GRID_FINISHED), 1) == gridDim.x - 1;
            if (last) {
                store_relaxed_device(own_pad(links).grid(QUERN_GRID_FINISHED), 0);
                store_relaxed_device(own_pad(links).grid(QUERN_GRID_LAUNCHES), present);
            }
        }
        __syncthreads();
        return last;
    }

private:
    /* The number of this launch.  It does not change until the last block has read it. */
    __device__ __forceinline__ uint32_t launch() const { return load_relaxed_device(own_pad(links).grid(QUERN_GRID_LAUNCHES)) + 1; }
};

#endif
