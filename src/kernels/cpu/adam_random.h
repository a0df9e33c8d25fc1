/* The random bits that round a tensor's stored values; one draw serves all three values of an element.  Included by adam.h. */
#ifndef QUERN_CPU_ADAM_RANDOM_H
#define QUERN_CPU_ADAM_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/random.h"

/* NULL for a value that is not rounded stochastically. */
struct random_source {
    const uint16_t *param_bits, *m_bits, *v_bits;
    struct quern_philox philox;
    struct quern_random v, m, param;
};

/* The values that are stored with fewer bits than fp32. */
struct rounded {
    int param, m, v;
};

static inline void open_source(struct random_source *source, const struct quern_adam_step *step, struct rounded rounded,
                               uint32_t place) {
    source->param_bits = rounded.param && step->stochastic_param ? source->param.bits : NULL;
    source->m_bits = rounded.m && step->stochastic_m ? source->m.bits : NULL;
    source->v_bits = rounded.v && step->stochastic_v ? source->v.bits : NULL;
    quern_philox_open(&source->philox, step->seed, step->step, place);
}

/* v uses the bits as drawn, because its turn is 0. */
static inline void draw(struct random_source *source, int64_t first, int count) {
    if (!source->param_bits && !source->m_bits && !source->v_bits) return;
    quern_philox_draw(&source->philox, (uint64_t)first / 8, count, &source->v);
    if (source->m_bits)
        quern_random_turn(&source->v, QUERN_RANDOM_TURN_M, count, &source->m);
    if (source->param_bits)
        quern_random_turn(&source->v, QUERN_RANDOM_TURN_PARAM, count, &source->param);
}

static inline const uint16_t *at(const uint16_t *bits, int64_t offset) {
    return bits ? bits + offset : NULL;
}

#endif
