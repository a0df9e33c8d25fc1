/* Converts stored values to fp32 and back, in scalar code.  Called by adam_load.c and the known answers. */
#include "runtime/storage.h"

#include <string.h>

#include "../generated/dtypes.h"

/* ---- one element ---- */

/* A type of fewer than 32 bits: sign, exponent, fraction. */
struct format {
    int bytes, exponent_bits, fraction_bits;  /* no bits of exponent: no value */
    bool has_infinity;                        /* else the largest code is NaN and all smaller ones are finite */
};

static const struct format formats[] = {
#define FORMAT(number, constant, name, bits, exponent, has_infinity, ...) \
    [constant] = {(bits) / 8, exponent, (bits) - 1 - (exponent), has_infinity},
    QUERN_FOR_EACH_DTYPE(FORMAT)
};

static float from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t to_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint32_t sign_of(const struct format *format) { return 1u << (8 * format->bytes - 1); }

static int bias_of(const struct format *format) { return (1 << (format->exponent_bits - 1)) - 1; }

/* The code of every NaN. */
static uint32_t nan_of(const struct format *format) { return sign_of(format) - 1; }

/* Scaled, the largest magnitude of a block has the exponent below the largest one of the type. */
static int top_of(const struct format *format) { return bias_of(format) - format->has_infinity; }

/* The first code, sign aside, that is not finite. */
static uint32_t first_special(const struct format *format) {
    return format->has_infinity ? ((1u << format->exponent_bits) - 1) << format->fraction_bits : sign_of(format) - 1;
}

static float widen(const struct format *format, uint32_t code) {
    const uint32_t sign = code & sign_of(format), magnitude = code ^ sign, special = first_special(format);
    const int fraction_bits = format->fraction_bits, bias = bias_of(format);
    uint32_t bits;
    if (magnitude >= special) {
        bits = format->has_infinity && magnitude == special ? 0x7F800000 : 0x7FFFFFFF;
    } else if (magnitude >> fraction_bits) {
        bits = (magnitude << (23 - fraction_bits)) + ((uint32_t)(127 - bias) << 23);
    } else {
        /* Subnormal: a multiple of the smallest value, 2^(1 - bias - fraction_bits), which is a normal double. */
        uint64_t unit = (uint64_t)(1023 + 1 - bias - fraction_bits) << 52;
        double smallest;
        memcpy(&smallest, &unit, sizeof smallest);
        bits = to_bits((float)(magnitude * smallest));
    }
    return from_bits(bits | (sign ? 0x80000000 : 0));
}

/* To nearest, ties to even.  Computed in integers, since the engine may have set another rounding mode. */
static uint32_t narrow(const struct format *format, float x) {
    const uint32_t bits = to_bits(x), magnitude = bits & 0x7FFFFFFF, special = first_special(format);
    const uint32_t sign = bits >> 31 ? sign_of(format) : 0;
    const uint32_t infinity = format->has_infinity ? sign | special : nan_of(format);
    if (magnitude > 0x7F800000) return nan_of(format);
    if (magnitude == 0x7F800000) return infinity;
    const int field = (int)(magnitude >> 23), exponent = (field ? field : 1) - 127 + bias_of(format);
    const uint32_t significand = (magnitude & 0x7FFFFF) | (field ? 0x800000 : 0);
    const int shift = 23 - format->fraction_bits + (exponent < 1 ? 1 - exponent : 0);
    if (shift > 24) return sign;  /* less than half of the smallest value */
    const uint32_t kept = significand >> shift, lost = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
    const uint32_t rounded = kept + (lost > half || (lost == half && (kept & 1)));
    /* The significand's leading bit counts into the exponent, and so does a carry out of it. */
    const uint32_t code = rounded + (exponent > 1 ? (uint32_t)(exponent - 1) << format->fraction_bits : 0);
    return code < special ? sign | code : infinity;
}

static uint16_t load_16(const void *codes, int64_t i) {
    uint16_t code;
    memcpy(&code, (const char *)codes + 2 * i, sizeof code);
    return code;
}

static void store_16(void *codes, int64_t i, uint16_t code) {
    memcpy((char *)codes + 2 * i, &code, sizeof code);
}

static uint32_t load(const struct format *format, const void *codes, int64_t i) {
    return format->bytes == 1 ? ((const uint8_t *)codes)[i] : load_16(codes, i);
}

static void store(const struct format *format, void *codes, int64_t i, uint32_t code) {
    if (format->bytes == 1) ((uint8_t *)codes)[i] = (uint8_t)code;
    else store_16(codes, i, (uint16_t)code);
}

/* ---- scales ---- */

/* 2^(byte - 127); byte 0 is subnormal, and 255, which is never written, reads as infinity. */
static float factor_of(uint32_t byte) {
    return from_bits(byte ? byte << 23 : 0x400000);
}

/* The scale of a block, from its largest finite magnitude. */
static uint8_t choose_scale(const struct format *format, const float *values, int64_t count) {
    uint32_t largest = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t magnitude = to_bits(values[i]) & 0x7FFFFFFF;
        if (magnitude < 0x7F800000 && magnitude > largest) largest = magnitude;
    }
    const int scale = (int)(largest >> 23) - top_of(format);
    return (uint8_t)(scale < 0 ? 0 : scale);
}

static void narrow_block(const struct format *format, const float *values, int64_t first, int64_t count, bool keep_positive,
                         void *codes, uint8_t *scale) {
    *scale = choose_scale(format, values + first, count);
    const float inverse = factor_of(254u - *scale);
    for (int64_t i = first; i < first + count; i++) {
        const uint32_t code = narrow(format, values[i] * inverse);
        store(format, codes, i, keep_positive && values[i] > 0 && code == 0 ? 1 : code);
    }
}

/* ---- arrays ---- */

void quern_storage_widen(quern_dtype dtype, const void *codes, const uint8_t *scales, int64_t count, float *values) {
    if (dtype == QUERN_F32) {
        memcpy(values, codes, (size_t)count * sizeof *values);
        return;
    }
    const struct format *format = &formats[dtype];
    for (int64_t i = 0; i < count; i++) {
        values[i] = widen(format, load(format, codes, i));
        if (scales) values[i] *= factor_of(scales[i / QUERN_SCALE_BLOCK]);
    }
}

void quern_storage_narrow(quern_dtype dtype, const float *values, int64_t count, bool keep_positive, void *codes, uint8_t *scales) {
    if (dtype == QUERN_F32) {
        memcpy(codes, values, (size_t)count * sizeof *values);
        return;
    }
    const struct format *format = &formats[dtype];
    for (int64_t first = 0; scales && first < count; first += QUERN_SCALE_BLOCK) {
        const int64_t left = count - first, block = left < QUERN_SCALE_BLOCK ? left : QUERN_SCALE_BLOCK;
        narrow_block(format, values, first, block, keep_positive, codes, &scales[first / QUERN_SCALE_BLOCK]);
    }
    for (int64_t i = 0; !scales && i < count; i++) store(format, codes, i, narrow(format, values[i]));
}

/* ---- a master in two halves ---- */

void quern_storage_join(const void *param, const void *remainder, int64_t count, float *values) {
    for (int64_t i = 0; i < count; i++) {
        const uint32_t upper = load_16(param, i), lower = load_16(remainder, i);
        values[i] = from_bits((upper - (lower > 0x8000)) << 16 | lower);
    }
}

void quern_storage_split(const float *values, int64_t count, void *param, void *remainder) {
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = to_bits(values[i]), lower = bits & 0xFFFF;
        const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
        store_16(remainder, i, is_nan ? 0 : (uint16_t)lower);
        store_16(param, i, is_nan ? 0x7FFF : (uint16_t)((bits >> 16) + (lower > 0x8000)));
    }
}
