/* The squares of every finite code of the recipe's dtype, through its kernel, against their sum in double. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

double quern_adam_gradient_norm_e6m9__portable(const void *grad, int64_t count);

int main(void) {
    enum { CODES = 0x7E00 };
    static uint16_t codes[CODES];
    double expected = 0;
    for (int code = 0; code < CODES; code++) {
        const int exponent = code >> 9, fraction = code & 0x1FF;
        const double value = exponent ? ldexp(512 + fraction, exponent - 31 - 9) : ldexp(fraction, 1 - 31 - 9);
        codes[code] = (uint16_t)code;
        expected += value * value;
    }
    const double sum = quern_adam_gradient_norm_e6m9__portable(codes, CODES);
    printf("%.17g, expected %.17g\n", sum, expected);
    return fabs(sum / expected - 1) < 1e-6 ? 0 : 1;
}
