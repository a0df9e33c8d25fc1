/* Test data from a counter: the same values in every process and on every device. */
#ifndef HARNESS_RANDOM_H
#define HARNESS_RANDOM_H

#include <stdint.h>

uint64_t random_bits(uint64_t seed, uint64_t index);

/* In [0, 1). */
double random_uniform(uint64_t seed, uint64_t index);

/* Mean 0, variance 1. */
double random_normal(uint64_t seed, uint64_t index);

/* In [0, end). */
int64_t random_below(uint64_t seed, uint64_t index, int64_t end);

#endif
