/*
 * The rounding of vectors of gradients that have no NaN, at half the cost where no instruction rounds to bf16.  Included by
 * row_gradient.cuh.
 */
#ifndef QUERN_DEVICE_NUMBERS_CUH
#define QUERN_DEVICE_NUMBERS_CUH

#include "kernels/cuda/row_image.cuh"

/* The rounded value in the upper half: two instructions carry the last bit that stays into the addition of nearly a half. */
static __device__ __forceinline__ uint32_t nearest_upper_of_number(float x) {
    uint32_t upper;
    asm("{\n"
        "    .reg .u32 last;\n"
        "    shl.b32 last, %1, 15;\n"
        "    add.cc.u32 last, last, 0x80000000;\n"
        "    addc.u32 %0, %1, 0x7fff;\n"
        "}" : "=r"(upper) : "r"(__float_as_uint(x)));
    return upper;
}

static __device__ __forceinline__ void round_numbers(const float (&x)[VECTOR], uint32_t (&word)[4]) {
#pragma unroll
    for (int i = 0; i < VECTOR / 2; i++) {
        if constexpr (is_same<element, bf16> && !QUERN_BF16_CONVERT) {
            word[i] = __byte_perm(nearest_upper_of_number(x[2 * i]), nearest_upper_of_number(x[2 * i + 1]), 0x7632);
        } else {
            packing<element, 2>::nearest(x + 2 * i, word + i);
        }
    }
}

#endif
