/*
 * Memory accesses with acquire and release order, between the threads of one GPU or of all GPUs and the host.  Included by
 * barrier.cuh.
 *
 * A release makes visible everything that its thread wrote or observed before (through a barrier of its block, or an acquire) to a
 * thread that reads the released value with an acquire.  So one thread can release the writes of a whole block, after the block's
 * barrier, and one block those of a grid.
 */
#ifndef QUERN_DEVICE_SYSTEM_MEMORY_CUH
#define QUERN_DEVICE_SYSTEM_MEMORY_CUH

#include "kernels/cuda/device_memory.cuh"

#ifndef QUERN_MULTIMEM
#error QUERN_MULTIMEM must be 1 where one store reaches the memory of all ranks, else 0
#endif

static __device__ __forceinline__ void store_release_system(uint64_t *address, uint64_t value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" :: "l"(address), "l"(value) : "memory");
}

static __device__ __forceinline__ void store_release_system(uint32_t *address, uint32_t value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(address), "r"(value) : "memory");
}

static __device__ __forceinline__ void store_relaxed_system(uint32_t *address, uint32_t value) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" :: "l"(address), "r"(value) : "memory");
}

static __device__ __forceinline__ uint64_t load_acquire_system(const uint64_t *address) {
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

static __device__ __forceinline__ uint32_t load_acquire_system(const uint32_t *address) {
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

/*
 * A wait polls with relaxed loads and acquires what it has found once, at its end: an acquire empties the first-level cache of the
 * multiprocessor, for all kernels that run there.
 */
static __device__ __forceinline__ uint32_t load_relaxed_system(const uint32_t *address) {
    uint32_t value;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

static __device__ __forceinline__ uint64_t load_relaxed_system(const uint64_t *address) {
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

/* Returns the previous value. */
static __device__ __forceinline__ uint32_t add_acquire_release_system(uint32_t *address, uint32_t value) {
    uint32_t before;
    asm volatile("atom.acq_rel.sys.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
    return before;
}

#if QUERN_MULTIMEM
/* Stores to the same place in every rank's memory. */
static __device__ __forceinline__ void multicast_release_system(uint64_t *address, uint64_t value) {
    asm volatile("multimem.st.release.sys.global.u64 [%0], %1;" :: "l"(address), "l"(value) : "memory");
}

/* 16 bytes, of any type: a store changes no bits. */
static __device__ __forceinline__ void multicast_vector(char *address, const uint32_t *word) {
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};"
                 :: "l"(address), "f"(__uint_as_float(word[0])), "f"(__uint_as_float(word[1])), "f"(__uint_as_float(word[2])),
                    "f"(__uint_as_float(word[3])) : "memory");
}

/*
 * One memory at a multicast and at an ordinary address: an access at one of them may miss what was stored at the other without this
 * fence.
 */
static __device__ __forceinline__ void fence_aliases() {
    asm volatile("fence.proxy.alias;" ::: "memory");
}
#endif

/* Nanoseconds since an arbitrary moment. */
static __device__ __forceinline__ uint64_t global_time() {
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time) :: "memory");
    return time;
}

static __device__ __forceinline__ void sleep_nanoseconds(uint32_t duration) {
    asm volatile("nanosleep.u32 %0;" :: "r"(duration) : "memory");
}

#endif
