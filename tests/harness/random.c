#include "harness/random.h"

#include <math.h>

/* SplitMix64 (Steele, Lea and Flood 2014) at position index of the sequence for a seed. */
uint64_t random_bits(uint64_t seed, uint64_t index) {
    uint64_t z = seed * 0xD1342543DE82EF95u + (index + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double random_uniform(uint64_t seed, uint64_t index) { return (double)(random_bits(seed, index) >> 11) * 0x1p-53; }

double random_normal(uint64_t seed, uint64_t index) {
    double radius = sqrt(-2 * log(1 - random_uniform(seed, 2 * index)));
    return radius * cos(6.283185307179586 * random_uniform(seed, 2 * index + 1));
}

int64_t random_below(uint64_t seed, uint64_t index, int64_t end) { return (int64_t)(random_bits(seed, index) % (uint64_t)end); }

int64_t below(struct dice *dice, int64_t end) { return random_below(dice->seed, dice->thrown++, end); }

bool chance(struct dice *dice, int64_t of) { return below(dice, of) == 0; }
