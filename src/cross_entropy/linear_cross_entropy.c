/*
 * The public functions on linear cross-entropy: the last layer of a language model and its loss, a chunk of rows at a time.
 *
 * Labels are counted and losses are summed once, over all rows.  The other work is done for each chunk.  d_weight of a chunk is
 * computed before d_hidden, which may overwrite hidden.
 */
#include <fenv.h>

#include "../generated/arguments.h"
#include "cross_entropy/cross_entropy.h"
#include "os/integers.h"
#include "os/sizes.h"
#include "runtime/arguments.h"
#include "runtime/cuda_visit.h"
#include "runtime/dtype.h"
#include "runtime/status.h"
#include "runtime/threads.h"

/* The workspace of the layer, or the offsets in it. */
struct workspace {
    size_t shards;         /* of the stats of a chunk's rows in all shards, the first: all ranks have them at one offset */
    size_t shard_nodes;    /* of their nodes, with portable bits */
    size_t shard_ids;      /* of their largest columns */
    size_t shard_logits;
    size_t given_logits;   /* of given columns in all shards */
    size_t stats;          /* of the rows of a chunk in this shard, as the next ones */
    size_t nodes;
    size_t own_ids;
    size_t own_logits;
    size_t own_given;
    size_t ones_of_bias;   /* [chunk_rows], in the dtype of the bias */
    size_t ones_of_grad;   /* in that of the logits */
    size_t logits;         /* [chunk_rows, vocab] */
    size_t sums;           /* [vocab, width] in F32, of a d_weight of another dtype that several chunks write */
    size_t all;            /* of the call for all rows */
    size_t chunk;          /* of the calls for a chunk */
    size_t total;
};

struct linear_call {
    quern_linear_cross_entropy_args args;    /* defaults filled in */
    struct quern_cross_entropy_call all;     /* all rows: their labels and losses */
    struct workspace offsets;
    char *workspace;
    fenv_t environment;                      /* of floating-point numbers, in which the engine calls */
};

static bool wants_gradient(const quern_linear_cross_entropy_args *args) {
    return args->d_hidden || args->d_weight || args->d_bias;
}

static bool has_shards(const quern_linear_cross_entropy_args *args) { return args->shard_count > 0; }

/* ---- workspace ---- */

/* Each part begins at a multiple of 256 bytes. */
static size_t set_aside(struct workspace *layout, size_t bytes) {
    const size_t offset = layout->total;
    layout->total += quern_round_up(bytes, 256);
    return offset;
}

static size_t chunk_bytes(const quern_device *device, int threads, const quern_linear_cross_entropy_args *args) {
    quern_cross_entropy_args chunk = args->loss;
    chunk.rows = args->chunk_rows;
    if (!has_shards(args)) return quern_cross_entropy_needs(device, threads, QUERN_STEP_WHOLE, &chunk);
    size_t most = 0;
    for (int step = QUERN_STEP_STATS; step <= QUERN_STEP_GRADIENT; step++) {
        const size_t needed = quern_cross_entropy_needs(device, threads, (enum quern_cross_entropy_step)step, &chunk);
        if (needed > most) most = needed;
    }
    return most;
}

static struct workspace lay_out(const quern_device *device, int threads, const quern_linear_cross_entropy_args *args) {
    const size_t rows = (size_t)args->chunk_rows, vocab = (size_t)args->loss.vocab, shards = (size_t)args->shard_count;
    const size_t ones = args->bias_dtype ? rows * sizeof(float) : 0, own = has_shards(args) ? rows : 0;
    const size_t ids = (size_t)args->loss.top_k * sizeof(int64_t), logits = (size_t)args->loss.top_k * sizeof(float);
    const size_t given = (size_t)args->loss.given_count * sizeof(float);
    const size_t node = quern_cross_entropy_node_bytes(&args->loss);
    const enum quern_cross_entropy_step step = has_shards(args) ? QUERN_STEP_COMBINE : QUERN_STEP_WHOLE;
    const bool has_sums = quern_linear_cross_entropy_has_sums(args);
    struct workspace layout = {0};
    layout.shards = set_aside(&layout, shards * rows * sizeof(quern_row_stats));
    layout.shard_nodes = set_aside(&layout, shards * rows * node);
    layout.shard_ids = set_aside(&layout, shards * rows * ids);
    layout.shard_logits = set_aside(&layout, shards * rows * logits);
    layout.given_logits = set_aside(&layout, shards * rows * given);
    layout.stats = set_aside(&layout, own * sizeof(quern_row_stats));
    layout.nodes = set_aside(&layout, own * node);
    layout.own_ids = set_aside(&layout, own * ids);
    layout.own_logits = set_aside(&layout, own * logits);
    layout.own_given = set_aside(&layout, own * given);
    layout.ones_of_bias = set_aside(&layout, ones);
    layout.ones_of_grad = set_aside(&layout, ones);
    layout.logits = set_aside(&layout, rows * vocab * quern_dtype_bytes(args->loss.logits_dtype));
    layout.sums = set_aside(&layout, has_sums ? vocab * (size_t)args->width * sizeof(float) : 0);
    layout.all = set_aside(&layout, quern_cross_entropy_needs(device, threads, step, &args->loss));
    layout.chunk = set_aside(&layout, chunk_bytes(device, threads, args));
    return layout;
}

/* An address in the workspace, which is NULL if it has no bytes. */
static void *inside(const struct linear_call *call, size_t offset) { return call->workspace ? call->workspace + offset : NULL; }

/* ---- calls of cross-entropy ---- */

static struct quern_cross_entropy_call begin_call(quern_device *device, const quern_linear_cross_entropy_args *args,
                                                  enum quern_cross_entropy_step step, void *stream) {
    return (struct quern_cross_entropy_call){.device = device, .step = step, .args = args->loss, .stream = stream,
                                             .shard_count = args->shard_count};
}

static void fill_all(struct linear_call *call, quern_device *device, int threads, void *stream) {
    const quern_linear_cross_entropy_args *args = &call->args;
    call->all = begin_call(device, args, has_shards(args) ? QUERN_STEP_COMBINE : QUERN_STEP_WHOLE, stream);
    call->all.threads = threads;
    call->all.args.logits = inside(call, call->offsets.logits);
    call->all.args.grad = wants_gradient(args) ? inside(call, call->offsets.logits) : NULL;
    quern_cross_entropy_fill(&call->all, inside(call, call->offsets.all));
}

/* The pointers of the loss, and then all buffers; those of the logits are in the workspace. */
static quern_status check_loss(const struct linear_call *call, size_t bytes) {
    const struct quern_cross_entropy_call loss = begin_call(call->all.device, &call->args, QUERN_STEP_WHOLE, NULL);
    struct quern_cross_entropy_call whole = call->all;
    struct quern_cross_entropy_ranges ranges;
    whole.step = QUERN_STEP_WHOLE;
    quern_status status = quern_cross_entropy_check_step(&whole, &ranges);
    return status == QUERN_OK ? quern_linear_cross_entropy_check_apart(&loss, &call->args, call->workspace, bytes) : status;
}

/* The lists of a chunk: those of this shard are written for the gather, and all of them are read after it. */
static void place_columns(const struct linear_call *call, enum quern_cross_entropy_step step,
                          struct quern_columns_problem *columns) {
    if (step == QUERN_STEP_STATS) {
        columns->top_ids = inside(call, call->offsets.own_ids);
        columns->top_log_probs = inside(call, call->offsets.own_logits);
        columns->given_log_probs = inside(call, call->offsets.own_given);
    } else {
        columns->shard_ids = inside(call, call->offsets.shard_ids);
        columns->shard_logits = inside(call, call->offsets.shard_logits);
        columns->given_logits = inside(call, call->offsets.given_logits);
    }
}

/* Runs a step over the rows of a chunk.  The products read the gradient of every row. */
static quern_status run_step(const struct linear_call *call, enum quern_cross_entropy_step step, int64_t first, int64_t rows) {
    const struct quern_cross_entropy_problem *all = &call->all.problem;
    struct quern_cross_entropy_call chunk = call->all;
    struct quern_cross_entropy_problem *problem = &chunk.problem;
    chunk.step = step;
    chunk.tasks = QUERN_RUN_ROWS;
    chunk.args.rows = rows;
    if (has_shards(&call->args)) {
        chunk.shards = inside(call, call->offsets.shards);
        chunk.args.stats = inside(call, call->offsets.stats);
        chunk.args.nodes = inside(call, step == QUERN_STEP_COMBINE ? call->offsets.shard_nodes : call->offsets.nodes);
    }
    quern_cross_entropy_fill(&chunk, inside(call, call->offsets.chunk));
    quern_cross_entropy_skip_rows(&chunk, first);
    if (has_shards(&call->args)) place_columns(call, step, &chunk.columns);
    problem->rows = rows;
    problem->logits = chunk.args.logits;
    problem->grad = problem->grad ? chunk.args.grad : NULL;
    problem->kept_of_bad_rows &= ~QUERN_KEPT_GRAD;
    problem->row_loss = problem->row_loss ? all->row_loss + first : NULL;
    problem->divisor = all->divisor;
    problem->report = problem->report ? all->report : NULL;
    problem->loss = NULL;
    return quern_cross_entropy_run(&chunk);
}

/* What the shards of a chunk exchange, of this rank and then of all. */
static quern_status gather(const struct linear_call *call, size_t mine, size_t all, int64_t rows, size_t bytes) {
    const quern_linear_cross_entropy_args *args = &call->args;
    fesetenv(&call->environment);
    const quern_status status = args->gather(args->gather_user, inside(call, mine), inside(call, all), (size_t)rows * bytes,
                                             call->all.stream);
    fesetenv(FE_DFL_ENV);
    return status;
}

static quern_status gather_all(const struct linear_call *call, int64_t rows) {
    const struct workspace *offsets = &call->offsets;
    const quern_cross_entropy_args *loss = &call->args.loss;
    const struct {
        size_t mine, all, bytes;
    } parts[] = {
        {offsets->stats, offsets->shards, sizeof(quern_row_stats)},
        {offsets->nodes, offsets->shard_nodes, quern_cross_entropy_node_bytes(loss)},
        {offsets->own_ids, offsets->shard_ids, (size_t)loss->top_k * sizeof(int64_t)},
        {offsets->own_logits, offsets->shard_logits, (size_t)loss->top_k * sizeof(float)},
        {offsets->own_given, offsets->given_logits, (size_t)loss->given_count * sizeof(float)},
    };
    quern_status status = QUERN_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == QUERN_OK; i++)
        if (parts[i].bytes) status = gather(call, parts[i].mine, parts[i].all, rows, parts[i].bytes);
    return status;
}

static quern_status run_shard(const struct linear_call *call, int64_t first, int64_t rows) {
    quern_status status = run_step(call, QUERN_STEP_STATS, first, rows);
    if (status == QUERN_OK) status = gather_all(call, rows);
    if (status == QUERN_OK) status = run_step(call, QUERN_STEP_COMBINE, first, rows);
    return status == QUERN_OK && wants_gradient(&call->args) ? run_step(call, QUERN_STEP_GRADIENT, first, rows) : status;
}

/* ---- products ---- */

/* In the engine's own environment of floating-point numbers. */
static quern_status multiply(const struct linear_call *call, const quern_gemm_args *product) {
    if (!product->m || !product->n) return QUERN_OK;
    fesetenv(&call->environment);
    const quern_status status = call->args.gemm(call->args.gemm_user, product, call->all.stream);
    fesetenv(FE_DFL_ENV);
    return status;
}

/* In unsigned numbers, since a matrix without rows may be NULL. */
static void *row_of(const void *matrix, int64_t row, int64_t stride, quern_dtype dtype) {
    return (void *)((uintptr_t)matrix + (size_t)(row * stride) * quern_dtype_bytes(dtype));
}

/* The bits of 1, twice in a word if they are 16. */
static uint32_t word_of_ones(quern_dtype dtype) {
    if (dtype == QUERN_F32) return 0x3f800000;
    return dtype == QUERN_F16 ? 0x3c003c00 : 0x3f803f80;
}

/* A column or row of ones, for products that add or sum rows. */
static quern_status write_ones(const struct linear_call *call, size_t offset, quern_dtype dtype) {
    struct quern_cuda_visit visit;
    const size_t bytes = (size_t)call->args.chunk_rows * quern_dtype_bytes(dtype);
    const size_t words = quern_round_up(bytes, sizeof(uint32_t)) / sizeof(uint32_t);
    uint32_t *ones = inside(call, offset);
    quern_device *device = call->all.device;
    if (!words) return QUERN_OK;
    if (device->kind == QUERN_CPU) {
        for (size_t i = 0; i < words; i++) ones[i] = word_of_ones(dtype);
        return QUERN_OK;
    }
    const quern_status status = quern_cuda_begin_launch(&visit, device);
    if (status != QUERN_OK) return status;
    const CUresult error = visit.cuda->words_set_async((CUdeviceptr)(uintptr_t)ones, word_of_ones(dtype), words, call->all.stream);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, "cuMemsetD32Async");
}

static quern_status write_all_ones(const struct linear_call *call) {
    quern_status status = QUERN_OK;
    if (call->args.bias) status = write_ones(call, call->offsets.ones_of_bias, call->args.bias_dtype);
    if (status != QUERN_OK || !call->args.d_bias) return status;
    return write_ones(call, call->offsets.ones_of_grad, call->args.loss.logits_dtype);
}

/* logits[rows, vocab] = ones[rows, 1] * bias[1, vocab] */
static quern_status spread_bias(const struct linear_call *call, int64_t rows) {
    const quern_linear_cross_entropy_args *args = &call->args;
    return multiply(call, &(quern_gemm_args){
        .size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = rows, .n = args->loss.vocab, .k = 1,
        .a = inside(call, call->offsets.ones_of_bias), .a_dtype = args->bias_dtype, .a_stride = 1,
        .b = args->bias, .b_dtype = args->bias_dtype, .b_stride = args->loss.vocab,
        .c = inside(call, call->offsets.logits), .c_dtype = args->loss.logits_dtype, .c_stride = args->loss.vocab});
}

/* logits[rows, vocab] (+)= hidden[rows, width] * weight[vocab, width]^T */
static quern_status compute_logits(const struct linear_call *call, int64_t first, int64_t rows) {
    const quern_linear_cross_entropy_args *args = &call->args;
    const quern_status status = args->bias ? spread_bias(call, rows) : QUERN_OK;
    if (status != QUERN_OK) return status;
    return multiply(call, &(quern_gemm_args){
        .size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = rows, .n = args->loss.vocab, .k = args->width,
        .a = row_of(args->hidden, first, args->hidden_stride, args->hidden_dtype), .a_dtype = args->hidden_dtype,
        .a_stride = args->hidden_stride,
        .b = args->weight, .b_dtype = args->weight_dtype, .b_stride = args->weight_stride, .b_transposed = 1,
        .c = inside(call, call->offsets.logits), .c_dtype = args->loss.logits_dtype, .c_stride = args->loss.vocab,
        .accumulate = args->bias != NULL});
}

/* d_weight[vocab, width] (+)= d_logits[rows, vocab]^T * hidden[rows, width], or the sums that become it */
static quern_status compute_d_weight(const struct linear_call *call, int64_t first, int64_t rows) {
    const quern_linear_cross_entropy_args *args = &call->args;
    const bool in_sums = quern_linear_cross_entropy_has_sums(args);
    return multiply(call, &(quern_gemm_args){
        .size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = args->loss.vocab, .n = args->width, .k = rows,
        .a = inside(call, call->offsets.logits), .a_dtype = args->loss.logits_dtype, .a_stride = args->loss.vocab,
        .a_transposed = 1,
        .b = row_of(args->hidden, first, args->hidden_stride, args->hidden_dtype), .b_dtype = args->hidden_dtype,
        .b_stride = args->hidden_stride,
        .c = in_sums ? inside(call, call->offsets.sums) : args->d_weight, .c_dtype = in_sums ? QUERN_F32 : args->d_weight_dtype,
        .c_stride = in_sums ? args->width : args->d_weight_stride,
        .accumulate = first > 0 || (args->accumulate_weight && !in_sums)});
}

/* d_bias[1, vocab] (+)= ones[1, rows] * d_logits[rows, vocab] */
static quern_status compute_d_bias(const struct linear_call *call, int64_t first, int64_t rows) {
    const quern_linear_cross_entropy_args *args = &call->args;
    return multiply(call, &(quern_gemm_args){
        .size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = 1, .n = args->loss.vocab, .k = rows,
        .a = inside(call, call->offsets.ones_of_grad), .a_dtype = args->loss.logits_dtype, .a_stride = args->chunk_rows,
        .b = inside(call, call->offsets.logits), .b_dtype = args->loss.logits_dtype, .b_stride = args->loss.vocab,
        .c = args->d_bias, .c_dtype = QUERN_F32, .c_stride = args->loss.vocab,
        .accumulate = first > 0 || args->accumulate_weight});
}

/* d_hidden[rows, width] = d_logits[rows, vocab] * weight[vocab, width] */
static quern_status compute_d_hidden(const struct linear_call *call, int64_t first, int64_t rows) {
    const quern_linear_cross_entropy_args *args = &call->args;
    return multiply(call, &(quern_gemm_args){
        .size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = rows, .n = args->width, .k = args->loss.vocab,
        .a = inside(call, call->offsets.logits), .a_dtype = args->loss.logits_dtype, .a_stride = args->loss.vocab,
        .b = args->weight, .b_dtype = args->weight_dtype, .b_stride = args->weight_stride,
        .c = row_of(args->d_hidden, first, args->d_hidden_stride, args->hidden_dtype), .c_dtype = args->hidden_dtype,
        .c_stride = args->d_hidden_stride});
}

/* The gradients that are summed over all rows. */
static quern_status compute_sums(const struct linear_call *call, int64_t first, int64_t rows) {
    quern_status status = call->args.d_weight ? compute_d_weight(call, first, rows) : QUERN_OK;
    return status == QUERN_OK && call->args.d_bias ? compute_d_bias(call, first, rows) : status;
}

/* ---- chunks ---- */

static quern_status run_chunk(const struct linear_call *call, int64_t first, int64_t rows) {
    quern_status status = compute_logits(call, first, rows);
    if (status == QUERN_OK)
        status = has_shards(&call->args) ? run_shard(call, first, rows) : run_step(call, QUERN_STEP_WHOLE, first, rows);
    if (status == QUERN_OK) status = compute_sums(call, first, rows);
    return status == QUERN_OK && call->args.d_hidden ? compute_d_hidden(call, first, rows) : status;
}

/* Without rows the sums are 0: products with k = 0 write them. */
static quern_status run_chunks(const struct linear_call *call) {
    const int64_t rows = call->args.loss.rows;
    if (!rows) return compute_sums(call, 0, 0);
    for (int64_t first = 0; first < rows; first += call->args.chunk_rows) {
        quern_status status = run_chunk(call, first, quern_smaller(call->args.chunk_rows, rows - first));
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}

/* Rounds the sums to d_weight, or adds them to it.  count 0: only asks whether that can be done. */
static quern_status round_sums(const struct linear_call *call, int64_t count) {
    const quern_linear_cross_entropy_args *args = &call->args;
    const quern_gradient sums = {.grad = inside(call, call->offsets.sums), .main_grad = args->d_weight, .count = count};
    quern_accumulate_args rounding = QUERN_ACCUMULATE_ARGS_INIT;
    if (!args->d_weight || !quern_linear_cross_entropy_has_sums(args)) return QUERN_OK;
    rounding.grad_dtype = QUERN_F32, rounding.main_dtype = args->d_weight_dtype;
    rounding.gradients = &sums, rounding.gradient_count = 1;
    rounding.overwrite = !args->accumulate_weight;
    return args->accumulate(call->all.device, &rounding, call->all.stream);
}

static quern_status run_task(struct quern_cross_entropy_call *call, unsigned task) {
    call->tasks = task;
    return quern_cross_entropy_run(call);
}

/* The kernels of the steps over shards, so that a missing one leaves no report.  Without shards the first task finds them all. */
static quern_status find_kernels(const struct linear_call *call) {
    const struct quern_cross_entropy_call *all = &call->all;
    const bool is_one_kernel = all->problem.portable_bits && all->device->kind == QUERN_CUDA;
    const struct quern_ready_kernel *ready;
    if (!has_shards(&call->args) || !call->args.loss.rows) return QUERN_OK;
    quern_status status = quern_cross_entropy_select(all, is_one_kernel ? QUERN_STAGE_PORTABLE : QUERN_STAGE_STATS, &ready);
    if (status != QUERN_OK || is_one_kernel || !wants_gradient(&call->args)) return status;
    return quern_cross_entropy_select(all, QUERN_STAGE_GRADIENT, &ready);
}

static quern_status run_all(struct linear_call *call) {
    quern_status status = find_kernels(call);
    if (status == QUERN_OK) status = round_sums(call, 0);
    if (status == QUERN_OK) status = run_task(&call->all, QUERN_COUNT_LABELS);
    if (status == QUERN_OK) status = write_all_ones(call);
    if (status == QUERN_OK) status = run_chunks(call);
    if (status == QUERN_OK) status = round_sums(call, call->args.loss.vocab * call->args.width);
    return status == QUERN_OK ? run_task(&call->all, QUERN_SUM_LOSSES) : status;
}

/* ---- the public functions ---- */

quern_status quern_linear_cross_entropy_workspace(const quern_device *device, const quern_linear_cross_entropy_args *given,
                                                  size_t *bytes) {
    quern_linear_cross_entropy_args args;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_status status = quern_linear_cross_entropy_check(device, given, &args);
    if (status != QUERN_OK) return status;
    const size_t needed = lay_out(device, quern_threads_of(device), &args).total;
    status = quern_check_needed(device, needed);
    if (status == QUERN_OK) *bytes = needed;
    return status;
}

static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct linear_call *call = context;
    const quern_linear_cross_entropy_args *args = &call->args;
    const struct quern_cross_entropy_call loss = begin_call(call->all.device, args, QUERN_STEP_WHOLE, NULL);
    const int64_t rows = args->loss.rows, vocab = args->loss.vocab, width = args->width;
    const struct quern_element hidden = quern_element_of(args->hidden_dtype), weight = quern_element_of(args->weight_dtype);
    const int sums = args->accumulate_weight ? QUERN_TENSOR_BOTH : QUERN_TENSOR_OUT;
    quern_show_matrix(taker, "hidden", args->hidden, hidden, rows, width, args->hidden_stride, QUERN_TENSOR_IN);
    quern_show_matrix(taker, "weight", args->weight, weight, vocab, width, args->weight_stride, QUERN_TENSOR_IN);
    if (args->bias) quern_show_vector(taker, "bias", args->bias, quern_element_of(args->bias_dtype), vocab, QUERN_TENSOR_IN);
    quern_cross_entropy_views[QUERN_STEP_WHOLE].tensors(&loss, taker);
    quern_show_matrix(taker, "d_hidden", args->d_hidden, hidden, rows, width, args->d_hidden_stride, QUERN_TENSOR_OUT);
    quern_show_matrix(taker, "d_weight", args->d_weight, quern_element_of(args->d_weight_dtype), vocab, width,
                      args->d_weight_stride, sums);
    quern_show_vector(taker, "d_bias", args->d_bias, quern_float_element, vocab, sums);
}

static const struct quern_view view = {
    .name = "linear_cross_entropy", QUERN_ARGUMENTS(quern_linear_cross_entropy_args), .tensors = show};

static quern_status run(struct linear_call *call, quern_device *device, const quern_linear_cross_entropy_args *given,
                        void *workspace, size_t workspace_bytes, void *stream, struct quern_look *look) {
    const int threads = quern_threads_of(device);
    quern_status status = quern_linear_cross_entropy_check(device, given, &call->args);
    if (status == QUERN_OK) status = quern_linear_cross_entropy_check_pointers(device, &call->args);
    if (status != QUERN_OK) return status;
    call->offsets = lay_out(device, threads, &call->args);
    call->workspace = workspace;
    status = quern_check_workspace(device, workspace, workspace_bytes, call->offsets.total);
    if (status != QUERN_OK) return status;
    fill_all(call, device, threads, stream);
    status = check_loss(call, call->offsets.total);
    if (status == QUERN_OK) status = quern_check_stream(device, stream);
    if (status == QUERN_OK) status = quern_cross_entropy_check_labels(&call->all);
    if (status != QUERN_OK) return status;
    quern_show_call(look, &call->args, call);
    return run_all(call);
}

quern_status quern_linear_cross_entropy(quern_device *device, const quern_linear_cross_entropy_args *given, void *workspace,
                                        size_t workspace_bytes, void *stream) {
    struct linear_call call;
    struct quern_look look;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_begin_look(&look, &view, device, stream);
    fegetenv(&call.environment);
    fesetenv(FE_DFL_ENV);
    const quern_status status = run(&call, device, given, workspace, workspace_bytes, stream, &look);
    fesetenv(&call.environment);
    return quern_end_look(&look, status);
}
