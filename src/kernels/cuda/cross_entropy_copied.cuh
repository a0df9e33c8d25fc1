/*
 * A part of a streamed row that asynchronous copies move to shared memory.  Included by cross_entropy_row.cuh.  Each thread reads
 * only what it copied itself, which needs no barrier.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_COPIED_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_COPIED_CUH

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/cross_entropy_gradient.cuh"

/* The columns of one thread, in shared memory. */
struct part_in_shared {
    static constexpr int unrolled = 1; /* uses the fewest registers */
    const uint4 *first; /* of the part */
    const row_part &part;
    float rest;

    __device__ __forceinline__ void vector(int i, uint32_t (&out)[VECTOR_WORDS]) const {
        if ((int)threadIdx.x + i * THREADS >= part.groups()) {
            clear_vector(out);
        } else {
            load_shared(first, threadIdx.x + i * THREADS, out);
        }
    }
    __device__ __forceinline__ void read_again() {}
};

/* Whether copies can move a part to shared memory; otherwise its vectors are assembled in registers. */
static __device__ __forceinline__ bool can_be_copied(const char *logits) { return (uintptr_t)logits % 16 == 0; }

/* Starts the copies of a part's vectors to shared memory. */
static __device__ __forceinline__ void copy_part(uint4 *place, const char *logits, const row_part &part) {
    const uint32_t to = shared_address(place);
#pragma unroll
    for (int i = 0; i < PART_VECTORS; i++) {
        const int group = threadIdx.x + i * THREADS;
        if (group < part.groups()) {
#pragma unroll
            for (int byte = 0; byte < VECTOR_BYTES; byte += 16) {
                async_copy16(to + group * VECTOR_BYTES + byte, logits + group * VECTOR_BYTES + byte);
            }
        }
    }
}

/* The thread's columns of a part, which it stores in shared memory itself if they cannot be copied. */
static __device__ __forceinline__ part_in_shared keep_part(uint4 *to, const char *logits, const row_part &part) {
    if (!can_be_copied(logits)) {
#pragma unroll 1 /* a vector is many loads already */
        for (int group = threadIdx.x; group < part.groups(); group += THREADS) {
            uint32_t word[VECTOR_WORDS];
            load_unaligned(logits + group * VECTOR_BYTES, parts_shift<element>(logits), word);
            store_shared<VECTOR_WORDS>(to, group, word);
        }
    }
    return {to, part, load_rest(logits, part)};
}

#endif
