/* Exponentials, infinity, and the warp reductions of a softmax.  Included by row_stats.cuh and softcap.cuh. */
#ifndef QUERN_DEVICE_EXPONENTIAL_CUH
#define QUERN_DEVICE_EXPONENTIAL_CUH

#include <float.h>
#include <stdint.h>

#define LOG2_E 1.44269504f
#define LOG2_E_REST 1.92596299e-8f /* log2(e) = LOG2_E + LOG2_E_REST */
#define LOG2_E_F64 1.44269504088896340736
#define LN_2 0.693147181f
#define INFINITY_F32 __uint_as_float(0x7f800000u)
#define INFINITY_F64 __longlong_as_double(0x7ff0000000000000ll)

/* 2^x; a result below 2^-126 is flushed to 0. */
__device__ __forceinline__ float exp2_flushed(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 1 / x, within one unit in the last place, for an x that is neither tiny nor huge. */
__device__ __forceinline__ float reciprocal_approximate(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Reductions as trees over LANES lanes of a warp, side by side: the same bits in each of them.  By all lanes of the warp. */

template <int LANES> __device__ __forceinline__ float largest_of_lanes(float mine) {
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        mine = fmaxf(mine, __shfl_xor_sync(0xffffffffu, mine, distance));
    }
    return mine;
}

template <int LANES, class T> __device__ __forceinline__ T sum_of_lanes(T mine) {
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        mine += __shfl_xor_sync(0xffffffffu, mine, distance);
    }
    return mine;
}

__device__ __forceinline__ float largest_of_warp(float mine) { return largest_of_lanes<32>(mine); }
template <class T> __device__ __forceinline__ T sum_of_warp(T mine) { return sum_of_lanes<32>(mine); }

/* A value and its column.  The reduction finds the largest value and, of equal values, the first column; column -1: none. */
struct place_of_largest {
    float value;
    int64_t column;

    __device__ __forceinline__ void take(float other_value, int64_t other_column) {
        const bool is_better = column < 0 || other_value > value || (other_value == value && other_column < column);
        if (other_column >= 0 && is_better) {
            value = other_value;
            column = other_column;
        }
    }
    __device__ __forceinline__ void reduce_warp() {
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            const float other_value = __shfl_xor_sync(0xffffffffu, value, distance);
            const int64_t other_column = __shfl_xor_sync(0xffffffffu, column, distance);
            take(other_value, other_column);
        }
    }
};

#endif
