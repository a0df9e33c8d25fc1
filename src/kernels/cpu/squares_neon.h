/*
 * Sums of squares in double, in addition to vector_neon.h.  Included by squares_vectors.h.  squares_avx512.h describes each
 * function; the names are the same.
 */
#ifndef QUERN_CPU_SQUARES_NEON_H
#define QUERN_CPU_SQUARES_NEON_H

#include "kernels/cpu/vector_neon.h"

struct squares {
    vector_wide sum[4];
};

static inline vector_wide wide_add_square(vector_wide sum, vector_wide x) { return vfmaq_f64(sum, x, x); }

static inline void squares_add(struct squares *squares, struct vector_pair x) {
    squares->sum[0] = wide_add_square(squares->sum[0], vcvt_f64_f32(vget_low_f32(x.first)));
    squares->sum[1] = wide_add_square(squares->sum[1], vcvt_high_f64_f32(x.first));
    squares->sum[2] = wide_add_square(squares->sum[2], vcvt_f64_f32(vget_low_f32(x.second)));
    squares->sum[3] = wide_add_square(squares->sum[3], vcvt_high_f64_f32(x.second));
}

static inline double squares_total(const struct squares *squares) {
    return wide_reduce_add((squares->sum[0] + squares->sum[1]) + (squares->sum[2] + squares->sum[3]));
}

#endif
