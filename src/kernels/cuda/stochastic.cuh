/*
 * Stochastic rounding of fp32 values to 16 bits, for bf16 and, in format.cuh, for formats: random bits are added below the last
 * kept bit, and the rest is cut off.  Included by scale.cuh and random_words.cuh.  Infinity stays infinity, NaN becomes the one
 * stored NaN, and a finite value never becomes infinite.
 *
 * A word of random bits serves two elements, the lower half the first.
 *
 * sm_100a and sm_103a have the instruction cvt.rs for this.  It is not used.  For bf16 it takes the random word in this layout, but
 * large values and infinity would need the same tests, and it would save two of 46 instructions per element in a kernel that waits
 * for memory.  For 8-bit types it is unsuitable, because its elements share random bits.
 */
#ifndef QUERN_DEVICE_STOCHASTIC_CUH
#define QUERN_DEVICE_STOCHASTIC_CUH

#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/pair.cuh"

template <> struct stochastic<bf16> {
    static constexpr float largest = 0x1.fep127f; /* finite bf16 */

    /*
     * Whether a value may be near the largest finite one, which is not rounded up, or infinite or NaN.  They are rare, so one test
     * covers them.
     */
    template <int COUNT> static __device__ __forceinline__ bool may_have_large(const float *x) {
        pair total = {0.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < COUNT; i += 2) {
            total = multiply_add(pair_of(x, i), pair_of(x, i), total);
        }
        return !(total.low + total.high < 0x1p120f);
    }

    /* COUNT elements, from x to the words of out; `finite` promises that all are below the largest finite value. */
    template <int COUNT>
    static __device__ __forceinline__ void round(const float *x, uint32_t *random, uint32_t *out, bool finite) {
        uint32_t bits[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            bits[i] = __float_as_uint(x[i]);
        }
        if (!finite && may_have_large<COUNT>(x)) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                random[i / 2] &= fabsf(x[i]) < largest ? 0xffffffffu : i % 2 ? 0x0000ffffu : 0xffff0000u;
                bits[i] = x[i] != x[i] ? QUERN_NAN16 << 16 : bits[i];
            }
        }
#pragma unroll
        for (int i = 0; i < COUNT; i += 2) {
            const uint32_t low = bits[i] + (random[i / 2] & 0xffffu), high = bits[i + 1] + (random[i / 2] >> 16);
            out[i / 2] = __byte_perm(low, high, 0x7632);
        }
    }
};

#endif
