/*
 * The blocks of a cluster: their ranks and their barrier (sm_90 and later).  Without clusters
 * a block is alone.  Included by row_team.cuh.
 */
#ifndef QUERN_DEVICE_CLUSTER_CUH
#define QUERN_DEVICE_CLUSTER_CUH

#include <stdint.h>

__device__ __forceinline__ uint32_t rank_in_cluster() {
    uint32_t rank = 0;
    if (QUERN_CLUSTERS) {
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    }
    return rank;
}

__device__ __forceinline__ uint32_t blocks_of_cluster() {
    uint32_t count = 1;
    if (QUERN_CLUSTERS) {
        asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    }
    return count;
}

/*
 * All threads of all blocks arrive, then wait for each other.  After the wait, a thread sees the writes that the others made before
 * they arrived.  It must not access the shared memory of another block, which may have exited, unless another arrival follows.
 */
__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

#endif
