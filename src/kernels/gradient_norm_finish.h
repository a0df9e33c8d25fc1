/*
 * Ends a gradient norm: computes the norm, the clip coefficient and found_inf from the sum of squares, and divides the sums of many
 * tiles among the blocks of a GPU.  src/adam/gradient_norm.c includes it as C and gradient_norm_combine.cuh as CUDA, so that both
 * give the same bits.
 */
#ifndef QUERN_GRADIENT_NORM_FINISH_H
#define QUERN_GRADIENT_NORM_FINISH_H

#include <math.h>
#include <stdbool.h>

#include "kernels/problem.h"

#ifdef __CUDACC__
#define QUERN_GRADIENT_NORM_FINISH static __device__ __forceinline__
#else
#define QUERN_GRADIENT_NORM_FINISH static inline
#endif

/* On a GPU: the number of sums per block when several blocks share the work. */
enum { QUERN_GRADIENT_NORM_PART = 2048 };

/*
 * squares is the sum of all squares; it is infinite or NaN if a gradient is.  Sums of squares of fp32 values are far from
 * overflowing a double.
 */
QUERN_GRADIENT_NORM_FINISH void quern_gradient_norm_finish(const struct quern_gradient_norm_problem *problem, double squares) {
    const double grad_scale = problem->grad_scale_pointer ? (double)*problem->grad_scale_pointer : problem->grad_scale;
    const double norm = sqrt(squares) / grad_scale;
    const double wanted = problem->max_norm / (norm + 1e-6);
    const bool is_finite = squares - squares == 0;
    const bool clips = problem->max_norm != 0 && wanted < 1;
    if (problem->norm) *problem->norm = (float)norm;
    if (problem->clip) *problem->clip = !is_finite ? 0.0f : clips ? (float)wanted : 1.0f;
    if (problem->found_inf && !is_finite) *problem->found_inf = 1;
}

#endif
