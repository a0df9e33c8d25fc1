/*
 * Adam on a CPU: one pass over param, grad, m and v that reads and writes each value once: 14 bytes per element when all
 * four are bf16, 28 when all are fp32, 20 for bf16 with a master copy, which is then read instead of the parameter.
 *
 * An element costs a square root, a division and, when it is rounded stochastically, its share of a Philox block; all of
 * that is to hide behind the time that its bytes take from memory.  The loop goes by blocks of 256 elements, which draw
 * their random bits at once, and by groups of two vectors within a block.  What is stochastic and which decay is on is the
 * same for the whole call, so a branch on it inside the loop is always predicted.
 *
 * Rendered by gen/ from templates/adam.c.j2; do not edit.
 */
#include <string.h>

#include "cpu/adam_avx512.h"
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
 * beta * m + (1 - beta) * g.  An infinite v stays, as its distance is NaN.
 */
static inline vector next_m(const struct constants *c, vector m, vector g) {
    return vector_fma(c->one_minus_beta1, g - m, m);
}

static inline vector next_v(const struct constants *c, vector v, vector g) {
    return vector_keep_infinite(v, vector_fma(c->one_minus_beta2, vector_fms(g, g, v), v));
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

/* What is worked on at once: two vectors of elements. */
enum { GROUP = 2 * VECTOR_LANES };

/* What the parameters wait for: m and the denominator before they are rounded for storage. */
struct pending {
    float m[QUERN_RANDOM_BLOCK], denominator[QUERN_RANDOM_BLOCK];
};

/* The bytes of one element; 0 for the master where there is none. */
struct sizes {
    int64_t param, grad, m, v, master;
};

/* Where the random bits of a tensor come from; a value that is not rounded stochastically has none. */
struct random_source {
    int has_param, has_m, has_v;
    struct quern_philox philox;
    struct quern_random param, m, v;
};

/* The random bits of one block of elements, or NULL. */
struct random_bits {
    const uint16_t *param, *m, *v;
};

static void open_source(struct random_source *source, const struct quern_adam_step *step, struct sizes size, uint32_t place) {
    source->has_param = size.param == 2 && step->stochastic_param;
    source->has_m = size.m == 2 && step->stochastic_m;
    source->has_v = size.v == 2 && step->stochastic_v;
    quern_philox_open(&source->philox, step->seed, step->step, place);
}

/* One draw serves all values; v's bits are those that are drawn, since their turn is 0. */
static __attribute__((noinline)) void draw_block(struct random_source *source, int64_t first) {
    quern_philox_draw(&source->philox, (uint64_t)first / 8, &source->v);
    if (source->has_m)
        quern_random_turn(&source->v, QUERN_RANDOM_TURN_M, &source->m);
    if (source->has_param)
        quern_random_turn(&source->v, QUERN_RANDOM_TURN_PARAM, &source->param);
}

static inline struct random_bits draw(struct random_source *source, int64_t first) {
    if (source->has_param | source->has_m | source->has_v)
        draw_block(source, first);
    return (struct random_bits){
        .param = source->has_param ? source->param.bits : NULL,
        .m = source->has_m ? source->m.bits : NULL,
        .v = source->has_v ? source->v.bits : NULL,
    };
}

static inline const uint16_t *at(const uint16_t *bits, int64_t offset) {
    return bits ? bits + offset : NULL;
}

/* A tensor from element `first` on. */
static struct quern_adam_slice from_element(const struct quern_adam_slice *tensor, struct sizes size, int64_t first) {
    return (struct quern_adam_slice){
        (char *)tensor->param + first * size.param,
        (const char *)tensor->grad + first * size.grad,
        (char *)tensor->m + first * size.m,
        (char *)tensor->v + first * size.v,
        size.master ? tensor->master + first : NULL,
        tensor->count - first,
    };
}

/* Less than a block of elements, in a copy that has the room of a block. */
struct rest {
    float param[QUERN_RANDOM_BLOCK], grad[QUERN_RANDOM_BLOCK], m[QUERN_RANDOM_BLOCK], v[QUERN_RANDOM_BLOCK],
        master[QUERN_RANDOM_BLOCK];
};

static void load_rest(struct rest *rest, const struct quern_adam_slice *tensor, struct sizes size, int64_t count) {
    memset(rest, 0, sizeof *rest);
    memcpy(rest->param, tensor->param, (size_t)(count * size.param));
    memcpy(rest->grad, tensor->grad, (size_t)(count * size.grad));
    memcpy(rest->m, tensor->m, (size_t)(count * size.m));
    memcpy(rest->v, tensor->v, (size_t)(count * size.v));
    if (size.master)
        memcpy(rest->master, tensor->master, (size_t)(count * size.master));
}

static void store_rest(const struct rest *rest, const struct quern_adam_slice *tensor, struct sizes size, int64_t count) {
    memcpy(tensor->param, rest->param, (size_t)(count * size.param));
    memcpy(tensor->m, rest->m, (size_t)(count * size.m));
    memcpy(tensor->v, rest->v, (size_t)(count * size.v));
    if (size.master)
        memcpy(tensor->master, rest->master, (size_t)(count * size.master));
}

/* Works on `count` elements, whole blocks, whose place in their tensor begins at `first`; the slice begins there. */
typedef void blocks_function(const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place,
                             int64_t first, int64_t count);

static void run_padded(const struct quern_adam_step *step, const struct quern_adam_slice *tensor, struct sizes size,
                       uint32_t place, int64_t first, int64_t count, blocks_function *blocks) {
    struct rest rest;
    struct quern_adam_slice slice = from_element(tensor, size, first);
    struct quern_adam_slice copy = {rest.param, rest.grad, rest.m, rest.v, rest.master, QUERN_RANDOM_BLOCK};
    load_rest(&rest, &slice, size, count);
    blocks(step, &copy, place, first, QUERN_RANDOM_BLOCK);
    store_rest(&rest, &slice, size, count);
}

/* Whole blocks, which begin at multiples of their size, in place; what is before and after them in padded copies. */
static void run(const struct quern_adam_step *step, const struct quern_adam_slice *tensor, struct sizes size, uint32_t place,
                int64_t first, int64_t end, blocks_function *blocks) {
    int64_t before = (QUERN_RANDOM_BLOCK - first % QUERN_RANDOM_BLOCK) % QUERN_RANDOM_BLOCK;
    if (before > end - first)
        before = end - first;
    int64_t rest = (end - first - before) % QUERN_RANDOM_BLOCK, whole = end - first - before - rest;
    struct quern_adam_slice slice = from_element(tensor, size, first + before);
    if (before > 0)
        run_padded(step, tensor, size, place, first, before, blocks);
    if (whole > 0)
        blocks(step, &slice, place, first + before, whole);
    if (rest > 0)
        run_padded(step, tensor, size, place, end - rest, rest, blocks);
}
static const struct sizes quern_adam_pf32_gf32_mf32_vf32__avx512_sizes = {
    4, 4, 4, 4, 0
};

/*
 * Two passes over each block, because an element waits long for its square root and then for its division: with both in one
 * pass, too few elements would fit into the window in which a CPU looks for independent work.
 */
static void quern_adam_pf32_gf32_mf32_vf32__avx512_blocks(
    const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place, int64_t first, int64_t count) {
    const struct constants c = broadcast(step);
    struct random_source source;
    struct pending pending;
    float *param = slice->param;
    const float *grad = slice->grad;
    float *m = slice->m;
    float *v = slice->v;
    open_source(&source, step, quern_adam_pf32_gf32_mf32_vf32__avx512_sizes, place);
    for (int64_t block = 0; block < count; block += QUERN_RANDOM_BLOCK) {
        const struct random_bits random = draw(&source, first + block);
        for (int64_t i = block; i < block + QUERN_RANDOM_BLOCK; i += GROUP) {
            struct vector_pair g = ordered_load_f32(grad + i);
            struct vector_pair new_m = ordered_load_f32(m + i);
            struct vector_pair new_v = ordered_load_f32(v + i);
            struct vector_pair divisor;
            if (c.has_l2_decay) {
                struct vector_pair p = ordered_load_f32(param + i);
                g.first = vector_fma(c.l2_decay, p.first, g.first);
                g.second = vector_fma(c.l2_decay, p.second, g.second);
            }
            new_m.first = next_m(&c, new_m.first, g.first);
            new_v.first = next_v(&c, new_v.first, g.first);
            divisor.first = denominator(&c, new_v.first);
            new_m.second = next_m(&c, new_m.second, g.second);
            new_v.second = next_v(&c, new_v.second, g.second);
            divisor.second = denominator(&c, new_v.second);
            pair_store_f32(pending.m + (i - block), new_m);
            pair_store_f32(pending.denominator + (i - block), divisor);
            ordered_store_f32(m + i, new_m, at(random.m, i - block));
            ordered_store_f32(v + i, new_v, at(random.v, i - block));
        }
        for (int64_t i = block; i < block + QUERN_RANDOM_BLOCK; i += GROUP) {
            struct vector_pair p = ordered_load_f32(param + i);
            struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            struct vector_pair divisor = pair_load_f32(pending.denominator + (i - block));
            p.first = next_p(&c, p.first, new_m.first, divisor.first);
            p.second = next_p(&c, p.second, new_m.second, divisor.second);
            ordered_store_f32(param + i, p, at(random.param, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vf32__avx512;

void quern_adam_pf32_gf32_mf32_vf32__avx512(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, uint32_t place, int64_t first, int64_t end) {
    run(step, tensor, quern_adam_pf32_gf32_mf32_vf32__avx512_sizes, place, first, end, quern_adam_pf32_gf32_mf32_vf32__avx512_blocks);
}
static const struct sizes quern_adam_pf32_gf32_mf32_vbf16__avx512_sizes = {
    4, 4, 4, 2, 0
};

/*
 * Two passes over each block, because an element waits long for its square root and then for its division: with both in one
 * pass, too few elements would fit into the window in which a CPU looks for independent work.
 */
static void quern_adam_pf32_gf32_mf32_vbf16__avx512_blocks(
    const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place, int64_t first, int64_t count) {
    const struct constants c = broadcast(step);
    struct random_source source;
    struct pending pending;
    float *param = slice->param;
    const float *grad = slice->grad;
    float *m = slice->m;
    uint16_t *v = slice->v;
    open_source(&source, step, quern_adam_pf32_gf32_mf32_vbf16__avx512_sizes, place);
    for (int64_t block = 0; block < count; block += QUERN_RANDOM_BLOCK) {
        const struct random_bits random = draw(&source, first + block);
        for (int64_t i = block; i < block + QUERN_RANDOM_BLOCK; i += GROUP) {
            struct vector_pair g = ordered_load_f32(grad + i);
            struct vector_pair new_m = ordered_load_f32(m + i);
            struct vector_pair new_v = ordered_load_bf16(v + i);
            struct vector_pair divisor;
            if (c.has_l2_decay) {
                struct vector_pair p = ordered_load_f32(param + i);
                g.first = vector_fma(c.l2_decay, p.first, g.first);
                g.second = vector_fma(c.l2_decay, p.second, g.second);
            }
            new_m.first = next_m(&c, new_m.first, g.first);
            new_v.first = next_v(&c, new_v.first, g.first);
            divisor.first = denominator(&c, new_v.first);
            new_m.second = next_m(&c, new_m.second, g.second);
            new_v.second = next_v(&c, new_v.second, g.second);
            divisor.second = denominator(&c, new_v.second);
            pair_store_f32(pending.m + (i - block), new_m);
            pair_store_f32(pending.denominator + (i - block), divisor);
            ordered_store_f32(m + i, new_m, at(random.m, i - block));
            ordered_store_bf16(v + i, new_v, at(random.v, i - block));
        }
        for (int64_t i = block; i < block + QUERN_RANDOM_BLOCK; i += GROUP) {
            struct vector_pair p = ordered_load_f32(param + i);
            struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            struct vector_pair divisor = pair_load_f32(pending.denominator + (i - block));
            p.first = next_p(&c, p.first, new_m.first, divisor.first);
            p.second = next_p(&c, p.second, new_m.second, divisor.second);
            ordered_store_f32(param + i, p, at(random.param, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vbf16__avx512;

void quern_adam_pf32_gf32_mf32_vbf16__avx512(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, uint32_t place, int64_t first, int64_t end) {
    run(step, tensor, quern_adam_pf32_gf32_mf32_vbf16__avx512_sizes, place, first, end, quern_adam_pf32_gf32_mf32_vbf16__avx512_blocks);
}
static const struct sizes quern_adam_pf32_gf32_mbf16_vf32__avx512_sizes = {
    4, 4, 2, 4, 0
};

/*
 * Two passes over each block, because an element waits long for its square root and then for its division: with both in one
 * pass, too few elements would fit into the window in which a CPU looks for independent work.
 */
static void quern_adam_pf32_gf32_mbf16_vf32__avx512_blocks(
    const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place, int64_t first, int64_t count) {
    const struct constants c = broadcast(step);
    struct random_source source;
    struct pending pending;
    float *param = slice->param;
    const float *grad = slice->grad;
    uint16_t *m = slice->m;
    float *v = slice->v;
    open_source(&source, step, quern_adam_pf32_gf32_mbf16_vf32__avx512_sizes, place);
    for (int64_t block = 0; block < count; block += QUERN_RANDOM_BLOCK) {
        const struct random_bits random = draw(&source, first + block);
        for (int64_t i = block; i < block + QUERN_RANDOM_BLOCK; i += GROUP) {
            struct vector_pair g = ordered_load_f32(grad + i);
            struct vector_pair new_m = ordered_load_bf16(m + i);
            struct vector_pair new_v = ordered_load_f32(v + i);
            struct vector_pair divisor;
            if (c.has_l2_decay) {
                struct vector_pair p = ordered_load_f32(param + i);
                g.first = vector_fma(c.l2_decay, p.first, g.first);
                g.second = vector_fma(c.l2_decay, p.second, g.second);
            }
            new_m.first = next_m(&c, new_m.first, g.first);
            new_v.first = next_v(&c, new_v.first, g.first);
            divisor.first = denominator(&c, new_v.first);
            new_m.second = next_m(&c, new_m.second, g.second);
            new_v.second = next_v(&c, new_v.second, g.second);
            divisor.second = denominator(&c, new_v.second);
            pair_store_f32(pending.m + (i - block), new_m);
            pair_store_f32(pending.denominator + (i - block), divisor);
            ordered_store_bf16(m + i, new_m, at(random.m, i - block));
            ordered_store_f32(v + i, new_v, at(random.v, i - block));
        }
        for (int64_t i = block; i < block + QUERN_RANDOM_BLOCK; i += GROUP) {
            struct vector_pair p = ordered_load_f32(param + i);
            struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            struct vector_pair divisor = pair_load_f32(pending.denominator + (i - block));
            p.first = next_p(&c, p.first, new_m.first, divisor.first);
            p.second = next_p(&c, p.second, new_m.second, divisor.second);
            ordered_store_f32(param + i, p, at(random.param, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vf32__avx512;

void quern_adam_pf32_gf32_mbf16_vf32__avx512(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, uint32_t place, int64_t first, int64_t end) {
    run(step, tensor, quern_adam_pf32_gf32_mbf16_vf32__avx512_sizes, place, first, end, quern_adam_pf32_gf32_mbf16_vf32__avx512_blocks);
}
static const struct sizes quern_adam_pf32_gf32_mbf16_vbf16__avx512_sizes = {
    4, 4, 2, 2, 0
};

/*
 * Two passes over each block, because an element waits long for its square root and then for its division: with both in one
 * pass, too few elements would fit into the window in which a CPU looks for independent work.
 */
static void quern_adam_pf32_gf32_mbf16_vbf16__avx512_blocks(
    const struct quern_adam_step *step, const struct quern_adam_slice *slice, uint32_t place, int64_t first, int64_t count) {
    const struct constants c = broadcast(step);
    struct random_source source;
    struct pending pending;
    float *param = slice->param;
    const float *grad = slice->grad;
    uint16_t *m = slice->m;
    uint16_t *v = slice->v;
    open_source(&source, step, quern_adam_pf32_gf32_mbf16_vbf16__avx512_sizes, place);
    for (int64_t block = 0; block < count; block += QUERN_RANDOM_BLOCK) {
        const struct random_bits random = draw(&source, first + block);
        for (int64_t i = block; i < block + QUERN_RANDOM_BLOCK; i += GROUP) {
            struct vector_pair g = ordered_load_f32(grad + i);
            struct vector_pair new_m = ordered_load_bf16(m + i);
            struct vector_pair new_v = ordered_load_bf16(v + i);
            struct vector_pair divisor;
            if (c.has_l2_decay) {
                struct vector_pair p = ordered_load_f32(param + i);
                g.first = vector_fma(c.l2_decay, p.first, g.first);
                g.second = vector_fma(c.l2_decay, p.second, g.second);
            }
            new_m.first = next_m(&c, new_m.first, g.first);
            new_v.first = next_v(&c, new_v.first, g.first);
            divisor.first = denominator(&c, new_v.first);
            new_m.second = next_m(&c, new_m.second, g.second);
            new_v.second = next_v(&c, new_v.second, g.second);
            divisor.second = denominator(&c, new_v.second);
            pair_store_f32(pending.m + (i - block), new_m);
            pair_store_f32(pending.denominator + (i - block), divisor);
            ordered_store_bf16(m + i, new_m, at(random.m, i - block));
            ordered_store_bf16(v + i, new_v, at(random.v, i - block));
        }
        for (int64_t i = block; i < block + QUERN_RANDOM_BLOCK; i += GROUP) {
            struct vector_pair p = ordered_load_f32(param + i);
            struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            struct vector_pair divisor = pair_load_f32(pending.denominator + (i - block));
            p.first = next_p(&c, p.first, new_m.first, divisor.first);
            p.second = next_p(&c, p.second, new_m.second, divisor.second);
            ordered_store_f32(param + i, p, at(random.param, i - block));
        }
    }
}

quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vbf16__avx512;

void quern_adam_pf32_gf32_mbf16_vbf16__avx512(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, uint32_t place, int64_t first, int64_t end) {
    run(step, tensor, quern_adam_pf32_gf32_mbf16_vbf16__avx512_sizes, place, first, end, quern_adam_pf32_gf32_mbf16_vbf16__avx512_blocks);
}
