/*
 * Random bits for stochastic rounding on CPUs: Philox4x32 with 7 rounds (Salmon et al. 2011, "Parallel random numbers: as easy
 * as 1, 2, 3"), a block cipher over counters, so that the bits of an element depend on its place alone.
 *
 * One counter gives 128 bits, the 16-bit values of 8 elements; a block is 128 elements, 16 counters.  Its address is
 *     key      the caller's seed
 *     counter  {b, b >> 32, step, tensor's place in the list << 2 | stream}   with b = element / 8
 * and the bits lie in memory in the order of the elements.
 *
 * The SIMD forms keep each 32-bit word in the lower half of a 64-bit lane, where the 32 x 32 -> 64 bit multiplication wants
 * it; what is left in the upper half is never looked at.  The counters enter the lanes in such an order that unpacking 64-bit
 * pairs at the end puts the words in their places without any further permutation.
 */
#ifndef QUERN_CPU_RANDOM_H
#define QUERN_CPU_RANDOM_H

#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum {
    QUERN_RANDOM_BLOCK = 128,  /* elements */
    QUERN_RANDOM_COUNTERS = QUERN_RANDOM_BLOCK / 8
};

/* The number of rounds is a parameter only because the published test vectors are for 10. */
enum { QUERN_PHILOX_ROUNDS = 7 };

#define QUERN_PHILOX_MULTIPLIER_0 0xD2511F53u
#define QUERN_PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define QUERN_PHILOX_WEYL_0 0x9E3779B9u
#define QUERN_PHILOX_WEYL_1 0xBB67AE85u

struct quern_random {
    _Alignas(64) uint16_t bits[QUERN_RANDOM_BLOCK];
};

/* Words 0 and 1 of the first counter are `first` (a multiple of 16) and its upper half, words 2 and 3 are given. */
#if defined(__AVX512F__)

static inline void quern_philox(struct quern_random *random, uint64_t first, uint32_t word2, uint32_t word3,
                                const uint32_t seed[2], int rounds) {
    const __m512i multiplier0 = _mm512_set1_epi64(QUERN_PHILOX_MULTIPLIER_0);
    const __m512i multiplier1 = _mm512_set1_epi64(QUERN_PHILOX_MULTIPLIER_1);
    const __m512i low = _mm512_set1_epi64(0xFFFFFFFF);
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    __m512i key0 = _mm512_set1_epi64(seed[0]), key1 = _mm512_set1_epi64(seed[1]);
    __m512i c0[2], c1[2], c2[2], c3[2];
    for (int half = 0; half < 2; half++) {
        c0[half] = _mm512_add_epi64(_mm512_set1_epi64((int64_t)(uint32_t)first + 8 * half), order);
        c1[half] = _mm512_set1_epi64((int64_t)(first >> 32));
        c2[half] = _mm512_set1_epi64(word2);
        c3[half] = _mm512_set1_epi64(word3);
    }
    for (int round = 0; round < rounds; round++) {
        for (int half = 0; half < 2; half++) {
            __m512i product0 = _mm512_mul_epu32(c0[half], multiplier0);
            __m512i product1 = _mm512_mul_epu32(c2[half], multiplier1);
            c0[half] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), c1[half], key0, 0x96);
            c2[half] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), c3[half], key1, 0x96);
            c1[half] = product1;
            c3[half] = product0;
        }
        key0 = _mm512_add_epi32(key0, _mm512_set1_epi64(QUERN_PHILOX_WEYL_0));
        key1 = _mm512_add_epi32(key1, _mm512_set1_epi64(QUERN_PHILOX_WEYL_1));
    }
    for (int half = 0; half < 2; half++) {
        __m512i words01 = _mm512_ternarylogic_epi64(low, c0[half], _mm512_slli_epi64(c1[half], 32), 0xEA);
        __m512i words23 = _mm512_ternarylogic_epi64(low, c2[half], _mm512_slli_epi64(c3[half], 32), 0xEA);
        _mm512_store_si512(random->bits + 64 * half, _mm512_unpacklo_epi64(words01, words23));
        _mm512_store_si512(random->bits + 64 * half + 32, _mm512_unpackhi_epi64(words01, words23));
    }
}

#elif defined(__AVX2__)

static inline void quern_philox(struct quern_random *random, uint64_t first, uint32_t word2, uint32_t word3,
                                const uint32_t seed[2], int rounds) {
    const __m256i multiplier0 = _mm256_set1_epi64x(QUERN_PHILOX_MULTIPLIER_0);
    const __m256i multiplier1 = _mm256_set1_epi64x(QUERN_PHILOX_MULTIPLIER_1);
    const __m256i order = _mm256_setr_epi64x(0, 2, 1, 3);
    for (int quarter = 0; quarter < QUERN_RANDOM_COUNTERS / 4; quarter++) {
        __m256i key0 = _mm256_set1_epi64x(seed[0]), key1 = _mm256_set1_epi64x(seed[1]);
        __m256i c0 = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)(uint32_t)first + 4 * quarter), order);
        __m256i c1 = _mm256_set1_epi64x((int64_t)(first >> 32));
        __m256i c2 = _mm256_set1_epi64x(word2);
        __m256i c3 = _mm256_set1_epi64x(word3);
        for (int round = 0; round < rounds; round++) {
            __m256i product0 = _mm256_mul_epu32(c0, multiplier0);
            __m256i product1 = _mm256_mul_epu32(c2, multiplier1);
            c0 = _mm256_xor_si256(_mm256_srli_epi64(product1, 32), _mm256_xor_si256(c1, key0));
            c2 = _mm256_xor_si256(_mm256_srli_epi64(product0, 32), _mm256_xor_si256(c3, key1));
            c1 = product1;
            c3 = product0;
            key0 = _mm256_add_epi32(key0, _mm256_set1_epi64x(QUERN_PHILOX_WEYL_0));
            key1 = _mm256_add_epi32(key1, _mm256_set1_epi64x(QUERN_PHILOX_WEYL_1));
        }
        __m256i words01 = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
        __m256i words23 = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
        __m256i *bits = (__m256i *)(random->bits + 32 * quarter);
        _mm256_store_si256(bits, _mm256_unpacklo_epi64(words01, words23));
        _mm256_store_si256(bits + 1, _mm256_unpackhi_epi64(words01, words23));
    }
}

#else

/* One round over all counters at once, which is what lets a compiler put them side by side. */
static inline void quern_philox_round(uint32_t counter[4][QUERN_RANDOM_COUNTERS], uint32_t key0, uint32_t key1) {
    for (int i = 0; i < QUERN_RANDOM_COUNTERS; i++) {
        uint64_t product0 = (uint64_t)counter[0][i] * QUERN_PHILOX_MULTIPLIER_0;
        uint64_t product1 = (uint64_t)counter[2][i] * QUERN_PHILOX_MULTIPLIER_1;
        counter[0][i] = (uint32_t)(product1 >> 32) ^ counter[1][i] ^ key0;
        counter[1][i] = (uint32_t)product1;
        counter[2][i] = (uint32_t)(product0 >> 32) ^ counter[3][i] ^ key1;
        counter[3][i] = (uint32_t)product0;
    }
}

static inline void quern_philox(struct quern_random *random, uint64_t first, uint32_t word2, uint32_t word3,
                                const uint32_t seed[2], int rounds) {
    uint32_t counter[4][QUERN_RANDOM_COUNTERS];
    for (int i = 0; i < QUERN_RANDOM_COUNTERS; i++) {
        counter[0][i] = (uint32_t)first + (uint32_t)i;
        counter[1][i] = (uint32_t)(first >> 32);
        counter[2][i] = word2;
        counter[3][i] = word3;
    }
    for (uint32_t round = 0; round < (uint32_t)rounds; round++)
        quern_philox_round(counter, seed[0] + round * QUERN_PHILOX_WEYL_0, seed[1] + round * QUERN_PHILOX_WEYL_1);
    for (int i = 0; i < QUERN_RANDOM_COUNTERS; i++) {
        for (int word = 0; word < 4; word++) {
            random->bits[8 * i + 2 * word] = (uint16_t)counter[word][i];
            random->bits[8 * i + 2 * word + 1] = (uint16_t)(counter[word][i] >> 16);
        }
    }
}

#endif

#endif
