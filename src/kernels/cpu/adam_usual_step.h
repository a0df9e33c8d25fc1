/* The loop of the usual step for one kernel; adam_usual.h describes it.  Included by adam_step.h, whose macros it uses. */

#define UNIT_STEP QUERN_JOIN(QUERN_KERNEL_NAME(STEP), _unit)
#define USUAL_UNITS QUERN_JOIN(QUERN_KERNEL_NAME(STEP), _units)

#define UNIT_LOAD(dtype) QUERN_JOIN(unpacked_load_, dtype)
#define UNIT_NEAREST(dtype) QUERN_JOIN(unpacked_nearest_, dtype)

/* A parameter without a master is rounded stochastically, if at all. */
#define PARAM_IS_STOCHASTIC (!HAS_MASTER && IS_ROUNDED(STEP_PARAM))

/* Then a NaN of the parameter keeps the exponent of an infinity when it is rounded. */
#define ALL_ARE_BF16 (PARAM_IS_STOCHASTIC && IS_ROUNDED(STEP_GRAD))

/* Stores new parameters; those that are rounded stochastically have their halves in `rounded`. */
static inline void QUERN_JOIN(UNIT_STEP, _store)(TYPE(STEP_PARAM) *param, TYPE(STEP_MASTER) *master, struct vector_pair p,
                                                 halves rounded) {
    (void)p, (void)rounded, (void)master;
#if MASTER_IS_REMAINDER
    unpacked_store_remainder(param, master, p);
#elif HAS_MASTER
    unpacked_nearest_f32(master, p);
    UNIT_NEAREST(STEP_PARAM)(param, p);
#else
    if (PARAM_IS_STOCHASTIC)
        halves_store((uint16_t *)param, rounded);
    else
        unpacked_nearest_f32((float *)param, p);
#endif
}

/* Takes the step for a unit of the arrays, unless it has a rare value: then it writes nothing and returns 0. */
static inline __attribute__((always_inline)) int UNIT_STEP(
    struct usual *usual, TYPE(STEP_PARAM) *param, const TYPE(STEP_GRAD) *grad, uint16_t *m, uint16_t *v,
    TYPE(STEP_MASTER) *master) {
    const struct constants *c = &usual->c;
    struct vector_pair new_m[UNIT_PAIRS], x[UNIT_PAIRS], p[UNIT_PAIRS];
    halves rounded_m[UNIT_PAIRS], rounded_v[UNIT_PAIRS], rounded_p[UNIT_PAIRS];
    rare_values rare = rare_none();
    struct philox_state state = philox_begin(&usual->philox, usual->counters);
    prefetch_unit(grad, sizeof *grad);
    prefetch_unit(m, sizeof *m);
    prefetch_unit(v, sizeof *v);
    prefetch_unit(HAS_MASTER ? (const void *)master : param, HAS_MASTER ? MASTER_BYTES : sizeof *param);
    if (MASTER_IS_REMAINDER) prefetch_unit(param, sizeof *param);
    FOR_EACH_PAIR_OF_UNIT(k) {
        const struct vector_pair g = pair_multiply(UNIT_LOAD(STEP_GRAD)(grad + k * PAIR), c->grad_factor);
        x[k] = next_v(c, unpacked_load_bf16(v + k * PAIR), g);
        new_m[k] = next_m(c, unpacked_load_bf16(m + k * PAIR), g);
        rounded_v[k] = unpacked_stochastic(x[k], halves_first(usual->bits[k]), halves_second(usual->bits[k]));
        x[k] = denominators(c, x[k]);
        philox_round(&usual->philox, 2 + k, &state);
        in_this_order();
    }
    FOR_EACH_PAIR_OF_UNIT(k) {
        rounded_m[k] = unpacked_nearest(new_m[k]);
        philox_round(&usual->philox, 4 + k, &state);
        in_this_order();
    }
    FOR_EACH_PAIR_OF_UNIT(k) {
        const int i = k * PAIR;
        p[k] = LOAD_PARAM(unpacked);
        p[k].first = usual_next_p(c, p[k].first, new_m[k].first, x[k].first);
        p[k].second = usual_next_p(c, p[k].second, new_m[k].second, x[k].second);
        if (!ALL_ARE_BF16) rare = rare_or_nan(rare, p[k]);
    }
    philox_round(&usual->philox, 6, &state);
    in_this_order();
    FOR_EACH_PAIR_OF_UNIT(k)
        rounded_p[k] = unpacked_stochastic(p[k], halves_second(usual->bits[k]), halves_first(usual->bits[k]));
    rare = rare_or_infinite_square(rare, rounded_v[0], rounded_v[1]);
    if (PARAM_IS_STOCHASTIC) rare = rare_or_infinite(rare, rounded_p[0], rounded_p[1]);
    if (__builtin_expect(rare_any(rare), 0)) return 0;
    FOR_EACH_PAIR_OF_UNIT(k) {
        halves_store(m + k * PAIR, rounded_m[k]);
        halves_store(v + k * PAIR, rounded_v[k]);
        QUERN_JOIN(UNIT_STEP, _store)(param + k * PAIR, HAS_MASTER ? master + k * PAIR : master, p[k], rounded_p[k]);
    }
    philox_end(&state, usual->bits);
    usual->counters += lanes_broadcast(LANES);
    return 1;
}

/*
 * Takes the step for the units of the arrays from element `begin` on, up to `end`, to the first unit that has a rare value, or to
 * where word 0 of the counters wraps.  Returns the element after them.  `first` is the index of element 0 in the tensor.
 */
static int64_t USUAL_UNITS(const struct constants *c, struct quern_philox *philox, const struct arrays *arrays, int64_t first,
                           int64_t begin, int64_t end) {
    const uint64_t counter = (uint64_t)(first + begin) / 8;
    const int64_t word0_wraps = (int64_t)((counter >> 32) + 1) * ((int64_t)8 << 32) - first;
    TYPE(STEP_PARAM) *param = (TYPE(STEP_PARAM) *)arrays->at[PARAM];
    const TYPE(STEP_GRAD) *grad = (const TYPE(STEP_GRAD) *)arrays->at[GRAD];
    uint16_t *m = (uint16_t *)arrays->at[M], *v = (uint16_t *)arrays->at[V];
    TYPE(STEP_MASTER) *master = (TYPE(STEP_MASTER) *)arrays->at[MASTER];
    int64_t i = begin;
    quern_philox_enter(philox, counter);
    struct usual usual = usual_open(c, philox, (uint32_t)counter);
    if (end > word0_wraps) end = word0_wraps;
    while (i < end && UNIT_STEP(&usual, param + i, grad + i, m + i, v + i, HAS_MASTER ? master + i : NULL)) i += UNIT;
    return i;
}

#undef UNIT_STEP
#undef UNIT_LOAD
#undef UNIT_NEAREST
