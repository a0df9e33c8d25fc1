/* Prefix sums over the threads of a block, of two numbers at once.  Included by ragged_metadata.cuh. */
#ifndef QUERN_DEVICE_BLOCK_SCAN_CUH
#define QUERN_DEVICE_BLOCK_SCAN_CUH

#include <stdint.h>

struct running_total {
    uint64_t bytes;
    uint32_t count;

    __device__ __forceinline__ void add(running_total other) { bytes += other.bytes, count += other.count; }
};

/*
 * Adds `mine` over all threads: *all is the sum, and the result is the sum over the threads before this one.  It begins with a
 * __syncthreads, so it may be called repeatedly.
 */
template <int THREADS>
static __device__ __forceinline__ running_total block_scan(running_total mine, running_total *all) {
    __shared__ running_total of_warp[THREADS / 32];
    const uint32_t lane = threadIdx.x % 32;
    running_total sum = mine;
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        const running_total other = {__shfl_up_sync(~0u, sum.bytes, distance), __shfl_up_sync(~0u, sum.count, distance)};
        if (lane >= distance) {
            sum.add(other);
        }
    }
    __syncthreads();
    if (lane == 31) {
        of_warp[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    running_total before = {sum.bytes - mine.bytes, sum.count - mine.count};
    *all = {0, 0};
    for (uint32_t warp = 0; warp < THREADS / 32; warp++) {
        if (warp < threadIdx.x / 32) {
            before.add(of_warp[warp]);
        }
        all->add(of_warp[warp]);
    }
    return before;
}

#endif
