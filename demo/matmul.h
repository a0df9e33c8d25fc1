/* Matrix products of row-major fp32 matrices: BLAS on one thread per piece, the pieces on the engine's pool. */
#ifndef MATMUL_H
#define MATMUL_H

#include <stdint.h>

struct thread_pool;

/* A matrix in memory; `stride` is the number of elements from one row to the next. */
struct matrix {
    const float *data;
    int64_t stride;
};

/* c[m, n] = beta * c + a[m, k] b[k, n] */
void matmul(struct thread_pool *pool, int64_t m, int64_t n, int64_t k, struct matrix a, struct matrix b,
            float beta, float *c, int64_t c_stride);

/* c[m, n] = beta * c + a[m, k] transpose(b[n, k]) */
void matmul_transposed_right(struct thread_pool *pool, int64_t m, int64_t n, int64_t k, struct matrix a, struct matrix b,
                             float beta, float *c, int64_t c_stride);

/* c[m, n] = beta * c + transpose(a[k, m]) b[k, n] */
void matmul_transposed_left(struct thread_pool *pool, int64_t m, int64_t n, int64_t k, struct matrix a, struct matrix b,
                            float beta, float *c, int64_t c_stride);

#endif
