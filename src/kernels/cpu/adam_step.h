/*
 * The body of one step kernel of Adam; adam.h describes the algorithm.  A source in generated/adam/ includes adam.h and then this
 * file once for each of its kernels.  Before each, it defines
 *
 *   STEP           the kernel's name without its target
 *   STEP_PARAM, STEP_GRAD, STEP_M, STEP_V   the dtypes, as suffixes of their conversions: bf16
 *   STEP_MASTER    f32, remainder or none
 *   STEP_ORDER     ordered: a pair of vectors holds its elements in order; pair: in the order of bf16's cheapest loads and stores,
 *                  for kernels whose arrays are all bf16
 *   STEP_IS_USUAL  1: the usual step has a loop of its own, adam_usual_step.h
 *
 * All except STEP_PARAM and STEP_GRAD, which hold for the whole source, are undefined at the end.
 */

#define GROUPS QUERN_JOIN(QUERN_KERNEL_NAME(STEP), _groups)

#define HAS_MASTER (QUERN_JOIN(MASTER_, STEP_MASTER) != MASTER_none)
#define MASTER_IS_REMAINDER (QUERN_JOIN(MASTER_, STEP_MASTER) == MASTER_remainder)
#define M_IS_SCALED QUERN_JOIN(SCALED_, STEP_M)
#define V_IS_SCALED QUERN_JOIN(SCALED_, STEP_V)

#define TYPE(dtype) QUERN_JOIN(TYPE_, dtype)
#define NAN_OF(dtype) QUERN_JOIN(NAN_, dtype)

/* Load a pair of vectors from an array, and store it. */
#define LOAD(dtype) QUERN_JOIN(QUERN_JOIN(STEP_ORDER, _load_), dtype)
#define ROUND(dtype) QUERN_JOIN(QUERN_JOIN(STEP_ORDER, _round_), dtype)

/* The fp32 parameters: from the master if the tensor has one. */
#if !HAS_MASTER
#define MASTER_BYTES 0
#define LOAD_PARAM(order) QUERN_JOIN(order, QUERN_JOIN(_load_, STEP_PARAM))(param + i)
#elif MASTER_IS_REMAINDER
#define MASTER_BYTES sizeof(TYPE(STEP_MASTER))
#define LOAD_PARAM(order) QUERN_JOIN(order, _load_remainder)(param + i, master + i)
#else
#define MASTER_BYTES sizeof(TYPE(STEP_MASTER))
#define LOAD_PARAM(order) QUERN_JOIN(order, _load_f32)(master + i)
#endif

#if M_IS_SCALED
#define LOAD_M() pair_multiply(LOAD(STEP_M)(m + i), factor_at(m_factors, i - block))
#else
#define LOAD_M() LOAD(STEP_M)(m + i)
#endif

/* v and v_max have one type.  Scaled moments are stored when their block is complete. */
#if V_IS_SCALED
#define LOAD_V(array) pair_multiply(LOAD(STEP_V)(array + i), factor_at(array##_factors, i - block))
#define STORE_V(array, x, random) pair_store_f32(pending.array + (i - block), x)
#else
#define LOAD_V(array) LOAD(STEP_V)(array + i)
#define STORE_V(array, x, random) ROUND(STEP_V)(array + i, x, random)
#endif

#define IS_ROUNDED(dtype) (sizeof(TYPE(dtype)) < sizeof(float))

#if STEP_IS_USUAL
#include "kernels/cpu/adam_usual_step.h"
#endif

static void GROUPS(const struct work *work, const struct arrays *arrays, int64_t first, int64_t count) {
    const struct rounded rounded = {
        .param = IS_ROUNDED(STEP_PARAM) && !MASTER_IS_REMAINDER,
        .m = IS_ROUNDED(STEP_M),
        .v = IS_ROUNDED(STEP_V),
    };
    const struct constants c = broadcast(work->step, work->tensor);
    struct random_source source;
    struct pending pending;
    TYPE(STEP_PARAM) *param = (TYPE(STEP_PARAM) *)arrays->at[PARAM];
#if STEP_IS_FULL
    TYPE(STEP_GRAD) *grad = (TYPE(STEP_GRAD) *)arrays->at[GRAD];
#else
    const TYPE(STEP_GRAD) *grad = (TYPE(STEP_GRAD) *)arrays->at[GRAD];
#endif
    TYPE(STEP_M) *m = (TYPE(STEP_M) *)arrays->at[M];
    TYPE(STEP_V) *v = (TYPE(STEP_V) *)arrays->at[V];
#if HAS_MASTER
    TYPE(STEP_MASTER) *master = (TYPE(STEP_MASTER) *)arrays->at[MASTER];
#endif
#if STEP_IS_FULL
    TYPE(STEP_V) *v_max = (TYPE(STEP_V) *)arrays->at[V_MAX];
    char *copy = arrays->at[COPY];
    struct copying copying = open_copy(work->step, work->extras);
#endif
#if M_IS_SCALED
    uint8_t *m_scale = (uint8_t *)arrays->at[M_SCALE];
    float m_factors[SCALE_FACTORS];
#endif
#if V_IS_SCALED
    uint8_t *v_scale = (uint8_t *)arrays->at[V_SCALE];
    uint8_t *v_max_scale = (uint8_t *)arrays->at[V_MAX_SCALE];
    float v_factors[SCALE_FACTORS], v_max_factors[SCALE_FACTORS];
#endif
    open_source(&source, work->step, rounded, work->place);
#if STEP_IS_USUAL
    const int usual = is_usual(work, &c) && (!rounded.param || work->step->stochastic_param == !HAS_MASTER);
#endif
    for (int64_t block = 0, end; block < count; block = end) {
#if STEP_IS_USUAL
        if (usual) {
            block = USUAL_UNITS(&c, &source.philox, arrays, first, block, count);
            if (block == count) break;
        }
#endif
        end = (block / BLOCK + 1) * BLOCK;
        if (end > count) end = count;
        draw(&source, first + block, (int)(end - block));
#if M_IS_SCALED
        scale_factors(m_factors, m_scale + block / QUERN_SCALE_BLOCK, end - block);
#endif
#if V_IS_SCALED
        scale_factors(v_factors, v_scale + block / QUERN_SCALE_BLOCK, end - block);
        if (v_max) scale_factors(v_max_factors, v_max_scale + block / QUERN_SCALE_BLOCK, end - block);
#endif
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair g = pair_multiply(LOAD(STEP_GRAD)(grad + i), c.grad_factor);
            const struct vector_pair old_m = LOAD_M();
            const struct vector_pair old_v = LOAD_V(v);
            if (c.has_l2_decay)
                g = pair_fma(c.l2_decay, LOAD_PARAM(STEP_ORDER), g);
            struct vector_pair new_m = next_m(&c, old_m, g), new_v = next_v(&c, old_v, g);
            if (__builtin_expect(pair_has_nan(new_m) | pair_has_nan(new_v), 0))
                settle_moments(&new_m, NAN_OF(STEP_M), &new_v, NAN_OF(STEP_V), old_v);
#if STEP_IS_FULL
            struct vector_pair divided_by = new_v;
            if (v_max) {
                divided_by = next_v_max(LOAD_V(v_max), new_v, NAN_OF(STEP_V));
                STORE_V(v_max, divided_by, NULL);
            }
            pair_store_f32(pending.denominator + (i - block), denominators(&c, divided_by));
#else
            pair_store_f32(pending.denominator + (i - block), denominators(&c, new_v));
#endif
            pair_store_f32(pending.m + (i - block), new_m);
#if !M_IS_SCALED
            ROUND(STEP_M)(m + i, new_m, at(source.m_bits, i - block));
#endif
            STORE_V(v, new_v, at(source.v_bits, i - block));
        }
#if M_IS_SCALED
        QUERN_JOIN(scaled_store_, STEP_M)(m + block, m_scale + block / QUERN_SCALE_BLOCK, pending.m, source.m_bits, 0, end - block);
#endif
#if V_IS_SCALED
        QUERN_JOIN(scaled_store_, STEP_V)(v + block, v_scale + block / QUERN_SCALE_BLOCK, pending.v, source.v_bits, 1, end - block);
        if (v_max)
            QUERN_JOIN(scaled_store_, STEP_V)(v_max + block, v_max_scale + block / QUERN_SCALE_BLOCK, pending.v_max, NULL, 1,
                                              end - block);
#endif
        for (int64_t i = block; i < end; i += PAIR) {
            struct vector_pair p = LOAD_PARAM(STEP_ORDER);
            const struct vector_pair new_m = pair_load_f32(pending.m + (i - block));
            p = next_param(&c, p, new_m, pair_load_f32(pending.denominator + (i - block)));
#if MASTER_IS_REMAINDER
            QUERN_JOIN(STEP_ORDER, _store_remainder)(param + i, master + i, pair_settle(p, NAN_bf16));
#else
#if HAS_MASTER
            ordered_round_f32(master + i, pair_settle(p, NAN_f32), NULL);
#endif
            p = pair_settle(p, NAN_OF(STEP_PARAM));
            ROUND(STEP_PARAM)(param + i, p, at(source.param_bits, i - block));
#endif
        }
#if STEP_IS_FULL
        if (copy) {
            for (int64_t i = block; i < end; i += PAIR)
                pair_store_f32(pending.param + (i - block), LOAD_PARAM(ordered));
            copy_values(&copying, copy + block * copy_bytes(copying.dtype), pending.param, end - block);
        }
        if (work->step->zero_grads)
            memset(grad + block, 0, (size_t)(end - block) * sizeof *grad);
#endif
    }
#if STEP_IS_FULL
    if (copy)
        close_copy(&copying);
#endif
}

quern_adam_cpu_kernel QUERN_KERNEL_NAME(STEP);

void QUERN_KERNEL_NAME(STEP)(
    const struct quern_adam_step *step, const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras,
    uint32_t place, int64_t first, int64_t end) {
    const struct sizes sizes = {STEP_IS_FULL ? ARRAYS : PLAIN_ARRAYS, {
        [PARAM] = sizeof(TYPE(STEP_PARAM)), [GRAD] = sizeof(TYPE(STEP_GRAD)), [M] = sizeof(TYPE(STEP_M)),
        [V] = sizeof(TYPE(STEP_V)), [MASTER] = MASTER_BYTES,
#if STEP_IS_FULL
        [V_MAX] = sizeof(TYPE(STEP_V)), [COPY] = copy_bytes(step->copy_dtype), [M_SCALE] = 1, [V_SCALE] = 1, [V_MAX_SCALE] = 1,
#endif
    }};
    const struct work work = {step, tensor, extras, place};
    run(&work, &sizes, first, end, GROUPS);
}

#undef GROUPS
#undef HAS_MASTER
#undef MASTER_IS_REMAINDER
#undef M_IS_SCALED
#undef V_IS_SCALED
#undef TYPE
#undef NAN_OF
#undef LOAD
#undef ROUND
#undef MASTER_BYTES
#undef LOAD_PARAM
#undef LOAD_M
#undef LOAD_V
#undef STORE_V
#undef STEP
#undef STEP_M
#undef STEP_V
#undef STEP_MASTER
#undef STEP_ORDER
#undef STEP_IS_USUAL
#undef USUAL_UNITS
#undef IS_ROUNDED
#undef PARAM_IS_STOCHASTIC
#undef ALL_ARE_BF16
