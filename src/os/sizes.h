/* Limits of the sizes that a caller gives.  For all checks of arguments: within the limits no later arithmetic overflows. */
#ifndef QUERN_SIZES_H
#define QUERN_SIZES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * No buffer has more bytes: 128 TiB are all addresses of a process on x86-64 and arm64, unless it asks for more.  A sum of 2^15 such
 * sizes still fits 63 bits.
 */
#define QUERN_MOST_BYTES ((int64_t)1 << 47)

/* Rows or columns of a matrix, for each of which a buffer or workspace has up to 64 bytes. */
#define QUERN_MOST_ROWS (QUERN_MOST_BYTES / 64)

/* Items of a list: tensors or gradients.  The place of a tensor is one word of the counter of random numbers. */
#define QUERN_MOST_ITEMS (((int64_t)1 << 32) - 1)

/* *product = a * b; false: it is negative or more than QUERN_MOST_BYTES. */
static inline bool quern_multiply_bytes(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product) && *product >= 0 && *product <= QUERN_MOST_BYTES;
}

/* *sum += more; false: one of them is negative, or the sum is more than QUERN_MOST_BYTES. */
static inline bool quern_add_bytes(int64_t *sum, int64_t more) {
    return more >= 0 && *sum >= 0 && !__builtin_add_overflow(*sum, more, sum) && *sum <= QUERN_MOST_BYTES;
}

#endif
