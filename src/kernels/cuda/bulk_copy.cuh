/*
 * Copies of any size from global to shared memory by one instruction, whose completion an mbarrier signals (sm_90 and later).
 * Included by row_team.cuh.
 */
#ifndef QUERN_DEVICE_BULK_COPY_CUH
#define QUERN_DEVICE_BULK_COPY_CUH

#include "kernels/cuda/vector.cuh"

/* Initialises for one arrival.  Before other threads use it, call made_mbarriers() and a barrier of the block. */
__device__ __forceinline__ void make_mbarrier(uint64_t *mbarrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(mbarrier)) : "memory");
}

/* Makes new mbarriers visible to the copies. */
__device__ __forceinline__ void made_mbarriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/*
 * Starts a copy to an address in shared memory.  The number of bytes and both addresses are multiples of 16.  It is the mbarrier's
 * only arrival.
 */
__device__ __forceinline__ void bulk_copy(uint32_t shared, const void *global, uint32_t bytes, uint64_t *mbarrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(mbarrier)), "r"(bytes) : "memory");
    if (bytes > 0) {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(shared), "l"(global), "r"(bytes), "r"(shared_address(mbarrier)) : "memory");
    }
}

/* Makes this thread's accesses to shared memory precede its next copies. */
__device__ __forceinline__ void proxy_fence() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(uint64_t *mbarrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(mbarrier)) : "memory");
}

/* The mbarrier's only arrival; bytes that other blocks store must follow. */
__device__ __forceinline__ void expect_bytes(uint64_t *mbarrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(mbarrier)), "r"(bytes) : "memory");
}

/* Stores 16 bytes to the same place in another block of the cluster, and tells its mbarrier. */
template <class T>
__device__ __forceinline__ void store_async(T *place, const T &value, uint64_t *mbarrier, uint32_t rank) {
    static_assert(sizeof(T) == 16, "one vector");
    uint32_t to, at;
    const uint32_t *word = (const uint32_t *)&value;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(place)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(mbarrier)), "r"(rank));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                 :: "r"(to), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]), "r"(at) : "memory");
}

/* SCOPE: of the threads whose stores can be read afterwards. */
#define WAIT_FOR_PHASE(SCOPE, mbarrier, parity) \
    do { \
        uint32_t done; \
        do { \
            asm volatile("{\n" \
                         ".reg .pred p;\n" \
                         "mbarrier.try_wait.parity.acquire." SCOPE ".shared::cta.b64 p, [%1], %2;\n" \
                         "selp.u32 %0, 1, 0, p;\n" \
                         "}" : "=r"(done) : "r"(shared_address(mbarrier)), "r"(parity) : "memory"); \
        } while (!done); \
    } while (0)

/* Waits for the phase of this parity: for its arrival and its bytes, which this thread can then read. */
__device__ __forceinline__ void wait_mbarrier(uint64_t *mbarrier, uint32_t parity = 0) {
    WAIT_FOR_PHASE("cta", mbarrier, parity);
}

/* The same for bytes that other blocks of the cluster have stored. */
__device__ __forceinline__ void wait_for_blocks(uint64_t *mbarrier, uint32_t parity) {
    WAIT_FOR_PHASE("cluster", mbarrier, parity);
}

#undef WAIT_FOR_PHASE

#endif
