#include "oracle/dtype.h"

#include <math.h>
#include <string.h>

struct format {
    int precision;     /* significant bits, the hidden one included */
    int exponent_min;  /* of the smallest normal value */
    double largest;
};

static struct format format_of(quern_dtype dtype) {
    switch (dtype) {
    case QUERN_F16: return (struct format){11, -14, 65504.0};
    case QUERN_BF16: return (struct format){8, -126, 0x1.FEp127};
    default: return (struct format){24, -126, 0x1.FFFFFEp127};
    }
}

double dtype_ulp(quern_dtype dtype, double value) {
    struct format format = format_of(dtype);
    int exponent = format.exponent_min;
    if (value != 0 && ilogb(value) > exponent) exponent = ilogb(value);
    return ldexp(1.0, exponent - format.precision + 1);
}

double dtype_round(quern_dtype dtype, double value) {
    if (value == 0 || !isfinite(value)) return value;
    double ulp = dtype_ulp(dtype, value);
    double rounded = rint(value / ulp) * ulp;
    if (fabs(rounded) > format_of(dtype).largest) rounded = copysign(INFINITY, value);
    return copysign(rounded, value);
}

double dtype_truncate(quern_dtype dtype, double value) {
    if (value == 0 || !isfinite(value)) return value;
    double ulp = dtype_ulp(dtype, value);
    double truncated = fmin(floor(fabs(value) / ulp) * ulp, format_of(dtype).largest);
    return copysign(truncated, value);
}

/* The sign, the exponent and the fraction of a binary16 by its definition. */
static double load_f16(uint16_t bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    double magnitude;
    if (exponent == 31) magnitude = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0) magnitude = fraction * 0x1p-24;
    else magnitude = ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* value is a binary16 value, an infinity or NaN. */
static uint16_t store_f16(double value) {
    if (isnan(value)) return 0x7FFF;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    if (isinf(value)) return sign | 0x7C00;
    if (magnitude < 0x1p-14) return (uint16_t)(sign | (uint16_t)(magnitude * 0x1p24));
    int exponent = ilogb(magnitude);
    uint16_t fraction = (uint16_t)(ldexp(magnitude, 10 - exponent) - 1024);
    return (uint16_t)(sign | (uint16_t)((exponent + 15) << 10) | fraction);
}

double dtype_load(quern_dtype dtype, const void *array, int64_t i) {
    if (dtype == QUERN_F32) return ((const float *)array)[i];
    uint16_t bits = ((const uint16_t *)array)[i];
    if (dtype == QUERN_F16) return load_f16(bits);
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

void dtype_store(quern_dtype dtype, void *array, int64_t i, double value) {
    double rounded = dtype_round(dtype, value);
    if (dtype == QUERN_F32) {
        ((float *)array)[i] = (float)rounded;
    } else if (dtype == QUERN_F16) {
        ((uint16_t *)array)[i] = store_f16(rounded);
    } else {
        float narrow = (float)rounded;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        ((uint16_t *)array)[i] = isnan(value) ? 0x7FFF : (uint16_t)(bits >> 16);
    }
}
