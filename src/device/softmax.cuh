/*
 * The normaliser of a softmax: sum_j exp(x_j - offset), built up online (Milakov and Gimelshein 2018) and combined over a
 * block.
 *
 * The offset follows the largest x lazily: it moves only when an x lies more than HEADROOM above it.  So it moves rarely,
 * each move suppresses the rounding errors of what was summed before, and exp(x - offset) never exceeds exp(HEADROOM).
 */
#ifndef QUERN_DEVICE_SOFTMAX_CUH
#define QUERN_DEVICE_SOFTMAX_CUH

#include <float.h>
#include <stdint.h>

#define LOG2_E 1.44269504f
#define INFINITY_F32 __uint_as_float(0x7f800000u)

/* 2^x; a result below 2^-126 is flushed to 0. */
__device__ __forceinline__ float exp2_flushed(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* What the rounding of `difference`, which is a - b, has cut off. */
__device__ __forceinline__ float difference_error(float a, float b, float difference) {
    const float back = difference - a;
    return (a - (difference - back)) + (-b - back);
}

struct softmax_normalizer {
    static constexpr float HEADROOM = 2.0f;
    float offset; /* finite, or +infinity if some x is */
    double sum;   /* 0 exactly when every x was -infinity; NaN when some x was NaN or +infinity */

    __device__ __forceinline__ void clear() {
        offset = -FLT_MAX; /* unlike -infinity it can be subtracted from -infinity */
        sum = 0;
    }

    __device__ __forceinline__ void move(float to) {
        sum *= exp2_flushed((offset - to) * LOG2_E);
        offset = to;
    }

    /* COUNT values at once, a power of two: their sum is a tree in fp32, the sum of these sums is in double. */
    template <int COUNT> __device__ __forceinline__ void add(const float *x) {
        float largest = x[0];
#pragma unroll
        for (int i = 1; i < COUNT; i++) {
            largest = fmaxf(largest, x[i]);
        }
        if (largest > offset + HEADROOM) {
            move(largest);
        }
        float e[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            e[i] = exp2_flushed((x[i] - offset) * LOG2_E);
        }
#pragma unroll
        for (int width = COUNT / 2; width > 0; width /= 2) {
#pragma unroll
            for (int i = 0; i < width; i++) {
                e[i] += e[i + width];
            }
        }
        sum += e[0];
    }
};

/* One warp's threads, or one block's warps, become one: the same bits in every lane. */
__device__ __forceinline__ softmax_normalizer softmax_combine_warp(softmax_normalizer mine) {
    float largest = mine.offset;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
    }
    mine.sum *= expf(mine.offset - largest);
    mine.offset = largest;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        mine.sum += __shfl_xor_sync(0xffffffffu, mine.sum, distance);
    }
    return mine;
}

/*
 * Every thread of the block gets the block's normaliser.  There is one __syncthreads inside; another must follow before the
 * next call, so that no warp still reads what the next one writes.
 */
template <int THREADS> __device__ __forceinline__ softmax_normalizer softmax_combine_block(softmax_normalizer mine) {
    constexpr int warps = THREADS / 32;
    static_assert(THREADS % 32 == 0 && warps <= 32, "one lane of a warp per warp of the block");
    __shared__ float offsets[warps];
    __shared__ double sums[warps];
    mine = softmax_combine_warp(mine);
    if (threadIdx.x % 32 == 0) {
        offsets[threadIdx.x / 32] = mine.offset;
        sums[threadIdx.x / 32] = mine.sum;
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    mine.clear();
    if (lane < warps) {
        mine.offset = offsets[lane];
        mine.sum = sums[lane];
    }
    return softmax_combine_warp(mine);
}

#endif
