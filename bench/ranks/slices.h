/*
 * The measured exchange, the same for every contender.  Every rank sends every rank, itself included, a slice with the same
 * number of rows; the output has the slices in the order of their senders.  With several updates a slice is sent in as many
 * pieces, whose order differs between input and output, so that none continues its neighbour.
 */
#ifndef SLICES_H
#define SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "harness/times.h"
#include "quern.h"

struct slices {
    int ranks;
    int updates;
    int64_t rows;       /* of one slice, a multiple of updates */
    int64_t row_bytes;  /* a multiple of 8 */
};

/* [ranks, updates] each: the metadata of rank `rank`. */
struct slice_metadata {
    int32_t *input_offsets, *send_sizes, *output_offsets, *recv_sizes;
};

/* NULL fields when there is not enough memory. */
struct slice_metadata slices_metadata(const struct slices *slices, int rank);
void slices_free(struct slice_metadata *metadata);

static inline size_t slice_bytes(const struct slices *slices) {
    return (size_t)slices->rows * (size_t)slices->row_bytes;
}

/* One rank's input, and likewise its output. */
static inline size_t slices_bytes(const struct slices *slices) {
    return (size_t)slices->ranks * slice_bytes(slices);
}

/* The counted bytes: each row read once and written once, by all ranks together. */
static inline size_t slices_traffic(const struct slices *slices) {
    return 2 * (size_t)slices->ranks * slices_bytes(slices);
}

enum { MAX_SETS = 64 };

/* The number of sets of inputs and outputs that exceeds the cache by far; with short slices even MAX_SETS of them fit it. */
int slices_sets(const struct slices *slices, size_t cache_bytes);

/* Fills a rank's input with words that are all different; `set` tells buffers apart. */
void slices_fill(const struct slices *slices, int rank, int set, uint64_t *input);

/* The number of wrong words in a rank's output. */
int64_t slices_wrong(const struct slices *slices, int rank, int set, const uint64_t *output);

/* The library's exchange of one rank's slices, with the metadata in the host's memory. */
quern_ragged_all_to_all_args slices_arguments(const struct slices *slices, const struct slice_metadata *metadata, const void *input,
                                              void *output);

/* The line of a measurement. */
void slices_write(const char *contender, const char *kind, const struct slices *slices, const struct times *times);

#endif
