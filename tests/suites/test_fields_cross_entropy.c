/*
 * Each field of cross-entropy, its steps and the last layer, by the table of tests/fields/cross_entropy.h: rubbish in ignored
 * fields changes nothing, illegal values are refused with a detail that names the field, buffers are aligned and apart.  Strides
 * give the bits of contiguous rows.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "fields/cross_entropy.h"
#include "harness/check.h"
#include "harness/cuda.h"
#include "oracle/dtype.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- a matrix product on the host ---- */

static size_t stored_bytes(int64_t rows, int64_t columns, int64_t stride, quern_dtype dtype) {
    return rows && columns ? (size_t)((rows - 1) * stride + columns) * quern_dtype_bytes(dtype) : 0;
}

static void *fetch(const void *memory, size_t bytes) {
    void *copy = malloc(bytes + 1);
    check(copy, "no memory");
    if (fields_device.kind == QUERN_CPU) memcpy(copy, memory, bytes);
    else if (bytes) CUDA(cuMemcpyDtoHAsync_v2(copy, (cuda_pointer)(uintptr_t)memory, bytes, fields_device.stream));
    device_synchronize(&fields_device);
    return copy;
}

static void send_back(void *memory, void *copy, size_t bytes) {
    if (fields_device.kind == QUERN_CPU) memcpy(memory, copy, bytes);
    else if (bytes) CUDA(cuMemcpyHtoDAsync_v2((cuda_pointer)(uintptr_t)memory, copy, bytes, fields_device.stream));
    device_synchronize(&fields_device);
    free(copy);
}

static double element(quern_dtype dtype, const void *matrix, int transposed, int64_t stride, int64_t row, int64_t column) {
    return dtype_load(dtype, matrix, transposed ? column * stride + row : row * stride + column);
}

static quern_status multiply(void *user, const quern_gemm_args *g, void *stream) {
    const int at = g->a_transposed, bt = g->b_transposed;
    const size_t c_bytes = stored_bytes(g->m, g->n, g->c_stride, g->c_dtype);
    void *a = fetch(g->a, stored_bytes(at ? g->k : g->m, at ? g->m : g->k, g->a_stride, g->a_dtype));
    void *b = fetch(g->b, stored_bytes(bt ? g->n : g->k, bt ? g->k : g->n, g->b_stride, g->b_dtype));
    void *c = fetch(g->c, c_bytes);
    (void)user, (void)stream;
    for (int64_t row = 0; row < g->m; row++)
        for (int64_t column = 0; column < g->n; column++) {
            double sum = g->accumulate ? element(g->c_dtype, c, 0, g->c_stride, row, column) : 0;
            for (int64_t k = 0; k < g->k; k++)
                sum += element(g->a_dtype, a, at, g->a_stride, row, k) * element(g->b_dtype, b, bt, g->b_stride, k, column);
            dtype_store(g->c_dtype, c, row * g->c_stride + column, sum);
        }
    free(a), free(b);
    send_back(g->c, c, c_bytes);
    return QUERN_OK;
}

/* ---- the table ---- */

Test(fields_cross_entropy, each_call) {
    fields_open(QUERN_CROSS_ENTROPY);
    for (size_t i = 0; i < COUNT(loss_calls); i++) fields_walk(loss_calls[i]);
    fields_close();
}

Test(fields_cross_entropy, each_call_of_the_last_layer) {
    layer_gemm = multiply;
    fields_open(QUERN_CROSS_ENTROPY);
    for (size_t i = 0; i < COUNT(layer_calls); i++) fields_walk(layer_calls[i]);
    fields_close();
}
