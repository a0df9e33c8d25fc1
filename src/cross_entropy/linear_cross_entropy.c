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
#include "runtime/dtype.h"
#include "runtime/status.h"
#include "runtime/threads.h"

struct linear_call {
    quern_linear_cross_entropy_args args;    /* defaults filled in */
    struct quern_cross_entropy_call all;     /* all rows: their labels and losses */
    struct quern_cross_entropy_call chunk;
    char *logits;                            /* [chunk_rows, vocab] */
    fenv_t environment;                      /* of floating-point numbers, in which the engine calls */
};

/* ---- arguments ---- */

enum { LEAST_CHUNK = 64 };

/* By default the logits of a chunk have about as many elements as hidden: rows * width / vocab rows, but at least LEAST_CHUNK. */
static int64_t choose_chunk(const quern_linear_cross_entropy_args *args) {
    const int64_t rows = args->loss.rows;
    if (!rows || args->chunk_rows) return quern_smaller(args->chunk_rows, rows);
    const int64_t even = (int64_t)((__int128)rows * args->width / args->loss.vocab);
    return quern_smaller(rows, quern_larger(LEAST_CHUNK, even / LEAST_CHUNK * LEAST_CHUNK));
}

static quern_status check_unused(const quern_device *device, const quern_cross_entropy_args *loss) {
    const struct {
        const char *name;
        bool set;
    } unused[] = {
        {"args.loss.logits", loss->logits},
        {"args.loss.grad", loss->grad},
        {"args.loss.stats", loss->stats},
        {"args.loss.logits_stride", loss->logits_stride},
        {"args.loss.grad_stride", loss->grad_stride},
        {"args.loss.padded_vocab", loss->padded_vocab},
        {"args.loss.first_column", loss->first_column},
        {"args.loss.global_vocab", loss->global_vocab},
    };
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (unused[i].set)
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is set: expected NULL or 0, since the logits are computed here",
                              unused[i].name);
    return QUERN_OK;
}

/* A stride of 0 is the width, and is then the fault of the width. */
static quern_status check_matrix(const quern_device *device, const quern_linear_cross_entropy_args *args, const char *rows_name,
                                 int64_t rows, const char *name, int64_t *stride, quern_dtype dtype) {
    const bool is_default = !*stride;
    if (is_default) *stride = args->width;
    if (*stride < args->width)
        return quern_fail(device, QUERN_INVALID_SHAPE, "%s is %lld: expected at least width, %lld", name, (long long)*stride,
                          (long long)args->width);
    return quern_check_rows(device, rows_name, rows, is_default ? "args.width" : name, *stride, dtype);
}

static quern_status check_layer(const quern_device *device, quern_linear_cross_entropy_args *args) {
    struct {
        const char *rows_name;
        int64_t rows;
        const char *name;
        int64_t *stride;
        quern_dtype dtype;
    } matrices[] = {
        {"args.loss.rows", args->loss.rows, "args.hidden_stride", &args->hidden_stride, args->hidden_dtype},
        {"args.loss.vocab", args->loss.vocab, "args.weight_stride", &args->weight_stride, args->weight_dtype},
        {"args.loss.rows", args->loss.rows, "args.d_hidden_stride", &args->d_hidden_stride, args->hidden_dtype},
        {"args.loss.vocab", args->loss.vocab, "args.d_weight_stride", &args->d_weight_stride, QUERN_F32},
    };
    quern_status status = quern_check_dtype(device, "args.hidden_dtype", args->hidden_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.weight_dtype", args->weight_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_choice(device, "args.accumulate_weight", args->accumulate_weight, 1);
    if (status == QUERN_OK) status = quern_check_count(device, "args.width", args->width, QUERN_MOST_ROWS);
    if (status == QUERN_OK) status = quern_check_not_negative(device, "args.chunk_rows", args->chunk_rows);
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices && status == QUERN_OK; i++)
        status = check_matrix(device, args, matrices[i].rows_name, matrices[i].rows, matrices[i].name, matrices[i].stride,
                              matrices[i].dtype);
    if (status == QUERN_OK && args->d_hidden && args->d_hidden == args->hidden && args->d_hidden_stride != args->hidden_stride)
        status = quern_fail(device, QUERN_INVALID_SHAPE, "args.d_hidden_stride is %lld in place of hidden with stride %lld: "
                            "expected the same", (long long)args->d_hidden_stride, (long long)args->hidden_stride);
    return status;
}

static bool wants_gradient(const quern_linear_cross_entropy_args *args) { return args->d_hidden || args->d_weight; }

/* Checks everything but pointers.  The logits of a chunk are at most those of all rows, whose size is checked with the loss. */
static quern_status check_all(const quern_device *device, const quern_linear_cross_entropy_args *given,
                              quern_linear_cross_entropy_args *args) {
    quern_status status = quern_check_struct(device, "args", given, sizeof *given);
    if (status == QUERN_OK) status = quern_check_struct(device, "args.loss", &given->loss, sizeof given->loss);
    if (status != QUERN_OK) return status;
    *args = *given;
    status = check_unused(device, &args->loss);
    if (status == QUERN_OK) status = quern_cross_entropy_check(device, &given->loss, &args->loss);
    if (status == QUERN_OK) status = check_layer(device, args);
    if (status == QUERN_OK) args->chunk_rows = choose_chunk(args);
    return status;
}

static quern_status check_pointers(const quern_device *device, const quern_linear_cross_entropy_args *args) {
    const size_t element = quern_dtype_bytes(args->hidden_dtype);
    const struct {
        const char *name;
        const void *pointer;
        size_t alignment;
        bool needed;
    } pointers[] = {
        {"args.hidden", args->hidden, element, args->loss.rows > 0},
        {"args.weight", args->weight, quern_dtype_bytes(args->weight_dtype), args->loss.rows > 0},
        {"args.d_hidden", args->d_hidden, element, false},
        {"args.d_weight", args->d_weight, sizeof(float), false},
    };
    if (!args->gemm) return quern_fail(device, QUERN_NULL_POINTER, "args.gemm is NULL");
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        if (!pointers[i].needed && !pointers[i].pointer) continue;
        quern_status status = quern_check_pointer(device, pointers[i].name, pointers[i].pointer, pointers[i].alignment);
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}

static int64_t matrix_bytes(int64_t rows, int64_t columns, int64_t stride, quern_dtype dtype) {
    return rows && columns ? ((rows - 1) * stride + columns) * (int64_t)quern_dtype_bytes(dtype) : 0;
}

/* The hidden states and their gradient may be one matrix.  d_weight is computed before it is overwritten. */
static quern_status check_apart(const struct quern_cross_entropy_call *loss, const quern_linear_cross_entropy_args *args,
                                const void *workspace, size_t bytes) {
    struct quern_cross_entropy_ranges ranges;
    const int64_t rows = args->loss.rows, vocab = args->loss.vocab, width = args->width;
    const int64_t hidden = matrix_bytes(rows, width, args->hidden_stride, args->hidden_dtype);
    const int64_t weight = matrix_bytes(vocab, width, args->weight_stride, args->weight_dtype);
    const int64_t d_hidden = matrix_bytes(rows, width, args->d_hidden_stride, args->hidden_dtype);
    const int64_t d_weight = matrix_bytes(vocab, width, args->d_weight_stride, QUERN_F32);
    quern_cross_entropy_list_ranges(loss, &ranges);
    struct quern_range *next = &ranges.list[ranges.count];
    *next++ = quern_range_of("args.weight", args->weight, weight, QUERN_READ);
    *next++ = quern_range_of("args.d_hidden", args->d_hidden, d_hidden, QUERN_WRITTEN);
    *next++ = quern_range_of("args.d_weight", args->d_weight, d_weight, QUERN_WRITTEN);
    *next++ = quern_range_of("workspace", workspace, (int64_t)bytes, QUERN_WRITTEN);
    if (args->d_hidden != args->hidden) *next++ = quern_range_of("args.hidden", args->hidden, hidden, QUERN_READ);
    return quern_check_apart(loss->device, NULL, ranges.list, NULL, next - ranges.list);
}

/* ---- workspace: the logits of a chunk, then the workspaces of the call for all rows and of the call for a chunk ---- */

/* Each part of the workspace begins at a multiple of 256 bytes. */
static size_t padded(size_t bytes) { return quern_round_up(bytes, 256); }

static size_t logits_bytes(const quern_linear_cross_entropy_args *args) {
    return padded((size_t)args->chunk_rows * (size_t)args->loss.vocab * quern_dtype_bytes(args->loss.logits_dtype));
}

static size_t all_bytes(const quern_device *device, int threads, const quern_linear_cross_entropy_args *args) {
    return padded(quern_cross_entropy_needs(device, threads, QUERN_STEP_WHOLE, &args->loss));
}

static size_t chunk_bytes(const quern_device *device, int threads, const quern_linear_cross_entropy_args *args) {
    quern_cross_entropy_args chunk = args->loss;
    chunk.rows = args->chunk_rows;
    return quern_cross_entropy_needs(device, threads, QUERN_STEP_WHOLE, &chunk);
}

static size_t needed_bytes(const quern_device *device, int threads, const quern_linear_cross_entropy_args *args) {
    return logits_bytes(args) + all_bytes(device, threads, args) + chunk_bytes(device, threads, args);
}

/* An address in the workspace, which is NULL if it has no bytes. */
static char *inside(char *workspace, size_t offset) { return workspace ? workspace + offset : NULL; }

static struct quern_cross_entropy_call begin_call(quern_device *device, const quern_linear_cross_entropy_args *args, void *stream) {
    return (struct quern_cross_entropy_call){.device = device, .step = QUERN_STEP_WHOLE, .args = args->loss, .stream = stream};
}

static void fill_calls(struct linear_call *call, quern_device *device, int threads, char *workspace, void *stream) {
    const quern_linear_cross_entropy_args *args = &call->args;
    call->logits = workspace;
    call->all = begin_call(device, args, stream);
    call->all.threads = threads;
    call->all.args.logits = call->logits;
    call->all.args.grad = wants_gradient(args) ? call->logits : NULL;
    call->chunk = call->all;
    call->chunk.args.rows = args->chunk_rows;
    quern_cross_entropy_fill(&call->all, inside(workspace, logits_bytes(args)));
    quern_cross_entropy_fill(&call->chunk, inside(workspace, logits_bytes(args) + all_bytes(device, threads, args)));
    call->chunk.problem.kept_of_bad_rows &= ~QUERN_KEPT_GRAD;  /* the products read the gradient of every row */
}

/* The pointers of the loss, and then all buffers; those of the logits are in the workspace. */
static quern_status check_loss(const struct linear_call *call, const void *workspace, size_t bytes) {
    const struct quern_cross_entropy_call loss = begin_call(call->all.device, &call->args, NULL);
    struct quern_cross_entropy_ranges ranges;
    quern_status status = quern_cross_entropy_check_step(&call->all, &ranges);
    return status == QUERN_OK ? check_apart(&loss, &call->args, workspace, bytes) : status;
}

/* ---- a chunk ---- */

/* Points the call for a chunk at its rows. */
static void fill_chunk(struct linear_call *call, int64_t first, int64_t rows) {
    const struct quern_cross_entropy_problem *all = &call->all.problem;
    struct quern_cross_entropy_problem *chunk = &call->chunk.problem;
    chunk->rows = call->chunk.args.rows = rows;
    chunk->labels = (const char *)all->labels + (size_t)first * (all->labels_are_int64 ? 8 : 4);
    chunk->grad_loss = all->grad_loss ? all->grad_loss + first * all->grad_loss_stride : NULL;
    chunk->grad_log_prob = all->grad_log_prob ? all->grad_log_prob + first * all->grad_log_prob_stride : NULL;
    chunk->grad_entropy = all->grad_entropy ? all->grad_entropy + first * all->grad_entropy_stride : NULL;
    chunk->inverse_temperatures = all->inverse_temperatures ? all->inverse_temperatures + first : NULL;
    chunk->row_loss = all->row_loss ? all->row_loss + first : NULL;
    chunk->lse = all->lse ? all->lse + first : NULL;
    chunk->log_prob = all->log_prob ? all->log_prob + first : NULL;
    chunk->entropy = all->entropy ? all->entropy + first : NULL;
    chunk->argmax = all->argmax ? all->argmax + first : NULL;
    chunk->divisor = all->divisor;
    chunk->report = all->report;
    chunk->loss = NULL;
}

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

/* logits[rows, vocab] = hidden[rows, width] * weight[vocab, width]^T */
static quern_status compute_logits(const struct linear_call *call, int64_t first, int64_t rows) {
    const quern_linear_cross_entropy_args *args = &call->args;
    return multiply(call, &(quern_gemm_args){
        .size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = rows, .n = args->loss.vocab, .k = args->width,
        .a = row_of(args->hidden, first, args->hidden_stride, args->hidden_dtype), .a_dtype = args->hidden_dtype,
        .a_stride = args->hidden_stride,
        .b = args->weight, .b_dtype = args->weight_dtype, .b_stride = args->weight_stride, .b_transposed = 1,
        .c = call->logits, .c_dtype = args->loss.logits_dtype, .c_stride = args->loss.vocab});
}

/* d_weight[vocab, width] (+)= d_logits[rows, vocab]^T * hidden[rows, width] */
static quern_status compute_d_weight(const struct linear_call *call, int64_t first, int64_t rows) {
    const quern_linear_cross_entropy_args *args = &call->args;
    return multiply(call, &(quern_gemm_args){
        .size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = args->loss.vocab, .n = args->width, .k = rows,
        .a = call->logits, .a_dtype = args->loss.logits_dtype, .a_stride = args->loss.vocab, .a_transposed = 1,
        .b = row_of(args->hidden, first, args->hidden_stride, args->hidden_dtype), .b_dtype = args->hidden_dtype,
        .b_stride = args->hidden_stride,
        .c = args->d_weight, .c_dtype = QUERN_F32, .c_stride = args->d_weight_stride,
        .accumulate = first > 0 || args->accumulate_weight});
}

/* d_hidden[rows, width] = d_logits[rows, vocab] * weight[vocab, width] */
static quern_status compute_d_hidden(const struct linear_call *call, int64_t first, int64_t rows) {
    const quern_linear_cross_entropy_args *args = &call->args;
    return multiply(call, &(quern_gemm_args){
        .size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = rows, .n = args->width, .k = args->loss.vocab,
        .a = call->logits, .a_dtype = args->loss.logits_dtype, .a_stride = args->loss.vocab,
        .b = args->weight, .b_dtype = args->weight_dtype, .b_stride = args->weight_stride,
        .c = row_of(args->d_hidden, first, args->d_hidden_stride, args->hidden_dtype), .c_dtype = args->hidden_dtype,
        .c_stride = args->d_hidden_stride});
}

static quern_status run_chunk(struct linear_call *call, int64_t first, int64_t rows) {
    quern_status status = compute_logits(call, first, rows);
    if (status != QUERN_OK) return status;
    fill_chunk(call, first, rows);
    call->chunk.tasks = QUERN_RUN_ROWS;
    status = quern_cross_entropy_run(&call->chunk);
    if (status == QUERN_OK && call->args.d_weight) status = compute_d_weight(call, first, rows);
    if (status == QUERN_OK && call->args.d_hidden) status = compute_d_hidden(call, first, rows);
    return status;
}

/* Without rows d_weight is 0: a product with k = 0 writes it. */
static quern_status run_chunks(struct linear_call *call) {
    const int64_t rows = call->args.loss.rows;
    if (!rows) return call->args.d_weight ? compute_d_weight(call, 0, 0) : QUERN_OK;
    for (int64_t first = 0; first < rows; first += call->args.chunk_rows) {
        quern_status status = run_chunk(call, first, quern_smaller(call->args.chunk_rows, rows - first));
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}

static quern_status run_task(struct quern_cross_entropy_call *call, unsigned task) {
    call->tasks = task;
    return quern_cross_entropy_run(call);
}

/* ---- the public functions ---- */

quern_status quern_linear_cross_entropy_workspace(const quern_device *device, const quern_linear_cross_entropy_args *given,
                                                  size_t *bytes) {
    quern_linear_cross_entropy_args args;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_status status = check_all(device, given, &args);
    if (status != QUERN_OK) return status;
    const size_t needed = needed_bytes(device, quern_threads_of(device), &args);
    status = quern_check_needed(device, needed);
    if (status == QUERN_OK) *bytes = needed;
    return status;
}

static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct linear_call *call = context;
    const quern_linear_cross_entropy_args *args = &call->args;
    const struct quern_cross_entropy_call loss = begin_call(call->all.device, args, NULL);
    const int64_t rows = args->loss.rows, vocab = args->loss.vocab, width = args->width;
    const struct quern_element hidden = quern_element_of(args->hidden_dtype), weight = quern_element_of(args->weight_dtype);
    quern_show_matrix(taker, "hidden", args->hidden, hidden, rows, width, args->hidden_stride, QUERN_TENSOR_IN);
    quern_show_matrix(taker, "weight", args->weight, weight, vocab, width, args->weight_stride, QUERN_TENSOR_IN);
    quern_cross_entropy_views[QUERN_STEP_WHOLE].tensors(&loss, taker);
    quern_show_matrix(taker, "d_hidden", args->d_hidden, hidden, rows, width, args->d_hidden_stride, QUERN_TENSOR_OUT);
    quern_show_matrix(taker, "d_weight", args->d_weight, quern_float_element, vocab, width, args->d_weight_stride,
                      args->accumulate_weight ? QUERN_TENSOR_BOTH : QUERN_TENSOR_OUT);
}

static const struct quern_view view = {
    .name = "linear_cross_entropy", QUERN_ARGUMENTS(quern_linear_cross_entropy_args), .tensors = show};

static quern_status run(struct linear_call *call, quern_device *device, const quern_linear_cross_entropy_args *given,
                        void *workspace, size_t workspace_bytes, void *stream, struct quern_look *look) {
    const int threads = quern_threads_of(device);
    quern_status status = check_all(device, given, &call->args);
    if (status == QUERN_OK) status = check_pointers(device, &call->args);
    const size_t needed = status == QUERN_OK ? needed_bytes(device, threads, &call->args) : 0;
    if (status == QUERN_OK) status = quern_check_workspace(device, workspace, workspace_bytes, needed);
    if (status != QUERN_OK) return status;
    fill_calls(call, device, threads, workspace, stream);
    status = check_loss(call, workspace, needed);
    if (status == QUERN_OK) status = quern_check_stream(device, stream);
    if (status == QUERN_OK) status = quern_cross_entropy_check_labels(&call->all);
    if (status != QUERN_OK) return status;
    quern_show_call(look, &call->args, call);
    status = run_task(&call->all, QUERN_COUNT_LABELS);
    if (status == QUERN_OK) status = run_chunks(call);
    return status == QUERN_OK ? run_task(&call->all, QUERN_SUM_LOSSES) : status;
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
