/* Copies from global to shared memory that need no registers while they are on their way (sm_80 and later). */
#ifndef QUERN_DEVICE_ASYNC_COPY_CUH
#define QUERN_DEVICE_ASYNC_COPY_CUH

#include <stdint.h>

/* 16 aligned bytes that are read once: they pass by the L1 cache. */
__device__ __forceinline__ void async_copy16(void *shared, const void *global) {
    uint32_t address = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address), "l"(global) : "memory");
}

/* Closes a group of this thread's copies. */
__device__ __forceinline__ void async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most PENDING of this thread's latest groups are on their way; the rest can be read by this thread. */
template <int PENDING> __device__ __forceinline__ void async_wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory");
}

#endif
