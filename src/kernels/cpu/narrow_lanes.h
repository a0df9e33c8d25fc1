/*
 * Conversions between fp32 and 8-bit floating point on 4 lanes in GNU C.  Included by narrow_portable.h and narrow_neon.h, which
 * load and store codes.  narrow_avx512.h describes each function.
 */
#ifndef QUERN_CPU_NARROW_LANES_H
#define QUERN_CPU_NARROW_LANES_H

/* ---- roundings: codes of 4 lanes, without their signs ---- */

static inline vector vector_from_bits(int32_t bits) { return (vector)vector_broadcast_bits((uint32_t)bits); }

static inline vector_mask narrow_is_small(vector_bits magnitude, const struct narrow_format format) {
    return (vector_mask)magnitude < narrow_power(narrow_smallest(format));
}

static inline vector_bits narrow_nearest(vector_bits magnitude, const struct narrow_format format) {
    const int cut = narrow_cut(format);
    const int32_t origin = narrow_power(narrow_step(format) + 23);
    const uint32_t below_half = (1u << (cut - 1)) - 1 - (uint32_t)narrow_rebias(format);
    vector_bits normal = (magnitude + (magnitude >> cut & 1) + below_half) >> cut;
    vector_bits small = (vector_bits)((vector)magnitude + vector_from_bits(origin)) - (uint32_t)origin;
    return vector_select(narrow_is_small(magnitude, format), small, normal);
}

/* Excludes the lanes of normal values from the conversion, because they may exceed the integers. */
static inline vector_bits narrow_stochastic(vector_bits magnitude, const uint16_t *random16, const struct narrow_format format) {
    const int cut = narrow_cut(format);
    vector_bits random = vector_load_u16(random16);
    vector_bits normal = (magnitude - (uint32_t)narrow_rebias(format) + (random << (cut - 16))) >> cut;
    vector_mask is_small = narrow_is_small(magnitude, format);
    vector value = __builtin_convertvector((vector_mask)random, vector) * vector_from_bits(narrow_power(narrow_step(format) - 16));
    vector sum = (vector)(magnitude & (vector_bits)is_small) + value;
    vector_mask small = __builtin_convertvector(sum * vector_from_bits(narrow_power(-narrow_step(format))), vector_mask);
    return vector_select(is_small, (vector_bits)small, normal);
}

static inline vector_bits narrow_sign(vector_bits bits) { return bits >> 24 & NARROW_SIGN; }

/* ---- stores ---- */

/* The codes, but 1 in lanes whose code is 0 and whose x is above zero. */
static inline vector_bits codes_keep_positive(vector_bits codes, vector x) {
    return codes | ((vector_bits)((vector_mask)codes == 0) & (vector_bits)((vector_mask)x > 0) & 1);
}

static inline vector_bits narrow_scale(vector x, uint8_t scale, const uint16_t *random, int keep_positive,
                                       const struct narrow_format format) {
    vector_bits bits = (vector_bits)(x * scale_inverse(scale)), magnitude = bits & 0x7FFFFFFF;
    vector_bits codes = random ? narrow_stochastic(magnitude, random, format) : narrow_nearest(magnitude, format);
    codes |= narrow_sign(bits);
    if (keep_positive)
        codes = codes_keep_positive(codes, x);
    vector_bits infinity = format.infinity | (narrow_sign(bits) & narrow_infinity_sign(format));
    codes = vector_select((vector_mask)magnitude >= F32_INFINITY, infinity, codes);
    return vector_select((vector_mask)magnitude > F32_INFINITY, vector_broadcast_bits(NARROW_NAN), codes);
}

static inline void ordered_scale_narrow(uint8_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random,
                                        int keep_positive, const struct narrow_format format) {
    store_bytes(to, narrow_scale(x.first, scale, random, keep_positive, format),
                narrow_scale(x.second, scale, random ? random + VECTOR_LANES : NULL, keep_positive, format));
}

static inline void ordered_scale_e4m3(uint8_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random, int keep_positive) {
    ordered_scale_narrow(to, x, scale, random, keep_positive, narrow_e4m3);
}

static inline void ordered_scale_e5m2(uint8_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random, int keep_positive) {
    ordered_scale_narrow(to, x, scale, random, keep_positive, narrow_e5m2);
}

static inline vector_bits f16_scale(vector x, uint8_t scale, const uint16_t *random, int keep_positive) {
    const vector_bits codes = f16_round(x * scale_inverse(scale), random);
    return keep_positive ? codes_keep_positive(codes, x) : codes;
}

static inline void ordered_scale_f16(uint16_t *to, struct vector_pair x, uint8_t scale, const uint16_t *random, int keep_positive) {
    ordered_store_u16(to, f16_scale(x.first, scale, random, keep_positive),
                      f16_scale(x.second, scale, random ? random + VECTOR_LANES : NULL, keep_positive));
}

static inline vector_bits narrow_saturate(vector x, const struct narrow_format format) {
    const int32_t largest = narrow_largest(format);
    vector_bits bits = (vector_bits)x, magnitude = bits & 0x7FFFFFFF;
    vector_bits held = vector_select((vector_mask)magnitude > largest, vector_broadcast_bits((uint32_t)largest), magnitude);
    vector_bits codes = narrow_nearest(held, format) | narrow_sign(bits);
    return vector_select(x != x, vector_broadcast_bits(NARROW_NAN), codes);
}

static inline void ordered_saturate_e4m3(uint8_t *to, struct vector_pair x) {
    store_bytes(to, narrow_saturate(x.first, narrow_e4m3), narrow_saturate(x.second, narrow_e4m3));
}

static inline void ordered_saturate_e5m2(uint8_t *to, struct vector_pair x) {
    store_bytes(to, narrow_saturate(x.first, narrow_e5m2), narrow_saturate(x.second, narrow_e5m2));
}

/* ---- magnitudes ---- */

typedef vector_mask vector_magnitude;

static inline vector_magnitude magnitude_zero(void) { return (vector_magnitude){0}; }

static inline vector_magnitude larger(vector_magnitude a, vector_magnitude b) {
    return (vector_mask)vector_select(a > b, (vector_bits)a, (vector_bits)b);
}

static inline vector_magnitude magnitude_max(vector_magnitude largest, struct vector_pair x) {
    return larger(largest, larger((vector_mask)vector_abs(x.first), (vector_mask)vector_abs(x.second)));
}

static inline vector_magnitude finite_magnitude(vector x) {
    const vector_mask magnitude = (vector_mask)vector_abs(x);
    return magnitude & (magnitude < F32_INFINITY);
}

static inline vector_magnitude magnitude_max_finite(vector_magnitude largest, struct vector_pair x) {
    return larger(largest, larger(finite_magnitude(x.first), finite_magnitude(x.second)));
}

static inline uint32_t magnitude_reduce(vector_magnitude largest) {
    int32_t first = largest[0] > largest[1] ? largest[0] : largest[1];
    int32_t second = largest[2] > largest[3] ? largest[2] : largest[3];
    return (uint32_t)(first > second ? first : second);
}

#endif
