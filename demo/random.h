/* Numbers that depend only on a seed and a counter, so that two runs see the same weights and the same batches. */
#ifndef RANDOM_H
#define RANDOM_H

#include <math.h>
#include <stdint.h>

/* SplitMix64 (Steele, Lea and Flood 2014), addressed by counter. */
static inline uint64_t random_bits(uint64_t seed, uint64_t counter) {
    uint64_t z = seed * 0xD1342543DE82EF95u + (counter + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* In (0, 1). */
static inline double random_uniform(uint64_t seed, uint64_t counter) {
    return ((double)(random_bits(seed, counter) >> 11) + 0.5) * 0x1p-53;
}

/* Mean 0, variance 1 (Box and Muller 1958). */
static inline double random_normal(uint64_t seed, uint64_t counter) {
    double radius = sqrt(-2 * log(random_uniform(seed, 2 * counter)));
    return radius * cos(6.283185307179586 * random_uniform(seed, 2 * counter + 1));
}

#endif
