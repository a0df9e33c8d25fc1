/*
 * The nodes of a row with portable bits that one shard, or one part of it, can sum alone; and those of several, joined in order.
 * Included by the CPU kernels, by cross_entropy_cpu.c and by cross_entropy_portable.cuh.
 *
 * A range of units is a sequence of nodes that are no children of others in it: first right children at rising levels, then left
 * ones at falling levels.  The columns of a unit that another range shares are kept one by one, until all are there.
 */
#ifndef QUERN_CROSS_ENTROPY_NODES_H
#define QUERN_CROSS_ENTROPY_NODES_H

#include "kernels/cross_entropy_tree.h"

/* Nodes are kept times 2^QUERN_NODE_BIAS; those that are not here are -1. */
enum { QUERN_NODE_BIAS = 60 };
#define QUERN_NO_NODE -1.0f

/* From 2^QUERN_EXPONENTIAL_BIAS to that. */
#define QUERN_NODE_OF_KEPT 0x1p-36f

#ifndef __CUDACC__
_Static_assert(sizeof(quern_row_nodes) == (2 * QUERN_UNIT_COLUMNS + 2 * QUERN_NODE_LEVELS) * sizeof(float), "no other numbers");
_Static_assert(QUERN_NODE_BIAS - QUERN_EXPONENTIAL_BIAS == -36, "the exponent of QUERN_NODE_OF_KEPT");
#endif

/* ---- which units and columns a shard, or a part, has alone ---- */

struct quern_row_span {
    int64_t first_unit, end_unit;      /* whole units */
    int64_t head, tail;                /* columns before and behind them, of units that others share */
};

QUERN_FUNCTION struct quern_row_span quern_row_span_of(int64_t first_column, int64_t columns, int64_t global_vocab) {
    const int64_t unit = QUERN_UNIT_COLUMNS, end = first_column + columns, first_unit = (first_column + unit - 1) / unit;
    const int64_t end_unit = (end == global_vocab ? end + unit - 1 : end) / unit, head = first_unit * unit - first_column;
    struct quern_row_span span = {first_unit, end_unit > first_unit ? end_unit : first_unit, head < columns ? head : columns, 0};
    const int64_t rest = end - span.end_unit * unit;
    span.tail = rest > 0 ? rest : 0;
    return span;
}

QUERN_LARGE_FUNCTION void quern_row_no_nodes(quern_row_nodes *nodes) {
    float *const numbers = nodes->first_unit;
    for (size_t i = 0; i < sizeof *nodes / sizeof *numbers; i++) numbers[i] = QUERN_NO_NODE;
}

/* With the entropy a row has two: sums and, behind them, moments, which stand at the places of their sums. */
QUERN_FUNCTION int64_t quern_row_nodes_of_row(const struct quern_cross_entropy_problem *problem) {
    return problem->wants_moment ? 2 : 1;
}

/* The place of a node of this level that begins with the unit. */
QUERN_FUNCTION float *quern_row_slot(quern_row_nodes *nodes, int64_t unit, int level) {
    return (unit >> level & 1 ? nodes->right_nodes : nodes->left_nodes) + level;
}

/* ---- joining ---- */

/* The nodes of ranges that follow each other. */
struct quern_row_growth {
    struct quern_row_tree tree;
    struct quern_row_node unit[QUERN_UNIT_COLUMNS];  /* of one that is shared, its columns so far, whose moments are y */
    float terms[QUERN_UNIT_COLUMNS];   /* of a sum over them */
    bool is_open;                      /* there are some */
    bool is_wrong;                     /* the nodes do not follow each other */
    int64_t next_place;                /* of the next column in a shared unit */
    bool neighbours_first;             /* 16-bit logits: the first level of a unit's tree joins neighbours */
    bool has_moments;
};

QUERN_FUNCTION void quern_row_open(struct quern_row_growth *growth, int64_t place) {
    QUERN_ROLLED
    for (int i = 0; i < QUERN_UNIT_COLUMNS; i++) growth->unit[i].sum = growth->unit[i].power = growth->unit[i].moment = 0;
    growth->is_open = place > 0, growth->next_place = place;
}

QUERN_FUNCTION void quern_row_begin(struct quern_row_growth *growth, const struct quern_cross_entropy_problem *problem,
                                    int64_t first_column) {
    growth->tree.end = (first_column + QUERN_UNIT_COLUMNS - 1) / QUERN_UNIT_COLUMNS, growth->tree.count = 0;
    growth->is_wrong = false, growth->neighbours_first = problem->logits_bytes == 2;
    growth->has_moments = problem->wants_moment;
    quern_row_open(growth, 0);
}

/* The tree of a unit over its terms, which are overwritten. */
QUERN_LARGE_FUNCTION float quern_row_sum_terms(struct quern_row_growth *growth) {
    float *const terms = growth->terms;
    const int all = QUERN_UNIT_COLUMNS / 2;
    bool neighbours = growth->neighbours_first;
    QUERN_ROLLED
    for (int half = all; half > 0; half /= 2, neighbours = false) {
        QUERN_ROLLED
        for (int i = 0; i < half; i++) terms[i] = terms[neighbours ? 2 * i : i] + terms[neighbours ? 2 * i + 1 : i + half];
    }
    return terms[0];
}

/* The columns of the unit in the origin of the largest.  A second pass has their moments, relative to the sum. */
QUERN_LARGE_FUNCTION struct quern_row_node quern_row_join_unit(struct quern_row_growth *growth) {
    struct quern_row_node node = {0, 0, 0};
    const int passes = growth->has_moments ? 2 : 1;
    bool is_empty = true;
    QUERN_ROLLED
    for (int i = 0; i < QUERN_UNIT_COLUMNS; i++) {
        if (growth->unit[i].sum == 0 || !(is_empty || growth->unit[i].power > node.power)) continue;
        node.power = growth->unit[i].power, is_empty = false;
    }
    QUERN_ROLLED
    for (int pass = 0; pass < passes; pass++) {
        QUERN_ROLLED
        for (int i = 0; i < QUERN_UNIT_COLUMNS; i++) {
            const struct quern_row_node column = growth->unit[i];
            const float e = (float)quern_times_power(column.sum, column.power - node.power);
            growth->terms[i] = pass ? e * quern_row_distance((float)column.moment, node.power + QUERN_MOMENT_RISE) : e;
        }
        const float sum = quern_row_sum_terms(growth);
        if (pass) node.moment = (double)sum;
        else node = quern_row_node_of((double)sum, node.power, 0);
    }
    return node;
}

QUERN_FUNCTION void quern_row_close(struct quern_row_growth *growth) {
    if (!growth->is_open) return;
    quern_row_grow(&growth->tree, quern_row_join_unit(growth), 0);
    quern_row_open(growth, 0);
}

QUERN_FUNCTION struct quern_row_node quern_row_node_at(float kept, double power, float moment) {
    return quern_row_node_of((double)kept, power - QUERN_NODE_BIAS, (double)moment);
}

/* Adds a column of a shared unit, and its y for the moment. */
QUERN_FUNCTION void quern_row_add_column(struct quern_row_growth *growth, float kept, double power, float y, int place) {
    if (kept == QUERN_NO_NODE) return;
    if (place != growth->next_place) growth->is_wrong = true;
    growth->unit[place] = quern_row_node_at(kept, power, 0);
    growth->unit[place].moment = (double)y;
    growth->is_open = true, growth->next_place = place + 1;
}

/* Nodes that another process wrote may have any value.  An aligned one finds room: levels rise once and fall once. */
QUERN_FUNCTION void quern_row_add_node(struct quern_row_growth *growth, float kept, double power, float moment,
                                       int level) {
    if (kept == QUERN_NO_NODE) return;
    if (growth->is_open || growth->tree.end & ((INT64_C(1) << level) - 1)) growth->is_wrong = true;
    else quern_row_grow(&growth->tree, quern_row_node_at(kept, power, moment), level);
}

QUERN_FUNCTION double quern_row_origin_power(const quern_row_stats *stats) {
    return fabs(stats->origin) < INFINITY ? quern_row_power(stats->origin) : 0;
}

/* Adds the next range.  Behind its nodes are their moments, if there are any. */
QUERN_LARGE_FUNCTION void quern_row_add_nodes(struct quern_row_growth *growth, const quern_row_nodes *nodes,
                                              const quern_row_stats *stats) {
    const double power = quern_row_origin_power(stats);
    const int levels = QUERN_NODE_LEVELS, units = QUERN_UNIT_COLUMNS;
    const float *const kept = nodes->first_unit;
    const float *const moments = growth->has_moments ? nodes[1].first_unit : NULL;
    if (isnan(stats->others) || isnan(stats->origin) || stats->origin == (double)INFINITY) growth->is_wrong = true;
    QUERN_ROLLED
    for (int i = 0; i < 2 * (levels + units); i++) {
        const int node = i - units;
        const int level = node < levels ? node : 2 * levels - 1 - node;                       /* they rise and fall */
        const int place = node >= levels && node < 2 * levels ? units + levels + level : i;
        const float moment = moments ? moments[place] : 0;
        if (node >= 0 && node < 2 * levels) quern_row_add_node(growth, kept[place], power, moment, level);
        else quern_row_add_column(growth, kept[place], power, moment, node < 0 ? i : node - 2 * levels);
        if (i == units - 1 && growth->next_place == units) quern_row_close(growth);
    }
    if (growth->next_place == QUERN_UNIT_COLUMNS) growth->is_wrong = true;
}

QUERN_FUNCTION float quern_row_kept_node(double sum, double above) {
    return (float)quern_times_power(sum, above + QUERN_NODE_BIAS);
}

/* The nodes of the ranges but for the columns of the first unit, and their stats, relative to the power of an origin. */
QUERN_FUNCTION void quern_row_keep_growth(const struct quern_row_growth *growth, int64_t first_unit, double power,
                                          quern_row_nodes *nodes, quern_row_stats *stats) {
    const struct quern_row_node root = quern_row_root(&growth->tree);
    for (int i = 0; i < growth->tree.count; i++) {
        const struct quern_row_node node = growth->tree.nodes[i];
        const int level = growth->tree.levels[i];
        *quern_row_slot(nodes, first_unit, level) = quern_row_kept_node(node.sum, node.power - power);
        if (growth->has_moments)
            *quern_row_slot(nodes + 1, first_unit, level) = quern_row_kept_node(node.moment, node.power - power);
        first_unit += INT64_C(1) << level;
    }
    for (int64_t i = 0; growth->is_open && i < growth->next_place; i++) {
        nodes->last_unit[i] = quern_row_kept_node(growth->unit[i].sum, growth->unit[i].power - power);
        if (growth->has_moments) nodes[1].last_unit[i] = (float)growth->unit[i].moment;
    }
    stats->others = growth->is_wrong || isnan(root.sum) ? (double)NAN : 0;
}

/* The stats of a whole row.  Its last unit may be shared. */
QUERN_FUNCTION void quern_row_finish_growth(struct quern_row_growth *growth, int64_t global_vocab, quern_row_stats *stats) {
    const int64_t units = (global_vocab + QUERN_UNIT_COLUMNS - 1) / QUERN_UNIT_COLUMNS, rest = global_vocab % QUERN_UNIT_COLUMNS;
    if (growth->is_open && growth->next_place != rest) growth->is_wrong = true;
    quern_row_close(growth);
    if (growth->tree.end != units) growth->is_wrong = true;
    quern_row_set_others(stats, quern_row_root(&growth->tree));
    if (growth->is_wrong) stats->origin = 0, stats->others = (double)NAN;
    quern_row_settle(stats);
}

#endif
