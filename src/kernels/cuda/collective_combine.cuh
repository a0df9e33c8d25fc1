/*
 * The collectives that combine elements: reduce-scatter and all-reduce.  Included by the source in generated/collective/.
 *
 * Elements are combined in fp32, in ascending order of the sources, and rounded once.  A lane has 8 vectors of 16 bytes in flight:
 * of many sources one vector each, of few sources several.  All sources are asked at once, so that the links of all ranks are in
 * use, although each element is combined in the same order.
 *
 * Where the caller leaves the order open, the switch adds the vectors of all ranks: then a lane has 8 sums in flight.
 */
#ifndef QUERN_DEVICE_COLLECTIVE_COMBINE_CUH
#define QUERN_DEVICE_COLLECTIVE_COMBINE_CUH

#include "kernels/cuda/collective.cuh"
#include "kernels/cuda/collective_store.cuh"
#include "kernels/cuda/collective_switch.cuh"
#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/narrow.cuh"

enum { COMBINE_BYTES = 16 };

/* Each has an identity: combined with it, a value keeps its bits, but for those of a NaN. */
struct sum_of {
    static constexpr uint32_t identity = 0x80000000u;  /* -0: +0 would turn the sum of -0 to +0 */
    static __device__ __forceinline__ float combine(float a, float b) { return __fadd_rn(a, b); }
};

struct max_of {
    static constexpr uint32_t identity = 0xff800000u;
    /* max.f32 takes +0 for larger than -0, and a number for larger than NaN. */
    static __device__ __forceinline__ float combine(float a, float b) {
        float larger;
        asm("max.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
        return a != a || b != b ? __uint_as_float(0x7fc00000u) : larger;
    }
};

/* The only NaN of a result. */
template <class T> constexpr uint32_t result_nan = ((1u << (8 * T::bytes - 1)) - 1) & ~((1u << (T::fraction - 1)) - 1);

template <class T> static __device__ __forceinline__ uint32_t round_result(float x) {
    return x != x ? result_nan<T> : (uint32_t)T::nearest(x);
}

/* An element is a vector of one. */
template <int BYTES> static __device__ __forceinline__ void load_source(const char *from, uint32_t *word) {
    if constexpr (BYTES == COMBINE_BYTES) {
        load_vector_once<BYTES>(from, word);
    } else {
        *word = load_narrow<BYTES>(from);
    }
}

template <class T, int BYTES> static __device__ __forceinline__ void widen_source(const uint32_t *word, float *x) {
    if constexpr (BYTES == COMBINE_BYTES) {
        packing<T, BYTES / T::bytes>::widen(word, x);
    } else {
        *x = T::widen((typename T::bits)*word);
    }
}

template <class T, int BYTES> static __device__ __forceinline__ void round_results(const float *x, uint32_t *word) {
    constexpr int PER_WORD = BYTES < 4 ? 1 : 4 / T::bytes;
#pragma unroll
    for (int i = 0; i < BYTES / T::bytes; i += PER_WORD) {
        if constexpr (PER_WORD == 1) {
            word[i] = round_result<T>(x[i]);
        } else {
            const uint32_t both = T::nearest_pair(x[i], x[i + 1]);
            const uint32_t low = x[i] != x[i] ? result_nan<T> : both & 0xffffu;
            word[i / 2] = x[i + 1] != x[i + 1] ? low | result_nan<T> << 16 : low | (both & 0xffff0000u);
        }
    }
}

/* Up to COUNT vectors or elements, `stride` bytes apart, BATCH sources at a time. */
template <class T, class OF, int BYTES, int COUNT, int BATCH>
static __device__ __forceinline__ void combine_at(const char *const *source, uint32_t sources, const collective_store &to,
                                                  uint64_t at, uint32_t stride, uint32_t count) {
    constexpr int ELEMENTS = BYTES / T::bytes, WORDS = BYTES < 4 ? 1 : BYTES / 4;
    float result[COUNT][ELEMENTS];
#pragma unroll
    for (int k = 0; k < COUNT * ELEMENTS; k++) {
        result[k / ELEMENTS][k % ELEMENTS] = __uint_as_float(OF::identity);
    }
#pragma unroll 1
    for (uint32_t first = 0; first < sources; first += BATCH) {
        uint32_t word[BATCH][COUNT][WORDS];
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
#pragma unroll
            for (int k = 0; k < COUNT; k++) {
                if (first + b < sources && k < count) {
                    load_source<BYTES>(source[first + b] + at + k * stride, word[b][k]);
                }
            }
        }
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            if (first + b < sources) {
#pragma unroll
                for (int k = 0; k < COUNT; k++) {
                    float x[ELEMENTS];
                    widen_source<T, BYTES>(word[b][k], x);
#pragma unroll
                    for (int i = 0; i < ELEMENTS; i++) {
                        result[k][i] = OF::combine(result[k][i], x[i]);
                    }
                }
            }
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        uint32_t word[WORDS];
        round_results<T, BYTES>(result[k], word);
        if (k < count) {
            to.store<BYTES>(at + k * stride, word);
        }
    }
}

/* The bytes before `head` and from `tail` on, one element a thread at a time. */
template <class T, class OF>
static __device__ __forceinline__ void combine_elements(const char *const *source, uint32_t sources, const collective_store &to,
                                                        uint64_t head, uint64_t tail, uint64_t bytes) {
    const uint64_t step = gridDim.x * THREADS * T::bytes;
    for (uint64_t at = (blockIdx.x * THREADS + threadIdx.x) * T::bytes; at < head + bytes - tail; at += step) {
        combine_at<T, OF, T::bytes, 1, 8>(source, sources, to, at < head ? at : at - head + tail, 0, 1);
    }
}

/* work(at, count) for the vectors from byte `head` on: a lane has up to COUNT of them, WARP vectors apart, from byte `at` on. */
template <int COUNT, class WORK>
static __device__ __forceinline__ void for_vectors(uint64_t head, uint64_t vectors, const WORK &work) {
    const uint64_t step = (uint64_t)gridDim.x * WARPS * COUNT * WARP;
    for (uint64_t i = (blockIdx.x * WARPS + threadIdx.x / WARP) * COUNT * WARP + threadIdx.x % WARP; i < vectors; i += step) {
        work(head + i * COMBINE_BYTES, (uint32_t)min((vectors - i + WARP - 1) / WARP, (uint64_t)COUNT));
    }
}

template <class T, class OF, int COUNT>
static __device__ __forceinline__ void combine_vectors(const char *const *source, uint32_t sources, const collective_store &to,
                                                       uint64_t head, uint64_t vectors) {
    for_vectors<COUNT>(head, vectors, [&](uint64_t at, uint32_t count) {
        combine_at<T, OF, COMBINE_BYTES, COUNT, 8 / COUNT>(source, sources, to, at, WARP * COMBINE_BYTES, count);
    });
}

#if QUERN_MULTIMEM
/* Vectors that the switch adds; the block gives each NaN the bits of a result. */
template <class T>
static __device__ __forceinline__ void store_sums(const char *multicast, const collective_store &to, uint64_t head,
                                                  uint64_t vectors) {
    constexpr int COUNT = 8, WORDS = COMBINE_BYTES / 4;
    fence_aliases();  /* the ranks have stored their inputs at ordinary addresses */
    for_vectors<COUNT>(head, vectors, [&](uint64_t at, uint32_t count) {
        uint32_t word[COUNT][WORDS];
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            if (k < count) {
                load_sum<T>(multicast + at + k * WARP * COMBINE_BYTES, word[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            if (k < count) {
                float sum[COMBINE_BYTES / T::bytes];
                widen_source<T, COMBINE_BYTES>(word[k], sum);
                round_results<T, COMBINE_BYTES>(sum, word[k]);
                to.store<COMBINE_BYTES>(at + k * WARP * COMBINE_BYTES, word[k]);
            }
        }
    });
}
#endif

template <class T, class OF>
static __device__ __forceinline__ void combine_all(const char *const *source, uint32_t sources, const collective_store &to,
                                                   uint64_t bytes, bool is_congruent) {
    const uint64_t head = is_congruent ? min(-(uint64_t)source[0] % COMBINE_BYTES, bytes) : bytes;
    const uint64_t vectors = (bytes - head) / COMBINE_BYTES;
    combine_elements<T, OF>(source, sources, to, head, head + vectors * COMBINE_BYTES, bytes);
#if QUERN_MULTIMEM
    if (is_same<OF, sum_of> && to.problem.multicast_source) {
        store_sums<T>(to.problem.multicast_source, to, head, vectors);
        return;
    }
#endif
    if (sources <= 2) {
        combine_vectors<T, OF, 4>(source, sources, to, head, vectors);
    } else if (sources <= 4) {
        combine_vectors<T, OF, 2>(source, sources, to, head, vectors);
    } else {
        combine_vectors<T, OF, 1>(source, sources, to, head, vectors);
    }
}

template <class T> struct combining {
    static __device__ __forceinline__ const char *source_of_place(const quern_collective_problem &problem,
                                                                  const collective_slots &slots, uint32_t place) {
        return problem.stage == QUERN_COLLECTIVE_PASS ? problem.source[place] : slots.data(problem, place);
    }

    static __device__ __forceinline__ void run(const quern_collective_problem &problem, const collective_slots &slots) {
        __shared__ const char *source[QUERN_RANK_LIMIT];
        const collective_store to(problem);
        if (threadIdx.x < problem.sources) {
            source[threadIdx.x] = source_of_place(problem, slots, threadIdx.x);
        }
        __syncthreads();
        if (problem.is_max) {
            combine_all<T, max_of>(source, problem.sources, to, problem.bytes, problem.is_congruent);
        } else {
            combine_all<T, sum_of>(source, problem.sources, to, problem.bytes, problem.is_congruent);
        }
    }
};

#endif
