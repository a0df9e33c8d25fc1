/*
 * Exponentials of a row's logits, and their sums.  Included by row_team.cuh and row_gradient.cuh.
 *
 * An exponential is 2^(x * slope - origin).  The slope is log2(e), rounded to fp32, which changes all exponents by one part in 7e7;
 * the origin is a whole number near the largest x * slope, so that a change of origin changes no bit but the exponent's.
 */
#ifndef QUERN_DEVICE_ROW_POWERS_CUH
#define QUERN_DEVICE_ROW_POWERS_CUH

#include "kernels/cuda/exponential.cuh"
#include "kernels/cuda/pair.cuh"
#include "kernels/cuda/row_image.cuh"

/*
 * Beyond 2^31 fp32 logits that differ do so by 256 at least: their exponentials are 0 or 1, whatever the slope is, and x * log2(e)
 * could overflow.
 */
#define LARGEST_SLOPED 2147483648.0f

struct row_scale {
    float slope, origin;

    /* The origin for a row, or a piece of one, from its largest logit. */
    static __device__ __forceinline__ row_scale of_largest(float largest) {
        if (largest == -INFINITY_F32) {
            return {LOG2_E, 0.0f};
        }
        return fabsf(largest) > LARGEST_SLOPED ? row_scale{1.0f, largest} : row_scale{LOG2_E, rintf(largest * LOG2_E)};
    }

    /* The origin for the first sums, from the largest logit of a sample. */
    static __device__ __forceinline__ float of_sample(float largest) {
        const float origin = of_largest(fminf(fmaxf(largest, -65536.0f), 65536.0f)).origin;
        return largest == -INFINITY_F32 ? 0.0f : origin;
    }
};

/* The i-th pair of elements of a vector. */
static __device__ __forceinline__ pair widen_pair(const uint32_t *word, int i) {
    float x[2];
    packing<element, 2>::widen(word + i * element::bytes / 2, x);
    return {x[0], x[1]};
}

static __device__ __forceinline__ pair exponentials(pair x, float slope, float origin) {
    const pair power = multiply_add(x, twice(slope), twice(-origin));
    return {exp2_flushed(power.low), exp2_flushed(power.high)};
}

static __device__ __forceinline__ float exponential(float x, row_scale scale) {
    return exp2_flushed(__fmaf_rn(x, scale.slope, -scale.origin));
}

/* 2^n for a whole n up to 127, 0 below -126; exact, unlike ex2.approx.  A sum with 1.5 * 2^23 has n in its lowest bits. */
static __device__ __forceinline__ float power_of_two(float n) {
    return __uint_as_float(__float_as_uint(fmaxf(n, -127.0f) + (12582912.0f + 127.0f)) << 23);
}

/* The sum of the exponentials of COUNT pairs, as a tree. */
template <int COUNT> static __device__ __forceinline__ pair sum_of_tree(const uint32_t *word, row_scale scale) {
    if constexpr (COUNT == 1) {
        return exponentials(widen_pair(word, 0), scale.slope, scale.origin);
    } else {
        constexpr int half = COUNT / 2 * element::bytes / 2; /* words */
        return add(sum_of_tree<COUNT / 2>(word, scale), sum_of_tree<COUNT / 2>(word + half, scale));
    }
}

/* The sum of COUNT vectors' exponentials. */
template <int COUNT> static __device__ __forceinline__ float sum_vectors(const uint32_t (&word)[COUNT][4], row_scale scale) {
    const pair sum = sum_of_tree<COUNT * VECTOR / 2>(&word[0][0], scale);
    return sum.low + sum.high;
}

/* The largest of the vectors at `at`, at + STEP, ... before the end. */
template <class READER, class ADDRESS>
static __device__ __forceinline__ float largest_of_vectors(READER read, ADDRESS at, ADDRESS end) {
    float largest = -INFINITY_F32;
#pragma unroll 1
    for (; at < end; at += STEP) {
        uint32_t word[4];
        read(at, word);
#pragma unroll
        for (int i = 0; i < VECTOR / 2; i++) {
            const pair x = widen_pair(word, i);
            largest = fmaxf(largest, fmaxf(x.low, x.high));
        }
    }
    return largest;
}

/* The sum of the vectors at `at`, at + STEP, ... before the end. */
template <class READER, class ADDRESS>
static __device__ __forceinline__ float sum_plainly(READER read, ADDRESS at, ADDRESS end, row_scale scale) {
    float sum = 0.0f;
#pragma unroll 1
    for (; at < end; at += STEP) {
        uint32_t word[1][4];
        read(at, word[0]);
        sum += sum_vectors(word, scale);
    }
    return sum;
}

/* Above this sum of a batch, the origin is too far below its largest logit for accurate exponents. */
#define LARGEST_BATCH 4096.0f

/* The same sum relative to an origin of its own, then rescaled; infinite if its logits are too large for that.  Rare. */
template <class READER, class ADDRESS>
static __device__ __noinline__ float sum_raised(READER read, ADDRESS at, ADDRESS end, row_scale scale) {
    const row_scale own = row_scale::of_largest(largest_of_vectors(read, at, end));
    const float distance = own.origin - scale.origin;
    if (own.slope != scale.slope || !(distance < 100.0f)) {
        return INFINITY_F32;
    }
    return sum_plainly(read, at, end, own) * power_of_two(distance);
}

/* COUNT vectors of a thread from `at` on. */
template <int COUNT, class READER, class ADDRESS>
static __device__ __forceinline__ void read_batch(const READER &read, ADDRESS at, uint32_t (&word)[COUNT][4]) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        read(at + i * STEP, word[i]);
    }
}

/* The sum of COUNT vectors of a thread from `at` on.  again: a reader of the same vectors in little code. */
template <int COUNT, class READER, class AGAIN, class ADDRESS>
static __device__ __forceinline__ float sum_batch(READER read, AGAIN again, ADDRESS at, row_scale scale) {
    uint32_t word[COUNT][4];
    read_batch(read, at, word);
    const float sum = sum_vectors(word, scale);
    return __builtin_expect(sum > LARGEST_BATCH, 0) ? sum_raised(again, at, at + COUNT * STEP, scale) : sum;
}

/* A thread's share of the sum of the exponentials from `at` to the end. */
template <class READER, class AGAIN, class ADDRESS>
static __device__ __forceinline__ float sum_batches(READER read, AGAIN again, ADDRESS at, ADDRESS end, row_scale scale) {
    float sum = 0.0f;
#pragma unroll 1
    for (; at + batch_reach() < end; at += BATCH * STEP) {
        sum += sum_batch<BATCH>(read, again, at, scale);
    }
#pragma unroll 1
    for (; at < end; at += STEP) {
        sum += sum_batch<1>(read, again, at, scale);
    }
    return sum;
}

/* The columns that fill no vector, one for each of the first threads. */
static __device__ __forceinline__ float rest_of(uint32_t image, int columns) {
    const int column = columns / VECTOR * VECTOR + own_number();
    return column < columns ? element::widen(load_shared_element(image + column * element::bytes)) : -INFINITY_F32;
}

/* An exponential whose logit may be far above the origin. */
static __device__ __forceinline__ float exponential_raised(float x, row_scale scale) {
    const float e = exponential(x, scale);
    if (!(e > LARGEST_BATCH)) {
        return e;
    }
    const row_scale own = row_scale::of_largest(x);
    const float distance = own.origin - scale.origin;
    return own.slope == scale.slope && distance < 100.0f ? exponential(x, own) * power_of_two(distance) : INFINITY_F32;
}

/* A thread's share of the sum of the exponentials of `columns` columns, without those after the last vector. */
static __device__ __forceinline__ float sum_columns(uint32_t image, int columns, row_scale scale) {
    return read_from(image, [&](uint32_t base, auto read) {
        return sum_batches(read, any_reader{image - base}, base + own_number() * 16, base + columns / VECTOR * 16, scale);
    });
}

#endif
