/* Random bits of eight elements that begin anywhere in a tensor.  Included by quantize_matrix.cuh and chunks_blocks.cuh. */
#ifndef QUERN_DEVICE_QUANTIZE_RANDOM_CUH
#define QUERN_DEVICE_QUANTIZE_RANDOM_CUH

#include "kernels/cuda/philox.cuh"

/* Elements `first` to first + 7 of 16, by `first` of them. */
static __device__ __forceinline__ void shift_halves(uint32_t *word, uint32_t first) {
#pragma unroll
    for (int distance = 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int i = 0; i + distance < 8; i++) {
            word[i] = first & 2 * distance ? word[i + distance] : word[i];
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        word[i] = first & 1 ? word[i] >> 16 | word[i + 1] << 16 : word[i];
    }
}

struct matrix_random {
    uint32_t offset, place;
    const uint32_t *seed;

    __device__ __forceinline__ void draw(uint64_t group, uint32_t *word) const {
        const philox_words words =
            philox4x32(open_philox({{(uint32_t)group, (uint32_t)(group >> 32), offset, place}}, seed), 0, seed);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            word[i] = words.word[i];
        }
    }

    /* The bits of the eight elements from this index on, which may begin within a group of eight. */
    __device__ __forceinline__ void of(uint64_t index, uint32_t *word) const {
        draw(index / 8, word);
        if (index % 8) {
            draw(index / 8 + 1, word + 4);
            shift_halves(word, index % 8);
        }
    }
};

#endif
