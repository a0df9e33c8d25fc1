/*
 * Softmax cross-entropy of f16 logits on a CPU: loss and gradient of each row in one kernel.
 * Rendered by gen/ from templates/cross_entropy.c.j2; do not edit.
 *
 * DRAM is passed over once: 2 bytes are read and 2 written per logit.  A row goes through two passes:
 *
 *   forward    the exponentials, block by block of QUERN_CROSS_ENTROPY_BLOCK columns, are summed and kept as fp32 in the
 *              worker's scratch
 *   gradient   the exponentials times one factor per block, rounded to f16
 *
 * So each exponential is evaluated once, and a row's scratch (4 bytes per column) stays in the L2 cache up to some
 * 200,000 columns.  There is no pass to find the maximum first: exponentials are taken relative to the maximum of an
 * earlier block, and a block is done over only if its own maximum, found on the way, lies so far above that fp32 could
 * overflow.  The factor of a block, exp(block's origin - row's origin) * scale / sum, is computed in double, as are all
 * sums over blocks.
 *
 * With AVX-512, 16 columns cost 14 vector instructions forward and 6 in the gradient pass: on a core with four vector pipes
 * (AMD Zen 5) 5.5 cycles in the L1 cache, about as long as DRAM takes for the columns' bytes.  AVX2 needs twice that.  What
 * is left of the time is the scratch's way between L1 and L2.
 *
 * The label's column is no part of any block: the block that holds it becomes two pieces, before and after it.  So the
 * loops know nothing of labels, and the sum over the other columns, from which a confident row's loss and label gradient
 * get their precision, comes by itself.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cpu/exponential_portable.h"
#include "kernel.h"

typedef uint16_t element;

enum { PAIR = 2 * VECTOR_LANES, UNROLL = 4 };

/* How far ahead of the forward pass logits are asked for, in bytes; across the row's end, into the next row. */
enum { AHEAD = 8192, CACHE_LINE = 64 };

#define MINUS_INFINITY 0xFC00
#define NOT_A_NUMBER 0x7FFF
/* For functions whose bool arguments are constants: each call is a loop of its own. */
#define SPECIALISED static inline __attribute__((always_inline))

/* One row and where its intermediate results are kept. */
struct row {
    const element *logits;
    element *grad;                             /* NULL: no gradient */
    int64_t vocab, label;
    float *exponentials;                       /* times 2^EXPONENTIAL_BIAS; each piece starts at a multiple of PAIR */
    struct quern_cross_entropy_piece *pieces;
};

/* What a row's forward pass comes to; e_j = exp(x_j - origin). */
struct row_result {
    double origin;    /* the label's logit or, if that is larger, a value near the largest of the others */
    double others;    /* sum of e_j over all columns but the label's */
    double sum;       /* over all columns */
    double label;     /* the label's logit */
};

/* ---- pieces ---- */

/* The end of the piece that starts at a column: the block's end, or the label's column before it. */
static inline int64_t piece_end(const struct row *row, int64_t column) {
    int64_t end = (column / QUERN_CROSS_ENTROPY_BLOCK + 1) * QUERN_CROSS_ENTROPY_BLOCK;
    if (end > row->vocab)
        end = row->vocab;
    return column <= row->label && row->label < end ? row->label : end;
}

/* The start of the next piece. */
static inline int64_t piece_next(const struct row *row, int64_t end) {
    return end == row->label ? end + 1 : end;
}

/* The room that a piece takes in row.exponentials. */
static inline int64_t piece_room(int64_t columns) {
    return (columns + PAIR - 1) / PAIR * PAIR;
}

/* The last, partial pair of a piece, filled up with columns that add nothing. */
static struct vector_pair load_tail(const element *logits, int64_t columns) {
    element tail[PAIR];
    for (int i = 0; i < PAIR; i++)
        tail[i] = MINUS_INFINITY;
    memcpy(tail, logits, (size_t)columns * sizeof(element));
    return pair_load_f16(tail);
}

static void store_tail(element *grad, int64_t columns, struct vector_pair x) {
    element tail[PAIR];
    pair_store_f16(tail, x);
    memcpy(grad, tail, (size_t)columns * sizeof(element));
}

/* ---- forward ---- */

/* Where the exponentials of a piece are taken relative to, and the largest logit for which that is still right. */
struct origin {
    struct exponential_origin of;
    float limit;
};

/* What one pass over a piece finds. */
struct piece_sums {
    float maximum, sum;
};

/* Exponentials up to exp(8) times 2^EXPONENTIAL_BIAS are far from overflow, also in a sum over a block. */
static struct origin origin_at(float maximum) {
    struct origin origin = {{0.0f, 0.0f}, maximum + 8.0f};
    if (fabsf(maximum) <= EXPONENTIAL_REACH)
        origin.of.power = rintf(maximum * LOG2_E);
    else if (maximum != -INFINITY)
        origin.of.centre = maximum;
    return origin;
}

static double origin_value(struct origin origin) {
    return origin.limit == -INFINITY ? (double)-INFINITY : (double)origin.of.centre + (double)origin.of.power * (double)LN_2;
}

static float piece_maximum(const element *logits, int64_t columns) {
    vector maximum = vector_broadcast(-INFINITY);
    for (int64_t column = 0; column < columns; column += PAIR) {
        struct vector_pair x = column + PAIR <= columns ? pair_load_f16(logits + column)
                                                        : load_tail(logits + column, columns - column);
        maximum = vector_max(maximum, vector_max(x.first, x.second));
    }
    return vector_reduce_max(maximum);
}

/* What the vectors of a pass over a piece are measured against. */
struct exponential_bounds {
    vector centre, round, lowest;
};

/* The exponentials of two vectors: stored if the gradient will need them; returns their sum. */
static inline vector pair_exponentials(struct vector_pair x, const struct exponential_bounds *bounds, float *exponentials,
                                       bool centred, bool keep) {
    if (centred) {
        x.first -= bounds->centre;
        x.second -= bounds->centre;
    }
    const vector first = exponential(x.first, bounds->round, bounds->lowest);
    const vector second = exponential(x.second, bounds->round, bounds->lowest);
    if (keep) {
        vector_store_f32(exponentials, first);
        vector_store_f32(exponentials + VECTOR_LANES, second);
    }
    return first + second;
}

static inline void prefetch_ahead(const element *logits) {
    for (size_t byte = 0; byte < UNROLL * PAIR * sizeof(element); byte += CACHE_LINE)
        __builtin_prefetch((const void *)((uintptr_t)logits + AHEAD + byte));
}

/* UNROLL pairs are summed as a tree before they join the running sum: few registers, short chains of roundings. */
SPECIALISED struct piece_sums piece_pass(const element *logits, int64_t columns, struct exponential_origin origin,
                                         float *exponentials, bool centred, bool keep) {
    const struct exponential_bounds bounds = {
        .centre = vector_broadcast(origin.centre),
        .round = vector_broadcast(EXPONENTIAL_ROUND - origin.power),
        .lowest = vector_broadcast(EXPONENTIAL_LOWEST + origin.power * LN_2),
    };
    vector sum = vector_broadcast(0.0f), maximum = vector_broadcast(-INFINITY);
    int64_t column = 0;
    for (; column + UNROLL * PAIR <= columns; column += UNROLL * PAIR) {
        prefetch_ahead(logits + column);
        vector sums[UNROLL];
        for (int k = 0; k < UNROLL; k++) {
            int64_t here = column + k * PAIR;
            struct vector_pair x = pair_load_f16(logits + here);
            maximum = vector_max(maximum, vector_max(x.first, x.second));
            sums[k] = pair_exponentials(x, &bounds, exponentials + here, centred, keep);
        }
        sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    for (; column < columns; column += PAIR) {
        struct vector_pair x = column + PAIR <= columns ? pair_load_f16(logits + column)
                                                        : load_tail(logits + column, columns - column);
        maximum = vector_max(maximum, vector_max(x.first, x.second));
        sum += pair_exponentials(x, &bounds, exponentials + column, centred, keep);
    }
    return (struct piece_sums){.maximum = vector_reduce_max(maximum), .sum = vector_reduce_add(sum)};
}

/* One loop for each case, so that none pays for another. */
static struct piece_sums piece_exponentials(const element *logits, int64_t columns, struct exponential_origin origin,
                                            float *exponentials, bool keep) {
    if (origin.centre != 0.0f)
        return keep ? piece_pass(logits, columns, origin, exponentials, true, true)
                    : piece_pass(logits, columns, origin, exponentials, true, false);
    return keep ? piece_pass(logits, columns, origin, exponentials, false, true)
                : piece_pass(logits, columns, origin, exponentials, false, false);
}

/*
 * Fills row.exponentials and row.pieces; returns the last origin's value, -infinity where all logits but the label's are.
 * A piece is tried with the origin of the one before it, and once more with its own where its maximum lies too far above.
 * A NaN can get lost in the maxima, but never in the sums.
 */
static double forward_pieces(const struct row *row) {
    struct quern_cross_entropy_piece *piece = row->pieces;
    float *exponentials = row->exponentials;
    struct origin origin = origin_at(-INFINITY);
    for (int64_t column = 0, end; column < row->vocab; column = piece_next(row, end), piece++) {
        end = piece_end(row, column);
        const element *logits = row->logits + column;
        if (origin.limit == -INFINITY)
            origin = origin_at(piece_maximum(logits, end - column));
        struct piece_sums sums = piece_exponentials(logits, end - column, origin.of, exponentials, row->grad);
        if (sums.maximum > origin.limit) {
            origin = origin_at(sums.maximum);
            sums = piece_exponentials(logits, end - column, origin.of, exponentials, row->grad);
        }
        piece->origin = origin_value(origin);
        piece->sum = (double)sums.sum * EXPONENTIAL_UNBIAS;
        exponentials += piece_room(end - column);
    }
    return origin_value(origin);
}

static struct row_result forward(const struct row *row) {
    float label[VECTOR_LANES];
    vector_store_f32(label, load_tail(row->logits + row->label, 1).first);
    const double others = forward_pieces(row);
    struct row_result result = {.label = label[0], .origin = others > label[0] ? others : label[0]};
    const double origin = result.origin == -INFINITY ? 0.0 : result.origin;
    struct quern_cross_entropy_piece *piece = row->pieces;
    for (int64_t column = 0; column < row->vocab; column = piece_next(row, piece_end(row, column)), piece++) {
        const bool as_before = column > 0 && piece[-1].origin == piece->origin;
        piece->weight = as_before ? piece[-1].weight : exp(piece->origin - origin);
        result.others += piece->weight * piece->sum;
    }
    result.sum = result.others + exp(result.label - origin);
    return result;
}

/* ---- gradient ---- */

SPECIALISED void piece_products(const float *exponentials, int64_t columns, float first, float second, element *grad,
                                bool twice) {
    const vector first_factor = vector_broadcast(first), second_factor = vector_broadcast(second);
    for (int64_t column = 0; column < columns; column += PAIR) {
        struct vector_pair x = pair_load_f32(exponentials + column);
        x.first *= first_factor;
        x.second *= first_factor;
        if (twice) {
            x.first *= second_factor;
            x.second *= second_factor;
        }
        if (column + PAIR <= columns)
            pair_store_f16(grad + column, x);
        else
            store_tail(grad + column, columns - column, x);
    }
}

/*
 * The exponentials times factor / 2^EXPONENTIAL_BIAS, rounded once.  Where that is no normal fp32, two normal factors
 * make it up; the product with the first is exact, but for exponentials whose gradient vanishes anyway.
 */
static void piece_gradient(const float *exponentials, int64_t columns, double factor, element *grad) {
    if (fabs(factor) * EXPONENTIAL_UNBIAS >= FLT_MIN)
        piece_products(exponentials, columns, (float)(factor * EXPONENTIAL_UNBIAS), 1.0f, grad, false);
    else
        piece_products(exponentials, columns, (float)EXPONENTIAL_UNBIAS * 0x1p-24f, (float)(factor * 0x1p24), grad, true);
}

static void gradient(const struct row *row, const struct row_result *result, double scale) {
    const struct quern_cross_entropy_piece *piece = row->pieces;
    const float *exponentials = row->exponentials;
    const double factor = scale / result->sum;
    for (int64_t column = 0, end; column < row->vocab; column = piece_next(row, end), piece++) {
        end = piece_end(row, column);
        piece_gradient(exponentials, end - column, piece->weight * factor, row->grad + column);
        exponentials += piece_room(end - column);
    }
    const vector label = vector_broadcast((float)(-(result->others / result->sum) * scale));
    store_tail(row->grad + row->label, 1, (struct vector_pair){label, label});
}

static void fill(element *grad, int64_t vocab, element value) {
    for (int64_t column = 0; column < vocab; column++)
        grad[column] = value;
}

/* ---- rows ---- */

/* The label of a row, or -1 for a row to skip. */
static int64_t counted_label(const struct quern_cross_entropy_problem *problem, int64_t row) {
    int64_t label = problem->labels_are_int64 ? ((const int64_t *)problem->labels)[row]
                                              : ((const int32_t *)problem->labels)[row];
    return label == problem->ignore_index || label < 0 || label >= problem->vocab ? -1 : label;
}

/* What the gradient of a row is multiplied by. */
static double row_scale(const struct quern_cross_entropy_problem *problem, int64_t row) {
    double scale = problem->grad_scale;
    if (problem->grad_loss)
        scale *= (double)problem->grad_loss[row * problem->grad_loss_stride];
    return problem->reduction == QUERN_REDUCTION_MEAN ? scale / *problem->divisor : scale;
}

/* log(sum of exp(x_j)) - x_label, without cancellation for a row that is confident of its label. */
static double row_loss(const struct row_result *result) {
    if (result->label == result->origin)
        return log1p(result->others);
    return log(result->sum) - (result->label - result->origin);
}

/* One row with a label; returns its loss. */
static double counted_row(const struct quern_cross_entropy_problem *problem, const struct row *row, int64_t index) {
    const struct row_result result = forward(row);
    const double scale = row->grad ? row_scale(problem, index) : 0.0;
    if (isnan(result.sum) || isnan(scale)) {
        if (row->grad)
            fill(row->grad, row->vocab, NOT_A_NUMBER);
        return isnan(result.sum) ? (double)NAN : row_loss(&result);
    }
    if (result.origin == -INFINITY) {
        if (problem->report)
            __atomic_fetch_add(&problem->report->infinite_rows, 1, __ATOMIC_RELAXED);
        if (row->grad)
            fill(row->grad, row->vocab, 0);
        return INFINITY;
    }
    if (row->grad)
        gradient(row, &result, scale);
    return row_loss(&result);
}

quern_cross_entropy_rows_kernel quern_cross_entropy_f16__portable;

void quern_cross_entropy_f16__portable(const struct quern_cross_entropy_problem *problem, int64_t first_row,
                        int64_t end_row, void *scratch) {
    for (int64_t index = first_row; index < end_row; index++) {
        struct row row = {
            .logits = (const element *)problem->logits + index * problem->logits_stride,
            .grad = problem->grad ? (element *)problem->grad + index * problem->grad_stride : NULL,
            .vocab = problem->vocab,
            .label = counted_label(problem, index),
            .exponentials = scratch,
            .pieces = (void *)((float *)scratch + quern_cross_entropy_scratch_columns(problem->vocab)),
        };
        double loss = 0.0;
        if (row.label >= 0)
            loss = counted_row(problem, &row, index);
        else if (row.grad)
            fill(row.grad, row.vocab, 0);
        if (problem->row_loss)
            problem->row_loss[index] = (float)loss;
    }
}
