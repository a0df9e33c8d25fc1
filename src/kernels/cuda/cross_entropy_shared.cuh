/*
 * The shared memory of a block of a cross-entropy kernel that divides rows by parts: for some parts the sums of its warps and the
 * part's stats, and room for one part after them.  Included by cross_entropy_sums.cuh.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_SHARED_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_SHARED_CUH

#include "kernels/cuda/cross_entropy_layout.cuh"
#include "kernels/cuda/row_stats.cuh"

/* A warp's sums over its columns of one part, without the label.  Their origin is the largest y, or near it. */
struct warp_sums {
    float largest;  /* -infinity: all columns are, or there are none */
    double sum;     /* of the exponentials near the largest */
#if QUERN_FULL
    float moment;   /* of (y - largest) times the exponential */
    float weighted; /* of weight * (y - largest) */
    float weights;
    float maximum;  /* the largest logit; then its column within the part, -1: none */
    int argmax;
#endif
};

/* A block's sums of a part, until they are merged with others. */
struct alignas(16) part_sums {
    warp_sums of_warp[WARPS];
    quern_row_stats stats;
};

/* The stats of merged parts, the sums of some parts, and one part. */
extern __shared__ uint4 shared_memory[];

static __device__ __forceinline__ quern_row_stats &merged_stats() { return *(quern_row_stats *)shared_memory; }

static __device__ __forceinline__ part_sums &sums_of(int place) {
    return ((part_sums *)(&merged_stats() + 1))[place];
}

/* The place of a part, after the sums of `parts` parts. */
static __device__ __forceinline__ uint4 *after_sums(int parts) { return (uint4 *)&sums_of(parts); }

#endif
