/*
 * Copies bytes by one warp, with any count and at any addresses.  Included by ragged_all_to_all.cuh.
 *
 * All but the edges is copied in vectors that are aligned at the destination.  If the source has the same alignment, a vector is
 * one load.  Otherwise two aligned loads contain it, and a funnel shift extracts it.  The second load is the neighbouring lane's
 * first and so hits the L1 cache.  Nothing outside the source is read, not even in the same word, which may belong to another
 * thread.
 *
 * A lane has DEPTH vectors in flight.  With the 1024 threads that a multiprocessor holds that is 64 KiB, more than is needed to
 * saturate memory and links (3 TB/s for a microsecond are 3 MB, 23 KiB for each of 132 multiprocessors).
 */
#ifndef QUERN_DEVICE_WARP_COPY_CUH
#define QUERN_DEVICE_WARP_COPY_CUH

#include "kernels/cuda/vector.cuh"

enum { WARP = 32, BYTES_UNDER_WAY = 64 /* of one lane */ };

/* A vector from the two aligned vectors that contain it; it begins `shift` bytes after the first one. */
static __device__ __forceinline__ void cut_out(const uint32_t (&pair)[8], uint32_t shift, uint32_t (&word)[4]) {
    uint32_t by_two[6], by_one[5];
#pragma unroll
    for (int i = 0; i < 6; i++) {
        by_two[i] = shift & 8 ? pair[i + 2] : pair[i];
    }
#pragma unroll
    for (int i = 0; i < 5; i++) {
        by_one[i] = shift & 4 ? by_two[i + 1] : by_two[i];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        word[i] = __funnelshift_r(by_one[i], by_one[i + 1], 8 * (shift & 3));
    }
}

/* Loads vectors if the source is aligned like the destination. */
template <int BYTES> struct aligned_source {
    static constexpr int vector_bytes = BYTES, depth = BYTES_UNDER_WAY / BYTES;
    uint32_t word[BYTES / 4];

    __device__ __forceinline__ void load(const char *from) { load_vector_once<BYTES>(from, word); }
    __device__ __forceinline__ void store(char *to, uint32_t) const { store_vector<BYTES>(to, word); }
};

/* Loads them if it is not: `from` is the beginning of the aligned bytes that contain the vector's first byte. */
struct shifted_source {
    static constexpr int vector_bytes = 16, depth = BYTES_UNDER_WAY / 2 / 16;
    uint32_t pair[8];

    __device__ __forceinline__ void load(const char *from) {
        load_vector<16>(from, pair);
        load_vector<16>(from + 16, pair + 4);
    }
    __device__ __forceinline__ void store(char *to, uint32_t shift) const {
        uint32_t word[4];
        cut_out(pair, shift, word);
        store_vector<16>(to, word);
    }
};

template <class SOURCE>
static __device__ __forceinline__ void copy_vectors(char *to, const char *from, int64_t count, uint32_t shift) {
    constexpr int DEPTH = SOURCE::depth, STRIDE = WARP * SOURCE::vector_bytes;
    const uint32_t lane = threadIdx.x % WARP;
    to += lane * SOURCE::vector_bytes;
    from += lane * SOURCE::vector_bytes;
    count -= lane;
    SOURCE vector[DEPTH];
#pragma unroll 1
    for (; count > (DEPTH - 1) * WARP; count -= DEPTH * WARP) {
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            vector[k].load(from + k * STRIDE);
        }
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            vector[k].store(to + k * STRIDE, shift);
        }
        to += DEPTH * STRIDE;
        from += DEPTH * STRIDE;
    }
    const int32_t left = (int32_t)count;
#pragma unroll
    for (int k = 0; k < DEPTH - 1; k++) {
        if (left > k * WARP) {
            vector[k].load(from + k * STRIDE);
        }
    }
#pragma unroll
    for (int k = 0; k < DEPTH - 1; k++) {
        if (left > k * WARP) {
            vector[k].store(to + k * STRIDE, shift);
        }
    }
}

/* Copies fewer bytes than a warp has lanes. */
static __device__ __forceinline__ void copy_edge(char *to, const char *from, int64_t bytes) {
    const int lane = threadIdx.x % WARP;
    if (lane < bytes) {
        to[lane] = from[lane];
    }
}

template <int BYTES> static __device__ __forceinline__ void copy_aligned(char *to, const char *from, int64_t bytes) {
    const int64_t head = min((int64_t)(-(uint64_t)to % BYTES), bytes), vectors = (bytes - head) / BYTES;
    const int64_t tail = head + vectors * BYTES;
    copy_edge(to, from, head);
    copy_vectors<aligned_source<BYTES>>(to + head, from + head, vectors, 0);
    copy_edge(to + tail, from + tail, bytes - tail);
}

static __device__ __forceinline__ void copy_shifted(char *to, const char *from, int64_t bytes) {
    int64_t head = -(uint64_t)to % 16;
    const uint32_t shift = (uint64_t)(from + head) % 16;
    head += shift > head ? 16 : 0;  /* the aligned bytes would begin before the source */
    head = min(head, bytes);
    const int64_t vectors = max((bytes - head + shift) / 16 - 1, (int64_t)0), tail = head + vectors * 16;
    copy_edge(to, from, head);
    copy_vectors<shifted_source>(to + head, from + head - shift, vectors, shift);
    copy_edge(to + tail, from + tail, bytes - tail);
}

/* Called by all lanes of a warp. */
static __device__ __forceinline__ void warp_copy(char *to, const char *from, int64_t bytes) {
    const uint64_t difference = (uint64_t)to - (uint64_t)from;
    if (difference % 16) {
        copy_shifted(to, from, bytes);
#if QUERN_WIDE_VECTOR
    } else if (difference % 32 == 0) {
        copy_aligned<32>(to, from, bytes);
#endif
    } else {
        copy_aligned<16>(to, from, bytes);
    }
}

#endif
