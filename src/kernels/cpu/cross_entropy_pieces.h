/*
 * Splits a row into parts, blocks and pieces, and determines the place of each in the scratch and the origin of its exponentials.
 * Included by cross_entropy_full.h and cross_entropy_plain.h.  The scratch has 4 bytes per column, 8 with a softcap.  Each part of
 * a row has its own range of it, so that parts can be processed in any order.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_PIECES_H
#define QUERN_CPU_CROSS_ENTROPY_PIECES_H

#include "kernels/cpu/cross_entropy_elements.h"
#include "kernels/cpu/softcap.h"
#include "kernels/problem.h"

/* One row, and the buffers of its intermediate results. */
struct row {
    const struct quern_cross_entropy_problem *problem;
    const element *logits;
    element *grad;             /* NULL: no gradient */
    int64_t vocab;
    int64_t label;             /* its column here; -1: in another shard */
    struct softcap softcap;    /* if there is one */
    struct softcapped capped;  /* times 2^EXPONENTIAL_BIAS; each piece starts at a multiple of PAIR.  NULL: not kept */
    float *exponentials;       /* of the softcap, beside the exponentials; NULL: not kept, or no softcap */
    float *slopes;             /* of the softcap, beside them; NULL: nothing is kept, or there is no softcap */
    double *origins;           /* of the pieces' exponentials */
};

/* The position of a pass over the pieces in the kept values. */
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

/* The start of a part of a row in the scratch.  Each part has room for one extra piece, because the label splits one. */
static inline struct cursor cursor_of_part(int64_t part) {
    return (struct cursor){part * QUERN_CPU_SCRATCH_PART, part * (QUERN_CPU_PART_COLUMNS / QUERN_CROSS_ENTROPY_BLOCK + 1)};
}

static inline struct cursor cursor_after(struct cursor at, int64_t columns) {
    return (struct cursor){at.column + (columns + PAIR - 1) / PAIR * PAIR, at.piece + 1};
}

/* The origin of a piece's exponentials, and the largest y for which it is valid. */
struct origin {
    struct exponential_origin of;
    float limit;
    float reference;           /* the smoothing's distances are measured from it; not above limit */
    float moment_reference;    /* the entropy's; apart, so that a request for the entropy leaves the smoothing's bits */
};

/* The results of one pass over a piece: the largest logit, and the sums of quern_row_stats relative to an origin. */
struct piece_sums {
    float maximum;
    double exponentials, moment, weighted, weights;
};

/* Exponentials up to exp(8) times 2^EXPONENTIAL_BIAS are far from overflow, and so is their sum over a block. */
static struct origin origin_at(float maximum) {
    struct origin origin = {{0.0f, 0.0f}, maximum + 8.0f, maximum, maximum};
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

/* The origin of a pass over a piece, as vectors. */
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

/* The same for logits that are not centred and not below the lowest. */
SPECIALISED struct vector_pair pair_exponentials_in_reach(struct vector_pair x, const struct exponential_bounds *bounds) {
    return (struct vector_pair){exponential_in_reach(x.first, bounds->round), exponential_in_reach(x.second, bounds->round)};
}

#endif
