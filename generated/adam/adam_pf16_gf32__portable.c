/*
 * Adam on a CPU: one pass over param, grad, m and v that reads and writes each value once: 14 bytes per element when all
 * four are bf16, 28 when all are fp32, 20 for bf16 with a master copy, which is then read instead of the parameter.
 *
 * An element costs a square root, a division and, when it is rounded stochastically, its share of a Philox block; all of
 * that is to hide behind the time that its bytes take from memory.  The loop goes by blocks of 256 elements: it draws their
 * random bits at once and then passes over them twice, first for the roots and then for the divisions, because an element
 * waits long for either and many of a kind are done faster than both in turn.  What is stochastic and which decay is on is
 * the same for the whole call, so a branch on it inside the loop is always predicted.
 *
 * Rendered by gen/ from templates/adam.c.j2; do not edit.
 */
#include <string.h>

#include "cpu/adam_portable.h"
#include "cpu/random.h"
#include "kernel.h"

/* The scalars of the step in all lanes. */
struct constants {
    vector one_minus_beta1, one_minus_beta2, step_size, inverse_sqrt_bias2, eps, decoupled_decay, l2_decay;
    int has_decoupled_decay, has_l2_decay;
};

/* By the bits, so that a compiler keeps the answer instead of comparing in every turn of a loop. */
static inline int is_nonzero(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7FFFFFFF) != 0;
}

static inline struct constants broadcast(const struct quern_adam_step *step) {
    return (struct constants){
        .one_minus_beta1 = vector_broadcast(step->one_minus_beta1),
        .one_minus_beta2 = vector_broadcast(step->one_minus_beta2),
        .step_size = vector_broadcast(step->step_size),
        .inverse_sqrt_bias2 = vector_broadcast(step->inverse_sqrt_bias2),
        .eps = vector_broadcast(step->eps),
        .decoupled_decay = vector_broadcast(step->decoupled_decay),
        .l2_decay = vector_broadcast(step->l2_decay),
        .has_decoupled_decay = is_nonzero(step->decoupled_decay),
        .has_l2_decay = is_nonzero(step->l2_decay),
    };
}

/*
 * A moment moves by a fraction of its distance to the gradient: in fp32 that is far more accurate than
 * beta * m + (1 - beta) * g.  The distance of an infinite v is NaN; where a NaN turns up, settle_moments looks at its cause.
 */
static inline vector next_m(const struct constants *c, vector m, vector g) {
    return vector_fma(c->one_minus_beta1, g - m, m);
}

static inline vector next_v(const struct constants *c, vector v, vector g) {
    return vector_fma(c->one_minus_beta2, vector_fms(g, g, v), v);
}

/* An infinite v stays infinite, and NaN becomes what is stored for it. */
static inline void settle_moments(struct vector_pair *m, int32_t m_nan, struct vector_pair *v, int32_t v_nan,
                                  struct vector_pair old_v) {
    v->first = vector_keep_infinite(old_v.first, v->first);
    v->second = vector_keep_infinite(old_v.second, v->second);
    *m = pair_replace_nan(*m, m_nan);
    *v = pair_replace_nan(*v, v_nan);
}

static inline vector denominator(const struct constants *c, vector v) {
    return vector_fma(vector_sqrt(v), c->inverse_sqrt_bias2, c->eps);
}

/* Where m is zero there is no update, also when v and eps are zero. */
static inline vector next_p(const struct constants *c, vector p, vector m, vector denominator) {
    vector delta = c->step_size * vector_divide_or_zero(m, denominator);
    if (c->has_decoupled_decay)
        delta = vector_fma(c->decoupled_decay, p, delta);
    return p - delta;
}

enum { PAIR = 2 * VECTOR_LANES, GROUP = QUERN_RANDOM_GROUP, BLOCK = QUERN_RANDOM_BLOCK };

/* What the parameters of a block wait for: m and the denominator before they are rounded for storage. */
struct pending {
    float m[BLOCK], denominator[BLOCK];
};

/* The bytes of one element; 0 for the master where there is none. */
struct sizes {
    int64_t param, grad, m, v, master;
};

/* Where the random bits of a tensor come from; a value that is not rounded stochastically has none. */
struct random_source {
    int has_param, has_m, has_v;
    struct quern_philox philox;
    struct quern_random v, m, param;
};

/* The random bits of one group of elements, or NULL. */
struct random_bits {
    const uint16_t *param, *m, *v;
};

static inline void open_source(struct random_source *source, const struct quern_adam_step *step, struct sizes size,
                               uint32_t place) {
    source->has_param = size.param == 2 && step->stochastic_param;
    source->has_m = size.m == 2 && step->stochastic_m;
    source->has_v = size.v == 2 && step->stochastic_v;
    quern_philox_open(&source->philox, step->seed, step->step, place);
}

/* One draw serves all values; v's bits are those that are drawn, since their turn is 0. */
static inline void draw(struct random_source *source, int64_t first, int count) {
    if (!(source->has_param | source->has_m | source->has_v)) return;
    quern_philox_draw(&source->philox, (uint64_t)first / 8, count, &source->v);
    if (source->has_m)
        quern_random_turn(&source->v, QUERN_RANDOM_TURN_M, count, &source->m);
    if (source->has_param)
        quern_random_turn(&source->v, QUERN_RANDOM_TURN_PARAM, count, &source->param);
}

static inline const uint16_t *at(const uint16_t *bits, int64_t offset) {
    return bits ? bits + offset : NULL;
}

/* A tensor from element `first` on. */
static struct quern_adam_slice from_element(const struct quern_adam_slice *tensor, struct sizes size, int64_t first) {
    return (struct quern_adam_slice){
        .param = (char *)tensor->param + first * size.param,
        .grad = (char *)tensor->grad + first * size.grad,
        .m = (char *)tensor->m + first * size.m,
        .v = (char *)tensor->v + first * size.v,
        .master = size.master ? (char *)tensor->master + first * size.master : NULL,
        .count = tensor->count - first,
    };
}

/* Less than a group of elements, in a copy that has the room of a group. */
struct rest {
    float param[GROUP], grad[GROUP], m[GROUP], v[GROUP], master[GROUP];
};

static inline void load_part(float part[GROUP], const void *from, int64_t count, int64_t size) {
    memcpy(part, from, (size_t)(count * size));
    memset((char *)part + count * size, 0, (size_t)((GROUP - count) * size));
}

static void load_rest(struct rest *rest, const struct quern_adam_slice *tensor, struct sizes size, int64_t count) {
    load_part(rest->param, tensor->param, count, size.param);
    load_part(rest->grad, tensor->grad, count, size.grad);
    load_part(rest->m, tensor->m, count, size.m);
    load_part(rest->v, tensor->v, count, size.v);
    if (size.master)
        load_part(rest->master, tensor->master, count, size.master);
}

static void store_rest(const struct rest *rest, const struct quern_adam_slice *tensor, struct sizes size, int64_t count) {
    memcpy(tensor->param, rest->param, (size_t)(count * size.param));
    memcpy(tensor->m, rest->m, (size_t)(count * size.m));
    memcpy(tensor->v, rest->v, (size_t)(count * size.v));
    if (size.master)
        memcpy(tensor->master, rest->master, (size_t)(count * size.master));
}

/* Works on `count` elements, whole groups, whose place in their tensor begins at `first`; the slice begins there. */
typedef void groups_function(const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place,
                             int64_t first, int64_t count);

static void run_rest(const struct quern_adam_step *step, const struct quern_adam_slice *slice, struct sizes size,
                     uint32_t place, int64_t first, int64_t count, groups_function *groups) {
    struct rest rest;
    const struct quern_adam_slice copy = {rest.param, rest.grad, rest.m, rest.v, rest.master, GROUP, 1, 1};
    load_rest(&rest, slice, size, count);
    groups(step, &copy, place, first, GROUP);
    store_rest(&rest, slice, size, count);
}

/* Whole groups in place, what is left in a copy; `first` begins a group. */
static inline void run(const struct quern_adam_step *step, const struct quern_adam_slice *tensor, struct sizes size,
                       uint32_t place, int64_t first, int64_t end, groups_function *groups) {
    const int64_t rest = (end - first) % GROUP, whole = end - first - rest;
    if (whole > 0) {
        const struct quern_adam_slice slice = from_element(tensor, size, first);
        groups(step, &slice, place, first, whole);
    }
    if (rest > 0) {
        const struct quern_adam_slice slice = from_element(tensor, size, first + whole);
        run_rest(step, &slice, size, place, first + whole, rest, groups);
    }
}
static const struct sizes quern_adam_pf16_gf32_mf32_vf32__portable_sizes = {
    2, 4, 4, 4, 0
};

static void quern_adam_pf16_gf32_mf32_vf32__portable_groups(
    const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place, int64_t first, int64_t count) {
    const struct constants c = broadcast(step);
    struct random_source source;
    struct pending pending;
    uint16_t *param = slice->param;
    const float *grad = slice->grad;
    float *m = slice->m;
    float *v = slice->v;

    open_source(&source, step, quern_adam_pf16_gf32_mf32_vf32__portable_sizes, place);
    const uint16_t *random_param = source.has_param ? source.param.bits : NULL;
    const uint16_t *random_m = source.has_m ? source.m.bits : NULL;
    const uint16_t *random_v = source.has_v ? source.v.bits : NULL;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = count - block < BLOCK ? count : block + BLOCK;
        draw(&source, first + block, (int)(end - block));
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair g = ordered_load_f32(grad + i);
            struct vector_pair new_m = ordered_load_f32(m + i);
            struct vector_pair old_v = ordered_load_f32(v + i);
            struct vector_pair new_v, divisor;
            if (c.has_l2_decay) {
                struct vector_pair p = ordered_load_f16(param + i);
                g.first = vector_fma(c.l2_decay, p.first, g.first);
                g.second = vector_fma(c.l2_decay, p.second, g.second);
            }
            new_m.first = next_m(&c, new_m.first, g.first);
            new_v.first = next_v(&c, old_v.first, g.first);
            new_m.second = next_m(&c, new_m.second, g.second);
            new_v.second = next_v(&c, old_v.second, g.second);
            if (__builtin_expect(pair_has_nan(new_m) | pair_has_nan(new_v), 0))
                settle_moments(&new_m, NAN_F32, &new_v, NAN_F32, old_v);
            divisor.first = denominator(&c, new_v.first);
            divisor.second = denominator(&c, new_v.second);
            pair_store_f32(pending.m + (i - block), new_m);
            pair_store_f32(pending.denominator + (i - block), divisor);
            ordered_round_f32(m + i, new_m, at(random_m, i - block));
            ordered_round_f32(v + i, new_v, at(random_v, i - block));
        }
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair p = ordered_load_f16(param + i);
            struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            struct vector_pair divisor = pair_load_f32(pending.denominator + (i - block));
            p.first = next_p(&c, p.first, new_m.first, divisor.first);
            p.second = next_p(&c, p.second, new_m.second, divisor.second);
            p = pair_settle(p, NAN_F16);
            ordered_round_f16(param + i, p, at(random_param, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32__portable;

void quern_adam_pf16_gf32_mf32_vf32__portable(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras,
    uint32_t place, int64_t first, int64_t end) {
    (void)extras;
    run(step, tensor, quern_adam_pf16_gf32_mf32_vf32__portable_sizes, place, first, end, quern_adam_pf16_gf32_mf32_vf32__portable_groups);
}
static const struct sizes quern_adam_pf16_gf32_mf32_vf32_master32__portable_sizes = {
    2, 4, 4, 4, 4
};

static void quern_adam_pf16_gf32_mf32_vf32_master32__portable_groups(
    const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place, int64_t first, int64_t count) {
    const struct constants c = broadcast(step);
    struct random_source source;
    struct pending pending;
    uint16_t *param = slice->param;
    const float *grad = slice->grad;
    float *m = slice->m;
    float *v = slice->v;
    float *master = slice->master;

    open_source(&source, step, quern_adam_pf16_gf32_mf32_vf32_master32__portable_sizes, place);
    const uint16_t *random_param = source.has_param ? source.param.bits : NULL;
    const uint16_t *random_m = source.has_m ? source.m.bits : NULL;
    const uint16_t *random_v = source.has_v ? source.v.bits : NULL;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = count - block < BLOCK ? count : block + BLOCK;
        draw(&source, first + block, (int)(end - block));
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair g = ordered_load_f32(grad + i);
            struct vector_pair new_m = ordered_load_f32(m + i);
            struct vector_pair old_v = ordered_load_f32(v + i);
            struct vector_pair new_v, divisor;
            if (c.has_l2_decay) {
                struct vector_pair p = ordered_load_f32(master + i);
                g.first = vector_fma(c.l2_decay, p.first, g.first);
                g.second = vector_fma(c.l2_decay, p.second, g.second);
            }
            new_m.first = next_m(&c, new_m.first, g.first);
            new_v.first = next_v(&c, old_v.first, g.first);
            new_m.second = next_m(&c, new_m.second, g.second);
            new_v.second = next_v(&c, old_v.second, g.second);
            if (__builtin_expect(pair_has_nan(new_m) | pair_has_nan(new_v), 0))
                settle_moments(&new_m, NAN_F32, &new_v, NAN_F32, old_v);
            divisor.first = denominator(&c, new_v.first);
            divisor.second = denominator(&c, new_v.second);
            pair_store_f32(pending.m + (i - block), new_m);
            pair_store_f32(pending.denominator + (i - block), divisor);
            ordered_round_f32(m + i, new_m, at(random_m, i - block));
            ordered_round_f32(v + i, new_v, at(random_v, i - block));
        }
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair p = ordered_load_f32(master + i);
            struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            struct vector_pair divisor = pair_load_f32(pending.denominator + (i - block));
            p.first = next_p(&c, p.first, new_m.first, divisor.first);
            p.second = next_p(&c, p.second, new_m.second, divisor.second);
            ordered_round_f32(master + i, pair_settle(p, NAN_F32), NULL);
            p = pair_settle(p, NAN_F16);
            ordered_round_f16(param + i, p, at(random_param, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32_master32__portable;

void quern_adam_pf16_gf32_mf32_vf32_master32__portable(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras,
    uint32_t place, int64_t first, int64_t end) {
    (void)extras;
    run(step, tensor, quern_adam_pf16_gf32_mf32_vf32_master32__portable_sizes, place, first, end, quern_adam_pf16_gf32_mf32_vf32_master32__portable_groups);
}
static const struct sizes quern_adam_pf16_gf32_mbf16_vbf16__portable_sizes = {
    2, 4, 2, 2, 0
};

static void quern_adam_pf16_gf32_mbf16_vbf16__portable_groups(
    const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place, int64_t first, int64_t count) {
    const struct constants c = broadcast(step);
    struct random_source source;
    struct pending pending;
    uint16_t *param = slice->param;
    const float *grad = slice->grad;
    uint16_t *m = slice->m;
    uint16_t *v = slice->v;

    open_source(&source, step, quern_adam_pf16_gf32_mbf16_vbf16__portable_sizes, place);
    const uint16_t *random_param = source.has_param ? source.param.bits : NULL;
    const uint16_t *random_m = source.has_m ? source.m.bits : NULL;
    const uint16_t *random_v = source.has_v ? source.v.bits : NULL;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = count - block < BLOCK ? count : block + BLOCK;
        draw(&source, first + block, (int)(end - block));
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair g = ordered_load_f32(grad + i);
            struct vector_pair new_m = ordered_load_bf16(m + i);
            struct vector_pair old_v = ordered_load_bf16(v + i);
            struct vector_pair new_v, divisor;
            if (c.has_l2_decay) {
                struct vector_pair p = ordered_load_f16(param + i);
                g.first = vector_fma(c.l2_decay, p.first, g.first);
                g.second = vector_fma(c.l2_decay, p.second, g.second);
            }
            new_m.first = next_m(&c, new_m.first, g.first);
            new_v.first = next_v(&c, old_v.first, g.first);
            new_m.second = next_m(&c, new_m.second, g.second);
            new_v.second = next_v(&c, old_v.second, g.second);
            if (__builtin_expect(pair_has_nan(new_m) | pair_has_nan(new_v), 0))
                settle_moments(&new_m, NAN_BF16, &new_v, NAN_BF16, old_v);
            divisor.first = denominator(&c, new_v.first);
            divisor.second = denominator(&c, new_v.second);
            pair_store_f32(pending.m + (i - block), new_m);
            pair_store_f32(pending.denominator + (i - block), divisor);
            ordered_round_bf16(m + i, new_m, at(random_m, i - block));
            ordered_round_bf16(v + i, new_v, at(random_v, i - block));
        }
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair p = ordered_load_f16(param + i);
            struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            struct vector_pair divisor = pair_load_f32(pending.denominator + (i - block));
            p.first = next_p(&c, p.first, new_m.first, divisor.first);
            p.second = next_p(&c, p.second, new_m.second, divisor.second);
            p = pair_settle(p, NAN_F16);
            ordered_round_f16(param + i, p, at(random_param, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16__portable;

void quern_adam_pf16_gf32_mbf16_vbf16__portable(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras,
    uint32_t place, int64_t first, int64_t end) {
    (void)extras;
    run(step, tensor, quern_adam_pf16_gf32_mbf16_vbf16__portable_sizes, place, first, end, quern_adam_pf16_gf32_mbf16_vbf16__portable_groups);
}
static const struct sizes quern_adam_pf16_gf32_mbf16_vbf16_master32__portable_sizes = {
    2, 4, 2, 2, 4
};

static void quern_adam_pf16_gf32_mbf16_vbf16_master32__portable_groups(
    const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place, int64_t first, int64_t count) {
    const struct constants c = broadcast(step);
    struct random_source source;
    struct pending pending;
    uint16_t *param = slice->param;
    const float *grad = slice->grad;
    uint16_t *m = slice->m;
    uint16_t *v = slice->v;
    float *master = slice->master;

    open_source(&source, step, quern_adam_pf16_gf32_mbf16_vbf16_master32__portable_sizes, place);
    const uint16_t *random_param = source.has_param ? source.param.bits : NULL;
    const uint16_t *random_m = source.has_m ? source.m.bits : NULL;
    const uint16_t *random_v = source.has_v ? source.v.bits : NULL;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int64_t end = count - block < BLOCK ? count : block + BLOCK;
        draw(&source, first + block, (int)(end - block));
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair g = ordered_load_f32(grad + i);
            struct vector_pair new_m = ordered_load_bf16(m + i);
            struct vector_pair old_v = ordered_load_bf16(v + i);
            struct vector_pair new_v, divisor;
            if (c.has_l2_decay) {
                struct vector_pair p = ordered_load_f32(master + i);
                g.first = vector_fma(c.l2_decay, p.first, g.first);
                g.second = vector_fma(c.l2_decay, p.second, g.second);
            }
            new_m.first = next_m(&c, new_m.first, g.first);
            new_v.first = next_v(&c, old_v.first, g.first);
            new_m.second = next_m(&c, new_m.second, g.second);
            new_v.second = next_v(&c, old_v.second, g.second);
            if (__builtin_expect(pair_has_nan(new_m) | pair_has_nan(new_v), 0))
                settle_moments(&new_m, NAN_BF16, &new_v, NAN_BF16, old_v);
            divisor.first = denominator(&c, new_v.first);
            divisor.second = denominator(&c, new_v.second);
            pair_store_f32(pending.m + (i - block), new_m);
            pair_store_f32(pending.denominator + (i - block), divisor);
            ordered_round_bf16(m + i, new_m, at(random_m, i - block));
            ordered_round_bf16(v + i, new_v, at(random_v, i - block));
        }
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair p = ordered_load_f32(master + i);
            struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            struct vector_pair divisor = pair_load_f32(pending.denominator + (i - block));
            p.first = next_p(&c, p.first, new_m.first, divisor.first);
            p.second = next_p(&c, p.second, new_m.second, divisor.second);
            ordered_round_f32(master + i, pair_settle(p, NAN_F32), NULL);
            p = pair_settle(p, NAN_F16);
            ordered_round_f16(param + i, p, at(random_param, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16_master32__portable;

void quern_adam_pf16_gf32_mbf16_vbf16_master32__portable(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras,
    uint32_t place, int64_t first, int64_t end) {
    (void)extras;
    run(step, tensor, quern_adam_pf16_gf32_mbf16_vbf16_master32__portable_sizes, place, first, end, quern_adam_pf16_gf32_mbf16_vbf16_master32__portable_groups);
}
