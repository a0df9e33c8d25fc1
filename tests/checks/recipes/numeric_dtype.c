/*
 * The recipe's dtype on the host and in a kernel: every code against the oracle, the squares of all finite ones against their sum,
 * and the name of its elements in a dump.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/dtype.h"
#include "runtime/look.h"
#include "runtime/storage.h"

#define JOIN(a, b) a##b
#define NAME(target) JOIN(quern_adam_gradient_norm_e6m9__, target)
double NAME(QUERN_TARGET)(const void *grad, int64_t count);

int main(void) {
    enum { CODES = 0x10000, FINITE = 0x7E00 };
    static uint16_t codes[CODES], again[CODES];
    static float values[CODES];
    double expected = 0;
    int wrong = 0;
    for (unsigned code = 0; code < CODES; code++) codes[code] = (uint16_t)code;
    quern_storage_widen(QUERN_E6M9, codes, NULL, CODES, values);
    quern_storage_narrow(QUERN_E6M9, values, CODES, false, again, NULL);
    for (unsigned code = 0; code < CODES; code++) {
        const int exponent = code >> 9 & 0x3F, fraction = code & 0x1FF;
        const double magnitude = exponent ? ldexp(512 + fraction, exponent - 31 - 9) : ldexp(fraction, 1 - 31 - 9);
        const double value = dtype_decode(QUERN_E6M9, code);
        const unsigned stored = isnan(value) ? 0x7FFF : code;
        if (code < FINITE) expected += magnitude * magnitude;
        wrong += code < FINITE && value != magnitude;
        wrong += isnan(value) ? !isnan(values[code]) : (double)values[code] != value;
        wrong += again[code] != stored || dtype_encode(QUERN_E6M9, value) != stored;
    }
    const double sum = NAME(QUERN_TARGET)(codes, FINITE);
    const struct quern_element element = quern_element_of(QUERN_E6M9), unknown = quern_element_of((quern_dtype)12345);
    printf("%d codes are wrong; the sum is %.17g, expected %.17g; dumped as %s, an unknown type as %s\n", wrong, sum, expected,
           element.name, unknown.name);
    return wrong || !(fabs(sum / expected - 1) < 1e-6) || strcmp(element.name, "U16") || strcmp(unknown.name, "unknown dtype");
}
