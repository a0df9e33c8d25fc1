/*
 * Exponentials of a vector relative to an origin: the algorithm that all instruction sets share.  Included by exponential_avx512.h,
 * exponential_avx2.h and exponential_portable.h.
 *
 * x = y * ln 2 + r with y a multiple of 2^-F, so that for an integer k
 *
 *   exp(x) / 2^k = 2^floor(y - k) * 2^frac(y) * (1 + q(r)),   |r| <= 2^-F * ln 2 / 2,   q(r) = exp(r) - 1
 *
 * where 2^frac(y) comes from a table of 2^F values that fits a register, and q is a minimax polynomial.  Adding 1.5 * 2^(23 - F) -
 * k and subtracting it again rounds to a multiple of 2^-F and leaves F fraction bits at the end of the sum's bits.  They select the
 * table's value, and the bits above them, shifted to the exponent's place, are added to it as an integer.  The shift also moves the
 * fraction bits to the top of the mantissa; the table's values compensate for that.
 *
 * So nothing is subtracted from moderate logits: k alone keeps the result in range, and the only error of r is its own rounding.
 * Logits beyond EXPONENTIAL_REACH have a centre subtracted first.
 *
 * The result is scaled by 2^EXPONENTIAL_BIAS.  So it is never subnormal, which would be slow and imprecise.  Values down to
 * exp(EXPONENTIAL_LOWEST), far below fp32's own range, keep 24 bits until the factor that undoes the scale is applied.  Below that
 * the result is 0.  x = -infinity gives 0, NaN gives NaN, and the result is undefined if x is far above the origin.
 *
 * The functions are in the innermost loops, where a compiler would not always inline them, so they are marked always_inline.
 *
 * The float nearest to ln 2 has a relative error of 2.7e-9.  Where y is multiplied by it alone the origin is k times that float
 * (EXPONENTIAL_LN_2), and the remaining error is 2.7e-9 per unit of distance from the origin.
 */
#ifndef QUERN_CPU_EXPONENTIAL_H
#define QUERN_CPU_EXPONENTIAL_H

enum { EXPONENTIAL_BIAS = 96 };

#define EXPONENTIAL_UNBIAS 0x1p-96
#define EXPONENTIAL_LOWEST (-153.0f)

/* Of the exponentials of products: the table over 2^power is finite. */
#define EXPONENTIAL_LEAST_POWER (-30.0f)

/* LOG2_E * (1 + LOG2_E_REST) is log2(e). */
#define LOG2_E_REST 0x1.cab1b8p-27f
#define LOG2_E 0x1.715476p+0f
#define LN_2 0x1.62e43p-1f

/* 1.5 * 2^23: rounds to an integer. */
#define PORTABLE_ROUND 0x1.8p23f

/* The exponentials are divided by exp(origin), with origin = centre + power * EXPONENTIAL_LN_2. */
struct exponential_origin {
    float centre;
    float power;    /* an integer */
};

#endif
