/*
 * Pieces: how a row falls into parts, blocks and pieces, where each has its place in the scratch, and what its exponentials are
 * taken relative to.  The scratch has 4 bytes for a column, 8 with a softcap, and a part of a row has its own stretch of it, so
 * that parts can be gone through in any order.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_PIECES_H
#define QUERN_CPU_CROSS_ENTROPY_PIECES_H

#include "kernels/cpu/cross_entropy_elements.h"
#include "kernels/cpu/softcap.h"
#include "kernels/problem.h"

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

#endif
