/*
 * The cases and tolerances of other projects' Adam tests, but with weight decay, which most of them leave at 0.
 *
 * The reference is Adam in double. It runs independently from the same start with unrounded gradients, so the errors of the
 * storage types accumulate as in training.  Tensor sizes are the original ones, except that the longest are shortened to bound
 * the time.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam.
 */
#include "harness/adam_case.h"
#include "harness/random.h"
#include "oracle/adam.h"
#include "oracle/dtype.h"

enum { MOST_TENSORS = 5 };

struct published {
    const char *whose, *name;
    quern_dtype param, grad, m, v, master;
    bool is_full;
    quern_adam_mode mode;
    double lr, beta1, beta2, eps;
    int32_t amsgrad, maximize;
    int steps;
    int64_t counts[MOST_TENSORS];   /* 0: end of the list */
    bool is_normal;                 /* values N(0, 1), else from [0, 1) */
    double relative, absolute;      /* of what the step computes: the master or, without one, the parameter */
    bool of_norm;                   /* the norm is compared, not each element */
};

#define NONE QUERN_NO_DTYPE
#define F32 QUERN_F32
#define F16 QUERN_F16
#define BF16 QUERN_BF16
#define E4M3 QUERN_E4M3
#define REMAINDER QUERN_REMAINDER
#define L2 QUERN_ADAM_L2
#define ADAMW QUERN_ADAMW

/* Types of param, grad, m, v and master, and whether a full row supports them. */
#define ALL_F32 F32, F32, F32, F32, NONE, false
#define FULL_F32 F32, F32, F32, F32, NONE, true

/* beta1, beta2 and eps. */
#define USUAL 0.9, 0.999, 1e-8
#define OPTION 0.6, 0.9, 3e-6
#define SHORT 0.1, 0.25, 1e-8

/* The attention block of TransformerEngine's precision-aware tests, a list that apex also uses, and DeepSpeed's tensors. */
#define ATTENTION {3 * 1024 * 1024, 3 * 1024, 1024 * 1024, 1024}
#define MULTIPLE {4096 * 1024, 4096, 4096 * 2048, 32320 * 1024, 1}
#define SIZES {64, 22, 128, 1024, 1048576}

/* relative, absolute: the defaults of torch.testing.assert_close for fp32, and TransformerEngine's for 16-bit states. */
#define CLOSE 1.3e-6, 1e-5
#define LOOSE 2e-3, 2e-3

#define TE "TransformerEngine"

static const struct published published[] = {
    /* test_fused_optimizer.py.  A step of 1 with short memories, so that every rounding of a state is visible. */
    {TE, "float", ALL_F32, L2, 5e-4, USUAL, 0, 0, 7, {278011}, false, CLOSE, false},
    {TE, "multi_params", ALL_F32, L2, 5e-4, USUAL, 0, 0, 7, MULTIPLE, false, CLOSE, false},
    {TE, "adam_option", ALL_F32, L2, 0.01, OPTION, 0, 0, 7, {1}, false, CLOSE, false},
    {TE, "no master", ALL_F32, ADAMW, 1, SHORT, 0, 0, 14, ATTENTION, false, CLOSE, false},
    {TE, "fp32 master", BF16, F32, F32, F32, F32, false, ADAMW, 1, SHORT, 0, 0, 14, ATTENTION, false, CLOSE, false},
    {TE, "remainders", BF16, F32, F32, F32, REMAINDER, false, ADAMW, 1, SHORT, 0, 0, 14, ATTENTION, false, CLOSE, false},
    {TE, "bf16 grad", BF16, BF16, F32, F32, F32, false, ADAMW, 1, SHORT, 0, 0, 14, ATTENTION, false, LOOSE, false},
    {TE, "bf16 exp_avg", BF16, F32, BF16, F32, F32, false, ADAMW, 1, SHORT, 0, 0, 14, ATTENTION, false, LOOSE, false},
    {TE, "bf16 exp_avg_sq", BF16, F32, F32, BF16, F32, false, ADAMW, 1, SHORT, 0, 0, 14, ATTENTION, false, LOOSE, false},
    {TE, "bf16 both", BF16, F32, BF16, BF16, F32, false, ADAMW, 1, SHORT, 0, 0, 14, ATTENTION, false, LOOSE, false},
    {TE, "fp16 both", BF16, F32, F16, F16, F32, true, ADAMW, 1, SHORT, 0, 0, 14, ATTENTION, false, LOOSE, false},
    /* The original compares nothing where exp_avg_sq is fp8; the tolerance is five times that of an fp8 exp_avg. */
    {TE, "fp8 exp_avg_sq", BF16, F32, BF16, E4M3, F32, true, ADAMW, 1, SHORT, 0, 0, 14, ATTENTION, false, 5e-2, 5e-2, false},
    /* test_adam.py: absolute 1e-3. */
    {"apex", "float", ALL_F32, L2, 5e-4, USUAL, 0, 0, 7, {278011}, false, 0, 1e-3, false},
    {"apex", "half", F16, F16, F32, F32, F32, false, L2, 5e-4, USUAL, 0, 0, 7, {278011}, false, 0, 1e-3, false},
    {"apex", "multi_params", ALL_F32, ADAMW, 5e-4, USUAL, 0, 0, 7, MULTIPLE, false, 0, 1e-3, false},
    {"apex", "adam_option", ALL_F32, ADAMW, 0.01, OPTION, 0, 0, 7, {1}, false, 0, 1e-3, false},
    /* test_optim.py and common_optimizers.py: the options of Adam and AdamW, with the default tolerances of fp32. */
    {"PyTorch", "Adam", ALL_F32, L2, 0.01, USUAL, 0, 0, 20, {140, 5, 1}, true, CLOSE, false},
    {"PyTorch", "Adam maximize", ALL_F32, L2, 0.001, USUAL, 0, 1, 20, {140, 5, 1}, true, CLOSE, false},
    {"PyTorch", "Adam amsgrad", FULL_F32, L2, 0.01, USUAL, 1, 0, 20, {140, 5, 1}, true, CLOSE, false},
    {"PyTorch", "AdamW amsgrad", FULL_F32, ADAMW, 0.01, USUAL, 1, 0, 20, {140, 5, 1}, true, CLOSE, false},
    {"PyTorch", "AdamW maximize amsgrad", FULL_F32, ADAMW, 0.01, USUAL, 1, 1, 20, {140, 5, 1}, true, CLOSE, false},
    {"PyTorch", "AdamW large eps", ALL_F32, ADAMW, 0.1, 0.9, 0.999, 1, 0, 0, 20, {140, 5, 1}, true, CLOSE, false},
    /* test_cpu_adam.py: norms after ten steps, within 1 %. */
    {"DeepSpeed", "fp32", ALL_F32, ADAMW, 1e-3, USUAL, 0, 0, 10, SIZES, true, 1e-2, 0, true},
    {"DeepSpeed", "fp16", F16, F16, F32, F32, NONE, false, ADAMW, 1e-3, USUAL, 0, 0, 10, SIZES, true, 1e-2, 0, true},
};

static quern_adam_args args_of(const struct published *p, const struct quern_kernel *row) {
    quern_adam_args args = adam_args_of(row);
    args.zero_grads = 0, args.copy_dtype = QUERN_NO_DTYPE;
    args.amsgrad = p->amsgrad, args.maximize = p->maximize, args.mode = p->mode;
    args.lr = p->lr, args.beta1 = p->beta1, args.beta2 = p->beta2, args.eps = p->eps, args.weight_decay = 0.1;
    return args;
}

static double value(const struct published *p, uint64_t seed, int64_t i) {
    return (double)(float)(p->is_normal ? random_normal(seed, (uint64_t)i) : random_uniform(seed, (uint64_t)i));
}

/* Both start with parameters of the storage type and moments of zero; the reference stores all tensors consecutively. */
static void begin(const struct published *p, struct adam_problem *problem, struct adam_element *element) {
    const quern_adam_args *args = &problem->args;
    static const int zeros[] = {ARENA_M, ARENA_V, ARENA_M_SCALE, ARENA_V_SCALE, ARENA_V_MAX};
    for (size_t a = 0; a < COUNT(zeros); a++)
        if (problem->arena[zeros[a]]) memset(problem->arena[zeros[a]], 0, problem->bytes[zeros[a]]);
    for (int64_t place = 0; place < args->tensor_count; place++)
        for (int64_t i = 0; i < problem->tensors[place].count; i++, element++) {
            *element = (struct adam_element){.param = dtype_round(args->param_dtype, value(p, (uint64_t)place, i))};
            adam_set_value(problem, place, args->master_dtype ? ARENA_MASTER : ARENA_PARAM, i, element->param);
        }
}

/* One step of the reference; the device gets the same gradients, rounded. */
static void advance(const struct published *p, struct adam_problem *problem, struct adam_element *element, int64_t step) {
    problem->args.step = step;
    for (int64_t place = 0; place < problem->args.tensor_count; place++)
        for (int64_t i = 0; i < problem->tensors[place].count; i++, element++) {
            element->grad = value(p, (uint64_t)(1000 * step + place), i);
            adam_set_value(problem, place, ARENA_GRAD, i, element->grad);
            const struct adam_exact exact = adam_exact_element(&problem->args, &problem->tensors[place], *element);
            element->param = exact.param, element->m = exact.m, element->v = exact.v, element->v_max = exact.v_max;
        }
}

static void check_elements(const struct published *p, const struct adam_problem *got, const struct adam_element *element,
                           int64_t step) {
    const int source = got->args.master_dtype ? ARENA_MASTER : ARENA_PARAM;
    double of_got = 0, of_reference = 0;
    for (int64_t place = 0; place < got->args.tensor_count; place++)
        for (int64_t i = 0; i < got->tensors[place].count; i++, element++) {
            const double has = adam_value_at(got, place, source, i), wanted = element->param;
            of_got += has * has, of_reference += wanted * wanted;
            check(p->of_norm || fabs(has - wanted) <= p->absolute + p->relative * fabs(wanted), "%s, %s, step %d: %.9g, not %.9g",
                  p->whose, p->name, (int)step, has, wanted);
        }
    const double norm = sqrt(of_got), expected = sqrt(of_reference);
    check(!p->of_norm || fabs(norm - expected) <= p->relative * expected, "%s, %s, step %d: a norm of %g, not %g",
          p->whose, p->name, (int)step, norm, expected);
}

static void check_published(const struct published *p) {
    const struct quern_kernel *row = find_adam_row(p->param, p->grad, p->m, p->v, p->master, p->is_full);
    const quern_adam_args args = args_of(p, row);
    int64_t counts[MOST_TENSORS], tensors = 0, elements = 0;
    for (; tensors < MOST_TENSORS && p->counts[tensors]; tensors++) {
        const int64_t longest = test_size(50000, 2500);
        counts[tensors] = p->counts[tensors] < longest ? p->counts[tensors] : longest;
        elements += counts[tensors];
    }
    SCOPED struct adam_element *reference = zeroed((size_t)elements * sizeof *reference);
    OPEN_ROW(device, row);
    OPEN_ADAM(problem, &args, counts, tensors);
    begin(p, &problem, reference);
    struct adam_session session CLOSED_BY(adam_session_close);  /* before the device */
    adam_session_open(&session, &device, &problem);
    for (int64_t step = 1; step <= p->steps; step++) {
        advance(p, &problem, reference, step);
        adam_session_write(&session, &problem, ARENA_GRAD);
        session.args.step = step;
        check_ok(adam_session_step(&session));
        adam_session_read(&session, &problem);
        check_elements(p, &problem, reference, step);
    }
}

static void check_those_of(const char *whose) {
    int cases = 0;
    for (size_t i = 0; i < COUNT(published); i++) {
        if (strcmp(published[i].whose, whose)) continue;
        check_published(&published[i]);
        cases++;
    }
    check(cases > 1, "no cases of %s", whose);
}

Test(adam_published, transformer_engine) { check_those_of(TE); }
Test(adam_published, apex) { check_those_of("apex"); }
Test(adam_published, pytorch) { check_those_of("PyTorch"); }
Test(adam_published, deepspeed) { check_those_of("DeepSpeed"); }
