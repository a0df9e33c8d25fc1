/*
 * Philox4x32 with 7 rounds (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): random words as a
 * pure function of a counter and a key, so that they do not depend on how the work is split.  Included by adam_tile.cuh and
 * random_words.cuh.
 */
#ifndef QUERN_DEVICE_PHILOX_CUH
#define QUERN_DEVICE_PHILOX_CUH

#include <stdint.h>

#include "kernels/problem.h"

struct philox_words {
    uint32_t word[4];

    /* Rotates the 16-bit values of a group of eight down by TURN (even) places. */
    template <int TURN> __device__ __forceinline__ philox_words turned() const {
        return {{word[TURN / 2 % 4], word[(TURN / 2 + 1) % 4], word[(TURN / 2 + 2) % 4], word[(TURN / 2 + 3) % 4]}};
    }
};

static __device__ __forceinline__ philox_words philox4x32(philox_words counter, const uint32_t *key) {
#pragma unroll
    for (int round = 0; round < QUERN_RANDOM_ROUNDS; round++) {
        const uint64_t product0 = (uint64_t)0xD2511F53u * counter.word[0];
        const uint64_t product1 = (uint64_t)0xCD9E8D57u * counter.word[2];
        counter.word[0] = (uint32_t)(product1 >> 32) ^ counter.word[1] ^ (key[0] + round * 0x9E3779B9u);
        counter.word[1] = (uint32_t)product1;
        counter.word[2] = (uint32_t)(product0 >> 32) ^ counter.word[3] ^ (key[1] + round * 0xBB67AE85u);
        counter.word[3] = (uint32_t)product0;
    }
    return counter;
}

#endif
