/*
 * The usual step of a tensor whose moments are bf16, on AVX-512 and AVX2: AdamW with eps outside of the root, v rounded
 * stochastically, m to nearest, and the parameters as by default.  adam_usual_step.h has the loop of a kernel.  It gives the bits
 * of the loop in adam_step.h with about two thirds of its instructions.
 *
 * - A unit of four vectors stays in registers from its loads to its stores.  The random bits of the next unit are drawn between the
 *   arithmetic of the present one, because neither alone keeps the ports busy.
 * - Values of 16 bits are unpacked with zeros; any vector port can run it.  In each 128 bits, which are the elements of one random
 *   counter, the first vector of a pair has the first four and the second one the rest.  Unpacking the random bits gives the same
 *   order.  The bits for the parameters, four places further on, are those for v in the other vector.
 * - Rare values are searched once per unit, before it is stored: NaN, and what random bits carried into infinity.  If there is one,
 *   the other loop processes the rest of the block.
 */
#ifndef QUERN_CPU_ADAM_USUAL_H
#define QUERN_CPU_ADAM_USUAL_H

#include "kernels/cpu/adam_arithmetic.h"
#include "kernels/cpu/adam_arrays.h"

enum { UNIT_PAIRS = 2, UNIT = UNIT_PAIRS * 2 * VECTOR_LANES };

_Static_assert((int)UNIT == (int)LANES_ELEMENTS, "a vector of counters serves a unit");

#define FOR_EACH_PAIR_OF_UNIT(k) for (int k = 0; k < UNIT_PAIRS; k++)

/* What the units of a call share. */
struct usual {
    struct constants c;
    struct philox_lanes philox;
    lanes bits[UNIT_PAIRS], counters;  /* the random bits of the next unit, and the counters of the one after it */
};

static inline __attribute__((always_inline)) struct usual usual_open(
    const struct constants *c, const struct quern_philox *philox, uint32_t counter) {
    struct usual usual = {.c = *c, .philox = philox_broadcast(philox), .counters = philox_counters(counter)};
    struct philox_state state = philox_begin(&usual.philox, usual.counters);
    for (int round = 2; round < QUERN_RANDOM_ROUNDS; round++) philox_round(&usual.philox, round, &state);
    philox_end(&state, usual.bits);
    usual.counters += lanes_broadcast(LANES);
    usual.c.eps_inside = 0;  /* it is; now a compiler knows it */
    return usual;
}

/* Keeps a compiler from regrouping interleaved instructions. */
static inline void in_this_order(void) { __asm__ volatile(""); }

/* Prefetching this far ahead is faster than the hardware's own prefetching, at any address. */
static inline __attribute__((always_inline)) void prefetch_unit(const void *unit, const int element_bytes) {
    enum { AHEAD = 1024, LINE = 64 };  /* elements, bytes */
    for (int i = 0; i < UNIT * element_bytes; i += LINE) __builtin_prefetch((const char *)unit + AHEAD * element_bytes + i);
}

/* The addition turns -0 into +0, because a zero m counts as +0.  Zero divided by zero gives NaN, which is rare. */
static inline vector usual_next_p(const struct constants *c, vector p, vector m, vector denominator) {
    const vector zero = vector_broadcast(0);
    vector delta = c->step_size * ((m + zero) / denominator);
    if (c->has_decoupled_decay)
        delta = vector_fma(c->decoupled_decay, p, delta);
    return p - delta;
}

static inline int is_finite(float x) { return x - x == 0; }

/*
 * Other values that are infinite or NaN reach a stored value, where the search finds them.  But rounding may carry the bits of a
 * NaN into a number, and the numbers of control may be NaN of such bits.
 */
static inline int is_usual(const struct work *work, const struct constants *c) {
    const struct quern_adam_step *step = work->step;
    return step->stochastic_v && !step->stochastic_m && !c->has_l2_decay && !c->eps_inside &&
           is_finite(step->step_size * work->tensor->lr_multiplier) && is_finite(step->grad_factor);
}

#endif
