/*
 * The copy of a row's columns in shared memory, by the threads that share them.  Included by row_share.cuh and
 * cross_entropy_short_rows.cuh.  The copies are asynchronous where the target can.
 */
#ifndef QUERN_DEVICE_ROW_COPY_CUH
#define QUERN_DEVICE_ROW_COPY_CUH

#include "kernels/cuda/row_powers.cuh"
#if QUERN_ASYNC_COPY
#include "kernels/cuda/async_copy.cuh"
#endif

#if !QUERN_ASYNC_COPY
template <int COUNT> static __device__ __forceinline__ void copy_vectors_at_once(uint32_t to, const char *from) {
    uint32_t word[COUNT][4];
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        load_vector_once<16>(from + i * STEP, word[i]);
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        store_words(to + i * STEP, word[i]);
    }
}
#endif

/* A thread's share of the vectors from `from` to the image. */
static __device__ __forceinline__ void copy_vectors(uint32_t to, const char *from, int vectors) {
#if QUERN_ASYNC_COPY
#pragma unroll 4
    for (int i = own_number(); i < vectors; i += THREADS) {
        async_copy16(to + i * 16, from + (int64_t)i * 16);
    }
    async_commit();
#else
    const char *at = from + own_number() * 16;
    const uint32_t end = to + vectors * 16;
    to += own_number() * 16;
#pragma unroll 1
    for (; to + batch_reach() < end; to += BATCH * STEP, at += BATCH * STEP) {
        copy_vectors_at_once<BATCH>(to, at);
    }
#pragma unroll 1
    for (; to < end; to += STEP, at += STEP) {
        copy_vectors_at_once<1>(to, at);
    }
#endif
}

/* Up to 7 columns at either end: so many for a lane. */
enum { END_TURNS = (14 + LANES - 1) / LANES };

struct row_copy {
    const char *logits;
    int columns;
    uint32_t memory; /* room for the columns and 32 bytes, so that vectors can be read at any alignment */

    __device__ __forceinline__ uint32_t image() const { return memory + ((uint32_t)(uintptr_t)logits & 15); }
    /* The columns at either end that are copied one by one. */
    __device__ __forceinline__ int head() const {
        const int before = (int)(-(uint32_t)(uintptr_t)logits & 15) / element::bytes;
        return before < columns ? before : columns;
    }
    __device__ __forceinline__ int tail() const { return (columns - head()) % VECTOR; }
    __device__ __forceinline__ int vectors() const { return (columns - head()) / VECTOR; }

    /* By all threads that share the columns, after all have read what was in the image. */
    __device__ __forceinline__ void start() const {
        const int before = head() * element::bytes;
        copy_vectors(image() + before, logits + before, vectors());
        if (own_number() < LANES) {
            copy_ends();
        }
    }

    /* By the lanes of a warp. */
    __device__ __forceinline__ void copy_ends() const {
        const int before = head(), after = tail();
#pragma unroll
        for (int turn = 0; turn < END_TURNS; turn++) {
            const int i = threadIdx.x % LANES + turn * LANES;
            if (i < before + after) {
                const int column = i < before ? i : columns - after + (i - before);
                store_shared_element(image() + column * element::bytes, load_element<element>(logits, column));
            }
        }
    }

    /* A lane's part of the sample: the largest of one of LANES vectors from all over the columns. */
    __device__ __forceinline__ float largest_of_lane() const {
        const int lane = threadIdx.x % LANES, vectors = columns / VECTOR;
        if (vectors == 0) {
            const uint32_t place = image() + lane * element::bytes;
            return lane < columns ? element::widen(load_shared_element(place)) : -INFINITY_F32;
        }
        const uint32_t base = image() & ~15u, at = base + (uint32_t)((int64_t)lane * vectors / LANES) * 16;
        return largest_of_vectors(any_reader{image() - base}, at, at + 1);
    }
    /* By one warp. */
    __device__ __forceinline__ float sample() const { return largest_of_lanes<LANES>(largest_of_lane()); }
};

#endif
