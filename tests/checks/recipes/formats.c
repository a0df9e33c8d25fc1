/*
 * The conversions of src/kernels/cpu/format.h for formats with 2 to 7 bits of exponent, on one CPU target, against the definition.
 */
#include "kernels/cpu/adam_vectors.h"

#include "formats.h"

/* Round by pairs in order; loads and stores of pairs in another order must agree. */
#define CONVERSIONS(exponent)                                                                                     \
    FORMAT_FUNCTIONS(unused, e##exponent, exponent)                                                               \
    static void widen_##exponent(const uint16_t *codes, float *to) {                                              \
        for (int i = 0; i < GROUP; i += 2 * VECTOR_LANES) {                                                       \
            const struct vector_pair x = ordered_load_e##exponent(codes + i);                                     \
            struct vector_pair pair = pair_load_e##exponent(codes + i);                                           \
            pair_store_f32(to + i, x);                                                                            \
            check_pair(exponent, pair, pair_load_beside_e##exponent(to + i));                                     \
            uint16_t again[2 * VECTOR_LANES];                                                                     \
            pair_store_e##exponent(again, pair);                                                                  \
            for (int k = 0; k < 2 * VECTOR_LANES; k++)                                                            \
                if (again[k] != quiet(exponent, codes[i + k]))                                                    \
                    fault(exponent, "the pair", (double)to[i + k], again[k], quiet(exponent, codes[i + k]));      \
        }                                                                                                         \
    }                                                                                                             \
    static void round_##exponent(uint16_t *to, const float *x, const uint16_t *random) {                          \
        for (int i = 0; i < GROUP; i += 2 * VECTOR_LANES)                                                         \
            ordered_round_e##exponent(to + i, pair_settle(pair_load_f32(x + i), NAN_e##exponent), random ? random + i : NULL); \
    }

/* A code with the one NaN that a store of pairs leaves. */
static unsigned quiet(int exponent, unsigned code) {
    const unsigned infinity = infinity_of(exponent);
    return (code & 0x7FFF) > infinity ? (code & 0x8000) | infinity | 1u << (fraction_of(exponent) - 1) : code;
}

static void check_pair(int exponent, struct vector_pair one, struct vector_pair two) {
    if (memcmp(&one, &two, sizeof one)) fault(exponent, "the order", 0, 0, 0);
}

CONVERSIONS(2)
CONVERSIONS(3)
CONVERSIONS(4)
CONVERSIONS(5)
CONVERSIONS(6)
CONVERSIONS(7)

int main(void) {
    const struct conversions all[] = {{2, widen_2, round_2}, {3, widen_3, round_3}, {4, widen_4, round_4},
                                      {5, widen_5, round_5}, {6, widen_6, round_6}, {7, widen_7, round_7}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_format(&all[i]);
    return faults != 0;
}
