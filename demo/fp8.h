/* E4M3 and E5M2, the 8-bit floating-point numbers of OCP: the value of each of their 256 bytes. */
#ifndef FP8_H
#define FP8_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { FP8_VALUES = 256 };

/* E4M3 has no infinity, and its NaN is the largest magnitude alone. */
static inline float fp8_to_float(uint8_t byte, bool is_e4m3) {
    const int fraction_bits = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15;
    const int magnitude = byte & 0x7F, exponent = magnitude >> fraction_bits, fraction = magnitude & ((1 << fraction_bits) - 1);
    float value = exponent == 0 ? ldexpf((float)fraction, 1 - bias - fraction_bits)
                                : ldexpf((float)(fraction + (1 << fraction_bits)), exponent - bias - fraction_bits);
    if (is_e4m3 ? magnitude == 0x7F : magnitude > 0x7C) value = NAN;
    else if (!is_e4m3 && magnitude == 0x7C) value = INFINITY;
    return byte & 0x80 ? -value : value;
}

static inline void fp8_fill_table(float table[FP8_VALUES], bool is_e4m3) {
    for (int byte = 0; byte < FP8_VALUES; byte++) table[byte] = fp8_to_float((uint8_t)byte, is_e4m3);
}

#endif
