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

static __device__ __forceinline__ uint64_t philox_product0(uint32_t word0) { return (uint64_t)0xD2511F53u * word0; }
static __device__ __forceinline__ uint64_t philox_product1(uint32_t word2) { return (uint64_t)0xCD9E8D57u * word2; }

static __device__ __forceinline__ uint32_t philox_key(const uint32_t *key, int word, int round) {
    return key[word] + (uint32_t)round * (word ? 0xBB67AE85u : 0x9E3779B9u);
}

static __device__ __forceinline__ philox_words philox_round(philox_words x, const uint32_t *key, int round) {
    const uint64_t product0 = philox_product0(x.word[0]), product1 = philox_product1(x.word[2]);
    return {{(uint32_t)(product1 >> 32) ^ x.word[1] ^ philox_key(key, 0, round), (uint32_t)product1,
             (uint32_t)(product0 >> 32) ^ x.word[3] ^ philox_key(key, 1, round), (uint32_t)product0}};
}

/*
 * The counters of a tile's groups differ in word 0 alone, without a carry.  This is what else the first rounds compute, once for a
 * tile: a third of the instructions.
 */
struct alignas(16) philox_tile {
    uint32_t first;      /* word 0 of the first group's counter */
    uint32_t second[3];  /* after the second round, without the two products that depend on the group: words 2, 0 and 3 */
    uint32_t third;      /* ... and of the first round: word 2 */
};

static __device__ __forceinline__ philox_tile open_philox(philox_words counter, const uint32_t *key) {
    const philox_words one = philox_round(counter, key, 0); /* words 0 and 1 are those of each group */
    const uint64_t product = philox_product0(one.word[0]);
    return {counter.word[0],
            {(uint32_t)(product >> 32) ^ philox_key(key, 1, 1), one.word[1] ^ philox_key(key, 0, 1), (uint32_t)product},
            counter.word[3] ^ philox_key(key, 1, 0)};
}

/* The random words of a group of the tile. */
static __device__ __forceinline__ philox_words philox4x32(const philox_tile &tile, uint32_t group, const uint32_t *key) {
    const uint64_t product0 = philox_product0(tile.first + group);
    const uint64_t product1 = philox_product1((uint32_t)(product0 >> 32) ^ tile.third);
    philox_words x = {{(uint32_t)(product1 >> 32) ^ tile.second[1], (uint32_t)product1, (uint32_t)product0 ^ tile.second[0],
                       tile.second[2]}};
#pragma unroll
    for (int round = 2; round < QUERN_RANDOM_ROUNDS; round++) {
        x = philox_round(x, key, round);
    }
    return x;
}

#endif
