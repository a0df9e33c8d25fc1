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
 * The SIMD form keeps each 32-bit word in the lower half of a 64-bit lane, as the 32 x 32 -> 64 bit multiplication requires; the
 * upper half is ignored.  The counters enter the lanes in such an order that packing the words at the end puts them in their places
 * without a further permutation.
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

#if defined(__AVX2__)

/* The 64-bit lanes of a vector, and what Philox needs of them. */
#if defined(__AVX512F__)

typedef __m512i lanes;

static inline lanes lanes_broadcast(uint64_t x) { return _mm512_set1_epi64((int64_t)x); }
static inline lanes lanes_multiply(lanes a, lanes b) { return _mm512_mul_epu32(a, b); }
static inline lanes lanes_upper(lanes a) { return _mm512_srli_epi64(a, 32); }
static inline lanes lanes_xor(lanes a, lanes b, lanes c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
static inline lanes lanes_order(void) { return _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7); }
static inline lanes lanes_pack(lanes a, lanes b, const int odd) {
    const __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);
    return _mm512_castps_si512(odd ? _mm512_shuffle_ps(x, y, 0xDD) : _mm512_shuffle_ps(x, y, 0x88));
}
static inline lanes lanes_rotate(lanes a, const int words) {
    return words == 1 ? _mm512_shuffle_epi32(a, 0x39) : _mm512_shuffle_epi32(a, 0x4E);
}

#else

typedef __m256i lanes;

static inline lanes lanes_broadcast(uint64_t x) { return _mm256_set1_epi64x((int64_t)x); }
static inline lanes lanes_multiply(lanes a, lanes b) { return _mm256_mul_epu32(a, b); }
static inline lanes lanes_upper(lanes a) { return _mm256_srli_epi64(a, 32); }
static inline lanes lanes_xor(lanes a, lanes b, lanes c) { return _mm256_xor_si256(a, _mm256_xor_si256(b, c)); }
static inline lanes lanes_order(void) { return _mm256_setr_epi64x(0, 2, 1, 3); }
static inline lanes lanes_pack(lanes a, lanes b, const int odd) {
    const __m256 x = _mm256_castsi256_ps(a), y = _mm256_castsi256_ps(b);
    return _mm256_castps_si256(odd ? _mm256_shuffle_ps(x, y, 0xDD) : _mm256_shuffle_ps(x, y, 0x88));
}
static inline lanes lanes_rotate(lanes a, const int words) {
    return words == 1 ? _mm256_shuffle_epi32(a, 0x39) : _mm256_shuffle_epi32(a, 0x4E);
}

#endif

enum { LANES = sizeof(lanes) / sizeof(uint64_t), LANES_ELEMENTS = 8 * LANES };

/* What struct quern_philox holds, in all lanes: copies that stay in registers or on the stack. */
struct philox_lanes {
    lanes key0[QUERN_RANDOM_ROUNDS], key1[QUERN_RANDOM_ROUNDS], round0_word2, round1_word0, round1_word2, word3_after_round1;
};

static inline __attribute__((always_inline)) struct philox_lanes philox_broadcast(const struct quern_philox *philox) {
    struct philox_lanes all;
    for (int round = 2; round < QUERN_RANDOM_ROUNDS; round++) {
        all.key0[round] = lanes_broadcast(philox->key0[round]);
        all.key1[round] = lanes_broadcast(philox->key1[round]);
    }
    all.round0_word2 = lanes_broadcast(philox->round0_word2);
    all.round1_word0 = lanes_broadcast(philox->round1_word0);
    all.round1_word2 = lanes_broadcast(philox->round1_word2);
    all.word3_after_round1 = lanes_broadcast(philox->word3_after_round1);
    return all;
}

/* The counters from `first` on, in the order that philox_end undoes. */
static inline lanes philox_counters(uint32_t first) { return lanes_broadcast(first) + lanes_order(); }

/* The state of the counters between the rounds, in the lower halves of the lanes. */
struct philox_state {
    lanes word[4];
};

/* Rounds 0 and 1. */
static inline __attribute__((always_inline)) struct philox_state philox_begin(const struct philox_lanes *philox, lanes counters) {
    const lanes product0 = lanes_multiply(counters, lanes_broadcast(QUERN_PHILOX_MULTIPLIER_0));
    const lanes word2 = lanes_upper(product0) ^ philox->round0_word2;
    const lanes product1 = lanes_multiply(word2, lanes_broadcast(QUERN_PHILOX_MULTIPLIER_1));
    return (struct philox_state){{lanes_upper(product1) ^ philox->round1_word0, product1, product0 ^ philox->round1_word2,
                                  philox->word3_after_round1}};
}

static inline __attribute__((always_inline)) void philox_round(
    const struct philox_lanes *philox, int round, struct philox_state *state) {
    const lanes product0 = lanes_multiply(state->word[0], lanes_broadcast(QUERN_PHILOX_MULTIPLIER_0));
    const lanes product1 = lanes_multiply(state->word[2], lanes_broadcast(QUERN_PHILOX_MULTIPLIER_1));
    state->word[0] = lanes_xor(lanes_upper(product1), state->word[1], philox->key0[round]);
    state->word[2] = lanes_xor(lanes_upper(product0), state->word[3], philox->key1[round]);
    state->word[1] = product1;
    state->word[3] = product0;
}

/* The bits of LANES_ELEMENTS elements in their order. */
static inline __attribute__((always_inline)) void philox_end(const struct philox_state *state, lanes bits[2]) {
    const lanes words01 = lanes_pack(state->word[0], state->word[1], 0), words23 = lanes_pack(state->word[2], state->word[3], 0);
    bits[0] = lanes_pack(words01, words23, 0);
    bits[1] = lanes_pack(words01, words23, 1);
}

/* Several vectors of counters are processed side by side, because one alone would mostly wait for its multiplications. */
static inline __attribute__((always_inline)) void philox_vectors(
    const struct philox_lanes *philox, lanes counters, uint16_t *bits, const int vectors) {
    enum { VECTORS_MAX = 4 };
    struct philox_state state[VECTORS_MAX];
    for (int i = 0; i < vectors; i++) state[i] = philox_begin(philox, counters + lanes_broadcast((uint64_t)(i * LANES)));
    for (int round = 2; round < QUERN_RANDOM_ROUNDS; round++)
        for (int i = 0; i < vectors; i++) philox_round(philox, round, &state[i]);
    for (int i = 0; i < vectors; i++) philox_end(&state[i], (lanes *)(void *)(bits + i * LANES_ELEMENTS));
}

static inline void quern_philox_draw(struct quern_philox *philox, uint64_t first, int count, struct quern_random *random) {
    enum { VECTORS = sizeof(lanes) / 16 };  /* as many as its registers hold */
    quern_philox_enter(philox, first);
    const struct philox_lanes all = philox_broadcast(philox);
    lanes counters = philox_counters((uint32_t)first);
    int i = 0;
    for (; i + VECTORS * LANES_ELEMENTS <= count; i += VECTORS * LANES_ELEMENTS) {
        philox_vectors(&all, counters, random->bits + i, VECTORS);
        counters += lanes_broadcast(VECTORS * LANES);
    }
    for (; i < count; i += LANES_ELEMENTS) {
        philox_vectors(&all, counters, random->bits + i, 1);
        counters += lanes_broadcast(LANES);
    }
}

static inline void quern_random_turn(const struct quern_random *from, int turn, int count, struct quern_random *to) {
    const lanes *words = (const lanes *)(const void *)from->bits;
    for (int i = 0; i < count / (LANES_ELEMENTS / 2); i++)
        ((lanes *)(void *)to->bits)[i] = turn == 2 ? lanes_rotate(words[i], 1) : lanes_rotate(words[i], 2);
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
