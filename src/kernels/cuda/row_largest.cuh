/*
 * The largest logit of a share, the largest magnitude, and the first column that has the largest logit.  Included by
 * row_softcap.cuh.  Pairs of 16-bit logits are compared where they are, without widening, if the target can.  A NaN is passed over.
 */
#ifndef QUERN_DEVICE_ROW_LARGEST_CUH
#define QUERN_DEVICE_ROW_LARGEST_CUH

#include "kernels/cuda/row_powers.cuh"

/* Targets that round pairs of bf16 in one instruction compare pairs so, too, and those of f16. */
constexpr bool COMPARES_PAIRS = (is_same<element, f16> || is_same<element, bf16>) && QUERN_BF16_CONVERT;

/* Of each half of a word. */
static __device__ __forceinline__ uint32_t larger_halves(uint32_t a, uint32_t b) {
    uint32_t larger = a;
#if QUERN_BF16_CONVERT
    if constexpr (is_same<element, bf16>) {
        asm("max.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
    } else {
        asm("max.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
    }
#endif
    return larger;
}

static __device__ __forceinline__ uint32_t smaller_halves(uint32_t a, uint32_t b) {
    uint32_t smaller = a;
#if QUERN_BF16_CONVERT
    if constexpr (is_same<element, bf16>) {
        asm("min.bf16x2 %0, %1, %2;" : "=r"(smaller) : "r"(a), "r"(b));
    } else {
        asm("min.f16x2 %0, %1, %2;" : "=r"(smaller) : "r"(a), "r"(b));
    }
#endif
    return smaller;
}

/* The largest of some logits and, if MAGNITUDE, the largest magnitude. */
template <bool MAGNITUDE> struct largest_logits {
    uint32_t high = in_all_places<element> * element::minus_infinity, low = 0;
    float largest = -INFINITY_F32, magnitude = 0.0f;

    __device__ __forceinline__ void take(const uint32_t (&word)[4]) {
        if constexpr (COMPARES_PAIRS) {
            high = larger_halves(high, larger_halves(larger_halves(word[0], word[1]), larger_halves(word[2], word[3])));
            if (MAGNITUDE) {
                low = smaller_halves(low, smaller_halves(smaller_halves(word[0], word[1]), smaller_halves(word[2], word[3])));
            }
        } else {
#pragma unroll
            for (int i = 0; i < VECTOR / 2; i++) {
                take(widen_pair(word, i));
            }
        }
    }
    __device__ __forceinline__ void take(pair x) {
        largest = fmaxf(largest, fmaxf(x.low, x.high));
        if (MAGNITUDE) {
            magnitude = fmaxf(magnitude, fmaxf(fabsf(x.low), fabsf(x.high)));
        }
    }
    /* Before the results are read. */
    __device__ __forceinline__ void finish() {
        if constexpr (COMPARES_PAIRS) {
            const pair highest = widen_pair(&high, 0), lowest = widen_pair(&low, 0);
            take(highest);
            magnitude = fmaxf(magnitude, fmaxf(fabsf(lowest.low), fabsf(lowest.high)));
        }
    }
};

/*
 * Reads vectors that begin so many bytes after a multiple of 16.  Unlike shifted_reader it is one piece of code for all offsets,
 * which loops with many instructions for each logit can afford.
 */
struct turned_reader {
    bool by_one, by_two;
    uint32_t bits;

    __device__ __forceinline__ explicit turned_reader(uint32_t offset)
        : by_one(offset & 4), by_two(offset & 8), bits(offset % 4 * 8) {}

    __device__ __forceinline__ void operator()(uint32_t at, uint32_t (&word)[4]) const {
        uint32_t both[8];
        load_words(at, both);
        load_words(at + 16, both + 4);
#pragma unroll
        for (int i = 0; i < 7; i++) {
            both[i] = by_one ? both[i + 1] : both[i];
        }
#pragma unroll
        for (int i = 0; i < 5; i++) {
            both[i] = by_two ? both[i + 2] : both[i];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            word[i] = element::bytes == 4 ? both[i] : __funnelshift_r(both[i], both[i + 1], bits);
        }
    }
};

/* Calls WORK with the multiple of 16 below an address, and a reader of vectors that begin at that address. */
template <class WORK> static __device__ __forceinline__ auto read_turned_from(uint32_t first, WORK work) {
    const uint32_t base = first & ~15u;
    return first == base ? work(base, aligned_reader()) : work(base, turned_reader(first - base));
}

/* Those of a thread's vectors. */
template <bool MAGNITUDE>
static __device__ __forceinline__ largest_logits<MAGNITUDE> largest_of_share(uint32_t image, int columns) {
    return read_turned_from(image, [&](uint32_t base, auto read) {
        largest_logits<MAGNITUDE> logits;
        uint32_t at = base + threadIdx.x * 16, word[4];
        const uint32_t end = base + columns / VECTOR * 16;
#pragma unroll 1
        for (; at + (BATCH - 1) * STEP < end; at += BATCH * STEP) {
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                read(at + i * STEP, word);
                logits.take(word);
            }
        }
#pragma unroll 1
        for (; at < end; at += STEP) {
            read(at, word);
            logits.take(word);
        }
        logits.finish();
        return logits;
    });
}

enum { NO_COLUMN = 0x7fffffff };

/* The first column with this logit, other than the label's, among the vectors of a thread that has one. */
static __device__ __noinline__ int first_column_with(float x, uint32_t image, int columns, int label) {
    const uint32_t base = image & ~15u, end = base + columns / VECTOR * 16;
    const turned_reader read(image - base);
    int column = threadIdx.x * VECTOR;
#pragma unroll 1
    for (uint32_t at = base + threadIdx.x * 16; at < end; at += STEP, column += THREADS * VECTOR) {
        uint32_t word[4];
        read(at, word);
        int found = NO_COLUMN;
#pragma unroll
        for (int i = VECTOR - 1; i >= 0; i--) {
            const pair two = widen_pair(word, i / 2);
            found = (i % 2 ? two.high : two.low) == x && column + i != label ? column + i : found;
        }
        if (found != NO_COLUMN) {
            return found;
        }
    }
    return NO_COLUMN;
}

#endif
