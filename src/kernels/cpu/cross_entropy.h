/*
 * Softmax cross-entropy on a CPU: the sums of a row, and its gradient.  The kernels of generated/cross_entropy/ include this file
 * and call run_rows, run_stats and run_gradient; cross_entropy_elements.h lists what they define for their type of logits.
 *
 * A call reads and writes DRAM once: 2 or 4 bytes are read and as many written per logit.  A row goes through two passes:
 *
 *   forward    sums the exponentials, in blocks of QUERN_CROSS_ENTROPY_BLOCK columns, and keeps them as fp32 in the worker's
 *              scratch
 *   gradient   multiplies the exponentials by one factor per block and rounds them to the logits' type
 *
 * So each exponential is evaluated once, and a row's scratch (4 bytes per column) stays in the L2 cache up to some 200,000 columns.
 * No separate pass finds the maximum.  Exponentials are taken relative to the maximum of an earlier block.  The pass computes each
 * block's own maximum, and the block is repeated only if that maximum is so much larger that fp32 could overflow.  The factor of a
 * block, which is exp(block's origin - row's origin) times the row's coefficient, and all sums over blocks are computed in double.
 *
 * Blocks are summed in parts of QUERN_CPU_PART_COLUMNS, independently of each other.  A rows kernel processes all parts of a row.
 * The stats and gradient kernels process one part; the latter finds the exponentials that the former kept, or begins with the same
 * forward pass.  So the bits of a row are the same with either.
 *
 * With AVX-512, 32 columns cost 24 vector instructions in the forward pass and 10 in the gradient pass.  On a core with four vector
 * pipes (AMD Zen 5) this takes about as long as DRAM takes for the columns' bytes; on one with two (Intel), about twice as long.
 * AVX2 needs twice as many.  The rest of the time is the transfer of the scratch between L1 and L2.
 *
 * The gradient of a row is written from its last part to its first, because the last parts of a scratch larger than the L2 cache
 * are still in the cache.
 *
 * The label's column is in no block: the block that contains it is split into two pieces, before and after it.  So the loops need
 * no test for the label, and the sum over the other columns is available directly.  A confident row's loss and label gradient get
 * their precision from that sum.
 *
 * The full kernels support softcap, temperature, label smoothing, class weights, argmax, and entropy with its gradient.  They have
 * separate loops for the usual combinations.  A softcap's slope is computed from the logit in the gradient pass: to keep it would
 * cost as much in the cache.  With AVX-512, 32 columns with all options take 44 vector instructions in the forward pass (2 to load,
 * 2 for the largest and smallest logit, 12 for the softcap, 14 for the powers of 2, 8 for the smoothing with class weights, 4 for
 * the entropy, 2 for the sum) and 28 in the gradient pass (4 to load, 10 for the slope, 6 for the products, 8 to store): at least
 * 37 cycles with two vector pipes, against 18 without options.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_H
#define QUERN_CPU_CROSS_ENTROPY_H

#include "kernels/cpu/cross_entropy_gradient.h"
#include "kernels/cpu/cross_entropy_kept.h"
#include "kernels/cpu/cross_entropy_parts.h"
#include "kernels/cpu/cross_entropy_units.h"
#include "kernels/cross_entropy_row.h"

/* The softcap and the temperature of a row. */
SPECIALISED struct softcap softcap_of(const struct quern_cross_entropy_problem *problem, int64_t row, bool full) {
    const float inverse_temperature = full ? quern_row_inverse_temperature(problem, row) : 1.0f;
    if (full && problem->softcap != 0.0f)
        return softcap_at(problem->softcap, inverse_temperature);
    return (struct softcap){.inverse_temperature = inverse_temperature};
}

/* label: its column among all columns, or -1 for a skipped row.  scratch: NULL to keep nothing. */
SPECIALISED struct row row_at(const struct quern_cross_entropy_problem *problem, const struct softcap *softcap, int64_t index,
                              int64_t label, void *scratch) {
    const int64_t room = quern_cross_entropy_scratch_columns(problem->vocab), here = label - problem->first_column;
    struct row row = {
        .problem = problem,
        .logits = (const element *)problem->logits + index * problem->logits_stride,
        .grad = problem->grad ? (element *)problem->grad + index * problem->grad_stride : NULL,
        .vocab = problem->vocab,
        .label = label >= 0 && here >= 0 && here < problem->vocab ? here : -1,
        .softcap = softcap,
    };
    row.apart = problem->portable_bits ? -1 : row.label;
    if (row.label >= 0)
        row.capped = cap_one(&row, first_lane(load_tail(row.logits + row.label, 1).first));
    if (scratch) {
        row.exponentials = scratch;
        row.pieces = (struct quern_kept_piece *)(row.exponentials + room);
    }
    return row;
}

SPECIALISED quern_row_stats sum_part_of(const struct row *row, int64_t part, struct cursor at, bool full) {
    return row->problem->portable_bits ? sum_units(row, part, at, full) : sum_part(row, part, at, full);
}

SPECIALISED quern_row_stats sum_row(const struct row *row, bool full) {
    if (row->problem->portable_bits)
        return sum_row_units(row, full);
    quern_row_stats stats = quern_row_nothing();
    for (int64_t part = 0; part * QUERN_CPU_PART_COLUMNS < row->vocab; part++) {  /* with one copy of the code of a part */
        const quern_row_stats more = sum_part(row, part, cursor_of_part(part), full);
        if (part == 0)
            stats = more;
        else
            quern_row_add(&stats, more);
    }
    return stats;
}

/* Backwards: if a row exceeds the cache, its last parts are still there. */
SPECIALISED void write_row(const struct row *row, const struct quern_row_gradient *gradient, bool full) {
    for (int64_t part = (row->vocab - 1) / QUERN_CPU_PART_COLUMNS; part >= 0; part--)
        write_part(row, part, gradient, cursor_of_part(part), full);
    write_padding(row);
}

SPECIALISED void run_rows(const struct quern_cross_entropy_problem *problem, int64_t first_row, int64_t end_row, void *scratch,
                          bool full) {
    for (int64_t index = first_row; index < end_row; index++) {
        const struct softcap softcap = softcap_of(problem, index, full);
        const int64_t label = quern_row_label(problem, index);
        const struct row row = row_at(problem, &softcap, index, label, problem->grad ? scratch : NULL);
        const quern_row_stats stats = label < 0 ? quern_row_nothing() : sum_row(&row, full);
        if (problem->stats)
            problem->stats[index] = stats;
        const struct quern_row_values values = quern_row_values(problem, &stats);
        quern_row_finish(problem, index, label, &stats, &values);
        if (!row.grad)
            continue;
        const struct quern_row_gradient gradient = quern_row_gradient(problem, index, label, &stats, &values);
        write_row(&row, &gradient, full);
    }
}

SPECIALISED void run_stats(const struct quern_cross_entropy_problem *problem, int64_t index, int64_t part,
                           const struct quern_kept_values *kept, bool full) {
    const int64_t label = quern_row_label(problem, index);
    const struct softcap softcap = softcap_of(problem, index, full);
    struct row row = row_at(problem, &softcap, index, label, kept->values);
    row.maxima = kept->maxima;
    const int64_t nodes_of_row = quern_row_nodes_of_row(problem);
    quern_row_nodes *const nodes = problem->part_nodes ? problem->part_nodes + (part * problem->rows + index) * nodes_of_row : NULL;
    quern_row_stats *const stats = &problem->parts[part * problem->rows + index];
    *stats = quern_row_nothing();
    for (int64_t i = 0; i < nodes_of_row && nodes; i++)
        quern_row_no_nodes(nodes + i);
    if (label >= 0)
        *stats = nodes ? sum_shard_units(&row, part, nodes, full)
                       : sum_part_of(&row, part, cursor_of_part(kept->of_row ? part : 0), full);
}

SPECIALISED void run_gradient(const struct quern_cross_entropy_problem *problem, int64_t index, int64_t part,
                              const struct quern_kept_values *kept, bool full) {
    const int64_t label = quern_row_label(problem, index);
    const struct softcap softcap = softcap_of(problem, index, full);
    struct row row = row_at(problem, &softcap, index, label, kept->values);
    row.addends = full ? kept->addends : NULL;
    row.wide = full ? kept->wide : NULL;
    const struct quern_row_values values = quern_row_values(problem, &problem->stats[index]);
    const struct quern_row_gradient gradient = quern_row_gradient(problem, index, label, &problem->stats[index], &values);
    const struct cursor at = cursor_of_part(kept->of_row ? part : 0);
    if (!kept->of_row && gradient.kind == QUERN_GRADIENT_NUMBERS)
        sum_part_of(&row, part, at, full);
    write_part(&row, part, &gradient, at, full);
    if (part_end(&row, part) == row.vocab)
        write_padding(&row);
}

#endif
