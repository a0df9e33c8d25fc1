/*
 * The cast of quantised chunks with a scale for each block of 32 elements of a row, which writes its codes and its scales to the
 * memory of all members.  Included by the source in generated/collective/.
 *
 * Two lanes have a block.  The codes of a lane's sixteen elements are one vector of 16 bytes for each member, and so are the scales
 * of sixteen blocks, which a warp collects in shared memory.  A tile is 64 consecutive blocks of the whole input, so that the
 * vectors of scales are aligned wherever a chunk begins; a tile that two chunks share is cast in two parts.
 */
#ifndef QUERN_DEVICE_CHUNKS_BLOCKS_CUH
#define QUERN_DEVICE_CHUNKS_BLOCKS_CUH

#include "kernels/cuda/chunks_send.cuh"
#include "kernels/cuda/quantize_lanes.cuh"
#include "kernels/cuda/quantize_random.cuh"
#include "kernels/cuda/share.cuh"

enum { STEP_BLOCKS = WARP_ELEMENTS / QUERN_QUANTIZE_BLOCK, TILE_STEPS = QUERN_CHUNK_TILE_BLOCKS / STEP_BLOCKS };

/* The block of which a lane has a half.  The lane's next one is a step further on. */
struct block_walk {
    int64_t block, row, in_row;

    __device__ __forceinline__ block_walk(int64_t block, int64_t across)
        : block(block), row(block / across), in_row(block % across) {}

    __device__ __forceinline__ void next(int64_t across) {
        block += STEP_BLOCKS;
        in_row += STEP_BLOCKS;
        while (in_row >= across) {
            in_row -= across;
            row++;
        }
    }
};

/* Sixteen elements of a row, or fewer at its end. */
template <class In> struct half_block {
    typedef share<In, 1> eight;
    eight x[2];
    int64_t index; /* of the first one in the input */
    int count;     /* elements that exist; the others are zeros */

    /* Nothing, if the block is not one of these. */
    __device__ __forceinline__ void load(const quern_chunks_cast_problem &problem, const block_walk &at, int64_t first,
                                         int64_t end) {
        const int64_t column = at.in_row * QUERN_QUANTIZE_BLOCK + threadIdx.x % 2 * LANE_ELEMENTS, rest = problem.columns - column;
        const bool exists = at.block >= first && at.block < end && rest > 0;
        index = at.row * problem.columns + column;
        count = exists ? (int)min(rest, (int64_t)LANE_ELEMENTS) : 0;
        const char *from = problem.input + index * In::bytes;
        const bool by_vectors = count == LANE_ELEMENTS && (uintptr_t)from % eight::vector_bytes == 0;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            x[i].load(from, 8 * i, (uint32_t)count, by_vectors);
        }
    }
};

template <class In, class Out> struct block_caster {
    enum { DEPTH = LANE_BYTES / LANE_ELEMENTS / In::bytes };
    const quern_chunks_cast_problem &problem;
    matrix_random random;
    uint4 *found; /* the scales of the warp's tile, in shared memory */

    /* Eight elements of a block with this factor. */
    __device__ __forceinline__ void code(const float *x, const magnitudes &all, float by, int64_t index, uint32_t *word) const {
        float scaled[8];
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            set_pair(scaled, i, multiply(pair_of(x, i), twice(by)));
        }
        if (problem.stochastic) {
            uint32_t bits[8];
            random.of((uint64_t)index, bits);
            code_eight<Out, true>(scaled, all.template become_normal<Out>(by), bits, word);
        } else {
            code_eight<Out, false>(scaled, all.template become_normal<Out>(by), nullptr, word);
        }
    }

    /* The codes of the lane's half of a block.  Returns the block's scale. */
    __device__ __forceinline__ uint32_t cast(const half_block<In> &half, uint32_t *word) const {
        float low[8], high[8];
        packing<In, 8>::widen(half.x[0].word, low);
        packing<In, 8>::widen(half.x[1].word, high);
        const magnitudes of_low(low), of_high(high);
        float largest = fmaxf(fmaxf(of_low.largest, of_high.largest), 0.0f);
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
        const uint32_t scale = quern_quantize_block_scale(largest, dtype_of<Out>());
        const float by = quern_quantize_block_factor(scale);
        code(low, of_low, by, half.index, word);
        code(high, of_high, by, half.index + 8, word + 2);
        return scale;
    }

    /* The blocks [first, end) of the tile that begins with this block; stores the codes and keeps the scales. */
    __device__ __forceinline__ void cast_tile(int64_t tile, int64_t first, int64_t end) const {
        const uint32_t lane = threadIdx.x % 32;
        const chunk_store codes{problem.output, problem.places};
        block_walk at(tile + lane / 2, problem.across);
#pragma unroll 1
        for (int step = 0; step < TILE_STEPS; step += DEPTH) {
            half_block<In> half[DEPTH];
#pragma unroll
            for (int k = 0; k < DEPTH; k++, at.next(problem.across)) {
                half[k].load(problem, at, first, end);
            }
#pragma unroll
            for (int k = 0; k < DEPTH; k++) {
                uint32_t word[4];
                const uint32_t scale = cast(half[k], word);
                if (lane % 2 == 0) {
                    ((uint8_t *)found)[(step + k) * STEP_BLOCKS + lane / 2] = (uint8_t)scale;
                }
                if (half[k].count > 0) {
                    codes.store(half[k].index, word, 0, half[k].count);
                }
            }
        }
    }

    /* By all lanes; the first four have sixteen scales each. */
    __device__ __forceinline__ void store_scales(int64_t tile, int64_t first, int64_t end) const {
        const uint32_t lane = threadIdx.x % 32;
        const int64_t at = tile + lane * LANE_ELEMENTS;
        const chunk_store scales{problem.scales, problem.places};
        __syncwarp();
        if (lane < TILE_STEPS && at < end && at + LANE_ELEMENTS > first) {
            const uint4 four = found[lane];
            const uint32_t word[4] = {four.x, four.y, four.z, four.w};
            scales.store(at, word, (int)max(first - at, (int64_t)0), (int)min(end - at, (int64_t)LANE_ELEMENTS));
        }
        __syncwarp();
    }

    __device__ __forceinline__ void operator()(const quern_chunk_tiles &tiles, uint32_t index) const {
        const int64_t tile = (int64_t)(tiles.tile + index) * QUERN_CHUNK_TILE_BLOCKS;
        if (tiles.first < tiles.end) {
            cast_tile(tile, tiles.first, tiles.end);
            store_scales(tile, tiles.first, tiles.end);
        }
    }
};

template <class In, class Out, uint32_t THREADS>
static __device__ __forceinline__ void cast_block_chunks(const quern_chunks_cast_problem &problem) {
    __shared__ uint4 found[THREADS / 32][TILE_STEPS];
    if (!problem.state->entered) {
        return;
    }
    const uint32_t offset = problem.offset_pointer ? (uint32_t)*problem.offset_pointer : problem.offset;
    const block_caster<In, Out> caster{problem, {offset, 0, problem.seed}, found[threadIdx.x / 32]};
    cast_parts<QUERN_CHUNK_TILE_BLOCKS>(problem, caster);
}

#endif
