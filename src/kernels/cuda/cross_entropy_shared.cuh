/*
 * What a block of a cross-entropy kernel keeps in shared memory: of each part of its row the sums of its warps and what they come
 * to, and, where the kernel keeps the row between its passes, the row itself behind them.  How much that is depends on the row's
 * parts, so that a short row leaves room for a second block and a row as long as the chip allows still fits.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_SHARED_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_SHARED_CUH

#include "kernels/cuda/cross_entropy_layout.cuh"
#include "kernels/cuda/row_stats.cuh"

/* What a warp knows of its columns of one part, the label's left out; the sums' origin is the largest, or near it. */
struct warp_sums {
    float largest;  /* -infinity: all are, or it has none */
    double sum;     /* of the exponentials near the largest */
#if QUERN_FULL
    float moment;   /* of (y - largest) times the exponential */
    float weighted; /* of weight * (y - largest) */
    float weights;
    float maximum;  /* the largest logit, and its column within the part; -1: none */
    int argmax;
#endif
};

/* What a block knows of a part until it is merged with others. */
struct alignas(16) part_sums {
    warp_sums of_warp[WARPS];
    quern_row_stats stats;
    uint64_t arrived;  /* an mbarrier, where bulk copies bring the part */
};

/* The stats of the parts that have been merged, the sums of some parts, and what of the row is kept between the passes. */
extern __shared__ uint4 shared_memory[];

static __device__ __forceinline__ quern_row_stats &merged_stats() { return *(quern_row_stats *)shared_memory; }

static __device__ __forceinline__ part_sums &sums_of(int place) {
    return ((part_sums *)(&merged_stats() + 1))[place];
}

/* Where the row begins, after the sums of so many parts. */
static __device__ __forceinline__ uint4 *after_sums(int parts) { return (uint4 *)&sums_of(parts); }

#endif
