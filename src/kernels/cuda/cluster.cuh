/* The blocks of a cluster: their ranks, their barrier, and the shared memory of one another (sm_90 and later). */
#ifndef QUERN_DEVICE_CLUSTER_CUH
#define QUERN_DEVICE_CLUSTER_CUH

#include <stdint.h>

__device__ __forceinline__ uint32_t rank_in_cluster() {
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ uint32_t blocks_of_cluster() {
    uint32_t count;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    return count;
}

/*
 * All threads of all blocks arrive, then wait for one another.  Who has waited sees what the others wrote before they arrived, and
 * may no longer touch the shared memory of a block that may since have exited, unless another arrival is still to come.
 */
__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/* What lies in the shared memory of another block where the pointer is in one's own. */
template <class T> __device__ __forceinline__ const T *in_block(const T *own, uint32_t rank) {
    const T *there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank));
    return there;
}

#endif
