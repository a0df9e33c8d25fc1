/* Accesses to global memory shorter than a vector: half a vector, or a single element that fills none.  Included by share.cuh. */
#ifndef QUERN_DEVICE_NARROW_CUH
#define QUERN_DEVICE_NARROW_CUH

#include "kernels/cuda/vector.cuh"

template <> __device__ __forceinline__ void load_vector_once<8>(const void *address, uint32_t *word) {
    asm volatile("ld.global.cs.v2.b32 {%0, %1}, [%2];" : "=r"(word[0]), "=r"(word[1]) : "l"(address) : "memory");
}

template <> __device__ __forceinline__ void store_vector_once<8>(void *address, const uint32_t *word) {
    asm volatile("st.global.cs.v2.b32 [%0], {%1, %2};" :: "l"(address), "r"(word[0]), "r"(word[1]) : "memory");
}

/* An element of 1, 2 or 4 bytes. */

template <int BYTES> __device__ __forceinline__ uint32_t load_narrow(const void *address) {
    uint32_t x;
    if constexpr (BYTES == 1) {
        asm volatile("ld.global.u8 %0, [%1];" : "=r"(x) : "l"(address) : "memory");
    } else if constexpr (BYTES == 2) {
        asm volatile("ld.global.u16 %0, [%1];" : "=r"(x) : "l"(address) : "memory");
    } else {
        asm volatile("ld.global.b32 %0, [%1];" : "=r"(x) : "l"(address) : "memory");
    }
    return x;
}

template <int BYTES> __device__ __forceinline__ void store_narrow(void *address, uint32_t x) {
    if constexpr (BYTES == 1) {
        asm volatile("st.global.u8 [%0], %1;" :: "l"(address), "r"(x) : "memory");
    } else if constexpr (BYTES == 2) {
        asm volatile("st.global.u16 [%0], %1;" :: "l"(address), "r"(x) : "memory");
    } else {
        asm volatile("st.global.b32 [%0], %1;" :: "l"(address), "r"(x) : "memory");
    }
}

#endif
