/* Matrix products on the host, in double: of matrices of the host, and as a product of the library's calls on any device. */
#ifndef HARNESS_HOST_PRODUCT_H
#define HARNESS_HOST_PRODUCT_H

#include "harness/device.h"

struct matrix {
    quern_dtype dtype;
    int64_t rows, columns, stride;
    void *data;
};

double matrix_at(const struct matrix *matrix, int transposed, int64_t row, int64_t column);

/* C of the arguments' product. */
void matrix_multiply(const quern_gemm_args *args, const struct matrix *a, const struct matrix *b, const struct matrix *c);

/* The stored layouts of A, B and C. */
void matrices_of(const quern_gemm_args *args, struct matrix m[3]);

/* The product of matrices in the device's memory; waits for its stream. */
void host_product(const struct test_device *device, const quern_gemm_args *args);

#endif
