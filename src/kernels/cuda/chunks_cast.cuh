/*
 * The cast of quantised chunks, which writes its codes to the outputs of all members.  Included by the source in
 * generated/collective/.
 *
 * A lane has sixteen elements at a time, whose codes are one vector of 16 bytes for each member.  Tiles are those of a
 * quantisation, so the random numbers are the same; a tile that two chunks share is cast in two parts.
 *
 * Memory order.  A warp adds the number of its parts to the counter of the chunk when all its lanes have stored: the release covers
 * their stores, since they have passed a barrier of the warp.  The warp that makes the counter complete has acquired the parts of
 * all others, and its stores of ready_value release them to the members.  The scope is the system's, since the parts are in the
 * memory of other GPUs.
 */
#ifndef QUERN_DEVICE_CHUNKS_CAST_CUH
#define QUERN_DEVICE_CHUNKS_CAST_CUH

#include "kernels/chunks_problem.h"
#include "kernels/cuda/narrow.cuh"
#include "kernels/cuda/quantize_cast.cuh"
#include "kernels/cuda/system_memory.cuh"

enum { LANE_ELEMENTS = 16, LANE_BYTES = 64 /* under way, of the input */, WARP_ELEMENTS = 32 * LANE_ELEMENTS };

/* Sixteen codes to all members. */
struct chunk_store {
    const quern_chunks_cast_problem &problem;

    __device__ __forceinline__ explicit chunk_store(const quern_chunks_cast_problem &problem) : problem(problem) {}

    /* Codes [low, high) of the sixteen, which begin `at` behind every destination. */
    __device__ __forceinline__ void store(int64_t at, const uint32_t *word, int low, int high) const {
        if (low > 0 || high < LANE_ELEMENTS || problem.alignment < 4) {
            store_bytes(at, word, max(low, 0), min(high, (int)LANE_ELEMENTS));
        } else if (problem.alignment < 16) {
            store_words(at, word);
        } else {
            store_vectors(at, word);
        }
    }

private:
    __device__ __forceinline__ void store_vectors(int64_t at, const uint32_t *word) const {
#if QUERN_MULTIMEM
        if (problem.multicast) {
            multicast_vector(problem.multicast + at, word);
            return;
        }
#endif
#pragma unroll 1
        for (uint32_t i = 0; i < problem.places; i++) {
            store_vector<16>(problem.destination[i] + at, word);
        }
    }

    __device__ __forceinline__ void store_words(int64_t at, const uint32_t *word) const {
#pragma unroll 1
        for (uint32_t i = 0; i < problem.places; i++) {
#pragma unroll
            for (int k = 0; k < LANE_ELEMENTS / 4; k++) {
                store_narrow<4>(problem.destination[i] + at + 4 * k, word[k]);
            }
        }
    }

    __device__ __forceinline__ void store_bytes(int64_t at, const uint32_t *word, int low, int high) const {
#pragma unroll 1
        for (uint32_t i = 0; i < problem.places; i++) {
#pragma unroll
            for (int k = 0; k < LANE_ELEMENTS / 4; k++) {
#pragma unroll 1
                for (int byte = 4 * k; byte < 4 * k + 4; byte++) {
                    if (byte >= low && byte < high) {
                        store_narrow<1>(problem.destination[i] + at + byte, word[k] >> byte % 4 * 8);
                    }
                }
            }
        }
    }
};

/* Elements [first, end) of a tile. */
struct tile_part {
    uint32_t tile;
    int first, end;
    uint32_t count; /* elements of the tile that exist */

    __device__ __forceinline__ tile_part(const quern_chunk_tiles &chunk, int64_t elements, uint32_t index)
        : tile(chunk.tile + index), count(tile_elements(elements, chunk.tile + index)) {
        const int64_t begin = (int64_t)tile * QUERN_LIST_TILE;
        first = (int)max(chunk.first - begin, (int64_t)0);
        end = (int)min(chunk.end - begin, (int64_t)QUERN_LIST_TILE);
    }
};

/* By one warp. */
template <class In, class Out>
static __device__ __forceinline__ void cast_part(const quern_chunks_cast_problem &problem, const tile_part &part, float scale) {
    typedef share<In, 1> half;
    enum { DEPTH = LANE_BYTES / LANE_ELEMENTS / In::bytes };
    const caster<Out> caster(problem, part.tile, 0, scale);
    const chunk_store to(problem);
    const char *input = tile_begin(problem.input, part.tile, In::bytes);
    const bool aligned = (uintptr_t)input % half::vector_bytes == 0;
#pragma unroll 1
    for (int start = threadIdx.x % 32 * LANE_ELEMENTS; start < part.end; start += DEPTH * WARP_ELEMENTS) {
        half x[DEPTH][2];
#pragma unroll
        for (int k = 0; k < 2 * DEPTH; k++) {
            const int at = start + k / 2 * WARP_ELEMENTS + k % 2 * 8;
            if (at < part.end && at + 8 > part.first) {
                x[k / 2][k % 2].load(input, at, part.count, aligned && at + 8 <= (int)part.count);
            }
        }
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            const int at = start + k * WARP_ELEMENTS;
            uint32_t word[4] = {};
            if (at >= part.end || at + LANE_ELEMENTS <= part.first) {
                continue;
            }
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float wide[8];
                packing<In, 8>::widen(x[k][i].word, wide);
                caster.cast(wide, at / 8 + i, word + 2 * i);
            }
            to.store((int64_t)part.tile * QUERN_LIST_TILE + at, word, part.first - at, part.end - at);
        }
    }
}

/* By one warp, which has cast `parts` parts of a chunk. */
static __device__ __forceinline__ void finish_parts(const quern_chunks_cast_problem &problem, uint32_t chunk, uint32_t parts,
                                                    uint32_t all) {
    uint32_t before = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        before = add_acquire_release_system(problem.finished + chunk, parts);
    }
    __syncwarp();
    if (__shfl_sync(~0u, before, 0) + parts == all) {
        for (uint32_t i = threadIdx.x % 32; i < problem.places; i += 32) {
            store_release_system(problem.ready[i] + chunk, problem.ready_value);
        }
    }
}

/* The parts of all chunks, in the order of the chunks, go to the warps in turns. */
template <class In, class Out> static __device__ __forceinline__ void cast_chunks(const quern_chunks_cast_problem &problem) {
    uint32_t next = (uint32_t)first_tile_of_warp(); /* this warp's next part, from the beginning of the chunk */
    const uint32_t warps = (uint32_t)warps_of_grid();
    const float scale = problem.state->scale;
    if (!problem.state->entered) {
        return;
    }
#pragma unroll 1
    for (uint32_t i = 0; i < problem.chunks; i++) {
        const uint32_t chunk = problem.order[i];
        const quern_chunk_tiles tiles = quern_chunk_tiles_at(problem.elements, problem.chunk_elements, chunk);
        uint32_t parts = 0;
#pragma unroll 1
        for (; next < tiles.count; next += warps, parts++) {
            cast_part<In, Out>(problem, tile_part(tiles, problem.elements, next), scale);
        }
        next -= tiles.count;
        if (parts) {
            finish_parts(problem, chunk, parts, tiles.count);
        }
    }
}

#endif
