/* Checks of the arguments of the last layer: matrices, bias and shards of the vocab.  Called by linear_cross_entropy.c. */
#include "cross_entropy/cross_entropy.h"

#include "os/integers.h"
#include "os/sizes.h"
#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/status.h"

enum { LEAST_CHUNK = 64 };

/*
 * By default the logits of a chunk have about as many elements as hidden, rows * width / vocab rows, or half of those of weight
 * if that is more: with few rows the products would only read weight.  At least LEAST_CHUNK.  Shards count as equal parts of the
 * whole vocab, so that all ranks choose the same chunk.
 */
static int64_t choose_chunk(const quern_linear_cross_entropy_args *args) {
    const int64_t rows = args->loss.rows;
    if (!rows || args->chunk_rows) return quern_smaller(args->chunk_rows, rows);
    const int64_t even = (int64_t)((__int128)rows * args->width * quern_larger(1, args->shard_count) / args->loss.global_vocab);
    return quern_smaller(rows, quern_larger(LEAST_CHUNK, quern_larger(even, args->width / 2) / LEAST_CHUNK * LEAST_CHUNK));
}

/* The fields of a shard are in use if there are shards. */
static quern_status check_unused(const quern_device *device, const quern_linear_cross_entropy_args *args) {
    const quern_cross_entropy_args *loss = &args->loss;
    const struct {
        const char *name;
        bool set, of_shard;
    } unused[] = {
        {"args.loss.logits", loss->logits, false},
        {"args.loss.grad", loss->grad, false},
        {"args.loss.stats", loss->stats, false},
        {"args.loss.nodes", loss->nodes, false},
        {"args.loss.shard_top_ids", loss->shard_top_ids, false},
        {"args.loss.shard_top_logits", loss->shard_top_logits, false},
        {"args.loss.shard_given_logits", loss->shard_given_logits, false},
        {"args.loss.logits_stride", loss->logits_stride, false},
        {"args.loss.grad_stride", loss->grad_stride, false},
        {"args.loss.padded_vocab", loss->padded_vocab, false},
        {"args.loss.first_column", loss->first_column, true},
        {"args.loss.global_vocab", loss->global_vocab, true},
    };
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        if (!unused[i].set || (unused[i].of_shard && args->shard_count)) continue;
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is set: expected NULL or 0, since %s", unused[i].name,
                          unused[i].of_shard ? "args.shard_count is 0" : "the logits are computed here");
    }
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

static quern_status check_dtypes(const quern_device *device, quern_linear_cross_entropy_args *args) {
    static const quern_dtype sums[] = {QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE};
    if (args->loss.grad_dtype != args->loss.logits_dtype)
        return quern_fail(device, QUERN_NOT_SUPPORTED, "args.loss.grad_dtype is %s with %s logits, which their gradient replaces: "
                          "expected the same dtype", quern_dtype_name(args->loss.grad_dtype),
                          quern_dtype_name(args->loss.logits_dtype));
    quern_status status = quern_check_dtype(device, "args.hidden_dtype", args->hidden_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.weight_dtype", args->weight_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.d_weight_dtype", args->d_weight_dtype, sums, true);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.bias_dtype", args->bias_dtype, quern_floats, true);
    if (!args->d_weight_dtype) args->d_weight_dtype = QUERN_F32;
    return status;
}

static quern_status check_matrices(const quern_device *device, quern_linear_cross_entropy_args *args) {
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
        {"args.loss.vocab", args->loss.vocab, "args.d_weight_stride", &args->d_weight_stride, args->d_weight_dtype},
    };
    quern_status status = quern_check_choice(device, "args.accumulate_weight", args->accumulate_weight, 1);
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

/* The bias and its gradient.  The product that adds a bias begins with it in the logits, which therefore must hold it exactly. */
static quern_status check_bias(const quern_device *device, const quern_linear_cross_entropy_args *args) {
    const quern_dtype bias = args->bias_dtype, logits = args->loss.logits_dtype;
    if (bias && bias != logits && logits != QUERN_F32)
        return quern_fail(device, QUERN_INVALID_DTYPE, "args.bias_dtype is %s with %s logits: expected the logits' dtype, or f32 "
                          "logits", quern_dtype_name(bias), quern_dtype_name(logits));
    if (bias || (!args->bias && !args->d_bias)) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_DTYPE, "args.bias_dtype is 0 and %s is set: expected the dtype of the bias",
                      args->bias ? "args.bias" : "args.d_bias");
}

/* The sums of a 16-bit d_weight are added to it as one array. */
static quern_status check_sums(const quern_device *device, const quern_linear_cross_entropy_args *args) {
    if (args->d_weight_dtype == QUERN_F32 || args->d_weight_stride == args->width || args->loss.vocab < 2) return QUERN_OK;
    return quern_fail(device, QUERN_NOT_SUPPORTED, "args.d_weight_dtype is %s with args.d_weight_stride %lld: expected f32, or a "
                      "stride of width, %lld", quern_dtype_name(args->d_weight_dtype), (long long)args->d_weight_stride,
                      (long long)args->width);
}

/*
 * Each of the other shards has a column at least, and what all shards exchange is no more than a buffer can hold.  The weights of
 * labels in other shards are known only when the gradients of other chunks have been written.
 */
static quern_status check_shards(const quern_device *device, const quern_linear_cross_entropy_args *args) {
    const quern_cross_entropy_args *loss = &args->loss;
    const char *largest;
    const int64_t most = quern_cross_entropy_most_shards(loss, &largest);
    quern_status status = quern_check_count(device, "args.shard_count", args->shard_count,
                                            quern_smaller(most, loss->global_vocab - loss->vocab + 1));
    if (status != QUERN_OK || !args->shard_count) return status;
    if (loss->soft_targets_dtype && (loss->divergence || loss->grad_divergence))
        return quern_fail(device, QUERN_NOT_SUPPORTED, "args.loss.soft_targets_dtype is %s with args.shard_count %lld: expected 0, "
                          "or a list in given_ids and target_probs", quern_dtype_name(loss->soft_targets_dtype),
                          (long long)args->shard_count);
    if (loss->reduction != QUERN_REDUCTION_MEAN || !loss->class_weights) return QUERN_OK;
    return quern_fail(device, QUERN_NOT_SUPPORTED, "args.loss.reduction is %d, a mean, of shards with class_weights: expected "
                      "%d, a sum", (int)loss->reduction, (int)QUERN_REDUCTION_SUM);
}

quern_status quern_linear_cross_entropy_check(const quern_device *device, const quern_linear_cross_entropy_args *given,
                                              quern_linear_cross_entropy_args *args) {
    quern_status status = quern_check_struct(device, "args", given, sizeof *given);
    if (status == QUERN_OK) status = quern_check_struct(device, "args.loss", &given->loss, sizeof given->loss);
    if (status != QUERN_OK) return status;
    *args = *given;
    status = check_unused(device, args);
    if (status == QUERN_OK) status = quern_cross_entropy_check(device, &given->loss, &args->loss);
    if (status == QUERN_OK) status = check_dtypes(device, args);
    if (status == QUERN_OK) status = check_matrices(device, args);
    if (status == QUERN_OK) status = check_bias(device, args);
    if (status == QUERN_OK) status = check_sums(device, args);
    if (status == QUERN_OK) status = check_shards(device, args);
    if (status == QUERN_OK) args->chunk_rows = choose_chunk(args);
    return status;
}

/* ---- buffers ---- */

static int64_t matrix_bytes(int64_t rows, int64_t columns, int64_t stride, quern_dtype dtype) {
    return rows && columns ? ((rows - 1) * stride + columns) * (int64_t)quern_dtype_bytes(dtype) : 0;
}

/* The buffers of the layer, beside those of the loss and the workspace. */
struct buffer {
    const char *name;
    const void *pointer;
    int64_t bytes;
    quern_dtype dtype;
    enum quern_access access;
    bool needed;
};

enum { HIDDEN, BUFFERS = 6 };

struct buffers {
    struct buffer list[BUFFERS];
};

static struct buffers list_buffers(const quern_linear_cross_entropy_args *args) {
    const int64_t rows = args->loss.rows, vocab = args->loss.vocab, width = args->width;
    const quern_dtype hidden = args->hidden_dtype, weight = args->weight_dtype, sums = args->d_weight_dtype,
                      bias = args->bias_dtype ? args->bias_dtype : QUERN_F32;
    return (struct buffers){{
        [HIDDEN] = {"args.hidden", args->hidden, matrix_bytes(rows, width, args->hidden_stride, hidden), hidden, QUERN_READ,
                    rows > 0},
        {"args.weight", args->weight, matrix_bytes(vocab, width, args->weight_stride, weight), weight, QUERN_READ, rows > 0},
        {"args.bias", args->bias, matrix_bytes(1, vocab, vocab, bias), bias, QUERN_READ, false},
        {"args.d_hidden", args->d_hidden, matrix_bytes(rows, width, args->d_hidden_stride, hidden), hidden, QUERN_WRITTEN, false},
        {"args.d_weight", args->d_weight, matrix_bytes(vocab, width, args->d_weight_stride, sums), sums, QUERN_WRITTEN, false},
        {"args.d_bias", args->d_bias, matrix_bytes(1, vocab, vocab, QUERN_F32), QUERN_F32, QUERN_WRITTEN, false},
    }};
}

bool quern_linear_cross_entropy_has_sums(const quern_linear_cross_entropy_args *args) {
    return args->d_weight_dtype != QUERN_F32 && args->chunk_rows < args->loss.rows;
}

static quern_status check_functions(const quern_device *device, const quern_linear_cross_entropy_args *args) {
    if (!args->gemm) return quern_fail(device, QUERN_NULL_POINTER, "args.gemm is NULL");
    if (args->shard_count && !args->gather)
        return quern_fail(device, QUERN_NULL_POINTER, "args.gather is NULL with args.shard_count %lld: expected the exchange of "
                          "the shards", (long long)args->shard_count);
    if (!args->d_weight || !quern_linear_cross_entropy_has_sums(args) || args->accumulate) return QUERN_OK;
    return quern_fail(device, QUERN_NULL_POINTER, "args.accumulate is NULL with a %s d_weight of several chunks: expected "
                      "quern_accumulate", quern_dtype_name(args->d_weight_dtype));
}

quern_status quern_linear_cross_entropy_check_pointers(const quern_device *device, const quern_linear_cross_entropy_args *args) {
    const struct buffers buffers = list_buffers(args);
    quern_status status = check_functions(device, args);
    for (const struct buffer *each = buffers.list; each < buffers.list + BUFFERS && status == QUERN_OK; each++)
        if (each->needed || each->pointer)
            status = quern_check_pointer(device, each->name, each->pointer, quern_dtype_bytes(each->dtype));
    return status;
}

quern_status quern_linear_cross_entropy_check_apart(const struct quern_cross_entropy_call *loss,
                                                    const quern_linear_cross_entropy_args *args, const void *workspace,
                                                    size_t bytes) {
    const struct buffers buffers = list_buffers(args);
    struct quern_cross_entropy_ranges ranges;
    quern_cross_entropy_list_ranges(loss, &ranges);
    for (int i = 0; i < BUFFERS; i++) {
        const struct buffer *each = &buffers.list[i];
        if (i == HIDDEN && args->d_hidden == args->hidden) continue;
        ranges.list[ranges.count++] = quern_range_of(each->name, each->pointer, each->bytes, each->access);
    }
    ranges.list[ranges.count++] = quern_range_of("workspace", workspace, (int64_t)bytes, QUERN_WRITTEN);
    return quern_check_apart(loss->device, NULL, ranges.list, NULL, ranges.count);
}
