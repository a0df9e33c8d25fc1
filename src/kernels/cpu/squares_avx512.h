/*
 * Sums of squares in double, in addition to vector_avx512.h.  Included by squares_vectors.h.
 *
 * squares_avx512.h, squares_avx2.h and squares_portable.h define the same names: squares_add adds the squares of a pair of vectors
 * to several sums, and squares_total adds these sums.
 */
#ifndef QUERN_CPU_SQUARES_AVX512_H
#define QUERN_CPU_SQUARES_AVX512_H

#include "kernels/cpu/vector_avx512.h"

struct squares {
    vector_wide sum[4];
};

static inline vector_wide wide_add_square(vector_wide sum, __m256 x) {
    const vector_wide wide = _mm512_cvtps_pd(x);
    return _mm512_fmadd_pd(wide, wide, sum);
}

static inline void squares_add(struct squares *squares, struct vector_pair x) {
    squares->sum[0] = wide_add_square(squares->sum[0], _mm512_castps512_ps256(x.first));
    squares->sum[1] = wide_add_square(squares->sum[1], _mm512_extractf32x8_ps(x.first, 1));
    squares->sum[2] = wide_add_square(squares->sum[2], _mm512_castps512_ps256(x.second));
    squares->sum[3] = wide_add_square(squares->sum[3], _mm512_extractf32x8_ps(x.second, 1));
}

static inline double squares_total(const struct squares *squares) {
    return wide_reduce_add((squares->sum[0] + squares->sum[1]) + (squares->sum[2] + squares->sum[3]));
}

#endif
