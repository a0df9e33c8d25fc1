/*
 * Tiles of a matrix that is cast to 8 bits, and their exchange of rows and columns.  Included by the matrix kernels' source in
 * generated/quantize/.
 *
 * A tile has 64 rows, so that each row of the transposed tile is a cache line.  Its codes are kept in a square of bytes, which is
 * exchanged by blocks of 16 x 16.
 */
#ifndef QUERN_CPU_QUANTIZE_PANEL_H
#define QUERN_CPU_QUANTIZE_PANEL_H

#include <stdint.h>
#include <string.h>

#include "kernels/cpu/random.h"
#include "kernels/quantize_problem.h"

enum { PANEL_ROWS = QUERN_QUANTIZE_PANEL_ROWS, PANEL_COLUMNS = QUERN_QUANTIZE_PANEL_COLUMNS, BLOCK = QUERN_QUANTIZE_BLOCK };

/* A part of a matrix. */
struct panel {
    int64_t row, column;
    int rows, columns;
};

/* The beginning of a tile, with all of its rows and no columns yet. */
static inline struct panel panel_of_tile(const struct quern_quantize_matrix *matrix, int64_t tile) {
    const int64_t strip = quern_quantize_strip(matrix), strips = quern_quantize_parts(matrix->columns, strip);
    const int64_t row = tile / strips * PANEL_ROWS, rest = matrix->rows - row;
    return (struct panel){.row = row, .column = tile % strips * strip, .rows = (int)(rest < PANEL_ROWS ? rest : PANEL_ROWS)};
}

/* The column behind the last one of the tile that begins with a panel. */
static inline int64_t panel_end(const struct quern_quantize_matrix *matrix, const struct panel *first) {
    const int64_t end = first->column + quern_quantize_strip(matrix);
    return end < matrix->columns ? end : matrix->columns;
}

/* The codes of a panel, with a place for each that it could have. */
struct panel_codes {
    _Alignas(64) uint8_t of[PANEL_ROWS][PANEL_COLUMNS];
};

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/*
 * Sixteen rows become sixteen columns.  An element's place has four bits of its row and four of its column; each turn moves the
 * first bit behind the last one.
 */
static inline __attribute__((always_inline)) void exchange_16(bytes16 *row) {
    for (int turn = 0; turn < 4; turn++) {
        bytes16 next[16];
        for (int i = 0; i < 8; i++) {
            next[2 * i] = __builtin_shufflevector(row[i], row[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            next[2 * i + 1] =
                __builtin_shufflevector(row[i], row[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        memcpy(row, next, sizeof next);
    }
}

/* Sixteen columns of a panel, from `column` of it on, as rows of the transposed matrix. */
static inline void panel_store_16(const struct quern_quantize_matrix *matrix, const struct panel *panel,
                                  const struct panel_codes *codes, int column) {
    _Alignas(64) uint8_t line[16][PANEL_ROWS];
    for (int row = 0; row < panel->rows; row += 16) {
        bytes16 part[16];
        for (int i = 0; i < 16; i++) memcpy(&part[i], &codes->of[row + i][column], sizeof part[i]);
        exchange_16(part);
        for (int i = 0; i < 16; i++) memcpy(&line[i][row], &part[i], sizeof part[i]);
    }
    uint8_t *to = (uint8_t *)matrix->transposed + (panel->column + column) * matrix->rows + panel->row;
    for (int i = 0; i < 16 && column + i < panel->columns; i++, to += matrix->rows) {
        if (panel->rows == PANEL_ROWS)
            memcpy(to, line[i], PANEL_ROWS);
        else
            memcpy(to, line[i], (size_t)panel->rows);
    }
}

static inline void panel_store(const struct quern_quantize_matrix *matrix, const struct panel *panel,
                               const struct panel_codes *codes) {
    for (int column = 0; column < panel->columns; column += 16)
        panel_store_16(matrix, panel, codes, column);
}

/* ---- random bits ---- */

enum { RANDOM_ROW = PANEL_COLUMNS + 2 * QUERN_RANDOM_GROUP };

/* The bits of rows of a panel: those of a row begin at its first element's place within a group. */
struct panel_random {
    struct quern_philox philox;
    _Alignas(64) uint16_t bits[BLOCK][RANDOM_ROW];
    int begin[BLOCK];
};

/* The bits of `count` elements of the tensor from `first` on, for a row. */
static inline void panel_draw(struct panel_random *random, int row, int64_t first, int count) {
    struct quern_random drawn;
    const int64_t begin = first / QUERN_RANDOM_GROUP * QUERN_RANDOM_GROUP, end = first + count;
    for (int64_t i = begin, drawn_count; i < end; i += drawn_count) {
        drawn_count = i % QUERN_RANDOM_BLOCK == 0 && end - i >= QUERN_RANDOM_BLOCK ? QUERN_RANDOM_BLOCK : QUERN_RANDOM_GROUP;
        quern_philox_draw(&random->philox, (uint64_t)i / 8, (int)drawn_count, &drawn);
        memcpy(&random->bits[row][i - begin], drawn.bits, 2 * (size_t)drawn_count);
    }
    random->begin[row] = (int)(first - begin);
}

#endif
