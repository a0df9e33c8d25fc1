/*
 * Codes of 8-bit floating point in memory, for the conversions of narrow_lanes.h, in addition to adam_portable.h.  Included by
 * narrow_vectors.h.  narrow_avx512.h describes each function; the names are the same.
 */
#ifndef QUERN_CPU_NARROW_PORTABLE_H
#define QUERN_CPU_NARROW_PORTABLE_H

#include "kernels/cpu/adam_portable.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/scale.h"

/* ---- loads ---- */

static inline vector_bits vector_load_u8(const uint8_t *from) {
    return (vector_bits){from[0], from[1], from[2], from[3]};
}

/* The bits of an e5m2 are the upper ones of an f16. */
static inline struct vector_pair ordered_load_e5m2(const uint8_t *from) {
    return (struct vector_pair){
        format_widen(vector_load_u8(from) << 8, 5),
        format_widen(vector_load_u8(from + VECTOR_LANES) << 8, 5),
    };
}

/* The fp32 with the same fields is 2^-120 of the value. */
static inline vector vector_from_e4m3(vector_bits code) {
    vector_bits magnitude = code & 0x7F;
    vector value = (vector)(magnitude << 20) * vector_broadcast(0x1p120f);
    vector_bits bits = vector_select((vector_mask)magnitude == NARROW_NAN, vector_broadcast_bits(NAN_f32), (vector_bits)value);
    return (vector)(bits | (code & NARROW_SIGN) << 24);
}

static inline struct vector_pair ordered_load_e4m3(const uint8_t *from) {
    return (struct vector_pair){
        vector_from_e4m3(vector_load_u8(from)),
        vector_from_e4m3(vector_load_u8(from + VECTOR_LANES)),
    };
}

/* ---- stores ---- */

static inline void vector_store_u8(uint8_t *to, vector_bits codes) {
    for (int lane = 0; lane < VECTOR_LANES; lane++)
        to[lane] = (uint8_t)codes[lane];
}

static inline void store_bytes(uint8_t *to, vector_bits first, vector_bits second) {
    vector_store_u8(to, first);
    vector_store_u8(to + VECTOR_LANES, second);
}

static inline void ordered_store_u16(uint16_t *to, vector_bits first, vector_bits second) {
    vector_store_u16(to, first);
    vector_store_u16(to + VECTOR_LANES, second);
}

static inline vector_bits f16_round(vector x, const uint16_t *random) { return format_round(x, random, 5); }

#include "kernels/cpu/narrow_lanes.h"

#endif
