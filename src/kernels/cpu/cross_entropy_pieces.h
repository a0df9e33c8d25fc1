/*
 * Splits a row into parts, blocks and pieces, and determines the place of each in the scratch and the origin of its exponentials.
 * Included by cross_entropy_full.h and cross_entropy_plain.h.  The scratch has 4 bytes per column.  Each part of a row has
 * its own range of it, so that parts can be processed in any order.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_PIECES_H
#define QUERN_CPU_CROSS_ENTROPY_PIECES_H

#include "kernels/cpu/cross_entropy_elements.h"
#include "kernels/cpu/cross_entropy_range.h"
#include "kernels/cpu/softcap.h"
#include "kernels/cross_entropy_scratch.h"

/* One row, and the buffers of its intermediate results. */
struct row {
    const struct quern_cross_entropy_problem *problem;
    const element *logits;
    element *grad;             /* NULL: no gradient */
    int64_t vocab;
    int64_t label;             /* its column here; -1: in another shard */
    int64_t apart;             /* the same if it is in no piece; -1: pieces are blocks */
    const struct softcap *softcap;
    struct softcapped capped;  /* the y of the label's column, and its slope */
    float *exponentials;       /* times 2^EXPONENTIAL_BIAS; each piece starts at a multiple of PAIR.  NULL: not kept */
    struct quern_kept_piece *pieces;
    float *maxima;             /* of the pieces of a part; NULL: not wanted */
    const float *addends;      /* of the gradient with respect to y, beside the exponentials; NULL: none */
    float *wide;               /* the gradient in fp32, in the place of grad; NULL: it has the type of the logits */
};

/* The position of a pass over the pieces in the kept values. */
struct cursor {
    int64_t column, piece;
};

static inline int64_t piece_end(const struct row *row, int64_t column) { return quern_piece_end(column, row->vocab, row->apart); }

static inline int64_t piece_next(const struct row *row, int64_t end) { return quern_piece_next(end, row->apart); }

static inline int64_t part_end(const struct row *row, int64_t part) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS;
    return row->vocab - first < QUERN_CPU_PART_COLUMNS ? row->vocab : first + QUERN_CPU_PART_COLUMNS;
}

/* The start of a part of a row in the scratch.  Each part has room for one extra piece, because the label splits one. */
static inline struct cursor cursor_of_part(int64_t part) {
    return (struct cursor){part * QUERN_CPU_SCRATCH_PART, part * QUERN_CPU_PART_PIECES};
}

static inline struct cursor cursor_after(struct cursor at, int64_t columns) {
    return (struct cursor){at.column + (columns + PAIR - 1) / PAIR * PAIR, at.piece + 1};
}

/* The origin of a piece's exponentials, and the largest y for which it is valid. */
struct origin {
    struct exponential_origin of;
    double value;
    float limit;
    bool in_reach;             /* y is capped, and none is below the lowest one with an exponential: powers of 2 are computed */
    double unit;               /* of the references and of the distances from them: 1 or, of powers of 2, 1 / LOG2_E */
    float reference;           /* the smoothing's distances are measured from it; not above limit */
    float moment_reference;    /* the entropy's; apart, so that a request for the entropy leaves the smoothing's bits */
};

/* The results of one pass over a piece: the largest logit, and the sums of quern_row_stats relative to an origin. */
struct piece_sums {
    float maximum;
    double exponentials, moment, weighted, weights;
    uint64_t far;              /* as in struct quern_kept_piece */
};

/* Of the power of 2 nearest to exp(y). */
static inline float exponent_of(float y) {
    return rintf(y * LOG2_E);
}

/* Exponentials up to exp(8) times 2^EXPONENTIAL_BIAS are far from overflow, and so is their sum over a block. */
static struct origin origin_at(float maximum) {
    struct origin origin = {
        .value = (double)maximum, .limit = maximum + 8.0f, .unit = 1, .reference = maximum, .moment_reference = maximum,
    };
    if (fabsf(maximum) <= EXPONENTIAL_REACH) {
        origin.of.power = exponent_of(maximum);
        origin.value = (double)origin.of.power * EXPONENTIAL_LN_2;
    } else if (maximum != -INFINITY) {
        origin.of.centre = maximum;
    }
    return origin;
}

/* Whether a power's exponent has the rest of log2(e): fp32 shows an error that depends on the origin, which shards do not share. */
enum { POWERS_ARE_EXACT = LOGITS_BITS == 32 };

/*
 * The same for a capped y: of powers of 2, if all of them are in reach.  Without the rest of log2(e) a power's exponent is the
 * distance of y from power / LOG2_E, so that the error of LOG2_E grows with that distance only.  A capped y needs no reference for
 * the smoothing.
 */
static struct origin capped_origin_at(float maximum, float cap) {
    struct origin origin = origin_at(maximum);
    const float exponent = exponent_of(maximum), power = exponent > EXPONENTIAL_LEAST_POWER ? exponent : EXPONENTIAL_LEAST_POWER;
    origin.in_reach = fabsf(maximum) <= EXPONENTIAL_REACH && -cap >= EXPONENTIAL_LOWEST + power * LN_2;
    if (!origin.in_reach)
        return origin;
    origin.of.power = power;
    origin.unit = 1 / (double)LOG2_E;
    origin.value = (double)power * (POWERS_ARE_EXACT ? 0x1.62e42fefa39efp-1 : origin.unit);
    origin.reference = 0.0f;
    origin.moment_reference = exponent;
    return origin;
}

/* The origin of a pass over a piece, as vectors. */
struct exponential_bounds {
    vector centre, round, lowest;
};

static inline float lowest_of(struct exponential_origin origin) { return EXPONENTIAL_LOWEST + origin.power * LN_2; }

static inline struct exponential_bounds bounds_of(struct exponential_origin origin) {
    return (struct exponential_bounds){
        .centre = vector_broadcast(origin.centre),
        .round = vector_broadcast(EXPONENTIAL_ROUND - origin.power),
        .lowest = vector_broadcast(lowest_of(origin)),
    };
}

/* Whether each logit is compared with the lowest one: a run of columns whose range is above it needs no comparison. */
enum reach { IN_REACH, COMPARED, CENTRED };

SPECIALISED struct vector_pair pair_exponentials(struct vector_pair x, const struct exponential_bounds *bounds, enum reach reach) {
    if (reach == IN_REACH)
        return (struct vector_pair){exponential_in_reach(x.first, bounds->round), exponential_in_reach(x.second, bounds->round)};
    if (reach == CENTRED) {
        x.first -= bounds->centre;
        x.second -= bounds->centre;
    }
    return (struct vector_pair){exponential(x.first, bounds->round, bounds->lowest),
                                exponential(x.second, bounds->round, bounds->lowest)};
}

/* The bit of a column among those of struct quern_kept_piece.  A group has one bit, or several groups share it. */
static inline uint64_t far_bit(int64_t column) {
    const int64_t least = QUERN_CROSS_ENTROPY_BLOCK / 64;
    return UINT64_C(1) << column / (GROUP > least ? GROUP : least);
}

#endif
