/*
 * The sums of one part of a row, merged from those of its pieces and the label's column.  Included by cross_entropy.h and
 * cross_entropy_gradient.h.  Only the passes read columns, except for the label and the argmax, which searches the piece with the
 * largest logit.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_PARTS_H
#define QUERN_CPU_CROSS_ENTROPY_PARTS_H

#include "kernels/cpu/cross_entropy_full.h"
#include "kernels/cpu/cross_entropy_plain.h"
#include "kernels/cross_entropy_row.h"

/* The y of one logit, in every lane. */
static struct softcapped cap_one(const struct row *row, float logit) {
    const vector x = vector_broadcast(logit);
    if (row->problem->softcap == 0.0f)
        return (struct softcapped){x * row->softcap->inverse_temperature, vector_broadcast(1.0f)};
    return softcap_both(x, row->softcap);
}

/*
 * Whether y lies too far above a piece's references.  For the entropy, distances of large exponentials must not cancel in the
 * moment.
 */
SPECIALISED bool is_beyond(const struct row *row, struct origin origin, float maximum, bool full) {
    const double reference = (double)origin.moment_reference * origin.unit;
    return maximum > origin.limit || (full && row->problem->wants_moment && (double)maximum > reference + 1);
}

SPECIALISED struct origin own_origin(const struct row *row, float maximum, bool full) {
    if (!full || row->problem->softcap == 0.0f)
        return origin_at(maximum);
    return capped_origin_at(maximum, row->problem->softcap * row->softcap->inverse_temperature);
}

/* A maximum above the limit gets a new origin; otherwise only the entropy's reference is raised. */
SPECIALISED struct origin origin_raised(const struct row *row, struct origin origin, float maximum, bool full) {
    if (maximum > origin.limit)
        return own_origin(row, maximum, full);
    origin.moment_reference = origin.in_reach ? exponent_of(maximum) : maximum;
    return origin;
}

/* Whether every column needs its class weight; without smoothing only the label does. */
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
    const struct full_piece piece = {
        .logits = row->logits + column,
        .class_weights = problem->class_weights ? problem->class_weights + column : NULL,
        .exponentials = exponentials,
        .softcap = row->softcap,
        .origin = origin,
        .wants = {
            .centred = origin.of.centre != 0.0f,
            .kept = exponentials,
            .softcap = problem->softcap != 0.0f,
            .smoothing = problem->label_smoothing != 0.0f,
            .class_weights = has_weights_beside(problem),
            .entropy = problem->wants_moment,
            .temperature = row->softcap->inverse_temperature != 1.0f,
            .in_reach = origin.in_reach,
        },
    };
    return full_sums(&piece, columns);
}

/* A piece's sums, relative to the origin of its exponentials. */
static quern_row_stats piece_stats(struct origin origin, const struct piece_sums *sums) {
    quern_row_stats stats = quern_row_nothing();
    stats.origin = origin.value;
    stats.others = sums->exponentials * EXPONENTIAL_UNBIAS;
    stats.weights = sums->weights;
    stats.weighted = sums->weighted;
    stats.moment = sums->moment * EXPONENTIAL_UNBIAS * origin.unit;
    if (stats.origin != (double)-INFINITY) {
        stats.weighted += ((double)origin.reference * origin.unit - stats.origin) * stats.weights;
        stats.moment += ((double)origin.moment_reference * origin.unit - stats.origin) * stats.others;
    }
    return stats;
}

/* The stats of the label's column alone. */
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

/* The first column whose logit equals the value, which is the maximum; end if there is none. */
static int64_t find_first(const element *logits, int64_t column, int64_t end, float value) {
    if (value == -INFINITY)
        return column;
    const vector below = vector_broadcast(nextafterf(value, -INFINITY));
    for (; column + PAIR <= end; column += PAIR) {
        const struct vector_pair x = pair_load_element(logits + column);
        if (!vector_all_at_most(vector_max(x.first, x.second), below))
            break;
    }
    element found[PAIR];
    const vector x = vector_broadcast(value);
    pair_store_element(found, (struct vector_pair){x, x});
    while (column < end && logits[column] != found[0] && (value != 0.0f || first_lane(load_tail(logits + column, 1).first) != 0.0f))
        column++;
    return column;
}

/* The largest logit of a part, and the first piece that contains it. */
struct largest {
    float logit;
    int64_t column, end;
};

/* Finds the column of the largest logit.  The label's logit is compared too, and of equal logits the first column is taken. */
static void state_argmax(const struct row *row, const struct largest *largest, quern_row_stats *stats) {
    const float label = stats->has_label ? first_lane(load_tail(row->logits + row->label, 1).first) : -INFINITY;
    int64_t column = find_first(row->logits, largest->column, largest->end, largest->logit);
    if (stats->has_label && (label > largest->logit || (label == largest->logit && row->label < column)))
        column = row->label;
    stats->maximum = label > largest->logit ? label : largest->logit;
    stats->argmax = row->problem->first_column + column;
}

/* Adds the label's column, the origin and, if requested, the argmax. */
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
 * The sums of one part, relative to its largest y; stores the kept values of its pieces from the cursor on.  A piece is first
 * computed with the origin of the previous piece, and repeated with its own origin if its maximum is too far above.  A maximum may
 * miss a NaN, but a sum never does.
 */
SPECIALISED quern_row_stats sum_part(const struct row *row, int64_t part, struct cursor at, bool full) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS, end_of_part = part_end(row, part);
    struct origin origin = origin_at(-INFINITY);
    struct largest largest = {-INFINITY, first, end_of_part};
    quern_row_stats stats = quern_row_nothing();
    float *maxima = row->maxima;
    for (int64_t column = first, end; column < end_of_part; column = piece_next(row, end)) {
        end = piece_end(row, column);
        const int64_t columns = end - column;
        if (origin.limit == -INFINITY)
            origin = own_origin(row, first_lane(cap_one(row, piece_maximum(row->logits + column, columns)).value), full);
        struct piece_sums sums = pass_over(row, column, columns, origin, at, full);
        const float maximum = full ? first_lane(cap_one(row, sums.maximum).value) : sums.maximum;
        if (is_beyond(row, origin, maximum, full)) {
            origin = origin_raised(row, origin, maximum, full);
            sums = pass_over(row, column, columns, origin, at, full);
        }
        if (sums.maximum > largest.logit)
            largest = (struct largest){sums.maximum, column, end};
        if (maxima)
            *maxima++ = sums.maximum;
        if (row->exponentials)
            row->pieces[at.piece] = (struct quern_kept_piece){origin.value, sums.far};
        at = cursor_after(at, columns);
        quern_row_add(&stats, piece_stats(origin, &sums));
    }
    return finish_part(row, part, &largest, stats, full);
}

#endif
