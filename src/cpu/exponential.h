/*
 * exp(t) of a vector for t <= 0, and the way all instruction sets get there.
 *
 * t = y * ln 2 + r with y a multiple of 2^-F, so that
 *
 *   exp(t) = 2^floor(y) * 2^frac(y) * (1 + q(r)),   |r| <= 2^-F * ln 2 / 2,   q(r) = exp(r) - 1
 *
 * where 2^frac(y) comes from a table of 2^F values that fits a register, and q is a minimax polynomial.  Adding and subtracting
 * 1.5 * 2^(23 - F) rounds to a multiple of 2^-F and leaves F fraction bits at the end of the sum's bits: they pick the table's
 * value, and the bits above them, shifted to the exponent's place, are added to it as an integer.  The shift also moves the
 * fraction bits to the top of the mantissa; the table's values have that taken away beforehand.
 *
 * The result is scaled by 2^EXPONENTIAL_BIAS.  So it never is subnormal, where CPUs are slow and precision is lost: values down
 * to exp(EXPONENTIAL_LOWEST), far below fp32's own range, keep 24 bits until they are multiplied by what undoes the scale.
 * Below that the result is 0.  t = -infinity gives 0, NaN gives NaN, t > 0 anything.
 *
 * The relative error is below 1.6e-7 near 0.  The float nearest to ln 2 is off by 2.7e-9 of its value only, so y * ln 2 needs
 * no second term: it adds 4.2e-7 at the very lowest t.
 */
#ifndef QUERN_CPU_EXPONENTIAL_H
#define QUERN_CPU_EXPONENTIAL_H

enum { EXPONENTIAL_BIAS = 96 };

#define EXPONENTIAL_UNBIAS 0x1p-96
#define EXPONENTIAL_LOWEST (-153.0f)

#define LOG2_E 0x1.715476p+0f
#define LN_2 0x1.62e43p-1f

#endif
