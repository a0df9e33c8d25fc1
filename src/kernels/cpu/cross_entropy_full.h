/*
 * The forward pass of full kernels over a piece, with softcap, smoothing and entropy in the loop that computes the exponentials.
 * Included by cross_entropy_parts.h.  A logit is read from DRAM once, as in the plain kernels.  The class weights (4 bytes per
 * column, read) and the softcap's slopes (4 bytes, written to the scratch with the exponentials) stay in the cache.  Each group of
 * logits is examined first, to decide for the whole group whether the softcap's polynomial suffices.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_FULL_H
#define QUERN_CPU_CROSS_ENTROPY_FULL_H

#include "kernels/cpu/cross_entropy_pieces.h"
#include "kernels/cpu/cross_entropy_plain.h"

/* The options of a pass.  If the struct is a constant, so are the branches on it. */
struct full_wants {
    bool centred, kept, softcap, smoothing, class_weights, entropy;
    bool in_reach;             /* no y is below the lowest one with an exponential, because of the softcap */
};

/* A pass over a piece: its options, inputs and outputs. */
struct full_pass {
    const element *logits;
    const float *class_weights;             /* of the piece's columns, or NULL */
    float *exponentials, *slopes;           /* NULL: not kept */
    struct exponential_bounds bounds;
    struct softcap softcap;
    range_limit near;                       /* the range of the softcap's polynomial */
    vector reference, scaled_reference;     /* of the weighted sum, subtracted from y; the second is negated and scaled */
    vector moment_reference;
    float origin;                           /* the reference as a scalar */
    struct full_wants wants;
};

/* The scale of summed distances.  With it no sum over a piece can overflow. */
#define DISTANCE_SCALE 0x1p-24f

/* Exponentials below this distance are 0, but it is finite, so that 0 times it is not NaN. */
#define LEAST_DISTANCE (-1000.0f)

/* The sums of a group, a run or a piece. */
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

/* Sets the columns beyond a tail to -infinity again: the softcap has made them finite. */
static struct vector_pair cut_off(struct vector_pair x, int64_t columns) {
    const element zeros[PAIR] = {0};
    const struct vector_pair mask = load_tail(zeros, columns);
    return (struct vector_pair){x.first + mask.first, x.second + mask.second};
}

/* Sums column by column in double, and skips columns of weight 0 even at an infinite distance. */
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

/* The distances for the smoothing's sum; scaled if y has no bound. */
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

/* An exponential of 0 adds 0 at any distance. */
SPECIALISED total moment_of(const struct full_pass *pass, struct vector_pair y, struct vector_pair exponentials) {
    const vector least = vector_broadcast(LEAST_DISTANCE);
    const struct vector_pair distances = {vector_max(least, y.first - pass->moment_reference),
                                          vector_max(least, y.second - pass->moment_reference)};
    return total_of_products(distances, exponentials);
}

/* One pair, of which `columns` columns exist; returns the sum of its exponentials. */
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

/* The far half of the softcap is computed only if one of the group's logits needs it. */
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

/* The smoothing's sums of a piece, from a given column on. */
static void weigh_rest(const struct full_pass *pass, int64_t column, int64_t columns, struct piece_sums *sums) {
    for (; column < columns; column += PAIR) {
        const float *weights = pass->class_weights ? pass->class_weights + column : NULL;
        weigh_carefully(capped_pair(pass, column, columns - column), load_weights(weights, columns - column), pass->origin,
                        &sums->weighted, &sums->weights);
    }
}

/* Converts the vectors' sums.  A weighted sum may be NaN only because of a weight of 0 at an infinite distance. */
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

/* The options of typical training have separate loops; one loop handles all other combinations. */
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

#endif
