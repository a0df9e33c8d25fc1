/* Makes the inputs of a cross-entropy test case from its numbers.  cross_entropy_case.h documents the functions. */
#include "harness/cross_entropy_case.h"

#include <inttypes.h>

#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/dtype.h"

/* Seeds of the kinds of random numbers within one case. */
enum { LOGITS = 1, LABELS = 2, UPSTREAM = 3, WEIGHTS = 4, CUTS = 5, OF_LOG_PROB = 6, OF_ENTROPY = 7, TEMPERATURES = 8 };

/* ---- the rows of the table ---- */

void for_each_cross_entropy_row(cross_entropy_row_test *body) {
    int rows = 0;
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row), rows++) {
        OPEN_ROW(device, row);
        body(&device, row);
    }
    check(rows > 0, "%s has no row", test_target());
}

/* ---- shapes ---- */

int64_t cross_entropy_logits_stride(const struct cross_entropy_case *c) { return c->vocab + c->filled + c->padding; }

int64_t cross_entropy_grad_stride(const struct cross_entropy_case *c) {
    return c->vocab + c->filled + (c->placement == IN_PLACE ? c->padding : c->grad_padding);
}

int64_t cross_entropy_loss_count(const struct cross_entropy_case *c) {
    return c->reduction == QUERN_REDUCTION_NONE ? c->rows : 1;
}

quern_dtype cross_entropy_grad_dtype(const struct cross_entropy_case *c) { return c->wide_grad ? QUERN_F32 : c->logits_dtype; }

int64_t cross_entropy_grad_bytes(const struct cross_entropy_case *c) {
    return c->rows * cross_entropy_grad_stride(c) * (int64_t)quern_dtype_bytes(cross_entropy_grad_dtype(c));
}

const char *cross_entropy_describe(const struct cross_entropy_case *c) {
    static char text[768];
    snprintf(text, sizeof text,
             "%s %s, %" PRId64 " x %" PRId64 " (+%" PRId64 " filled, +%" PRId64 ", +%" PRId64
             "), reduction %d, placement %d%s, strict %d, portable %d, ignore %" PRId64 ", upstream %d %d %d x %" PRId64
             ", scale %g, smoothing %g, z-loss %g, softcap %g, temperature 1/%g, %d, weights %d, outputs %u, shards %d split %"
             PRIu64 " later %d, offset %" PRId64 ", logits %g + %g * normal + %g at the label, seed %" PRIu64,
             quern_dtype_name(c->logits_dtype), quern_dtype_name(c->labels_dtype), c->rows, c->vocab, c->filled, c->padding,
             c->grad_padding, c->reduction, c->placement, c->wide_grad ? " in fp32" : "", c->strict, c->portable, c->ignore_index,
             c->has_upstream, c->has_log_prob_grad, c->has_entropy_grad, c->upstream_stride,
             (double)c->grad_scale, (double)c->label_smoothing, (double)c->z_loss, (double)c->softcap,
             (double)c->inverse_temperature, c->has_temperatures, c->has_weights,
             c->outputs, c->shards, c->split, c->later, c->offset, c->center, c->spread, c->peak, c->seed);
    return text;
}

static int compare_columns(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int cross_entropy_split(const struct cross_entropy_case *c, int64_t first[MOST_SHARDS + 1]) {
    int shards = c->shards < MOST_SHARDS ? c->shards : MOST_SHARDS;
    if (shards > c->vocab) shards = c->vocab > 0 ? (int)c->vocab : 1;
    first[0] = 0;
    for (int s = 1; s < shards; s++) first[s] = 1 + random_below(c->split * 8 + CUTS, (uint64_t)s, c->vocab - 1);
    if (shards > 1 && c->split % 2) first[1] = 1;
    qsort(first, (size_t)shards, sizeof *first, compare_columns);
    /* Equal cuts move apart, first upwards, then away from the end. */
    for (int s = 1; s < shards; s++)
        if (first[s] <= first[s - 1]) first[s] = first[s - 1] + 1;
    first[shards] = c->vocab;
    for (int s = shards - 1; s > 0; s--)
        if (first[s] >= first[s + 1]) first[s] = first[s + 1] - 1;
    return shards;
}

void cross_entropy_add_options(struct cross_entropy_case *c, const struct quern_kernel *row, bool softcap) {
    c->z_loss = 1e-3f;
    c->filled = 3;
    c->outputs = WANT_WHAT_IS_FREE;
    if (!row->key.cross_entropy.full) return;
    c->label_smoothing = 0.1f;
    c->has_weights = true;
    c->softcap = softcap ? 20 : 0;
    c->outputs = WANT_EVERYTHING;
}

void cross_entropy_make_portable(struct cross_entropy_case *c) {
    c->portable = true;
    c->softcap = c->label_smoothing = 0;
    c->wide_grad = false;
}

int64_t cross_entropy_part_columns(quern_dtype logits) {
    return test_kind() == QUERN_CPU ? QUERN_CPU_PART_COLUMNS : QUERN_GPU_PART_BYTES / (int64_t)quern_dtype_bytes(logits);
}

quern_cross_entropy_args cross_entropy_args_of(const struct cross_entropy_case *c) {
    const bool has_gap = c->padding + c->filled > 0;
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = c->logits_dtype, .labels_dtype = c->labels_dtype,
                                                       .reduction = c->reduction, .rows = c->rows, .vocab = c->vocab,
                                                       .padded_vocab = c->filled ? c->vocab + c->filled : 0,
                                                       .logits_stride = has_gap ? cross_entropy_logits_stride(c) : 0);
    args.ignore_index = c->ignore_index;
    args.grad_stride = c->placement == OUT_OF_PLACE && c->grad_padding ? cross_entropy_grad_stride(c) : 0;
    args.grad_loss_stride = c->upstream_stride;
    args.grad_scale = c->grad_scale;
    args.grad_dtype = c->wide_grad ? QUERN_F32 : QUERN_NO_DTYPE;
    args.label_smoothing = c->label_smoothing;
    args.z_loss = c->z_loss;
    args.softcap = c->softcap;
    args.inverse_temperature = c->inverse_temperature;
    args.grad_log_prob_stride = args.grad_entropy_stride = c->upstream_stride;
    args.strict_labels = c->strict;
    args.bits = c->portable ? QUERN_BITS_PORTABLE : QUERN_BITS_DEFAULT;
    return args;
}

/* ---- inputs ---- */

void cross_entropy_set_logit(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row,
                             int64_t column, double value) {
    dtype_store(c->logits_dtype, inputs->logits, row * cross_entropy_logits_stride(c) + column, value);
}

double cross_entropy_get_logit(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, int64_t row,
                               int64_t column) {
    return dtype_load(c->logits_dtype, inputs->logits, row * cross_entropy_logits_stride(c) + column);
}

void cross_entropy_set_label(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row,
                             int64_t label) {
    if (c->labels_dtype == QUERN_INT32) ((int32_t *)inputs->labels)[row] = (int32_t)label;
    else ((int64_t *)inputs->labels)[row] = label;
}

int64_t cross_entropy_get_label(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, int64_t row) {
    return c->labels_dtype == QUERN_INT32 ? ((int32_t *)inputs->labels)[row] : ((int64_t *)inputs->labels)[row];
}

bool cross_entropy_is_kept(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, int64_t row) {
    const int64_t label = cross_entropy_get_label(c, inputs, row), columns = c->columns_before + c->vocab;
    return c->refused || (c->strict && cross_entropy_row_kind(label, c->ignore_index, columns) == ROW_BAD_LABEL);
}

/* The first row has the first label and the last row the last one; other labels are random. */
static int64_t make_label(const struct cross_entropy_case *c, int64_t row) {
    if (c->ignored_every && row % c->ignored_every == c->ignored_every - 1) return c->ignore_index;
    if (row == 0) return 0;
    if (row == c->rows - 1) return c->vocab - 1;
    return random_below(c->seed * 8 + LABELS, (uint64_t)row, c->vocab);
}

static void make_row(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row) {
    int64_t label = make_label(c, row);
    cross_entropy_set_label(c, inputs, row, label);
    for (int64_t j = 0; j < c->vocab; j++) {
        double noise = random_normal(c->seed * 8 + LOGITS, (uint64_t)(row * c->vocab + j));
        cross_entropy_set_logit(c, inputs, row, j, c->center + c->spread * noise + (j == label ? c->peak : 0));
    }
}

/* From 1/4 to 7/4; about one in nine is 0. */
static void make_weights(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    for (int64_t j = 0; j < c->vocab; j++) {
        const double u = random_uniform(c->seed * 8 + WEIGHTS, (uint64_t)j);
        inputs->weights[j] = u < 0.11 ? 0 : (float)(0.25 + 1.5 * u);
    }
}

static float *make_upstream(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, uint64_t kind) {
    float *upstream = malloc((size_t)inputs->upstream_count * sizeof(float));
    check(upstream, "no memory");
    fill_pattern(upstream, (size_t)inputs->upstream_count * sizeof(float));
    for (int64_t r = 0; r < c->rows; r++)
        upstream[inputs->upstream_first + r * c->upstream_stride] =
            (float)(0.25 + random_normal(c->seed * 8 + kind, c->upstream_stride ? (uint64_t)r : 0));
    return upstream;
}

static void make_upstreams(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    int64_t span = c->rows > 0 ? (c->rows - 1) * llabs(c->upstream_stride) : 0;
    inputs->upstream_count = span + 1;
    inputs->upstream_first = c->upstream_stride < 0 ? span : 0;
    inputs->upstream = make_upstream(c, inputs, UPSTREAM);
    inputs->log_prob_upstream = make_upstream(c, inputs, OF_LOG_PROB);
    inputs->entropy_upstream = make_upstream(c, inputs, OF_ENTROPY);
}

/* From 1/4 to 4. */
static void make_temperatures(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    for (int64_t r = 0; r < c->rows; r++)
        inputs->temperatures[r] = (float)exp2(4 * random_uniform(c->seed * 8 + TEMPERATURES, (uint64_t)r) - 2);
}

void cross_entropy_make_inputs(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs) {
    const size_t bytes = (size_t)(c->rows * cross_entropy_logits_stride(c)) * quern_dtype_bytes(c->logits_dtype);
    *inputs = (struct cross_entropy_inputs){
        .logits = malloc(bytes + 1),
        .labels = malloc((size_t)c->rows * quern_dtype_bytes(c->labels_dtype) + 1),
        .weights = malloc((size_t)c->vocab * sizeof(float) + 1),
        .temperatures = malloc((size_t)c->rows * sizeof(float) + 1),
    };
    check(inputs->logits && inputs->labels && inputs->weights && inputs->temperatures, "no memory");
    fill_pattern(inputs->logits, bytes);
    for (int64_t r = 0; r < c->rows; r++) make_row(c, inputs, r);
    make_weights(c, inputs);
    make_upstreams(c, inputs);
    make_temperatures(c, inputs);
}

void cross_entropy_free_inputs(struct cross_entropy_inputs *inputs) {
    free(inputs->logits);
    free(inputs->labels);
    free(inputs->weights);
    free(inputs->upstream);
    free(inputs->log_prob_upstream);
    free(inputs->entropy_upstream);
    free(inputs->temperatures);
}
