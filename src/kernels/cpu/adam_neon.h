/*
 * The Adam kernels' operations beyond vector_neon.h: exact IEEE arithmetic and stochastic rounding.  Included by adam_vectors.h and
 * narrow_neon.h.  adam_avx512.h describes each function; the names are the same.
 */
#ifndef QUERN_CPU_ADAM_NEON_H
#define QUERN_CPU_ADAM_NEON_H

#include <stddef.h>

#include "kernels/cpu/vector_neon.h"

/* Not the negated vfmsq_f32, which gives -0 where the difference is zero. */
static inline vector vector_fms(vector a, vector b, vector c) { return vfmaq_f32(vnegq_f32(c), a, b); }

static inline vector vector_sqrt(vector a) { return vsqrtq_f32(a); }

static inline vector vector_divide_or_zero(vector a, vector b) {
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(vdivq_f32(a, b)), vceqzq_f32(a)));
}

static inline vector vector_keep_infinite(vector a, vector b) {
    return vbslq_f32(vceqq_u32(vreinterpretq_u32_f32(vabsq_f32(a)), vdupq_n_u32(0x7F800000)), a, b);
}

static inline vector vector_raise(vector a, vector b) { return vbslq_f32(vornq_u32(vcgtq_f32(b, a), vceqq_f32(b, b)), b, a); }

/* The NaN of each type as fp32. */
enum { NAN_f32 = 0x7FFFFFFF, NAN_f16 = 0x7FFFE000, NAN_bf16 = 0x7FFF0000 };

/* The maximum of numbers and a NaN is NaN. */
static inline int pair_has_nan(struct vector_pair x) {
    const float largest = vmaxvq_f32(vmaxq_f32(x.first, x.second));
    return largest != largest;
}

static inline vector vector_replace_nan(vector x, int32_t nan_bits) {
    return vbslq_f32(vceqq_f32(x, x), x, vreinterpretq_f32_s32(vdupq_n_s32(nan_bits)));
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

/* ---- bf16 ---- */

static inline struct vector_pair ordered_load_bf16(const uint16_t *from) { return pair_load_bf16(from); }

/* A sum that carries a finite value into infinity is undone; this costs less than a question whether there is one. */
static inline uint16x8_t bf16_round_stochastic(struct vector_pair x, uint16x8_t random) {
    const vector_bits first = vreinterpretq_u32_f32(x.first), second = vreinterpretq_u32_f32(x.second);
    const uint16x8_t rounded = upper_halves(vaddw_u16(first, vget_low_u16(random)), vaddw_high_u16(second, random));
    const uint16x8_t infinite = vceqq_u16(vshlq_n_u16(rounded, 1), vdupq_n_u16((uint16_t)(0x7F80 << 1)));
    return vbslq_u16(infinite, upper_halves(first, second), rounded);
}

static inline void ordered_round_bf16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    if (random) vst1q_u16(to, bf16_round_stochastic(x, vld1q_u16(random)));
    else pair_store_bf16(to, x);
}

static inline void pair_round_bf16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    ordered_round_bf16(to, x, random);
}

/* ---- bf16 with a remainder: the parameter is one above the master's upper half if the remainder is more than a half ---- */

/* All bits in such a lane, which is -1, else 0. */
static inline uint16x8_t remainder_is_above_half(uint16x8_t remainder) { return vcgtq_u16(remainder, vdupq_n_u16(0x8000)); }

static inline struct vector_pair ordered_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    const uint16x8_t lower = vld1q_u16(remainder), upper = vaddq_u16(vld1q_u16(param), remainder_is_above_half(lower));
    return (struct vector_pair){vreinterpretq_f32_u16(vzip1q_u16(lower, upper)), vreinterpretq_f32_u16(vzip2q_u16(lower, upper))};
}

static inline void ordered_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    const vector_bits first = vreinterpretq_u32_f32(x.first), second = vreinterpretq_u32_f32(x.second);
    const uint16x8_t lower = lower_halves(first, second);
    vst1q_u16(remainder, lower);
    vst1q_u16(param, vsubq_u16(upper_halves(first, second), remainder_is_above_half(lower)));
}

static inline struct vector_pair pair_load_remainder(const uint16_t *param, const uint16_t *remainder) {
    return ordered_load_remainder(param, remainder);
}

static inline void pair_store_remainder(uint16_t *param, uint16_t *remainder, struct vector_pair x) {
    ordered_store_remainder(param, remainder, x);
}

/* ---- f16 ---- */

static inline struct vector_pair ordered_load_f16(const uint16_t *from) { return pair_load_f16(from); }

static inline void ordered_store_u16(uint16_t *to, vector_bits first, vector_bits second) {
    vst1q_u16(to, lower_halves(first, second));
}

/* No instruction rounds toward zero: the common arithmetic does it. */
static inline void ordered_round_f16(uint16_t *to, struct vector_pair x, const uint16_t *random) {
    if (random) ordered_store_u16(to, format_round(x.first, random, 5), format_round(x.second, random + VECTOR_LANES, 5));
    else pair_store_f16(to, x);
}

#endif
