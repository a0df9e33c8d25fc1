/*
 * Codes of 8-bit floating point in memory, for the conversions of narrow_lanes.h, in addition to adam_neon.h.  Included by
 * narrow_vectors.h.  narrow_avx512.h describes each function; the names are the same.
 */
#ifndef QUERN_CPU_NARROW_NEON_H
#define QUERN_CPU_NARROW_NEON_H

#include "kernels/cpu/adam_neon.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/scale.h"

/* The bits of an e5m2 are the upper ones of an f16. */
static inline struct vector_pair ordered_load_e5m2(const uint8_t *from) { return pair_from_halves(vshll_n_u8(vld1_u8(from), 8)); }

/* The f16 with the same fields is 2^-8 of the value. */
static inline struct vector_pair ordered_load_e4m3(const uint8_t *from) {
    const uint16x8_t fields = vdupq_n_u16(0x3F80), bytes = vreinterpretq_u16_s16(vmovl_s8(vreinterpret_s8_u8(vld1_u8(from))));
    const uint16x8_t magnitude = vandq_u16(vshlq_n_u16(bytes, 7), fields);
    const uint16x8_t finite = vorrq_u16(magnitude, vandq_u16(bytes, vdupq_n_u16(0x8000)));
    const struct vector_pair x = pair_from_halves(vbslq_u16(vceqq_u16(magnitude, fields), vdupq_n_u16(0x7E00), finite));
    return (struct vector_pair){vmulq_n_f32(x.first, 256), vmulq_n_f32(x.second, 256)};
}

static inline vector_bits vector_load_u16(const uint16_t *from) { return vmovl_u16(vld1_u16(from)); }

static inline void store_bytes(uint8_t *to, vector_bits first, vector_bits second) {
    vst1_u8(to, vmovn_u16(lower_halves(first, second)));
}

static inline vector_bits f16_round(vector x, const uint16_t *random) {
    if (random) return format_round(x, random, 5);
    return vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32(x)));
}

#include "kernels/cpu/narrow_lanes.h"

#endif
