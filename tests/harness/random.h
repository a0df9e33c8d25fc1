/* Test data from a counter: the same values in every process and on every device. */
#ifndef HARNESS_RANDOM_H
#define HARNESS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

uint64_t random_bits(uint64_t seed, uint64_t index);

/* In [0, 1). */
double random_uniform(uint64_t seed, uint64_t index);

/* Mean 0, variance 1. */
double random_normal(uint64_t seed, uint64_t index);

/* In [0, end). */
int64_t random_below(uint64_t seed, uint64_t index, int64_t end);

/* The random numbers of one case, drawn in order: in [0, end); true once in `of` times. */
struct dice {
    uint64_t seed, thrown;
};
int64_t below(struct dice *dice, int64_t end);
bool chance(struct dice *dice, int64_t of);

#endif
