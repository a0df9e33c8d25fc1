/*
 * The options that have a cost per column: a softcap and class weights.  Included by cross_entropy_sums.cuh.  Only the full kernels
 * have them; the others use the stored logit and test or load nothing else per column.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_OPTIONS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_OPTIONS_CUH

#include "kernels/cuda/cross_entropy_layout.cuh"
#include "kernels/cuda/row_stats.cuh"

#if QUERN_FULL
#include "kernels/cuda/softcap.cuh"

/* Values derived from the problem's options. */
struct row_options {
    softcap cap;

    __device__ __forceinline__ explicit row_options(const quern_cross_entropy_problem &problem) : cap(problem.softcap) {}
    __device__ __forceinline__ float capped(float x) const { return cap.cap != 0 ? cap(x) : x; }
};

/* COUNT class weights from a column on; all 1 without class weights. */
template <int COUNT>
static __device__ __forceinline__ void load_weights(const quern_cross_entropy_problem &problem, int64_t column, float *weight) {
    const float *first = problem.class_weights + column;
    if (!problem.class_weights) {
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
#else

struct row_options {
    __device__ __forceinline__ explicit row_options(const quern_cross_entropy_problem &) {}
    __device__ __forceinline__ float capped(float x) const { return x; }
};
#endif

#endif
