/*
 * The problem of the stages that find further columns of each row of a cross-entropy, the largest and given ones, and the
 * log-probability of one.  Included by the host code and by the GPU kernels of these stages.
 */
#ifndef QUERN_CROSS_ENTROPY_COLUMNS_H
#define QUERN_CROSS_ENTROPY_COLUMNS_H

#include "kernels/cross_entropy_row.h"

/* The most of the largest columns of a row: a warp of a GPU keeps one in each thread. */
enum { QUERN_MOST_TOP = 32 };

struct quern_columns_problem {
    struct quern_cross_entropy_problem rows;  /* with stats for the second stage */
    int64_t logits_dtype;              /* quern_dtype */

    /* Lists of each row, counted over all shards; -1: no column.  The first stage writes logits in the place of log-probabilities. */
    int64_t top_k, given_count;        /* 0: not wanted */
    int64_t *top_ids;                  /* [rows, top_k] */
    float *top_log_probs;
    const int64_t *given_ids;          /* [rows, given_count] */
    float *given_log_probs;

    /* The lists of shards, with logits, which the second stage joins.  shard_count 0: it reads the lists above. */
    int64_t shard_count;
    const int64_t *shard_ids;          /* [shard_count, rows, top_k] */
    const float *shard_logits;
    const float *given_logits;         /* [shard_count, rows, given_count] */
};

/* Of a column with this y, in fp32; that of the label's column has the bits of the output log_prob. */
QUERN_FUNCTION float quern_row_log_prob(const quern_row_stats *stats, const struct quern_row_values *values, bool is_label, float y) {
    if (values->is_infinite) return -INFINITY;
    if (isnan(values->sum)) return NAN;
    if (is_label) return (float)(0 - values->of_label);
    return (float)((double)y - stats->origin - values->log_sum);
}

#endif
