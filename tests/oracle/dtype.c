/* Converts the storage types by their definitions.  dtype.h documents the functions. */
#include "oracle/dtype.h"

#include <math.h>

struct format {
    int precision;      /* significant bits, the hidden one included */
    int exponent_min;   /* of the smallest normal value */
    double largest;
    uint32_t sign, infinity, nan;  /* bits; infinity: for a type without infinities, their replacement */
};

static struct format format_of(quern_dtype dtype) {
    static const struct format formats[] = {
        [QUERN_F32] = {24, -126, 0x1.FFFFFEp127, 0x80000000, 0x7F800000, 0x7FFFFFFF},
        [QUERN_F16] = {11, -14, 65504, 0x8000, 0x7C00, 0x7FFF},
        [QUERN_BF16] = {8, -126, 0x1.FEp127, 0x8000, 0x7F80, 0x7FFF},
        [QUERN_E4M3] = {4, -6, 448, 0x80, 0x7F, 0x7F},
        [QUERN_E5M2] = {3, -14, 57344, 0x80, 0x7C, 0x7F},
    };
    return formats[dtype];
}

double dtype_largest(quern_dtype dtype) {
    return format_of(dtype).largest;
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

/* Bits without the sign, below those of infinity: the exponent and the fraction, by their definition. */
static double finite_magnitude(struct format format, uint32_t bits) {
    uint32_t hidden = (uint32_t)1 << (format.precision - 1), fraction = bits & (hidden - 1);
    int exponent = (int)(bits / hidden);
    if (exponent == 0) return ldexp(fraction, format.exponent_min - format.precision + 1);
    return ldexp(hidden + fraction, exponent - 1 + format.exponent_min - format.precision + 1);
}

double dtype_decode(quern_dtype dtype, uint32_t bits) {
    struct format format = format_of(dtype);
    uint32_t magnitude = bits & (format.sign - 1);
    double value = (double)NAN;
    if (magnitude < format.infinity) value = finite_magnitude(format, magnitude);
    else if (magnitude == format.infinity && format.infinity != format.nan) value = (double)INFINITY;
    return bits & format.sign ? -value : value;
}

uint32_t dtype_encode(quern_dtype dtype, double value) {
    struct format format = format_of(dtype);
    double rounded = dtype_round(dtype, value), magnitude = fabs(rounded);
    if (isnan(rounded) || (isinf(rounded) && format.infinity == format.nan)) return format.nan;
    uint32_t sign = signbit(rounded) ? format.sign : 0;
    if (isinf(rounded)) return sign | format.infinity;
    uint32_t hidden = (uint32_t)1 << (format.precision - 1);
    int last_place = ilogb(dtype_ulp(dtype, rounded));
    uint32_t significand = (uint32_t)ldexp(magnitude, -last_place);
    if (significand < hidden) return sign | significand;
    int exponent = last_place + format.precision - 1 - format.exponent_min + 1;
    return sign | ((uint32_t)exponent * hidden + significand - hidden);
}

double dtype_load(quern_dtype dtype, const void *array, int64_t i) {
    switch (quern_dtype_bytes(dtype)) {
    case 1: return dtype_decode(dtype, ((const uint8_t *)array)[i]);
    case 2: return dtype_decode(dtype, ((const uint16_t *)array)[i]);
    default: return ((const float *)array)[i];
    }
}

void dtype_store(quern_dtype dtype, void *array, int64_t i, double value) {
    switch (quern_dtype_bytes(dtype)) {
    case 1: ((uint8_t *)array)[i] = (uint8_t)dtype_encode(dtype, value); break;
    case 2: ((uint16_t *)array)[i] = (uint16_t)dtype_encode(dtype, value); break;
    default: ((float *)array)[i] = (float)dtype_round(dtype, value);
    }
}
