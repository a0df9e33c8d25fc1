/*
 * exp, log and log1p of doubles with the same bits everywhere: only sums, products and quotients of IEEE 754, none of them fused.
 * Those of C libraries differ in their last bits.  Included by cross_entropy_row.h, for the host and for GPUs.
 */
#ifndef QUERN_FUNCTIONS_H
#define QUERN_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/*
 * C that nvcc compiles for a GPU as well, with loops that stay loops where they are rare.  A GPU calls functions of numbers alone:
 * with others it would need a stack.
 */
#ifdef __CUDACC__
#define QUERN_FUNCTION static __device__ __forceinline__
#define QUERN_LARGE_FUNCTION QUERN_FUNCTION
#define QUERN_NUMBER_FUNCTION static __device__ __noinline__
#define QUERN_ROLLED _Pragma("unroll 1")
#else
#define QUERN_FUNCTION static inline
#define QUERN_LARGE_FUNCTION static __attribute__((noinline, unused))
#define QUERN_NUMBER_FUNCTION QUERN_LARGE_FUNCTION
#define QUERN_ROLLED
#endif

/* ln 2 as a sum; products of the first one with integers of up to 2^20 are exact. */
#define QUERN_LN_2_HIGH 0x1.62e42fee00000p-1
#define QUERN_LN_2_LOW 0x1.a39ef35793c76p-33

QUERN_FUNCTION uint64_t quern_bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

QUERN_FUNCTION double quern_from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest integer, ties to even.  A double of 2^52 or more is one. */
QUERN_FUNCTION double quern_nearest(double x) {
    return fabs(x) < 0x1p51 ? (x + 0x1.8p52) - 0x1.8p52 : x;
}

/* x * 2^power, for integers.  Exact, unless the result is subnormal or beyond all doubles. */
QUERN_NUMBER_FUNCTION double quern_times_power(double x, double power) {
    const int whole = (int)(power > 2200 ? 2200 : power < -2200 ? -2200 : power), third = whole / 3;
    const double factor = quern_from_bits((uint64_t)(1023 + third) << 52);
    return x * factor * factor * quern_from_bits((uint64_t)(1023 + whole - 2 * third) << 52);
}

/* Errors below a unit in the last place: r^14 / 14! is below 2^-57. */
QUERN_NUMBER_FUNCTION double quern_fixed_exp(double x) {
    static const double inverses[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                                      1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    if (!(x < 710)) return x < INFINITY ? INFINITY : x;
    if (x < -750) return 0;
    const double power = quern_nearest(x * 0x1.71547652b82fep+0);
    const double r = (x - power * QUERN_LN_2_HIGH) - power * QUERN_LN_2_LOW;
    const double square = r * r;
    double even = inverses[12], odd = inverses[13];
    for (int i = 10; i >= 0; i -= 2) {
        even = inverses[i] + square * even;
        odd = inverses[i + 1] + square * odd;
    }
    return quern_times_power(even + r * odd, power);
}

/* x = 2^power * m with m from sqrt(1/2) to sqrt(2), and log m = 2 atanh f with f = (m - 1) / (m + 1).  f^22 is below 2^-55. */
QUERN_NUMBER_FUNCTION double quern_fixed_log(double x) {
    if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
    if (!(x < INFINITY)) return x;
    double power = 0;
    if (x < 0x1p-1000) {
        x *= 0x1p100;
        power = -100;
    }
    const uint64_t bits = quern_bits_of(x), root = 0x3FE6A09E667F3BCD;  /* of sqrt(1/2) */
    const int64_t exponent = (int64_t)((bits + (0x3FF0000000000000 - root)) >> 52) - 1023;
    power += (double)exponent;
    const double m = quern_from_bits(bits - ((uint64_t)exponent << 52)), f = (m - 1) / (m + 1), square = f * f;
    static const double terms[] = {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    const double fourth = square * square;
    double even = terms[8], odd = terms[9];
    for (int i = 6; i >= 0; i -= 2) {
        even = terms[i] + fourth * even;
        odd = terms[i + 1] + fourth * odd;
    }
    const double rest = 2 * f * square * (even + square * odd);
    return power * QUERN_LN_2_HIGH + (power * QUERN_LN_2_LOW + (2 * f + rest));
}

/* For x >= 0.  u = 1 + x is rounded, and log u times x / (u - 1) corrects that (Kahan). */
QUERN_NUMBER_FUNCTION double quern_fixed_log1p(double x) {
    const double u = 1 + x;
    if (u == 1 || !(u < INFINITY)) return x;
    return quern_fixed_log(u) * (x / (u - 1));
}

#endif
