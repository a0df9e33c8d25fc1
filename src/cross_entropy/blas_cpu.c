/*
 * Products by the cblas_sgemm of a CPU's BLAS.  It takes fp32 matrices directly.  Others are multiplied tile by tile: tiles of A
 * and B are converted to fp32, the products of all tiles along k are summed in an fp32 tile of C, and the sum is rounded once.
 * With tiles of 1024 x 1024 the product takes much longer than the conversions, and the memory does not depend on the matrices.
 * Called by blas.c.
 */
#include "cross_entropy/cross_entropy.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/vector_portable.h"
#include "os/integers.h"
#include "runtime/device.h"
#include "runtime/dtype.h"
#include "runtime/status.h"
#include "runtime/threads.h"

enum { TILE = 1024, ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 };  /* the last three: cblas.h */

typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a, int a_stride,
                   const float *b, int b_stride, float beta, float *c, int c_stride);

struct blas {
    sgemm *multiply;
    float *tiles;  /* three: of A, B and C */
};

/* A stored matrix, or a block of one. */
struct block {
    char *first;
    quern_dtype dtype;
    int64_t stride;
    int64_t rows, columns;
};

static quern_status attach(quern_device *device, void *library, const char *name, void **state) {
    void *address = dlsym(library, "cblas_sgemm");
    if (!address) return quern_fail(device, QUERN_NOT_SUPPORTED, "%s has no function cblas_sgemm", name);
    struct blas *blas = malloc(sizeof *blas);
    if (!blas) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a BLAS");
    memcpy(&blas->multiply, &address, sizeof address);
    blas->tiles = aligned_alloc(64, 3 * sizeof(float) * TILE * TILE);
    if (!blas->tiles) {
        free(blas);
        return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for the tiles of a BLAS");
    }
    *state = blas;
    return QUERN_OK;
}

static void detach(quern_device *device, void *state) {
    (void)device;
    struct blas *blas = state;
    free(blas->tiles);
    free(blas);
}

/* ---- tiles ---- */

static struct block block_at(const struct block *whole, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    char *first = whole->first + (size_t)(row * whole->stride + column) * quern_dtype_bytes(whole->dtype);
    return (struct block){first, whole->dtype, whole->stride, rows, columns};
}

/* Vectors of 4, of which the last may be partial. */
static void widen(quern_dtype dtype, const uint16_t *from, float *to, int64_t count) {
    const int exponent = quern_exponent_bits(dtype);
    for (int64_t i = 0; i < count; i += VECTOR_LANES) {
        uint16_t halves[VECTOR_LANES] = {0};
        float widened[VECTOR_LANES];
        const size_t lanes = count - i < VECTOR_LANES ? (size_t)(count - i) : VECTOR_LANES;
        memcpy(halves, from + i, lanes * sizeof *halves);
        const vector_bits bits = {halves[0], halves[1], halves[2], halves[3]};
        vector_store_f32(widened, dtype == QUERN_BF16 ? (vector)(bits << 16) : format_widen(bits, exponent));
        memcpy(to + i, widened, lanes * sizeof *to);
    }
}

static void narrow(quern_dtype dtype, const float *from, uint16_t *to, int64_t count) {
    const int exponent = quern_exponent_bits(dtype);
    for (int64_t i = 0; i < count; i += VECTOR_LANES) {
        float wide[VECTOR_LANES] = {0};
        const size_t lanes = count - i < VECTOR_LANES ? (size_t)(count - i) : VECTOR_LANES;
        memcpy(wide, from + i, lanes * sizeof *wide);
        const vector x = vector_load_f32(wide);
        const vector_bits bits = dtype == QUERN_BF16 ? vector_round_bf16(x) : format_nearest(x, exponent);
        for (size_t lane = 0; lane < lanes; lane++) to[i + (int64_t)lane] = (uint16_t)bits[lane];
    }
}

struct conversion {
    const struct block *block;
    float *tile;  /* rows of TILE */
};

static void load_row(void *context, int64_t row) {
    const struct conversion *c = context;
    const char *from = c->block->first + (size_t)(row * c->block->stride) * quern_dtype_bytes(c->block->dtype);
    float *to = c->tile + row * TILE;
    if (c->block->dtype == QUERN_F32) memcpy(to, from, (size_t)c->block->columns * sizeof *to);
    else widen(c->block->dtype, (const uint16_t *)from, to, c->block->columns);
}

static void store_row(void *context, int64_t row) {
    const struct conversion *c = context;
    char *to = c->block->first + (size_t)(row * c->block->stride) * quern_dtype_bytes(c->block->dtype);
    const float *from = c->tile + row * TILE;
    if (c->block->dtype == QUERN_F32) memcpy(to, from, (size_t)c->block->columns * sizeof *from);
    else narrow(c->block->dtype, from, (uint16_t *)to, c->block->columns);
}

/* One tile of C: the sum over k of products of tiles. */
static void multiply_tile(quern_device *device, const struct blas *blas, const quern_gemm_args *args,
                          const struct block operands[3], int64_t row, int64_t column) {
    float *tile_a = blas->tiles, *tile_b = tile_a + TILE * TILE, *tile_c = tile_b + TILE * TILE;
    const int64_t rows = quern_smaller(TILE, args->m - row), columns = quern_smaller(TILE, args->n - column);
    const struct block c = block_at(&operands[2], row, column, rows, columns);
    if (args->accumulate) quern_run_tasks(device, rows, load_row, &(struct conversion){&c, tile_c});
    else memset(tile_c, 0, sizeof(float) * TILE * (size_t)rows);
    for (int64_t k = 0; k < args->k; k += TILE) {
        const int64_t depth = quern_smaller(TILE, args->k - k);
        const struct block a = args->a_transposed ? block_at(&operands[0], k, row, depth, rows)
                                                  : block_at(&operands[0], row, k, rows, depth);
        const struct block b = args->b_transposed ? block_at(&operands[1], column, k, columns, depth)
                                                  : block_at(&operands[1], k, column, depth, columns);
        quern_run_tasks(device, a.rows, load_row, &(struct conversion){&a, tile_a});
        quern_run_tasks(device, b.rows, load_row, &(struct conversion){&b, tile_b});
        blas->multiply(ROW_MAJOR, args->a_transposed ? TRANSPOSED : AS_IS, args->b_transposed ? TRANSPOSED : AS_IS, (int)rows,
                       (int)columns, (int)depth, 1, tile_a, TILE, tile_b, TILE, 1, tile_c, TILE);
    }
    quern_run_tasks(device, rows, store_row, &(struct conversion){&c, tile_c});
}

/* ---- a product ---- */

static bool fits_int(int64_t value) { return value <= INT_MAX; }

/* Whether cblas_sgemm can take the matrices directly. */
static bool is_plain(const quern_gemm_args *args) {
    return args->a_dtype == QUERN_F32 && args->b_dtype == QUERN_F32 && args->c_dtype == QUERN_F32 && args->k > 0 &&
           fits_int(args->m) && fits_int(args->n) && fits_int(args->k) && fits_int(args->a_stride) && fits_int(args->b_stride) &&
           fits_int(args->c_stride);
}

static quern_status multiply(quern_device *device, void *state, const quern_gemm_args *args, void *stream) {
    (void)stream;
    const struct blas *blas = state;
    if (is_plain(args)) {
        blas->multiply(ROW_MAJOR, args->a_transposed ? TRANSPOSED : AS_IS, args->b_transposed ? TRANSPOSED : AS_IS, (int)args->m,
                       (int)args->n, (int)args->k, 1, args->a, (int)args->a_stride, args->b, (int)args->b_stride,
                       args->accumulate ? 1 : 0, args->c, (int)args->c_stride);
        return QUERN_OK;
    }
    const struct block operands[3] = {{(char *)args->a, args->a_dtype, args->a_stride, 0, 0},
                                      {(char *)args->b, args->b_dtype, args->b_stride, 0, 0},
                                      {args->c, args->c_dtype, args->c_stride, args->m, args->n}};
    for (int64_t row = 0; row < args->m; row += TILE)
        for (int64_t column = 0; column < args->n; column += TILE) multiply_tile(device, blas, args, operands, row, column);
    return QUERN_OK;
}

static const char *const libraries[] = {"libopenblas.so.0", "libblis.so.4", "libmkl_rt.so.2", "libcblas.so.3", NULL};

const struct quern_blas_kind quern_cpu_blas = {libraries, attach, multiply, detach};
