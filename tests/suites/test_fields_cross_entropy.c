/*
 * Each field of cross-entropy, its steps and the last layer, by the table of tests/fields/cross_entropy.h: rubbish in ignored
 * fields changes nothing, illegal values are refused with a detail that names the field, buffers are aligned and apart.  Strides
 * give the bits of contiguous rows.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include "fields/cross_entropy.h"
#include "harness/host_product.h"

static quern_status multiply(UNUSED void *user, const quern_gemm_args *product, UNUSED void *stream) {
    host_product(&fields_device, product);
    return QUERN_OK;
}

/* ---- the table ---- */

TEST_FIELDS(fields_cross_entropy, each_call, QUERN_CROSS_ENTROPY) {
    for (size_t i = 0; i < COUNT(loss_calls); i++) fields_walk(loss_calls[i]);
}

TEST_FIELDS(fields_cross_entropy, each_call_of_the_last_layer, QUERN_CROSS_ENTROPY) {
    layer_gemm = multiply;
    for (size_t i = 0; i < COUNT(layer_calls); i++) fields_walk(layer_calls[i]);
}

TEST_FIELDS(fields_cross_entropy, each_call_in_place, QUERN_CROSS_ENTROPY) {
    layer_gemm = multiply;
    strides.logits = GRAD_STRIDE;
    for (size_t i = 0; i < COUNT(calls_in_place); i++) fields_walk(&calls_in_place[i]);
}

/* ---- several fields ---- */

#define MOST_OF_A_BUFFER ", since no buffer has more than 2^47 bytes"

TEST_FIELDS(fields_cross_entropy, lengths_of_rows, QUERN_CROSS_ENTROPY) {
    quern_cross_entropy_args *a = &loss_args;
    const int64_t longest = (int64_t)1 << 41;
    static const char no_report[] = "args.report is NULL: expected a report, in which a GPU tells of bad labels if "
                                    "strict_labels is 1";
    fields_prepare(&call_of_quern_cross_entropy);
    REFUSED((a->padded_vocab = 0, a->grad_stride = 9), QUERN_INVALID_SHAPE, "args.grad_stride is 9: expected at least vocab, 10");
    REFUSED((a->rows = 64, a->vocab = longest, a->padded_vocab = a->logits_stride = 0), QUERN_INVALID_SHAPE,
            "args.vocab is 2199023255552 with args.rows 64: expected at most 549755813888" MOST_OF_A_BUFFER);
    REFUSED((a->rows = 64, a->padded_vocab = longest, a->grad_stride = 0), QUERN_INVALID_SHAPE,
            "args.padded_vocab is 2199023255552 with args.rows 64: expected at most 549755813888" MOST_OF_A_BUFFER);
    REFUSED((a->rows = 0, a->logits_stride = ((int64_t)1 << 45) + 1), QUERN_INVALID_SHAPE,
            "args.logits_stride is 35184372088833 with args.rows 0: expected at most 35184372088832" MOST_OF_A_BUFFER);
    if (fields_device.kind == QUERN_CUDA)
        REFUSED((a->strict_labels = 1, a->report = NULL), QUERN_NULL_POINTER, no_report);
    fields_prepare(&call_of_quern_cross_entropy_combine);
    REFUSED((a->rows = 0, parameters_of_quern_cross_entropy_combine.shard_count = longest + 1), QUERN_INVALID_SHAPE,
            "shard_count is 2199023255553 with args.rows 0: expected at most 2199023255552, since shards has no more than 2^47 "
            "bytes");
    if (fields_device.kind == QUERN_CUDA)
        REFUSED((a->strict_labels = 1, a->report = NULL), QUERN_NULL_POINTER, no_report);
}

TEST_FIELDS(fields_cross_entropy, in_place, QUERN_CROSS_ENTROPY) {
    quern_cross_entropy_args *a = &loss_args;
    quern_linear_cross_entropy_args *layer = &layer_args;
    layer_gemm = multiply;
    fields_prepare(&call_of_quern_cross_entropy);
    void *const logits = (void *)(uintptr_t)a->logits;
    REFUSED(a->grad = logits, QUERN_INVALID_SHAPE,
            "args.logits_stride is 12: expected at least padded_vocab, 13, since grad is in place of the logits");
    REFUSED((a->grad = logits, a->logits_stride = 0), QUERN_INVALID_SHAPE, "args.logits_stride is 10 (0 means vocab): expected at "
            "least padded_vocab, 13, since grad is in place of the logits");
    REFUSED((a->grad = logits, a->padded_vocab = 0), QUERN_INVALID_SHAPE,
            "args.grad_stride is 14 in place of logits with stride 12: expected the same");
    REFUSED((a->grad = logits, a->padded_vocab = 0, a->grad_stride = 0, a->grad_dtype = QUERN_F16), QUERN_INVALID_DTYPE,
            "args.grad_dtype is f16 in place of f32 logits: expected the same dtype");
    ACCEPTED((a->grad = logits, a->padded_vocab = 0, a->grad_stride = 0, a->grad_dtype = QUERN_F32));
    fields_prepare(&call_of_quern_linear_cross_entropy);
    REFUSED((layer->d_hidden = (void *)(uintptr_t)layer->hidden, layer->d_hidden_stride = 7), QUERN_INVALID_SHAPE,
            "args.d_hidden_stride is 7 in place of hidden with stride 6: expected the same");
    fields_prepare(&call_of_quern_linear_cross_entropy_workspace);
    ACCEPTED(layer->chunk_rows = INT64_MAX);  /* more rows than there are */
}

TEST_FIELDS(fields_cross_entropy, soft_targets_of_all_columns, QUERN_CROSS_ENTROPY) {
    quern_cross_entropy_args *a = &loss_args;
    fields_prepare(&call_of_quern_cross_entropy);
    const void *const targets = a->grad;  /* memory that is large enough */
#define SOFT(...) (a->has_tail = 0, a->target_probs = NULL, a->soft_targets_dtype = QUERN_BF16, a->soft_targets = targets, \
                   a->grad = NULL, a->grad_stride = 0, __VA_ARGS__)
    REFUSED(SOFT(a->target_probs = a->loss), QUERN_INVALID_ARGUMENT,
            "args.soft_targets_dtype is bf16 and args.target_probs is set: expected NULL");
    REFUSED(SOFT(a->soft_targets = NULL), QUERN_NULL_POINTER, "args.soft_targets is NULL");
    REFUSED(SOFT(a->soft_targets = (const char *)targets + 1), QUERN_INVALID_ARGUMENT,
            "args.soft_targets is not at a multiple of 2 bytes, the size of its elements");
    REFUSED(SOFT(a->soft_targets_stride = VOCAB - 1), QUERN_INVALID_SHAPE,
            "args.soft_targets_stride is 9: expected at least vocab, 10");
    REFUSED(SOFT(a->soft_targets_stride = INT64_MAX), QUERN_INVALID_SHAPE, "args.soft_targets_stride is "
            "9223372036854775807 with args.rows 3: expected at most 23456248059221, since no buffer has more than 2^47 bytes");
    fields_prepare(&call_of_quern_cross_entropy_gradient);
    REFUSED((a->has_tail = 0, a->target_probs = NULL, a->soft_targets_dtype = QUERN_F32), QUERN_NOT_SUPPORTED,
            "args.soft_targets_dtype is f32 with a shard of the vocab: expected all columns, or a list in given_ids and "
            "target_probs");
#undef SOFT
}

static quern_status copy_alone(UNUSED void *user, UNUSED const void *mine, UNUSED void *all, UNUSED size_t bytes,
                               UNUSED void *stream) {
    return QUERN_OK;
}

TEST_FIELDS(fields_cross_entropy, bias_and_shards_of_the_last_layer, QUERN_CROSS_ENTROPY) {
    quern_linear_cross_entropy_args *layer = &layer_args;
    layer_gemm = multiply;
    fields_prepare(&call_of_quern_linear_cross_entropy);
    REFUSED((layer->bias_dtype = QUERN_F16, layer->loss.logits_dtype = QUERN_BF16), QUERN_INVALID_DTYPE,
            "args.bias_dtype is f16 with bf16 logits: expected the logits' dtype, or f32 logits");
    REFUSED((layer->bias = NULL, layer->bias_dtype = QUERN_NO_DTYPE), QUERN_INVALID_DTYPE,
            "args.bias_dtype is 0 and args.d_bias is set: expected the dtype of the bias");
    ACCEPTED((layer->bias = NULL, layer->d_bias = NULL, layer->bias_dtype = QUERN_NO_DTYPE));
    REFUSED((layer->d_weight_dtype = QUERN_BF16, layer->d_weight_stride = 0), QUERN_NULL_POINTER,
            "args.accumulate is NULL with a bf16 d_weight of several chunks: expected quern_accumulate");
    REFUSED(layer->shard_count = 1, QUERN_NOT_SUPPORTED,
            "args.loss.reduction is 2, a mean, of shards with class_weights: expected 1, a sum");
    REFUSED((layer->shard_count = 1, layer->loss.has_tail = 0, layer->loss.target_probs = NULL,
             layer->loss.soft_targets_dtype = QUERN_F16), QUERN_NOT_SUPPORTED, "args.loss.soft_targets_dtype is f16 with "
            "args.shard_count 1: expected 0, or a list in given_ids and target_probs");
    REFUSED((layer->shard_count = 1, layer->loss.class_weights = NULL), QUERN_NULL_POINTER,
            "args.gather is NULL with args.shard_count 1: expected the exchange of the shards");
    REFUSED((layer->shard_count = 2, layer->loss.class_weights = NULL), QUERN_INVALID_SHAPE,
            "args.shard_count is 2: expected at most 1");
    REFUSED((layer->shard_count = GLOBAL - VOCAB + 2, layer->loss.global_vocab = GLOBAL), QUERN_INVALID_SHAPE,
            "args.shard_count is 12: expected at most 11");
    REFUSED((layer->loss.rows = (int64_t)1 << 36, layer->loss.global_vocab = (int64_t)1 << 40, layer->shard_count = 33),
            QUERN_INVALID_SHAPE, "args.shard_count is 33: expected at most 32");
    REFUSED((layer->loss.rows = (int64_t)1 << 36, layer->loss.global_vocab = (int64_t)1 << 40, layer->loss.given_count = 128,
             layer->shard_count = 5), QUERN_INVALID_SHAPE, "args.shard_count is 5: expected at most 4");
    fields_prepare(&call_of_quern_linear_cross_entropy_workspace);
    ACCEPTED((layer->shard_count = 1, layer->loss.class_weights = NULL, layer->gather = copy_alone));
    REFUSED((layer->loss.first_column = 11, layer->loss.global_vocab = GLOBAL, layer->shard_count = 2), QUERN_INVALID_SHAPE,
            "args.first_column is 11: expected at most global_vocab - vocab, 10");
}

/* Without rows everything else than class weights, sums and the report has no bytes, wherever it is, and may be NULL. */
TEST_FIELDS(fields_cross_entropy, no_rows, QUERN_CROSS_ENTROPY) {
    static const size_t of_rows[] = {
#define PLACE(field) offsetof(quern_cross_entropy_args, field)
        PLACE(logits), PLACE(labels), PLACE(grad), PLACE(grad_loss), PLACE(lse), PLACE(log_prob), PLACE(entropy), PLACE(argmax),
        PLACE(stats), PLACE(inverse_temperatures), PLACE(grad_log_prob), PLACE(grad_entropy),
        PLACE(top_ids), PLACE(top_log_probs), PLACE(given_ids), PLACE(given_log_probs), PLACE(target_probs), PLACE(divergence),
        PLACE(grad_divergence)};
    const struct call *const calls[] = {&call_of_quern_cross_entropy, &call_of_quern_cross_entropy_stats,
                                        &call_of_quern_cross_entropy_combine, &call_of_quern_cross_entropy_gradient};
    quern_linear_cross_entropy_args *layer = &layer_args;
    quern_linear_cross_entropy__parameters *given = &parameters_of_quern_linear_cross_entropy;
    layer_gemm = multiply;
    for (int i = 0; i < 12; i++) {
        fields_prepare(calls[i % 4]);
        /* No row has an upstream gradient, so nothing is subtracted from its address. */
        const void *const places[] = {NULL, loss_args.labels, (const void *)(UINTPTR_MAX - 63)};
        for (size_t k = 0; k < COUNT(of_rows); k++) memcpy((char *)&loss_args + of_rows[k], &places[i / 4], sizeof(void *));
        loss_args.grad_loss_stride = loss_args.grad_log_prob_stride = loss_args.grad_entropy_stride = -(1 << 20);
        loss_args.grad_divergence_stride = -(1 << 20);
        loss_args.padded_vocab = loss_args.logits_stride = loss_args.grad_stride = 0;
        ACCEPTED(loss_args.rows = 0);
    }
    /* Weight is not read, and d_weight is still written. */
    fields_prepare(&call_of_quern_linear_cross_entropy);
    REFUSED((layer->loss.rows = 0, layer->weight = (float *)layer->d_weight + VOCAB), QUERN_INVALID_ARGUMENT,
            "args.d_weight overlaps args.weight: expected separate memory");
    ACCEPTED((layer->loss.rows = 0, layer->weight = NULL, layer->hidden = NULL, layer->d_hidden = NULL, layer->loss.labels = NULL));
    ACCEPTED((layer->loss.rows = 0, layer->loss.reduction = QUERN_REDUCTION_NONE, layer->loss.loss = NULL, layer->weight = NULL,
              layer->hidden = NULL, given->workspace = NULL, given->workspace_bytes = 0));
}

/* Upstream gradients that are read backwards, and one value for all rows. */
TEST_FIELDS(fields_cross_entropy, places_of_upstream_gradients, QUERN_CROSS_ENTROPY) {
    quern_cross_entropy_args *a = &loss_args;
    static const char detail[] = "args.loss overlaps args.grad_loss: expected separate memory";
    enum { LAST = (ROWS - 1) * UPSTREAM_STRIDE };
    fields_prepare(&call_of_quern_cross_entropy);
    float *const lowest = (float *)(uintptr_t)a->grad_loss;
#define BACKWARDS(place) (a->grad_loss = lowest + LAST, a->grad_loss_stride = -UPSTREAM_STRIDE, a->loss = lowest + (place))
    REFUSED(BACKWARDS(0), QUERN_INVALID_ARGUMENT, detail);
    REFUSED(BACKWARDS(LAST), QUERN_INVALID_ARGUMENT, detail);
    ACCEPTED(BACKWARDS(-1));
    ACCEPTED(BACKWARDS(LAST + 1));
    ACCEPTED((a->grad_loss_stride = 0, a->loss = lowest + LAST - 1));
}

/* ---- strides: the bits of the call whose rows follow each other ---- */

enum { GATHERED = 4096 };

struct results {
    char bytes[GATHERED];
    size_t count;
};

/* Appends rows of a result, and checks that what lies between them was not written. */
static void gather(struct results *results, const void *matrix, int64_t rows, int64_t columns, int64_t stride, size_t each) {
    if (!matrix) return;
    const char *from = fields_result(matrix), *before = fields_image(matrix);
    const size_t row_bytes = (size_t)columns * each;
    check(results->count + (size_t)rows * row_bytes <= GATHERED, "too many results");
    for (int64_t row = 0; row < rows; row++) {
        const size_t at = (size_t)(row * stride) * each, gap = (size_t)(stride - columns) * each;
        memcpy(results->bytes + results->count, from + at, row_bytes);
        results->count += row_bytes;
        check(row == rows - 1 || !memcmp(from + at + row_bytes, before + at + row_bytes, gap), "padding was written");
    }
}

static void gather_loss(struct results *results, const quern_cross_entropy_args *a) {
    gather(results, a->loss, 1, 1, 1, sizeof(float));
    gather(results, a->lse, 1, ROWS, ROWS, sizeof(float));
    gather(results, a->log_prob, 1, ROWS, ROWS, sizeof(float));
    gather(results, a->entropy, 1, ROWS, ROWS, sizeof(float));
    gather(results, a->argmax, 1, ROWS, ROWS, sizeof(int64_t));
    gather(results, a->report, 1, 1, 1, sizeof *a->report);
}

static struct results call_with(const struct call *call, struct strides given) {
    struct results results = {.count = 0};
    strides = given;
    fields_begin(call);
    const quern_status status = fields_run(call);
    check(status == QUERN_OK, "%s: %s", call->name, error_detail());
    if (call->parts[1].self == &layer_args) {
        gather_loss(&results, &layer_args.loss);
        gather(&results, layer_args.d_hidden, ROWS, WIDTH, stride_or(given.d_hidden, WIDTH), sizeof(float));
        gather(&results, layer_args.d_weight, VOCAB, WIDTH, stride_or(given.d_weight, WIDTH), sizeof(float));
        gather(&results, layer_args.d_bias, 1, VOCAB, VOCAB, sizeof(float));
        return results;
    }
    gather_loss(&results, &loss_args);
    if (column_of(call) != GRADIENT) gather(&results, loss_args.stats, ROWS, 1, 1, sizeof(quern_row_stats));
    const int64_t preset = given.in_place ? stride_or(given.logits, VOCAB) : PADDED;
    gather(&results, loss_args.grad, ROWS, PADDED, stride_or(given.grad, preset), sizeof(float));
    return results;
}

static void compare(const struct call *call, const struct strides *given, const struct strides *contiguous, const char *what) {
    const struct results found = call_with(call, *given), expected = call_with(call, *contiguous);
    check(found.count == expected.count && found.count > 0, "%s: %zu bytes instead of %zu", call->name, found.count,
          expected.count);
    check(!memcmp(found.bytes, expected.bytes, found.count), "%s with %s has other bits than contiguous rows", call->name, what);
}

static const struct strides contiguous = {VOCAB, PADDED, 1, WIDTH, WIDTH, WIDTH, WIDTH, ROWS, false, false};

#define WITH(call, field, value) do { \
        struct strides given = contiguous; \
        given.field = value; \
        compare(call, &given, &contiguous, #field " " #value); \
    } while (0)

/* Upstream gradients: one for all rows, apart, and backwards. */
static void compare_upstream(const struct call *call, int64_t chunk) {
    static const int64_t steps[] = {1, 2, 3, -1, -2};
    struct strides given = contiguous, expected = contiguous;
    given.chunk = expected.chunk = chunk;
    for (size_t i = 0; i < COUNT(steps); i++) {
        given.upstream = steps[i];
        compare(call, &given, &expected, "upstream gradients");
    }
    given.is_one_value = expected.is_one_value = true;
    given.upstream = 0;
    compare(call, &given, &expected, "one upstream gradient");
}

TEST_FIELDS(fields_cross_entropy, strides, QUERN_CROSS_ENTROPY) {
    const struct call *const calls[] = {&call_of_quern_cross_entropy, &call_of_quern_cross_entropy_stats,
                                        &call_of_quern_cross_entropy_gradient};
    for (size_t i = 0; i < COUNT(calls); i++) {
        WITH(calls[i], logits, 0);
        WITH(calls[i], logits, VOCAB + 1);
        WITH(calls[i], logits, 2 * VOCAB);
        if (calls[i] == &call_of_quern_cross_entropy_stats) continue;
        WITH(calls[i], grad, 0);
        WITH(calls[i], grad, PADDED + 1);
        WITH(calls[i], grad, 2 * PADDED);
        compare_upstream(calls[i], ROWS);
        struct strides given = contiguous;
        given.in_place = true, given.grad = 0, given.logits = PADDED + 2;
        compare(calls[i], &given, &contiguous, "the gradient in place");
    }
}

/* Each chunk is compared with the same one: the order in which d_weight is summed depends on it. */
TEST_FIELDS(fields_cross_entropy, strides_of_the_last_layer, QUERN_CROSS_ENTROPY) {
    const struct call *const call = &call_of_quern_linear_cross_entropy;
    layer_gemm = multiply;
    WITH(call, hidden, 0);
    WITH(call, hidden, 2 * WIDTH);
    WITH(call, weight, 0);
    WITH(call, weight, WIDTH + 1);
    WITH(call, d_hidden, 0);
    WITH(call, d_hidden, WIDTH + 3);
    WITH(call, d_weight, 0);
    WITH(call, d_weight, 2 * WIDTH);
    for (int64_t chunk = 1; chunk <= ROWS; chunk++) compare_upstream(call, chunk);
}
