/*
 * Softmax cross-entropy of f32 logits on a CPU: the sums of a row, and its gradient.
 * Rendered by gen/ from templates/cross_entropy/cross_entropy.c.j2; do not edit.
 *
 * DRAM is passed over once: 4 bytes are read and as many written per logit.  A row goes through two passes:
 *
 *   forward    the exponentials, block by block of QUERN_CROSS_ENTROPY_BLOCK columns, are summed and kept as fp32 in the
 *              worker's scratch
 *   gradient   the exponentials times one factor per block, rounded to f32
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
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/exponential_avx2.h"
#include "kernels/cpu/range_of_floats.h"
#include "kernels/cpu/softcap.h"
#include "kernels/cross_entropy_row.h"
#include "kernels/kernel.h"

typedef float element;

enum { PAIR = 2 * VECTOR_LANES, UNROLL = 4, GROUP = UNROLL * PAIR };

/* For functions whose bool arguments are constants, so that each call is a loop of its own, and for all within such loops. */
#define SPECIALISED static inline __attribute__((always_inline))

/*
 * Elements: how f32 logits come into fp32 vectors and gradients out of them, in whole pairs of vectors and in the part of a
 * pair that ends a piece; the largest and the least of many; and what sums over columns run in.  All else is the same for all
 * types.
 */

#define MINUS_INFINITY (-INFINITY)
#define NOT_A_NUMBER NAN
/* The last, partial pair of a piece, filled up with columns that add nothing. */
static inline void fill_tail(element *tail, const element *logits, int64_t columns) {
    for (int i = 0; i < PAIR; i++)
        tail[i] = MINUS_INFINITY;
    memcpy(tail, logits, (size_t)columns * sizeof(element));
}

static struct vector_pair load_tail(const element *logits, int64_t columns) {
    element tail[PAIR];
    fill_tail(tail, logits, columns);
    return pair_load_f32(tail);
}

static inline float first_lane(vector x) {
    float lanes[VECTOR_LANES];
    vector_store_f32(lanes, x);
    return lanes[0];
}

SPECIALISED struct vector_pair load_pair(const element *logits, int64_t columns) {
    return columns >= PAIR ? pair_load_f32(logits) : load_tail(logits, columns);
}

static void store_tail(element *grad, int64_t columns, struct vector_pair x) {
    element tail[PAIR];
    pair_store_f32(tail, x);
    memcpy(grad, tail, (size_t)columns * sizeof(element));
}

/* The class weights beside a pair of logits: 1 without any, 0 beyond the columns. */
static struct vector_pair load_weights(const float *weights, int64_t columns) {
    float tail[PAIR];
    if (weights && columns >= PAIR)
        return pair_load_beside_f32(weights);
    for (int i = 0; i < PAIR; i++)
        tail[i] = i >= columns ? 0.0f : weights ? weights[i] : 1.0f;
    return pair_load_beside_f32(tail);
}

/*
 * Whole pairs that have class weights beside them are loaded and stored in the columns' order where that makes the work less;
 * what is kept of them is in the same order.
 */
SPECIALISED struct vector_pair load_beside_weights(const element *logits) {
    return pair_load_f32(logits);
}

SPECIALISED struct vector_pair load_whole_weights(const float *weights) {
    return pair_load_beside_f32(weights);
}

SPECIALISED void store_beside_weights(element *grad, struct vector_pair x) {
    pair_store_f32(grad, x);
}
SPECIALISED void store_pair(float *to, struct vector_pair x) {
    vector_store_f32(to, x.first);
    vector_store_f32(to + VECTOR_LANES, x.second);
}

typedef float range_limit;

static inline struct range nothing_in_range(void) {
    return range_nothing();
}

SPECIALISED void add_to_range(struct range *range, const element *logits) {
    range_add(range, pair_load_f32(logits));
}

static inline float largest_in_range(const struct range *range) {
    return range_largest(range);
}

static inline range_limit range_limit_of(float limit) {
    return limit;
}
SPECIALISED struct range range_of(const element *logits, int64_t columns) {
    struct range range = nothing_in_range();
    int64_t column = 0;
    for (; column + PAIR <= columns; column += PAIR)
        add_to_range(&range, logits + column);
    if (column < columns) {
        element tail[PAIR];
        fill_tail(tail, logits + column, columns - column);
        add_to_range(&range, tail);
    }
    return range;
}

/* What sums over columns run in. */
typedef vector_wide total;  /* double: shards of a row then have its sums but for less than fp32 can tell */

SPECIALISED total total_of(struct vector_pair x) {
    return vector_widen(x.first) + vector_widen(x.second);
}

SPECIALISED total total_of_products(struct vector_pair x, struct vector_pair y) {
    return total_of((struct vector_pair){x.first * y.first, x.second * y.second});
}

static inline double total_value(total x) {
    return wide_reduce_add(x);
}
/*
 * Pieces: how a row falls into parts, blocks and pieces, where each has its place in the scratch, and what its exponentials are
 * taken relative to.  The scratch has 4 bytes for a column, 8 with a softcap, and a part of a row has its own stretch of it, so
 * that parts can be gone through in any order.
 */

/* One row, and where its intermediate results are kept. */
struct row {
    const struct quern_cross_entropy_problem *problem;
    const element *logits;
    element *grad;             /* NULL: no gradient */
    int64_t vocab;
    int64_t label;             /* its column here; -1: in another shard */
    struct softcap softcap;    /* if there is one */
    struct softcapped capped;  /* the label's logit, in every lane */
    float *exponentials;       /* times 2^EXPONENTIAL_BIAS; each piece starts at a multiple of PAIR.  NULL: nothing is kept */
    float *slopes;             /* of the softcap, beside them; NULL: nothing is kept, or there is no softcap */
    double *origins;           /* of the pieces' exponentials */
};

/* How far a pass over the pieces has come in what is kept of them. */
struct cursor {
    int64_t column, piece;
};

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

static inline int64_t part_end(const struct row *row, int64_t part) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS;
    return row->vocab - first < QUERN_CPU_PART_COLUMNS ? row->vocab : first + QUERN_CPU_PART_COLUMNS;
}

/* Where a part of a row begins: each has room for one piece more, the label's. */
static inline struct cursor cursor_of_part(int64_t part) {
    return (struct cursor){part * QUERN_CPU_SCRATCH_PART, part * (QUERN_CPU_PART_COLUMNS / QUERN_CROSS_ENTROPY_BLOCK + 1)};
}

static inline struct cursor cursor_after(struct cursor at, int64_t columns) {
    return (struct cursor){at.column + (columns + PAIR - 1) / PAIR * PAIR, at.piece + 1};
}

/* Where the exponentials of a piece are taken relative to, and the largest y for which that is still right. */
struct origin {
    struct exponential_origin of;
    float limit;
    float reference;           /* what distances are measured from; not above limit */
};

/* What one pass over a piece finds: the largest logit, and the sums of quern_row_stats relative to an origin. */
struct piece_sums {
    float maximum;
    double exponentials, moment, weighted, weights;
};

/* Exponentials up to exp(8) times 2^EXPONENTIAL_BIAS are far from overflow, also in a sum over a block. */
static struct origin origin_at(float maximum) {
    struct origin origin = {{0.0f, 0.0f}, maximum + 8.0f, maximum};
    if (fabsf(maximum) <= EXPONENTIAL_REACH)
        origin.of.power = rintf(maximum * LOG2_E);
    else if (maximum != -INFINITY)
        origin.of.centre = maximum;
    return origin;
}

static double origin_value(struct origin origin) {
    return origin.limit == -INFINITY ? (double)-INFINITY : (double)origin.of.centre + (double)origin.of.power * EXPONENTIAL_LN_2;
}

static float piece_maximum(const element *logits, int64_t columns) {
    vector maximum = vector_broadcast(-INFINITY);
    for (int64_t column = 0; column < columns; column += PAIR) {
        struct vector_pair x = load_pair(logits + column, columns - column);
        maximum = vector_max(maximum, vector_max(x.first, x.second));
    }
    return vector_reduce_max(maximum);
}

/* What the vectors of a pass over a piece are measured against. */
struct exponential_bounds {
    vector centre, round, lowest;
};

static inline struct exponential_bounds bounds_of(struct exponential_origin origin) {
    return (struct exponential_bounds){
        .centre = vector_broadcast(origin.centre),
        .round = vector_broadcast(EXPONENTIAL_ROUND - origin.power),
        .lowest = vector_broadcast(EXPONENTIAL_LOWEST + origin.power * LN_2),
    };
}

SPECIALISED struct vector_pair pair_exponentials(struct vector_pair x, const struct exponential_bounds *bounds, bool centred) {
    if (centred) {
        x.first -= bounds->centre;
        x.second -= bounds->centre;
    }
    return (struct vector_pair){exponential(x.first, bounds->round, bounds->lowest),
                                exponential(x.second, bounds->round, bounds->lowest)};
}

/* The same of logits that are known to be neither centred nor below the lowest. */
SPECIALISED struct vector_pair pair_exponentials_in_reach(struct vector_pair x, const struct exponential_bounds *bounds) {
    return (struct vector_pair){exponential_in_reach(x.first, bounds->round), exponential_in_reach(x.second, bounds->round)};
}
/*
 * The forward pass of plain kernels over a piece: 4 bytes of a logit are read, which come from DRAM, and 4 written,
 * which stay in the cache; the largest logit, the sum of the exponentials and the exponentials come from the same loop.
 */

/* Columns whose sums come together before they join those of the piece: so no chain of roundings is longer than some 20. */
enum { RUN = 512 };

/* How far ahead of the forward pass logits are asked for, in bytes; across the row's end, into the next row. */
enum { AHEAD = 8192, CACHE_LINE = 64 };

static inline void prefetch_ahead(const element *logits) {
    for (size_t byte = 0; byte < GROUP * sizeof(element); byte += CACHE_LINE)
        __builtin_prefetch((const void *)((uintptr_t)logits + AHEAD + byte));
}

/* UNROLL pairs are summed as a tree before they join the sum of a run: few registers, short chains of roundings. */
SPECIALISED struct piece_sums plain_pass(const element *logits, int64_t columns, struct exponential_origin origin,
                                         float *exponentials, bool centred, bool keep) {
    const struct exponential_bounds bounds = bounds_of(origin);
    total sum = {0}, run = {0};
    vector maximum = vector_broadcast(-INFINITY);
    int64_t column = 0;
    for (; column + GROUP <= columns; column += GROUP) {
        prefetch_ahead(logits + column);
        if (column % RUN == 0) {
            sum += run;
            run = (total){0};
        }
        total sums[UNROLL];
        for (int k = 0; k < UNROLL; k++) {
            int64_t here = column + k * PAIR;
            struct vector_pair x = pair_load_f32(logits + here);
            maximum = vector_max(maximum, vector_max(x.first, x.second));
            x = pair_exponentials(x, &bounds, centred);
            if (keep)
                store_pair(exponentials + here, x);
            sums[k] = total_of(x);
        }
        run += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    for (; column < columns; column += PAIR) {
        struct vector_pair x = load_pair(logits + column, columns - column);
        maximum = vector_max(maximum, vector_max(x.first, x.second));
        x = pair_exponentials(x, &bounds, centred);
        if (keep)
            store_pair(exponentials + column, x);
        run += total_of(x);
    }
    return (struct piece_sums){.maximum = vector_reduce_max(maximum), .exponentials = total_value(sum + run)};
}

/* One loop for each case, so that none pays for another. */
static struct piece_sums plain_sums(const element *logits, int64_t columns, struct exponential_origin origin, float *exponentials) {
    if (origin.centre != 0.0f)
        return exponentials ? plain_pass(logits, columns, origin, exponentials, true, true)
                            : plain_pass(logits, columns, origin, NULL, true, false);
    return exponentials ? plain_pass(logits, columns, origin, exponentials, false, true)
                        : plain_pass(logits, columns, origin, NULL, false, false);
}
/*
 * The forward pass of full kernels over a piece: softcap, smoothing and entropy in the loop that takes the exponentials.  A logit
 * is read from DRAM once, as by the plain ones; beside it come 4 bytes of a class weight, and 4 of the softcap's slope go to the
 * scratch with the exponential's, all of them in the cache.  A group's logits are looked at before they are worked on: whether
 * the softcap's polynomial suffices is decided for all of them at once.
 */

/* What is asked of a pass.  Where it is a constant, so are the branches that depend on it. */
struct full_wants {
    bool centred, kept, softcap, smoothing, class_weights, entropy;
    bool in_reach;             /* no y is below the lowest whose exponential counts: the softcap sees to it */
};

/* A pass over a piece: what is asked for, and where things are. */
struct full_pass {
    const element *logits;
    const float *class_weights;             /* of the piece's columns, or NULL */
    float *exponentials, *slopes;           /* NULL: not to be kept */
    struct exponential_bounds bounds;
    struct softcap softcap;
    range_limit near;                       /* of its polynomial */
    vector reference, scaled_reference;     /* what y is measured from; with a minus and scaled, in the weighted sum */
    float origin;                           /* the same */
    struct full_wants wants;
};

/* Distances are summed in this scale, in which no sum over a piece can overflow. */
#define DISTANCE_SCALE 0x1p-24f

/* Below it an exponential is 0, but not so far that 0 times it is no number. */
#define LEAST_DISTANCE (-1000.0f)

/* Of a group, a run or a piece. */
struct full_sums {
    total exponentials, moment, weighted, weights;
};

static inline struct full_sums no_sums(void) {
    return (struct full_sums){{0}, {0}, {0}, {0}};
}

SPECIALISED void join_sums(struct full_sums *sums, const struct full_sums *more, struct full_wants wants) {
    sums->exponentials += more->exponentials;
    if (wants.entropy)
        sums->moment += more->moment;
    if (wants.smoothing)
        sums->weighted += more->weighted;
    if (wants.smoothing && wants.class_weights)
        sums->weights += more->weights;
}

SPECIALISED struct vector_pair cap_pair(const struct full_pass *pass, struct vector_pair x, bool near, float *slopes) {
    const struct softcapped first = near ? softcap_near(x.first, &pass->softcap) : softcap_any(x.first, &pass->softcap);
    const struct softcapped second = near ? softcap_near(x.second, &pass->softcap) : softcap_any(x.second, &pass->softcap);
    if (slopes)
        store_pair(slopes, (struct vector_pair){first.slope, second.slope});
    return (struct vector_pair){first.value, second.value};
}

/* Takes the columns beyond a tail out again, which the softcap has made finite. */
static struct vector_pair cut_off(struct vector_pair x, int64_t columns) {
    const element zeros[PAIR] = {0};
    const struct vector_pair mask = load_tail(zeros, columns);
    return (struct vector_pair){x.first + mask.first, x.second + mask.second};
}

/* Column by column in double: of a column without weight not even an infinite distance counts. */
static void weigh_carefully(struct vector_pair y, struct vector_pair weights, float origin, double *weighted, double *sum) {
    float of_y[PAIR], of_weight[PAIR];
    store_pair(of_y, y);
    store_pair(of_weight, weights);
    for (int i = 0; i < PAIR; i++) {
        if (of_weight[i] != 0.0f)
            *weighted += (double)of_weight[i] * ((double)of_y[i] - (double)origin);
        *sum += (double)of_weight[i];
    }
}

/* What is summed for the smoothing; scaled where y has no bound. */
SPECIALISED struct vector_pair distances_of(const struct full_pass *pass, struct vector_pair y, bool bounded) {
    const vector scale = vector_broadcast(DISTANCE_SCALE);
    if (bounded)
        return (struct vector_pair){y.first - pass->reference, y.second - pass->reference};
    return (struct vector_pair){vector_multiply_add(y.first, scale, pass->scaled_reference),
                                vector_multiply_add(y.second, scale, pass->scaled_reference)};
}

SPECIALISED void weigh(const struct full_pass *pass, int64_t column, struct vector_pair y, struct full_wants wants,
                       struct full_sums *sums) {
    const struct vector_pair distances = distances_of(pass, y, wants.in_reach);
    if (!wants.class_weights) {
        sums->weighted += total_of(distances);
        return;
    }
    const struct vector_pair weights = load_whole_weights(pass->class_weights + column);
    sums->weighted += total_of_products(weights, distances);
    sums->weights += total_of(weights);
}

/* exp = 0 adds 0, however far away. */
SPECIALISED total moment_of(const struct full_pass *pass, struct vector_pair y, struct vector_pair exponentials) {
    const vector least = vector_broadcast(LEAST_DISTANCE);
    const struct vector_pair distances = {vector_max(least, y.first - pass->reference),
                                          vector_max(least, y.second - pass->reference)};
    return total_of_products(distances, exponentials);
}

/* One pair, of which so many columns count; returns the sum of its exponentials. */
SPECIALISED total add_pair(const struct full_pass *pass, int64_t column, int64_t columns, bool near, struct full_wants wants,
                            struct full_sums *sums) {
    struct vector_pair y = wants.class_weights && columns >= PAIR ? load_beside_weights(pass->logits + column)
                                                                  : load_pair(pass->logits + column, columns);
    if (wants.softcap) {
        y = cap_pair(pass, y, near, wants.kept ? pass->slopes + column : NULL);
        if (columns < PAIR)
            y = cut_off(y, columns);
    }
    const struct vector_pair e = wants.in_reach && columns >= PAIR ? pair_exponentials_in_reach(y, &pass->bounds)
                                                                   : pair_exponentials(y, &pass->bounds, wants.centred);
    if (wants.kept)
        store_pair(pass->exponentials + column, e);
    if (wants.entropy)
        sums->moment += moment_of(pass, y, e);
    if (wants.smoothing && columns >= PAIR)
        weigh(pass, column, y, wants, sums);
    return total_of(e);
}

/* Up to GROUP columns.  Exponentials are summed in the order of the plain pass, so that their sum has the same bits. */
SPECIALISED void add_pairs(const struct full_pass *pass, int64_t column, int64_t columns, bool near, struct full_wants wants,
                           struct full_sums *run) {
    struct full_sums group = no_sums();
    total sums[UNROLL];
    if (columns < GROUP) {
        for (int64_t k = 0; k < columns; k += PAIR)
            run->exponentials += add_pair(pass, column + k, columns - k, near, wants, &group);
    } else {
        for (int k = 0; k < UNROLL; k++)
            sums[k] = add_pair(pass, column + k * PAIR, PAIR, near, wants, &group);
        group.exponentials = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    join_sums(run, &group, wants);
}

/* The far half of the softcap is computed only where one of the group's logits asks for it. */
SPECIALISED void add_group(const struct full_pass *pass, int64_t column, int64_t columns, struct full_wants wants,
                           struct range *range, struct full_sums *run) {
    const struct range group = range_of(pass->logits + column, columns);
    range_join(range, &group);
    if (!wants.softcap || range_is_within(&group, pass->near))
        add_pairs(pass, column, columns, true, wants, run);
    else
        add_pairs(pass, column, columns, false, wants, run);
}

static struct vector_pair capped_pair(const struct full_pass *pass, int64_t column, int64_t columns) {
    const struct vector_pair x = load_pair(pass->logits + column, columns);
    return pass->wants.softcap ? cap_pair(pass, x, false, NULL) : x;
}

/* The smoothing's sums from a column of a piece on. */
static void weigh_rest(const struct full_pass *pass, int64_t column, int64_t columns, struct piece_sums *sums) {
    for (; column < columns; column += PAIR) {
        const float *weights = pass->class_weights ? pass->class_weights + column : NULL;
        weigh_carefully(capped_pair(pass, column, columns - column), load_weights(weights, columns - column), pass->origin,
                        &sums->weighted, &sums->weights);
    }
}

/* From vectors' sums; a weighted sum that is NaN may only be so for a weight of 0 at an infinite distance. */
static void finish_weighing(const struct full_pass *pass, int64_t columns, const struct full_sums *sums, struct piece_sums *piece) {
    const int64_t whole = columns / PAIR * PAIR;
    piece->weighted = total_value(sums->weighted) * (pass->wants.in_reach ? 1 : 1 / (double)DISTANCE_SCALE);
    piece->weights = pass->class_weights ? total_value(sums->weights) : (double)whole;
    if (!isnan(piece->weighted)) {
        weigh_rest(pass, whole, columns, piece);
        return;
    }
    piece->weighted = piece->weights = 0;
    weigh_rest(pass, 0, columns, piece);
}

SPECIALISED struct piece_sums full_pass(struct full_pass pass, int64_t columns, struct full_wants wants) {
    struct range range = nothing_in_range();
    struct full_sums sums = no_sums(), run = sums;
    int64_t column = 0;
    for (; column + GROUP <= columns; column += GROUP) {
        prefetch_ahead(pass.logits + column);
        if (column % RUN == 0) {
            join_sums(&sums, &run, wants);
            run = no_sums();
        }
        add_group(&pass, column, GROUP, wants, &range, &run);
    }
    if (column < columns)
        add_group(&pass, column, columns - column, wants, &range, &run);
    join_sums(&sums, &run, wants);
    struct piece_sums piece = {
        .maximum = largest_in_range(&range),
        .exponentials = total_value(sums.exponentials),
        .moment = total_value(sums.moment),
    };
    if (wants.smoothing)
        finish_weighing(&pass, columns, &sums, &piece);
    return piece;
}

/* What training asks for has loops of its own; one loop for all else. */
static struct piece_sums full_sums(const struct full_pass *pass, int64_t columns) {
    const struct full_wants wants = pass->wants;
    if (wants.centred || wants.entropy || !wants.kept || wants.softcap != wants.in_reach)
        return full_pass(*pass, columns, wants);
    const struct full_wants kept = {.kept = 1}, weighed = {.kept = 1, .smoothing = 1, .class_weights = 1};
    const struct full_wants smoothed = {.kept = 1, .smoothing = 1}, capped = {.kept = 1, .softcap = 1, .in_reach = 1};
    const struct full_wants capped_smoothed = {.kept = 1, .softcap = 1, .in_reach = 1, .smoothing = 1};
    const struct full_wants capped_weighed = {.kept = 1, .softcap = 1, .in_reach = 1, .smoothing = 1, .class_weights = 1};
    if (wants.softcap && wants.class_weights)
        return full_pass(*pass, columns, capped_weighed);
    if (wants.softcap && wants.smoothing)
        return full_pass(*pass, columns, capped_smoothed);
    if (wants.softcap)
        return full_pass(*pass, columns, capped);
    if (wants.class_weights)
        return full_pass(*pass, columns, weighed);
    if (wants.smoothing)
        return full_pass(*pass, columns, smoothed);
    return full_pass(*pass, columns, kept);
}
/*
 * Parts: the sums of one part of a row, from those of its pieces and the label's column.  Columns are touched by the passes only,
 * but for the label and, if it is asked for, the search for the largest logit's column within the piece that has it.
 */

/* The y of one logit, in every lane. */
static struct softcapped cap_one(const struct row *row, float logit) {
    const vector x = vector_broadcast(logit);
    if (row->problem->softcap == 0.0f)
        return (struct softcapped){x, vector_broadcast(1.0f)};
    return softcap_any(x, &row->softcap);
}

/* Whether y lies too far above what a piece was measured with; distances of large exponentials must not cancel in the moment. */
SPECIALISED bool is_beyond(const struct row *row, struct origin origin, float maximum, bool full) {
    return maximum > origin.limit || (full && row->problem->entropy && maximum > origin.reference + 1.0f);
}

/* Above the limit an origin is taken anew; below it only the distances are. */
static struct origin origin_raised(struct origin origin, float maximum) {
    if (maximum > origin.limit)
        return origin_at(maximum);
    origin.reference = maximum;
    return origin;
}

/* Whether each column's work takes its class weight; without smoothing only the label's counts. */
static inline bool has_weights_beside(const struct quern_cross_entropy_problem *problem) {
    return problem->class_weights && problem->label_smoothing != 0.0f;
}

/* One pass over a piece with a given origin. */
SPECIALISED struct piece_sums pass_over(const struct row *row, int64_t column, int64_t columns, struct origin origin,
                                        struct cursor at, bool full) {
    const struct quern_cross_entropy_problem *problem = row->problem;
    float *exponentials = row->exponentials ? row->exponentials + at.column : NULL;
    if (!full)
        return plain_sums(row->logits + column, columns, origin.of, exponentials);
    const float reference = origin.reference == -INFINITY ? 0.0f : origin.reference;
    const struct full_pass pass = {
        .logits = row->logits + column,
        .class_weights = problem->class_weights ? problem->class_weights + column : NULL,
        .exponentials = exponentials,
        .slopes = row->slopes ? row->slopes + at.column : NULL,
        .bounds = bounds_of(origin.of),
        .softcap = row->softcap,
        .near = range_limit_of(row->softcap.near_limit),
        .reference = vector_broadcast(reference),
        .scaled_reference = vector_broadcast(-reference * DISTANCE_SCALE),
        .origin = reference,
        .wants = {
            .centred = origin.of.centre != 0.0f,
            .kept = exponentials,
            .softcap = problem->softcap != 0.0f,
            .smoothing = problem->label_smoothing != 0.0f,
            .class_weights = has_weights_beside(problem),
            .entropy = problem->entropy,
            .in_reach = problem->softcap != 0.0f && origin.of.centre == 0.0f
                     && -problem->softcap >= EXPONENTIAL_LOWEST + origin.of.power * LN_2,
        },
    };
    return full_sums(&pass, columns);
}

/* A piece's sums, relative to the origin of its exponentials. */
static quern_row_stats piece_stats(struct origin origin, const struct piece_sums *sums) {
    quern_row_stats stats = quern_row_nothing();
    stats.origin = origin_value(origin);
    stats.others = sums->exponentials * EXPONENTIAL_UNBIAS;
    stats.weights = sums->weights;
    stats.weighted = sums->weighted;
    stats.moment = sums->moment * EXPONENTIAL_UNBIAS;
    if (stats.origin != (double)-INFINITY) {
        const double distance = (double)origin.reference - stats.origin;
        stats.weighted += distance * stats.weights;
        stats.moment += distance * stats.others;
    }
    return stats;
}

/* The label's column alone. */
SPECIALISED quern_row_stats label_stats(const struct row *row, bool full) {
    const struct quern_cross_entropy_problem *problem = row->problem;
    quern_row_stats stats = quern_row_nothing();
    stats.label_value = first_lane(row->capped.value);
    stats.label_weight = full && problem->class_weights ? problem->class_weights[row->label] : 1.0f;
    stats.has_label = 1;
    if (stats.label_value > -INFINITY)
        stats.origin = (double)stats.label_value;
    if (full && problem->label_smoothing != 0.0f) {
        stats.weights = (double)stats.label_weight;
        if (stats.origin == (double)-INFINITY && stats.weights != 0)
            stats.weighted = (double)-INFINITY;
    }
    return stats;
}

/* The first of the columns whose logit is a value that none exceeds; end when there is none. */
static int64_t find_first(const element *logits, int64_t column, int64_t end, float value) {
    if (value == -INFINITY)
        return column;
    const vector below = vector_broadcast(nextafterf(value, -INFINITY));
    for (; column + PAIR <= end; column += PAIR) {
        const struct vector_pair x = pair_load_f32(logits + column);
        if (!vector_all_at_most(vector_max(x.first, x.second), below))
            break;
    }
    for (; column < end; column++) {
        if (first_lane(load_tail(logits + column, 1).first) == value)
            break;
    }
    return column;
}

/* The largest logit of a part, and the piece in which it is found first. */
struct largest {
    float logit;
    int64_t column, end;
};

/* Which column that is.  The label's counts as well, and comes before another of its value when it stands before it. */
static void state_argmax(const struct row *row, const struct largest *largest, quern_row_stats *stats) {
    const float label = stats->has_label ? first_lane(load_tail(row->logits + row->label, 1).first) : -INFINITY;
    int64_t column = find_first(row->logits, largest->column, largest->end, largest->logit);
    if (stats->has_label && (label > largest->logit || (label == largest->logit && row->label < column)))
        column = row->label;
    stats->maximum = label > largest->logit ? label : largest->logit;
    stats->argmax = row->problem->first_column + column;
}

/* The label's column, the origin, and the argmax if it is asked for. */
SPECIALISED quern_row_stats finish_part(const struct row *row, int64_t part, const struct largest *largest, quern_row_stats stats,
                                        bool full) {
    double origin = (double)(full ? first_lane(cap_one(row, largest->logit).value) : largest->logit);
    if (part * QUERN_CPU_PART_COLUMNS <= row->label && row->label < part_end(row, part)) {
        quern_row_add(&stats, label_stats(row, full));
        if ((double)stats.label_value > origin)
            origin = (double)stats.label_value;
    }
    quern_row_move(&stats, origin);
    stats.argmax = 0;
    if (full && row->problem->argmax && origin == (double)-INFINITY)
        stats.argmax = -1;
    else if (full && row->problem->argmax)
        state_argmax(row, largest, &stats);
    return stats;
}

/*
 * The sums of one part, relative to its largest y; fills what is kept of its pieces from the cursor on.
 * A piece is tried with the origin of the one before it, and once more with its own where its maximum lies too far above.
 * A NaN can get lost in the maxima, but never in the sums.
 */
SPECIALISED quern_row_stats sum_part(const struct row *row, int64_t part, struct cursor at, bool full) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS, end_of_part = part_end(row, part);
    struct origin origin = origin_at(-INFINITY);
    struct largest largest = {-INFINITY, first, end_of_part};
    quern_row_stats stats = quern_row_nothing();
    for (int64_t column = first, end; column < end_of_part; column = piece_next(row, end)) {
        end = piece_end(row, column);
        const int64_t columns = end - column;
        if (origin.limit == -INFINITY)
            origin = origin_at(first_lane(cap_one(row, piece_maximum(row->logits + column, columns)).value));
        struct piece_sums sums = pass_over(row, column, columns, origin, at, full);
        const float maximum = full ? first_lane(cap_one(row, sums.maximum).value) : sums.maximum;
        if (is_beyond(row, origin, maximum, full)) {
            origin = origin_raised(origin, maximum);
            sums = pass_over(row, column, columns, origin, at, full);
        }
        if (sums.maximum > largest.logit)
            largest = (struct largest){sums.maximum, column, end};
        if (row->exponentials)
            row->origins[at.piece] = origin_value(origin);
        at = cursor_after(at, columns);
        quern_row_add(&stats, piece_stats(origin, &sums));
    }
    return finish_part(row, part, &largest, stats, full);
}
/*
 * The gradient of one part from what the forward pass has kept: 4 bytes of an exponential are read for a column, and 4 each of a
 * slope and a class weight where there are such, all from the cache; 4 bytes are written, which go to DRAM.
 */

/*
 * What exponentials are multiplied by: a power of two, which is 1 unless the factor would leave no room below it, and the factor
 * as a sum of two floats.  So each product is less than a unit in the last place from the real one, and rows whose sums differ in
 * their last bits only, as those of shards do, have gradients that are equal or neighbours.
 */
struct factor {
    vector power, high, low;
};

/* Whether the power counts: a small factor takes it, so that the second float is a normal one. */
static inline bool is_twice(double factor) {
    return fabs(factor) < 0x1p-4;
}

/* The power is at least 2^-126, and the rest at most 2^-24: a product with the power is exact unless the gradient vanishes. */
static inline struct factor factor_of(double factor) {
    double rest = factor * EXPONENTIAL_UNBIAS, power = 1;
    if (is_twice(factor)) {
        int exponent;
        const double mantissa = frexp(factor, &exponent);
        const int of_rest = exponent + 30 < -24 ? exponent + 30 : -24;
        rest = ldexp(mantissa, of_rest);
        power = ldexp(EXPONENTIAL_UNBIAS, exponent - of_rest);
    }
    const float high = (float)rest;
    return (struct factor){vector_broadcast((float)power), vector_broadcast(high), vector_broadcast((float)(rest - (double)high))};
}

static inline vector times_factor(vector x, const struct factor *factor, bool twice) {
    if (twice)
        x *= factor->power;
    return vector_multiply_add(x, factor->high, x * factor->low);
}

SPECIALISED void plain_products(const float *exponentials, int64_t columns, struct factor factor, element *grad, bool twice) {
    for (int64_t column = 0; column < columns; column += PAIR) {
        struct vector_pair x = pair_load_f32(exponentials + column);
        x.first = times_factor(x.first, &factor, twice);
        x.second = times_factor(x.second, &factor, twice);
        if (column + PAIR <= columns)
            pair_store_f32(grad + column, x);
        else
            store_tail(grad + column, columns - column, x);
    }
}

/* What a full kernel's gradient takes beside the exponentials; the pointers may be NULL. */
struct beside {
    const float *slopes, *class_weights;
    float uniform;             /* what is taken away for each class weight */
    bool is_ordered;           /* whole pairs have been loaded by load_beside_weights() */
};

/* One pair, whose exponentials times their factor are given: (that - uniform * weight) * slope. */
SPECIALISED struct vector_pair with_options(struct vector_pair x, int64_t column, int64_t columns, const struct beside *beside,
                                            bool ordered) {
    const vector uniform = vector_broadcast(-beside->uniform);
    if (beside->class_weights) {
        const float *at = beside->class_weights + column;
        const struct vector_pair weights = ordered && columns >= PAIR ? load_whole_weights(at) : load_weights(at, columns);
        x.first = vector_multiply_add(uniform, weights.first, x.first);
        x.second = vector_multiply_add(uniform, weights.second, x.second);
    } else if (beside->uniform != 0.0f) {
        x.first += uniform;
        x.second += uniform;
    }
    if (beside->slopes) {
        const struct vector_pair slopes = pair_load_f32(beside->slopes + column);
        x.first *= slopes.first;
        x.second *= slopes.second;
    }
    return x;
}

SPECIALISED void full_products(const float *exponentials, int64_t columns, struct factor factor, const struct beside *beside,
                               element *grad, bool twice, bool ordered) {
    for (int64_t column = 0; column < columns; column += PAIR) {
        struct vector_pair x = pair_load_f32(exponentials + column);
        x.first = times_factor(x.first, &factor, twice);
        x.second = times_factor(x.second, &factor, twice);
        x = with_options(x, column, columns - column, beside, ordered);
        if (column + PAIR > columns)
            store_tail(grad + column, columns - column, x);
        else if (ordered)
            store_beside_weights(grad + column, x);
        else
            pair_store_f32(grad + column, x);
    }
}

SPECIALISED void piece_gradient(const float *exponentials, int64_t columns, double factor, const struct beside *beside,
                                element *grad, bool full) {
    const struct factor factors = factor_of(factor);
    if (full && is_twice(factor))
        full_products(exponentials, columns, factors, beside, grad, true, beside->is_ordered);
    else if (full && beside->is_ordered)
        full_products(exponentials, columns, factors, beside, grad, false, true);
    else if (full)
        full_products(exponentials, columns, factors, beside, grad, false, false);
    else if (is_twice(factor))
        plain_products(exponentials, columns, factors, grad, true);
    else
        plain_products(exponentials, columns, factors, grad, false);
}

static void fill(element *grad, int64_t column, int64_t end, element value) {
    for (; column < end; column++)
        grad[column] = value;
}

/* The gradient of one part from what was kept of it. */
SPECIALISED void write_part(const struct row *row, int64_t part, const struct quern_row_gradient *gradient, struct cursor at,
                            bool full) {
    const struct quern_cross_entropy_problem *problem = row->problem;
    const int64_t first = part * QUERN_CPU_PART_COLUMNS, end_of_part = part_end(row, part);
    if (gradient->kind != QUERN_GRADIENT_NUMBERS) {
        fill(row->grad, first, end_of_part, gradient->kind == QUERN_GRADIENT_NAN ? NOT_A_NUMBER : 0);
        return;
    }
    double origin = (double)NAN, factor = 0;
    for (int64_t column = first, end; column < end_of_part; column = piece_next(row, end)) {
        end = piece_end(row, column);
        if (row->origins[at.piece] != origin) {
            origin = row->origins[at.piece];
            factor = exp(origin - gradient->origin) * gradient->factor;
        }
        const struct beside beside = {
            .slopes = row->slopes ? row->slopes + at.column : NULL,
            .class_weights = problem->class_weights && gradient->uniform != 0 ? problem->class_weights + column : NULL,
            .uniform = (float)gradient->uniform,
            .is_ordered = has_weights_beside(problem),
        };
        piece_gradient(row->exponentials + at.column, end - column, factor, &beside, row->grad + column, full);
        at = cursor_after(at, end - column);
    }
    if (first <= row->label && row->label < end_of_part) {
        const vector label = vector_broadcast((float)(gradient->label * (double)first_lane(row->capped.slope)));
        store_tail(row->grad + row->label, 1, (struct vector_pair){label, label});
    }
}

static void write_padding(const struct row *row) {
    fill(row->grad, row->vocab, row->problem->padded_vocab, 0);
}
/* ---- rows ---- */

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

/* ---- the kernels ---- */
quern_cross_entropy_rows_kernel quern_cross_entropy_f32__avx2;

void quern_cross_entropy_f32__avx2(const struct quern_cross_entropy_problem *problem, int64_t first_row, int64_t end_row, void *scratch) {
    run_rows(problem, first_row, end_row, scratch, false);
}
quern_cross_entropy_rows_kernel quern_cross_entropy_f32_full__avx2;

void quern_cross_entropy_f32_full__avx2(const struct quern_cross_entropy_problem *problem, int64_t first_row, int64_t end_row, void *scratch) {
    run_rows(problem, first_row, end_row, scratch, true);
}
quern_cross_entropy_part_kernel quern_cross_entropy_f32_stats__avx2;

void quern_cross_entropy_f32_stats__avx2(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    (void)scratch;
    run_stats(problem, row, part, false);
}
quern_cross_entropy_part_kernel quern_cross_entropy_f32_stats_full__avx2;

void quern_cross_entropy_f32_stats_full__avx2(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    (void)scratch;
    run_stats(problem, row, part, true);
}
quern_cross_entropy_part_kernel quern_cross_entropy_f32_gradient__avx2;

void quern_cross_entropy_f32_gradient__avx2(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_gradient(problem, row, part, scratch, false);
}
quern_cross_entropy_part_kernel quern_cross_entropy_f32_gradient_full__avx2;

void quern_cross_entropy_f32_gradient_full__avx2(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_gradient(problem, row, part, scratch, true);
}
