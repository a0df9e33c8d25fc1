// The conversions of src/kernels/cuda/format.cuh for formats with 2 to 7 bits of exponent against the definition: on a CPU, with
// the instructions of CUDA in its arithmetic.
#include <math.h>
#include <stdint.h>
#include <string.h>

#define __device__
#define __forceinline__ inline
static uint32_t __float_as_uint(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static float __uint_as_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static float __fmul_rn(float a, float b) { return a * b; }
static float __fadd_rn(float a, float b) { return a + b; }
// Of numbers that are not negative.
static float __fadd_rz(float a, float b) {
    const float sum = a + b;
    return (double)sum > (double)a + (double)b ? __uint_as_float(__float_as_uint(sum) - 1) : sum;
}

// The other one if one is NaN, a signalling one, too.
static float smaller(float a, float b) { return a < b || b != b ? a : b; }
#define fminf smaller

#include "kernels/cuda/format.cuh"
#undef fminf
#include "formats.h"

template <int EXPONENT> static void widen(const uint16_t *codes, float *to) {
    for (int i = 0; i < GROUP; i += 2) {
        const uint32_t word = codes[i] | (uint32_t)codes[i + 1] << 16;
        to[i] = format<EXPONENT>::widen_low(word), to[i + 1] = format<EXPONENT>::widen_high(word);
    }
}

template <int EXPONENT> static void round(uint16_t *to, const float *x, const uint16_t *random) {
    uint32_t word[GROUP / 2], bits[GROUP / 2];
    for (int i = 0; random && i < GROUP / 2; i++) bits[i] = random[2 * i] | (uint32_t)random[2 * i + 1] << 16;
    if (random)
        stochastic<format<EXPONENT>>::template round<GROUP>(x, bits, word, false);
    else
        for (int i = 0; i < GROUP / 2; i++) word[i] = format<EXPONENT>::nearest_pair(x[2 * i], x[2 * i + 1]);
    memcpy(to, word, sizeof word);
}

int main() {
    const conversions all[] = {{2, widen<2>, round<2>}, {3, widen<3>, round<3>}, {4, widen<4>, round<4>},
                               {5, widen<5>, round<5>}, {6, widen<6>, round<6>}, {7, widen<7>, round<7>}};
    for (const conversions &each : all) check_format(&each);
    return faults != 0;
}
