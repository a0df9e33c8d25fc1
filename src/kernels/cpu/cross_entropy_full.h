/*
 * The forward pass of full kernels over a piece, with softcap, temperature, smoothing and entropy in the loop that computes the
 * exponentials.  Included by cross_entropy_parts.h.  A logit is read from DRAM once, as in the plain kernels.  The class weights (4
 * bytes per column, read) stay in the cache.  Each group of logits is examined first, to decide for the whole group whether the
 * softcap's polynomials suffice; the gradient pass decides the same.
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_FULL_H
#define QUERN_CPU_CROSS_ENTROPY_FULL_H

#include "kernels/cpu/cross_entropy_pieces.h"
#include "kernels/cpu/cross_entropy_plain.h"

/* The options of a pass.  If the struct is a constant, so are the branches on it. */
struct full_wants {
    bool centred, kept, softcap, smoothing, class_weights, entropy;
    bool in_reach;             /* of a softcap: see struct origin */
    bool temperature;          /* one that is not 1 */
};

/* A pass over a piece: its options, inputs and outputs. */
struct full_piece {
    const element *logits;
    const float *class_weights;             /* of the piece's columns, or NULL */
    float *exponentials;                    /* NULL: not kept */
    const struct softcap *softcap;
    struct origin origin;
    struct full_wants wants;
};

/* The same as vectors; a variable of the loop, which uses some of them. */
struct full_pass {
    const element *logits;
    const float *class_weights;
    float *exponentials;
    struct exponential_bounds bounds;
    struct softcap softcap;
    struct range near;                      /* of no logits, over the largest magnitude of the softcap's polynomials, negated */
    struct exponential_roots roots;
    vector scaled_reference;                /* of the weighted sum: negated and scaled, added to a scaled y */
    vector moment_reference;                /* of the moment: subtracted from y */
};

/* The scale of summed distances.  With it no sum over a piece can overflow. */
#define DISTANCE_SCALE 0x1p-24f

/* Distances need a number. */
static inline float finite_reference(float reference) {
    return reference == -INFINITY ? 0.0f : reference;
}

SPECIALISED struct full_pass full_pass_over(const struct full_piece *piece) {
    const struct origin *origin = &piece->origin;
    return (struct full_pass){
        .logits = piece->logits,
        .class_weights = piece->class_weights,
        .exponentials = piece->exponentials,
        .bounds = bounds_of(origin->of),
        .softcap = *piece->softcap,
        .near = range_over(-piece->softcap->near_limit),
        .roots = exponential_roots_over(origin->in_reach ? origin->of.power : 0.0f),
        .scaled_reference = vector_broadcast(-finite_reference(origin->reference) * DISTANCE_SCALE),
        .moment_reference = vector_broadcast(finite_reference(origin->moment_reference)),
    };
}

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

/* ---- y without a limit ---- */

/* y itself; the columns beyond a tail stay -infinity. */
SPECIALISED struct vector_pair value_of(const struct softcap *softcap, struct vector_pair x, int64_t columns,
                                        struct full_wants wants) {
    const vector inverse_temperature = vector_broadcast(softcap->inverse_temperature);
    if (!wants.softcap && wants.temperature)
        return (struct vector_pair){x.first * inverse_temperature, x.second * inverse_temperature};
    if (!wants.softcap)
        return x;
    const element zeros[PAIR] = {0};
    struct vector_pair y = {softcap_both(x.first, softcap).value, softcap_both(x.second, softcap).value};
    if (columns < PAIR) {
        const struct vector_pair mask = load_tail(zeros, columns);
        y.first += mask.first;
        y.second += mask.second;
    }
    return y;
}

/* The distances for the smoothing's sum, scaled. */
SPECIALISED struct vector_pair scaled_distances(const struct full_pass *pass, struct vector_pair y) {
    const vector scale = vector_broadcast(DISTANCE_SCALE);
    return (struct vector_pair){vector_multiply_add(y.first, scale, pass->scaled_reference),
                                vector_multiply_add(y.second, scale, pass->scaled_reference)};
}

/* An exponential of 0 adds 0 at any distance.  In reach none is 0. */
SPECIALISED struct vector_pair moment_distances(const struct full_pass *pass, struct vector_pair y, enum reach reach) {
    const vector least = vector_broadcast(LEAST_DISTANCE);
    const struct vector_pair distances = {y.first - pass->moment_reference, y.second - pass->moment_reference};
    if (reach == IN_REACH)
        return distances;
    return (struct vector_pair){vector_max(least, distances.first), vector_max(least, distances.second)};
}

/* One pair, of which `columns` columns exist; returns the sum of its exponentials. */
SPECIALISED total add_unlimited(const struct full_pass *pass, int64_t column, int64_t columns, struct vector_pair x,
                                enum reach reach, struct full_wants wants, struct full_sums *sums) {
    const struct vector_pair y = value_of(&pass->softcap, x, columns, wants);
    const struct vector_pair e = pair_exponentials(y, &pass->bounds, reach);
    if (wants.kept)
        store_pair(pass->exponentials + column, e);
    if (wants.entropy)
        sums->moment = add_products(sums->moment, moment_distances(pass, y, reach), e);
    if (wants.smoothing && columns >= PAIR && wants.class_weights) {
        const struct vector_pair weights = pair_load_beside_element(pass->class_weights + column);
        sums->weighted = add_products(sums->weighted, weights, scaled_distances(pass, y));
        sums->weights += total_of(weights);
    } else if (wants.smoothing && columns >= PAIR) {
        sums->weighted += total_of(scaled_distances(pass, y));
    }
    return total_of(e);
}

/* ---- y that is capped and in reach ---- */

/* Both factors of y * LOG2_E. */
struct capped_pair {
    struct vector_pair x, factor;
};

SPECIALISED struct capped_pair cap_pair(const struct softcap *softcap, struct vector_pair x, bool near) {
    if (near)
        return (struct capped_pair){x, {softcap_factor(x.first, softcap), softcap_factor(x.second, softcap)}};
    const struct softcap_product first = softcap_any(x.first, softcap), second = softcap_any(x.second, softcap);
    return (struct capped_pair){{first.x, second.x}, {first.factor, second.factor}};
}

SPECIALISED void weigh_capped(const struct full_pass *pass, int64_t column, struct capped_pair y, struct full_wants wants,
                              struct full_sums *sums) {
    if (wants.class_weights) {
        const struct vector_pair weights = pair_load_beside_element(pass->class_weights + column);
        sums->weights += total_of(weights);
        y.x = (struct vector_pair){weights.first * y.x.first, weights.second * y.x.second};
    }
    sums->weighted = add_products(sums->weighted, y.x, y.factor);
}

/* The same as add_unlimited(). */
SPECIALISED total add_capped(const struct full_pass *pass, int64_t column, int64_t columns, struct vector_pair x, bool near,
                             struct full_wants wants, struct full_sums *sums) {
    const struct capped_pair y = cap_pair(&pass->softcap, x, near);
    struct vector_pair e = {exponential_of_product(y.x.first, y.factor.first, &pass->roots, POWERS_ARE_EXACT),
                            exponential_of_product(y.x.second, y.factor.second, &pass->roots, POWERS_ARE_EXACT)};
    if (columns < PAIR) {
        const struct vector_pair mask = load_weights(NULL, columns);
        e = (struct vector_pair){e.first * mask.first, e.second * mask.second};
    }
    if (wants.kept)
        store_pair(pass->exponentials + column, e);
    if (wants.smoothing && columns >= PAIR)
        weigh_capped(pass, column, y, wants, sums);
    if (wants.entropy) {
        const struct vector_pair distances = {vector_multiply_add(y.x.first, y.factor.first, -pass->moment_reference),
                                              vector_multiply_add(y.x.second, y.factor.second, -pass->moment_reference)};
        sums->moment = add_products(sums->moment, distances, e);
    }
    return total_of(e);
}

/* ---- the pass ---- */

/* Sums column by column in double, and skips columns of weight 0 even at an infinite distance. */
static void weigh_carefully(struct vector_pair y, struct vector_pair weights, double origin, double *weighted, double *sum) {
    float of_y[PAIR], of_weight[PAIR];
    store_pair(of_y, y);
    store_pair(of_weight, weights);
    for (int i = 0; i < PAIR; i++) {
        if (of_weight[i] != 0.0f)
            *weighted += (double)of_weight[i] * ((double)of_y[i] - origin);
        *sum += (double)of_weight[i];
    }
}

/* UNROLL pairs of logits, or one.  Exponentials are summed in the order of the plain pass, so that their sum has the same bits. */
SPECIALISED void add_pairs(const struct full_pass *pass, int64_t column, int64_t columns, const element *logits, int pairs,
                           bool near, enum reach reach, struct full_wants wants, struct full_sums *run) {
    struct full_sums group = no_sums();
    total sums[UNROLL];
    for (int k = 0; k < pairs; k++) {
        const int64_t at = column + k * PAIR, rest = columns - k * PAIR;
        const struct vector_pair x = pair_load_element(logits + k * PAIR);
        sums[k] = wants.in_reach ? add_capped(pass, at, rest, x, near, wants, &group)
                                 : add_unlimited(pass, at, rest, x, reach, wants, &group);
    }
    group.exponentials = sums[0];
    if (pairs == UNROLL)
        group.exponentials = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    join_sums(run, &group, wants);
}

/* What a pass has found so far. */
struct full_state {
    struct range range;
    uint64_t far;              /* as in struct quern_kept_piece */
    struct full_sums run;
};

/*
 * A group or, at the end, one pair, at the given address.  The far half of the softcap is computed only if one of the logits needs
 * it.
 */
SPECIALISED void add_group(const struct full_pass *pass, int64_t column, int64_t columns, const element *logits, int pairs,
                           enum reach reach, struct full_wants wants, struct full_state *state) {
    struct range group = wants.softcap ? pass->near : state->range;
    range_add(&group, logits, pairs);
    if (wants.softcap)
        range_join(&state->range, &group);
    else
        state->range = group;
    if (!wants.softcap || range_is_within(&group)) {
        add_pairs(pass, column, columns, logits, pairs, true, reach, wants, &state->run);
    } else {
        state->far |= far_bit(column);
        add_pairs(pass, column, columns, logits, pairs, false, reach, wants, &state->run);
    }
}

SPECIALISED void add_run(const struct full_pass *pass, int64_t column, int64_t end, enum reach reach, struct full_wants wants,
                         struct full_state *state) {
    state->run = no_sums();
    for (; column < end; column += GROUP) {
        prefetch_ahead(pass->logits + column);
        add_group(pass, column, GROUP, pass->logits + column, UNROLL, reach, wants, state);
    }
}

/* The columns after the last group.  A capped pair is padded with one of its logits, which may be near. */
SPECIALISED void add_rest(const struct full_pass *pass, int64_t column, int64_t columns, enum reach reach, struct full_wants wants,
                          struct full_state *state) {
    for (; column < columns; column += PAIR) {
        element tail[PAIR];
        const element *logits = pass->logits + column;
        logits = pair_or_tail(logits, columns - column, tail, wants.in_reach ? *logits : MINUS_INFINITY);
        add_group(pass, column, columns - column, logits, 1, reach, wants, state);
    }
}

/* The smoothing's sums of a piece, from a given column on. */
static void weigh_rest(const struct full_piece *piece, int64_t column, int64_t columns, struct piece_sums *sums) {
    const double origin = (double)finite_reference(piece->origin.reference);
    for (; column < columns; column += PAIR) {
        const float *weights = piece->class_weights ? piece->class_weights + column : NULL;
        const element *logits = piece->logits + column;
        element tail[PAIR];
        const struct vector_pair x = pair_load_element(pair_or_tail(logits, columns - column, tail, *logits));
        weigh_carefully(value_of(piece->softcap, x, PAIR, piece->wants), load_weights(weights, columns - column), origin,
                        &sums->weighted, &sums->weights);
    }
}

/* Converts the vectors' sums.  A weighted sum may be NaN only because of a weight of 0 at an infinite distance. */
static void finish_weighing(const struct full_piece *piece, int64_t columns, const struct full_sums *sums,
                            struct piece_sums *result) {
    const int64_t whole = columns / PAIR * PAIR;
    const double unit = piece->origin.in_reach ? piece->origin.unit : 1 / (double)DISTANCE_SCALE;
    result->weighted = total_value(sums->weighted) * unit;
    result->weights = piece->class_weights ? total_value(sums->weights) : (double)whole;
    if (!isnan(result->weighted)) {
        weigh_rest(piece, whole, columns, result);
        return;
    }
    result->weighted = result->weights = 0;
    weigh_rest(piece, 0, columns, result);
}

/* The lowest logit whose y has an exponential, or one just above. */
SPECIALISED float lowest_logit(const struct full_piece *piece, struct full_wants wants) {
    const float lowest = lowest_of(piece->origin.of), logit = lowest / piece->softcap->inverse_temperature;
    return wants.temperature ? logit + 0x1p-20f * fabsf(logit) : lowest;
}

/* Runs as in the plain pass.  Without a softcap, the logits alone tell whether one is too low. */
SPECIALISED struct piece_sums full_pass(const struct full_piece *piece, int64_t columns, struct full_wants wants) {
    const struct full_pass pass = full_pass_over(piece);
    const int64_t whole = columns / GROUP * GROUP;
    const enum reach careful = wants.centred ? CENTRED : COMPARED;
    const bool looks = RANGE_FINDS_LOW && !wants.centred && !wants.softcap;
    bool is_low = !looks;
    struct full_state state = {.range = range_over(lowest_logit(piece, wants)), .run = no_sums()};
    struct full_sums sums = no_sums();
    int64_t column = 0;
    for (int64_t end; column < whole; column = end) {
        join_sums(&sums, &state.run, wants);
        end = column + RUN < whole ? column + RUN : whole;
        if (looks && !is_low) {
            add_run(&pass, column, end, IN_REACH, wants, &state);
            is_low = !range_is_over(&state.range);
        }
        if (!looks || is_low)
            add_run(&pass, column, end, careful, wants, &state);
    }
    add_rest(&pass, column, columns, careful, wants, &state);
    join_sums(&sums, &state.run, wants);
    if (!wants.softcap && (is_low || !range_is_over(&state.range)))
        state.far = UINT64_MAX;
    struct piece_sums result = {
        .maximum = range_largest(&state.range, pass.logits, columns),
        .exponentials = total_value(sums.exponentials),
        .moment = total_value(sums.moment),
        .far = state.far,
    };
    if (wants.smoothing)
        finish_weighing(piece, columns, &sums, &result);
    return result;
}

/* Whether the entropy and a temperature have loops of their own; not in plain C, which few machines run. */
#if QUERN_SIMD512 || QUERN_SIMD256 || QUERN_NEON
enum { HAS_POLICY_LOOPS = 1 };
#else
enum { HAS_POLICY_LOOPS = 0 };
#endif

/*
 * With a temperature, and with class weights of a smoothing, there is one loop, with the entropy, for both: code has a size, too.
 */
SPECIALISED struct piece_sums with_moments(const struct full_piece *piece, int64_t columns, struct full_wants wants) {
    struct piece_sums sums = full_pass(piece, columns, wants);
    if (!piece->wants.entropy)
        sums.moment = 0;
    return sums;
}

/* The combinations of options that have no loop of their own. */
static bool is_rare(const struct full_wants *wants, bool has_policy_loop) {
    if (wants->centred || !wants->kept || wants->softcap != wants->in_reach)
        return true;
    if (wants->softcap && wants->smoothing && !wants->class_weights)
        return true;
    return !has_policy_loop && ((wants->entropy && !wants->class_weights) || (wants->temperature && !wants->softcap));
}

/* The options of typical training have separate loops; one loop handles all other combinations. */
static struct piece_sums full_sums(const struct full_piece *piece, int64_t columns) {
    const struct full_wants wants = piece->wants;
    const struct full_wants kept = {.kept = 1}, warm = {.kept = 1, .temperature = 1, .entropy = 1};
    const struct full_wants smoothed = {.kept = 1, .smoothing = 1}, capped = {.kept = 1, .softcap = 1, .in_reach = 1};
    const struct full_wants all = {.kept = 1, .softcap = 1, .in_reach = 1, .smoothing = 1, .class_weights = 1, .entropy = 1};
    const struct full_wants all_but_softcap = {.kept = 1, .smoothing = 1, .class_weights = 1, .entropy = 1};
    const struct full_wants entropy = {.kept = 1, .entropy = 1};
    const bool has_policy_loop = HAS_POLICY_LOOPS && (wants.temperature || wants.entropy) && !wants.smoothing && !wants.softcap;
    if (is_rare(&wants, has_policy_loop))
        return full_pass(piece, columns, wants);
    if (has_policy_loop)
        return wants.temperature ? with_moments(piece, columns, warm) : full_pass(piece, columns, entropy);
    if (wants.class_weights)
        return wants.softcap ? with_moments(piece, columns, all) : with_moments(piece, columns, all_but_softcap);
    if (wants.softcap)
        return full_pass(piece, columns, capped);
    if (wants.smoothing)
        return full_pass(piece, columns, smoothed);
    return full_pass(piece, columns, kept);
}

#endif
