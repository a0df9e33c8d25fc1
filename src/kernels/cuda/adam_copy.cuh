/* The copy of the new parameters in another type, and the largest magnitude of the copied values.  Included by adam_shares.cuh. */
#ifndef QUERN_DEVICE_ADAM_COPY_CUH
#define QUERN_DEVICE_ADAM_COPY_CUH

#include "kernels/cuda/scale.cuh"
#include "kernels/cuda/share.cuh"
#include "kernels/public.h"

template <class T>
static __device__ __forceinline__ void store_copy(const float *x, char *copy, uint32_t first, uint32_t count, bool by_vectors) {
    share<T, 1> narrow;
    packing<T, 8>::nearest(x, narrow.word);
    narrow.store(copy, first, count, by_vectors);
}

/* A value too large for an 8-bit type becomes its largest finite value; so does infinity. */
template <class T>
static __device__ __forceinline__ void store_scaled_copy(float *x, float scale, char *copy, uint32_t first, uint32_t count,
                                                         bool by_vectors) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        x[i] = __fmul_rn(x[i], scale);
        x[i] = fabsf(x[i]) > T::largest ? copysignf(T::largest, x[i]) : x[i];
    }
    store_copy<T>(x, copy, first, count, by_vectors);
}

/* Eight elements; x is overwritten. */
static __device__ __forceinline__ void copy_group(float *x, int32_t dtype, float scale, char *copy, uint32_t first, uint32_t count,
                                                  bool by_vectors) {
    if (dtype == QUERN_BF16) {
        store_copy<bf16>(x, copy, first, count, by_vectors);
    } else if (dtype == QUERN_F16) {
        store_copy<f16>(x, copy, first, count, by_vectors);
#define QUERN_STORE_COPY(constant, name, exponent) \
    } else if (dtype == constant) { \
        store_copy<name>(x, copy, first, count, by_vectors);
    QUERN_FOR_EACH_COMMON_DTYPE(QUERN_STORE_COPY)
    } else if (dtype == QUERN_E4M3) {
        store_scaled_copy<e4m3>(x, scale, copy, first, count, by_vectors);
    } else {
        store_scaled_copy<e5m2>(x, scale, copy, first, count, by_vectors);
    }
}

/* Raises *number, which is in global memory and at least 0, to a larger value.  As integers such numbers have the same order. */
static __device__ __forceinline__ void raise(float *number, float value) {
    if (value > 0.0f) {
        atomicMax((uint32_t *)number, __float_as_uint(value));
    }
}

#endif
