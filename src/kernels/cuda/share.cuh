/*
 * A lane's registers of one array: the elements that it loads at once, 8 or 16 of them, which it processes in groups of eight.
 * Included by adam_shares.cuh, gradient_tile.cuh and adam_copy.cuh.
 *
 * Two groups are useful only with vectors of 32 bytes.  Then an array of 16-bit elements spans both groups: one vector loads or
 * stores all its elements.  An array of 32-bit elements is loaded and stored group by group.
 */
#ifndef QUERN_DEVICE_SHARE_CUH
#define QUERN_DEVICE_SHARE_CUH

#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/narrow.cuh"

/* No array. */
struct nothing {
    enum { bytes = 0 };
};

/* The low 16 bits of an fp32 master copy. */
struct remainder16 {
    enum { bytes = 2 };
};

template <class T, int GROUPS> struct share {
    static constexpr bool spans = GROUPS > 1 && T::bytes <= 2;
    static constexpr int elements = spans ? 8 * GROUPS : 8;
    static constexpr int words = elements * T::bytes / 4, group_words = 8 * T::bytes / 4;
    static constexpr int vector_words = words < VECTOR_BYTES / 4 ? words : VECTOR_BYTES / 4;
    static constexpr int per_word = 4 / T::bytes;
    static constexpr uint32_t element_bytes = T::bytes, vector_bytes = 4 * vector_words;
    uint32_t word[words]; /* the present group's words come first */

    /* Loads the elements from `first` on of an array of `count`; elements beyond the end are zeros. */
    __device__ __forceinline__ void load(const void *base, uint32_t first, uint32_t count, bool by_vectors) {
        const char *from = (const char *)base + first * T::bytes;
        if (by_vectors) {
#pragma unroll
            for (int i = 0; i < words; i += vector_words) {
                load_vector_once<vector_bytes>(from + 4 * i, word + i);
            }
        } else {
            const int rest = (int)(count - first);
#pragma unroll
            for (int i = 0; i < elements; i++) {
                const uint32_t x = i < rest ? load_narrow<T::bytes>(from + i * T::bytes) : 0;
                word[i / per_word] = i % per_word ? word[i / per_word] | x << i % per_word * 8 * T::bytes : x;
            }
        }
    }

    __device__ __forceinline__ void store(void *base, uint32_t first, uint32_t count, bool by_vectors) const {
        char *to = (char *)base + first * T::bytes;
        if (by_vectors) {
#pragma unroll
            for (int i = 0; i < words; i += vector_words) {
                store_vector_once<vector_bytes>(to + 4 * i, word + i);
            }
        } else {
            const int rest = (int)(count - first);
#pragma unroll
            for (int i = 0; i < elements; i++) {
                if (i < rest) {
                    store_narrow<T::bytes>(to + i * T::bytes, word[i / per_word] >> i % per_word * 8 * T::bytes);
                }
            }
        }
    }

    /* Brings the next group to the front.  The present one moves behind it or, if it is only passing, is replaced by zeros. */
    __device__ __forceinline__ void next_group(bool passing = false) {
        if (GROUPS == 2 && spans) {
#pragma unroll
            for (int i = 0; i < group_words; i++) {
                const uint32_t front = word[i];
                word[i] = word[group_words + i];
                word[group_words + i] = passing ? 0 : front;
            }
        }
    }
};

/* No registers, and nothing to load or store. */
template <int GROUPS> struct share<nothing, GROUPS> {
    static constexpr bool spans = false;
    static constexpr uint32_t element_bytes = 0, vector_bytes = 1;
    __device__ __forceinline__ void load(const void *, uint32_t, uint32_t, bool) {}
    __device__ __forceinline__ void store(void *, uint32_t, uint32_t, bool) const {}
    __device__ __forceinline__ void next_group(bool = false) {}
};

#endif
