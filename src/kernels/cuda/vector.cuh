/*
 * Accesses to global memory as wide as the generation allows.  Included by cross_entropy_layout.cuh, narrow.cuh and warp_copy.cuh.
 *
 * A vector is an array of 32-bit words in registers.  "once" marks bytes that are not used again soon, so that they do not evict
 * other data from the L2 cache.
 */
#ifndef QUERN_DEVICE_VECTOR_CUH
#define QUERN_DEVICE_VECTOR_CUH

#include <stdint.h>

#ifndef QUERN_WIDE_VECTOR
#error QUERN_WIDE_VECTOR must be 1 where accesses to global memory have up to 32 bytes, else 0
#endif

enum { VECTOR_BYTES = QUERN_WIDE_VECTOR ? 32 : 16 };

/* All loads are volatile for the compiler: they are issued in program order, ahead of the arithmetic. */

template <int BYTES> __device__ __forceinline__ void load_vector(const void *address, uint32_t *word);
template <int BYTES> __device__ __forceinline__ void load_vector_once(const void *address, uint32_t *word);
template <int BYTES> __device__ __forceinline__ void store_vector_once(void *address, const uint32_t *word);

template <> __device__ __forceinline__ void load_vector<16>(const void *address, uint32_t *word) {
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "l"(address) : "memory");
}

template <> __device__ __forceinline__ void load_vector_once<16>(const void *address, uint32_t *word) {
    asm volatile("ld.global.cs.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "l"(address) : "memory");
}

template <> __device__ __forceinline__ void store_vector_once<16>(void *address, const uint32_t *word) {
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};"
                 :: "l"(address), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]) : "memory");
}

template <> __device__ __forceinline__ void load_vector<32>(const void *address, uint32_t *word) {
    asm volatile("ld.global.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]),
                   "=r"(word[4]), "=r"(word[5]), "=r"(word[6]), "=r"(word[7])
                 : "l"(address) : "memory");
}

template <> __device__ __forceinline__ void load_vector_once<32>(const void *address, uint32_t *word) {
    asm volatile("ld.global.cs.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]),
                   "=r"(word[4]), "=r"(word[5]), "=r"(word[6]), "=r"(word[7])
                 : "l"(address) : "memory");
}

template <> __device__ __forceinline__ void store_vector_once<32>(void *address, const uint32_t *word) {
    asm volatile("st.global.cs.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};"
                 :: "l"(address), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]),
                    "r"(word[4]), "r"(word[5]), "r"(word[6]), "r"(word[7]) : "memory");
}

/* For data that is used again soon. */
template <int BYTES> __device__ __forceinline__ void store_vector(void *address, const uint32_t *word);

template <> __device__ __forceinline__ void store_vector<16>(void *address, const uint32_t *word) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                 :: "l"(address), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]) : "memory");
}

template <> __device__ __forceinline__ void store_vector<32>(void *address, const uint32_t *word) {
    asm volatile("st.global.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};"
                 :: "l"(address), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]),
                    "r"(word[4]), "r"(word[5]), "r"(word[6]), "r"(word[7]) : "memory");
}

/* Accesses to shared memory have at most 16 bytes; WORDS is 4 or 8. */

__device__ __forceinline__ uint32_t shared_address(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

template <int WORDS>
__device__ __forceinline__ void load_shared(const uint4 *base, int64_t vector, uint32_t (&word)[WORDS]) {
#pragma unroll
    for (int i = 0; i < WORDS; i += 4) {
        const uint4 part = base[vector * (WORDS / 4) + i / 4];
        word[i] = part.x, word[i + 1] = part.y, word[i + 2] = part.z, word[i + 3] = part.w;
    }
}

template <int WORDS>
__device__ __forceinline__ void store_shared(uint4 *base, int64_t vector, const uint32_t *word) {
#pragma unroll
    for (int i = 0; i < WORDS; i += 4) {
        base[vector * (WORDS / 4) + i / 4] = make_uint4(word[i], word[i + 1], word[i + 2], word[i + 3]);
    }
}

#endif
