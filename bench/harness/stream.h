/*
 * Plain loops over a CPU's memory: the baselines of the kernels and of the all-to-all.  With mask 0 they leave the data
 * unchanged; the caller reads the mask from memory, so that the compiler cannot remove the loops.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stddef.h>
#include <stdint.h>

/* The arrays of an optimizer, each contiguous: the loop with Adam's mix of reads and writes goes over them. */
enum access { ACCESS_READ, ACCESS_UPDATE, ACCESS_WRITE };

enum { MAX_ARRAYS = 8, UNIT_ELEMENTS = 32 };

struct optimizer_array {
    void *data;
    int unit_bytes;  /* bytes of a group of elements, since some arrays have one byte per group */
    enum access access;
};

struct optimizer_arrays {
    int64_t count;  /* elements */
    int arrays;
    struct optimizer_array array[MAX_ARRAYS];
};

/* On a number of threads. */
void stream_copy(int threads, void *to, const void *from, size_t bytes);
void stream_update(int threads, void *data, size_t bytes, uint64_t mask);             /* each 8 bytes ^= mask */
uint64_t stream_read(int threads, const void *data, size_t bytes);                    /* the sum of all 8 bytes */

/*
 * Goes over all arrays side by side, in pieces of 256 elements: each 8 bytes of an array that is updated ^= mask, of one that is
 * written = mask.  The result is the sum of all 8 bytes that are only read.
 */
uint64_t stream_optimize(int threads, const struct optimizer_arrays *arrays, uint64_t mask);

/* On the calling thread, with this CPU's widest non-temporal stores; memcpy if it has none.  Any alignment. */
void stream_past_caches(void *to, const void *from, size_t bytes);

#endif
