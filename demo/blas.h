/* The one function of BLAS that the engine calls, from a library that is found at run time; building needs no BLAS. */
#ifndef BLAS_H
#define BLAS_H

#include <stdbool.h>

enum { BLAS_ROW_MAJOR = 101 };
enum blas_transpose { BLAS_AS_IS = 111, BLAS_TRANSPOSED = 112 };  /* the values of cblas.h */

/* Opens the first BLAS found on this machine and limits it to one thread; false after a message on stderr if none is found. */
bool blas_open(void);

/* The file name of the library. */
const char *blas_name(void);

/* c[m, n] = alpha * a[m, k] b[k, n] + beta * c, row-major; a or b may be stored transposed. */
void blas_sgemm(enum blas_transpose transpose_a, enum blas_transpose transpose_b, int m, int n, int k, float alpha, const float *a,
                int a_stride, const float *b, int b_stride, float beta, float *c, int c_stride);

#endif
