/* The measured exchange: its data, its arguments and its line.  Called by all files that measure the all-to-all. */
#include "ranks/slices.h"

#include <stdlib.h>

#include "harness/record.h"
#include "ranks/ranks.h"

enum { CACHES = 4 };

/* The piece of the input, and of the output, for update `update`. */
static int64_t input_piece(const struct slices *slices, int update) {
    return slices->updates - 1 - update;
}

static int64_t output_piece(const struct slices *slices, int update) {
    return update % 2 ? slices->updates / 2 + update / 2 + slices->updates % 2 : update / 2;
}

struct slice_metadata slices_metadata(const struct slices *slices, int rank) {
    size_t count = (size_t)slices->ranks * (size_t)slices->updates;
    int32_t *all = malloc(4 * count * sizeof *all);
    if (!all) return (struct slice_metadata){0};
    struct slice_metadata metadata = {all, all + count, all + 2 * count, all + 3 * count};
    int64_t piece = slices->rows / slices->updates;
    for (int peer = 0; peer < slices->ranks; peer++) {
        for (int update = 0; update < slices->updates; update++) {
            int i = peer * slices->updates + update;
            metadata.input_offsets[i] = (int32_t)(peer * slices->rows + input_piece(slices, update) * piece);
            metadata.output_offsets[i] = (int32_t)(rank * slices->rows + output_piece(slices, update) * piece);
            metadata.send_sizes[i] = metadata.recv_sizes[i] = (int32_t)piece;
        }
    }
    return metadata;
}

void slices_free(struct slice_metadata *metadata) {
    free(metadata->input_offsets);
    *metadata = (struct slice_metadata){0};
}

int slices_sets(const struct slices *slices, size_t cache_bytes) {
    size_t sets = 1 + CACHES * cache_bytes / slices_traffic(slices);
    return sets < MAX_SETS ? (int)sets : MAX_SETS;
}

static uint64_t word(int rank, int set, uint64_t index) {
    return (uint64_t)(rank + 1) << 56 | (uint64_t)(set + 1) << 40 | index;
}

void slices_fill(const struct slices *slices, int rank, int set, uint64_t *input) {
    uint64_t words = slices_bytes(slices) / sizeof *input;
    for (uint64_t i = 0; i < words; i++) input[i] = word(rank, set, i);
}

int64_t slices_wrong(const struct slices *slices, int rank, int set, const uint64_t *output) {
    uint64_t slice = slice_bytes(slices) / sizeof *output, piece = slice / (uint64_t)slices->updates;
    int64_t wrong = 0;
    for (int sender = 0; sender < slices->ranks; sender++) {
        for (int update = 0; update < slices->updates; update++) {
            const uint64_t *found = output + (uint64_t)sender * slice + (uint64_t)output_piece(slices, update) * piece;
            uint64_t sent = (uint64_t)rank * slice + (uint64_t)input_piece(slices, update) * piece;
            for (uint64_t i = 0; i < piece; i++) wrong += found[i] != word(sender, set, sent + i);
        }
    }
    return wrong;
}

quern_ragged_all_to_all_args slices_arguments(const struct slices *slices, const struct slice_metadata *metadata, const void *input,
                                              void *output) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = input;
    args.output = output;
    args.input_rows = args.output_rows = slices->ranks * slices->rows;
    args.row_bytes = slices->row_bytes;
    args.updates = slices->updates;
    args.input_offsets = metadata->input_offsets;
    args.send_sizes = metadata->send_sizes;
    args.output_offsets = metadata->output_offsets;
    args.recv_sizes = metadata->recv_sizes;
    return args;
}

void slices_write(const char *contender, const char *kind, const struct slices *slices, const struct times *times) {
    ranks_begin_record("ragged_all_to_all", contender, kind, slices->ranks);
    record_integer("updates", slices->updates);
    record_integer("rows", slices->rows);
    record_integer("row_bytes", slices->row_bytes);
    record_integer("bytes", (int64_t)slices_traffic(slices));
    record_number("seconds", 5, times->median);
    record_number("seconds_low", 5, times->low);
    record_number("seconds_high", 5, times->high);
    record_integer("rounds", times->rounds);
    record_end();
}
