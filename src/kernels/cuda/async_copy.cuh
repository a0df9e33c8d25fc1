/*
 * Asynchronous copies from global to shared memory without registers (sm_80 and later).  Included by cross_entropy_copied.cuh and
 * row_share.cuh.
 */
#ifndef QUERN_DEVICE_ASYNC_COPY_CUH
#define QUERN_DEVICE_ASYNC_COPY_CUH

#include <stdint.h>

/* Copies 16 aligned bytes to an address in shared memory.  They are read once: they bypass the L1 cache. */
__device__ __forceinline__ void async_copy16(uint32_t shared, const void *global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared), "l"(global) : "memory");
}

/* Closes a group of this thread's copies. */
__device__ __forceinline__ void async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most PENDING of this thread's latest groups are incomplete; this thread can then read the others. */
template <int PENDING> __device__ __forceinline__ void async_wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory");
}

#endif
