/*
 * A gradient times its upstream gradients, in place: a block multiplies a part of a row, and ends at once if the row's factor is 1.
 * Included by the source of these kernels in generated/cross_entropy/.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_UPSTREAM_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_UPSTREAM_CUH

#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/problem.h"

/*
 * An inexact product becomes its neighbour with an odd last bit, which is no tie of 16 bits.  A double has all bits of the product
 * of a 16-bit value.
 */
static __device__ __forceinline__ float rounded_to_odd(float x, float factor, float product) {
    const double exact = (double)x * (double)factor, found = (double)product;
    const uint32_t bits = __float_as_uint(product) - (fabs(found) > fabs(exact) ? 1 : 0);
    return __uint_as_float(bits | (found != exact ? 1 : 0));
}

/*
 * The product as it is rounded to T next, so that T has the exact product rounded once.  To round twice is wrong only for a
 * product that was inexact and has become a tie of 16 bits: the 12 lowest bits of those are 0.  The fused operation finds its
 * error, unless that is so small that it underflows.
 */
template <class T> static __device__ __forceinline__ float product_of(float x, float factor) {
    const float product = __fmul_rn(x, factor);
    if (T::bytes == 4 || __float_as_uint(product) & 0xfff || product == 0.0f) {
        return product;
    }
    const bool is_exact = __fmaf_rn(x, factor, -product) == 0.0f && fabsf(product) >= 0x1p-100f;
    return is_exact ? product : rounded_to_odd(x, factor, product);
}

template <class T> static __device__ __forceinline__ void multiply_element(char *grad, int64_t column, float factor) {
    const float x = T::widen(load_element<T>(grad, column));
    store_element<T>(grad, column, T::nearest(product_of<T>(x, factor)));
}

template <class T> static __device__ __forceinline__ void multiply_vector(char *grad, float factor) {
    constexpr int elements = VECTOR_BYTES / T::bytes;
    uint32_t word[VECTOR_BYTES / 4];
    float x[elements];
    load_vector_once<VECTOR_BYTES>(grad, word);
    packing<T, elements>::widen(word, x);
#pragma unroll
    for (int i = 0; i < elements; i++) {
        x[i] = product_of<T>(x[i], factor);
    }
    packing<T, elements>::nearest(x, word);
    store_vector_once<VECTOR_BYTES>(grad, word);
}

/* Columns before the first aligned vector and behind the last one are fewer than threads. */
template <class T> static __device__ __forceinline__ void multiply_columns(char *grad, int columns, float factor) {
    constexpr int elements = VECTOR_BYTES / T::bytes;
    const int misaligned = (VECTOR_BYTES - (int)((uintptr_t)grad % VECTOR_BYTES)) % VECTOR_BYTES / T::bytes;
    const int head = misaligned < columns ? misaligned : columns, vectors = (columns - head) / elements;
    const int edge = threadIdx.x < head ? threadIdx.x : threadIdx.x + vectors * elements;
    if (edge < columns) {
        multiply_element<T>(grad, edge, factor);
    }
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
        multiply_vector<T>(grad + (head + i * elements) * T::bytes, factor);
    }
}

/* The padding of the gradient is zero and stays so. */
template <class T> static __device__ __forceinline__ void run_upstream(const quern_cross_entropy_problem &problem) {
    constexpr int part_columns = QUERN_GPU_PART_BYTES / T::bytes;
    const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x, row = block / problem.part_count;
    const int64_t first = block % problem.part_count * part_columns, left = problem.vocab - first;
    if (row >= problem.rows) {
        return;
    }
    const float factor = problem.grad_loss[row * problem.grad_loss_stride];
    if (factor != 1.0f) {
        multiply_columns<T>((char *)problem.grad + (row * problem.grad_stride + first) * T::bytes,
                            left < part_columns ? (int)left : part_columns, factor);
    }
}

#endif
