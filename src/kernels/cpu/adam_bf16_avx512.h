/*
 * The usual step of a tensor whose arrays are all bf16: AdamW, with v and the parameters rounded stochastically and m to nearest.
 * The plain bf16 source in generated/adam/ includes it for AVX-512, and adam_step.h calls it.  It gives the bits of the loop in
 * adam_step.h with two thirds of its instructions.  One core needs this to keep up with its memory: a square root, a division and
 * seven rounds of Philox leave no slack.
 *
 * - Unpacking with zeros spreads the elements of a vector of 32 over two fp32 vectors; any vector port can run it.  In each
 *   128 bits, which are the elements of one random counter, the lower vector has the first four and the upper one the rest.
 *   Unpacking the random bits gives the same order.  The bits for the parameters, four places further on, are those for v in the
 *   other vector.
 * - The random bits of the next elements are drawn between the arithmetic of the present ones, because neither alone keeps the
 *   ports busy.
 * - Rare values are searched in the stored results, once per block: a value that is infinite or NaN, or was rounded to infinity,
 *   has an exponent of ones, and no v is negative.  If there is one, the block is restored and the other loop processes it.
 */
#ifndef QUERN_CPU_ADAM_BF16_H
#define QUERN_CPU_ADAM_BF16_H

#include "kernels/cpu/adam_arithmetic.h"
#include "kernels/cpu/adam_arrays.h"

/* The contents of a block before the step, of those arrays that it overwrites. */
struct overwritten {
    _Alignas(64) uint16_t param[BLOCK], m[BLOCK], v[BLOCK];
};

/* The random bits of the next 64 elements, and the counters of the elements after them. */
struct random_ahead {
    __m512i bits[2], counters;
};

/* The state of eight counters between the rounds of Philox, in the lower halves of the 64-bit lanes. */
struct philox_state {
    __m512i word[4];
};

static inline __m512i philox_multiply(__m512i word, uint32_t multiplier) {
    return _mm512_mul_epu32(word, _mm512_set1_epi64(multiplier));
}

/* Rounds 0 and 1 as in random.h. */
static inline __attribute__((always_inline)) struct philox_state philox_begin(const struct quern_philox *philox, __m512i counters) {
    const __m512i product0 = philox_multiply(counters, QUERN_PHILOX_MULTIPLIER_0);
    const __m512i word2 = _mm512_xor_si512(_mm512_srli_epi64(product0, 32), _mm512_set1_epi64((int64_t)philox->round0_word2));
    const __m512i product1 = philox_multiply(word2, QUERN_PHILOX_MULTIPLIER_1);
    return (struct philox_state){{
        _mm512_xor_si512(_mm512_srli_epi64(product1, 32), _mm512_set1_epi64((int64_t)philox->round1_word0)),
        product1,
        _mm512_xor_si512(product0, _mm512_set1_epi64((int64_t)philox->round1_word2)),
        _mm512_set1_epi64((int64_t)philox->word3_after_round1),
    }};
}

static inline __attribute__((always_inline)) void philox_round(
    const struct quern_philox *philox, int round, struct philox_state *state) {
    enum { XOR = 0x96 };
    const __m512i key0 = _mm512_set1_epi64((int64_t)philox->key0[round]), key1 = _mm512_set1_epi64((int64_t)philox->key1[round]);
    const __m512i product0 = philox_multiply(state->word[0], QUERN_PHILOX_MULTIPLIER_0);
    const __m512i product1 = philox_multiply(state->word[2], QUERN_PHILOX_MULTIPLIER_1);
    state->word[0] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), state->word[1], key0, XOR);
    state->word[2] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), state->word[3], key1, XOR);
    state->word[1] = product1;
    state->word[3] = product0;
}

/* Packs the words in the lower halves of the lanes of four vectors. */
static inline void philox_end(const struct philox_state *state, __m512i bits[2]) {
    enum { EVEN_LANES = 0x88, ODD_LANES = 0xDD };
    const __m512 words01 = _mm512_shuffle_ps(_mm512_castsi512_ps(state->word[0]), _mm512_castsi512_ps(state->word[1]), EVEN_LANES);
    const __m512 words23 = _mm512_shuffle_ps(_mm512_castsi512_ps(state->word[2]), _mm512_castsi512_ps(state->word[3]), EVEN_LANES);
    bits[0] = _mm512_castps_si512(_mm512_shuffle_ps(words01, words23, EVEN_LANES));
    bits[1] = _mm512_castps_si512(_mm512_shuffle_ps(words01, words23, ODD_LANES));
}

static inline void draw_ahead(const struct quern_philox *philox, int64_t element, struct random_ahead *ahead) {
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);  /* the order that philox_end undoes */
    const __m512i counters = _mm512_add_epi64(_mm512_set1_epi64(element / 8), order);
    struct philox_state state = philox_begin(philox, counters);
    for (int round = 2; round < QUERN_RANDOM_ROUNDS; round++) philox_round(philox, round, &state);
    philox_end(&state, ahead->bits);
    ahead->counters = _mm512_add_epi64(counters, _mm512_set1_epi64(GROUP / 8));
}

/* Keeps a compiler from regrouping interleaved instructions. */
static inline void in_this_order(void) { __asm__ volatile(""); }

/* ---- 32 elements ---- */

static inline struct vector_pair unpack_bf16(__m512i x) {
    return (struct vector_pair){_mm512_castsi512_ps(_mm512_unpacklo_epi16(_mm512_setzero_si512(), x)),
                                _mm512_castsi512_ps(_mm512_unpackhi_epi16(_mm512_setzero_si512(), x))};
}

/* Packs the lower halves of both vectors' lanes or, with further = 1, the upper ones, in the order that unpack_bf16 undoes. */
static inline __m512i pack_halves(struct vector_pair x, int16_t further) {
    const __m512i places = _mm512_set_epi16(62, 60, 58, 56, 30, 28, 26, 24, 54, 52, 50, 48, 22, 20, 18, 16,
                                            46, 44, 42, 40, 14, 12, 10, 8, 38, 36, 34, 32, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(_mm512_castps_si512(x.first), _mm512_or_si512(places, _mm512_set1_epi16(further)),
                                     _mm512_castps_si512(x.second));
}

static inline __m512i pack_nearest(struct vector_pair x) {
    return halves_round(pack_halves(x, 1), pack_halves(x, 0));
}

/* Adds the random bits to the cut-off part. */
static inline __m512i pack_stochastic(struct vector_pair x, __m512i first, __m512i second) {
    x.first = _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x.first), first));
    x.second = _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x.second), second));
    return pack_halves(x, 1);
}

static inline vector usual_next_p(const struct constants *c, vector p, vector update) {
    vector delta = c->step_size * update;
    if (c->has_decoupled_decay)
        delta = vector_fma(c->decoupled_decay, p, delta);
    return p - delta;
}

/* The addition turns -0 into +0, because a zero m counts as +0.  Zero divided by zero gives NaN, which the check below finds. */
static inline struct vector_pair usual_updates(struct vector_pair m, struct vector_pair denominators) {
    const vector zero = vector_broadcast(0);
    return (struct vector_pair){(m.first + zero) / denominators.first, (m.second + zero) / denominators.second};
}

/* ---- a tensor ---- */

static inline int is_finite(float x) { return x - x == 0; }

/*
 * Other values that are infinite or NaN reach a stored value, where the search finds them.  But rounding may carry the bits of a
 * NaN into a number, and the numbers of control may be NaN of such bits.
 */
static inline int is_usual(const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct constants *c) {
    return step->stochastic_param && step->stochastic_v && !step->stochastic_m && !c->has_l2_decay &&
           is_finite(step->step_size * tensor->lr_multiplier) && is_finite(step->grad_factor);
}

/* The largest v and twice the largest magnitude of the parameters, as stored. */
struct largest {
    __m512i v, param;
};

static inline int is_rare(struct largest largest) {
    const __m512i twice = _mm512_max_epu16(largest.param, _mm512_adds_epu16(largest.v, largest.v));
    return _mm512_cmpge_epu16_mask(twice, _mm512_set1_epi16((int16_t)(0x7F80 << 1))) != 0;
}

/* Prefetching this far ahead is faster than the hardware's own prefetching, at any address. */
static inline void prefetch(const uint16_t *at) {
    enum { AHEAD = 1024 };  /* elements */
    __builtin_prefetch((const char *)at + AHEAD * sizeof *at);
}

/* Takes the step for 64 elements and saves their old contents in `before`, at the same index. */
static inline __attribute__((always_inline)) struct largest usual_group(
    const struct constants *c, const struct quern_philox *philox, struct random_ahead *ahead, int is_scaled, uint16_t *param,
    const uint16_t *grad, uint16_t *m, uint16_t *v, uint16_t *param_before, uint16_t *m_before, uint16_t *v_before,
    struct largest largest) {
    enum { PAIRS = GROUP / 32 };
    struct vector_pair g[PAIRS], new_m[PAIRS], new_v[PAIRS], x[PAIRS];
    __m512i lower_bits[PAIRS], upper_bits[PAIRS];
    struct philox_state state = philox_begin(philox, ahead->counters);
    for (int i = 0; i < PAIRS; i++) {
        prefetch(grad + 32 * i);
        prefetch(m + 32 * i);
        prefetch(v + 32 * i);
        prefetch(param + 32 * i);
        const __m512i stored_m = _mm512_loadu_si512(m + 32 * i), stored_v = _mm512_loadu_si512(v + 32 * i);
        g[i] = unpack_bf16(_mm512_loadu_si512(grad + 32 * i));
        new_m[i] = unpack_bf16(stored_m);
        new_v[i] = unpack_bf16(stored_v);
        _mm512_store_si512(m_before + 32 * i, stored_m);
        _mm512_store_si512(v_before + 32 * i, stored_v);
    }
    in_this_order();
    if (is_scaled)
        for (int i = 0; i < PAIRS; i++) g[i] = pair_multiply(g[i], c->grad_factor);
    for (int i = 0; i < PAIRS; i++) new_v[i] = next_v(c, new_v[i], g[i]);
    for (int i = 0; i < PAIRS; i++) x[i] = denominators(c, new_v[i]);
    philox_round(philox, 2, &state);
    in_this_order();
    for (int i = 0; i < PAIRS; i++) new_m[i] = next_m(c, new_m[i], g[i]);
    philox_round(philox, 3, &state);
    in_this_order();
    for (int i = 0; i < PAIRS; i++) {
        const __m512i zero = _mm512_setzero_si512();
        lower_bits[i] = _mm512_unpacklo_epi16(ahead->bits[i], zero);
        upper_bits[i] = _mm512_unpackhi_epi16(ahead->bits[i], zero);
        const __m512i rounded = pack_stochastic(new_v[i], lower_bits[i], upper_bits[i]);
        _mm512_storeu_si512(v + 32 * i, rounded);
        largest.v = _mm512_max_epu16(largest.v, rounded);
    }
    philox_round(philox, 4, &state);
    in_this_order();
    for (int i = 0; i < PAIRS; i++) x[i] = usual_updates(new_m[i], x[i]);
    philox_round(philox, 5, &state);
    in_this_order();
    for (int i = 0; i < PAIRS; i++) _mm512_storeu_si512(m + 32 * i, pack_nearest(new_m[i]));
    philox_round(philox, 6, &state);
    in_this_order();
    for (int i = 0; i < PAIRS; i++) {
        const __m512i stored = _mm512_loadu_si512(param + 32 * i);
        struct vector_pair p = unpack_bf16(stored);
        _mm512_store_si512(param_before + 32 * i, stored);
        p.first = usual_next_p(c, p.first, x[i].first);
        p.second = usual_next_p(c, p.second, x[i].second);
        const __m512i rounded = pack_stochastic(p, upper_bits[i], lower_bits[i]);
        _mm512_storeu_si512(param + 32 * i, rounded);
        largest.param = _mm512_max_epu16(largest.param, _mm512_slli_epi16(rounded, 1));
    }
    philox_end(&state, ahead->bits);
    ahead->counters = _mm512_add_epi64(ahead->counters, _mm512_set1_epi64(GROUP / 8));
    return largest;
}

/*
 * Takes the step for the whole blocks and the groups after them, up to the first one that has a rare value.  Returns the number of
 * elements done.  `first` is the index of the first one in the tensor.
 */
static int64_t usual_blocks(const struct constants *c, struct quern_philox *philox, int is_scaled, uint16_t *param,
                            const uint16_t *grad, uint16_t *m, uint16_t *v, int64_t first, int64_t count) {
    const int64_t word0_wraps = ((first >> 35) + 1) << 35;
    struct overwritten before;
    struct random_ahead ahead;
    quern_philox_enter(philox, (uint64_t)first / 8);
    draw_ahead(philox, first, &ahead);
    if (count > word0_wraps - first) count = word0_wraps - first;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = count - block < BLOCK ? count : block + BLOCK;
        struct largest largest = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        for (int64_t i = block; i < end; i += GROUP) {
            const int64_t at = i - block;
            largest = usual_group(c, philox, &ahead, is_scaled, param + i, grad + i, m + i, v + i, before.param + at,
                                  before.m + at, before.v + at, largest);
        }
        if (__builtin_expect(is_rare(largest), 0)) {
            const size_t bytes = (size_t)(end - block) * sizeof *param;
            memcpy(param + block, before.param, bytes);
            memcpy(m + block, before.m, bytes);
            memcpy(v + block, before.v, bytes);
            return block;
        }
    }
    return count;
}

#endif
