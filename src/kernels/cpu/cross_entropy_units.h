/*
 * The sums of a row with portable bits: they depend on its logits only, not on the target, the origin, or who sums which columns.
 * Included by cross_entropy.h; docs/numerics.md defines the bits.
 *
 * Columns are summed in units of UNIT, which are counted from column 0 of the whole vocab, each as a tree: of 16-bit logits first
 * the neighbours, then each column of the lower half with its counterpart in the upper half, down to one.  The sums of units are
 * the leaves of one tree over the row (quern_row_tree).  The label's column counts as 0; its exponential is added in double.
 *
 * All exponentials of a block have one power of two as their origin, and a sum of fp32 numbers times a power of two has the same
 * bits.  What is 2^-100 of a sum or less vanishes in it, whether it is computed or 0.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_UNITS_H
#define QUERN_CPU_CROSS_ENTROPY_UNITS_H

#include "kernels/cpu/cross_entropy_parts.h"
#include "kernels/cpu/exponential_bits.h"
#include "kernels/cross_entropy_nodes.h"

/* As many units as a vector has lanes are summed at once. */
enum { UNIT = QUERN_UNIT_COLUMNS, STRIDE = UNIT * VECTOR_LANES, UNITS_OF_PART = QUERN_CPU_PART_COLUMNS / UNIT };

_Static_assert(QUERN_CROSS_ENTROPY_BLOCK % STRIDE == 0, "a block has whole strides");

#if LOGITS_BITS == 16
enum { UNIT_VECTORS = UNIT / PAIR };

#define pair_neighbours_element QUERN_JOIN(pair_neighbours_, LOGITS)

SPECIALISED void place_pair(vector *unit, int pair, struct vector_pair e) { unit[pair] = pair_neighbours_element(e); }
#else
enum { UNIT_VECTORS = UNIT / VECTOR_LANES };

SPECIALISED void place_pair(vector *unit, int pair, struct vector_pair e) {
    unit[2 * pair] = e.first;
    unit[2 * pair + 1] = e.second;
}
#endif

/* The vectors of a unit are halves of its tree, the lanes of the last one the rest. */
SPECIALISED vector add_vectors(vector *unit) {
    for (int half = UNIT_VECTORS / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            unit[i] += unit[i + half];
    return unit[0];
}

/* How the exponentials of a block are computed. */
enum powers { POWERS_IN_REACH, POWERS_COMPARED, POWERS_OF_ANY };

struct units_pass {
    struct portable_terms near, far;   /* for the first of the above, and for the second */
    vector lowest, inverse_temperature;
    double power;                      /* of the origin */
};

static struct units_pass units_pass_over(double power, float inverse_temperature) {
    const float near = fabs(power) <= 2 * QUERN_POWERS_REACH ? (float)power : 0.0f;
    return (struct units_pass){
        .near = portable_terms_over(near, 1),
        .far = portable_terms_over(near, 0),
        .lowest = vector_broadcast(EXPONENTIAL_LOWEST + near * LN_2),
        .inverse_temperature = vector_broadcast(inverse_temperature),
        .power = power,
    };
}

static vector exponentials_of_any(vector y, double power) {
    float lanes[VECTOR_LANES];
    vector_store_f32(lanes, y);
    for (int i = 0; i < VECTOR_LANES; i++)
        lanes[i] = portable_exponential_of(lanes[i], power);
    return vector_load_f32(lanes);
}

SPECIALISED vector unit_exponential(const struct units_pass *pass, vector y, enum powers powers, bool warm, bool in_terms) {
    if (warm)
        y *= pass->inverse_temperature;
    if (powers == POWERS_IN_REACH)
        return portable_exponential(y, &pass->near, in_terms);
    if (powers == POWERS_COMPARED)
        return unless_below(y, pass->lowest, portable_exponential(y, &pass->far, false));
    return exponentials_of_any(y, pass->power);
}

/* The sums of a stride's units.  exponentials: NULL, or where they are kept. */
SPECIALISED vector sum_stride(const struct units_pass *pass, const element *logits, float *exponentials, enum powers powers,
                              bool warm, bool in_terms) {
    vector units[VECTOR_LANES];
    for (int k = 0; k < VECTOR_LANES; k++) {
        vector unit[UNIT_VECTORS];
        for (int pair = 0; pair < UNIT / PAIR; pair++) {
            const int column = k * UNIT + pair * PAIR;
            const struct vector_pair x = pair_load_element(logits + column);
            const struct vector_pair e = {unit_exponential(pass, x.first, powers, warm, in_terms),
                                          unit_exponential(pass, x.second, powers, warm, in_terms)};
            if (exponentials)
                store_pair(exponentials + column, e);
            place_pair(unit, pair, e);
        }
        units[k] = add_vectors(unit);
    }
    return vector_fold(units);
}

/* Sums whole strides; returns for how many columns.  Powers in reach end before a stride that has a low logit. */
SPECIALISED int64_t sum_strides(const struct units_pass *of, const element *logits, int64_t columns, float *exponentials,
                                float *units, struct range *range, enum powers powers, bool warm, bool in_terms) {
    const struct units_pass pass = *of;  /* no store can change it */
    int64_t column = 0;
    for (; column < columns; column += STRIDE) {
        for (int group = 0; group < STRIDE / PAIR; group += UNROLL) {
            prefetch_ahead(logits + column + group * PAIR);
            range_add(range, logits + column + group * PAIR, UNROLL);
        }
        if (powers == POWERS_IN_REACH && !range_is_over(range))
            break;
        float *kept = exponentials ? exponentials + column : NULL;
        vector_store_f32(units + column / UNIT, sum_stride(&pass, logits + column, kept, powers, warm, in_terms));
    }
    return column;
}

/* One loop for each case.  A temperature is not expected in the loop of the others. */
static int64_t strides_of(const struct units_pass *pass, const element *logits, int64_t columns, float *exponentials, float *units,
                          struct range *range, enum powers powers, bool warm) {
    if (powers == POWERS_OF_ANY)
        return sum_strides(pass, logits, columns, exponentials, units, range, POWERS_OF_ANY, true, false);
    if (warm)
        return sum_strides(pass, logits, columns, exponentials, units, range, POWERS_COMPARED, true, false);
    if (powers == POWERS_COMPARED)
        return sum_strides(pass, logits, columns, exponentials, units, range, POWERS_COMPARED, false, false);
    if (pass->near.in_terms)
        return exponentials ? sum_strides(pass, logits, columns, exponentials, units, range, POWERS_IN_REACH, false, true)
                            : sum_strides(pass, logits, columns, NULL, units, range, POWERS_IN_REACH, false, true);
    return exponentials ? sum_strides(pass, logits, columns, exponentials, units, range, POWERS_IN_REACH, false, false)
                        : sum_strides(pass, logits, columns, NULL, units, range, POWERS_IN_REACH, false, false);
}

/* A stride that is not whole, or contains the label: computed from a copy, padded with columns that add nothing. */
static void sum_copied(const struct units_pass *pass, const element *logits, int64_t columns, int64_t label, float *exponentials,
                       float *units, struct range *range, bool any) {
    element copy[STRIDE];
    float kept[STRIDE];
    for (int i = 0; i < STRIDE; i++)
        copy[i] = MINUS_INFINITY;
    memcpy(copy, logits, (size_t)columns * sizeof *copy);
    if (label >= 0 && label < columns)
        copy[label] = MINUS_INFINITY;
    strides_of(pass, copy, STRIDE, kept, units, range, any ? POWERS_OF_ANY : POWERS_COMPARED, true);
    if (exponentials)
        memcpy(exponentials, kept, (size_t)((columns + PAIR - 1) / PAIR * PAIR) * sizeof *kept);
}

/* The largest logit of a block's range without the label's column. */
static float largest_of(const struct range *range, const struct row *row, int64_t column, int64_t end) {
    if (row->label < column || row->label >= end)
        return range_largest(range, row->logits + column, end - column);
    const float before = range_largest(range, row->logits + column, row->label - column);
    const float after = range_largest(range, row->logits + row->label + 1, end - row->label - 1);
    return before > after ? before : after;
}

/* The first column of the next stride of a block that is copied. */
static int64_t copied_from(const struct row *row, int64_t first, int64_t end) {
    const int64_t last = first + (end - first) / STRIDE * STRIDE;
    return row->label >= first && row->label < last ? first + (row->label - first) / STRIDE * STRIDE : last;
}

/* Sums the units of a block and returns its largest logit.  The range of a pass that ended early has the low logit already. */
static float sum_block(const struct row *row, int64_t column, int64_t end, const struct units_pass *pass, bool any, bool warm,
                       float *exponentials, float *units) {
    enum powers powers = any ? POWERS_OF_ANY : RANGE_FINDS_LOW && !warm ? POWERS_IN_REACH : POWERS_COMPARED;
    struct range range = range_over(powers == POWERS_IN_REACH ? first_lane(pass->lowest) : 0.0f);
    for (int64_t first = column; first < end;) {
        const element *logits = row->logits + first;
        const int64_t place = first - column, whole = copied_from(row, first, end) - first;
        float *kept = exponentials ? exponentials + place : NULL, *own = units + place / UNIT;
        if (whole) {
            const int64_t done = strides_of(pass, logits, whole, kept, own, &range, powers, warm);
            powers = done < whole ? POWERS_COMPARED : powers;
            first += done;
        } else {
            sum_copied(pass, logits, end - first < STRIDE ? end - first : STRIDE, row->label - first, kept, own, &range, any);
            first += STRIDE;
        }
    }
    return largest_of(&range, row, column, end);
}

/* What follows is once in the code of a type: it costs little beside the strides. */
#ifdef __clang__
#define ONCE static __attribute__((noinline))
#else
#define ONCE static __attribute__((noinline, noclone))
#endif

ONCE float maximum_of(const struct row *row, int64_t column, int64_t end) {
    if (row->label < column || row->label >= end)
        return piece_maximum(row->logits + column, end - column);
    const float before = piece_maximum(row->logits + column, row->label - column);
    const float after = piece_maximum(row->logits + row->label + 1, end - row->label - 1);
    return before > after ? before : after;
}

/* The origin of a part's blocks so far, and the sums of its units relative to it, times 2^EXPONENTIAL_BIAS. */
struct units {
    double power;
    float limit;                       /* the largest y for which the power is valid; -INFINITY: there is none yet */
    int64_t count;
    bool has_moments;
    float sums[UNITS_OF_PART + VECTOR_LANES], moments[UNITS_OF_PART + VECTOR_LANES];
};

static struct units no_units(const struct row *row, bool full) {
    struct units units;
    units.power = 0;
    units.limit = -INFINITY;
    units.count = 0;
    units.has_moments = full && row->problem->wants_moment;
    return units;
}

/* Takes a power for a block whose largest y is above the limit: that of the power of two nearest to exp(y). */
ONCE void raise_units(struct units *units, float y) {
    const double power = fabsf(y) < INFINITY ? quern_row_power((double)y) : 0, step = units->power - power;
    for (int64_t i = 0; i < units->count && step != 0; i++) {
        units->sums[i] = (float)quern_times_power((double)units->sums[i], step);
        if (units->has_moments)
            units->moments[i] = (float)quern_times_power((double)units->moments[i], step);
    }
    units->power = power;
    units->limit = y + 8;
}

/* Whether all y from the lowest one to the limit are in reach.  Else exponentials are computed one by one. */
static bool is_in_reach(const struct units *units) {
    return fabs(units->power * QUERN_LN_2_FLOAT) <= QUERN_POWERS_REACH - 200;
}

/* Of the exponentials; -INFINITY where all are 0. */
static double origin_of(const struct units *units) {
    double power = units->power;
    return units->limit == -INFINITY ? (double)-INFINITY : quern_row_value_at(&power);
}

/* ---- moments: a second pass over a block, whose units have their sums ---- */

typedef int32_t lane_bits __attribute__((vector_size(4 * VECTOR_LANES)));

/* The exponent of each lane, which is not negative, as its bits have it. */
SPECIALISED vector exponent_bits(vector x) { return __builtin_convertvector((lane_bits)x >> 23, vector); }

/* The even lanes of 2 * VECTOR_LANES, and the odd ones. */
SPECIALISED struct vector_pair load_neighbours(const float *from) {
#if QUERN_NEON
    const float32x4x2_t x = vld2q_f32(from);
    return (struct vector_pair){x.val[0], x.val[1]};
#else
    return pair_load_beside_bf16(from);
#endif
}

static vector distances_of_any(vector y, double reference) {
    float lanes[VECTOR_LANES];
    vector_store_f32(lanes, y);
    for (int i = 0; i < VECTOR_LANES; i++)
        lanes[i] = quern_row_distance(lanes[i], reference);
    return vector_load_f32(lanes);
}

/* Times the exponential: so what has none is 0, and a y of -infinity is raised for that. */
SPECIALISED vector moment_of(const struct units_pass *pass, vector e, vector x, float reference, bool any) {
    const vector y = x * pass->inverse_temperature;
    if (any)
        return e * distances_of_any(y, (double)reference + pass->power);
    return e * vector_fma(vector_broadcast(reference), vector_broadcast(-LN_2), vector_max(y, pass->lowest));
}

/* The moments of a stride's units, summed as the exponentials are. */
SPECIALISED vector moments_of_stride(const struct units_pass *pass, const element *logits, const float *exponentials, vector sums,
                                     bool any) {
    vector units[VECTOR_LANES];
    float references[VECTOR_LANES];
    const float rise = QUERN_MOMENT_RISE - 127 - EXPONENTIAL_BIAS;
    vector_store_f32(references, exponent_bits(sums) + vector_broadcast(rise + (any ? 0 : (float)pass->power)));
    for (int k = 0; k < VECTOR_LANES; k++) {
        vector unit[UNIT_VECTORS];
        for (int pair = 0; pair < UNIT / PAIR; pair++) {
            const int column = k * UNIT + pair * PAIR;
            const struct vector_pair x = pair_load_element(logits + column);
            const vector first = vector_load_f32(exponentials + column);
            const vector second = vector_load_f32(exponentials + column + VECTOR_LANES);
            place_pair(unit, pair, (struct vector_pair){moment_of(pass, first, x.first, references[k], any),
                                                        moment_of(pass, second, x.second, references[k], any)});
        }
        units[k] = add_vectors(unit);
    }
    return vector_fold(units);
}

SPECIALISED void moments_of_strides(const struct units_pass *of, const element *logits, const float *exponentials, int64_t columns,
                                    const float *sums, float *moments, bool any) {
    const struct units_pass pass = *of;
    for (int64_t column = 0; column < columns; column += STRIDE)
        vector_store_f32(moments + column / UNIT, moments_of_stride(&pass, logits + column, exponentials + column,
                                                                    vector_load_f32(sums + column / UNIT), any));
}

/* One copy of each loop. */
ONCE void add_moments(const struct units_pass *pass, const element *logits, const float *exponentials, int64_t columns,
                      const float *sums, float *moments, bool any) {
    if (any)
        moments_of_strides(pass, logits, exponentials, columns, sums, moments, true);
    else
        moments_of_strides(pass, logits, exponentials, columns, sums, moments, false);
}

/* Of a block.  The label's column has no exponential. */
ONCE void sum_moments(const struct row *row, int64_t column, int64_t end, const struct units_pass *pass, const float *exponentials,
                      struct units *units) {
    const int64_t columns = end - column, whole = columns / STRIDE * STRIDE, rest = columns - whole;
    const float *const sums = units->sums + units->count;
    float *const moments = units->moments + units->count;
    const bool any = !is_in_reach(units);
    add_moments(pass, row->logits + column, exponentials, whole, sums, moments, any);
    if (!rest)
        return;
    element copy[STRIDE];
    float kept[STRIDE] = {0};
    for (int i = 0; i < STRIDE; i++)
        copy[i] = MINUS_INFINITY;
    memcpy(copy, row->logits + column + whole, (size_t)rest * sizeof *copy);
    memcpy(kept, exponentials + whole, (size_t)((rest + PAIR - 1) / PAIR * PAIR) * sizeof *kept);
    add_moments(pass, copy, kept, STRIDE, sums + whole / UNIT, moments + whole / UNIT, any);
}

/* The sums and the moments of neighbours. */
SPECIALISED void join_neighbours(float *sums, float *moments, int64_t parent) {
    const struct vector_pair e = load_neighbours(sums + 2 * parent), m = load_neighbours(moments + 2 * parent);
    const vector sum = e.first + e.second, power = exponent_bits(sum), ln_2 = vector_broadcast(LN_2);
    const vector first = m.first + e.first * ((exponent_bits(e.first) - power) * ln_2);
    const vector second = m.second + e.second * ((exponent_bits(e.second) - power) * ln_2);
    vector_store_f32(sums + parent, sum);
    vector_store_f32(moments + parent, first + second);
}

/* The sum of so many units, a power of 2, as a tree of neighbours, and their moment.  They are overwritten. */
ONCE void join_tree(float *sums, float *moments, int64_t count) {
    float few_sums[PAIR] = {0}, few_moments[PAIR] = {0};
    for (; count > PAIR; count /= 2)
        for (int64_t i = 0; i < count / 2; i += VECTOR_LANES)
            join_neighbours(sums, moments, i);
    memcpy(few_sums, sums, (size_t)count * sizeof *sums);
    memcpy(few_moments, moments, (size_t)count * sizeof *moments);
    for (; count > 1; count /= 2)
        join_neighbours(few_sums, few_moments, 0);
    sums[0] = few_sums[0];
    moments[0] = few_moments[0];
}

/* Adds a block; returns its largest logit.  A block whose largest y turns out to be above the limit is computed again. */
ONCE float add_block(const struct row *row, int64_t column, int64_t end, struct units *units, float *exponentials) {
    const float inverse_temperature = row->softcap->inverse_temperature;
    float for_moments[QUERN_CROSS_ENTROPY_BLOCK];
    if (units->has_moments && !exponentials)
        exponentials = for_moments;
    if (units->limit == -INFINITY)
        raise_units(units, maximum_of(row, column, end) * inverse_temperature);
    for (;;) {
        const struct units_pass pass = units_pass_over(units->power, inverse_temperature);
        const float largest = sum_block(row, column, end, &pass, !is_in_reach(units), inverse_temperature != 1.0f, exponentials,
                                        units->sums + units->count);
        if (!(largest * inverse_temperature > units->limit)) {
            if (units->has_moments)
                sum_moments(row, column, end, &pass, exponentials, units);
            units->count += (end - column + UNIT - 1) / UNIT;
            return largest;
        }
        raise_units(units, largest * inverse_temperature);
    }
}

/* The sum of so many units, a power of 2, as a tree of neighbours.  They are overwritten. */
static void sum_tree(float *units, int64_t count) {
    for (int64_t half = count / 2; half > 0; half /= 2) {
        int64_t i = 0;
        for (; i + VECTOR_LANES <= half; i += VECTOR_LANES)
            vector_store_f32(units + i, vector_add_neighbours(vector_load_f32(units + 2 * i),
                                                              vector_load_f32(units + 2 * i + VECTOR_LANES)));
        for (; i < half; i++)
            units[i] = units[2 * i] + units[2 * i + 1];
    }
}

/* So many units, and in the first place their sum and their moment. */
static void sum_node(struct units *units, int64_t first, int64_t count) {
    if (units->has_moments)
        join_tree(units->sums + first, units->moments + first, count);
    else
        sum_tree(units->sums + first, count);
}

ONCE void grow_units(struct quern_row_tree *tree, struct units *units) {
    for (int64_t first = 0, count; first < units->count; first += count) {
        const int level = quern_row_next_level(tree->end, units->count - first);
        count = INT64_C(1) << level;
        sum_node(units, first, count);
        const double moment = units->has_moments ? (double)units->moments[first] : 0;
        quern_row_grow(tree, quern_row_node_of((double)units->sums[first], units->power - EXPONENTIAL_BIAS, moment), level);
    }
}

ONCE void finish_units(const struct row *row, int64_t part, const struct largest *largest, quern_row_stats *stats, bool full) {
    bool is_empty = largest->logit == -INFINITY;
    if (part * QUERN_CPU_PART_COLUMNS <= row->label && row->label < part_end(row, part)) {
        const quern_row_stats label = label_stats(row, full);
        quern_row_take(stats, &label);
        is_empty = is_empty && label.label_value == -INFINITY;
    }
    if (full && row->problem->argmax && !is_empty)
        state_argmax(row, largest, stats);
}

/* The sums of one part; keeps the exponentials of its blocks from the cursor on. */
ONCE quern_row_stats sum_units(const struct row *row, int64_t part, struct cursor at, bool full) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS, end_of_part = part_end(row, part);
    struct units units = no_units(row, full);
    struct largest largest = {-INFINITY, first, end_of_part};
    quern_row_stats stats = quern_row_nothing();
    float *maxima = row->maxima;
    for (int64_t column = first, end; column < end_of_part; column = end) {
        end = piece_end(row, column);
        const float logit = add_block(row, column, end, &units, row->exponentials ? row->exponentials + at.column : NULL);
        if (logit > largest.logit)
            largest = (struct largest){logit, column, end};
        if (maxima)
            *maxima++ = logit;
        if (row->exponentials)
            row->pieces[at.piece].origin = origin_of(&units);
        at = cursor_after(at, end - column);
    }
    struct quern_row_tree tree = quern_row_tree_from((row->problem->first_column + first) / UNIT);
    grow_units(&tree, &units);
    quern_row_set_others(&stats, quern_row_root(&tree));
    finish_units(row, part, &largest, &stats, full);
    return stats;
}

/* Columns of units that others share: each alone.  The units get a power that is valid for all of them. */
ONCE void raise_to_columns(const struct row *row, int64_t column, int64_t end, struct units *units, struct largest *largest) {
    if (column == end)
        return;
    const float logit = maximum_of(row, column, end), y = logit * row->softcap->inverse_temperature;
    if (logit > largest->logit)
        *largest = (struct largest){logit, column, end};
    if (y > units->limit && y < INFINITY)
        raise_units(units, y);
}

/* kept: the exponentials, and in the nodes of the moments the y. */
ONCE void keep_columns(const struct row *row, int64_t column, int64_t end, const struct units *units, float *kept) {
    const int64_t first_column = row->problem->first_column;
    for (; column < end; column++) {
        const int64_t place = (first_column + column) % UNIT;
        const float y = first_lane(load_tail(row->logits + column, 1).first) * row->softcap->inverse_temperature;
        kept[place] = column == row->label ? 0.0f : portable_exponential_of(y, units->power) * QUERN_NODE_OF_KEPT;
        if (units->has_moments)
            kept[sizeof(quern_row_nodes) / sizeof *kept + (size_t)place] = y;
    }
}

ONCE void keep_nodes(struct units *units, int64_t unit, quern_row_nodes *nodes) {
    for (int64_t first = 0, count; first < units->count; first += count, unit += count) {
        const int level = quern_row_next_level(unit, units->count - first);
        count = INT64_C(1) << level;
        sum_node(units, first, count);
        *quern_row_slot(nodes, unit, level) = units->sums[first] * QUERN_NODE_OF_KEPT;
        if (units->has_moments)
            *quern_row_slot(nodes + 1, unit, level) = units->moments[first] * QUERN_NODE_OF_KEPT;
    }
}

/* The nodes of one part of a shard, beside those that are not here already.  Its stats have no sums. */
ONCE quern_row_stats sum_shard_units(const struct row *row, int64_t part, quern_row_nodes *nodes, bool full) {
    const int64_t first = part * QUERN_CPU_PART_COLUMNS, end_of_part = part_end(row, part);
    const struct quern_row_span span = quern_row_span_of(row->problem->first_column + first, end_of_part - first,
                                                         row->problem->global_vocab);
    const int64_t begin = first + span.head, end_of_units = end_of_part - span.tail;
    struct units units = no_units(row, full);
    struct largest largest = {-INFINITY, first, end_of_part};
    quern_row_stats stats = quern_row_nothing();
    raise_to_columns(row, first, begin, &units, &largest);
    for (int64_t column = begin, end; column < end_of_units; column = end) {
        end = column + QUERN_CROSS_ENTROPY_BLOCK < end_of_units ? column + QUERN_CROSS_ENTROPY_BLOCK : end_of_units;
        const float logit = add_block(row, column, end, &units, NULL);
        if (logit > largest.logit)
            largest = (struct largest){logit, column, end};
    }
    raise_to_columns(row, end_of_units, end_of_part, &units, &largest);
    keep_columns(row, first, begin, &units, nodes->first_unit);
    keep_columns(row, end_of_units, end_of_part, &units, nodes->last_unit);
    keep_nodes(&units, span.first_unit, nodes);
    stats.origin = origin_of(&units);
    finish_units(row, part, &largest, &stats, full);
    return stats;
}

ONCE quern_row_stats sum_row_units(const struct row *row, bool full) {
    struct quern_row_tree tree = quern_row_tree_from(0);
    quern_row_stats stats = quern_row_nothing();
    for (int64_t part = 0; part * QUERN_CPU_PART_COLUMNS < row->vocab; part++) {
        const quern_row_stats more = sum_units(row, part, cursor_of_part(part), full);
        quern_row_add_part(&tree, &stats, &more);
    }
    quern_row_finish_parts(&tree, &stats);
    return stats;
}

#endif
