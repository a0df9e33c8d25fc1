/*
 * The Adam kernels' operations beyond vector_portable.h: exact IEEE arithmetic and stochastic rounding.  Included by adam_vectors.h
 * and narrow_portable.h.  adam_avx512.h describes each function; the names are the same.
 */
#ifndef QUERN_CPU_ADAM_PORTABLE_H
#define QUERN_CPU_ADAM_PORTABLE_H

#include <math.h>

#include "kernels/cpu/vector_portable.h"

static inline vector vector_fms(vector a, vector b, vector c) { return vector_fma(a, b, -c); }

static inline vector vector_sqrt(vector a) {
    for (int lane = 0; lane < VECTOR_LANES; lane++)
        a[lane] = sqrtf(a[lane]);
    return a;
}

static inline vector vector_divide_or_zero(vector a, vector b) {
    return (vector)((vector_bits)(a / b) & (vector_bits)(a != 0));
}

static inline vector vector_keep_infinite(vector a, vector b) {
    return (vector)vector_select(((vector_bits)a & 0x7FFFFFFF) == 0x7F800000, (vector_bits)a, (vector_bits)b);
}

static inline vector vector_raise(vector a, vector b) {
    return (vector)vector_select((b > a) | (b != b), (vector_bits)b, (vector_bits)a);
}

/* The NaN of each type as fp32. */
enum { NAN_f32 = 0x7FFFFFFF, NAN_bf16 = 0x7FFF0000 };

static inline int pair_has_nan(struct vector_pair x) {
    const vector_mask nan = (x.first != x.first) | (x.second != x.second);
    uint64_t halves[2];
    memcpy(halves, &nan, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

static inline vector vector_replace_nan(vector x, int32_t nan_bits) {
    return (vector)vector_select(x != x, vector_broadcast_bits((uint32_t)nan_bits), (vector_bits)x);
}

static inline struct vector_pair pair_replace_nan(struct vector_pair x, int32_t nan_bits) {
    return (struct vector_pair){vector_replace_nan(x.first, nan_bits), vector_replace_nan(x.second, nan_bits)};
}

static inline struct vector_pair pair_settle(struct vector_pair x, int32_t nan_bits) {
    return __builtin_expect(pair_has_nan(x), 0) ? pair_replace_nan(x, nan_bits) : x;
}

/* ---- f32 ---- */

static inline struct vector_pair ordered_load_f32(const float *from) { return pair_load_f32(from); }

static inline void ordered_round_f32(float *to, struct vector_pair x, const uint16_t *random) {
    (void)random;
    pair_store_f32(to, x);
}

/* ---- rounding ---- */

static inline vector_bits vector_load_u16(const uint16_t *from) {
    return (vector_bits){from[0], from[1], from[2], from[3]};
}

/* The lower halves of the lanes. */
static inline void vector_store_u16(uint16_t *to, vector_bits rounded) {
    for (int lane = 0; lane < VECTOR_LANES; lane++)
        to[lane] = (uint16_t)rounded[lane];
}

/*
 * The sum must not carry a finite value into infinity or an infinity into NaN: it is limited to FLT_MAX unless x is infinite or
 * NaN.
 */
static inline vector_bits magnitude_add_random(vector_bits magnitude, vector_bits random) {
    vector_mask finite = (vector_mask)magnitude < 0x7F800000;
    vector_bits sum = magnitude + random;
    vector_bits held = vector_select((vector_mask)sum < 0x7F800000, sum, vector_broadcast_bits(0x7F7FFFFF));
    return vector_select(finite, held, magnitude);
}

/* ---- bf16 ---- */

static inline struct vector_pair ordered_load_bf16(const uint16_t *from) {
    return (struct vector_pair){(vector)(vector_load_u16(from) << 16), (vector)(vector_load_u16(from + VECTOR_LANES) << 16)};
}

static inline vector_bits bf16_round_stochastic(vector x, vector_bits random) {
    vector_bits bits = (vector_bits)x, magnitude = bits & 0x7FFFFFFF;
    return (magnitude_add_random(magnitude, random) | (bits ^ magnitude)) >> 16;
}

static inline vector_bits bf16_round(vector x, const uint16_t *random) {
    return random ? bf16_round_stochastic(x, vector_load_u16(random)) : vector_round_bf16(x);
}

static inline void ordered_round_bf16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    vector_store_u16(to, bf16_round(x.first, random));
    vector_store_u16(to + VECTOR_LANES, bf16_round(x.second, random ? random + VECTOR_LANES : NULL));
}

/* The random bits of the even elements, which are in the first vector, are the lower halves of the random words. */
static inline void pair_round_bf16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    if (random) {
        vector_bits halves = vector_load_halves(random);
        vector_bits even = bf16_round_stochastic(x.first, halves & 0xFFFF);
        vector_store_halves(to, even, bf16_round_stochastic(x.second, halves >> 16));
    } else {
        pair_store_bf16(to, x);
    }
}

/* ---- bf16 with a remainder: the parameter is one above the master's upper half if the remainder is more than a half ---- */

/* -1 in such a lane, else 0. */
static inline vector_bits remainder_is_above_half(vector_bits remainder) { return (vector_bits)((vector_mask)remainder > 0x8000); }

static inline vector vector_from_remainder(vector_bits param, vector_bits remainder) {
    return (vector)((param + remainder_is_above_half(remainder)) << 16 | remainder);
}

static inline struct vector_pair ordered_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    return (struct vector_pair){
        vector_from_remainder(vector_load_u16(param), vector_load_u16(remainder)),
        vector_from_remainder(vector_load_u16(param + VECTOR_LANES), vector_load_u16(remainder + VECTOR_LANES)),
    };
}

/* The parameter is in the lower halves of the result; the upper halves are not zero. */
static inline vector_bits remainder_param(vector x) {
    vector_bits bits = (vector_bits)x;
    return (bits >> 16) - remainder_is_above_half(bits & 0xFFFF);
}

static inline void ordered_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    vector_store_u16(param, remainder_param(x.first));
    vector_store_u16(param + VECTOR_LANES, remainder_param(x.second));
    vector_store_u16(remainder, (vector_bits)x.first);
    vector_store_u16(remainder + VECTOR_LANES, (vector_bits)x.second);
}

static inline struct vector_pair pair_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    vector_bits halves = vector_load_halves(param), lower = vector_load_halves(remainder);
    return (struct vector_pair){
        vector_from_remainder(halves & 0xFFFF, lower & 0xFFFF),
        vector_from_remainder(halves >> 16, lower >> 16),
    };
}

static inline void pair_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    vector_store_halves(param, remainder_param(x.first) & 0xFFFF, remainder_param(x.second));
    vector_store_halves(remainder, (vector_bits)x.first & 0xFFFF, (vector_bits)x.second);
}

#endif
