/*
 * Rows from every rank to every rank by quern_ragged_all_to_all.  Dispatch and combine use it.
 * On a GPU the rows are uploaded before and downloaded after, because the engine's matrix products run on the CPU.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "ranks.h"

struct exchange {
    struct rank *rank;
    enum purpose purpose;
    int64_t row_bytes, updates;
    /* [ranks, updates] each, as in quern.h: what this rank sends and what it expects. */
    int64_t *input_offsets, *send_sizes, *output_offsets, *recv_sizes;
    struct mirrored workspace;
};

/* Collective: every rank creates its exchanges in the same order.  input_rows: the maximum of a run. */
bool exchange_create(struct exchange *exchange, struct rank *rank, enum purpose purpose, int64_t input_rows, int64_t row_bytes,
                     int64_t updates);
void exchange_free(struct exchange *exchange);

/* Exchanges the first rows of both buffers as the metadata describe; on failure false, after a message on stderr. */
bool exchange_run(struct exchange *exchange, const struct mirrored *input, int64_t input_rows, const struct mirrored *output,
                  int64_t output_rows);

#endif
