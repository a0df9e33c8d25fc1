/* Random contents of buffers: never zeros, which can be faster than real data. */
#ifndef VALUES_H
#define VALUES_H

#include "machine.h"

/* Magnitudes from 2^low to 2^high, evenly over the exponents, of both signs or positive. */
struct value_range {
    int low, high;
    bool both_signs;
};

/* A buffer of `count` values, a multiple of 64 bytes long; NULL when there is not enough memory. */
void *values_create(const struct machine *machine, quern_dtype dtype, int64_t count, struct value_range range);

/* A buffer of so many bytes of one value. */
void *bytes_create(const struct machine *machine, int64_t count, int value);

/* int64 labels in [0, vocab). */
void *labels_create(const struct machine *machine, int64_t rows, int64_t vocab);

/* What a buffer of that many bytes is rounded up to. */
size_t buffer_bytes(size_t bytes);

#endif
