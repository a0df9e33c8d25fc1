/*
 * The cast of tiles of a matrix to 8 bits, on a CPU: to its rows, to the transposed matrix or to both, with a scale of the tensor
 * or one for each block of 32 elements of a row or a column.
 *
 * A tile is read once from memory; its blocks of columns read it twice more from the cache.
 * Rendered by gen/ from templates/quantize/quantize_matrix.c.j2; do not edit.
 */
#include "kernels/cpu/quantize_panel.h"
#include "kernels/cpu/quantize_vectors.h"
#include "kernels/kernel.h"
#include "kernels/quantize_scale.h"

static inline float pair_largest(struct vector_pair x) { return vector_reduce_max(vector_max(x.first, x.second)); }

/* The rows of a panel whose random bits are there at a time, and these bits; NULL rounds to nearest. */
static inline const uint16_t *panel_bits(const struct panel_random *random, int row) {
    return random ? &random->bits[row][random->begin[row]] : NULL;
}
/* A pair of a row that has so many elements left; those behind its end are zeros. */
static inline struct vector_pair load_f32_to_e4m3(const float *at, int rest) {
    float padded[PAIR] = {0};
    if (rest >= PAIR) return ordered_load_f32(at);
    if (rest > 0) memcpy(padded, at, (size_t)rest * sizeof *at);
    return ordered_load_f32(padded);
}

/* Stores the codes of a pair of which so many elements exist. */
static inline void code_f32_to_e4m3(uint8_t *to, int rest, struct vector_pair x, const uint16_t *random) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E4M3));
    uint8_t spare[PAIR], *at = rest >= PAIR ? to : spare;
    if (random)
        ordered_scale_e4m3(at, pair_hold(x, largest), ONE, random, 0);
    else
        ordered_cast_e4m3(at, x);
    if (rest < PAIR) memcpy(to, spare, (size_t)rest);
}

/* A row whose factor is the tensor's. */
static void row_of_tensor_f32_to_e4m3(uint8_t *to, const float *at, int count, float scale, const uint16_t *random) {
    const vector factor = vector_broadcast(scale);
    for (int i = 0; i < count; i += PAIR)
        code_f32_to_e4m3(to + i, count - i, pair_multiply(load_f32_to_e4m3(at + i, count - i), factor), random ? random + i : NULL);
}

/* A row that begins with a block. */
static void row_of_blocks_f32_to_e4m3(uint8_t *to, uint8_t *scales, const float *at, int count,
                                    const uint16_t *random) {
    for (int block = 0; block < count; block += BLOCK) {
        struct vector_pair x[BLOCK / PAIR], largest = {vector_broadcast(0), vector_broadcast(0)};
        for (int k = 0; k < BLOCK / PAIR; k++) {
            x[k] = load_f32_to_e4m3(at + block + k * PAIR, count - block - k * PAIR);
            largest = pair_raise(largest, x[k]);
        }
        const uint32_t scale = quern_quantize_block_scale(pair_largest(largest), QUERN_E4M3);
        const vector factor = vector_broadcast(quern_quantize_block_factor(scale));
        scales[block / BLOCK] = (uint8_t)scale;
        for (int i = block, k = 0; k < BLOCK / PAIR && i < count; k++, i += PAIR)
            code_f32_to_e4m3(to + i, count - i, pair_multiply(x[k], factor), random ? random + i : NULL);
    }
}

/* The blocks of columns of rows [first, first + rows) of a panel. */
static void columns_of_blocks_f32_to_e4m3(const struct quern_quantize_matrix *matrix, const struct panel *panel, int first, int rows,
                                        struct panel_codes *codes, const struct panel_random *random) {
    const int64_t across = quern_quantize_parts(matrix->rows, BLOCK), row = panel->row + first;
    const float *at = (const float *)matrix->input + row * matrix->columns + panel->column;
    uint8_t *scales = matrix->transposed_block_scales + panel->column * across + row / BLOCK;
    for (int i = 0; i < panel->columns; i += PAIR) {
        struct vector_pair largest = {vector_broadcast(0), vector_broadcast(0)};
        float amax[PAIR], factor[PAIR];
        for (int k = 0; k < rows; k++)
            largest = pair_raise(largest, load_f32_to_e4m3(at + k * matrix->columns + i, panel->columns - i));
        pair_store_f32(amax, largest);
        for (int k = 0; k < PAIR; k++) {
            const uint32_t scale = quern_quantize_block_scale(amax[k], QUERN_E4M3);
            if (i + k < panel->columns) scales[(i + k) * across] = (uint8_t)scale;
            factor[k] = quern_quantize_block_factor(scale);
        }
        const struct vector_pair by = pair_load_f32(factor);
        for (int k = 0; k < rows; k++) {
            const struct vector_pair x = load_f32_to_e4m3(at + k * matrix->columns + i, panel->columns - i);
            const uint16_t *bits = panel_bits(random, k);
            code_f32_to_e4m3(&codes->of[first + k][i], PAIR, (struct vector_pair){x.first * by.first, x.second * by.second},
                           bits ? bits + i : NULL);
        }
    }
}

/* A row of a panel. */
static void row_f32_to_e4m3(const struct quern_quantize_matrix_cast *cast, const struct panel *panel, int number, uint8_t *codes,
                          const uint16_t *random) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    const int64_t row = panel->row + number, index = row * matrix->columns + panel->column;
    const float *at = (const float *)matrix->input + index;
    uint8_t *output = matrix->output ? (uint8_t *)matrix->output + index : NULL;
    if (cast->in_blocks && output) {
        const int64_t block = row * quern_quantize_parts(matrix->columns, BLOCK) + panel->column / BLOCK;
        row_of_blocks_f32_to_e4m3(output, matrix->block_scales + block, at, panel->columns, random);
    } else if (!cast->in_blocks) {
        row_of_tensor_f32_to_e4m3(codes ? codes : output, at, panel->columns, cast->scale, random);
        if (codes && output) memcpy(output, codes, (size_t)panel->columns);
    }
}

static void panel_f32_to_e4m3(const struct quern_quantize_matrix_cast *cast, const struct panel *panel) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    struct panel_codes codes;
    struct panel_random drawn, *random = cast->stochastic ? &drawn : NULL;
    if (random) quern_philox_open(&random->philox, cast->seed, cast->offset, cast->place);
    for (int first = 0; first < panel->rows; first += BLOCK) {
        const int rows = panel->rows - first < BLOCK ? panel->rows - first : BLOCK;
        for (int k = 0; random && k < rows; k++)
            panel_draw(random, k, cast->begin + (panel->row + first + k) * matrix->columns + panel->column, panel->columns);
        for (int k = 0; k < rows; k++)
            row_f32_to_e4m3(cast, panel, first + k, matrix->transposed ? codes.of[first + k] : NULL, panel_bits(random, k));
        if (cast->in_blocks && matrix->transposed)
            columns_of_blocks_f32_to_e4m3(matrix, panel, first, rows, &codes, random);
    }
    if (matrix->transposed) panel_store(matrix, panel, &codes);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_matrix_f32_e4m3);

void QUERN_KERNEL_NAME(quantize_matrix_f32_e4m3)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_matrix_cast *cast = problem;
    for (int64_t tile = first; tile < end; tile++) {
        struct panel panel = panel_of_tile(&cast->matrix, tile);
        for (const int64_t until = panel_end(&cast->matrix, &panel); panel.column < until; panel.column += PANEL_COLUMNS) {
            panel.columns = (int)(until - panel.column < PANEL_COLUMNS ? until - panel.column : PANEL_COLUMNS);
            panel_f32_to_e4m3(cast, &panel);
        }
    }
}
/* A pair of a row that has so many elements left; those behind its end are zeros. */
static inline struct vector_pair load_f32_to_e5m2(const float *at, int rest) {
    float padded[PAIR] = {0};
    if (rest >= PAIR) return ordered_load_f32(at);
    if (rest > 0) memcpy(padded, at, (size_t)rest * sizeof *at);
    return ordered_load_f32(padded);
}

/* Stores the codes of a pair of which so many elements exist. */
static inline void code_f32_to_e5m2(uint8_t *to, int rest, struct vector_pair x, const uint16_t *random) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E5M2));
    uint8_t spare[PAIR], *at = rest >= PAIR ? to : spare;
    if (random)
        ordered_scale_e5m2(at, pair_hold(x, largest), ONE, random, 0);
    else
        ordered_cast_e5m2(at, x);
    if (rest < PAIR) memcpy(to, spare, (size_t)rest);
}

/* A row whose factor is the tensor's. */
static void row_of_tensor_f32_to_e5m2(uint8_t *to, const float *at, int count, float scale, const uint16_t *random) {
    const vector factor = vector_broadcast(scale);
    for (int i = 0; i < count; i += PAIR)
        code_f32_to_e5m2(to + i, count - i, pair_multiply(load_f32_to_e5m2(at + i, count - i), factor), random ? random + i : NULL);
}

/* A row that begins with a block. */
static void row_of_blocks_f32_to_e5m2(uint8_t *to, uint8_t *scales, const float *at, int count,
                                    const uint16_t *random) {
    for (int block = 0; block < count; block += BLOCK) {
        struct vector_pair x[BLOCK / PAIR], largest = {vector_broadcast(0), vector_broadcast(0)};
        for (int k = 0; k < BLOCK / PAIR; k++) {
            x[k] = load_f32_to_e5m2(at + block + k * PAIR, count - block - k * PAIR);
            largest = pair_raise(largest, x[k]);
        }
        const uint32_t scale = quern_quantize_block_scale(pair_largest(largest), QUERN_E5M2);
        const vector factor = vector_broadcast(quern_quantize_block_factor(scale));
        scales[block / BLOCK] = (uint8_t)scale;
        for (int i = block, k = 0; k < BLOCK / PAIR && i < count; k++, i += PAIR)
            code_f32_to_e5m2(to + i, count - i, pair_multiply(x[k], factor), random ? random + i : NULL);
    }
}

/* The blocks of columns of rows [first, first + rows) of a panel. */
static void columns_of_blocks_f32_to_e5m2(const struct quern_quantize_matrix *matrix, const struct panel *panel, int first, int rows,
                                        struct panel_codes *codes, const struct panel_random *random) {
    const int64_t across = quern_quantize_parts(matrix->rows, BLOCK), row = panel->row + first;
    const float *at = (const float *)matrix->input + row * matrix->columns + panel->column;
    uint8_t *scales = matrix->transposed_block_scales + panel->column * across + row / BLOCK;
    for (int i = 0; i < panel->columns; i += PAIR) {
        struct vector_pair largest = {vector_broadcast(0), vector_broadcast(0)};
        float amax[PAIR], factor[PAIR];
        for (int k = 0; k < rows; k++)
            largest = pair_raise(largest, load_f32_to_e5m2(at + k * matrix->columns + i, panel->columns - i));
        pair_store_f32(amax, largest);
        for (int k = 0; k < PAIR; k++) {
            const uint32_t scale = quern_quantize_block_scale(amax[k], QUERN_E5M2);
            if (i + k < panel->columns) scales[(i + k) * across] = (uint8_t)scale;
            factor[k] = quern_quantize_block_factor(scale);
        }
        const struct vector_pair by = pair_load_f32(factor);
        for (int k = 0; k < rows; k++) {
            const struct vector_pair x = load_f32_to_e5m2(at + k * matrix->columns + i, panel->columns - i);
            const uint16_t *bits = panel_bits(random, k);
            code_f32_to_e5m2(&codes->of[first + k][i], PAIR, (struct vector_pair){x.first * by.first, x.second * by.second},
                           bits ? bits + i : NULL);
        }
    }
}

/* A row of a panel. */
static void row_f32_to_e5m2(const struct quern_quantize_matrix_cast *cast, const struct panel *panel, int number, uint8_t *codes,
                          const uint16_t *random) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    const int64_t row = panel->row + number, index = row * matrix->columns + panel->column;
    const float *at = (const float *)matrix->input + index;
    uint8_t *output = matrix->output ? (uint8_t *)matrix->output + index : NULL;
    if (cast->in_blocks && output) {
        const int64_t block = row * quern_quantize_parts(matrix->columns, BLOCK) + panel->column / BLOCK;
        row_of_blocks_f32_to_e5m2(output, matrix->block_scales + block, at, panel->columns, random);
    } else if (!cast->in_blocks) {
        row_of_tensor_f32_to_e5m2(codes ? codes : output, at, panel->columns, cast->scale, random);
        if (codes && output) memcpy(output, codes, (size_t)panel->columns);
    }
}

static void panel_f32_to_e5m2(const struct quern_quantize_matrix_cast *cast, const struct panel *panel) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    struct panel_codes codes;
    struct panel_random drawn, *random = cast->stochastic ? &drawn : NULL;
    if (random) quern_philox_open(&random->philox, cast->seed, cast->offset, cast->place);
    for (int first = 0; first < panel->rows; first += BLOCK) {
        const int rows = panel->rows - first < BLOCK ? panel->rows - first : BLOCK;
        for (int k = 0; random && k < rows; k++)
            panel_draw(random, k, cast->begin + (panel->row + first + k) * matrix->columns + panel->column, panel->columns);
        for (int k = 0; k < rows; k++)
            row_f32_to_e5m2(cast, panel, first + k, matrix->transposed ? codes.of[first + k] : NULL, panel_bits(random, k));
        if (cast->in_blocks && matrix->transposed)
            columns_of_blocks_f32_to_e5m2(matrix, panel, first, rows, &codes, random);
    }
    if (matrix->transposed) panel_store(matrix, panel, &codes);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_matrix_f32_e5m2);

void QUERN_KERNEL_NAME(quantize_matrix_f32_e5m2)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_matrix_cast *cast = problem;
    for (int64_t tile = first; tile < end; tile++) {
        struct panel panel = panel_of_tile(&cast->matrix, tile);
        for (const int64_t until = panel_end(&cast->matrix, &panel); panel.column < until; panel.column += PANEL_COLUMNS) {
            panel.columns = (int)(until - panel.column < PANEL_COLUMNS ? until - panel.column : PANEL_COLUMNS);
            panel_f32_to_e5m2(cast, &panel);
        }
    }
}
/* A pair of a row that has so many elements left; those behind its end are zeros. */
static inline struct vector_pair load_f16_to_e4m3(const uint16_t *at, int rest) {
    uint16_t padded[PAIR] = {0};
    if (rest >= PAIR) return ordered_load_f16(at);
    if (rest > 0) memcpy(padded, at, (size_t)rest * sizeof *at);
    return ordered_load_f16(padded);
}

/* Stores the codes of a pair of which so many elements exist. */
static inline void code_f16_to_e4m3(uint8_t *to, int rest, struct vector_pair x, const uint16_t *random) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E4M3));
    uint8_t spare[PAIR], *at = rest >= PAIR ? to : spare;
    if (random)
        ordered_scale_e4m3(at, pair_hold(x, largest), ONE, random, 0);
    else
        ordered_cast_e4m3(at, x);
    if (rest < PAIR) memcpy(to, spare, (size_t)rest);
}

/* A row whose factor is the tensor's. */
static void row_of_tensor_f16_to_e4m3(uint8_t *to, const uint16_t *at, int count, float scale, const uint16_t *random) {
    const vector factor = vector_broadcast(scale);
    for (int i = 0; i < count; i += PAIR)
        code_f16_to_e4m3(to + i, count - i, pair_multiply(load_f16_to_e4m3(at + i, count - i), factor), random ? random + i : NULL);
}

/* A row that begins with a block. */
static void row_of_blocks_f16_to_e4m3(uint8_t *to, uint8_t *scales, const uint16_t *at, int count,
                                    const uint16_t *random) {
    for (int block = 0; block < count; block += BLOCK) {
        struct vector_pair x[BLOCK / PAIR], largest = {vector_broadcast(0), vector_broadcast(0)};
        for (int k = 0; k < BLOCK / PAIR; k++) {
            x[k] = load_f16_to_e4m3(at + block + k * PAIR, count - block - k * PAIR);
            largest = pair_raise(largest, x[k]);
        }
        const uint32_t scale = quern_quantize_block_scale(pair_largest(largest), QUERN_E4M3);
        const vector factor = vector_broadcast(quern_quantize_block_factor(scale));
        scales[block / BLOCK] = (uint8_t)scale;
        for (int i = block, k = 0; k < BLOCK / PAIR && i < count; k++, i += PAIR)
            code_f16_to_e4m3(to + i, count - i, pair_multiply(x[k], factor), random ? random + i : NULL);
    }
}

/* The blocks of columns of rows [first, first + rows) of a panel. */
static void columns_of_blocks_f16_to_e4m3(const struct quern_quantize_matrix *matrix, const struct panel *panel, int first, int rows,
                                        struct panel_codes *codes, const struct panel_random *random) {
    const int64_t across = quern_quantize_parts(matrix->rows, BLOCK), row = panel->row + first;
    const uint16_t *at = (const uint16_t *)matrix->input + row * matrix->columns + panel->column;
    uint8_t *scales = matrix->transposed_block_scales + panel->column * across + row / BLOCK;
    for (int i = 0; i < panel->columns; i += PAIR) {
        struct vector_pair largest = {vector_broadcast(0), vector_broadcast(0)};
        float amax[PAIR], factor[PAIR];
        for (int k = 0; k < rows; k++)
            largest = pair_raise(largest, load_f16_to_e4m3(at + k * matrix->columns + i, panel->columns - i));
        pair_store_f32(amax, largest);
        for (int k = 0; k < PAIR; k++) {
            const uint32_t scale = quern_quantize_block_scale(amax[k], QUERN_E4M3);
            if (i + k < panel->columns) scales[(i + k) * across] = (uint8_t)scale;
            factor[k] = quern_quantize_block_factor(scale);
        }
        const struct vector_pair by = pair_load_f32(factor);
        for (int k = 0; k < rows; k++) {
            const struct vector_pair x = load_f16_to_e4m3(at + k * matrix->columns + i, panel->columns - i);
            const uint16_t *bits = panel_bits(random, k);
            code_f16_to_e4m3(&codes->of[first + k][i], PAIR, (struct vector_pair){x.first * by.first, x.second * by.second},
                           bits ? bits + i : NULL);
        }
    }
}

/* A row of a panel. */
static void row_f16_to_e4m3(const struct quern_quantize_matrix_cast *cast, const struct panel *panel, int number, uint8_t *codes,
                          const uint16_t *random) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    const int64_t row = panel->row + number, index = row * matrix->columns + panel->column;
    const uint16_t *at = (const uint16_t *)matrix->input + index;
    uint8_t *output = matrix->output ? (uint8_t *)matrix->output + index : NULL;
    if (cast->in_blocks && output) {
        const int64_t block = row * quern_quantize_parts(matrix->columns, BLOCK) + panel->column / BLOCK;
        row_of_blocks_f16_to_e4m3(output, matrix->block_scales + block, at, panel->columns, random);
    } else if (!cast->in_blocks) {
        row_of_tensor_f16_to_e4m3(codes ? codes : output, at, panel->columns, cast->scale, random);
        if (codes && output) memcpy(output, codes, (size_t)panel->columns);
    }
}

static void panel_f16_to_e4m3(const struct quern_quantize_matrix_cast *cast, const struct panel *panel) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    struct panel_codes codes;
    struct panel_random drawn, *random = cast->stochastic ? &drawn : NULL;
    if (random) quern_philox_open(&random->philox, cast->seed, cast->offset, cast->place);
    for (int first = 0; first < panel->rows; first += BLOCK) {
        const int rows = panel->rows - first < BLOCK ? panel->rows - first : BLOCK;
        for (int k = 0; random && k < rows; k++)
            panel_draw(random, k, cast->begin + (panel->row + first + k) * matrix->columns + panel->column, panel->columns);
        for (int k = 0; k < rows; k++)
            row_f16_to_e4m3(cast, panel, first + k, matrix->transposed ? codes.of[first + k] : NULL, panel_bits(random, k));
        if (cast->in_blocks && matrix->transposed)
            columns_of_blocks_f16_to_e4m3(matrix, panel, first, rows, &codes, random);
    }
    if (matrix->transposed) panel_store(matrix, panel, &codes);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_matrix_f16_e4m3);

void QUERN_KERNEL_NAME(quantize_matrix_f16_e4m3)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_matrix_cast *cast = problem;
    for (int64_t tile = first; tile < end; tile++) {
        struct panel panel = panel_of_tile(&cast->matrix, tile);
        for (const int64_t until = panel_end(&cast->matrix, &panel); panel.column < until; panel.column += PANEL_COLUMNS) {
            panel.columns = (int)(until - panel.column < PANEL_COLUMNS ? until - panel.column : PANEL_COLUMNS);
            panel_f16_to_e4m3(cast, &panel);
        }
    }
}
/* A pair of a row that has so many elements left; those behind its end are zeros. */
static inline struct vector_pair load_f16_to_e5m2(const uint16_t *at, int rest) {
    uint16_t padded[PAIR] = {0};
    if (rest >= PAIR) return ordered_load_f16(at);
    if (rest > 0) memcpy(padded, at, (size_t)rest * sizeof *at);
    return ordered_load_f16(padded);
}

/* Stores the codes of a pair of which so many elements exist. */
static inline void code_f16_to_e5m2(uint8_t *to, int rest, struct vector_pair x, const uint16_t *random) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E5M2));
    uint8_t spare[PAIR], *at = rest >= PAIR ? to : spare;
    if (random)
        ordered_scale_e5m2(at, pair_hold(x, largest), ONE, random, 0);
    else
        ordered_cast_e5m2(at, x);
    if (rest < PAIR) memcpy(to, spare, (size_t)rest);
}

/* A row whose factor is the tensor's. */
static void row_of_tensor_f16_to_e5m2(uint8_t *to, const uint16_t *at, int count, float scale, const uint16_t *random) {
    const vector factor = vector_broadcast(scale);
    for (int i = 0; i < count; i += PAIR)
        code_f16_to_e5m2(to + i, count - i, pair_multiply(load_f16_to_e5m2(at + i, count - i), factor), random ? random + i : NULL);
}

/* A row that begins with a block. */
static void row_of_blocks_f16_to_e5m2(uint8_t *to, uint8_t *scales, const uint16_t *at, int count,
                                    const uint16_t *random) {
    for (int block = 0; block < count; block += BLOCK) {
        struct vector_pair x[BLOCK / PAIR], largest = {vector_broadcast(0), vector_broadcast(0)};
        for (int k = 0; k < BLOCK / PAIR; k++) {
            x[k] = load_f16_to_e5m2(at + block + k * PAIR, count - block - k * PAIR);
            largest = pair_raise(largest, x[k]);
        }
        const uint32_t scale = quern_quantize_block_scale(pair_largest(largest), QUERN_E5M2);
        const vector factor = vector_broadcast(quern_quantize_block_factor(scale));
        scales[block / BLOCK] = (uint8_t)scale;
        for (int i = block, k = 0; k < BLOCK / PAIR && i < count; k++, i += PAIR)
            code_f16_to_e5m2(to + i, count - i, pair_multiply(x[k], factor), random ? random + i : NULL);
    }
}

/* The blocks of columns of rows [first, first + rows) of a panel. */
static void columns_of_blocks_f16_to_e5m2(const struct quern_quantize_matrix *matrix, const struct panel *panel, int first, int rows,
                                        struct panel_codes *codes, const struct panel_random *random) {
    const int64_t across = quern_quantize_parts(matrix->rows, BLOCK), row = panel->row + first;
    const uint16_t *at = (const uint16_t *)matrix->input + row * matrix->columns + panel->column;
    uint8_t *scales = matrix->transposed_block_scales + panel->column * across + row / BLOCK;
    for (int i = 0; i < panel->columns; i += PAIR) {
        struct vector_pair largest = {vector_broadcast(0), vector_broadcast(0)};
        float amax[PAIR], factor[PAIR];
        for (int k = 0; k < rows; k++)
            largest = pair_raise(largest, load_f16_to_e5m2(at + k * matrix->columns + i, panel->columns - i));
        pair_store_f32(amax, largest);
        for (int k = 0; k < PAIR; k++) {
            const uint32_t scale = quern_quantize_block_scale(amax[k], QUERN_E5M2);
            if (i + k < panel->columns) scales[(i + k) * across] = (uint8_t)scale;
            factor[k] = quern_quantize_block_factor(scale);
        }
        const struct vector_pair by = pair_load_f32(factor);
        for (int k = 0; k < rows; k++) {
            const struct vector_pair x = load_f16_to_e5m2(at + k * matrix->columns + i, panel->columns - i);
            const uint16_t *bits = panel_bits(random, k);
            code_f16_to_e5m2(&codes->of[first + k][i], PAIR, (struct vector_pair){x.first * by.first, x.second * by.second},
                           bits ? bits + i : NULL);
        }
    }
}

/* A row of a panel. */
static void row_f16_to_e5m2(const struct quern_quantize_matrix_cast *cast, const struct panel *panel, int number, uint8_t *codes,
                          const uint16_t *random) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    const int64_t row = panel->row + number, index = row * matrix->columns + panel->column;
    const uint16_t *at = (const uint16_t *)matrix->input + index;
    uint8_t *output = matrix->output ? (uint8_t *)matrix->output + index : NULL;
    if (cast->in_blocks && output) {
        const int64_t block = row * quern_quantize_parts(matrix->columns, BLOCK) + panel->column / BLOCK;
        row_of_blocks_f16_to_e5m2(output, matrix->block_scales + block, at, panel->columns, random);
    } else if (!cast->in_blocks) {
        row_of_tensor_f16_to_e5m2(codes ? codes : output, at, panel->columns, cast->scale, random);
        if (codes && output) memcpy(output, codes, (size_t)panel->columns);
    }
}

static void panel_f16_to_e5m2(const struct quern_quantize_matrix_cast *cast, const struct panel *panel) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    struct panel_codes codes;
    struct panel_random drawn, *random = cast->stochastic ? &drawn : NULL;
    if (random) quern_philox_open(&random->philox, cast->seed, cast->offset, cast->place);
    for (int first = 0; first < panel->rows; first += BLOCK) {
        const int rows = panel->rows - first < BLOCK ? panel->rows - first : BLOCK;
        for (int k = 0; random && k < rows; k++)
            panel_draw(random, k, cast->begin + (panel->row + first + k) * matrix->columns + panel->column, panel->columns);
        for (int k = 0; k < rows; k++)
            row_f16_to_e5m2(cast, panel, first + k, matrix->transposed ? codes.of[first + k] : NULL, panel_bits(random, k));
        if (cast->in_blocks && matrix->transposed)
            columns_of_blocks_f16_to_e5m2(matrix, panel, first, rows, &codes, random);
    }
    if (matrix->transposed) panel_store(matrix, panel, &codes);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_matrix_f16_e5m2);

void QUERN_KERNEL_NAME(quantize_matrix_f16_e5m2)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_matrix_cast *cast = problem;
    for (int64_t tile = first; tile < end; tile++) {
        struct panel panel = panel_of_tile(&cast->matrix, tile);
        for (const int64_t until = panel_end(&cast->matrix, &panel); panel.column < until; panel.column += PANEL_COLUMNS) {
            panel.columns = (int)(until - panel.column < PANEL_COLUMNS ? until - panel.column : PANEL_COLUMNS);
            panel_f16_to_e5m2(cast, &panel);
        }
    }
}
/* A pair of a row that has so many elements left; those behind its end are zeros. */
static inline struct vector_pair load_bf16_to_e4m3(const uint16_t *at, int rest) {
    uint16_t padded[PAIR] = {0};
    if (rest >= PAIR) return ordered_load_bf16(at);
    if (rest > 0) memcpy(padded, at, (size_t)rest * sizeof *at);
    return ordered_load_bf16(padded);
}

/* Stores the codes of a pair of which so many elements exist. */
static inline void code_bf16_to_e4m3(uint8_t *to, int rest, struct vector_pair x, const uint16_t *random) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E4M3));
    uint8_t spare[PAIR], *at = rest >= PAIR ? to : spare;
    if (random)
        ordered_scale_e4m3(at, pair_hold(x, largest), ONE, random, 0);
    else
        ordered_cast_e4m3(at, x);
    if (rest < PAIR) memcpy(to, spare, (size_t)rest);
}

/* A row whose factor is the tensor's. */
static void row_of_tensor_bf16_to_e4m3(uint8_t *to, const uint16_t *at, int count, float scale, const uint16_t *random) {
    const vector factor = vector_broadcast(scale);
    for (int i = 0; i < count; i += PAIR)
        code_bf16_to_e4m3(to + i, count - i, pair_multiply(load_bf16_to_e4m3(at + i, count - i), factor), random ? random + i : NULL);
}

/* A row that begins with a block. */
static void row_of_blocks_bf16_to_e4m3(uint8_t *to, uint8_t *scales, const uint16_t *at, int count,
                                    const uint16_t *random) {
    for (int block = 0; block < count; block += BLOCK) {
        struct vector_pair x[BLOCK / PAIR], largest = {vector_broadcast(0), vector_broadcast(0)};
        for (int k = 0; k < BLOCK / PAIR; k++) {
            x[k] = load_bf16_to_e4m3(at + block + k * PAIR, count - block - k * PAIR);
            largest = pair_raise(largest, x[k]);
        }
        const uint32_t scale = quern_quantize_block_scale(pair_largest(largest), QUERN_E4M3);
        const vector factor = vector_broadcast(quern_quantize_block_factor(scale));
        scales[block / BLOCK] = (uint8_t)scale;
        for (int i = block, k = 0; k < BLOCK / PAIR && i < count; k++, i += PAIR)
            code_bf16_to_e4m3(to + i, count - i, pair_multiply(x[k], factor), random ? random + i : NULL);
    }
}

/* The blocks of columns of rows [first, first + rows) of a panel. */
static void columns_of_blocks_bf16_to_e4m3(const struct quern_quantize_matrix *matrix, const struct panel *panel, int first, int rows,
                                        struct panel_codes *codes, const struct panel_random *random) {
    const int64_t across = quern_quantize_parts(matrix->rows, BLOCK), row = panel->row + first;
    const uint16_t *at = (const uint16_t *)matrix->input + row * matrix->columns + panel->column;
    uint8_t *scales = matrix->transposed_block_scales + panel->column * across + row / BLOCK;
    for (int i = 0; i < panel->columns; i += PAIR) {
        struct vector_pair largest = {vector_broadcast(0), vector_broadcast(0)};
        float amax[PAIR], factor[PAIR];
        for (int k = 0; k < rows; k++)
            largest = pair_raise(largest, load_bf16_to_e4m3(at + k * matrix->columns + i, panel->columns - i));
        pair_store_f32(amax, largest);
        for (int k = 0; k < PAIR; k++) {
            const uint32_t scale = quern_quantize_block_scale(amax[k], QUERN_E4M3);
            if (i + k < panel->columns) scales[(i + k) * across] = (uint8_t)scale;
            factor[k] = quern_quantize_block_factor(scale);
        }
        const struct vector_pair by = pair_load_f32(factor);
        for (int k = 0; k < rows; k++) {
            const struct vector_pair x = load_bf16_to_e4m3(at + k * matrix->columns + i, panel->columns - i);
            const uint16_t *bits = panel_bits(random, k);
            code_bf16_to_e4m3(&codes->of[first + k][i], PAIR, (struct vector_pair){x.first * by.first, x.second * by.second},
                           bits ? bits + i : NULL);
        }
    }
}

/* A row of a panel. */
static void row_bf16_to_e4m3(const struct quern_quantize_matrix_cast *cast, const struct panel *panel, int number, uint8_t *codes,
                          const uint16_t *random) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    const int64_t row = panel->row + number, index = row * matrix->columns + panel->column;
    const uint16_t *at = (const uint16_t *)matrix->input + index;
    uint8_t *output = matrix->output ? (uint8_t *)matrix->output + index : NULL;
    if (cast->in_blocks && output) {
        const int64_t block = row * quern_quantize_parts(matrix->columns, BLOCK) + panel->column / BLOCK;
        row_of_blocks_bf16_to_e4m3(output, matrix->block_scales + block, at, panel->columns, random);
    } else if (!cast->in_blocks) {
        row_of_tensor_bf16_to_e4m3(codes ? codes : output, at, panel->columns, cast->scale, random);
        if (codes && output) memcpy(output, codes, (size_t)panel->columns);
    }
}

static void panel_bf16_to_e4m3(const struct quern_quantize_matrix_cast *cast, const struct panel *panel) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    struct panel_codes codes;
    struct panel_random drawn, *random = cast->stochastic ? &drawn : NULL;
    if (random) quern_philox_open(&random->philox, cast->seed, cast->offset, cast->place);
    for (int first = 0; first < panel->rows; first += BLOCK) {
        const int rows = panel->rows - first < BLOCK ? panel->rows - first : BLOCK;
        for (int k = 0; random && k < rows; k++)
            panel_draw(random, k, cast->begin + (panel->row + first + k) * matrix->columns + panel->column, panel->columns);
        for (int k = 0; k < rows; k++)
            row_bf16_to_e4m3(cast, panel, first + k, matrix->transposed ? codes.of[first + k] : NULL, panel_bits(random, k));
        if (cast->in_blocks && matrix->transposed)
            columns_of_blocks_bf16_to_e4m3(matrix, panel, first, rows, &codes, random);
    }
    if (matrix->transposed) panel_store(matrix, panel, &codes);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_matrix_bf16_e4m3);

void QUERN_KERNEL_NAME(quantize_matrix_bf16_e4m3)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_matrix_cast *cast = problem;
    for (int64_t tile = first; tile < end; tile++) {
        struct panel panel = panel_of_tile(&cast->matrix, tile);
        for (const int64_t until = panel_end(&cast->matrix, &panel); panel.column < until; panel.column += PANEL_COLUMNS) {
            panel.columns = (int)(until - panel.column < PANEL_COLUMNS ? until - panel.column : PANEL_COLUMNS);
            panel_bf16_to_e4m3(cast, &panel);
        }
    }
}
/* A pair of a row that has so many elements left; those behind its end are zeros. */
static inline struct vector_pair load_bf16_to_e5m2(const uint16_t *at, int rest) {
    uint16_t padded[PAIR] = {0};
    if (rest >= PAIR) return ordered_load_bf16(at);
    if (rest > 0) memcpy(padded, at, (size_t)rest * sizeof *at);
    return ordered_load_bf16(padded);
}

/* Stores the codes of a pair of which so many elements exist. */
static inline void code_bf16_to_e5m2(uint8_t *to, int rest, struct vector_pair x, const uint16_t *random) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E5M2));
    uint8_t spare[PAIR], *at = rest >= PAIR ? to : spare;
    if (random)
        ordered_scale_e5m2(at, pair_hold(x, largest), ONE, random, 0);
    else
        ordered_cast_e5m2(at, x);
    if (rest < PAIR) memcpy(to, spare, (size_t)rest);
}

/* A row whose factor is the tensor's. */
static void row_of_tensor_bf16_to_e5m2(uint8_t *to, const uint16_t *at, int count, float scale, const uint16_t *random) {
    const vector factor = vector_broadcast(scale);
    for (int i = 0; i < count; i += PAIR)
        code_bf16_to_e5m2(to + i, count - i, pair_multiply(load_bf16_to_e5m2(at + i, count - i), factor), random ? random + i : NULL);
}

/* A row that begins with a block. */
static void row_of_blocks_bf16_to_e5m2(uint8_t *to, uint8_t *scales, const uint16_t *at, int count,
                                    const uint16_t *random) {
    for (int block = 0; block < count; block += BLOCK) {
        struct vector_pair x[BLOCK / PAIR], largest = {vector_broadcast(0), vector_broadcast(0)};
        for (int k = 0; k < BLOCK / PAIR; k++) {
            x[k] = load_bf16_to_e5m2(at + block + k * PAIR, count - block - k * PAIR);
            largest = pair_raise(largest, x[k]);
        }
        const uint32_t scale = quern_quantize_block_scale(pair_largest(largest), QUERN_E5M2);
        const vector factor = vector_broadcast(quern_quantize_block_factor(scale));
        scales[block / BLOCK] = (uint8_t)scale;
        for (int i = block, k = 0; k < BLOCK / PAIR && i < count; k++, i += PAIR)
            code_bf16_to_e5m2(to + i, count - i, pair_multiply(x[k], factor), random ? random + i : NULL);
    }
}

/* The blocks of columns of rows [first, first + rows) of a panel. */
static void columns_of_blocks_bf16_to_e5m2(const struct quern_quantize_matrix *matrix, const struct panel *panel, int first, int rows,
                                        struct panel_codes *codes, const struct panel_random *random) {
    const int64_t across = quern_quantize_parts(matrix->rows, BLOCK), row = panel->row + first;
    const uint16_t *at = (const uint16_t *)matrix->input + row * matrix->columns + panel->column;
    uint8_t *scales = matrix->transposed_block_scales + panel->column * across + row / BLOCK;
    for (int i = 0; i < panel->columns; i += PAIR) {
        struct vector_pair largest = {vector_broadcast(0), vector_broadcast(0)};
        float amax[PAIR], factor[PAIR];
        for (int k = 0; k < rows; k++)
            largest = pair_raise(largest, load_bf16_to_e5m2(at + k * matrix->columns + i, panel->columns - i));
        pair_store_f32(amax, largest);
        for (int k = 0; k < PAIR; k++) {
            const uint32_t scale = quern_quantize_block_scale(amax[k], QUERN_E5M2);
            if (i + k < panel->columns) scales[(i + k) * across] = (uint8_t)scale;
            factor[k] = quern_quantize_block_factor(scale);
        }
        const struct vector_pair by = pair_load_f32(factor);
        for (int k = 0; k < rows; k++) {
            const struct vector_pair x = load_bf16_to_e5m2(at + k * matrix->columns + i, panel->columns - i);
            const uint16_t *bits = panel_bits(random, k);
            code_bf16_to_e5m2(&codes->of[first + k][i], PAIR, (struct vector_pair){x.first * by.first, x.second * by.second},
                           bits ? bits + i : NULL);
        }
    }
}

/* A row of a panel. */
static void row_bf16_to_e5m2(const struct quern_quantize_matrix_cast *cast, const struct panel *panel, int number, uint8_t *codes,
                          const uint16_t *random) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    const int64_t row = panel->row + number, index = row * matrix->columns + panel->column;
    const uint16_t *at = (const uint16_t *)matrix->input + index;
    uint8_t *output = matrix->output ? (uint8_t *)matrix->output + index : NULL;
    if (cast->in_blocks && output) {
        const int64_t block = row * quern_quantize_parts(matrix->columns, BLOCK) + panel->column / BLOCK;
        row_of_blocks_bf16_to_e5m2(output, matrix->block_scales + block, at, panel->columns, random);
    } else if (!cast->in_blocks) {
        row_of_tensor_bf16_to_e5m2(codes ? codes : output, at, panel->columns, cast->scale, random);
        if (codes && output) memcpy(output, codes, (size_t)panel->columns);
    }
}

static void panel_bf16_to_e5m2(const struct quern_quantize_matrix_cast *cast, const struct panel *panel) {
    const struct quern_quantize_matrix *matrix = &cast->matrix;
    struct panel_codes codes;
    struct panel_random drawn, *random = cast->stochastic ? &drawn : NULL;
    if (random) quern_philox_open(&random->philox, cast->seed, cast->offset, cast->place);
    for (int first = 0; first < panel->rows; first += BLOCK) {
        const int rows = panel->rows - first < BLOCK ? panel->rows - first : BLOCK;
        for (int k = 0; random && k < rows; k++)
            panel_draw(random, k, cast->begin + (panel->row + first + k) * matrix->columns + panel->column, panel->columns);
        for (int k = 0; k < rows; k++)
            row_bf16_to_e5m2(cast, panel, first + k, matrix->transposed ? codes.of[first + k] : NULL, panel_bits(random, k));
        if (cast->in_blocks && matrix->transposed)
            columns_of_blocks_bf16_to_e5m2(matrix, panel, first, rows, &codes, random);
    }
    if (matrix->transposed) panel_store(matrix, panel, &codes);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_matrix_bf16_e5m2);

void QUERN_KERNEL_NAME(quantize_matrix_bf16_e5m2)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_matrix_cast *cast = problem;
    for (int64_t tile = first; tile < end; tile++) {
        struct panel panel = panel_of_tile(&cast->matrix, tile);
        for (const int64_t until = panel_end(&cast->matrix, &panel); panel.column < until; panel.column += PANEL_COLUMNS) {
            panel.columns = (int)(until - panel.column < PANEL_COLUMNS ? until - panel.column : PANEL_COLUMNS);
            panel_bf16_to_e5m2(cast, &panel);
        }
    }
}
