/*
 * Converts the storage types by their definitions.  dtype.h documents the functions.  Suites spend much of their time here, on
 * every element: so powers of two are made of their bits, and no function of libm is called for them.
 */
#include "oracle/dtype.h"

#include <math.h>
#include <string.h>

#include "../../generated/dtypes.h"

struct format {
    int bytes;
    int precision;      /* significant bits, the hidden one included */
    int exponent_min;   /* of the smallest normal value */
    double largest;
    uint32_t sign, infinity, nan;  /* bits; infinity: for a type without infinities, their replacement */
};

/* Of n from 0 to 127. */
#define POWER(n) (((n) & 1 ? 0x1p1 : 1) * ((n) & 2 ? 0x1p2 : 1) * ((n) & 4 ? 0x1p4 : 1) * ((n) & 8 ? 0x1p8 : 1) * \
                  ((n) & 16 ? 0x1p16 : 1) * ((n) & 32 ? 0x1p32 : 1) * ((n) & 64 ? 0x1p64 : 1))
#define BIAS(exponent) ((1 << (exponent) >> 1) - 1)
#define ULP_OF_1(bits, exponent) (1.0 / (1 << ((bits) - 1 - (exponent))))
#define SIGN(bits) ((uint32_t)1 << ((bits) - 1))

/* Without infinities the largest exponent has numbers too, and only the last code is none. */
#define FORMAT(number, constant, name, bits, exponent, has_infinity, ...) \
    [constant] = {(bits) / 8, (bits) - (exponent), 1 - BIAS(exponent), \
                  (has_infinity ? (2 - ULP_OF_1(bits, exponent)) * POWER(BIAS(exponent)) \
                                : (2 - 2 * ULP_OF_1(bits, exponent)) * POWER(BIAS(exponent) + 1)), SIGN(bits), \
                  has_infinity ? SIGN(bits) - SIGN((bits) - (exponent)) : SIGN(bits) - 1, SIGN(bits) - 1},

static const struct format *format_of(quern_dtype dtype) {
    static const struct format formats[] = {QUERN_FOR_EACH_DTYPE(FORMAT)};
    return &formats[dtype];
}

/* Of a normal double; of zero and of a subnormal double less than any of a type. */
static int exponent_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int)(bits >> 52 & 0x7FF) - 1023;
}

static double power_of_two(int exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double dtype_largest(quern_dtype dtype) { return format_of(dtype)->largest; }

double dtype_ulp(quern_dtype dtype, double value) {
    const struct format *format = format_of(dtype);
    const int exponent = isnan(value) ? format->exponent_min : exponent_of(value);
    if (isinf(value)) return (double)INFINITY;
    return power_of_two((exponent > format->exponent_min ? exponent : format->exponent_min) - format->precision + 1);
}

double dtype_round(quern_dtype dtype, double value) {
    if (value == 0 || !isfinite(value)) return value;
    double ulp = dtype_ulp(dtype, value);
    double rounded = rint(value / ulp) * ulp;
    if (fabs(rounded) > format_of(dtype)->largest) rounded = copysign(INFINITY, value);
    return copysign(rounded, value);
}

double dtype_truncate(quern_dtype dtype, double value) {
    if (value == 0 || !isfinite(value)) return value;
    double ulp = dtype_ulp(dtype, value);
    double truncated = fmin(floor(fabs(value) / ulp) * ulp, format_of(dtype)->largest);
    return copysign(truncated, value);
}

/* Bits without the sign, below those of infinity: the exponent and the fraction, by their definition. */
static double finite_magnitude(const struct format *format, uint32_t bits) {
    const uint32_t hidden = (uint32_t)1 << (format->precision - 1), fraction = bits & (hidden - 1);
    const int exponent = (int)(bits / hidden), last_place = format->exponent_min - format->precision + 1;
    if (exponent == 0) return fraction * power_of_two(last_place);
    return (hidden + fraction) * power_of_two(exponent - 1 + last_place);
}

double dtype_decode(quern_dtype dtype, uint32_t bits) {
    const struct format *format = format_of(dtype);
    uint32_t magnitude = bits & (format->sign - 1);
    double value = (double)NAN;
    if (magnitude < format->infinity) value = finite_magnitude(format, magnitude);
    else if (magnitude == format->infinity && format->infinity != format->nan) value = (double)INFINITY;
    return bits & format->sign ? -value : value;
}

uint32_t dtype_encode(quern_dtype dtype, double value) {
    const struct format *format = format_of(dtype);
    double rounded = dtype_round(dtype, value), magnitude = fabs(rounded);
    if (isnan(rounded) || (isinf(rounded) && format->infinity == format->nan)) return format->nan;
    uint32_t sign = signbit(rounded) ? format->sign : 0;
    if (isinf(rounded)) return sign | format->infinity;
    const double ulp = dtype_ulp(dtype, rounded);
    const uint32_t hidden = (uint32_t)1 << (format->precision - 1), significand = (uint32_t)(magnitude / ulp);
    if (significand < hidden) return sign | significand;
    const int exponent = exponent_of(ulp) + format->precision - 1 - format->exponent_min + 1;
    return sign | ((uint32_t)exponent * hidden + significand - hidden);
}

double dtype_load(quern_dtype dtype, const void *array, int64_t i) {
    switch (format_of(dtype)->bytes) {
    case 1: return dtype_decode(dtype, ((const uint8_t *)array)[i]);
    case 2: return dtype_decode(dtype, ((const uint16_t *)array)[i]);
    default: return ((const float *)array)[i];
    }
}

void dtype_store(quern_dtype dtype, void *array, int64_t i, double value) {
    switch (format_of(dtype)->bytes) {
    case 1: ((uint8_t *)array)[i] = (uint8_t)dtype_encode(dtype, value); break;
    case 2: ((uint16_t *)array)[i] = (uint16_t)dtype_encode(dtype, value); break;
    default: ((float *)array)[i] = (float)dtype_round(dtype, value);
    }
}
