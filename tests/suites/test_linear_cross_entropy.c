/*
 * The last layer with its loss, processed in chunks of rows, against the same products and quern_cross_entropy on all rows at
 * once. The products are computed on the host in double.  The BLAS that the library opens is compared with them too.
 *
 * Runs on: cpu, emulated, gpu; kernels of cross_entropy.
 */
#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/cuda.h"
#include "harness/host_product.h"
#include "harness/random.h"
#include "oracle/dtype.h"

/* ---- products on the host ---- */

static size_t matrix_bytes(const struct matrix *matrix) {
    return (size_t)(matrix->rows * matrix->stride) * quern_dtype_bytes(matrix->dtype);
}

struct products {
    const struct test_device *device;
    int made;
    int fail_at;       /* index of the product that fails; -1: none */
};

static quern_status gemm(void *user, const quern_gemm_args *args, void *stream) {
    struct products *products = user;
    check(stream == products->device->stream, "another stream");
    check(args->size == QUERN_STRUCT_SIZE(quern_gemm_args), "the size is %u", args->size);
    if (products->made++ == products->fail_at) return QUERN_SYSTEM_ERROR;
    host_product(products->device, args);
    return QUERN_OK;
}

static quern_status no_product(UNUSED void *user, UNUSED const quern_gemm_args *args, UNUSED void *stream) { return QUERN_OK; }

/* ---- a layer ---- */

struct shape {
    quern_dtype hidden, weight, logits;
    int64_t rows, vocab, width, chunk_rows;
    quern_reduction reduction;
    float label_smoothing, softcap, z_loss;
    int64_t padding;  /* added to every stride */
    int64_t upstream_stride;
    bool accumulate;
    quern_dtype bias, d_weight;  /* 0: none, and F32 */
    bool weighs;      /* class weights */
    bool is_portable; /* portable bits, without what has none */
    bool policy;      /* upstream gradients of log_prob and entropy, and temperatures, with the values of grad_loss */
    bool is_soft;     /* the divergence is from targets of all columns */
    uint64_t seed;
};

/* The values of each row beside its loss: lse, log_prob and entropy; and the columns of its lists. */
enum { ROW_VALUES = 3, LISTED = 3 };
static const char *const row_names[ROW_VALUES] = {"lse", "log_prob", "entropy"};

/* The largest columns, their log-probabilities, those of given columns, and the divergence from the targets of these. */
struct lists {
    struct buffer ids, top, given, divergence;
};

struct layer {
    struct shape shape;
    struct test_device device;
    struct buffer hidden, weight, labels, d_hidden, d_weight, bias, d_bias, class_weights, loss, upstream, argmax;
    struct buffer values[ROW_VALUES], given_ids, targets, soft;
    struct lists lists;
    quern_linear_cross_entropy_args args;
    struct products products;
};

static void *make_values(quern_dtype dtype, int64_t rows, int64_t columns, int64_t stride, double spread, uint64_t seed) {
    void *values = malloc((size_t)(rows * stride) * quern_dtype_bytes(dtype) + 1);
    fill_pattern(values, (size_t)(rows * stride) * quern_dtype_bytes(dtype));
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            dtype_store(dtype, values, row * stride + column, spread * random_normal(seed, (uint64_t)(row * columns + column)));
    return values;
}

static void open_matrix(struct layer *layer, struct buffer *buffer, quern_dtype dtype, int64_t rows, double spread, uint64_t seed) {
    const int64_t stride = layer->shape.width + layer->shape.padding;
    SCOPED void *values = make_values(dtype, rows, layer->shape.width, stride, spread, seed);
    buffer_open(buffer, &layer->device, (size_t)(rows * stride) * quern_dtype_bytes(dtype), quern_dtype_bytes(dtype), values);
}

static quern_dtype d_weight_dtype(const struct shape *shape) { return shape->d_weight ? shape->d_weight : QUERN_F32; }

static void open_bias(struct layer *layer) {
    const struct shape *s = &layer->shape;
    const quern_dtype dtype = s->bias ? s->bias : QUERN_F32;
    SCOPED void *bias = make_values(dtype, 1, s->vocab, s->vocab, 2, s->seed + 6);
    SCOPED void *before = make_values(QUERN_F32, 1, s->vocab, s->vocab, 0.1, s->seed + 7);
    buffer_open(&layer->bias, &layer->device, (size_t)s->vocab * quern_dtype_bytes(dtype), quern_dtype_bytes(dtype), bias);
    buffer_open(&layer->d_bias, &layer->device, (size_t)s->vocab * sizeof(float), sizeof(float), before);
    layer->args.bias_dtype = s->bias;
    if (s->bias) layer->args.bias = layer->bias.data, layer->args.d_bias = layer->d_bias.data;
}

static void open_class_weights(struct layer *layer) {
    const int64_t vocab = layer->shape.vocab;
    SCOPED float *weights = malloc((size_t)vocab * sizeof *weights + 1);
    for (int64_t i = 0; i < vocab; i++) weights[i] = (float)(0.5 + random_uniform(layer->shape.seed + 8, (uint64_t)i));
    buffer_open(&layer->class_weights, &layer->device, (size_t)vocab * sizeof *weights, sizeof *weights, weights);
    if (layer->shape.weighs) layer->args.loss.class_weights = layer->class_weights.data;
}

static void open_labels(struct layer *layer) {
    const int64_t rows = layer->shape.rows;
    SCOPED int32_t *labels = malloc((size_t)rows * sizeof *labels + 1);
    for (int64_t row = 0; row < rows; row++)
        labels[row] = row % 11 == 3 ? -100 : row == 5 ? -7
            : (int32_t)random_below(layer->shape.seed + 3, (uint64_t)row, layer->shape.vocab);
    buffer_open(&layer->labels, &layer->device, (size_t)rows * sizeof *labels, 4, labels);
}

/* The values that the stride spans and no others: a read beyond them meets the guards of the buffer. */
static void open_upstream(struct layer *layer) {
    const int64_t stride = layer->shape.upstream_stride, last = layer->shape.rows ? layer->shape.rows - 1 : 0;
    const int64_t count = (stride < 0 ? -stride : stride) * last + 1;
    float *upstream = malloc((size_t)count * sizeof *upstream);
    for (int64_t i = 0; i < count; i++) upstream[i] = (float)(1 + random_uniform(layer->shape.seed + 4, (uint64_t)i));
    buffer_open(&layer->upstream, &layer->device, (size_t)count * sizeof *upstream, 4, upstream);
    free(upstream);
    layer->args.loss.grad_loss = (const float *)layer->upstream.data + (stride < 0 ? count - 1 : 0);
    layer->args.loss.grad_loss_stride = stride;
    if (!layer->shape.policy) return;
    layer->args.loss.grad_log_prob = layer->args.loss.grad_entropy = layer->args.loss.grad_loss;
    layer->args.loss.grad_log_prob_stride = layer->args.loss.grad_entropy_stride = stride;
    layer->args.loss.grad_divergence = layer->args.loss.grad_loss, layer->args.loss.grad_divergence_stride = stride;
    if (stride) layer->args.loss.inverse_temperatures = layer->upstream.data;
}

static void open_row_values(const struct layer *layer, struct buffer values[ROW_VALUES], quern_cross_entropy_args *args) {
    for (int i = 0; i < ROW_VALUES; i++)
        buffer_open(&values[i], &layer->device, sizeof(float) * (size_t)layer->shape.rows, 4, NULL);
    args->lse = values[0].data, args->log_prob = values[1].data, args->entropy = values[2].data;
}

static void open_lists(const struct layer *layer, struct lists *lists, quern_cross_entropy_args *args) {
    const size_t count = (size_t)layer->shape.rows * LISTED;
    buffer_open(&lists->ids, &layer->device, count * sizeof(int64_t), 8, NULL);
    buffer_open(&lists->top, &layer->device, count * sizeof(float), 4, NULL);
    buffer_open(&lists->given, &layer->device, count * sizeof(float), 4, NULL);
    args->top_k = args->given_count = LISTED, args->given_ids = layer->given_ids.data;
    args->top_ids = lists->ids.data, args->top_log_probs = lists->top.data, args->given_log_probs = lists->given.data;
    buffer_open(&lists->divergence, &layer->device, (size_t)layer->shape.rows * sizeof(float), 4, NULL);
    if (layer->shape.is_portable) return;
    args->divergence_kind = layer->shape.is_soft ? QUERN_JENSEN_SHANNON : QUERN_KL_FORWARD;
    args->divergence = lists->divergence.data;
    if (layer->shape.is_soft) {
        args->soft_targets_dtype = QUERN_F16, args->soft_targets = layer->soft.data;
        return;
    }
    args->target_probs = layer->targets.data, args->has_tail = 1;
}

static void close_lists(struct lists *lists) {
    buffer_close(&lists->ids), buffer_close(&lists->top), buffer_close(&lists->given), buffer_close(&lists->divergence);
}

static void open_given_ids(struct layer *layer) {
    const int64_t count = layer->shape.rows * LISTED;
    SCOPED int64_t *ids = malloc((size_t)count * sizeof *ids + 1);
    SCOPED float *targets = malloc((size_t)count * sizeof *targets + 1);
    for (int64_t i = 0; i < count; i++) {
        const int64_t first = random_below(layer->shape.seed + 10, (uint64_t)(i / LISTED), layer->shape.vocab);
        ids[i] = (first + i % LISTED) % layer->shape.vocab;
        targets[i] = (float)random_uniform(layer->shape.seed + 11, (uint64_t)i) / LISTED;
    }
    buffer_open(&layer->given_ids, &layer->device, (size_t)count * sizeof *ids, 8, ids);
    buffer_open(&layer->targets, &layer->device, (size_t)count * sizeof *targets, 4, targets);
    const int64_t all = layer->shape.is_soft ? layer->shape.rows * layer->shape.vocab : 0;
    SCOPED uint16_t *soft = malloc((size_t)all * sizeof *soft + 1);
    for (int64_t i = 0; i < all; i++)
        dtype_store(QUERN_F16, soft, i, random_uniform(layer->shape.seed + 12, (uint64_t)i) * 2 / (double)layer->shape.vocab);
    buffer_open(&layer->soft, &layer->device, (size_t)all * sizeof *soft, 2, soft);
}

static void open_layer(struct layer *layer, const struct shape *shape) {
    *layer = (struct layer){.shape = *shape};
    const int64_t stride = shape->width + shape->padding;
    device_open(&layer->device, 0, NULL);
    check_ok(quern_prepare(layer->device.quern, QUERN_CROSS_ENTROPY | (shape->d_weight == QUERN_BF16 ? QUERN_ADAM : 0)));
    open_matrix(layer, &layer->hidden, shape->hidden, shape->rows, 1, shape->seed);
    open_matrix(layer, &layer->weight, shape->weight, shape->vocab, 0.5, shape->seed + 1);
    open_matrix(layer, &layer->d_hidden, shape->hidden, shape->rows, 1, shape->seed + 2);
    open_matrix(layer, &layer->d_weight, d_weight_dtype(shape), shape->vocab, 0.1, shape->seed + 5);
    open_labels(layer);
    buffer_open(&layer->loss, &layer->device, sizeof(float) * (size_t)(shape->reduction ? 1 : shape->rows), 4, NULL);
    buffer_open(&layer->argmax, &layer->device, sizeof(int64_t) * (size_t)shape->rows, 8, NULL);
    layer->products = (struct products){.device = &layer->device, .fail_at = -1};
    quern_linear_cross_entropy_args *args = &layer->args;
    *args = (quern_linear_cross_entropy_args)QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    args->hidden_dtype = shape->hidden, args->weight_dtype = shape->weight, args->width = shape->width;
    args->loss.logits_dtype = shape->logits, args->loss.labels_dtype = QUERN_INT32, args->loss.reduction = shape->reduction;
    args->loss.rows = shape->rows, args->loss.vocab = shape->vocab;
    args->loss.labels = layer->labels.data, args->loss.loss = layer->loss.data;
    args->loss.label_smoothing = shape->label_smoothing, args->loss.softcap = shape->softcap, args->loss.z_loss = shape->z_loss;
    args->loss.argmax = layer->argmax.data;
    open_row_values(layer, layer->values, &args->loss);
    open_given_ids(layer);
    open_lists(layer, &layer->lists, &args->loss);
    args->hidden = layer->hidden.data, args->weight = layer->weight.data;
    args->d_hidden = layer->d_hidden.data, args->d_weight = layer->d_weight.data, args->accumulate_weight = shape->accumulate;
    args->hidden_stride = args->weight_stride = args->d_hidden_stride = args->d_weight_stride = stride;
    args->chunk_rows = shape->chunk_rows, args->gemm = gemm, args->gemm_user = &layer->products;
    args->d_weight_dtype = shape->d_weight;
    args->accumulate = quern_accumulate;
    open_bias(layer);
    open_class_weights(layer);
    if (shape->is_portable) args->loss.bits = QUERN_BITS_PORTABLE;
    open_upstream(layer);
}

static void close_layer(struct layer *layer) {
    struct buffer *buffers[] = {&layer->hidden, &layer->weight, &layer->labels, &layer->d_hidden,
                                &layer->d_weight, &layer->bias,   &layer->d_bias,   &layer->loss,
                                &layer->upstream, &layer->argmax,       &layer->class_weights, &layer->given_ids,
                                &layer->targets, &layer->soft};
    for (size_t i = 0; i < COUNT(buffers); i++) buffer_close(buffers[i]);
    for (int i = 0; i < ROW_VALUES; i++) buffer_close(&layer->values[i]);
    close_lists(&layer->lists);
    device_close(&layer->device);
}

static quern_status run_layer(struct layer *layer) {
    size_t bytes = 0;
    check_ok(quern_linear_cross_entropy_workspace(layer->device.quern, &layer->args, &bytes));
    OPEN_BUFFER(workspace, &layer->device, bytes, 0, NULL);
    quern_status status = quern_linear_cross_entropy(layer->device.quern, &layer->args, workspace.data, bytes,
                                                     layer->device.stream);
    return status;
}

/* ---- the same on all rows at once ---- */

struct whole {
    struct matrix hidden, weight, logits, d_hidden, d_weight, d_bias;
    float *loss, *values[ROW_VALUES], *top, *given, *divergence;
    int64_t *argmax, *top_ids;
};

static struct matrix copy_of(struct buffer *buffer, quern_dtype dtype, int64_t rows, int64_t columns, int64_t stride) {
    struct matrix m = {dtype, rows, columns, stride, malloc(buffer->bytes + 1)};
    memcpy(m.data, buffer_read(buffer), buffer->bytes);
    return m;
}

static void *contents_of(struct buffer *buffer) {
    void *copy = malloc(buffer->bytes + 1);
    memcpy(copy, buffer_read(buffer), buffer->bytes);
    return copy;
}

static void run_cross_entropy(struct layer *layer, struct whole *whole) {
    struct buffer logits, loss, argmax, values[ROW_VALUES], workspace;
    quern_cross_entropy_args args = layer->args.loss;
    size_t bytes = 0;
    buffer_open(&logits, &layer->device, matrix_bytes(&whole->logits), 0, whole->logits.data);
    buffer_open(&loss, &layer->device, layer->loss.bytes, 0, NULL);
    buffer_open(&argmax, &layer->device, layer->argmax.bytes, 0, NULL);
    args.logits = args.grad = logits.data, args.loss = loss.data;
    struct lists lists CLOSED_BY(close_lists);
    open_row_values(layer, values, &args);
    open_lists(layer, &lists, &args);
    args.argmax = argmax.data;
    check_ok(quern_cross_entropy_workspace(layer->device.quern, &args, &bytes));
    buffer_open(&workspace, &layer->device, bytes, 0, NULL);
    check_ok(quern_cross_entropy(layer->device.quern, &args, workspace.data, bytes, layer->device.stream));
    buffer_close(&workspace);
    memcpy(whole->logits.data, buffer_read(&logits), matrix_bytes(&whole->logits));
    whole->loss = contents_of(&loss), whole->argmax = contents_of(&argmax);
    whole->top_ids = contents_of(&lists.ids), whole->top = contents_of(&lists.top), whole->given = contents_of(&lists.given);
    whole->divergence = contents_of(&lists.divergence);
    buffer_close(&logits);
    buffer_close(&loss);
    buffer_close(&argmax);
    for (int i = 0; i < ROW_VALUES; i++) {
        whole->values[i] = contents_of(&values[i]);
        buffer_close(&values[i]);
    }
}

/* The bias in each row. */
static void add_bias(struct layer *layer, const struct matrix *logits) {
    const char *bias = buffer_read(&layer->bias);
    for (int64_t i = 0; i < logits->rows * logits->columns && layer->shape.bias; i++)
        dtype_store(logits->dtype, logits->data, i, dtype_load(layer->shape.bias, bias, i % logits->columns));
}

/* The sum of the rows. */
static void add_rows(const struct matrix *rows, bool accumulate, const struct matrix *sums) {
    for (int64_t column = 0; column < rows->columns; column++) {
        double sum = accumulate ? matrix_at(sums, 0, 0, column) : 0;
        for (int64_t row = 0; row < rows->rows; row++) sum += matrix_at(rows, 0, row, column);
        dtype_store(QUERN_F32, sums->data, column, sum);
    }
}

/* Makes the elements of a matrix those of fp32, so that only the comparison rounds them. */
static void widen(struct matrix *matrix) {
    const int64_t count = matrix->rows * matrix->stride;
    float *wide = malloc((size_t)count * sizeof *wide + 1);
    for (int64_t i = 0; i < count; i++) wide[i] = (float)dtype_load(matrix->dtype, matrix->data, i);
    free(matrix->data);
    matrix->data = wide, matrix->dtype = QUERN_F32;
}

static void run_whole(struct layer *layer, struct whole *whole) {
    const struct shape *s = &layer->shape;
    const int64_t stride = s->width + s->padding;
    whole->hidden = copy_of(&layer->hidden, s->hidden, s->rows, s->width, stride);
    whole->weight = copy_of(&layer->weight, s->weight, s->vocab, s->width, stride);
    whole->d_hidden = copy_of(&layer->d_hidden, s->hidden, s->rows, s->width, stride);
    whole->d_weight = copy_of(&layer->d_weight, d_weight_dtype(s), s->vocab, s->width, stride);
    whole->d_bias = copy_of(&layer->d_bias, QUERN_F32, 1, s->vocab, s->vocab);
    whole->logits = (struct matrix){s->logits, s->rows, s->vocab, s->vocab,
                                    malloc((size_t)(s->rows * s->vocab) * quern_dtype_bytes(s->logits) + 1)};
    add_bias(layer, &whole->logits);
    matrix_multiply(&(quern_gemm_args){.m = s->rows, .n = s->vocab, .k = s->width, .b_transposed = 1, .accumulate = s->bias != 0},
                    &whole->hidden, &whole->weight, &whole->logits);
    run_cross_entropy(layer, whole);
    add_rows(&whole->logits, s->accumulate, &whole->d_bias);
    widen(&whole->d_weight);
    matrix_multiply(&(quern_gemm_args){.m = s->vocab, .n = s->width, .k = s->rows, .a_transposed = 1,
                                       .accumulate = s->accumulate}, &whole->logits, &whole->hidden, &whole->d_weight);
    matrix_multiply(&(quern_gemm_args){.m = s->rows, .n = s->width, .k = s->vocab}, &whole->logits, &whole->weight,
                    &whole->d_hidden);
}

static void free_whole(struct whole *whole) {
    void *all[] = {whole->hidden.data, whole->weight.data, whole->logits.data, whole->d_hidden.data, whole->d_weight.data,
                   whole->d_bias.data, whole->loss, whole->argmax, whole->values[0], whole->values[1], whole->values[2],
                   whole->top_ids, whole->top, whole->given, whole->divergence};
    for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
}

/*
 * Sums in fp32 over the chunks, which are rounded to the dtype once: not below what the least sum gives, nor above the largest.
 * On a GPU the gradients of shards differ from those of one call where terms cancel.
 */
static void compare_sums(const struct layer *layer, const struct matrix *expected, const void *data, quern_dtype dtype,
                         const char *name) {
    const bool differs = layer->device.kind == QUERN_CUDA && layer->args.shard_count && !layer->shape.is_portable;
    for (int64_t row = 0; row < expected->rows; row++)
        for (int64_t column = 0; column < expected->columns; column++) {
            const double e = matrix_at(expected, 0, row, column), f = dtype_load(dtype, data, row * expected->stride + column);
            const double error = (differs ? 1e-4 : 1e-5) * fabs(e) + 1e-6;
            check(f >= dtype_round(dtype, e - error) && f <= dtype_round(dtype, e + error), "%s[%lld][%lld] is %.9g instead of "
                  "%.9g, chunk %lld", name, (long long)row, (long long)column, f, e, (long long)layer->shape.chunk_rows);
        }
}

static void compare_d_weight(struct layer *layer, const struct whole *whole) {
    compare_sums(layer, &whole->d_weight, buffer_read(&layer->d_weight), d_weight_dtype(&layer->shape), "d_weight");
    if (layer->shape.bias) compare_sums(layer, &whole->d_bias, buffer_read(&layer->d_bias), QUERN_F32, "d_bias");
}

#define OPEN_LAYER(layer, shape) struct layer layer CLOSED_BY(close_layer); open_layer(&layer, shape)
#define OPEN_WHOLE(whole, layer) struct whole whole CLOSED_BY(free_whole); run_whole(layer, &whole)

/* With products in double everything except d_weight has the same bits for any chunk. */
static void check_layer(const struct shape *shape) {
    OPEN_LAYER(layer, shape);
    OPEN_WHOLE(whole, &layer);
    check_ok(run_layer(&layer));
    check(!memcmp(whole.loss, buffer_read(&layer.loss), layer.loss.bytes), "another loss, %g instead of %g",
          (double)*(float *)buffer_read(&layer.loss), (double)*whole.loss);
    check(!memcmp(whole.argmax, buffer_read(&layer.argmax), layer.argmax.bytes), "another argmax");
    for (int i = 0; i < ROW_VALUES; i++)
        check(!memcmp(whole.values[i], buffer_read(&layer.values[i]), layer.values[i].bytes), "another %s", row_names[i]);
    check(!memcmp(whole.top_ids, buffer_read(&layer.lists.ids), layer.lists.ids.bytes), "other largest columns");
    check(!memcmp(whole.top, buffer_read(&layer.lists.top), layer.lists.top.bytes), "other log-probabilities");
    check(!memcmp(whole.given, buffer_read(&layer.lists.given), layer.lists.given.bytes), "others of the given columns");
    check(!memcmp(whole.divergence, buffer_read(&layer.lists.divergence), layer.lists.divergence.bytes), "another divergence");
    check(!memcmp(whole.d_hidden.data, buffer_read(&layer.d_hidden), layer.d_hidden.bytes), "another d_hidden");
    compare_d_weight(&layer, &whole);
}

#define SHAPE(...) (&(struct shape){.hidden = QUERN_BF16, .weight = QUERN_BF16, .logits = QUERN_BF16, .rows = 70, .vocab = 150, \
                                    .width = 24, .reduction = QUERN_REDUCTION_MEAN, .upstream_stride = 1, .seed = 1, __VA_ARGS__})
#pragma GCC diagnostic ignored "-Woverride-init"

Test(linear_cross_entropy, any_chunk_gives_the_same) {
    static const int64_t chunks[] = {0, 1, 7, 64, 70, 1000};
    for (size_t i = 0; i < COUNT(chunks); i++) check_layer(SHAPE(.chunk_rows = chunks[i]));
}

Test(linear_cross_entropy, any_dtypes) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    for (int i = 0; i < 27; i++)
        check_layer(SHAPE(.hidden = dtypes[i % 3], .weight = dtypes[i / 3 % 3], .logits = dtypes[i / 9], .chunk_rows = 16,
                          .rows = 40,
                          .seed = (uint64_t)i + 2));
}

Test(linear_cross_entropy, reductions_options_and_strides) {
    for (int i = 0; i < 12; i++)
        check_layer(SHAPE(.reduction = (quern_reduction)(i % 3), .label_smoothing = i & 1 ? 0.1f : 0, .softcap = i & 2 ? 20 : 0,
                          .z_loss = i & 4 ? 1e-3f : 0, .padding = i % 5, .accumulate = i % 4 == 3, .chunk_rows = 10 + i,
                          .upstream_stride = i - 6, .policy = i % 2, .is_soft = i % 5 > 2, .seed = (uint64_t)i + 40));
}

/* A bias of the dtype of the logits, or any with fp32 logits. */
Test(linear_cross_entropy, bias) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    for (int i = 0; i < 10; i++)
        check_layer(SHAPE(.logits = i < 6 ? QUERN_F32 : dtypes[1 + i % 2], .bias = dtypes[i < 6 ? i % 3 : 1 + i % 2],
                          .chunk_rows = i % 4 * 9, .rows = i == 5 ? 0 : 40, .accumulate = i % 2, .padding = i % 3,
                          .policy = i == 7, .seed = (uint64_t)i + 80));
}

/* A d_weight of 16 bits: the sums of several chunks, or one product, rounded once. */
Test(linear_cross_entropy, d_weight_in_bf16) {
    static const int64_t chunks[] = {7, 64, 70, 0};
    for (int i = 0; i < 12; i++)
        check_layer(SHAPE(.d_weight = i < 8 ? QUERN_BF16 : QUERN_F32, .chunk_rows = chunks[i % 4], .accumulate = i / 4 == 1,
                          .rows = i == 3 ? 0 : 70, .bias = i == 6 ? QUERN_BF16 : 0, .seed = (uint64_t)i + 100));
}

/* Without the kernels that round the sums nothing is written, not even a product asked for. */
Test(linear_cross_entropy, d_weight_in_bf16_needs_adam) {
    OPEN_LAYER(layer, SHAPE(.chunk_rows = 16));
    layer.args.d_weight_dtype = QUERN_BF16;
    layer.args.d_weight_stride = 0;
    check_status(run_layer(&layer), QUERN_NOT_PREPARED);
    check(layer.products.made == 0, "%d products", layer.products.made);
    check(holds_pattern(buffer_read(&layer.loss), layer.loss.bytes), "the loss was written");
}

Test(linear_cross_entropy, no_rows) {
    check_layer(SHAPE(.rows = 0));
    check_layer(SHAPE(.rows = 0, .accumulate = true));
}

/* The context of the calling thread is left as it was, with rows or without. */
Test(linear_cross_entropy, leaves_the_context) {
    for (int rows = 0; rows < 3; rows += 2) {
        void *current = NULL;
        OPEN_LAYER(layer, SHAPE(.rows = rows, .bias = QUERN_BF16));
        OPEN_BUFFER(workspace, &layer.device, 1 << 20, 0, NULL);
        if (layer.device.kind == QUERN_CPU) cr_skip_test("a CPU has no context");
        layer.args.gemm = no_product;
        CUDA(cuCtxSetCurrent(NULL));
        check_ok(quern_linear_cross_entropy(layer.device.quern, &layer.args, workspace.data, 1 << 20, layer.device.stream));
        CUDA(cuCtxGetCurrent(&current));
        check(!current, "%d rows: a context was left", rows);
        device_use(&layer.device);
    }
}

/* No product without elements is asked for: of no rows that d_hidden has, of no width, of no vocab. */
Test(linear_cross_entropy, no_empty_products) {
    static const struct {
        int64_t rows, vocab, width;
        bool wants_weight;
        int products;
    } cases[] = {{0, 150, 24, false, 0}, {0, 150, 24, true, 1}, {70, 150, 0, true, 5}, {0, 0, 24, true, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        OPEN_LAYER(layer, SHAPE(.rows = cases[i].rows, .vocab = cases[i].vocab, .width = cases[i].width, .padding = 3,
                                .chunk_rows = 16));
        if (!cases[i].wants_weight) layer.args.d_weight = NULL;
        if (!cases[i].width) layer.args.d_hidden = layer.d_weight.data;  /* matrices without columns do not overlap */
        check_ok(run_layer(&layer));
        check(layer.products.made == cases[i].products, "case %zu: %d products", i, layer.products.made);
    }
}

/* Only the requested gradients: neither, and one of them. */
Test(linear_cross_entropy, gradients_are_wanted_or_not) {
    for (int wanted = 0; wanted < 4; wanted++) {
        OPEN_LAYER(layer, SHAPE(.chunk_rows = 20));
        OPEN_WHOLE(whole, &layer);
        struct matrix before = copy_of(&layer.d_hidden, QUERN_BF16, 70, 24, 24);
        if (!(wanted & 1)) layer.args.d_hidden = NULL;
        if (!(wanted & 2)) layer.args.d_weight = NULL;
        check_ok(run_layer(&layer));
        check(layer.products.made == 4 * (1 + (wanted & 1) + (wanted >> 1)), "%d products", layer.products.made);
        check(!memcmp(whole.loss, buffer_read(&layer.loss), layer.loss.bytes), "another loss");
        check(!memcmp(wanted & 1 ? whole.d_hidden.data : before.data, buffer_read(&layer.d_hidden), layer.d_hidden.bytes),
              "another d_hidden");
        free(before.data);
    }
}

Test(linear_cross_entropy, d_hidden_may_be_hidden) {
    OPEN_LAYER(layer, SHAPE(.chunk_rows = 16));
    OPEN_WHOLE(whole, &layer);
    layer.args.d_hidden = layer.hidden.data;
    check_ok(run_layer(&layer));
    check(!memcmp(whole.d_hidden.data, buffer_read(&layer.hidden), layer.hidden.bytes), "another d_hidden");
    compare_d_weight(&layer, &whole);
}

Test(linear_cross_entropy, a_chunk_is_what_memory_holds) {
    size_t small = 0, large = 0;
    OPEN_LAYER(layer, SHAPE(.rows = 64, .vocab = 5000, .width = 8, .chunk_rows = 1));
    check_ok(quern_linear_cross_entropy_workspace(layer.device.quern, &layer.args, &small));
    layer.args.chunk_rows = 64;
    check_ok(quern_linear_cross_entropy_workspace(layer.device.quern, &layer.args, &large));
    check(large - small >= 60 * 5000 * 2 && small < 5000 * 4 * 16, "%zu bytes for one row, %zu for 64", small, large);
}

/* ---- shards of the vocab ---- */

enum { MOST_SHARDS = 5, MOST_EXCHANGES = 64, EXCHANGES = 5 };  /* the last: of a chunk with portable bits */

/* The ranks take turns: each is called once for its own stats, and once more when those of all are known. */
struct exchange {
    const struct test_device *device;
    int shard, shards, made;
    int fail_at;              /* index of the exchange that fails; -1: none */
    size_t bytes[MOST_EXCHANGES];
    char *kept[MOST_EXCHANGES][MOST_SHARDS];
};

static void copy_out(const struct test_device *device, void *to, const void *from, size_t bytes) {
    if (device->kind == QUERN_CPU) memcpy(to, from, bytes);
    else CUDA(cuMemcpyDtoHAsync_v2(to, (cuda_pointer)(uintptr_t)from, bytes, device->stream));
    device_synchronize(device);
}

static void copy_in(const struct test_device *device, void *to, const void *from, size_t bytes) {
    if (device->kind == QUERN_CPU) memcpy(to, from, bytes);
    else CUDA(cuMemcpyHtoDAsync_v2((cuda_pointer)(uintptr_t)to, from, bytes, device->stream));
    device_synchronize(device);
}

static quern_status exchange(void *user, const void *mine, void *all, size_t bytes, void *stream) {
    struct exchange *x = user;
    check(stream == x->device->stream && x->made < MOST_EXCHANGES, "another stream, or %d exchanges", x->made);
    if (x->made == x->fail_at) return QUERN_PEER_TIMEOUT;
    char **const kept = x->kept[x->made];
    if (!kept[x->shard]) copy_out(x->device, kept[x->shard] = malloc(bytes), mine, bytes);
    check(!x->bytes[x->made] || x->bytes[x->made] == bytes, "%zu bytes of shard %d", bytes, x->shard);
    x->bytes[x->made++] = bytes;
    for (int i = 0; i < x->shards; i++)
        copy_in(x->device, (char *)all + (size_t)i * bytes, kept[kept[i] ? i : x->shard], bytes);
    return QUERN_OK;
}

static void free_exchange(struct exchange *x) {
    for (int i = 0; i < MOST_EXCHANGES; i++)
        for (int shard = 0; shard < MOST_SHARDS; shard++) free(x->kept[i][shard]);
}

static void *element_of(struct buffer *buffer, quern_dtype dtype, int64_t i) {
    return (char *)buffer->data + i * (int64_t)quern_dtype_bytes(dtype);
}

/* The layer of one rank, whose columns lie where those of the whole are. */
static void take_shard(struct layer *layer, struct exchange *x, int64_t first, int64_t end) {
    const struct shape *s = &layer->shape;
    quern_linear_cross_entropy_args *args = &layer->args;
    const int64_t stride = s->width + s->padding;
    args->loss.first_column = first, args->loss.vocab = end - first, args->loss.global_vocab = s->vocab;
    args->weight = element_of(&layer->weight, s->weight, first * stride);
    args->d_weight = element_of(&layer->d_weight, d_weight_dtype(s), first * stride);
    if (s->bias) {
        args->bias = element_of(&layer->bias, s->bias, first);
        args->d_bias = element_of(&layer->d_bias, QUERN_F32, first);
    }
    if (s->weighs) args->loss.class_weights = element_of(&layer->class_weights, QUERN_F32, first);
    args->shard_count = x->shards, args->gather = exchange, args->gather_user = x;
    x->made = 0;
}

/* Each output of the rows, with portable bits that of one call. */
static void compare_rows(struct layer *layer, const struct whole *whole) {
    const bool is_exact = layer->args.loss.bits == QUERN_BITS_PORTABLE;
    const int64_t rows = layer->shape.rows;
    for (int i = -1; i < ROW_VALUES; i++) {
        const float *found = buffer_read(i < 0 ? &layer->loss : &layer->values[i]);
        const float *expected = i < 0 ? whole->loss : whole->values[i];
        for (int64_t row = 0; row < (i < 0 && layer->shape.reduction ? 1 : rows); row++)
            check(is_exact ? !memcmp(&found[row], &expected[row], sizeof(float))
                           : fabsf(found[row] - expected[row]) <= 4e-6f * (1 + fabsf(expected[row])),
                  "%s of row %lld is %.9g instead of %.9g", i < 0 ? "loss" : row_names[i], (long long)row, (double)found[row],
                  (double)expected[row]);
    }
}

static void compare_lists(struct layer *layer, const struct whole *whole) {
    const bool is_exact = layer->args.loss.bits == QUERN_BITS_PORTABLE;
    const int64_t *ids = buffer_read(&layer->lists.ids);
    const float *lists[] = {buffer_read(&layer->lists.top), buffer_read(&layer->lists.given)};
    const float *expected[] = {whole->top, whole->given};
    const float *divergence = buffer_read(&layer->lists.divergence);
    for (int64_t row = 0; row < layer->shape.rows && !is_exact; row++)
        check(fabsf(divergence[row] - whole->divergence[row]) <= 1e-5f * (1 + fabsf(whole->divergence[row])),
              "the divergence of row %lld is %.9g instead of %.9g", (long long)row, (double)divergence[row],
              (double)whole->divergence[row]);
    for (int64_t i = 0; i < layer->shape.rows * LISTED; i++) {
        check(ids[i] == whole->top_ids[i], "rank %lld of row %lld is column %lld instead of %lld", (long long)(i % LISTED),
              (long long)(i / LISTED), (long long)ids[i], (long long)whole->top_ids[i]);
        for (int k = 0; k < 2; k++)
            check(lists[k][i] == expected[k][i] ||
                      (!is_exact && fabsf(lists[k][i] - expected[k][i]) <= 4e-6f * (1 + fabsf(expected[k][i]))),
                  "%s column %lld of row %lld has %.9g instead of %.9g", k ? "given" : "largest", (long long)(i % LISTED),
                  (long long)(i / LISTED), (double)lists[k][i], (double)expected[k][i]);
    }
}

static void add_shares(struct layer *layer, double *sums) {
    const float *share = buffer_read(&layer->d_hidden);
    for (size_t i = 0; i < layer->d_hidden.bytes / sizeof *share; i++) sums[i] += (double)share[i];
}

static void check_d_hidden(const struct layer *layer, const struct whole *whole, const double *sums) {
    for (int64_t i = 0; i < layer->shape.rows * layer->shape.width; i++) {
        const double expected = dtype_load(QUERN_F32, whole->d_hidden.data, i);
        check(fabs(sums[i] - expected) <= 1e-5 * (1 + fabs(expected)), "d_hidden[%lld] is %.9g instead of %.9g", (long long)i,
              sums[i], expected);
    }
}

/* Random cuts, the same in both turns. */
static void check_shards(const struct shape *shape, int shards) {
    OPEN_LAYER(layer, shape);
    OPEN_WHOLE(whole, &layer);
    struct exchange x CLOSED_BY(free_exchange) = {.device = &layer.device, .shards = shards, .fail_at = -1};
    SCOPED double *sums = calloc((size_t)(shape->rows * shape->width), sizeof *sums);
    int64_t cuts[MOST_SHARDS + 1] = {0};
    for (int i = 1; i < shards; i++)
        cuts[i] = cuts[i - 1] + 1 + random_below(shape->seed + 9, (uint64_t)i, (shape->vocab - cuts[i - 1]) / (shards - i + 1));
    cuts[shards] = shape->vocab;
    for (int turn = 0; turn < 2; turn++)
        for (x.shard = 0; x.shard < shards; x.shard++) {
            take_shard(&layer, &x, cuts[x.shard], cuts[x.shard + 1]);
            layer.args.d_hidden = turn ? layer.d_hidden.data : NULL;
            if (!turn) layer.args.d_weight = layer.args.d_bias = NULL;
            check_ok(run_layer(&layer));
            if (turn) compare_rows(&layer, &whole), compare_lists(&layer, &whole), add_shares(&layer, sums);
        }
    check_d_hidden(&layer, &whole, sums);
    compare_d_weight(&layer, &whole);
}

#define SHARDED(...) SHAPE(.hidden = QUERN_F32, .rows = 30, __VA_ARGS__)

/* In fp32: on a GPU a gradient of 16 bits may be rounded otherwise than that of one call. */
Test(linear_cross_entropy, shards) {
    for (int i = 0; i < 12; i++)
        check_shards(SHARDED(.logits = QUERN_F32, .reduction = (quern_reduction)(i % 3), .chunk_rows = i * 3,
                             .bias = i % 4 == 3 ? QUERN_BF16 : 0, .d_weight = i == 4 ? QUERN_BF16 : 0, .policy = i % 2,
                             .softcap = i % 5 ? 0 : 20, .weighs = i % 3 == 1, .accumulate = i % 4 == 1, .seed = (uint64_t)i + 120),
                     1 + i % MOST_SHARDS);
}

Test(linear_cross_entropy, shards_with_portable_bits) {
    for (int i = 0; i < 8; i++)
        check_shards(SHARDED(.logits = i % 2 ? QUERN_F32 : QUERN_BF16, .reduction = (quern_reduction)(i % 3), .chunk_rows = 5 + i,
                             .weighs = i % 3 == 1, .is_portable = true, .seed = (uint64_t)i + 140),
                     1 + i % MOST_SHARDS);
}

/* Shards of different sizes exchange as many rows at a time. */
Test(linear_cross_entropy, shards_choose_the_same_chunk) {
    check_shards(SHAPE(.hidden = QUERN_F32, .logits = QUERN_F32, .rows = 400, .width = 40, .seed = 150), 3);
}

/* On a device without kernels nothing is written, not even the count of the labels. */
Test(linear_cross_entropy, shards_need_kernels) {
    OPEN_LAYER(layer, SHARDED(.chunk_rows = 15));
    OPEN_ON(bare, layer.device.kind, 0);
    OPEN_BUFFER(report, &layer.device, sizeof(quern_cross_entropy_report), 8, NULL);
    struct exchange x CLOSED_BY(free_exchange) = {.device = &layer.device, .shards = 1, .fail_at = -1};
    size_t bytes;
    take_shard(&layer, &x, 0, layer.shape.vocab);
    layer.args.loss.report = report.data;
    check_ok(quern_linear_cross_entropy_workspace(bare, &layer.args, &bytes));
    OPEN_BUFFER(workspace, &layer.device, bytes, 0, NULL);
    check_status(quern_linear_cross_entropy(bare, &layer.args, workspace.data, bytes, layer.device.stream), QUERN_NOT_PREPARED);
    check(holds_pattern(buffer_read(&report), report.bytes), "the report was written");
    check(x.made == 0 && layer.products.made == 0, "%d exchanges and %d products", x.made, layer.products.made);
}

Test(linear_cross_entropy, an_exchange_that_fails_ends_the_call) {
    for (int at = 0; at < 2 * EXCHANGES; at++) {
        OPEN_LAYER(layer, SHARDED(.chunk_rows = 15, .is_portable = true));
        struct exchange x CLOSED_BY(free_exchange) = {.device = &layer.device, .shards = 2, .fail_at = at};
        take_shard(&layer, &x, 0, 40);
        check(run_layer(&layer) == QUERN_PEER_TIMEOUT, "exchange %d", at);
        check(x.made == at && layer.products.made == 1 + at / EXCHANGES * 3, "%d exchanges and %d products before number %d failed",
              x.made, layer.products.made, at);
    }
}

/* ---- strict labels ---- */

enum { BAD_ROW = 5 };  /* of open_labels */

static void check_kept(struct buffer *outputs, const void *expected, size_t element, const char *name) {
    char *found = buffer_read(outputs);
    check(holds_pattern(found + BAD_ROW * element, element), "%s of the bad row was written", name);
    memcpy(found + BAD_ROW * element, (const char *)expected + BAD_ROW * element, element);
    check(!memcmp(found, expected, outputs->bytes), "another %s", name);
}

/* On a GPU the outputs of the bad row are not written, and its gradient is 0 as without strict labels. */
static void check_bad_row(struct layer *layer, const struct whole *whole, struct buffer *report) {
    check_ok(run_layer(layer));
    compare_d_weight(layer, whole);
    check(!memcmp(whole->d_hidden.data, buffer_read(&layer->d_hidden), layer->d_hidden.bytes), "another d_hidden");
    if (layer->shape.reduction == QUERN_REDUCTION_NONE) check_kept(&layer->loss, whole->loss, sizeof(float), "loss");
    else check(!memcmp(buffer_read(&layer->loss), whole->loss, sizeof(float)), "another loss");
    check_kept(&layer->argmax, whole->argmax, sizeof(int64_t), "argmax");
    for (int i = 0; i < ROW_VALUES; i++) check_kept(&layer->values[i], whole->values[i], sizeof(float), row_names[i]);
    check_kept(&layer->lists.ids, whole->top_ids, LISTED * sizeof(int64_t), "list");
    check_kept(&layer->lists.top, whole->top, LISTED * sizeof(float), "list of log-probabilities");
    check_kept(&layer->lists.given, whole->given, LISTED * sizeof(float), "list of those of given columns");
    check_kept(&layer->lists.divergence, whole->divergence, sizeof(float), "divergence");
    const quern_cross_entropy_report *counts = buffer_read(report);
    check(counts->bad_labels == 1 && counts->first_bad_row == BAD_ROW, "%d bad rows from %d", (int)counts->bad_labels,
          (int)counts->first_bad_row);
}

/* On a CPU no product is made. */
static void check_bad_row_refused(struct layer *layer, struct buffer *report) {
    struct buffer *unchanged[] = {&layer->d_hidden, &layer->d_weight, &layer->loss, &layer->argmax, report, &layer->values[0],
                                  &layer->values[1], &layer->values[2], &layer->lists.ids, &layer->lists.top,
                                  &layer->lists.given, &layer->lists.divergence};
    void *before[COUNT(unchanged)];
    for (size_t i = 0; i < COUNT(unchanged); i++)
        memcpy(before[i] = malloc(unchanged[i]->bytes), buffer_read(unchanged[i]), unchanged[i]->bytes);
    check_status(run_layer(layer), QUERN_INVALID_ARGUMENT);
    check(!strcmp(error_detail(), "args.labels[5] is -7: expected 0 to 149, or ignore_index -100"), "%s", error_detail());
    check(layer->products.made == 0, "%d products", layer->products.made);
    for (size_t i = 0; i < COUNT(unchanged); i++) {
        check(!memcmp(buffer_read(unchanged[i]), before[i], unchanged[i]->bytes), "buffer %d was written", (int)i);
        free(before[i]);
    }
}

Test(linear_cross_entropy, strict_labels) {
    for (int i = 0; i < 3; i++) {
        OPEN_LAYER(layer, SHAPE(.chunk_rows = 16, .reduction = (quern_reduction)i, .accumulate = i == 1));
        OPEN_WHOLE(whole, &layer);
        OPEN_BUFFER(report, &layer.device, sizeof(quern_cross_entropy_report), 8, NULL);
        layer.args.loss.strict_labels = 1;
        layer.args.loss.report = report.data;
        if (layer.device.kind == QUERN_CPU) check_bad_row_refused(&layer, &report);
        else check_bad_row(&layer, &whole, &report);
    }
}

/* ---- invalid arguments ---- */

Test(linear_cross_entropy, a_product_that_fails_ends_the_call) {
    for (int product = 0; product < 6; product++) {
        OPEN_LAYER(layer, SHAPE(.chunk_rows = 40));
        layer.products.fail_at = product;
        check(run_layer(&layer) == QUERN_SYSTEM_ERROR, "product %d", product);
        check(layer.products.made == product + 1, "%d products after number %d failed", layer.products.made, product);
    }
}

/* A pointer that is wrong by itself is named before an overlap that follows from it. */
Test(linear_cross_entropy, a_bad_pointer_is_named_before_its_overlaps) {
    size_t bytes;
    OPEN_LAYER(layer, SHAPE(.chunk_rows = 16, .reduction = QUERN_REDUCTION_NONE));
    check_ok(quern_linear_cross_entropy_workspace(layer.device.quern, &layer.args, &bytes));
    OPEN_BUFFER(workspace, &layer.device, bytes, 0, NULL);
    const quern_linear_cross_entropy_args good = layer.args;
    const struct {
        const char *detail;
        void **pointer;
        size_t off;
    } mistakes[] = {
        {"args.labels is not", (void **)&layer.args.loss.labels, 2},
        {"args.loss is not", (void **)&layer.args.loss.loss, 2},
        {"args.grad_loss is not", (void **)&layer.args.loss.grad_loss, 2},
        {"args.argmax is not", (void **)&layer.args.loss.argmax, 4},
        {"args.hidden is not", (void **)&layer.args.hidden, 1},
        {"args.d_weight is not", (void **)&layer.args.d_weight, 2},
    };
    char *const inside = (char *)layer.d_hidden.data + 16 - (uintptr_t)layer.d_hidden.data % 16;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        *mistakes[i].pointer = inside + mistakes[i].off;
        check_status(quern_linear_cross_entropy(layer.device.quern, &layer.args, workspace.data, bytes, layer.device.stream),
                     QUERN_INVALID_ARGUMENT);
        check(strstr(error_detail(), mistakes[i].detail), "\"%s\" instead of \"%s\"", error_detail(), mistakes[i].detail);
        layer.args = good;
    }
    check(layer.products.made == 0, "a product was made");
}

/* ---- the machine's BLAS ---- */

static bool has_blas(const struct test_device *device, quern_blas **blas) {
    quern_status status = quern_blas_open(device->quern, NULL, blas);
    check(status == QUERN_OK || (status == QUERN_NOT_SUPPORTED && strstr(error_detail(), "no BLAS can be opened of lib")), "%s",
          error_detail());
    return status == QUERN_OK;
}

static void open_product(struct buffer *buffer, const struct test_device *device, struct matrix *m, uint64_t seed) {
    m->data = make_values(m->dtype, m->rows, m->columns, m->stride, 1, seed);
    buffer_open(buffer, device, matrix_bytes(m), 0, m->data);
}

static void check_product(const struct test_device *device, quern_blas *blas, quern_gemm_args args, uint64_t seed) {
    struct matrix m[3];
    struct buffer buffers[3];
    matrices_of(&args, m);
    for (int i = 0; i < 3; i++) open_product(&buffers[i], device, &m[i], seed + (uint64_t)i);
    args.a = buffers[0].data, args.b = buffers[1].data, args.c = buffers[2].data;
    check_ok(quern_blas_gemm(blas, &args, device->stream));
    matrix_multiply(&args, &m[0], &m[1], &m[2]);
    struct matrix found = m[2];
    found.data = buffer_read(&buffers[2]);
    for (int64_t row = 0; row < args.m; row++)
        for (int64_t column = 0; column < args.n; column++) {
            double e = matrix_at(&m[2], 0, row, column), f = matrix_at(&found, 0, row, column);
            double tolerance = 1e-5 * sqrt((double)args.k + 1) + (args.c_dtype == QUERN_F32 ? 0 : dtype_ulp(args.c_dtype, e));
            check(fabs(e - f) <= tolerance, "[%lld][%lld] is %g instead of %g: %lld x %lld x %lld", (long long)row,
                  (long long)column,
                  f, e, (long long)args.m, (long long)args.n, (long long)args.k);
        }
    for (int i = 0; i < 3; i++) {
        buffer_close(&buffers[i]);
        free(m[i].data);
    }
}

/* Of src/cross_entropy/blas_cpu.c, in each of the three directions. */
enum { TILE = 1024 };

/* Each size with every way to store the operands, in one dtype or with an f32 C that is added to; strides have gaps. */
Test(linear_cross_entropy, the_blas_multiplies) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_BF16, QUERN_F16};
    static const int64_t sizes[][3] = {{5, 7, 3}, {33, 17, 65}, {1, 40, 9}, {12, 1, 1}, {0, 3, 2}, {3, 4, 0}};
    static const int64_t edges[] = {TILE - 1, TILE, TILE + 1, 2 * TILE + 3};
    quern_blas *blas = NULL;
    OPEN_DEVICE(device, NULL);
    if (!has_blas(&device, &blas)) cr_skip_test("no BLAS");
    for (int i = 0; i < 18 * 24; i++) {
        int64_t size[] = {5, 3, 2};
        if (i % 18 < 6) memcpy(size, sizes[i % 18], sizeof size);
        else size[i % 3] = edges[(i % 18 - 6) / 3];
        const int ways = i / 18;
        quern_gemm_args args = {.size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = size[0], .n = size[1], .k = size[2],
                                .a_transposed = ways & 1, .b_transposed = ways >> 1 & 1,
                                .a_dtype = dtypes[ways / 4 % 3], .b_dtype = dtypes[ways / 4 % 3],
                                .c_dtype = ways / 12 ? QUERN_F32 : dtypes[ways / 4 % 3], .accumulate = ways / 12};
        args.a_stride = (args.a_transposed ? args.m : args.k) + i % 4;
        args.b_stride = (args.b_transposed ? args.k : args.n) + i % 3;
        args.c_stride = args.n + i % 2;
        check_product(&device, blas, args, (uint64_t)(100 + i));
    }
    quern_blas_close(blas);
}

/* A CPU multiplies matrices of any dtypes.  A product of no elements writes nothing. */
Test(linear_cross_entropy, the_blas_and_dtypes) {
    enum { N = 4 };
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_BF16, QUERN_F16};
    static const float zeros[N * N];
    quern_blas *blas = NULL;
    OPEN_DEVICE(device, NULL);
    if (!has_blas(&device, &blas)) cr_skip_test("no BLAS");
    OPEN_BUFFER(a, &device, sizeof zeros, 0, zeros);
    OPEN_BUFFER(c, &device, sizeof zeros, 0, NULL);
    quern_gemm_args args = {.size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = N, .n = 0, .k = N, .a_stride = N, .b_stride = N,
                            .c_stride = N, .a = a.data, .b = a.data, .c = c.data, .a_dtype = QUERN_F32, .b_dtype = QUERN_F32,
                            .c_dtype = QUERN_F32};
    check_ok(quern_blas_gemm(blas, &args, device.stream));
    args.m = 0, args.n = N;
    check_ok(quern_blas_gemm(blas, &args, device.stream));
    args.m = N, args.a_dtype = QUERN_BF16, args.b_dtype = QUERN_F16;
    if (device.kind == QUERN_CUDA)
        check_refused(quern_blas_gemm(blas, &args, device.stream), QUERN_NOT_SUPPORTED,
                      "a is bf16 and b is f16: cuBLAS multiplies matrices of one dtype");
    check(holds_pattern(buffer_read(&c), c.bytes), "a refused product, or one of no elements, was written");
    for (int i = 0; i < 27 && device.kind == QUERN_CPU; i++) {
        args.a_dtype = dtypes[i % 3], args.b_dtype = dtypes[i / 3 % 3], args.c_dtype = dtypes[i / 9];
        check_product(&device, blas, args, (uint64_t)i);
    }
    quern_blas_close(blas);
}

Test(linear_cross_entropy, the_blas_serves_the_layer) {
    quern_blas *blas = NULL;
    OPEN_LAYER(layer, SHAPE(.chunk_rows = 16));
    if (!has_blas(&layer.device, &blas)) cr_skip_test("no BLAS");
    OPEN_WHOLE(whole, &layer);
    layer.args.gemm = quern_blas_gemm, layer.args.gemm_user = blas;
    check_ok(run_layer(&layer));
    float loss = *(float *)buffer_read(&layer.loss);
    check(fabsf(loss - *whole.loss) <= 1e-3f * *whole.loss, "the loss is %g instead of %g", (double)loss, (double)*whole.loss);
    quern_blas_close(blas);
}

Test(linear_cross_entropy, a_blas_that_is_none) {
    quern_blas *blas = NULL;
    OPEN_DEVICE(device, NULL);
    check_status(quern_blas_open(device.quern, "libnothing.so", &blas), QUERN_NOT_SUPPORTED);
    check(strstr(error_detail(), "libnothing.so"), "%s", error_detail());
    check_status(quern_blas_open(device.quern, "libc.so.6", &blas), QUERN_NOT_SUPPORTED);
    check(strstr(error_detail(), "libc.so.6 has no function "), "%s", error_detail());
    check_status(quern_blas_open(device.quern, NULL, NULL), QUERN_NULL_POINTER);
    check(!blas, "a BLAS was given");
    quern_blas_close(NULL);
}
