/*
 * Exponentials of a vector relative to an origin, and the way all instruction sets get there.
 *
 * x = y * ln 2 + r with y a multiple of 2^-F, so that for an integer k
 *
 *   exp(x) / 2^k = 2^floor(y - k) * 2^frac(y) * (1 + q(r)),   |r| <= 2^-F * ln 2 / 2,   q(r) = exp(r) - 1
 *
 * where 2^frac(y) comes from a table of 2^F values that fits a register, and q is a minimax polynomial.  Adding 1.5 *
 * 2^(23 - F) - k and subtracting it again rounds to a multiple of 2^-F and leaves F fraction bits at the end of the sum's
 * bits: they pick the table's value, and the bits above them, shifted to the exponent's place, are added to it as an
 * integer.  The shift also moves the fraction bits to the top of the mantissa; the table's values have that taken away
 * beforehand.
 *
 * So nothing is subtracted from the logits as long as they are moderate: k alone keeps the result in range, and r has no
 * error but its own rounding.  Logits beyond EXPONENTIAL_REACH have a centre taken away first.
 *
 * The result is scaled by 2^EXPONENTIAL_BIAS.  So it never is subnormal, where CPUs are slow and precision is lost:
 * values down to exp(EXPONENTIAL_LOWEST), far below fp32's own range, keep 24 bits until they are multiplied by what
 * undoes the scale. Below that the result is 0.  x = -infinity gives 0, NaN gives NaN, x far above the origin anything.
 *
 * They stand in the innermost loops, wherever the compiler would leave them: so they are always inlined.
 *
 * The float nearest to ln 2 is off by 2.7e-9 of its value.  Where y is multiplied by it alone the origin is k times that float
 * (EXPONENTIAL_LN_2), and what remains is an error of 2.7e-9 for each unit of distance from the origin.
 */
#ifndef QUERN_CPU_EXPONENTIAL_H
#define QUERN_CPU_EXPONENTIAL_H

enum { EXPONENTIAL_BIAS = 96 };

#define EXPONENTIAL_UNBIAS 0x1p-96
#define EXPONENTIAL_LOWEST (-153.0f)

#define LOG2_E 0x1.715476p+0f
#define LN_2 0x1.62e43p-1f

/* exp(origin) is what the exponentials are divided by: origin = centre + power * EXPONENTIAL_LN_2. */
struct exponential_origin {
    float centre;
    float power;    /* an integer */
};

#endif
