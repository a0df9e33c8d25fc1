/*
 * fp32 vectors of 4 lanes with Advanced SIMD of aarch64, and their conversions to and from f16 and bf16.  Included by
 * squares_neon.h, adam_neon.h and exponential_neon.h.  vector_avx512.h describes each function; the names are the same.
 *
 * Pairs are in the order of their elements: widening and unzipping instructions take it as it is.
 */
#ifndef QUERN_CPU_VECTOR_NEON_H
#define QUERN_CPU_VECTOR_NEON_H

#include <arm_neon.h>
#include <stdint.h>

typedef float32x4_t vector;
typedef float64x2_t vector_wide;
typedef uint32x4_t vector_bits;
typedef int32x4_t vector_mask;  /* a comparison's result: all bits set or none */

enum { VECTOR_LANES = 4 };

struct vector_pair {
    vector first, second;
};

static inline vector vector_broadcast(float x) { return vdupq_n_f32(x); }

static inline vector_bits vector_broadcast_bits(uint32_t x) { return vdupq_n_u32(x); }

/* a if the mask has all bits set, b if it has none. */
static inline vector_bits vector_select(vector_mask mask, vector_bits a, vector_bits b) {
    return vbslq_u32(vreinterpretq_u32_s32(mask), a, b);
}

/* a * b + c, rounded once. */
static inline vector vector_fma(vector a, vector b, vector c) { return vfmaq_f32(c, a, b); }

static inline vector vector_multiply_add(vector a, vector b, vector c) { return vector_fma(a, b, c); }

/* The larger of each pair of lanes; b if either is NaN, which no one instruction gives. */
static inline vector vector_max(vector a, vector b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }

static inline vector vector_min(vector a, vector b) { return vbslq_f32(vcltq_f32(a, b), a, b); }

static inline vector vector_abs(vector x) { return vabsq_f32(x); }

static inline int vector_all_at_most(vector a, vector b) { return vminvq_u32(vcleq_f32(a, b)) != 0; }

static inline vector vector_if_above(vector a, vector b, vector yes, vector no) { return vbslq_f32(vcgtq_f32(a, b), yes, no); }

static inline float vector_reduce_max(vector x) { return vmaxnmvq_f32(x); }

static inline vector vector_add_neighbours(vector a, vector b) { return vpaddq_f32(a, b); }

/* The sum of the halves of both vectors. */
static inline vector add_halves(vector a, vector b) {
    return vaddq_f32(vcombine_f32(vget_low_f32(a), vget_low_f32(b)), vcombine_f32(vget_high_f32(a), vget_high_f32(b)));
}

static inline vector vector_fold(const vector v[VECTOR_LANES]) {
    return vpaddq_f32(add_halves(v[0], v[1]), add_halves(v[2], v[3]));
}

static inline __attribute__((always_inline)) vector_wide vector_widen(vector x) {
    return vaddq_f64(vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x));
}

static inline double wide_reduce_add(vector_wide x) { return vaddvq_f64(x); }

static inline double vector_reduce_add(vector x) { return wide_reduce_add(vector_widen(x)); }

/* ---- 16-bit integers ---- */

typedef uint16x8_t halves;

static inline halves halves_load(const uint16_t *from) { return vld1q_u16(from); }

static inline void halves_store(uint16_t *to, halves x) { vst1q_u16(to, x); }

static inline halves halves_broadcast(uint16_t x) { return vdupq_n_u16(x); }

static inline halves halves_magnitude(halves x) { return vbicq_u16(x, vdupq_n_u16(0x8000)); }

static inline halves halves_max(halves a, halves b) { return vmaxq_u16(a, b); }

static inline halves halves_min(halves a, halves b) { return vminq_u16(a, b); }

static inline halves halves_max_signed(halves a, halves b) {
    return vreinterpretq_u16_s16(vmaxq_s16(vreinterpretq_s16_u16(a), vreinterpretq_s16_u16(b)));
}

static inline int halves_are_equal(halves a, halves b) { return vminvq_u16(vceqq_u16(a, b)) != 0; }

static inline uint16_t halves_reduce_min(halves x) { return vminvq_u16(x); }

/* ---- f32 ---- */

static inline vector vector_load_f32(const float *from) { return vld1q_f32(from); }

static inline void vector_store_f32(float *to, vector x) { vst1q_f32(to, x); }

static inline struct vector_pair pair_load_f32(const float *from) {
    return (struct vector_pair){vld1q_f32(from), vld1q_f32(from + VECTOR_LANES)};
}

static inline void pair_store_f32(float *to, struct vector_pair x) {
    vst1q_f32(to, x.first);
    vst1q_f32(to + VECTOR_LANES, x.second);
}

static inline struct vector_pair pair_load_beside_f32(const float *from) { return pair_load_f32(from); }

static inline void pair_store_beside_f32(float *to, struct vector_pair x) { pair_store_f32(to, x); }

/* ---- f16 ---- */

static inline struct vector_pair pair_from_halves(uint16x8_t halves) {
    const float16x8_t x = vreinterpretq_f16_u16(halves);
    return (struct vector_pair){vcvt_f32_f16(vget_low_f16(x)), vcvt_high_f32_f16(x)};
}

static inline struct vector_pair pair_load_f16(const uint16_t *from) { return pair_from_halves(vld1q_u16(from)); }

static inline void pair_store_f16(uint16_t *to, struct vector_pair x) {
    vst1q_u16(to, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.first), x.second)));
}

static inline struct vector_pair pair_load_beside_f16(const float *from) { return pair_load_f32(from); }

static inline void pair_store_beside_f16(float *to, struct vector_pair x) { pair_store_f32(to, x); }

static inline vector pair_neighbours_f16(struct vector_pair x) { return vector_add_neighbours(x.first, x.second); }

/* ---- bf16 ---- */

/* Adds the increment that makes the upper half the nearest bf16, ties to even. */
static inline vector_bits vector_round_bf16(vector x) {
    const vector_bits bits = vreinterpretq_u32_f32(x);
    return vsraq_n_u32(vaddq_u32(bits, vdupq_n_u32(0x7FFF)), vshlq_n_u32(bits, 15), 31);
}

/* The upper and the lower halves of 8 lanes. */
static inline uint16x8_t upper_halves(vector_bits first, vector_bits second) {
    return vuzp2q_u16(vreinterpretq_u16_u32(first), vreinterpretq_u16_u32(second));
}

static inline uint16x8_t lower_halves(vector_bits first, vector_bits second) {
    return vuzp1q_u16(vreinterpretq_u16_u32(first), vreinterpretq_u16_u32(second));
}

static inline struct vector_pair pair_load_bf16(const uint16_t *from) {
    const uint16x8_t halves = vld1q_u16(from);
    return (struct vector_pair){vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(halves), 16)),
                                vreinterpretq_f32_u32(vshll_high_n_u16(halves, 16))};
}

static inline struct vector_pair pair_load_beside_bf16(const float *from) { return pair_load_f32(from); }

static inline void pair_store_beside_bf16(float *to, struct vector_pair x) { pair_store_f32(to, x); }

static inline vector pair_neighbours_bf16(struct vector_pair x) { return vector_add_neighbours(x.first, x.second); }

static inline void pair_store_bf16(uint16_t *to, struct vector_pair x) {
    vst1q_u16(to, upper_halves(vector_round_bf16(x.first), vector_round_bf16(x.second)));
}

/* ---- others ---- */

#define FORMAT_PAIRS_ARE_ORDERED 1
#include "kernels/cpu/format.h"

#endif
