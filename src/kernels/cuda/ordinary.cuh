/*
 * Square root and division, correctly rounded, of operands that are neither tiny nor huge.  Included by adam_step.cuh.  They
 * require
 *
 *   x in [2^-100, 2^100]; |numerator| in [2^-60, 2^60], denominator in [2^-60, 2^60].
 *
 * These are the sequences that the compiler emits for sqrt.rn and div.rn on every generation, without its test for other operands.
 * That test costs a branch per operation and keeps neighbouring elements from overlapping.  The caller tests many operands at once.
 */
#ifndef QUERN_DEVICE_ORDINARY_CUH
#define QUERN_DEVICE_ORDINARY_CUH

__device__ __forceinline__ float sqrt_ordinary(float x) {
    float reciprocal_root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(reciprocal_root) : "f"(x));
    const float root = __fmul_rn(x, reciprocal_root);
    const float residual = __fmaf_rn(-root, root, x);
    return __fmaf_rn(residual, __fmul_rn(reciprocal_root, 0.5f), root);
}

__device__ __forceinline__ float divide_ordinary(float numerator, float denominator) {
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(denominator));
    reciprocal = __fmaf_rn(reciprocal, __fmaf_rn(-denominator, reciprocal, 1.0f), reciprocal);
    const float quotient = __fmul_rn(numerator, reciprocal);
    return __fmaf_rn(reciprocal, __fmaf_rn(-denominator, quotient, numerator), quotient);
}

#endif
