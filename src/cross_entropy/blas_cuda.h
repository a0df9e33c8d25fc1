/* The BLAS of a GPU, for blas.c. */
#ifndef QUERN_BLAS_CUDA_H
#define QUERN_BLAS_CUDA_H

#include "cross_entropy/blas_kind.h"

extern const struct quern_blas_kind quern_cuda_blas;

#endif
