/*
 * Plain loops over a CPU's memory, on a number of threads.  With mask 0 they leave the data as it was; the caller reads the
 * mask from memory, so that the loops cannot be optimised away.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "machine.h"

void stream_copy(int threads, void *to, const void *from, size_t bytes);
void stream_update(int threads, void *data, size_t bytes, uint64_t mask);             /* each 8 bytes ^= mask */
uint64_t stream_read(int threads, const void *data, size_t bytes);                    /* the sum of all 8 bytes */

/*
 * Goes over all arrays side by side, in pieces of 256 elements: each 8 bytes of an array that is updated ^= mask, of one that is
 * written = mask.  The result is the sum of all 8 bytes that are only read.
 */
uint64_t stream_optimize(int threads, const struct optimizer_arrays *arrays, uint64_t mask);

#endif
