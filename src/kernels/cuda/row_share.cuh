/*
 * The share of a row that a block keeps: how its columns come to shared memory, and how the threads of the block wait for them and
 * for each other.  Included by cross_entropy_rows.cuh.
 *
 * With clusters one thread starts a bulk copy, and mbarriers signal.  Otherwise each thread copies vectors, asynchronously where
 * the target can, and barriers of the block take the place of mbarriers.
 */
#ifndef QUERN_DEVICE_ROW_SHARE_CUH
#define QUERN_DEVICE_ROW_SHARE_CUH

#include "kernels/cuda/row_copy.cuh"
#include "kernels/cuda/row_team.cuh"

/* ---- signals of a block ---- */

/* Before the first copy, by all threads. */
static __device__ __forceinline__ void make_signals() {
    if (QUERN_CLUSTERS) {
        if (threadIdx.x == 0) {
            make_mbarrier(&team().copied);
            make_mbarrier(&team().ready);
            make_mbarrier(&team().merged[0]);
            make_mbarrier(&team().merged[1]);
            made_mbarriers();
        }
    }
}

/* Waits for the copy of the row: the leader does with mbarriers, else all threads. */
static __device__ __forceinline__ void wait_copied(uint32_t parity) {
#if QUERN_CLUSTERS
    wait_mbarrier(&team().copied, parity);
#else
#if QUERN_ASYNC_COPY
    async_wait<0>();
#endif
    __syncthreads();
#endif
}

/* The leader has prepared the row; by one thread. */
static __device__ __forceinline__ void tell_ready() {
    if (QUERN_CLUSTERS) {
        arrive(&team().ready);
    }
}

/* All threads wait for that. */
static __device__ __forceinline__ void wait_ready(uint32_t parity) {
    if (QUERN_CLUSTERS) {
        wait_mbarrier(&team().ready, parity);
        wait_mbarrier(&team().copied, parity); /* for what the copy wrote; done long ago */
    } else {
        __syncthreads();
    }
}

/* ---- copies ---- */

/* Whether this thread takes part in copies. */
static __device__ __forceinline__ bool starts_copies() { return !QUERN_CLUSTERS || threadIdx.x == 0; }

/* The share of a row that this block keeps, and its place in shared memory. */
struct row_share : row_copy {
    __device__ __forceinline__ row_share(const char *logits, int columns)
        : row_copy{logits, columns, shared_address(block_memory) + (uint32_t)QUERN_TEAM_BYTES} {}

    /* By the threads that start copies, after all have read what was in the image.  With clusters the leader copies the ends. */
    __device__ __forceinline__ void start_copy(bool skipped) const {
        if (QUERN_CLUSTERS) {
            const int before = head() * element::bytes;
            proxy_fence();
            bulk_copy(image() + before, logits + before, skipped ? 0 : (uint32_t)vectors() * 16, &team().copied);
        } else if (!skipped) {
            start();
        }
    }
};

#endif
