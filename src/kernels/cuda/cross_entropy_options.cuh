/*
 * The options that have a cost per column: a softcap, a temperature and class weights.  Included by cross_entropy_sums.cuh.  Only
 * the full kernels have them; the others use the stored logit and test or load nothing else per column.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_OPTIONS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_OPTIONS_CUH

#include "kernels/cuda/cross_entropy_layout.cuh"
#include "kernels/cuda/row_stats.cuh"

#if QUERN_FULL
#include "kernels/cuda/class_weights.cuh"
#include "kernels/cuda/softcap.cuh"

/* Values derived from the problem's options, for one row. */
struct row_options {
    softcap cap;
    float inverse_temperature;

    __device__ __forceinline__ row_options(const quern_cross_entropy_problem &problem, int64_t row)
        : cap(problem.softcap), inverse_temperature(inverse_temperature_of(problem, row)) {}
    __device__ __forceinline__ float y_of(float x) const { return (cap.cap != 0 ? cap(x) : x) * inverse_temperature; }
    __device__ __forceinline__ bool has_temperature() const { return inverse_temperature != 1.0f; }
    /* y - origin of a capped logit, in one operation. */
    __device__ __forceinline__ float above(float x, float origin) const { return __fmaf_rn(x, inverse_temperature, -origin); }
};
#else

struct row_options {
    __device__ __forceinline__ row_options(const quern_cross_entropy_problem &, int64_t) {}
    __device__ __forceinline__ float y_of(float x) const { return x; }
    __device__ __forceinline__ bool has_temperature() const { return false; }
    __device__ __forceinline__ float above(float x, float origin) const { return x - origin; }
};
#endif

#endif
