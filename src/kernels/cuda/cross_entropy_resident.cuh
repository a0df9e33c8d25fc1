/*
 * A row that stays in shared memory between the passes, so that each logit is read once from global memory.  Included by
 * cross_entropy_row.cuh.  In the first pass each thread reads only what it copied itself, which needs no barrier; copies of the
 * next parts are in flight while a part is summed.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_RESIDENT_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_RESIDENT_CUH

#include "kernels/cuda/cross_entropy_gradient.cuh"
#if QUERN_ASYNC_COPY
#include "kernels/cuda/async_copy.cuh"
#endif

/* The columns of one thread, in shared memory.  A thread reads only what it stored or copied itself. */
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

/* The place of the index-th part that is kept. */
static __device__ __forceinline__ uint4 *part_place(uint4 *kept, unsigned index) {
    return kept + index * (QUERN_GPU_PART_BYTES / sizeof(uint4));
}

#if QUERN_ASYNC_COPY
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

#endif
/* Stores the thread's columns of a part in shared memory, except vectors that are copied there. */
template <bool RESIDENT>
static __device__ __forceinline__ part_in_shared keep_part(uint4 *to, const char *logits, const row_part &part) {
    if ((uintptr_t)logits % 16) {
#pragma unroll 1 /* a vector is many loads already */
        for (int group = threadIdx.x; group < part.groups(); group += THREADS) {
            uint32_t word[VECTOR_WORDS];
            load_unaligned(logits + group * VECTOR_BYTES, parts_shift<element>(logits), word);
            store_shared<VECTOR_WORDS>(to, group, word);
        }
    }
#if !QUERN_ASYNC_COPY
    else {
        uint32_t word[PART_VECTORS][VECTOR_WORDS];
        load_vectors<true>(logits, part, word);
#pragma unroll
        for (int i = 0; i < PART_VECTORS; i++) {
            if ((int)threadIdx.x + i * THREADS < part.groups()) {
                store_shared<VECTOR_WORDS>(to, threadIdx.x + i * THREADS, word[i]);
            }
        }
    }
#endif
    const int column = part.rest_column();
    if (RESIDENT && column < part.columns) { /* another thread may still be reading the previous part there */
        store_element<element>(to, column, load_element<element>(logits, column));
    }
    return {to, part, load_rest(logits, part)};
}

/* Computes the gradient from a row in shared memory. */
static __device__ __forceinline__ void store_resident_gradient(const row_gradient &gradient, const uint4 *kept, char *grad,
                                                               int64_t columns) {
    const row_layout layout(grad, columns);
    store_edge(gradient, layout, kept, grad);
    const char *first = (const char *)kept + layout.column(0) * element::bytes;
    const uint32_t shift = parts_shift<element>(first);
    for (int64_t i = threadIdx.x; i < layout.vectors; i += THREADS) {
        uint32_t word[VECTOR_WORDS];
        if (layout.head == 0) {
            load_shared(kept, i, word);
        } else {
            uint32_t piece[VECTOR_WORDS + 1];
            load_parts<element, from_shared>(first + i * VECTOR_BYTES, shift, piece);
            join_parts<element>(piece, shift, word);
        }
        store_gradient(gradient, word, grad, layout.column(i), true);
    }
}

#endif
