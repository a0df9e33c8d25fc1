/*
 * Square root and division, correctly rounded, of operands that are neither tiny nor huge.  Included by adam_step.cuh.  They
 * require
 *
 *   x in [2^-100, 2^100]; |numerator| in [2^-60, 2^60], denominator in [2^-60, 2^60].
 *
 * A numerator of 0 gives +0 with either sign.
 *
 * These are the sequences that the compiler emits for sqrt.rn and div.rn on every generation, without its test for other operands.
 * That test costs a branch per operation and keeps neighbouring elements from overlapping.  The caller tests many operands at once.
 */
#ifndef QUERN_DEVICE_ORDINARY_CUH
#define QUERN_DEVICE_ORDINARY_CUH

#include "kernels/cuda/pair.cuh"

__device__ __forceinline__ pair sqrt_ordinary(pair x) {
    pair reciprocal;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(reciprocal.low) : "f"(x.low));
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(reciprocal.high) : "f"(x.high));
    const pair root = multiply(x, reciprocal);
    const pair residual = multiply_add(negative(root), root, x);
    return multiply_add(residual, multiply(reciprocal, twice(0.5f)), root);
}

__device__ __forceinline__ pair divide_ordinary(pair numerator, pair denominator) {
    pair reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal.low) : "f"(denominator.low));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal.high) : "f"(denominator.high));
    reciprocal = multiply_add(reciprocal, multiply_add(negative(denominator), reciprocal, twice(1.0f)), reciprocal);
    const pair quotient = multiply(numerator, reciprocal);
    return multiply_add(reciprocal, multiply_add(negative(denominator), quotient, numerator), quotient);
}

#endif
