/*
 * fp32 vectors of 4 lanes in GNU C, which gcc and clang compile for any CPU (SSE2, NEON, or scalar code), and their conversions to
 * and from f16 and bf16 by integer arithmetic.  Included by exponential_portable.h, adam_portable.h, squares_portable.h and
 * src/cross_entropy/blas_cpu.c.  vector_avx512.h describes each function; the names are the same.
 */
#ifndef QUERN_CPU_VECTOR_PORTABLE_H
#define QUERN_CPU_VECTOR_PORTABLE_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float vector __attribute__((vector_size(16)));
typedef double vector_wide __attribute__((vector_size(16)));
typedef uint32_t vector_bits __attribute__((vector_size(16)));
typedef int32_t vector_mask __attribute__((vector_size(16)));  /* a comparison's result: all bits set or none */

enum { VECTOR_LANES = 4 };

struct vector_pair {
    vector first, second;
};

static inline vector vector_broadcast(float x) { return (vector){x, x, x, x}; }

static inline vector_bits vector_broadcast_bits(uint32_t x) { return (vector_bits){x, x, x, x}; }

/* a if the mask has all bits set, b if it has none. */
static inline vector_bits vector_select(vector_mask mask, vector_bits a, vector_bits b) {
    return ((vector_bits)mask & a) | (~(vector_bits)mask & b);
}

#if FLT_EVAL_METHOD != 0
#error "fp32 arithmetic must be evaluated in fp32"
#endif

typedef double vector_double __attribute__((vector_size(32)));
typedef int64_t vector_double_mask __attribute__((vector_size(32)));

/*
 * a * b + c, rounded once.  Without a hardware instruction the C library's fmaf is slow, so this uses double: the product of two
 * fp32 values is exact, the error of the sum is known exactly (Knuth's TwoSum), and a sum whose last bit is made odd if it is
 * inexact rounds to fp32 like the exact value (Boldo and Melquiond 2008).
 */
static inline vector vector_fma(vector a, vector b, vector c) {
#ifdef __FP_FAST_FMAF
    for (int lane = 0; lane < VECTOR_LANES; lane++)
        a[lane] = fmaf(a[lane], b[lane], c[lane]);
    return a;
#else
    vector_double product = __builtin_convertvector(a, vector_double) * __builtin_convertvector(b, vector_double);
    vector_double addend = __builtin_convertvector(c, vector_double);
    vector_double sum = product + addend;
    vector_double rest = sum - product;
    vector_double error = (product - (sum - rest)) + (addend - rest);
    /* Not error != 0: if the sum is infinite the error is NaN, and the sum must not change. */
    vector_double_mask inexact = (vector_double_mask)(error < 0) | (vector_double_mask)(error > 0);
    vector_double_mask bits = (vector_double_mask)sum;
    vector_double_mask step = inexact & ~bits & 1;
    vector_double_mask toward_zero = (bits ^ (vector_double_mask)error) < 0;
    bits += (step ^ toward_zero) - toward_zero;  /* minus the step if toward_zero */
    return __builtin_convertvector((vector_double)bits, vector);
#endif
}

static inline vector vector_multiply_add(vector a, vector b, vector c) { return a * b + c; }

/* The sums of neighbours of both vectors, which are in order. */
static inline vector vector_add_neighbours(vector a, vector b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
}

static inline vector vector_fold(const vector v[VECTOR_LANES]) {
    const vector a = __builtin_shufflevector(v[0], v[1], 0, 1, 4, 5) + __builtin_shufflevector(v[0], v[1], 2, 3, 6, 7);
    const vector b = __builtin_shufflevector(v[2], v[3], 0, 1, 4, 5) + __builtin_shufflevector(v[2], v[3], 2, 3, 6, 7);
    return vector_add_neighbours(a, b);
}

/* The larger of each pair of lanes; b if either is NaN. */
static inline vector vector_max(vector a, vector b) {
    return (vector)vector_select(a > b, (vector_bits)a, (vector_bits)b);
}

static inline vector vector_min(vector a, vector b) {
    return (vector)vector_select(a < b, (vector_bits)a, (vector_bits)b);
}

static inline vector vector_abs(vector x) { return (vector)((vector_bits)x & 0x7FFFFFFF); }

static inline int vector_all_at_most(vector a, vector b) {
    const vector_mask are = a <= b;
    return are[0] & are[1] & are[2] & are[3];
}

static inline vector vector_if_above(vector a, vector b, vector yes, vector no) {
    return (vector)vector_select(a > b, (vector_bits)yes, (vector_bits)no);
}

static inline float vector_reduce_max(vector x) {
    float a = x[0] > x[1] ? x[0] : x[1];
    float b = x[2] > x[3] ? x[2] : x[3];
    return a > b ? a : b;
}

static inline __attribute__((always_inline)) vector_wide vector_widen(vector x) {
    return (vector_wide){(double)x[0] + (double)x[2], (double)x[1] + (double)x[3]};
}

static inline double wide_reduce_add(vector_wide x) { return x[0] + x[1]; }

static inline double vector_reduce_add(vector x) { return wide_reduce_add(vector_widen(x)); }

/* ---- f32 ---- */

static inline vector vector_load_f32(const float *from) {
    vector x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline void vector_store_f32(float *to, vector x) { memcpy(to, &x, sizeof x); }

static inline struct vector_pair pair_load_f32(const float *from) {
    return (struct vector_pair){vector_load_f32(from), vector_load_f32(from + VECTOR_LANES)};
}

static inline void pair_store_f32(float *to, struct vector_pair x) {
    vector_store_f32(to, x.first);
    vector_store_f32(to + VECTOR_LANES, x.second);
}

static inline struct vector_pair pair_load_beside_f32(const float *from) { return pair_load_f32(from); }

static inline void pair_store_beside_f32(float *to, struct vector_pair x) { pair_store_f32(to, x); }

/* ---- pairs of 16-bit elements in 32-bit lanes: elements at even places are in the lower halves ---- */

static inline vector_bits vector_load_halves(const uint16_t *from) {
    vector_bits halves;
    memcpy(&halves, from, sizeof halves);
    return halves;
}

static inline void vector_store_halves(uint16_t *to, vector_bits even, vector_bits odd) {
    vector_bits halves = even | odd << 16;
    memcpy(to, &halves, sizeof halves);
}

static inline struct vector_pair pair_load_beside_halves(const float *from) {
    const struct vector_pair x = pair_load_f32(from);
    return (struct vector_pair){__builtin_shufflevector(x.first, x.second, 0, 2, 4, 6),
                                __builtin_shufflevector(x.first, x.second, 1, 3, 5, 7)};
}

/* ---- bf16 ---- */

/* The upper half of each lane after adding the increment that rounds to nearest, ties to even. */
static inline vector_bits vector_round_bf16(vector x) {
    vector_bits bits = (vector_bits)x;
    return (bits + (bits >> 16 & 1) + 0x7FFF) >> 16;
}

static inline struct vector_pair pair_load_bf16(const uint16_t *from) {
    vector_bits halves = vector_load_halves(from);
    return (struct vector_pair){(vector)(halves << 16), (vector)(halves & 0xFFFF0000)};
}

static inline struct vector_pair pair_load_beside_bf16(const float *from) { return pair_load_beside_halves(from); }

static inline void pair_store_beside_bf16(float *to, struct vector_pair x) {
    pair_store_f32(to, (struct vector_pair){__builtin_shufflevector(x.first, x.second, 0, 4, 1, 5),
                                            __builtin_shufflevector(x.first, x.second, 2, 6, 3, 7)});
}

static inline vector pair_neighbours_bf16(struct vector_pair x) { return x.first + x.second; }

static inline void pair_store_bf16(uint16_t *to, struct vector_pair x) {
    vector_store_halves(to, vector_round_bf16(x.first), vector_round_bf16(x.second));
}

/* ---- f16 and others ---- */

#include "kernels/cpu/format.h"

FORMAT_FUNCTIONS(QUERN_F16, f16, 5)

#endif
