/*
 * 16-bit formats by integer arithmetic, for any split into exponent and fraction: the types that no instruction converts.  Included
 * at the end of vector_portable.h, vector_avx2.h, vector_avx512.h and vector_neon.h, whose types it uses; adam_avx512.h describes
 * the functions.
 *
 * The bits of an element are in a lane of 32 bits.  `exponent` is a constant from 2 to 7; then a fraction loses at least 8 bits of
 * fp32's, and every finite value is a normal fp32.
 */
#ifndef QUERN_CPU_FORMAT_H
#define QUERN_CPU_FORMAT_H

#include <string.h>

#include "../generated/dtypes.h"

#define FORMAT static inline __attribute__((always_inline))

typedef uint32_t format_bits __attribute__((vector_size(sizeof(vector))));
typedef int32_t format_mask __attribute__((vector_size(sizeof(vector))));
typedef uint16_t format_codes __attribute__((vector_size(sizeof(vector) / 2)));

/* ---- the numbers of a format ---- */

FORMAT int format_fraction(int exponent) { return 15 - exponent; }
FORMAT int format_bias(int exponent) { return (1 << (exponent - 1)) - 1; }

/* The bits of fp32's fraction that are cut off. */
FORMAT int format_cut(int exponent) { return 23 - format_fraction(exponent); }
FORMAT uint32_t format_infinity(int exponent) { return ((1u << exponent) - 1) << format_fraction(exponent); }

/* The difference of the biases and the smallest normal value, at their place in fp32. */
FORMAT uint32_t format_rebias(int exponent) { return (127u - (uint32_t)format_bias(exponent)) << 23; }
FORMAT uint32_t format_smallest(int exponent) { return format_rebias(exponent) + (1u << 23); }

/* The exponent of the step between subnormal values. */
FORMAT int format_step(int exponent) { return 1 - format_bias(exponent) - format_fraction(exponent); }

/* 2^power in all lanes, and its bits. */
FORMAT uint32_t format_power_bits(int power) { return (uint32_t)(127 + power) << 23; }
FORMAT vector format_power(int power) { return (vector)((format_bits){0} + format_power_bits(power)); }

/* ---- lanes ---- */

FORMAT format_bits format_select(format_mask mask, format_bits a, format_bits b) {
    return ((format_bits)mask & a) | (~(format_bits)mask & b);
}

/* Moves exponent and fraction to fp32's place.  The multiplication corrects the bias and normalizes subnormals. */
FORMAT vector format_widen(format_bits code, int exponent) {
    const format_bits magnitude = (code & 0x7FFF) << format_cut(exponent);
    const format_bits finite = (format_bits)((vector)magnitude * format_power(127 - format_bias(exponent)));
    const format_mask special = (format_mask)magnitude >= (int32_t)(format_infinity(exponent) << format_cut(exponent));
    return (vector)(format_select(special, magnitude | 0x7F800000, finite) | (code & 0x8000) << 16);
}

/*
 * To nearest, ties to even.  A normal result is rounded by integer arithmetic, as for bf16.  For a subnormal one the sum with a
 * power of two, whose last bit is the step between subnormals, rounds.  A NaN keeps its sign.
 */
FORMAT format_bits format_nearest(vector x, int exponent) {
    const int cut = format_cut(exponent);
    const uint32_t infinity = format_infinity(exponent), aligner = format_power_bits(format_step(exponent) + 23);
    const uint32_t overflow = (infinity << cut) + format_rebias(exponent) - (1u << (cut - 1));
    const format_bits bits = (format_bits)x, magnitude = bits & 0x7FFFFFFF, sign = bits >> 16 & 0x8000;
    const format_bits normal = (magnitude + (magnitude >> cut & 1) + ((1u << (cut - 1)) - 1) - format_rebias(exponent)) >> cut;
    const format_bits subnormal = (format_bits)((vector)magnitude + format_power(format_step(exponent) + 23)) - aligner;
    const format_mask is_small = (format_mask)magnitude < (int32_t)format_smallest(exponent);
    const format_bits finite = format_select(is_small, subnormal, normal), none = {0};
    const format_bits number = format_select((format_mask)magnitude >= (int32_t)overflow, none + infinity, finite);
    return format_select(x != x, none + (infinity | 1u << (format_fraction(exponent) - 1)), number) | sign;
}

/*
 * The upper ones of 16 random bits are added to what is cut off.  Below the normal range the cut is at the same value for every
 * exponent, so they are added as a number there.  A finite value stays finite.
 */
FORMAT format_bits format_stochastic(vector x, format_bits random16, int exponent) {
    const int cut = format_cut(exponent), step = format_step(exponent);
    const uint32_t infinity = format_infinity(exponent), limit = (infinity << cut) + format_rebias(exponent);
    const format_bits bits = (format_bits)x, magnitude = bits & 0x7FFFFFFF, random = random16 >> (16 - cut), none = {0};
    const format_mask is_small = (format_mask)magnitude < (int32_t)format_smallest(exponent);
    const vector small = (vector)(magnitude & (format_bits)is_small);
    const vector sum = small + __builtin_convertvector((format_mask)random, vector) * format_power(step - cut);
    const format_mask stays_small = is_small & ((format_mask)sum < (int32_t)format_smallest(exponent));
    const vector units = (vector)((format_bits)sum & (format_bits)stays_small) * format_power(-step);
    const format_bits wide = format_select(is_small, (format_bits)sum, magnitude + random);
    format_bits code = (wide - format_rebias(exponent)) >> cut;
    code = format_select(stays_small, (format_bits)__builtin_convertvector(units, format_mask), code);
    code = format_select((format_mask)wide >= (int32_t)limit, none + (infinity - 1), code);
    code = format_select((format_mask)magnitude >= 0x7F800000, none + infinity, code);
    return code | (bits ^ magnitude) >> 16;
}

/* With a NaN stored as the type's own. */
FORMAT format_bits format_round(vector x, const uint16_t *random, int exponent) {
    format_codes loaded;
    if (!random) return format_select(x != x, (format_bits){0} + 0x7FFF, format_nearest(x, exponent));
    memcpy(&loaded, random, sizeof loaded);
    const format_bits code = format_stochastic(x, __builtin_convertvector(loaded, format_bits), exponent);
    return format_select(x != x, (format_bits){0} + 0x7FFF, code);
}

/* ---- memory ---- */

FORMAT vector format_load(const uint16_t *from, int exponent) {
    format_codes codes;
    memcpy(&codes, from, sizeof codes);
    return format_widen(__builtin_convertvector(codes, format_bits), exponent);
}

FORMAT void format_store(uint16_t *to, format_bits bits) {
    const format_codes codes = __builtin_convertvector(bits, format_codes);
    memcpy(to, &codes, sizeof codes);
}

/* A pair has the order of bf16's: the elements at even places are the lower halves of the lanes, unless it is their own. */
#if FORMAT_PAIRS_ARE_ORDERED
FORMAT struct vector_pair format_load_pair(const uint16_t *from, int exponent) {
    return (struct vector_pair){format_load(from, exponent), format_load(from + VECTOR_LANES, exponent)};
}

FORMAT void format_store_pair(uint16_t *to, struct vector_pair x, int exponent) {
    format_store(to, format_nearest(x.first, exponent));
    format_store(to + VECTOR_LANES, format_nearest(x.second, exponent));
}
#else
FORMAT struct vector_pair format_load_pair(const uint16_t *from, int exponent) {
    format_bits halves;
    memcpy(&halves, from, sizeof halves);
    return (struct vector_pair){format_widen(halves & 0xFFFF, exponent), format_widen(halves >> 16, exponent)};
}

FORMAT void format_store_pair(uint16_t *to, struct vector_pair x, int exponent) {
    const format_bits halves = format_nearest(x.first, exponent) | format_nearest(x.second, exponent) << 16;
    memcpy(to, &halves, sizeof halves);
}
#endif

#define FORMAT_FUNCTIONS(constant, name, exponent)                                                        \
    enum { NAN_##name = 0x7F800000 | (0x7FFFFF >> (8 + (exponent)) << (8 + (exponent))) };                \
    static inline struct vector_pair pair_load_##name(const uint16_t *from) { return format_load_pair(from, exponent); } \
    static inline void pair_store_##name(uint16_t *to, struct vector_pair x) { format_store_pair(to, x, exponent); } \
    static inline struct vector_pair pair_load_beside_##name(const float *from) { return pair_load_beside_bf16(from); } \
    static inline void pair_store_beside_##name(float *to, struct vector_pair x) { pair_store_beside_bf16(to, x); } \
    static inline vector pair_neighbours_##name(struct vector_pair x) { return pair_neighbours_bf16(x); } \
    static inline struct vector_pair ordered_load_##name(const uint16_t *from) {                          \
        return (struct vector_pair){format_load(from, exponent), format_load(from + VECTOR_LANES, exponent)}; \
    }                                                                                                     \
    static inline void ordered_round_##name(uint16_t *to, struct vector_pair x, const uint16_t *random) { \
        format_store(to, format_round(x.first, random, exponent));                                        \
        format_store(to + VECTOR_LANES, format_round(x.second, random ? random + VECTOR_LANES : NULL, exponent)); \
    }

/* As a float, a NaN is that of the type, as in adam_avx512.h. */
QUERN_FOR_EACH_COMMON_DTYPE(FORMAT_FUNCTIONS)

#endif
