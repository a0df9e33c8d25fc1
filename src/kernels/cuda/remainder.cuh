/*
 * An fp32 master copy in two parts: the bf16 parameter, which is the master rounded to nearest, ties toward zero, and the low 16
 * bits of the master.  Included by adam_shares.cuh.  If the low bits are more than half of the parameter's last place, the
 * parameter was rounded up, and loading undoes this.
 */
#ifndef QUERN_DEVICE_REMAINDER_CUH
#define QUERN_DEVICE_REMAINDER_CUH

#include "kernels/cuda/dtype.cuh"

/* Eight elements; each word holds two of them. */
static __device__ __forceinline__ void join_remainder(const uint32_t *param, const uint32_t *remainder, float *x) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint32_t low = i % 2 ? remainder[i / 2] >> 16 : remainder[i / 2] & 0xffffu;
        const uint32_t joined = __byte_perm(remainder[i / 2], param[i / 2], i % 2 ? 0x7632 : 0x5410);
        x[i] = __uint_as_float(joined - (low + 0x7fffu & 0x10000u));
    }
}

static __device__ __forceinline__ void split_remainder(const float *x, uint32_t *param, uint32_t *remainder) {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        const uint32_t low = x[i] != x[i] ? QUERN_NAN16 << 16 : __float_as_uint(x[i]);
        const uint32_t high = x[i + 1] != x[i + 1] ? QUERN_NAN16 << 16 : __float_as_uint(x[i + 1]);
        param[i / 2] = __byte_perm(low + 0x7fffu, high + 0x7fffu, 0x7632);
        remainder[i / 2] = __byte_perm(low, high, 0x5410);
    }
}

#endif
