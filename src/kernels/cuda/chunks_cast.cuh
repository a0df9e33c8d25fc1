/*
 * The cast of quantised chunks with one scale, which writes its codes to the outputs of all members.  Included by the source in
 * generated/collective/.
 *
 * A lane has sixteen elements at a time, whose codes are one vector of 16 bytes for each member.  Tiles are those of a
 * quantisation, so the random numbers are the same; a tile that two chunks share is cast in two parts.
 */
#ifndef QUERN_DEVICE_CHUNKS_CAST_CUH
#define QUERN_DEVICE_CHUNKS_CAST_CUH

#include "kernels/cuda/chunks_send.cuh"
#include "kernels/cuda/quantize_cast.cuh"

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
    const chunk_store to{problem.output, problem.places};
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

template <class In, class Out> static __device__ __forceinline__ void cast_chunks(const quern_chunks_cast_problem &problem) {
    const float scale = problem.state->scale;
    if (!problem.state->entered) {
        return;
    }
    cast_parts<QUERN_CHUNK_TILE>(problem, [&](const quern_chunk_tiles &tiles, uint32_t index) {
        cast_part<In, Out>(problem, tile_part(tiles, problem.units, index), scale);
    });
}

#endif
