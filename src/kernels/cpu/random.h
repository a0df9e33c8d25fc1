/*
 * Random bits for stochastic rounding on CPUs: Philox4x32 with 7 rounds (Salmon et al. 2011, "Parallel random numbers: as easy as
 * 1, 2, 3"), a block cipher over counters, so that the bits of an element depend only on its place.  Included by adam_random.h and
 * adam_arrays.h.
 *
 * One counter gives 128 bits, the 16-bit values of 8 elements, and is
 *     {b, b >> 32, step, tensor's place in the list}   with b = element / 8
 * under a key that is the caller's seed.  Bits are drawn for up to 4 groups of 64 elements at once and are stored in the order of
 * the elements.
 *
 * The SIMD forms keep each 32-bit word in the lower half of a 64-bit lane, as the 32 x 32 -> 64 bit multiplication requires; the
 * upper half is ignored.  The counters enter the lanes in such an order that unpacking 64-bit pairs at the end puts the words in
 * their places without a further permutation.
 */
#ifndef QUERN_CPU_RANDOM_H
#define QUERN_CPU_RANDOM_H

#include <stdint.h>
#include <string.h>

#include "kernels/problem.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif QUERN_NEON
#include <arm_neon.h>
#endif

/* In elements. */
enum { QUERN_RANDOM_GROUP = 64, QUERN_RANDOM_BLOCK = 4 * QUERN_RANDOM_GROUP };

#define QUERN_PHILOX_MULTIPLIER_0 0xD2511F53u
#define QUERN_PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define QUERN_PHILOX_WEYL_0 0x9E3779B9u
#define QUERN_PHILOX_WEYL_1 0xBB67AE85u

struct quern_random {
    _Alignas(64) uint16_t bits[QUERN_RANDOM_BLOCK];
};

/*
 * Values that the groups of a tensor share: words 1 to 3 of the counter, the keys of the rounds (in 64 bits, as the SIMD forms use
 * them), and the part of rounds 0 and 1 that does not depend on word 0.
 */
struct quern_philox {
    uint32_t word1, word2, word3;
    uint64_t key0[QUERN_RANDOM_ROUNDS], key1[QUERN_RANDOM_ROUNDS];
    uint64_t round0_word2, round1_word0, round1_word2;  /* still to be combined with the part that depends on word 0 */
    uint64_t word3_after_round1;
};

static inline void quern_philox_set_word1(struct quern_philox *philox, uint32_t word1) {
    uint64_t product1 = (uint64_t)philox->word2 * QUERN_PHILOX_MULTIPLIER_1;
    uint32_t word0 = (uint32_t)(product1 >> 32) ^ word1 ^ (uint32_t)philox->key0[0];
    uint64_t product0 = (uint64_t)word0 * QUERN_PHILOX_MULTIPLIER_0;
    philox->word1 = word1;
    philox->round0_word2 = philox->word3 ^ philox->key1[0];
    philox->round1_word0 = (uint32_t)product1 ^ philox->key0[1];
    philox->round1_word2 = product0 >> 32 ^ philox->key1[1];
    philox->word3_after_round1 = (uint32_t)product0;
}

static inline void quern_philox_open(struct quern_philox *philox, const uint32_t seed[2], uint32_t word2, uint32_t word3) {
    for (uint32_t round = 0; round < QUERN_RANDOM_ROUNDS; round++) {
        philox->key0[round] = seed[0] + round * QUERN_PHILOX_WEYL_0;
        philox->key1[round] = seed[1] + round * QUERN_PHILOX_WEYL_1;
    }
    philox->word2 = word2;
    philox->word3 = word3;
    quern_philox_set_word1(philox, 0);
}

static inline void quern_philox_enter(struct quern_philox *philox, uint64_t first) {
    if (first >> 32 != philox->word1)
        quern_philox_set_word1(philox, (uint32_t)(first >> 32));
}

/*
 * quern_philox_draw gives the bits of `count` elements, which are whole groups and at most a block; the first counter has `first`
 * in words 0 and 1.  Word 1 is not incremented if word 0 wraps inside the block, which cannot happen if `first` is a multiple of
 * the block's counters.
 *
 * quern_random_turn rotates the values of each eight elements by `turn` (even): an element gets the value `turn` places further on.
 */

#if defined(__AVX512F__)

/* Several vectors of 8 counters are processed side by side, because one alone would mostly wait for its multiplications. */
static inline __attribute__((always_inline)) void quern_philox_vectors(
    const struct quern_philox *philox, uint32_t first, uint16_t *bits, const int vectors) {
    enum { XOR = 0x96, FIRST_SELECTS_SECOND_OR_THIRD = 0xEA, VECTORS_MAX = 4 };
    const __m512i multiplier0 = _mm512_set1_epi64(QUERN_PHILOX_MULTIPLIER_0);
    const __m512i multiplier1 = _mm512_set1_epi64(QUERN_PHILOX_MULTIPLIER_1);
    const __m512i low = _mm512_set1_epi64(0xFFFFFFFF);
    __m512i c0[VECTORS_MAX], c1[VECTORS_MAX], c2[VECTORS_MAX], c3[VECTORS_MAX];
    c0[0] = _mm512_add_epi64(_mm512_set1_epi64((int64_t)first), _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
    for (int i = 1; i < vectors; i++)
        c0[i] = _mm512_add_epi64(c0[i - 1], _mm512_set1_epi64(8));
    for (int i = 0; i < vectors; i++) {
        __m512i product0 = _mm512_mul_epu32(c0[i], multiplier0);
        c2[i] = _mm512_xor_si512(_mm512_srli_epi64(product0, 32), _mm512_set1_epi64((int64_t)philox->round0_word2));
        c1[i] = _mm512_mul_epu32(c2[i], multiplier1);
        c0[i] = _mm512_xor_si512(_mm512_srli_epi64(c1[i], 32), _mm512_set1_epi64((int64_t)philox->round1_word0));
        c2[i] = _mm512_xor_si512(product0, _mm512_set1_epi64((int64_t)philox->round1_word2));
        c3[i] = _mm512_set1_epi64((int64_t)philox->word3_after_round1);
    }
    for (int round = 2; round < QUERN_RANDOM_ROUNDS; round++) {
        __m512i key0 = _mm512_set1_epi64((int64_t)philox->key0[round]);
        __m512i key1 = _mm512_set1_epi64((int64_t)philox->key1[round]);
        for (int i = 0; i < vectors; i++) {
            __m512i product0 = _mm512_mul_epu32(c0[i], multiplier0);
            __m512i product1 = _mm512_mul_epu32(c2[i], multiplier1);
            c0[i] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), c1[i], key0, XOR);
            c2[i] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), c3[i], key1, XOR);
            c1[i] = product1;
            c3[i] = product0;
        }
    }
    for (int i = 0; i < vectors; i++) {
        __m512i words01 =
            _mm512_ternarylogic_epi64(low, c0[i], _mm512_slli_epi64(c1[i], 32), FIRST_SELECTS_SECOND_OR_THIRD);
        __m512i words23 =
            _mm512_ternarylogic_epi64(low, c2[i], _mm512_slli_epi64(c3[i], 32), FIRST_SELECTS_SECOND_OR_THIRD);
        _mm512_store_si512(bits + 64 * i, _mm512_unpacklo_epi64(words01, words23));
        _mm512_store_si512(bits + 64 * i + 32, _mm512_unpackhi_epi64(words01, words23));
    }
}

static inline void quern_philox_draw(struct quern_philox *philox, uint64_t first, int count, struct quern_random *random) {
    quern_philox_enter(philox, first);
    if (count == QUERN_RANDOM_BLOCK)
        quern_philox_vectors(philox, (uint32_t)first, random->bits, QUERN_RANDOM_BLOCK / 64);
    else
        for (int i = 0; i < count; i += 64)
            quern_philox_vectors(philox, (uint32_t)first + (uint32_t)i / 8, random->bits + i, 1);
}

static inline void quern_random_turn(const struct quern_random *from, int turn, int count,
                                     struct quern_random *to) {
    const __m512i words = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);  /* modulo 4 when they select */
    const __m512i places = _mm512_add_epi32(words, _mm512_set1_epi32(turn / 2));
    for (int i = 0; i < count; i += 32) {
        __m512 bits = _mm512_castsi512_ps(_mm512_load_si512(from->bits + i));
        _mm512_store_ps(to->bits + i, _mm512_permutevar_ps(bits, places));
    }
}

#elif defined(__AVX2__)

/* 4 counters, one to a 64-bit lane. */
static inline void quern_philox_lanes(const struct quern_philox *philox, __m256i word0, uint16_t *bits) {
    const __m256i multiplier0 = _mm256_set1_epi64x(QUERN_PHILOX_MULTIPLIER_0);
    const __m256i multiplier1 = _mm256_set1_epi64x(QUERN_PHILOX_MULTIPLIER_1);
    __m256i product0 = _mm256_mul_epu32(word0, multiplier0);
    __m256i c2 = _mm256_xor_si256(_mm256_srli_epi64(product0, 32), _mm256_set1_epi64x((int64_t)philox->round0_word2));
    __m256i c1 = _mm256_mul_epu32(c2, multiplier1);
    __m256i c0 = _mm256_xor_si256(_mm256_srli_epi64(c1, 32), _mm256_set1_epi64x((int64_t)philox->round1_word0));
    c2 = _mm256_xor_si256(product0, _mm256_set1_epi64x((int64_t)philox->round1_word2));
    __m256i c3 = _mm256_set1_epi64x((int64_t)philox->word3_after_round1);
    for (int round = 2; round < QUERN_RANDOM_ROUNDS; round++) {
        __m256i key0 = _mm256_set1_epi64x((int64_t)philox->key0[round]);
        __m256i key1 = _mm256_set1_epi64x((int64_t)philox->key1[round]);
        __m256i product1 = _mm256_mul_epu32(c2, multiplier1);
        product0 = _mm256_mul_epu32(c0, multiplier0);
        c0 = _mm256_xor_si256(_mm256_srli_epi64(product1, 32), _mm256_xor_si256(c1, key0));
        c2 = _mm256_xor_si256(_mm256_srli_epi64(product0, 32), _mm256_xor_si256(c3, key1));
        c1 = product1;
        c3 = product0;
    }
    __m256i words01 = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
    __m256i words23 = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
    _mm256_store_si256((__m256i *)bits, _mm256_unpacklo_epi64(words01, words23));
    _mm256_store_si256((__m256i *)(bits + 16), _mm256_unpackhi_epi64(words01, words23));
}

static inline void quern_philox_draw(struct quern_philox *philox, uint64_t first, int count, struct quern_random *random) {
    quern_philox_enter(philox, first);
    __m256i word0 = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)(uint32_t)first), _mm256_setr_epi64x(0, 2, 1, 3));
    for (int i = 0; i < count; i += 32) {
        quern_philox_lanes(philox, word0, random->bits + i);
        word0 = _mm256_add_epi64(word0, _mm256_set1_epi64x(4));
    }
}

static inline void quern_random_turn(const struct quern_random *from, int turn, int count,
                                     struct quern_random *to) {
    const __m256i words = _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3);  /* modulo 4 when they select */
    const __m256i places = _mm256_add_epi32(words, _mm256_set1_epi32(turn / 2));
    for (int i = 0; i < count; i += 16) {
        __m256 bits = _mm256_load_ps((const float *)(from->bits + i));
        _mm256_store_ps((float *)(to->bits + i), _mm256_permutevar_ps(bits, places));
    }
}

#elif QUERN_NEON

/* The halves of the products of 4 words. */
struct philox_product {
    uint32x4_t low, high;
};

static inline struct philox_product philox_multiply(uint32x4_t words, uint32_t multiplier) {
    const uint32x4_t first = vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(words), multiplier));
    const uint32x4_t second = vreinterpretq_u32_u64(vmull_high_n_u32(words, multiplier));
    return (struct philox_product){vuzp1q_u32(first, second), vuzp2q_u32(first, second)};
}

static inline uint32x4_t xor3(uint32x4_t a, uint32x4_t b, uint64_t key) {
    return veorq_u32(veorq_u32(a, b), vdupq_n_u32((uint32_t)key));
}

/* 4 counters, side by side in the lanes; the store puts the words of each beside each other. */
static inline void quern_philox_lanes(const struct quern_philox *philox, uint32x4_t word0, uint16_t *bits) {
    struct philox_product product0 = philox_multiply(word0, QUERN_PHILOX_MULTIPLIER_0);
    const uint32x4_t word2 = veorq_u32(product0.high, vdupq_n_u32((uint32_t)philox->round0_word2));
    struct philox_product product1 = philox_multiply(word2, QUERN_PHILOX_MULTIPLIER_1);
    uint32x4x4_t c = {{veorq_u32(product1.high, vdupq_n_u32((uint32_t)philox->round1_word0)), product1.low,
                       veorq_u32(product0.low, vdupq_n_u32((uint32_t)philox->round1_word2)),
                       vdupq_n_u32((uint32_t)philox->word3_after_round1)}};
    for (int round = 2; round < QUERN_RANDOM_ROUNDS; round++) {
        product0 = philox_multiply(c.val[0], QUERN_PHILOX_MULTIPLIER_0);
        product1 = philox_multiply(c.val[2], QUERN_PHILOX_MULTIPLIER_1);
        c.val[0] = xor3(product1.high, c.val[1], philox->key0[round]);
        c.val[2] = xor3(product0.high, c.val[3], philox->key1[round]);
        c.val[1] = product1.low;
        c.val[3] = product0.low;
    }
    vst4q_u32((uint32_t *)(void *)bits, c);
}

static inline void quern_philox_draw(struct quern_philox *philox, uint64_t first, int count, struct quern_random *random) {
    static const uint32_t places[4] = {0, 1, 2, 3};
    quern_philox_enter(philox, first);
    uint32x4_t word0 = vaddq_u32(vdupq_n_u32((uint32_t)first), vld1q_u32(places));
    for (int i = 0; i < count; i += 32) {
        quern_philox_lanes(philox, word0, random->bits + i);
        word0 = vaddq_u32(word0, vdupq_n_u32(4));
    }
}

static inline void quern_random_turn(const struct quern_random *from, int turn, int count, struct quern_random *to) {
    static const uint8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint8x16_t places = vandq_u8(vaddq_u8(vld1q_u8(bytes), vdupq_n_u8((uint8_t)(2 * turn))), vdupq_n_u8(15));
    for (int i = 0; i < count; i += 8)
        vst1q_u16(to->bits + i, vreinterpretq_u16_u8(vqtbl1q_u8(vreinterpretq_u8_u16(vld1q_u16(from->bits + i)), places)));
}

#else

/* Round by round over all counters, so that a compiler can vectorize them. */
static inline void quern_philox_group(const struct quern_philox *philox, uint32_t first, uint16_t *bits) {
    enum { COUNTERS = QUERN_RANDOM_GROUP / 8 };
    uint32_t c0[COUNTERS], c1[COUNTERS], c2[COUNTERS], c3[COUNTERS];
    for (int i = 0; i < COUNTERS; i++) {
        uint64_t product0 = (uint64_t)(first + (uint32_t)i) * QUERN_PHILOX_MULTIPLIER_0;
        uint64_t product1 = ((product0 >> 32) ^ philox->round0_word2) * QUERN_PHILOX_MULTIPLIER_1;
        c0[i] = (uint32_t)(product1 >> 32 ^ philox->round1_word0);
        c1[i] = (uint32_t)product1;
        c2[i] = (uint32_t)(product0 ^ philox->round1_word2);
        c3[i] = (uint32_t)philox->word3_after_round1;
    }
    for (int round = 2; round < QUERN_RANDOM_ROUNDS; round++) {
        const uint32_t key0 = (uint32_t)philox->key0[round], key1 = (uint32_t)philox->key1[round];
        for (int i = 0; i < COUNTERS; i++) {
            uint64_t product0 = (uint64_t)c0[i] * QUERN_PHILOX_MULTIPLIER_0;
            uint64_t product1 = (uint64_t)c2[i] * QUERN_PHILOX_MULTIPLIER_1;
            c0[i] = (uint32_t)(product1 >> 32) ^ c1[i] ^ key0;
            c1[i] = (uint32_t)product1;
            c2[i] = (uint32_t)(product0 >> 32) ^ c3[i] ^ key1;
            c3[i] = (uint32_t)product0;
        }
    }
    for (int i = 0; i < COUNTERS; i++) {
        const uint32_t words[4] = {c0[i], c1[i], c2[i], c3[i]};
        for (int word = 0; word < 4; word++) {
            bits[8 * i + 2 * word] = (uint16_t)words[word];
            bits[8 * i + 2 * word + 1] = (uint16_t)(words[word] >> 16);
        }
    }
}

static inline void quern_philox_draw(struct quern_philox *philox, uint64_t first, int count, struct quern_random *random) {
    quern_philox_enter(philox, first);
    for (int i = 0; i < count; i += QUERN_RANDOM_GROUP)
        quern_philox_group(philox, (uint32_t)first + (uint32_t)i / 8, random->bits + i);
}

static inline void quern_random_turn(const struct quern_random *from, int turn, int count,
                                     struct quern_random *to) {
    uint64_t pairs[QUERN_RANDOM_BLOCK / 4];
    const int by = 16 * turn % 64, swap = turn / 4 % 2;
    memcpy(pairs, from->bits, 2 * (size_t)count);
    for (int i = 0; i < count / 4; i += 2) {
        const uint64_t low = pairs[i + swap], high = pairs[i + 1 - swap];
        pairs[i] = by ? low >> by | high << (64 - by) : low;
        pairs[i + 1] = by ? high >> by | low << (64 - by) : high;
    }
    memcpy(to->bits, pairs, 2 * (size_t)count);
}

#endif

#endif
