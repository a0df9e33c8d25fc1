/*
 * The cast to nearest of a whole tile of a matrix, all of whose vectors are aligned: nearly all tiles.  Included by
 * quantize_matrix.cuh, which says what a tile is and casts all others, with the same bits.
 *
 * Nothing asks whether an element exists, and addresses only grow.  A lane's vector of a row is eight elements.
 */
#ifndef QUERN_DEVICE_QUANTIZE_WHOLE_CUH
#define QUERN_DEVICE_QUANTIZE_WHOLE_CUH

#include "kernels/cuda/quantize_lanes.cuh"
#include "kernels/cuda/share.cuh"
#include "kernels/quantize_problem.h"

/* Rows whose loads are issued together.  Without a conversion instruction the code of a row is long. */
enum { ROW_WORDS = QUERN_FP8_CONVERT ? 16 : 8 };

/* The first row and column of a tile of a transposed matrix.  A matrix has at most 2^30 tiles. */
struct tile_corner {
    int64_t row, column;

    __device__ __forceinline__ tile_corner(const quern_quantize_matrix &matrix, uint32_t number) {
        const uint32_t tiles = (uint32_t)quern_quantize_parts(matrix.columns, QUERN_QUANTIZE_TILE_COLUMNS);
        row = (int64_t)(number / tiles) * QUERN_QUANTIZE_TILE_ROWS;
        column = (int64_t)(number % tiles) * QUERN_QUANTIZE_TILE_COLUMNS;
    }
};

static __device__ __forceinline__ bool is_multiple(uint64_t number, uint32_t of) { return number % of == 0; }

/* Whether a tile is whole and aligned.  The same for all lanes. */
template <class In, class Out>
static __device__ __forceinline__ bool is_whole(const quern_quantize_matrix &matrix, uint32_t number, bool in_blocks) {
    constexpr uint32_t vector = share<In, 1>::vector_bytes, codes = share<Out, 1>::vector_bytes;
    const uint64_t columns = (uint64_t)matrix.columns, rows = (uint64_t)matrix.rows;
    if (matrix.transposed) {
        const tile_corner corner(matrix, number);
        return corner.row + QUERN_QUANTIZE_TILE_ROWS <= matrix.rows &
               corner.column + QUERN_QUANTIZE_TILE_COLUMNS <= matrix.columns &
               is_multiple(columns * In::bytes | (uintptr_t)matrix.input, vector) &
               is_multiple(columns | rows | (uintptr_t)matrix.output | (uintptr_t)matrix.transposed, codes);
    }
    const int64_t end = ((int64_t)number + 1) * QUERN_QUANTIZE_TILE_BLOCKS * QUERN_QUANTIZE_BLOCK;
    return end <= matrix.rows * matrix.columns & (!in_blocks | is_multiple(columns, QUERN_QUANTIZE_BLOCK)) &
           is_multiple((uintptr_t)matrix.input, vector) & is_multiple((uintptr_t)matrix.output, codes);
}

/* Where a lane's first group is in the arrays, and the distances between its groups. */
struct whole_place {
    const char *from;           /* input */
    char *to, *to_column;       /* output, or NULL; transposed */
    uint8_t *scale, *of_column; /* of the blocks of the group's row and of its first column */
    int64_t row, scales;        /* elements and blocks between two groups */
    int64_t column, across;     /* elements and blocks between two columns of the transposed matrix */
};

/* Of a tile of consecutive blocks. */
template <class In>
static __device__ __forceinline__ whole_place place_of_blocks(const quern_quantize_matrix &matrix, uint32_t number) {
    enum { GROUPS = 8 * 32, BLOCKS = GROUPS / QUERN_QUANTIZE_BLOCK }; /* elements and blocks that a warp has at once */
    const uint32_t lane = threadIdx.x % 32;
    const int64_t block = (int64_t)number * QUERN_QUANTIZE_TILE_BLOCKS, index = block * QUERN_QUANTIZE_BLOCK + lane * 8;
    return {(const char *)matrix.input + index * In::bytes, (char *)matrix.output + index, nullptr,
            matrix.block_scales + block + lane / 4, nullptr, GROUPS, BLOCKS, 0, 0};
}

/* Of a tile of rows and columns. */
template <class In>
static __device__ __forceinline__ whole_place place_of_rows(const quern_quantize_matrix &matrix, uint32_t number) {
    const uint32_t lane = threadIdx.x % 32;
    const tile_corner corner(matrix, number);
    const int64_t row = corner.row + lane / 8 * LANE_GROUPS, column = corner.column + lane % 8 * 8;
    const int64_t index = row * matrix.columns + column;
    const int64_t blocks = quern_quantize_parts(matrix.columns, QUERN_QUANTIZE_BLOCK);
    const int64_t across = quern_quantize_parts(matrix.rows, QUERN_QUANTIZE_BLOCK);
    return {(const char *)matrix.input + index * In::bytes,
            matrix.output ? (char *)matrix.output + index : nullptr,
            (char *)matrix.transposed + column * matrix.rows + row,
            matrix.block_scales + row * blocks + column / QUERN_QUANTIZE_BLOCK,
            matrix.transposed_block_scales + column * across + row / QUERN_QUANTIZE_BLOCK,
            matrix.columns, blocks, matrix.rows, across};
}

/* What casts the groups of a lane. */
template <class In, class Out, bool IN_BLOCKS, bool TRANSPOSED> struct whole_tile {
    typedef share<In, 1> vector;
    static constexpr int batch = ROW_WORDS / vector::words;
    const whole_place &at;
    const code_words &codes;
    float scale; /* of the tensor */

    static __device__ __forceinline__ void scale_by(const float *x, const float *by, float *scaled) {
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            set_pair(scaled, i, multiply(pair_of(x, i), pair_of(by, i)));
        }
    }

    /* The factor of the group's row; in blocks also stores its scale. */
    __device__ __forceinline__ float factor_of_row(const magnitudes &all, uint8_t *to) const {
        if (!IN_BLOCKS) {
            return scale;
        }
        const uint32_t found = scale_of_lanes<Out>(fmaxf(all.largest, 0.0f), 1, 2);
        if (threadIdx.x % 4 == 0) {
            *to = (uint8_t)found;
        }
        return quern_quantize_block_factor(found);
    }

    /* The factors of the lane's columns, whose scales the first eight lanes store. */
    __device__ __forceinline__ void find_columns(float *factor) const {
        const char *from = at.from;
        uint8_t *to = at.of_column;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            factor[i] = 0.0f;
        }
#pragma unroll 1
        for (int i = 0; i < LANE_GROUPS; i += batch) {
            vector group[batch];
            load(&from, true, group);
#pragma unroll
            for (int k = 0; k < batch; k++) {
                float x[8];
                packing<In, 8>::widen(group[k].word, x);
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    factor[j] = fmaxf(factor[j], fabsf(x[j]));
                }
            }
        }
#pragma unroll
        for (int j = 0; j < 8; j++, to += at.across) {
            const uint32_t found = scale_of_lanes<Out>(factor[j], 8, 16);
            if (threadIdx.x % 32 < 8) {
                *to = (uint8_t)found;
            }
            factor[j] = quern_quantize_block_factor(found);
        }
    }

    /* kept: what is read again soon. */
    __device__ __forceinline__ void load(const char **from, bool kept, vector *group) const {
#pragma unroll
        for (int k = 0; k < batch; k++, *from += at.row * In::bytes) {
#pragma unroll
            for (int word = 0; word < vector::words; word += vector::vector_words) {
                if (kept) {
                    load_vector<vector::vector_bytes>(*from + 4 * word, group[k].word + word);
                } else {
                    load_vector_once<vector::vector_bytes>(*from + 4 * word, group[k].word + word);
                }
            }
        }
    }

    __device__ __forceinline__ void store_columns() const {
        uint32_t column[16];
        char *to = at.to_column;
        codes.take_columns(column);
#pragma unroll
        for (int i = 0; i < 8; i++, to += at.column) {
            store_vector_once<share<Out, 1>::vector_bytes>(to, column + 2 * i);
        }
    }

    /* Returns the larger of `largest` and the tile's magnitudes. */
    __device__ __forceinline__ float cast(float largest) const {
        const char *from = at.from;
        char *to = at.to;
        uint8_t *to_scale = at.scale;
        float factor[8];
        if (IN_BLOCKS && TRANSPOSED) {
            find_columns(factor);
        }
#pragma unroll 1
        for (int i = 0; i < LANE_GROUPS; i += batch) {
            vector group[batch];
            load(&from, false, group);
#pragma unroll
            for (int k = 0; k < batch; k++, to += at.row, to_scale += at.scales) {
                largest = fmaxf(largest, cast_group(group[k].word, i + k, to, to_scale, factor));
            }
        }
        if (TRANSPOSED) {
            store_columns();
        }
        return largest;
    }

    /* Returns the largest magnitude. */
    __device__ __forceinline__ float cast_group(const uint32_t *input, int number, char *to, uint8_t *to_scale,
                                                const float *factor) const {
        float x[8], scaled[8];
        uint32_t word[2];
        packing<In, 8>::widen(input, x);
        const magnitudes all(x);
        if (!TRANSPOSED || !IN_BLOCKS || at.to) {
            const float one = factor_of_row(all, to_scale), by[8] = {one, one, one, one, one, one, one, one};
            scale_by(x, by, scaled);
            code_eight<Out, false>(scaled, all.template become_normal<Out>(one), nullptr, word);
        }
        if (!TRANSPOSED || at.to) {
            store_vector_once<share<Out, 1>::vector_bytes>(to, word);
        }
        if (TRANSPOSED && IN_BLOCKS) {
            scale_by(x, factor, scaled);
            code_eight<Out, false>(scaled, magnitudes(scaled).template are_normal<Out>(), nullptr, word);
        }
        if (TRANSPOSED) {
            codes.keep(number, word);
        }
        return all.largest;
    }
};

/* Returns the larger of `largest` and the tile's magnitudes. */
template <class In, class Out>
static __device__ __forceinline__ float cast_whole(const quern_quantize_matrix &matrix, uint32_t number, bool in_blocks,
                                                   float scale, const code_words &codes, float largest) {
    if (matrix.transposed) {
        const whole_place at = place_of_rows<In>(matrix, number);
        return in_blocks ? whole_tile<In, Out, true, true>{at, codes, scale}.cast(largest)
                         : whole_tile<In, Out, false, true>{at, codes, scale}.cast(largest);
    }
    const whole_place at = place_of_blocks<In>(matrix, number);
    return in_blocks ? whole_tile<In, Out, true, false>{at, codes, scale}.cast(largest)
                     : whole_tile<In, Out, false, false>{at, codes, scale}.cast(largest);
}

#endif
