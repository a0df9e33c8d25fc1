/*
 * Softmax cross-entropy on a CPU: the sums of a row, and its gradient.  The kernels of generated/cross_entropy/ call run_rows,
 * run_stats and run_gradient; cross_entropy_elements.h says what they define before for their type of logits.
 *
 * DRAM is passed over once: 2 or 4 bytes are read and as many written per logit.  A row goes through two passes:
 *
 *   forward    the exponentials, block by block of QUERN_CROSS_ENTROPY_BLOCK columns, are summed and kept as fp32 in the
 *              worker's scratch
 *   gradient   the exponentials times one factor per block, rounded to the logits' type
 *
 * So each exponential is evaluated once, and a row's scratch (4 bytes per column) stays in the L2 cache up to some
 * 200,000 columns.  There is no pass to find the maximum first: exponentials are taken relative to the maximum of an
 * earlier block, and a block is done over only if its own maximum, found on the way, lies so far above that fp32 could
 * overflow.  The factor of a block, exp(block's origin - row's origin) * what the row's sums come to, is computed in double, as
 * are all sums over blocks.
 *
 * Blocks are summed in parts of QUERN_CPU_PART_COLUMNS, each as if it stood alone.  The rows kernels run a row's parts one after
 * another; the stats and gradient kernels do one part, the latter beginning with the same forward pass.  So a row has the same
 * bits whichever of them run.
 *
 * With AVX-512, 16 columns cost 13 vector instructions forward and 4 in the gradient pass: on a core with four vector pipes
 * (AMD Zen 5) 5.2 cycles in the L1 cache, about as long as DRAM takes for the columns' bytes.  AVX2 needs twice that.  What
 * is left of the time is the scratch's way between L1 and L2.
 *
 * The gradient of a row is written from its last part to its first: of a row whose scratch is larger than the L2 cache the last
 * parts are still there.
 *
 * The label's column is no part of any block: the block that holds it becomes two pieces, before and after it.  So the
 * loops know nothing of labels, and the sum over the other columns, from which a confident row's loss and label gradient
 * get their precision, comes by itself.
 *
 * The full kernels know softcap, label smoothing, class weights, entropy and argmax.  They have loops of their own, in which the
 * options are asked for once for each group of columns; beside an exponential they keep the slope of the softcap.  Of the four
 * vector pipes two multiply, and these are what a softcap asks for: 8 multiplications (fused or not) for y and its slope beside the
 * 5 of the exponential, 1 for the smoothing and 3 in the gradient pass, so that 16 columns with all options take at least 8.5
 * cycles, where those without take 3.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_H
#define QUERN_CPU_CROSS_ENTROPY_H

#include "kernels/cpu/cross_entropy_gradient.h"
#include "kernels/cpu/cross_entropy_parts.h"
#include "kernels/cross_entropy_row.h"

/* label: among all columns, or -1 for a row to skip.  scratch: NULL where nothing is to be kept. */
SPECIALISED struct row row_at(const struct quern_cross_entropy_problem *problem, int64_t index, int64_t label, void *scratch) {
    const int64_t room = quern_cross_entropy_scratch_columns(problem->vocab), here = label - problem->first_column;
    struct row row = {
        .problem = problem,
        .logits = (const element *)problem->logits + index * problem->logits_stride,
        .grad = problem->grad ? (element *)problem->grad + index * problem->grad_stride : NULL,
        .vocab = problem->vocab,
        .label = label >= 0 && here >= 0 && here < problem->vocab ? here : -1,
    };
    if (problem->softcap != 0.0f)
        row.softcap = softcap_at(problem->softcap);
    if (row.label >= 0)
        row.capped = cap_one(&row, first_lane(load_tail(row.logits + row.label, 1).first));
    if (scratch) {
        row.exponentials = scratch;
        row.slopes = problem->softcap != 0.0f ? row.exponentials + room : NULL;
        row.origins = (double *)(row.exponentials + quern_cross_entropy_scratch_floats(problem->softcap) * room);
    }
    return row;
}

SPECIALISED quern_row_stats sum_row(const struct row *row, bool full) {
    quern_row_stats stats = sum_part(row, 0, cursor_of_part(0), full);
    for (int64_t part = 1; part * QUERN_CPU_PART_COLUMNS < row->vocab; part++)
        quern_row_add(&stats, sum_part(row, part, cursor_of_part(part), full));
    return stats;
}

/* Backwards: of a row too long for the cache it is the last parts that are still there. */
SPECIALISED void write_row(const struct row *row, const struct quern_row_gradient *gradient, bool full) {
    for (int64_t part = (row->vocab - 1) / QUERN_CPU_PART_COLUMNS; part >= 0; part--)
        write_part(row, part, gradient, cursor_of_part(part), full);
    write_padding(row);
}

SPECIALISED void run_rows(const struct quern_cross_entropy_problem *problem, int64_t first_row, int64_t end_row, void *scratch,
                          bool full) {
    for (int64_t index = first_row; index < end_row; index++) {
        const int64_t label = quern_row_label(problem, index);
        const struct row row = row_at(problem, index, label, problem->grad ? scratch : NULL);
        const quern_row_stats stats = label < 0 ? quern_row_nothing() : sum_row(&row, full);
        if (problem->stats)
            problem->stats[index] = stats;
        quern_row_finish(problem, index, label, &stats);
        if (!row.grad)
            continue;
        const struct quern_row_gradient gradient = quern_row_gradient(problem, index, label, &stats);
        write_row(&row, &gradient, full);
    }
}

SPECIALISED void run_stats(const struct quern_cross_entropy_problem *problem, int64_t index, int64_t part, bool full) {
    const int64_t label = quern_row_label(problem, index);
    const struct row row = row_at(problem, index, label, NULL);
    problem->parts[part * problem->rows + index] = label < 0 ? quern_row_nothing() : sum_part(&row, part, cursor_of_part(0), full);
}

SPECIALISED void run_gradient(const struct quern_cross_entropy_problem *problem, int64_t index, int64_t part, void *scratch,
                              bool full) {
    const int64_t label = quern_row_label(problem, index);
    const struct row row = row_at(problem, index, label, scratch);
    const struct quern_row_gradient gradient = quern_row_gradient(problem, index, label, &problem->stats[index]);
    if (gradient.kind == QUERN_GRADIENT_NUMBERS)
        sum_part(&row, part, cursor_of_part(0), full);
    write_part(&row, part, &gradient, cursor_of_part(0), full);
    if (part_end(&row, part) == row.vocab)
        write_padding(&row);
}

#endif
