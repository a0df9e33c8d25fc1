/*
 * Memory accesses with acquire and release order between the threads of one GPU.  Included by system_memory.cuh, which says what
 * they order, and by row_labels.cuh.
 */
#ifndef QUERN_DEVICE_DEVICE_MEMORY_CUH
#define QUERN_DEVICE_DEVICE_MEMORY_CUH

#include <stdint.h>

static __device__ __forceinline__ void store_relaxed_device(uint32_t *address, uint32_t value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(address), "r"(value) : "memory");
}

static __device__ __forceinline__ uint32_t load_relaxed_device(const uint32_t *address) {
    uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

/* Returns the previous value. */
static __device__ __forceinline__ uint32_t add_acquire_release_device(uint32_t *address, uint32_t value) {
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
    return before;
}

#endif
