/*
 * The share of a row that a block keeps: how its columns come to shared memory, and how the threads of the block wait for them and
 * for each other.  Included by cross_entropy_rows.cuh.
 *
 * With clusters one thread starts a bulk copy, and mbarriers signal.  Otherwise each thread copies vectors, asynchronously where the
 * target can, and barriers of the block take the place of mbarriers.
 */
#ifndef QUERN_DEVICE_ROW_SHARE_CUH
#define QUERN_DEVICE_ROW_SHARE_CUH

#include "kernels/cuda/row_team.cuh"
#if QUERN_ASYNC_COPY
#include "kernels/cuda/async_copy.cuh"
#endif

/* ---- signals of a block ---- */

/* Before the first copy, by all threads. */
static __device__ __forceinline__ void make_signals() {
    if (QUERN_CLUSTERS) {
        if (threadIdx.x == 0) {
            make_mbarrier(&team().copied);
            make_mbarrier(&team().ready);
            make_mbarrier(&team().merged[0]);
            make_mbarrier(&team().merged[1]);
            made_mbarriers();
        }
    }
}

/* Waits for the copy of the row: the leader does with mbarriers, else all threads. */
static __device__ __forceinline__ void wait_copied(uint32_t parity) {
#if QUERN_CLUSTERS
    wait_mbarrier(&team().copied, parity);
#else
#if QUERN_ASYNC_COPY
    async_wait<0>();
#endif
    __syncthreads();
#endif
}

/* The leader has prepared the row; by one thread. */
static __device__ __forceinline__ void tell_ready() {
    if (QUERN_CLUSTERS) {
        arrive(&team().ready);
    }
}

/* All threads wait for that. */
static __device__ __forceinline__ void wait_ready(uint32_t parity) {
    if (QUERN_CLUSTERS) {
        wait_mbarrier(&team().ready, parity);
        wait_mbarrier(&team().copied, parity); /* for what the copy wrote; done long ago */
    } else {
        __syncthreads();
    }
}

/* ---- copies ---- */

/* Whether this thread takes part in copies. */
static __device__ __forceinline__ bool starts_copies() { return !QUERN_CLUSTERS || threadIdx.x == 0; }

/* A thread's share of the vectors from `from` to the image. */
static __device__ __forceinline__ void copy_vectors(uint32_t to, const char *from, int vectors) {
#if QUERN_ASYNC_COPY
#pragma unroll 4
    for (int i = threadIdx.x; i < vectors; i += THREADS) {
        async_copy16(to + i * 16, from + (int64_t)i * 16);
    }
    async_commit();
#else
    enum { AT_ONCE = 8 };
#pragma unroll 1
    for (int first = threadIdx.x; first < vectors; first += AT_ONCE * THREADS) {
        uint32_t word[AT_ONCE][4];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            if (first + i * THREADS < vectors) {
                load_vector_once<16>(from + (int64_t)(first + i * THREADS) * 16, word[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            if (first + i * THREADS < vectors) {
                store_words(to + (first + i * THREADS) * 16, word[i]);
            }
        }
    }
#endif
}

/* The share of a row that this block keeps, and its place in shared memory. */
struct row_share {
    const char *logits;
    int columns;

    __device__ __forceinline__ uint32_t image() const {
        return shared_address(block_memory) + (uint32_t)QUERN_TEAM_BYTES + ((uint32_t)(uintptr_t)logits & 15);
    }
    /* The columns at either end that no bulk copy can move. */
    __device__ __forceinline__ int head() const {
        const int before = (int)(-(uint32_t)(uintptr_t)logits & 15) / element::bytes;
        return before < columns ? before : columns;
    }
    __device__ __forceinline__ int tail() const { return (columns - head()) % VECTOR; }

    /* By the threads that start copies, after all have read what was in the image.  With clusters the leader copies the ends. */
    __device__ __forceinline__ void start_copy(bool skipped) const {
        const int before = head() * element::bytes;
        const uint32_t bytes = skipped ? 0 : (uint32_t)(columns - head() - tail()) * element::bytes;
        if (QUERN_CLUSTERS) {
            proxy_fence();
            bulk_copy(image() + before, logits + before, bytes, &team().copied);
        } else if (!skipped) {
            copy_vectors(image() + before, logits + before, bytes / 16);
            if (threadIdx.x < 32) {
                copy_ends();
            }
        }
    }

    /* By one warp. */
    __device__ __forceinline__ void copy_ends() const {
        const int i = threadIdx.x % 32, before = head(), after = tail();
        if (i < before + after) {
            const int column = i < before ? i : columns - after + (i - before);
            store_shared_element(image() + column * element::bytes, load_element<element>(logits, column));
        }
    }

    /* The largest of up to 32 vectors from all over the share; by one warp. */
    __device__ __forceinline__ float sample() const {
        const int lane = threadIdx.x % 32, vectors = columns / VECTOR;
        if (vectors == 0) {
            const uint32_t place = image() + lane * element::bytes;
            return largest_of_warp(lane < columns ? element::widen(load_shared_element(place)) : -INFINITY_F32);
        }
        const uint32_t base = image() & ~15u, at = base + (uint32_t)((int64_t)lane * vectors / 32) * 16;
        return largest_of_warp(largest_of_vectors(any_reader{image() - base}, at, at + 1));
    }
};

#endif
