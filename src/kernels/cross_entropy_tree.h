/*
 * The sums of a row with portable bits: a tree over the sums of its units (src/kernels/cpu/cross_entropy_units.h), whose nodes are
 * fp32 numbers times a power of two of any size.  Included by the CPU kernels, by cross_entropy_cpu.c and by
 * cross_entropy_portable.cuh.
 *
 * A node of level l is the sum of the units from i * 2^l to (i + 1) * 2^l - 1, as far as the vocab has them: its left half plus its
 * right half, rounded once.  So the root is the same for every division of the vocab, and for everyone who computes it.
 */
#ifndef QUERN_CROSS_ENTROPY_TREE_H
#define QUERN_CROSS_ENTROPY_TREE_H

#include "kernels/cross_entropy_row.h"

enum { QUERN_PART_LEVEL = 10 };

#ifndef __CUDACC__
_Static_assert(QUERN_UNIT_COLUMNS << QUERN_PART_LEVEL == QUERN_CPU_PART_COLUMNS, "the units of a part are those of a node");
#endif

/* The values of problem.portable_bits; the last one on GPUs, where the gradient is computed from given stats. */
enum { QUERN_PORTABLE_ROWS = 1, QUERN_PORTABLE_GRADIENT = 2 };

/* exp(r) for |r| <= ln(2) / 2, from the constant on: Horner's rule of fused multiply-adds over these terms. */
enum { QUERN_PORTABLE_DEGREE = 5 };
#define QUERN_PORTABLE_TERMS {0x1p+0f, 0x1.fffff6p-1f, 0x1.fffdc6p-2f, 0x1.555a7ap-3f, 0x1.573a22p-5f, 0x1.0fa328p-7f}

/*
 * sum * 2^power.  The sum is 0, NaN, or from 1 to 2.  The moment, an fp32 number times the same power, is the sum of e * (y -
 * (power + 2) * QUERN_LN_2_FLOAT), whose terms are all negative: what vanishes in the sum vanishes in it.  0: it is not wanted.
 */
struct quern_row_node {
    double sum, power, moment;
};

/* The reference of a moment is so many powers above that of the sum, and at least one above each y. */
enum { QUERN_MOMENT_RISE = 2 };

/*
 * The power k of y in y = k * QUERN_LN_2_FLOAT + r.  Up to the reach it is the one that fp32 instructions find, beyond it the
 * nearest one.  Far away fp32 numbers are so far apart that only the largest y counts, and each has 64 powers of its own.
 */
#define QUERN_LN_2_FLOAT 0x1.62e43p-1
#define QUERN_LOG2_E_FLOAT 0x1.715476p+0
#define QUERN_POWERS_REACH 65536.0
#define QUERN_FAR_Y 0x1p30f
#define QUERN_FAR_POWER 1549082000.0  /* of QUERN_FAR_Y */
#define QUERN_FAR_BITS 0x4E800000u

QUERN_NUMBER_FUNCTION double quern_row_power(double y) {
    const double magnitude = fabs(y);
    if (magnitude <= QUERN_POWERS_REACH) return quern_nearest(y * QUERN_LOG2_E_FLOAT);
    if (magnitude <= (double)QUERN_FAR_Y) return quern_nearest(y / QUERN_LN_2_FLOAT);
    const float far = (float)magnitude;
    uint32_t bits;
    memcpy(&bits, &far, sizeof bits);
    const double power = QUERN_FAR_POWER + 64.0 * (double)(bits - QUERN_FAR_BITS);
    return y < 0 ? -power : power;
}

/* y - reference * QUERN_LN_2_FLOAT for an integer, rounded once.  Far away only the powers count. */
QUERN_NUMBER_FUNCTION float quern_row_distance(float y, double reference) {
    if (!(fabsf(y) < INFINITY)) return 0;
    if (fabsf(y) > QUERN_FAR_Y) return (float)((quern_row_power((double)y) - reference) * QUERN_LN_2_FLOAT);
    if (fabs(reference) <= 2 * QUERN_POWERS_REACH) return fmaf((float)-reference, (float)QUERN_LN_2_FLOAT, y);
    return (float)((double)y - reference * QUERN_LN_2_FLOAT);
}

/* The y of a power, for which up to 63 more stand if it is far.  *power becomes that of y. */
QUERN_FUNCTION double quern_row_value_at(double *power) {
    const double steps = (fabs(*power) - QUERN_FAR_POWER) / 64, sign = *power < 0 ? -1 : 1;
    if (!(steps >= 1)) return *power * QUERN_LN_2_FLOAT;
    const double whole = *power < 0 ? ceil(steps) : floor(steps);
    const uint32_t bits = QUERN_FAR_BITS + (uint32_t)whole;
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    *power = sign * (QUERN_FAR_POWER + 64 * whole);
    return sign * (double)magnitude;
}

QUERN_FUNCTION struct quern_row_node quern_row_node_of(double sum, double power, double moment) {
    struct quern_row_node node = {sum > 0 ? (double)NAN : sum, 0, 0};
    if (!(sum > 0 && sum < INFINITY)) return node;
    const int exponent = (int)(quern_bits_of(sum) >> 52) - 1023;  /* a double that is an fp32 is not subnormal */
    node.sum = quern_times_power(sum, -exponent), node.power = power + exponent;
    node.moment = moment != 0 ? quern_times_power(moment, -exponent) : 0;
    return node;
}

/* The moment of a node in fp32, relative to the power of its parent. */
QUERN_FUNCTION float quern_row_moment_at(struct quern_row_node node, double power) {
    const double below = node.power - power;
    const float sum = (float)quern_times_power(node.sum, below), moment = (float)quern_times_power(node.moment, below);
    return moment + sum * ((float)below * (float)QUERN_LN_2_FLOAT);
}

/* A double has all bits of a sum whose second rounding, to fp32, could depend on them. */
QUERN_LARGE_FUNCTION struct quern_row_node quern_row_join(struct quern_row_node a, struct quern_row_node b) {
    if (a.sum == 0) return b;
    if (b.sum == 0) return a;
    const double power = a.power > b.power ? a.power : b.power;
    const double sum = quern_times_power(a.sum, a.power - power) + quern_times_power(b.sum, b.power - power);
    struct quern_row_node node = quern_row_node_of((double)(float)sum, power, 0);
    if (a.moment != 0 || b.moment != 0)
        node.moment = (double)(quern_row_moment_at(a, node.power) + quern_row_moment_at(b, node.power));
    return node;
}

/*
 * The nodes of a range of units that are no children of others, in order.  From unit 0 on there are as many as the end has bits, at
 * most; from another unit on twice as many.
 */
enum { QUERN_TREE_NODES = 64 };
struct quern_row_tree {
    int64_t end;                                  /* of the range */
    int count;
    int levels[QUERN_TREE_NODES];
    struct quern_row_node nodes[QUERN_TREE_NODES];
};

QUERN_FUNCTION struct quern_row_tree quern_row_tree_from(int64_t first_unit) {
    struct quern_row_tree tree;
    tree.end = first_unit;
    tree.count = 0;
    return tree;
}

/* Adds the next node, whose place is a multiple of 2^level: a right child joins its sister. */
QUERN_LARGE_FUNCTION void quern_row_grow(struct quern_row_tree *tree, struct quern_row_node node, int level) {
    const int64_t end = tree->end + (INT64_C(1) << level);
    int64_t place = tree->end >> level;
    for (; place & 1 && tree->count && tree->levels[tree->count - 1] == level; place >>= 1, level++)
        node = quern_row_join(tree->nodes[--tree->count], node);
    tree->levels[tree->count] = level;
    tree->nodes[tree->count++] = node;
    tree->end = end;
}

/* The root of a range that begins at 0.  Only its last nodes have no sister. */
QUERN_LARGE_FUNCTION struct quern_row_node quern_row_root(const struct quern_row_tree *tree) {
    struct quern_row_node node = {0, 0, 0};
    for (int i = tree->count - 1; i >= 0; i--) node = quern_row_join(tree->nodes[i], node);
    return node;
}

/* The level of the largest node that may come next, of at most so many units. */
QUERN_FUNCTION int quern_row_next_level(int64_t place, int64_t units) {
    int level = 0;
    while (!(place >> level & 1) && INT64_C(2) << level <= units) level++;
    return level;
}

/* ---- the stats of a row or of a part ---- */

/* The sums of a node; without an origin where there is no exponential.  The moment of a part stays as it is in the node. */
QUERN_LARGE_FUNCTION void quern_row_set_others(quern_row_stats *stats, struct quern_row_node node) {
    double power = node.power;
    stats->origin = node.sum == 0 ? (double)-INFINITY : quern_row_value_at(&power);
    stats->others = quern_times_power(node.sum, node.power - power);
    stats->moment = node.moment != 0 ? quern_times_power(node.moment, node.power - power) : 0;
}

QUERN_FUNCTION struct quern_row_node quern_row_others(const quern_row_stats *stats) {
    return quern_row_node_of(stats->others, stats->others > 0 ? quern_row_power(stats->origin) : 0, stats->moment);
}

/* Takes the label's power for the origin if that is larger: so the label's exponential does not overflow. */
QUERN_FUNCTION void quern_row_rise_to_label(quern_row_stats *stats, struct quern_row_node node) {
    const double label = (double)stats->label_value;
    if (!stats->has_label || !(fabs(label) < INFINITY)) return;
    double power = quern_row_power(label);
    if (node.sum != 0 && node.power >= power) return;
    stats->others = power - node.power > 1000 ? 0 : quern_times_power(node.sum, node.power - power);
    stats->origin = quern_row_value_at(&power);
}

/* The stats of a row: they have the label's power if that is larger, and the moment is relative to the origin. */
QUERN_LARGE_FUNCTION void quern_row_settle(quern_row_stats *stats) {
    if (stats->has_label && stats->label_value == INFINITY) stats->others = (double)NAN;
    if (isnan(stats->others)) return;
    const struct quern_row_node node = quern_row_others(stats);
    quern_row_rise_to_label(stats, node);
    if (node.moment == 0) return;
    const double power = quern_row_power(stats->origin), above = node.power + QUERN_MOMENT_RISE - power;
    stats->moment = quern_times_power(node.moment, node.power - power) + stats->others * (above * QUERN_LN_2_FLOAT);
}

/* Adds the stats of the next part of a row, whose node has QUERN_PART_LEVEL or is the last one. */
QUERN_FUNCTION void quern_row_add_part(struct quern_row_tree *tree, quern_row_stats *stats, const quern_row_stats *part) {
    quern_row_grow(tree, quern_row_others(part), QUERN_PART_LEVEL);
    quern_row_take(stats, part);
}

QUERN_FUNCTION void quern_row_finish_parts(const struct quern_row_tree *tree, quern_row_stats *stats) {
    quern_row_set_others(stats, quern_row_root(tree));
    quern_row_settle(stats);
}

#endif
