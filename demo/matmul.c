/* Matrix products: cuts a product into pieces of rows for the pool's threads.  Called by model.c, experts.c and classifier.c. */
#include "matmul.h"

#include "blas.h"
#include "threads.h"

struct product {
    enum blas_transpose transpose_a, transpose_b;
    int64_t m, n, k;
    struct matrix a, b;
    float beta;
    float *c;
    int64_t c_stride;
    int64_t piece_rows;
};

static void multiply_piece(void *context, int64_t piece) {
    const struct product *p = context;
    int64_t first = piece * p->piece_rows;
    int64_t rows = p->m - first < p->piece_rows ? p->m - first : p->piece_rows;
    const float *a = p->a.data + (p->transpose_a == BLAS_AS_IS ? first * p->a.stride : first);
    blas_sgemm(p->transpose_a, p->transpose_b, (int)rows, (int)p->n, (int)p->k, 1, a, (int)p->a.stride,
                p->b.data, (int)p->b.stride, p->beta, p->c + first * p->c_stride, (int)p->c_stride);
}

/* The pieces depend on the shape alone, so that the number of threads does not change the results. */
static void multiply(struct thread_pool *pool, struct product p) {
    p.piece_rows = p.m >= 512 ? 128 : p.m >= 64 ? (p.m / 4 + 15) / 16 * 16 : p.m;
    if (p.m > 0) threads_for(pool, (p.m + p.piece_rows - 1) / p.piece_rows, multiply_piece, &p);
}

void matmul(struct thread_pool *pool, int64_t m, int64_t n, int64_t k, struct matrix a, struct matrix b,
            float beta, float *c, int64_t c_stride) {
    multiply(pool, (struct product){BLAS_AS_IS, BLAS_AS_IS, m, n, k, a, b, beta, c, c_stride, 0});
}

void matmul_transposed_right(struct thread_pool *pool, int64_t m, int64_t n, int64_t k, struct matrix a, struct matrix b,
                             float beta, float *c, int64_t c_stride) {
    multiply(pool, (struct product){BLAS_AS_IS, BLAS_TRANSPOSED, m, n, k, a, b, beta, c, c_stride, 0});
}

void matmul_transposed_left(struct thread_pool *pool, int64_t m, int64_t n, int64_t k, struct matrix a, struct matrix b,
                            float beta, float *c, int64_t c_stride) {
    multiply(pool, (struct product){BLAS_TRANSPOSED, BLAS_AS_IS, m, n, k, a, b, beta, c, c_stride, 0});
}
