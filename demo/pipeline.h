/*
 * Layers spread over ranks: each rank has some of the blocks, the first one also the embedding, the last one the classifier, which
 * shares the embedding.  The residual goes forward from rank to rank and its gradient back, by quern_transfer.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <stdbool.h>

#include "quern.h"

struct model;
struct rank;

/* What one rank hands to another, or gets from it, again and again; `transfer` is NULL where there is no such rank. */
struct hand_over {
    quern_transfer *transfer;
    bool under_way;
    int64_t bytes;  /* that this rank sends */
};

struct pipeline {
    struct rank *rank;
    int first_block, end_block;  /* of this rank */
    struct hand_over residual_in, residual_out, gradient_in, gradient_out;
    struct hand_over embedding_up, embedding_down;  /* its gradient: the classifier's part to the first rank, and the sum back */
};

/* The blocks of a rank; of a single one, without a pipeline, all. */
void pipeline_divide(struct pipeline *pipeline, struct rank *rank, int layers);
bool pipeline_is_first(const struct pipeline *pipeline);
bool pipeline_is_last(const struct pipeline *pipeline);

/* Prepares the transfers between the model's buffers.  As all functions below, false after a message on stderr on failure. */
bool pipeline_open(struct pipeline *pipeline, struct model *model);
void pipeline_close(struct pipeline *pipeline);

/* Begins a hand-over, and begins and ends one.  They do nothing where there is none. */
bool pipeline_start(struct pipeline *pipeline, struct hand_over *hand_over);
bool pipeline_take(struct pipeline *pipeline, struct hand_over *hand_over);

/* Waits until all that this rank handed over has arrived. */
bool pipeline_settle(struct pipeline *pipeline);

#endif
