/* Loads of class weights.  Included by cross_entropy_options.cuh and row_full_sums.cuh. */
#ifndef QUERN_DEVICE_CLASS_WEIGHTS_CUH
#define QUERN_DEVICE_CLASS_WEIGHTS_CUH

#include <stdint.h>

/* COUNT class weights from a column on; all 1 without class weights. */
template <int COUNT> __device__ __forceinline__ void load_weights(const float *class_weights, int64_t column, float *weight) {
    const float *first = class_weights + column;
    if (!class_weights) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            weight[i] = 1.0f;
        }
    } else if (COUNT % 4 == 0 && (uintptr_t)first % 16 == 0) {
#pragma unroll
        for (int i = 0; i < COUNT / 4; i++) {
            const float4 four = __ldg((const float4 *)first + i);
            weight[4 * i] = four.x, weight[4 * i + 1] = four.y, weight[4 * i + 2] = four.z, weight[4 * i + 3] = four.w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            weight[i] = __ldg(first + i);
        }
    }
}

#endif
