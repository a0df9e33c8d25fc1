/*
 * The storage types as exact real numbers: every value of f32, f16, bf16, e4m3 and e5m2 is a double, and rounding one to any of
 * them is done by its definition (scale to the last place, round to an integer, scale back), not by bit tricks.
 */
#ifndef ORACLE_DTYPE_H
#define ORACLE_DTYPE_H

#include <stdint.h>

#include "quern.h"

/* Element i of an array of dtype. */
double dtype_load(quern_dtype dtype, const void *array, int64_t i);

/* Stores a value, rounded once to nearest, ties to even; NaN becomes 0x7FFF in the 16-bit types, 0x7F in the 8-bit ones. */
void dtype_store(quern_dtype dtype, void *array, int64_t i, double value);

/* The same for one element's bits.  In e4m3, which has no infinity, what overflows becomes NaN. */
double dtype_decode(quern_dtype dtype, uint32_t bits);
uint32_t dtype_encode(quern_dtype dtype, double value);

/* The largest finite value. */
double dtype_largest(quern_dtype dtype);

/* The nearest value of dtype, ties to even, subnormals kept, overflow to infinity. */
double dtype_round(quern_dtype dtype, double value);

/* The nearest value of dtype that is not larger in magnitude; finite values stay finite. */
double dtype_truncate(quern_dtype dtype, double value);

/* The distance between neighbouring values of dtype around a finite value. */
double dtype_ulp(quern_dtype dtype, double value);

#endif
