/*
 * What the casts of quantised chunks share: which parts of chunks a warp has, stores to all members, and the words of chunks that
 * are complete.  Included by chunks_cast.cuh and chunks_blocks.cuh.
 *
 * Memory order.  A warp adds the number of its parts to the counter of the chunk when all its lanes have stored: the release covers
 * their stores, since they have passed a barrier of the warp.  The warp that makes the counter complete has acquired the parts of
 * all others, and its stores of ready_value release them to the members.  The scope is the system's, since the parts are in the
 * memory of other GPUs.
 */
#ifndef QUERN_DEVICE_CHUNKS_SEND_CUH
#define QUERN_DEVICE_CHUNKS_SEND_CUH

#include "kernels/chunks_problem.h"
#include "kernels/cuda/narrow.cuh"
#include "kernels/cuda/system_memory.cuh"
#include "kernels/cuda/tiles.cuh"

enum { LANE_ELEMENTS = 16, LANE_BYTES = 64 /* under way, of the input */, WARP_ELEMENTS = 32 * LANE_ELEMENTS };

/* Sixteen bytes, codes or scales, to all members. */
struct chunk_store {
    const quern_chunks_target &target;
    uint32_t places;

    /* Bytes [low, high) of the sixteen, which begin `at` behind every destination. */
    __device__ __forceinline__ void store(int64_t at, const uint32_t *word, int low, int high) const {
        if (low > 0 || high < LANE_ELEMENTS || target.alignment < 4) {
            store_bytes(at, word, max(low, 0), min(high, (int)LANE_ELEMENTS));
        } else if (target.alignment < 16) {
            store_words(at, word);
        } else {
            store_vectors(at, word);
        }
    }

private:
    __device__ __forceinline__ void store_vectors(int64_t at, const uint32_t *word) const {
#if QUERN_MULTIMEM
        if (target.multicast) {
            multicast_vector(target.multicast + at, word);
            return;
        }
#endif
#pragma unroll 1
        for (uint32_t i = 0; i < places; i++) {
            store_vector<16>(target.destination[i] + at, word);
        }
    }

    __device__ __forceinline__ void store_words(int64_t at, const uint32_t *word) const {
#pragma unroll 1
        for (uint32_t i = 0; i < places; i++) {
#pragma unroll
            for (int k = 0; k < LANE_ELEMENTS / 4; k++) {
                store_narrow<4>(target.destination[i] + at + 4 * k, word[k]);
            }
        }
    }

    __device__ __forceinline__ void store_bytes(int64_t at, const uint32_t *word, int low, int high) const {
#pragma unroll 1
        for (uint32_t i = 0; i < places; i++) {
#pragma unroll
            for (int k = 0; k < LANE_ELEMENTS / 4; k++) {
#pragma unroll 1
                for (int byte = 4 * k; byte < 4 * k + 4; byte++) {
                    if (byte >= low && byte < high) {
                        store_narrow<1>(target.destination[i] + at + byte, word[k] >> byte % 4 * 8);
                    }
                }
            }
        }
    }
};

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

/* The parts of all chunks, in the order of the chunks, go to the warps in turns.  A tile has TILE units. */
template <uint32_t TILE, class CAST>
static __device__ __forceinline__ void cast_parts(const quern_chunks_cast_problem &problem, const CAST &cast) {
    uint32_t next = (uint32_t)first_tile_of_warp(); /* this warp's next part, from the beginning of the chunk */
    const uint32_t warps = (uint32_t)warps_of_grid();
#pragma unroll 1
    for (uint32_t i = 0; i < problem.chunks; i++) {
        const uint32_t chunk = problem.order[i];
        const quern_chunk_tiles tiles = quern_chunk_tiles_at(problem.units, problem.chunk_units, TILE, chunk);
        uint32_t parts = 0;
#pragma unroll 1
        for (; next < tiles.count; next += warps, parts++) {
            cast(tiles, next);
        }
        next -= tiles.count;
        if (parts) {
            finish_parts(problem, chunk, parts, tiles.count);
        }
    }
}

#endif
