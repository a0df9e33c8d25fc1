/*
 * Pairs of fp32 values.  Included by row_powers.cuh, stochastic.cuh and adam_step.cuh.
 *
 * The operations on pairs round each value once, as those on single values do, so the bits are the same on every generation.
 */
#ifndef QUERN_DEVICE_PAIR_CUH
#define QUERN_DEVICE_PAIR_CUH

#include <stdint.h>

#ifndef QUERN_PAIRED_F32
#error QUERN_PAIRED_F32 must be 1 where one instruction multiplies and adds two pairs of fp32 values, else 0
#endif

/* Two values that one instruction can multiply and add, where the target has such. */
struct pair {
    float low, high;
};

#if QUERN_PAIRED_F32
static __device__ __forceinline__ uint64_t joined(pair a) {
    uint64_t both;
    asm("mov.b64 %0, {%1, %2};" : "=l"(both) : "f"(a.low), "f"(a.high));
    return both;
}
static __device__ __forceinline__ pair parted(uint64_t both) {
    pair a;
    asm("mov.b64 {%0, %1}, %2;" : "=f"(a.low), "=f"(a.high) : "l"(both));
    return a;
}
static __device__ __forceinline__ pair multiply_add(pair a, pair b, pair c) {
    uint64_t r;
    asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(r) : "l"(joined(a)), "l"(joined(b)), "l"(joined(c)));
    return parted(r);
}
static __device__ __forceinline__ pair add(pair a, pair b) {
    uint64_t r;
    asm("add.rn.f32x2 %0, %1, %2;" : "=l"(r) : "l"(joined(a)), "l"(joined(b)));
    return parted(r);
}
static __device__ __forceinline__ pair multiply(pair a, pair b) {
    uint64_t r;
    asm("mul.rn.f32x2 %0, %1, %2;" : "=l"(r) : "l"(joined(a)), "l"(joined(b)));
    return parted(r);
}
#else
static __device__ __forceinline__ pair multiply_add(pair a, pair b, pair c) {
    return {__fmaf_rn(a.low, b.low, c.low), __fmaf_rn(a.high, b.high, c.high)};
}
static __device__ __forceinline__ pair add(pair a, pair b) { return {a.low + b.low, a.high + b.high}; }
static __device__ __forceinline__ pair multiply(pair a, pair b) { return {a.low * b.low, a.high * b.high}; }
#endif

static __device__ __forceinline__ pair twice(float x) { return {x, x}; }
static __device__ __forceinline__ pair negative(pair a) { return {-a.low, -a.high}; } /* part of the next operation */

/* Elements i and i + 1 of an array. */
static __device__ __forceinline__ pair pair_of(const float *x, int i) { return {x[i], x[i + 1]}; }
static __device__ __forceinline__ void set_pair(float *x, int i, pair a) { x[i] = a.low, x[i + 1] = a.high; }

#endif
