/*
 * Sums of squares in double, in addition to vector_portable.h.  Included by squares_vectors.h.  squares_avx512.h describes each
 * function; the names are the same.
 */
#ifndef QUERN_CPU_SQUARES_PORTABLE_H
#define QUERN_CPU_SQUARES_PORTABLE_H

#include "kernels/cpu/vector_portable.h"

struct squares {
    vector_wide sum[4];
};

static inline void squares_add_vector(vector_wide sum[2], vector x) {
    const vector_wide lower = {(double)x[0], (double)x[1]}, upper = {(double)x[2], (double)x[3]};
    sum[0] += lower * lower;
    sum[1] += upper * upper;
}

static inline void squares_add(struct squares *squares, struct vector_pair x) {
    squares_add_vector(squares->sum, x.first);
    squares_add_vector(squares->sum + 2, x.second);
}

static inline double squares_total(const struct squares *squares) {
    return wide_reduce_add((squares->sum[0] + squares->sum[1]) + (squares->sum[2] + squares->sum[3]));
}

#endif
