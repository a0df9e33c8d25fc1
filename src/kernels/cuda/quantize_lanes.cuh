/*
 * The largest magnitude and the scale of a block that several lanes share, and the codes that a lane turns from rows into columns.
 * Included by quantize_matrix.cuh and quantize_whole.cuh.
 */
#ifndef QUERN_DEVICE_QUANTIZE_LANES_CUH
#define QUERN_DEVICE_QUANTIZE_LANES_CUH

#include "kernels/cuda/quantize_codes.cuh"
#include "kernels/quantize_scale.h"

enum { LANE_GROUPS = 8 }; /* groups of eight elements that a lane has of a tile */

/* ---- scales of blocks ---- */

template <class Out> static __device__ __forceinline__ quern_dtype dtype_of() {
    return Out::largest == 448.0f ? QUERN_E4M3 : QUERN_E5M2;
}

/* The scale of a block whose elements are those of four lanes; the lanes' numbers differ by these two distances. */
template <class Out> static __device__ __forceinline__ uint32_t scale_of_lanes(float largest, int one, int two) {
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, one));
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, two));
    return quern_quantize_block_scale(largest, dtype_of<Out>());
}

/* ---- codes ---- */

/* Codes of the lane's groups, until it stores them as columns. */
struct code_words {
    uint2 (*kept)[32];

    __device__ __forceinline__ void keep(int group, const uint32_t *word) const {
        kept[group][threadIdx.x % 32] = make_uint2(word[0], word[1]);
    }

    /* The 8 x 8 codes by columns, two words of each. */
    __device__ __forceinline__ void take_columns(uint32_t *column) const;
};

/* Four rows of four bytes as columns. */
static __device__ __forceinline__ void exchange_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t *column, int step) {
    const uint32_t low[2] = {__byte_perm(a, b, 0x5140), __byte_perm(c, d, 0x5140)};
    const uint32_t high[2] = {__byte_perm(a, b, 0x7362), __byte_perm(c, d, 0x7362)};
    column[0] = __byte_perm(low[0], low[1], 0x5410);
    column[step] = __byte_perm(low[0], low[1], 0x7632);
    column[2 * step] = __byte_perm(high[0], high[1], 0x5410);
    column[3 * step] = __byte_perm(high[0], high[1], 0x7632);
}

__device__ __forceinline__ void code_words::take_columns(uint32_t *column) const {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        uint2 row[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            row[i] = kept[4 * half + i][threadIdx.x % 32];
        }
        exchange_bytes(row[0].x, row[1].x, row[2].x, row[3].x, column + half, 2);
        exchange_bytes(row[0].y, row[1].y, row[2].y, row[3].y, column + 8 + half, 2);
    }
}

#endif
