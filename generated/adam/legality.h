/*
 * The legal steps of Adam, as gen/operations/adam.py defines them.  Included only by src/adam/adam_legality.c.
 *
 * Rendered by gen/ from templates/adam/legality.h.j2; do not edit.
 */

/* The types that an array can have; each list is closed by QUERN_NO_DTYPE. */
static const struct role roles[] = {
    [QUERN_ADAM_PARAM] = {"args.param_dtype", false, {QUERN_F32, QUERN_F16, QUERN_BF16}},
    [QUERN_ADAM_GRAD] = {"args.grad_dtype", false, {QUERN_F32, QUERN_F16, QUERN_BF16}},
    [QUERN_ADAM_M] = {"args.m_dtype", false, {QUERN_F32, QUERN_BF16, QUERN_F16, QUERN_E4M3, QUERN_E5M2}},
    [QUERN_ADAM_V] = {"args.v_dtype", false, {QUERN_F32, QUERN_BF16, QUERN_F16, QUERN_E4M3, QUERN_E5M2}},
    [QUERN_ADAM_MASTER] = {"args.master_dtype", true, {QUERN_F32, QUERN_REMAINDER}},
    [QUERN_ADAM_COPY] = {"args.copy_dtype", true, {QUERN_F16, QUERN_BF16, QUERN_E4M3, QUERN_E5M2}},
};

/* The parameter types that each kind of master copy supports, and the text of an error for other types. */
static const struct master masters[] = {
    {QUERN_F32, {QUERN_F16, QUERN_BF16}, "none, since a master copy would hold the same values twice"},
    {QUERN_REMAINDER, {QUERN_BF16}, "bf16 ones, which the remainder completes to fp32"},
};
