/*
 * The environment of floating-point numbers of the thread that calls.  However it rounds, and if it flushes subnormals or traps,
 * every operation gives the same bits, and the environment is the same afterwards.
 *
 * Runs on: one cpu; not with sanitizers.
 */
#include <fenv.h>

#include "harness/adam_case.h"
#include "harness/host_product.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "oracle/dtype.h"

/* ---- environments ---- */

struct environment {
    const char *name;
    int rounding, traps;
    unsigned flushing;       /* bits of the processor's register */
};

#if defined(__x86_64__)
enum { FLUSHES_RESULTS = 0x8000, FLUSHES_OPERANDS = 0x40, FLAGS = 0x3F };
static unsigned get_register(void) { return __builtin_ia32_stmxcsr() & ~(unsigned)FLAGS; }
static void add_to_register(unsigned bits) { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | bits); }
#elif defined(__aarch64__)
enum { FLUSHES_RESULTS = 1 << 24, FLUSHES_OPERANDS = FLUSHES_RESULTS };
static unsigned get_register(void) {
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return (unsigned)control;
}
static void add_to_register(unsigned bits) {
    const uint64_t control = get_register() | bits;
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#endif

/* What a call must leave as it is.  A processor may have no traps. */
struct state {
    unsigned control;
    int traps;
};

static struct state get_state(void) { return (struct state){get_register(), fegetexcept()}; }

/* The first is the usual one.  An engine that looks for mistakes traps what it does not expect. */
static const struct environment environments[] = {
    {"to nearest", FE_TONEAREST, 0, 0},
    {"upward", FE_UPWARD, 0, 0},
    {"downward", FE_DOWNWARD, 0, 0},
    {"toward zero", FE_TOWARDZERO, 0, 0},
    {"flushing results", FE_TONEAREST, 0, FLUSHES_RESULTS},
    {"flushing operands", FE_TONEAREST, 0, FLUSHES_OPERANDS},
    {"trapping", FE_TONEAREST, FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW, 0},
};

static void enter(const struct environment *environment) {
    fesetround(environment->rounding);
    add_to_register(environment->flushing);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(environment->traps);
}

/* Returns what a call has changed in the environment, or NULL, and goes back to the usual one. */
static const char *leave(const struct environment *environment, struct state entered) {
    const char *changed = fegetround() != environment->rounding     ? "rounding"
                          : fegetexcept() != entered.traps           ? "trapping"
                          : get_register() != entered.control       ? "flushing"
                                                                    : NULL;
    fesetenv(FE_DFL_ENV);
    return changed;
}

/* ---- values ---- */

/* Of many magnitudes, so that sums and products are not exact; some are subnormal. */
enum { VALUES = 8191 };
static char table[QUERN_BF16 + 1][VALUES * sizeof(float)];
static const quern_dtype dtypes[] = {QUERN_F32, QUERN_BF16, QUERN_F16};

static void make_values(void) {
    for (int64_t i = 0; i < VALUES; i++)
        for (size_t k = 0; k < COUNT(dtypes); k++)
            dtype_store(dtypes[k], table[dtypes[k]], i, ldexp(random_normal(1, (uint64_t)i), i % 13 ? 0 : -(int)(i % 140)));
}

static void *fill(void *to, quern_dtype dtype, int64_t first, int64_t count) {
    const int64_t size = (int64_t)quern_dtype_bytes(dtype);
    for (int64_t done = 0, part; done < count; done += part, first = 0) {
        part = count - done < VALUES - first ? count - done : VALUES - first;
        memcpy((char *)to + done * size, table[dtype] + first * size, (size_t)(part * size));
    }
    return to;
}

/* ---- operations of one device ---- */

/* Sizes below and above those from which work is divided; the row of the last is itself divided. */
static const struct shape {
    int64_t rows, columns;
} shapes[] = {{3, 17}, {40, 7001}, {1, 600001}};

enum { WIDTH = 5, MOST_OUTPUT = 64 << 20 };

/* A call in an environment: its outputs lie end to end. */
struct scene {
    const struct environment *environment;
    struct shape shape;
    quern_dtype dtype;
    quern_device *device;
    unsigned char *output;
    size_t used;
};

static void *take(struct scene *scene, size_t bytes) {
    void *taken = scene->output + scene->used;
    scene->used += (bytes + 63) / 64 * 64;
    check(scene->used <= MOST_OUTPUT, "%zu bytes of output", scene->used);
    return memset(taken, 0, (bytes + 63) / 64 * 64);
}

static int64_t elements(const struct scene *scene) { return scene->shape.rows * scene->shape.columns; }

static void *values(struct scene *scene, quern_dtype dtype, int64_t first, int64_t count) {
    return fill(take(scene, (size_t)count * quern_dtype_bytes(dtype)), dtype, first, count);
}

#define CALL(scene, call) do { \
        enter((scene)->environment); \
        const struct state entered = get_state(); \
        const quern_status status_of_call = call; \
        const char *changed = leave((scene)->environment, entered); \
        check(status_of_call == QUERN_OK, "%s %s: %s", (scene)->environment->name, #call, error_detail()); \
        check(!changed, "%s %s: other %s", (scene)->environment->name, #call, changed); \
    } while (0)

/* Options that are subnormal are not 0. */
static quern_cross_entropy_args loss_of(struct scene *scene, bool full, bool has_matrix) {
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    const size_t rows = (size_t)scene->shape.rows;
    int32_t *labels = take(scene, sizeof *labels * rows);
    for (size_t row = 0; row < rows; row++) labels[row] = (int32_t)(row * 7 % (size_t)scene->shape.columns);
    args.logits_dtype = scene->dtype, args.labels_dtype = QUERN_INT32, args.labels = labels;
    args.rows = scene->shape.rows, args.vocab = scene->shape.columns, args.reduction = QUERN_REDUCTION_MEAN;
    args.grad_scale = 0.1f, args.loss = take(scene, sizeof(float)), args.report = take(scene, sizeof *args.report);
    if (has_matrix) args.logits = values(scene, scene->dtype, 1, elements(scene));
    if (has_matrix) args.grad = take(scene, (size_t)elements(scene) * quern_dtype_bytes(scene->dtype));
    args.lse = take(scene, sizeof(float) * rows), args.log_prob = take(scene, sizeof(float) * rows);
    if (!full) return args;
    args.label_smoothing = 0.1f, args.z_loss = 0x1p-140f, args.softcap = 30;
    args.entropy = take(scene, sizeof(float) * rows), args.argmax = take(scene, sizeof(int64_t) * rows);
    args.class_weights = values(scene, QUERN_F32, 2, args.vocab);
    for (int64_t i = 0; i < args.vocab; i++) ((float *)args.class_weights)[i] = fabsf(args.class_weights[i]) + 0.1f;
    return args;
}

static void cross_entropy(struct scene *scene) {
    for (int full = 0; full < 2; full++) {
        quern_cross_entropy_args args = loss_of(scene, full, true);
        size_t bytes;
        CALL(scene, quern_cross_entropy_workspace(scene->device, &args, &bytes));
        SCOPED void *workspace = malloc(bytes);
        CALL(scene, quern_cross_entropy(scene->device, &args, workspace, bytes, NULL));
        args.stats = take(scene, sizeof *args.stats * (size_t)args.rows);
        CALL(scene, quern_cross_entropy_stats(scene->device, &args, workspace, bytes, NULL));
        CALL(scene, quern_cross_entropy_combine(scene->device, &args, args.stats, 1, workspace, bytes, NULL));
        args.grad = take(scene, (size_t)elements(scene) * quern_dtype_bytes(scene->dtype));
        CALL(scene, quern_cross_entropy_gradient(scene->device, &args, workspace, bytes, NULL));
    }
}

/* The engine's product and its exchange run in the engine's environment. */
static void leave_call(const struct scene *scene) {
    const struct state entered = get_state();
    const char *changed = leave(scene->environment, entered);
    check(!changed, "%s: a function of the engine has other %s", scene->environment->name, changed);
}

static quern_status multiply(void *user, const quern_gemm_args *args, UNUSED void *stream) {
    const struct scene *scene = user;
    leave_call(scene);
    host_product(&(struct test_device){.kind = QUERN_CPU}, args);
    enter(scene->environment);
    return QUERN_OK;
}

static quern_status gather_one(void *user, const void *mine, void *all, size_t bytes, UNUSED void *stream) {
    const struct scene *scene = user;
    leave_call(scene);
    memcpy(all, mine, bytes);
    enter(scene->environment);
    return QUERN_OK;
}

static void linear_cross_entropy(struct scene *scene) {
    quern_linear_cross_entropy_args args = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    const int64_t rows = scene->shape.rows, vocab = scene->shape.columns;
    size_t bytes;
    args.loss = loss_of(scene, true, false), args.hidden_dtype = args.weight_dtype = scene->dtype, args.width = WIDTH;
    args.hidden = values(scene, scene->dtype, 3, rows * WIDTH), args.weight = values(scene, scene->dtype, 4, vocab * WIDTH);
    args.d_hidden = take(scene, (size_t)(rows * WIDTH) * quern_dtype_bytes(scene->dtype));
    args.gemm = multiply, args.gemm_user = scene;
    for (args.shard_count = 0; args.shard_count < 2; args.shard_count++) {
        args.gather = gather_one, args.gather_user = scene, args.loss.reduction = QUERN_REDUCTION_SUM;
        CALL(scene, quern_linear_cross_entropy_workspace(scene->device, &args, &bytes));
        SCOPED void *workspace = malloc(bytes);
        CALL(scene, quern_linear_cross_entropy(scene->device, &args, workspace, bytes, NULL));
    }
}

static void product(struct scene *scene) {
    quern_blas *blas;
    quern_gemm_args args = QUERN_GEMM_ARGS_INIT;
    if (quern_blas_open(scene->device, NULL, &blas) != QUERN_OK) return;
    args.m = scene->shape.rows, args.n = WIDTH, args.k = scene->shape.columns, args.a_dtype = args.b_dtype = scene->dtype;
    args.c_dtype = scene->dtype, args.a_stride = args.k, args.b_stride = args.c_stride = args.n;
    args.a = values(scene, scene->dtype, 5, args.m * args.k), args.b = values(scene, scene->dtype, 6, args.k * args.n);
    args.c = take(scene, (size_t)(args.m * args.n) * quern_dtype_bytes(scene->dtype));
    CALL(scene, quern_blas_gemm(blas, &args, NULL));
    quern_blas_close(blas);
}

/* The kernels of bf16 parameters, or of those without a 16-bit type. */
static void adam(struct scene *scene) {
    const int64_t counts[] = {3, elements(scene) < 70001 ? elements(scene) : 70001, 17};
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row)) {
        struct adam_problem problem;
        if (row->key.adam.param != scene->dtype || row->key.adam.grad != scene->dtype || row->key.adam.m == QUERN_F16) continue;
        quern_adam_args made = adam_args_of(row);
        made.eps = 0x1p-140, made.grad_scale = 3;
        if (row->key.adam.m != QUERN_F32 && !made.master_dtype)
            adam_set_rounding(&made, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC);
        adam_make(&problem, &made, counts, row->key.adam.full ? 1 : COUNT(counts));
        CALL(scene, quern_adam(scene->device, &problem.args, NULL, 0, NULL));
        for (int arena = 0; arena < ARENAS; arena++)
            if (problem.arena[arena]) memcpy(take(scene, problem.bytes[arena]), problem.arena[arena], problem.bytes[arena]);
        adam_free(&problem);
    }
}

static quern_adam_args state_of(struct scene *scene, quern_dtype moments, quern_adam_tensor *tensor) {
    const size_t bytes = (size_t)elements(scene) * quern_dtype_bytes(moments), blocks = (size_t)(elements(scene) + 31) / 32;
    *tensor = (quern_adam_tensor){.count = elements(scene), .param = values(scene, QUERN_F32, 7, elements(scene)),
                                  .grad = values(scene, QUERN_F32, 8, elements(scene))};
    tensor->m = take(scene, bytes), tensor->v = take(scene, bytes);
    tensor->m_scale = take(scene, blocks), tensor->v_scale = take(scene, blocks);
    return (quern_adam_args)ADAM_ARGS(.param_dtype = QUERN_F32, .grad_dtype = QUERN_F32, .m_dtype = moments, .v_dtype = moments,
                                      .step = 1, .tensors = tensor, .tensor_count = 1);
}

static void saved_states(struct scene *scene) {
    static const quern_dtype others[] = {QUERN_BF16, QUERN_F16, QUERN_E4M3};
    quern_adam_tensor tensor;
    quern_adam_args args = state_of(scene, QUERN_F32, &tensor);
    size_t bytes;
    tensor.m = values(scene, QUERN_F32, 9, tensor.count), tensor.v = values(scene, QUERN_F32, 10, tensor.count);
    CALL(scene, quern_adam_saved_bytes(scene->device, &args, &bytes));
    void *saved = take(scene, bytes);
    CALL(scene, quern_adam_save(scene->device, &args, saved, bytes));
    for (size_t i = 0; i < COUNT(others); i++) {
        args = state_of(scene, others[i], &tensor);
        CALL(scene, quern_adam_load(scene->device, &args, saved, bytes, NULL, NULL));
    }
}

static void gradients(struct scene *scene) {
    quern_gradient gradient = {.grad = values(scene, scene->dtype, 11, elements(scene)), .count = elements(scene)};
    quern_gradient_norm_args norm = QUERN_GRADIENT_NORM_ARGS_INIT;
    size_t bytes;
    norm.grad_dtype = scene->dtype, norm.gradients = &gradient, norm.gradient_count = 1, norm.max_norm = 0.1, norm.grad_scale = 3;
    norm.norm = take(scene, sizeof(float)), norm.clip = take(scene, sizeof(float)), norm.found_inf = take(scene, sizeof(float));
    CALL(scene, quern_gradient_norm_workspace(scene->device, &norm, &bytes));
    void *workspace = malloc(bytes);
    CALL(scene, quern_gradient_norm(scene->device, &norm, workspace, bytes, NULL));
    free(workspace);
    for (int i = 0; i < 4; i++) {
        quern_accumulate_args args = QUERN_ACCUMULATE_ARGS_INIT;
        args.grad_dtype = scene->dtype, args.main_dtype = i % 2 ? QUERN_BF16 : QUERN_F32, args.scale = i / 2 ? 0.1 : 0x1p-140;
        gradient.main_grad = values(scene, args.main_dtype, 12, gradient.count);
        args.gradients = &gradient, args.gradient_count = 1;
        CALL(scene, quern_accumulate(scene->device, &args, NULL));
    }
}

/* Each way to share a scale, to nearest and stochastically, with a divisor that is subnormal or no fp32, and the two steps. */
static void quantisation(struct scene *scene) {
    for (int i = 0; i < 8; i++) {
        quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT;
        const size_t count = (size_t)elements(scene);
        quern_quantize_tensor tensor = {.input = values(scene, scene->dtype, 13, elements(scene)), .output = take(scene, count),
                                        .count = elements(scene), .columns = scene->shape.columns};
        if (i % 4 > 1) tensor.transposed = take(scene, count);
        if (i % 4 > 2) args.scaling = QUERN_SCALING_MX;
        if (i % 4 > 2) tensor.block_scales = take(scene, count), tensor.transposed_block_scales = take(scene, count);
        args.input_dtype = scene->dtype, args.output_dtype = i % 2 ? QUERN_E5M2 : QUERN_E4M3;
        args.tensors = &tensor, args.tensor_count = 1, args.eps = i / 4 ? 0x1p24 + 1 : 0x1p-140;
        args.rounding = i / 4 ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST;
        args.amax = take(scene, sizeof(float));
        args.scale = take(scene, sizeof(float)), args.scale_inv = take(scene, sizeof(float));
        args.history = i % 4 == 1 ? take(scene, 2 * sizeof(float)) : NULL, args.history_length = 2;
        CALL(scene, quern_quantize(scene->device, &args, NULL, 0, NULL));
        args.noop = memcpy(take(scene, sizeof(float)), &(float){0x1p-149f}, sizeof(float));
        CALL(scene, quern_quantize(scene->device, &args, NULL, 0, NULL));
        if (i % 4) continue;
        args.noop = NULL;
        CALL(scene, quern_quantize_amax(scene->device, &args, NULL, 0, NULL));
        CALL(scene, quern_quantize_cast(scene->device, &args, NULL));
    }
}

/* Numbers in texts. */
static void refusal(struct scene *scene) {
    quern_cross_entropy_args args = loss_of(scene, true, true);
    args.softcap = -0.1f;
    enter(scene->environment);
    quern_cross_entropy_explain(scene->device, &args, take(scene, 4096), 4096);
    leave(scene->environment, get_state());
}

static void (*const operations[])(struct scene *scene) = {cross_entropy, linear_cross_entropy, product, adam, saved_states,
                                                          gradients, quantisation, refusal};

/* ---- the threads of a call ---- */

/* An engine's own runner, whose threads are in the environment, too. */
static void run_tasks(UNUSED void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    for (int64_t i = tasks - 1; i >= 0; i--) task(context, i);
}

static const struct {
    int threads;
    quern_parallel_for hook;
} pools[] = {{1, NULL}, {3, NULL}, {3, run_tasks}};

/* Also the workers of the pool begin in the environment. */
static void run(struct scene *scene, size_t operation, size_t pool) {
    scene->used = 0;
    enter(scene->environment);
    check_ok(quern_device_open(QUERN_CPU, 0, &scene->device));
    check_ok(quern_prepare(scene->device, QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_QUANTIZE));
    check_ok(quern_set_threads(scene->device, pools[pool].threads, pools[pool].hook, NULL));
    fesetenv(FE_DFL_ENV);
    operations[operation](scene);
    quern_device_close(scene->device);
}

Test(environment, operations_of_a_device) {
    SCOPED unsigned char *usual = malloc(MOST_OUTPUT), *other = malloc(MOST_OUTPUT);
    make_values();
    for (size_t i = 0; i < COUNT(operations) * COUNT(shapes) * COUNT(dtypes); i++) {
        const size_t operation = i / COUNT(shapes) / COUNT(dtypes);
        if (i % COUNT(shapes) == 2 && operations[operation] != cross_entropy) continue;
        struct scene scene = {.environment = environments, .shape = shapes[i % COUNT(shapes)],
                              .dtype = dtypes[i / COUNT(shapes) % COUNT(dtypes)], .output = usual};
        run(&scene, operation, 0);
        scene.output = other;
        for (size_t k = 0; k < COUNT(environments); k++) {
            scene.environment = &environments[k];
            run(&scene, operation, (i + k) % COUNT(pools));
            check(!memcmp(usual, other, scene.used), "%s: operation %zu of %lld x %lld %s has other bits", scene.environment->name,
                  operation, (long long)scene.shape.rows, (long long)scene.shape.columns, quern_dtype_name(scene.dtype));
        }
    }
}

/* ---- operations of ranks ---- */

enum { RANKS = 2, MOST_COUNT = 70001, PART = 4 * RANKS * MOST_COUNT + 64 };

/* What one rank of a thread has: the input, the output, and the numbers of quantised chunks. */
struct post {
    struct rank *rank;
    quern_group *group;
    quern_dtype dtype;
    int64_t count;
    uint32_t call;
    char *input, *output;
    uint32_t *ready;
    float numbers[3];
    void *workspace;
};

static quern_status reduce(struct post *post, quern_combination combination,
                           quern_status (*function)(quern_group *, const quern_collective_args *, void *, size_t, void *)) {
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = post->dtype, .count = post->count, .input = post->input,
                                                 .output = post->output);
    args.combination = combination;
    return function(post->group, &args, post->workspace, PART, NULL);
}

static quern_status all_reduce(struct post *post) { return reduce(post, QUERN_COMBINE_SUM, quern_all_reduce); }
static quern_status reduce_scatter(struct post *post) { return reduce(post, QUERN_COMBINE_SUM, quern_reduce_scatter); }
static quern_status find_maximum(struct post *post) { return reduce(post, QUERN_COMBINE_MAX, quern_all_reduce); }
static quern_status all_gather(struct post *post) { return reduce(post, QUERN_COMBINE_SUM, quern_all_gather); }

static quern_status quantize_chunks(struct post *post) {
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args.input_dtype = post->dtype, args.output_dtype = QUERN_E4M3, args.input = post->input, args.output = post->output;
    args.rows = 1, args.columns = post->count, args.ready = post->ready, args.ready_value = ++post->call;
    args.amax = &post->numbers[0], args.scale = &post->numbers[1], args.scale_inv = &post->numbers[2];
    args.eps = post->call % 2 ? 0x1p24 + 1 : 0x1p-140;
    args.rounding = post->call % 2 ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST;
    return quern_quantize_chunks(post->group, &args, NULL, 0, NULL);
}

static quern_status meet(struct post *post) {
    quern_barrier_args args = BARRIER_ARGS(.timeout = RANK_LIMIT + 0.1);
    return quern_barrier(post->group, &args, NULL);
}

static quern_status transfer(struct post *post) {
    const quern_transfer_item items[] = {{0, 1 - post->rank->rank, 1, post->input, post->count},
                                         {1, 1 - post->rank->rank, 1, post->output, post->count}};
    quern_transfer *made;
    quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = 2, .timeout = RANK_LIMIT + 0.1);
    quern_status status = quern_transfer_prepare(post->group, &args, &made);
    if (status == QUERN_OK) status = quern_transfer_start(made, NULL);
    if (status == QUERN_OK) status = quern_transfer_wait(made, 0);
    return status == QUERN_OK ? quern_transfer_destroy(made) : status;
}

static quern_status exchange(struct post *post) {
    struct rank_exchange exchange;
    rank_exchange_args(post->rank, &exchange, post->input, post->output, 1, post->count);
    return quern_ragged_all_to_all(post->group, &exchange.args, post->workspace, PART, NULL);
}

static quern_status (*const calls[])(struct post *post) = {all_reduce, reduce_scatter, find_maximum, all_gather, quantize_chunks,
                                                           meet, transfer, exchange};

/* A rank's values, and then what a call leaves. */
static void call_in(struct post *post, size_t call, const struct environment *environment) {
    const int64_t size = (int64_t)quern_dtype_bytes(post->dtype);
    /* Both ranks have subnormals at the same places, whose sums are, too; and a sum of infinities is trapped by some. */
    fill(post->input, post->dtype, 13 * 140 * post->rank->rank, RANKS * post->count);
    if (calls[call] != quantize_chunks) dtype_store(post->dtype, post->input, 1, (double)INFINITY * (1 - 2 * post->rank->rank));
    memset(post->output, 0, (size_t)(RANKS * post->count * size));
    enter(environment);
    const struct state entered = get_state();
    const quern_status status = calls[call](post);
    const char *changed = leave(environment, entered);
    rank_check_status(post->rank, status, QUERN_OK, environment->name, (int)call);
    rank_check(post->rank, !changed, "call %zu %s: other %s", call, environment->name, changed);
}

TEST_RANKS_FOR(environment, operations_of_ranks, make_values();, .kind = RANK_THREADS, .count = RANKS) {
    static const int64_t counts[] = {5000, MOST_COUNT};
    static struct post posts[RANKS];
    static char usual[RANKS][2][PART + sizeof posts->numbers], found[RANKS][PART + sizeof posts->numbers];
    struct post *post = &posts[rank->rank];
    *post = (struct post){.rank = rank, .group = rank_group(rank, RANK_LIMIT)};
    rank_ok(rank, quern_set_threads(rank->device, 2, NULL, NULL));
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE | QUERN_QUANTIZE | QUERN_RAGGED_ALL_TO_ALL));
    void *symmetric = rank_allocate(rank, post->group, 3 * PART + 64);
    post->input = symmetric, post->output = post->input + PART, post->workspace = post->output + PART;
    post->ready = (uint32_t *)(void *)(post->input + 3 * PART);
    for (size_t i = 0; i < COUNT(calls) * COUNT(counts) * COUNT(dtypes); i++) {
        const size_t call = i / COUNT(counts) / COUNT(dtypes);
        post->count = counts[i % COUNT(counts)], post->dtype = dtypes[i / COUNT(counts) % COUNT(dtypes)];
        for (size_t k = 0; k < 2 * COUNT(environments); k++) {
            char *expected = usual[rank->rank][k % 2], *outcome = k < 2 ? expected : found[rank->rank];
            call_in(post, call, &environments[k / 2]);
            memcpy(outcome, post->output, PART);
            memcpy(outcome + PART, post->numbers, sizeof post->numbers);
            rank_check(rank, !memcmp(outcome, expected, sizeof *found), "%s: call %zu of %lld %s has other bits",
                       environments[k / 2].name, call, (long long)post->count, quern_dtype_name(post->dtype));
            rank_line_up(rank);
        }
    }
    return quern_group_destroy(post->group);
}

