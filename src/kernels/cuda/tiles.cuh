/*
 * Tiles: the elements of one tensor that a warp processes at a time.  Included by gradient_tile.cuh and adam_tile.cuh.  All tiles
 * of a launch are numbered.  A plan's table, or without one the first tile number of each tensor in the kernel's parameters, maps a
 * number to its tensor.
 */
#ifndef QUERN_DEVICE_TILES_CUH
#define QUERN_DEVICE_TILES_CUH

#include "kernels/problem.h"

/* The last tensor that begins at or before the tile: if several begin at the same one, all but the last are empty. */
static __device__ __forceinline__ quern_adam_tile find_tile(const uint32_t *first_tile, uint32_t tensor_count, uint32_t tile) {
    uint32_t low = 0, high = tensor_count;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (first_tile[middle] <= tile) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return {low, tile - first_tile[low]};
}

/*
 * The first tile of this warp, and the distance to the one of its next turn.  Tiles are dealt to the blocks first, then to the
 * warps of each.
 */
static __device__ __forceinline__ int64_t first_tile_of_warp() { return (int64_t)(threadIdx.x / 32) * gridDim.x + blockIdx.x; }
static __device__ __forceinline__ int64_t warps_of_grid() { return (int64_t)(blockDim.x / 32) * gridDim.x; }

/*
 * What a warp has to do: whole tiles in turns, then its part of the tiles that do not suffice for another turn.  These are divided
 * into pieces, and no warp gets more than one piece more than another: otherwise most warps would wait for some in the last turn.
 * A position is a number of pieces from the first tile on.
 */
template <uint32_t PIECES> struct tile_turns {
    int64_t whole;     /* tiles that are taken in turns */
    int64_t rest, end; /* the warp's pieces of the others */

    static __device__ __forceinline__ tile_turns of(int64_t tile_count) {
        const int64_t warp = first_tile_of_warp(), warps = warps_of_grid(), whole = tile_count - tile_count % warps;
        const uint32_t pieces = (uint32_t)(tile_count - whole) * PIECES, more = pieces % (uint32_t)warps;
        const int64_t each = pieces / (uint32_t)warps, rest = whole * PIECES + warp * each + min(warp, (int64_t)more);
        return {whole, rest, rest + each + (warp < more)};
    }

    __device__ __forceinline__ int64_t first() const { return whole ? first_tile_of_warp() * PIECES : rest; }

    /* The position at which the work on a tile ends, and the next one. */
    __device__ __forceinline__ int64_t stop(int64_t position) const {
        const int64_t tile_end = (position / PIECES + 1) * PIECES;
        return position < whole * PIECES ? tile_end : min(tile_end, end);
    }
    __device__ __forceinline__ int64_t next(int64_t position) const {
        const int64_t turn = position + warps_of_grid() * PIECES;
        return position >= whole * PIECES ? stop(position) : turn < whole * PIECES ? turn : rest;
    }
};

/* The number of elements in the tile of this number of a tensor. */
static __device__ __forceinline__ uint32_t tile_elements(int64_t count, uint32_t number) {
    const int64_t rest = count - (int64_t)number * QUERN_LIST_TILE;
    return rest < QUERN_LIST_TILE ? (uint32_t)rest : QUERN_LIST_TILE;
}

/* The beginning of the tile in an array with this element size. */
static __device__ __forceinline__ char *tile_begin(const void *array, uint32_t number, uint32_t element_bytes) {
    return (char *)array + (uint64_t)number * (QUERN_LIST_TILE * element_bytes);
}

#endif
