/* Multiplies matrices on the host, for suites of the last layer.  host_product.h documents the functions. */
#include "harness/host_product.h"

#include "harness/cuda.h"
#include "oracle/dtype.h"

double matrix_at(const struct matrix *matrix, int transposed, int64_t row, int64_t column) {
    return dtype_load(matrix->dtype, matrix->data, transposed ? column * matrix->stride + row : row * matrix->stride + column);
}

void matrix_multiply(const quern_gemm_args *args, const struct matrix *a, const struct matrix *b, const struct matrix *c) {
    for (int64_t row = 0; row < args->m; row++)
        for (int64_t column = 0; column < args->n; column++) {
            double sum = args->accumulate ? matrix_at(c, 0, row, column) : 0;
            for (int64_t k = 0; k < args->k; k++)
                sum += matrix_at(a, args->a_transposed, row, k) * matrix_at(b, args->b_transposed, k, column);
            dtype_store(c->dtype, c->data, row * c->stride + column, sum);
        }
}

static struct matrix stored(const void *data, quern_dtype dtype, int64_t rows, int64_t columns, int64_t stride) {
    return (struct matrix){dtype, rows, columns, stride, (void *)(uintptr_t)data};
}

void matrices_of(const quern_gemm_args *args, struct matrix m[3]) {
    const int at = args->a_transposed, bt = args->b_transposed;
    m[0] = stored(args->a, args->a_dtype, at ? args->k : args->m, at ? args->m : args->k, args->a_stride);
    m[1] = stored(args->b, args->b_dtype, bt ? args->n : args->k, bt ? args->k : args->n, args->b_stride);
    m[2] = stored(args->c, args->c_dtype, args->m, args->n, args->c_stride);
}

/* The bytes of a matrix, without the padding behind its last row. */
static size_t span(const struct matrix *m) {
    if (!m->rows || !m->columns) return 0;
    return (size_t)((m->rows - 1) * m->stride + m->columns) * quern_dtype_bytes(m->dtype);
}

void host_product(const struct test_device *device, const quern_gemm_args *args) {
    struct matrix m[3];
    matrices_of(args, m);
    if (device->kind == QUERN_CPU) return matrix_multiply(args, &m[0], &m[1], &m[2]);
    void *there = m[2].data;
    for (int i = 0; i < 3; i++) {
        void *copy = zeroed(span(&m[i]) + 1);
        if (span(&m[i])) CUDA(cuMemcpyDtoHAsync_v2(copy, (cuda_pointer)(uintptr_t)m[i].data, span(&m[i]), device->stream));
        m[i].data = copy;
    }
    device_synchronize(device);
    matrix_multiply(args, &m[0], &m[1], &m[2]);
    if (span(&m[2])) CUDA(cuMemcpyHtoDAsync_v2((cuda_pointer)(uintptr_t)there, m[2].data, span(&m[2]), device->stream));
    device_synchronize(device);
    for (int i = 0; i < 3; i++) free(m[i].data);
}
