/*
 * The cast of matrices: to their rows, to the transposed matrix or to both, with a scale of the tensor or one of each block of 32.
 * Included by the matrix kernels' source in generated/quantize/.
 *
 * A warp has a tile of 32 rows and 64 columns, and each lane 8 x 8 of its elements: a vector of each row.  Its codes go to the
 * transposed matrix as 8 x 8 bytes, which the lane exchanges in registers.  So four lanes write the 32 bytes of a row of the
 * transposed tile, a whole sector.  Shared memory only keeps a lane's own words: no lane reads what another has stored.  A block of
 * a row has four lanes, one of a column the lanes of all rows.  Without a transposed matrix a tile is 64 consecutive blocks, so
 * that short rows leave no lane without work.  quantize_whole.cuh casts whole tiles to nearest; here are all others.
 *
 * In blocks the tile is read twice if it is transposed, since the scales of columns must be known first; the second time it comes
 * from the L1 cache.
 */
#ifndef QUERN_DEVICE_QUANTIZE_MATRIX_CUH
#define QUERN_DEVICE_QUANTIZE_MATRIX_CUH

#include "kernels/cuda/quantize_largest.cuh"
#include "kernels/cuda/quantize_random.cuh"
#include "kernels/cuda/quantize_whole.cuh"
#include "kernels/cuda/tiles.cuh"

enum {
    MATRIX_BLOCK = QUERN_QUANTIZE_BLOCK,
    MATRIX_WARPS = 8,    /* of a block */
    LOADED_WORDS = 16    /* words of the groups whose loads are issued together */
};

/* A tile, and the group of eight elements at which the lane is. */
struct matrix_walk {
    quern_quantize_matrix matrix;
    int64_t row, column;      /* of the group */
    int64_t across;           /* blocks of a row */

    __device__ __forceinline__ matrix_walk(const quern_quantize_matrix &matrix, uint32_t number)
        : matrix(matrix), across((matrix.columns + MATRIX_BLOCK - 1) / MATRIX_BLOCK) {
        const uint32_t lane = threadIdx.x % 32;
        if (matrix.transposed) {
            const tile_corner corner(matrix, number);
            row = corner.row + lane / 8 * LANE_GROUPS;
            column = corner.column + lane % 8 * 8;
        } else {
            const int64_t block = (int64_t)number * QUERN_QUANTIZE_TILE_BLOCKS + lane / 4;
            row = across ? block / across : 0;
            column = (across ? block % across : 0) * MATRIX_BLOCK + lane % 4 * 8;
        }
    }

    /* Goes to the lane's next group. */
    __device__ __forceinline__ void next() {
        if (matrix.transposed) {
            row++;
            return;
        }
        column += 8 * MATRIX_BLOCK;
        while (column >= across * MATRIX_BLOCK && row < matrix.rows) {
            column -= across * MATRIX_BLOCK;
            row++;
        }
    }

    /* Elements of the group that exist, or less than 1. */
    __device__ __forceinline__ int rest() const {
        return row < matrix.rows ? (int)min(matrix.columns - column, (int64_t)8) : 0;
    }
    __device__ __forceinline__ int64_t index() const { return row * matrix.columns + column; }
    __device__ __forceinline__ int64_t row_block() const { return row * across + column / MATRIX_BLOCK; }
};

/* ---- loads ---- */

/* kept: what is read again soon. */
template <class In>
static __device__ __forceinline__ void load_group(const matrix_walk &at, bool kept, share<In, 1> *group) {
    const char *from = (const char *)at.matrix.input + at.index() * In::bytes;
    const int rest = at.rest();
    const bool by_vectors = rest == 8 && (uintptr_t)from % share<In, 1>::vector_bytes == 0;
    if (kept && by_vectors) {
#pragma unroll
        for (int word = 0; word < share<In, 1>::words; word += share<In, 1>::vector_words) {
            load_vector<share<In, 1>::vector_bytes>(from + 4 * word, group->word + word);
        }
    } else {
        group->load(from, 0, (uint32_t)max(rest, 0), by_vectors);
    }
}

/* ---- scales of columns ---- */

/* The factors of the lane's eight columns, and the scales of the tile's. */
template <class In, class Out> static __device__ __forceinline__ void find_columns(matrix_walk at, float *factor) {
    constexpr int groups = LOADED_WORDS / share<In, 1>::words;
    const int64_t column = at.column, across = (at.matrix.rows + MATRIX_BLOCK - 1) / MATRIX_BLOCK;
    uint8_t *scale = at.matrix.transposed_block_scales + column * across + at.row / MATRIX_BLOCK;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        factor[i] = 0.0f;
    }
#pragma unroll 1
    for (int i = 0; i < LANE_GROUPS; i += groups) {
        share<In, 1> group[groups];
#pragma unroll
        for (int k = 0; k < groups; k++, at.next()) {
            load_group<In>(at, true, &group[k]);
        }
#pragma unroll
        for (int k = 0; k < groups; k++) {
            float x[8];
            packing<In, 8>::widen(group[k].word, x);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                factor[j] = fmaxf(factor[j], fabsf(x[j]));
            }
        }
    }
#pragma unroll
    for (int j = 0; j < 8; j++) {
        const uint32_t found = scale_of_lanes<Out>(factor[j], 8, 16);
        if (threadIdx.x % 32 < 8 && column + j < at.matrix.columns) {
            scale[j * across] = (uint8_t)found;
        }
        factor[j] = quern_quantize_block_factor(found);
    }
}

/* ---- codes ---- */

/* Stores the lane's 8 x 8 codes. */
template <class Out>
static __device__ __forceinline__ void store_columns(const matrix_walk &first, const code_words &codes) {
    const quern_quantize_matrix &matrix = first.matrix;
    const int64_t rest = matrix.rows - first.row;
    uint32_t column[16];
    codes.take_columns(column);
    char *to = (char *)matrix.transposed + first.column * matrix.rows + first.row;
    const uint32_t count = (uint32_t)min(max(rest, (int64_t)0), (int64_t)8);
#pragma unroll
    for (int i = 0; i < 8; i++, to += matrix.rows) {
        share<Out, 1> part = {{column[2 * i], column[2 * i + 1]}};
        if (first.column + i < matrix.columns) {
            part.store(to, 0, count, count == 8 && (uintptr_t)to % share<Out, 1>::vector_bytes == 0);
        }
    }
}

/* ---- a tile ---- */

template <class In, class Out> struct matrix_caster {
    static constexpr int groups = LOADED_WORDS / share<In, 1>::words;
    bool in_blocks, is_stochastic;
    float scale; /* of the tensor */
    float factor[8]; /* of the columns of blocks */
    matrix_random random;
    code_words codes;
    uint4 (*loaded)[32]; /* words of groups until they are cast */

    /* Eight values times their factors. */
    __device__ __forceinline__ void code(float *x, bool is_normal, const uint32_t *bits, uint32_t *word) const {
        if (is_stochastic) {
            code_eight<Out, true>(x, is_normal, bits, word);
        } else {
            code_eight<Out, false>(x, is_normal, nullptr, word);
        }
    }

    /* The codes of the row; in blocks also stores the scale of the block. */
    __device__ __forceinline__ void cast_row(const matrix_walk &at, const float *x, const magnitudes &all, const uint32_t *bits,
                                             uint32_t *word) const {
        float by = scale, scaled[8];
        if (in_blocks) {
            const uint32_t found = scale_of_lanes<Out>(fmaxf(all.largest, 0.0f), 1, 2);
            if (threadIdx.x % 4 == 0 && at.rest() > 0) {
                at.matrix.block_scales[at.row_block()] = (uint8_t)found;
            }
            by = quern_quantize_block_factor(found);
        }
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            set_pair(scaled, i, multiply(pair_of(x, i), twice(by)));
        }
        code(scaled, all.template become_normal<Out>(by), bits, word);
    }

    __device__ __forceinline__ void cast_columns(const float *x, const uint32_t *bits, uint32_t *word) const {
        float scaled[8];
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            set_pair(scaled, i, multiply(pair_of(x, i), pair_of(factor, i)));
        }
        code(scaled, magnitudes(scaled).template are_normal<Out>(), bits, word);
    }

    /* Returns the largest magnitude. */
    __device__ __forceinline__ float cast(const matrix_walk &at, const uint32_t *input, int number) const {
        const quern_quantize_matrix &matrix = at.matrix;
        float x[8];
        uint32_t bits[8], word[2];
        packing<In, 8>::widen(input, x);
        const magnitudes all(x);
        if (is_stochastic) {
            random.of((uint64_t)at.index(), bits);
        }
        if (matrix.output || !in_blocks) {
            cast_row(at, x, all, bits, word);
        }
        if (matrix.output) {
            share<Out, 1> part = {{word[0], word[1]}};
            char *to = (char *)matrix.output + at.index();
            const int rest = at.rest();
            part.store(to, 0, (uint32_t)max(rest, 0), rest == 8 && (uintptr_t)to % share<Out, 1>::vector_bytes == 0);
        }
        if (matrix.transposed) {
            if (in_blocks) {
                cast_columns(x, bits, word);
            }
            codes.keep(number, word);
        }
        return all.largest;
    }

    /* The loads of several groups are issued together; in shared memory they wait for their turns. */
    __device__ __forceinline__ void load_groups(matrix_walk *at) const {
        share<In, 1> group[groups];
#pragma unroll
        for (int k = 0; k < groups; k++, at->next()) {
            load_group<In>(*at, false, &group[k]);
        }
#pragma unroll
        for (int i = 0; i < LOADED_WORDS; i += 4) {
            const uint32_t *word = group[i / share<In, 1>::words].word + i % share<In, 1>::words;
            loaded[i / 4][threadIdx.x % 32] = make_uint4(word[0], word[1], word[2], word[3]);
        }
    }

    __device__ __forceinline__ void take_group(int number, uint32_t *word) const {
#pragma unroll
        for (int i = 0; i < share<In, 1>::words; i += 4) {
            const uint4 four = loaded[(number * share<In, 1>::words + i) / 4][threadIdx.x % 32];
            word[i] = four.x, word[i + 1] = four.y, word[i + 2] = four.z, word[i + 3] = four.w;
        }
    }

    /* Returns the larger of `largest` and the tile's magnitudes. */
    __device__ __forceinline__ float cast_tile(matrix_walk at, float largest) {
        const matrix_walk first = at;
        const bool reads_twice = in_blocks && at.matrix.transposed;
        if (reads_twice) {
            find_columns<In, Out>(at, factor);
        }
#pragma unroll 1
        for (int i = 0; i < LANE_GROUPS; i += groups) {
            matrix_walk of = at;
            load_groups(&at);
#pragma unroll 1
            for (int k = 0; k < groups; k++, of.next()) {
                uint32_t input[share<In, 1>::words];
                take_group(k, input);
                largest = fmaxf(largest, cast(of, input, i + k));
            }
        }
        if (first.matrix.transposed) {
            store_columns<Out>(first, codes);
        }
        return largest;
    }
};

template <class In, class Out> static __device__ __forceinline__ void quantize_matrix(const quern_quantize_batch &batch) {
    __shared__ uint4 loaded[MATRIX_WARPS][LOADED_WORDS / 4][32];
    __shared__ uint2 codes[MATRIX_WARPS][LANE_GROUPS][32];
    tensor_share share = {};
    if (is_noop(batch)) {
        return;
    }
    matrix_caster<In, Out> caster;
    caster.in_blocks = batch.in_blocks != 0, caster.is_stochastic = batch.stochastic != 0;
    caster.random.offset = batch.offset_pointer ? (uint32_t)*batch.offset_pointer : batch.offset;
    caster.random.seed = batch.seed, caster.codes.kept = codes[threadIdx.x / 32];
    caster.loaded = loaded[threadIdx.x / 32];
#pragma unroll 1
    for (int64_t turn = first_tile_of_warp(); turn < batch.tile_count; turn += warps_of_grid()) {
        const int64_t number = batch.tile_count - 1 - turn;
        const quern_adam_tile at =
            batch.tiles ? batch.tiles[number] : find_tile(batch.first_tile, batch.tensor_count, (uint32_t)number);
        const quern_quantize_matrix matrix = batch.tiles ? batch.matrices_of_plan[at.tensor] : batch.matrices[at.tensor];
        const uint32_t place = batch.first_place + at.tensor;
        if (batch.history) {
            share.begin(batch, place, [&] { return (uint32_t)quern_quantize_matrix_tiles(&matrix); });
        }
        caster.random.place = place;
        caster.scale = batch.in_blocks ? 1.0f : scale_of_tensor<Out>(batch, place, at.number == 0);
        if (!caster.is_stochastic && is_whole<In, Out>(matrix, at.number, caster.in_blocks)) {
            share.largest = cast_whole<In, Out>(matrix, at.number, caster.in_blocks, caster.scale, caster.codes, share.largest);
        } else {
            share.largest = caster.cast_tile(matrix_walk(matrix, at.number), share.largest);
        }
    }
    share.end(batch);
}

#endif
