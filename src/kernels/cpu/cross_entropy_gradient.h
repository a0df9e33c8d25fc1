/*
 * The gradient of one part from the values that the forward pass kept.  Included by cross_entropy.h.  Per column it reads 4 bytes
 * of an exponential and, if they are used, 4 bytes of a class weight and the logit, all from the cache.  It writes one element to
 * DRAM, in place or elsewhere.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_GRADIENT_H
#define QUERN_CPU_CROSS_ENTROPY_GRADIENT_H

#include <float.h>

#include "kernels/cpu/cross_entropy_parts.h"
#include "kernels/cross_entropy_tree.h"

/*
 * The factor of the exponentials: high, or high and low, plus tilt times a distance.  All of them are multiplied by a power of two,
 * which is 1 unless they are so small that one of them could be subnormal.
 */
struct factor {
    vector power, high, low, tilt;
};

/* Factor and tilt of a piece, times 2^EXPONENTIAL_BIAS. */
struct slope {
    double factor, tilt;
};

static inline double slope_magnitude(struct slope slope) { return fmax(fabs(slope.factor), fabs(slope.tilt)); }

/* Whether a factor has a low part: for fp32 gradients. */
enum { FACTOR_HAS_REST = LOGITS_BITS == 32 };

static inline bool is_twice(struct slope slope, bool has_rest) { return quern_is_small_factor(slope_magnitude(slope), has_rest); }

static inline struct factor factor_of(struct slope slope, bool has_rest) {
    const struct quern_factor factor = quern_factor_of(slope.factor, slope_magnitude(slope), has_rest);
    return (struct factor){vector_broadcast(factor.power), vector_broadcast(factor.high), vector_broadcast(factor.low),
                           vector_broadcast((float)(slope.tilt * factor.multiple))};
}

SPECIALISED vector times_factor(vector x, const struct factor *factor, bool twice, bool has_rest) {
    if (twice)
        x *= factor->power;
    if (has_rest)
        return vector_multiply_add(x, factor->high, x * factor->low);
    return x * factor->high;
}

/* The same with portable bits: a product in two parts is rounded once. */
static inline vector times_factor_fused(vector x, const struct factor *factor, bool twice) {
    if (twice)
        x *= factor->power;
    if (FACTOR_HAS_REST)
        return vector_fma(x, factor->high, x * factor->low);
    return x * factor->high;
}

/* The same with the tilt. */
SPECIALISED vector times_tilted(vector x, vector distance, const struct factor *factor, bool twice, bool has_rest) {
    if (twice)
        x *= factor->power;
    const vector high = vector_multiply_add(factor->tilt, distance, factor->high);
    if (has_rest)
        return vector_multiply_add(x, high, x * factor->low);
    return x * high;
}

SPECIALISED struct vector_pair pair_times_factor(const float *exponentials, const struct factor *factor, bool twice, bool fused) {
    const struct vector_pair x = pair_load_f32(exponentials);
    if (fused)
        return (struct vector_pair){times_factor_fused(x.first, factor, twice), times_factor_fused(x.second, factor, twice)};
    return (struct vector_pair){times_factor(x.first, factor, twice, FACTOR_HAS_REST),
                                times_factor(x.second, factor, twice, FACTOR_HAS_REST)};
}

SPECIALISED void plain_products(const float *exponentials, int64_t columns, struct factor factor, element *grad, bool twice,
                                bool fused) {
    for (int64_t column = 0; column < columns; column += PAIR) {
        const struct vector_pair x = pair_times_factor(exponentials + column, &factor, twice, fused);
        if (column + PAIR <= columns)
            pair_store_element(grad + column, x);
        else
            store_tail(grad + column, columns - column, x);
    }
}

/* What a full kernel's gradient uses beside the exponentials.  If the struct is a constant, so are the branches on it. */
struct beside_wants {
    bool twice;                /* both factors */
    bool softcap, class_weights, uniform;
    bool tilt, temperature;
    bool addends;
    bool wide;                 /* the gradient is fp32 */
};

struct beside {
    const element *logits;
    const float *class_weights;
    const float *addends;
    float *wide;               /* NULL, or the place of the gradient */
    struct factor factor;
    struct softcap softcap;
    vector uniform;            /* negated; added for each class weight */
    vector origin;             /* of the tilt's distances: in powers of 2 if y is capped */
    uint64_t far;              /* as in struct quern_kept_piece */
    struct beside_wants wants;
};

/* From the row's origin; finite also where there is no exponential. */
SPECIALISED struct vector_pair tilt_distances(const struct beside *beside, struct vector_pair x, bool near,
                                              struct beside_wants wants) {
    const vector least = vector_broadcast(LEAST_DISTANCE), inverse = vector_broadcast(beside->softcap.inverse_temperature);
    struct capped_pair y = {x, {inverse, inverse}};
    if (wants.softcap)
        y = cap_pair(&beside->softcap, x, near);
    struct vector_pair distances = {vector_multiply_add(y.x.first, y.factor.first, -beside->origin),
                                    vector_multiply_add(y.x.second, y.factor.second, -beside->origin)};
    if (!wants.softcap && wants.temperature)  /* as the exponentials have it: y is rounded */
        distances = (struct vector_pair){x.first * inverse - beside->origin, x.second * inverse - beside->origin};
    else if (!wants.softcap)
        distances = (struct vector_pair){x.first - beside->origin, x.second - beside->origin};
    if (near)
        return distances;
    return (struct vector_pair){vector_max(least, distances.first), vector_max(least, distances.second)};
}

/* One pair: (exponential * (factor + tilt * distance) - uniform * weight + addend) * slope. */
SPECIALISED struct vector_pair with_options(const struct beside *beside, const float *exponentials, int64_t column, int64_t columns,
                                            bool near, struct beside_wants wants) {
    const bool has_rest = FACTOR_HAS_REST || wants.wide;
    struct vector_pair x = pair_load_f32(exponentials + column), logits = {0};
    if (wants.softcap || wants.tilt)
        logits = load_pair(beside->logits + column, columns);
    if (wants.tilt) {
        const struct vector_pair distance = tilt_distances(beside, logits, near, wants);
        x.first = times_tilted(x.first, distance.first, &beside->factor, wants.twice, has_rest);
        x.second = times_tilted(x.second, distance.second, &beside->factor, wants.twice, has_rest);
    } else {
        x.first = times_factor(x.first, &beside->factor, wants.twice, has_rest);
        x.second = times_factor(x.second, &beside->factor, wants.twice, has_rest);
    }
    if (wants.class_weights) {
        const struct vector_pair weights = load_weights(beside->class_weights + column, columns);
        x.first = vector_multiply_add(beside->uniform, weights.first, x.first);
        x.second = vector_multiply_add(beside->uniform, weights.second, x.second);
    } else if (wants.uniform) {
        x.first += beside->uniform;
        x.second += beside->uniform;
    }
    if (wants.addends) {
        const struct vector_pair addends = pair_load_f32(beside->addends + column);
        x.first += addends.first;
        x.second += addends.second;
    }
    if (wants.softcap) {
        x.first *= near ? softcap_slope(logits.first, &beside->softcap) : softcap_any_slope(logits.first, &beside->softcap);
        x.second *= near ? softcap_slope(logits.second, &beside->softcap) : softcap_any_slope(logits.second, &beside->softcap);
    }
    return x;
}

SPECIALISED void store_gradients(const struct beside *beside, struct vector_pair x, int64_t column, int64_t columns, element *grad,
                                 struct beside_wants wants) {
    float tail[PAIR];
    if (!wants.wide && columns >= PAIR) {
        pair_store_element(grad + column, x);
    } else if (!wants.wide) {
        store_tail(grad + column, columns, x);
    } else if (columns >= PAIR) {
        pair_store_beside_element(beside->wide + column, x);
    } else {
        pair_store_beside_element(tail, x);
        memcpy(beside->wide + column, tail, (size_t)columns * sizeof *tail);
    }
}

/* Up to GROUP columns. */
SPECIALISED void write_pairs(const struct beside *beside, const float *exponentials, int64_t column, int64_t columns, element *grad,
                             bool near, struct beside_wants wants) {
    int64_t end = column + columns / PAIR * PAIR;
    for (; column < end; column += PAIR)
        store_gradients(beside, with_options(beside, exponentials, column, PAIR, near, wants), column, PAIR, grad, wants);
    columns %= PAIR;
    if (columns)
        store_gradients(beside, with_options(beside, exponentials, column, columns, near, wants), column, columns, grad, wants);
}

SPECIALISED void full_products(struct beside beside, const float *exponentials, int64_t columns, element *grad,
                               struct beside_wants wants) {
    for (int64_t column = 0; column < columns; column += GROUP) {
        const int64_t rest = columns - column < GROUP ? columns - column : GROUP;
        if ((wants.softcap || wants.tilt) && beside.far & far_bit(column))
            write_pairs(&beside, exponentials, column, rest, grad, false, wants);
        else
            write_pairs(&beside, exponentials, column, rest, grad, true, wants);
    }
}

/* Separate loops, as for the sums. */
static void full_gradient(const struct beside *beside, const float *exponentials, int64_t columns, element *grad) {
    const struct beside_wants wants = beside->wants, capped = {.softcap = 1}, capped_uniform = {.softcap = 1, .uniform = 1};
    const struct beside_wants capped_weighed = {.softcap = 1, .class_weights = 1};
    const struct beside_wants tilted = {.tilt = 1, .temperature = 1};  /* of 1 is none */
    const bool is_rare = wants.twice || wants.addends || wants.wide;
    if (HAS_POLICY_LOOPS && wants.tilt && !is_rare && !wants.softcap && !wants.uniform)
        full_products(*beside, exponentials, columns, grad, tilted);
    else if (is_rare || wants.tilt || !wants.softcap)
        full_products(*beside, exponentials, columns, grad, wants);
    else if (wants.class_weights)
        full_products(*beside, exponentials, columns, grad, capped_weighed);
    else if (wants.uniform)
        full_products(*beside, exponentials, columns, grad, capped_uniform);
    else
        full_products(*beside, exponentials, columns, grad, capped);
}

static void fill(const struct row *row, int64_t column, int64_t end, bool with_nan) {
    for (; column < end && row->wide; column++)
        row->wide[column] = with_nan ? NAN : 0;
    for (; column < end; column++)
        row->grad[column] = with_nan ? NOT_A_NUMBER : 0;
}

/* at: of the column in the scratch. */
static struct beside beside_piece(const struct row *row, int64_t column, struct cursor at,
                                  const struct quern_row_gradient *gradient, struct slope slope) {
    const struct quern_cross_entropy_problem *problem = row->problem;
    const bool softcap = problem->softcap != 0.0f, has_rest = FACTOR_HAS_REST || row->wide;
    if (softcap)
        slope.tilt *= EXPONENTIAL_LN_2;
    return (struct beside){
        .logits = row->logits + column,
        .class_weights = problem->class_weights ? problem->class_weights + column : NULL,
        .addends = row->addends ? row->addends + at.column : NULL,
        .wide = row->wide ? row->wide + column : NULL,
        .factor = factor_of(slope, has_rest),
        .softcap = *row->softcap,
        .uniform = vector_broadcast(-(float)gradient->uniform),
        .origin = vector_broadcast((float)gradient->origin * (softcap ? LOG2_E : 1.0f)),
        .far = row->pieces[at.piece].far,
        .wants = {
            .twice = is_twice(slope, has_rest),
            .softcap = softcap,
            .class_weights = problem->class_weights && gradient->uniform != 0,
            .uniform = gradient->uniform != 0,
            .tilt = slope.tilt != 0,
            .temperature = row->softcap->inverse_temperature != 1.0f,
            .addends = row->addends,
            .wide = row->wide,
        },
    };
}

/* exp of the difference of two origins.  With portable bits it is a power of two. */
static double raised_by(double origin, double of_row, bool portable) {
    if (!portable)
        return exp(origin - of_row);
    return origin == (double)-INFINITY ? 0 : quern_times_power(1, quern_row_power(origin) - quern_row_power(of_row));
}

/* A gradient without options, and one with portable bits. */
static void plain_gradient(const float *exponentials, int64_t columns, struct slope slope, element *grad, bool fused) {
    const struct factor factor = factor_of(slope, FACTOR_HAS_REST);
    const bool twice = is_twice(slope, FACTOR_HAS_REST);
    if (fused && twice)
        plain_products(exponentials, columns, factor, grad, true, true);
    else if (fused)
        plain_products(exponentials, columns, factor, grad, false, true);
    else if (twice)
        plain_products(exponentials, columns, factor, grad, true, false);
    else
        plain_products(exponentials, columns, factor, grad, false, false);
}

/* The gradient of one part from its kept values. */
SPECIALISED void write_part(const struct row *row, int64_t part, const struct quern_row_gradient *gradient, struct cursor at,
                            bool full) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS, end_of_part = part_end(row, part);
    const bool portable = row->problem->portable_bits;
    if (gradient->kind != QUERN_GRADIENT_NUMBERS) {
        fill(row, first, end_of_part, gradient->kind == QUERN_GRADIENT_NAN);
        return;
    }
    double origin = (double)NAN;
    struct slope slope = {0, 0};
    for (int64_t column = first, end; column < end_of_part; column = piece_next(row, end)) {
        const struct quern_kept_piece *kept = &row->pieces[at.piece];
        end = piece_end(row, column);
        if (kept->origin != origin) {
            origin = kept->origin;
            const double raised = raised_by(origin, gradient->origin, portable);
            slope = (struct slope){raised * gradient->factor, raised * gradient->tilt};
        }
        const float *exponentials = row->exponentials + at.column;
        if (full && !portable) {
            const struct beside beside = beside_piece(row, column, at, gradient, slope);
            full_gradient(&beside, exponentials, end - column, row->grad + column);
        } else {
            plain_gradient(exponentials, end - column, slope, row->grad + column, portable);
        }
        at = cursor_after(at, end - column);
    }
    if (first <= row->label && row->label < end_of_part) {
        const float own = (float)(gradient->label * (double)first_lane(row->capped.slope));
        const vector label = vector_broadcast(own);
        if (row->wide)
            row->wide[row->label] = own;
        else
            store_tail(row->grad + row->label, 1, (struct vector_pair){label, label});
    }
}

static void write_padding(const struct row *row) {
    fill(row, row->vocab, row->problem->padded_vocab, false);
}

#endif
