/* The BLAS of a CPU, for blas.c. */
#ifndef QUERN_BLAS_CPU_H
#define QUERN_BLAS_CPU_H

#include "cross_entropy/blas_kind.h"

extern const struct quern_blas_kind quern_cpu_blas;

#endif
