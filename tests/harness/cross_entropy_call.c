/*
 * Runs a case of harness/cross_entropy_case.h: in one call, in one for the outputs and a later one for the gradient, or in steps
 * over shards that are windows of the same matrices.
 */
#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/cross_entropy_case.h"

struct buffers {
    struct buffer logits, labels, weights, grad, loss, lse, log_prob, entropy, argmax, stats, report;
    struct buffer upstream, log_prob_upstream, entropy_upstream, temperatures;
    struct buffer shards, nodes;  /* [shards, rows]; empty when there are none */
};

/* Of a row of each shard: sums and, for the entropy, moments. */
static int64_t nodes_of_row(const struct cross_entropy_case *c) { return c->outputs & WANT_ENTROPY ? 2 : 1; }

static size_t size_where(bool wanted, int64_t count, size_t element) { return wanted ? (size_t)count * element : 0; }

static void open_inputs(const struct test_device *device, const struct cross_entropy_case *c,
                        const struct cross_entropy_inputs *inputs, struct buffers *b) {
    const size_t element = quern_dtype_bytes(c->logits_dtype), label = quern_dtype_bytes(c->labels_dtype);
    const size_t offset = (size_t)c->offset;
    buffer_open(&b->logits, device, (size_t)(c->rows * cross_entropy_logits_stride(c)) * element, offset * element,
                inputs->logits);
    buffer_open(&b->labels, device, (size_t)c->rows * label, offset * label, inputs->labels);
    buffer_open(&b->weights, device, size_where(c->has_weights, c->vocab, sizeof(float)), offset * sizeof(float),
                inputs->weights);
    const size_t upstream = (size_t)inputs->upstream_count * sizeof(float), of_floats = offset * sizeof(float);
    buffer_open(&b->upstream, device, upstream, of_floats, inputs->upstream);
    buffer_open(&b->log_prob_upstream, device, c->has_log_prob_grad ? upstream : 0, of_floats, inputs->log_prob_upstream);
    buffer_open(&b->entropy_upstream, device, c->has_entropy_grad ? upstream : 0, of_floats, inputs->entropy_upstream);
    buffer_open(&b->temperatures, device, size_where(c->has_temperatures, c->rows, sizeof(float)), of_floats, inputs->temperatures);
}

static void open_outputs(const struct test_device *device, const struct cross_entropy_case *c, struct buffers *b) {
    const size_t of_grad = quern_dtype_bytes(cross_entropy_grad_dtype(c)), offset = (size_t)c->offset;
    const size_t of_floats = offset * sizeof(float), of_wide = offset * sizeof(int64_t);
    const bool stats = c->outputs & WANT_STATS || ((c->shards || c->later) && c->placement != NO_GRAD);
    buffer_open(&b->grad, device, c->placement == OUT_OF_PLACE ? (size_t)cross_entropy_grad_bytes(c) : 0, offset * of_grad, NULL);
    buffer_open(&b->loss, device, (size_t)cross_entropy_loss_count(c) * sizeof(float), of_floats, NULL);
    buffer_open(&b->lse, device, size_where(c->outputs & WANT_LSE, c->rows, sizeof(float)), of_floats, NULL);
    buffer_open(&b->log_prob, device, size_where(c->outputs & WANT_LOG_PROB, c->rows, sizeof(float)), of_floats, NULL);
    buffer_open(&b->entropy, device, size_where(c->outputs & WANT_ENTROPY, c->rows, sizeof(float)), of_floats, NULL);
    buffer_open(&b->argmax, device, size_where(c->outputs & WANT_ARGMAX, c->rows, sizeof(int64_t)), of_wide, NULL);
    buffer_open(&b->stats, device, size_where(stats, c->rows, sizeof(quern_row_stats)), of_wide, NULL);
    buffer_open(&b->report, device, sizeof(quern_cross_entropy_report), of_wide, NULL);
    buffer_open(&b->shards, device, (size_t)(c->rows * c->shards) * sizeof(quern_row_stats), of_wide, NULL);
    buffer_open(&b->nodes, device, c->portable ? (size_t)(nodes_of_row(c) * c->rows * c->shards) * sizeof(quern_row_nodes) : 0,
                of_floats, NULL);
}

static void close_buffers(struct buffers *b) {
    struct buffer *all[] = {&b->logits, &b->labels, &b->weights, &b->grad, &b->loss, &b->lse, &b->log_prob, &b->entropy,
                            &b->argmax, &b->stats, &b->report, &b->shards, &b->upstream, &b->log_prob_upstream,
                            &b->entropy_upstream, &b->temperatures, &b->nodes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) buffer_close(all[i]);
}

static void *where_wanted(const struct buffer *buffer, bool wanted) { return wanted ? buffer->data : NULL; }

static quern_cross_entropy_args with_pointers(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                                              const struct buffers *b) {
    quern_cross_entropy_args args = cross_entropy_args_of(c);
    args.logits = b->logits.data;
    args.labels = b->labels.data;
    args.class_weights = where_wanted(&b->weights, c->has_weights);
    args.grad = c->placement == NO_GRAD ? NULL : c->placement == IN_PLACE ? b->logits.data : b->grad.data;
    args.loss = where_wanted(&b->loss, !c->no_loss);
    args.grad_loss = c->has_upstream ? (float *)b->upstream.data + inputs->upstream_first : NULL;
    args.grad_log_prob = c->has_log_prob_grad ? (float *)b->log_prob_upstream.data + inputs->upstream_first : NULL;
    args.grad_entropy = c->has_entropy_grad ? (float *)b->entropy_upstream.data + inputs->upstream_first : NULL;
    args.inverse_temperatures = where_wanted(&b->temperatures, c->has_temperatures);
    if (!args.grad) {  /* ignored then: an address that is no memory */
        const float *const none = (const float *)(uintptr_t)(1 << 20);
        if (args.grad_loss) args.grad_loss = none;
        if (args.grad_log_prob) args.grad_log_prob = none;
        if (args.grad_entropy) args.grad_entropy = none;
    }
    args.report = where_wanted(&b->report, !c->no_report);
    args.lse = where_wanted(&b->lse, c->outputs & WANT_LSE);
    args.log_prob = where_wanted(&b->log_prob, c->outputs & WANT_LOG_PROB);
    args.entropy = where_wanted(&b->entropy, c->outputs & WANT_ENTROPY);
    args.argmax = where_wanted(&b->argmax, c->outputs & WANT_ARGMAX);
    args.stats = where_wanted(&b->stats, b->stats.bytes > 0);
    return args;
}

/* ---- the calls, each with its own workspace: none may depend on the contents that another left ---- */

struct step {
    const struct test_device *device;
    const struct cross_entropy_case *c;
    const quern_row_stats *shards;
    int shard_count;
};

typedef quern_status function(const struct step *step, const quern_cross_entropy_args *args, void *workspace, size_t bytes);

static quern_status whole(const struct step *step, const quern_cross_entropy_args *args, void *workspace, size_t bytes) {
    return quern_cross_entropy(step->device->quern, args, workspace, bytes, step->device->stream);
}

static quern_status stats(const struct step *step, const quern_cross_entropy_args *args, void *workspace, size_t bytes) {
    return quern_cross_entropy_stats(step->device->quern, args, workspace, bytes, step->device->stream);
}

static quern_status combine(const struct step *step, const quern_cross_entropy_args *args, void *workspace, size_t bytes) {
    return quern_cross_entropy_combine(step->device->quern, args, step->shards, step->shard_count, workspace, bytes,
                                       step->device->stream);
}

static quern_status gradient(const struct step *step, const quern_cross_entropy_args *args, void *workspace, size_t bytes) {
    return quern_cross_entropy_gradient(step->device->quern, args, workspace, bytes, step->device->stream);
}

static void check_outcome(const struct step *step, quern_status status, struct buffer *workspace) {
    const char *refused = step->c->refused, *describe = cross_entropy_describe(step->c);
    check(status == (refused ? QUERN_INVALID_ARGUMENT : QUERN_OK), "%s: %s [%s]", quern_status_string(status), error_detail(),
          describe);
    if (!refused) return;
    check(!strcmp(error_detail(), refused), "\"%s\" instead of \"%s\" [%s]", error_detail(), refused, describe);
    check(holds_pattern(buffer_read(workspace), workspace->bytes), "a refused call wrote to its workspace [%s]", describe);
}

static void run(const struct step *step, function *call, const quern_cross_entropy_args *args) {
    struct buffer workspace CLOSED_BY(buffer_close);
    size_t bytes;
    check_ok(quern_cross_entropy_workspace(step->device->quern, args, &bytes));
    buffer_open(&workspace, step->device, bytes, 16, NULL);
    check_outcome(step, call(step, args, bytes ? workspace.data : NULL, bytes), &workspace);
}

/* ---- in several calls ---- */

static void run_in_two(const struct step *step, const quern_cross_entropy_args *all) {
    quern_cross_entropy_args forward = *all;
    forward.grad = NULL;
    run(step, whole, &forward);
    run(step, gradient, all);
}

/* The arguments of the whole, restricted to the columns of one shard. */
static quern_cross_entropy_args of_shard(const struct cross_entropy_case *c, const quern_cross_entropy_args *all, int64_t first,
                                         int64_t end) {
    const size_t bytes = (size_t)first * quern_dtype_bytes(c->logits_dtype);
    quern_cross_entropy_args args = *all;
    args.vocab = end - first;
    args.first_column = c->columns_before + first;
    args.global_vocab = c->columns_before + c->vocab;
    args.padded_vocab = end == c->vocab && c->filled ? args.vocab + c->filled : 0;
    args.logits = (const char *)all->logits + bytes;
    args.logits_stride = cross_entropy_logits_stride(c);
    if (all->grad) args.grad = (char *)all->grad + (size_t)first * quern_dtype_bytes(cross_entropy_grad_dtype(c));
    if (all->grad) args.grad_stride = cross_entropy_grad_stride(c);
    return args;
}

static void *copy_of(struct buffer *buffer) {
    void *copy = malloc(buffer->bytes + 1);
    check(copy, "no memory");
    memcpy(copy, buffer_read(buffer), buffer->bytes);
    return copy;
}

/*
 * Any rank may combine: the first one writes to a separate buffer, the last one in place of the first shard's stats, and both
 * must write the same.
 */
static void combine_as_two_ranks(struct step *step, const quern_cross_entropy_args *first, const quern_cross_entropy_args *last,
                                 struct buffers *b) {
    struct buffer *written[] = {&b->loss, &b->lse, &b->log_prob, &b->entropy, &b->argmax, &b->report};
    enum { WRITTEN = sizeof written / sizeof *written };
    void *before[WRITTEN], *shards = copy_of(&b->shards), *nodes = copy_of(&b->nodes);
    run(step, combine, first);
    check(!memcmp(buffer_read(&b->shards), shards, b->shards.bytes), "combine changed the shards' stats [%s]",
          cross_entropy_describe(step->c));
    for (int i = 0; i < WRITTEN; i++) before[i] = copy_of(written[i]);
    quern_cross_entropy_args in_place = *last;
    in_place.stats = b->shards.data;
    run(step, combine, &in_place);
    for (int i = 0; i < WRITTEN; i++) {
        check(!memcmp(buffer_read(written[i]), before[i], written[i]->bytes), "another rank combines to another output %d [%s]", i,
              cross_entropy_describe(step->c));
        free(before[i]);
    }
    check(!b->stats.bytes || !memcmp(buffer_read(&b->shards), buffer_read(&b->stats), b->stats.bytes),
          "another rank combines to other stats [%s]", cross_entropy_describe(step->c));
    check(!memcmp(buffer_read(&b->nodes), nodes, b->nodes.bytes), "combine changed the nodes [%s]",
          cross_entropy_describe(step->c));
    free(nodes);
    free(shards);
}

/* A rank has the class weights of its own columns only: guards surround them. */
static void open_shard_weights(const struct step *step, const struct cross_entropy_inputs *inputs, const int64_t *first,
                               quern_cross_entropy_args *args, struct buffer *weights) {
    for (int s = 0; s < step->shard_count; s++) {
        const int64_t columns = step->c->has_weights ? first[s + 1] - first[s] : 0;
        buffer_open(&weights[s], step->device, (size_t)columns * sizeof(float), (size_t)step->c->offset * sizeof(float),
                    inputs->weights + first[s]);
        if (columns) args[s].class_weights = weights[s].data;
    }
}

static void run_in_steps(struct step *step, const quern_cross_entropy_args *all, const struct cross_entropy_inputs *inputs,
                         struct buffers *b) {
    const struct cross_entropy_case *c = step->c;
    int64_t first[MOST_SHARDS + 1];
    struct buffer weights[MOST_SHARDS];
    quern_cross_entropy_args args[MOST_SHARDS];
    step->shard_count = cross_entropy_split(c, first);
    step->shards = b->shards.data;
    for (int s = 0; s < step->shard_count; s++) args[s] = of_shard(c, all, first[s], first[s + 1]);
    for (int s = 0; s < step->shard_count; s++) args[s].nodes = where_wanted(&b->nodes, c->portable);
    open_shard_weights(step, inputs, first, args, weights);
    for (int s = 0; s < step->shard_count; s++) {
        quern_cross_entropy_args own = args[s];
        own.stats = (quern_row_stats *)b->shards.data + s * c->rows;
        if (c->portable) own.nodes = (quern_row_nodes *)b->nodes.data + nodes_of_row(c) * s * c->rows;
        run(step, stats, &own);
    }
    check(holds_pattern(buffer_read(&b->loss), b->loss.bytes) && holds_pattern(buffer_read(&b->report), b->report.bytes),
          "the stats of a shard are all that its first step writes");
    combine_as_two_ranks(step, &args[0], &args[step->shard_count - 1], b);
    for (int s = 0; s < step->shard_count && all->grad; s++) run(step, gradient, &args[s]);
    for (int s = 0; s < step->shard_count; s++) buffer_close(&weights[s]);
}

/* ---- the whole case ---- */

static void check_unchanged(const struct cross_entropy_case *c, struct buffer *buffer, const void *before, const char *name) {
    check(!buffer->bytes || !memcmp(buffer_read(buffer), before, buffer->bytes), "%s was changed [%s]", name,
          cross_entropy_describe(c));
}

static bool is_zero(const void *memory, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (((const char *)memory)[i]) return false;
    return true;
}

/* Columns up to padded_vocab are zero, unless the row is kept; those beyond are unchanged. */
static void check_padding(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, const void *grad) {
    const size_t element = quern_dtype_bytes(cross_entropy_grad_dtype(c)), stride = (size_t)cross_entropy_grad_stride(c);
    const size_t vocab = (size_t)c->vocab, padded = vocab + (size_t)c->filled;
    for (size_t r = 0; r < (size_t)c->rows; r++) {
        const char *row = (const char *)grad + r * stride * element;
        const bool kept = cross_entropy_is_kept(c, inputs, (int64_t)r);
        const size_t filled = (padded - vocab) * element;
        check(kept ? holds_pattern(row + vocab * element, filled) : is_zero(row + vocab * element, filled),
              "padding of row %zu is %s [%s]", r, kept ? "written" : "not zero", cross_entropy_describe(c));
        check(holds_pattern(row + padded * element, (stride - padded) * element), "what follows row %zu was written [%s]", r,
              cross_entropy_describe(c));
    }
}

static void *copy_where(struct buffer *buffer, bool wanted) { return wanted ? copy_of(buffer) : NULL; }

static void read_outputs(const struct cross_entropy_case *c, struct buffers *b, struct cross_entropy_outputs *outputs) {
    *outputs = (struct cross_entropy_outputs){
        .grad = c->placement == NO_GRAD ? NULL : copy_of(c->placement == IN_PLACE ? &b->logits : &b->grad),
        .loss = copy_of(&b->loss),
        .lse = copy_where(&b->lse, c->outputs & WANT_LSE),
        .log_prob = copy_where(&b->log_prob, c->outputs & WANT_LOG_PROB),
        .entropy = copy_where(&b->entropy, c->outputs & WANT_ENTROPY),
        .argmax = copy_where(&b->argmax, c->outputs & WANT_ARGMAX),
        .stats = copy_where(&b->stats, c->outputs & WANT_STATS),
    };
    memcpy(&outputs->report, buffer_read(&b->report), sizeof outputs->report);
}

void cross_entropy_run(const struct test_device *device, const struct cross_entropy_case *c,
                       const struct cross_entropy_inputs *inputs, struct cross_entropy_outputs *outputs) {
    struct buffers b;
    struct step step = {.device = device, .c = c};
    open_inputs(device, c, inputs, &b);
    open_outputs(device, c, &b);
    const quern_cross_entropy_args args = with_pointers(c, inputs, &b);
    if (c->shards) run_in_steps(&step, &args, inputs, &b);
    else if (c->later && args.grad) run_in_two(&step, &args);
    else run(&step, whole, &args);
    read_outputs(c, &b, outputs);
    check_unchanged(c, &b.labels, inputs->labels, "labels");
    check_unchanged(c, &b.upstream, inputs->upstream, "grad_loss");
    check_unchanged(c, &b.weights, inputs->weights, "class_weights");
    check_unchanged(c, &b.log_prob_upstream, inputs->log_prob_upstream, "grad_log_prob");
    check_unchanged(c, &b.entropy_upstream, inputs->entropy_upstream, "grad_entropy");
    check_unchanged(c, &b.temperatures, inputs->temperatures, "inverse_temperatures");
    if (c->placement != IN_PLACE) check_unchanged(c, &b.logits, inputs->logits, "logits");
    if (c->no_loss) check(holds_pattern(outputs->loss, b.loss.bytes), "an unwanted loss was written");
    if (c->no_report) check(holds_pattern(&outputs->report, b.report.bytes), "an unwanted report was written");
    if (outputs->grad) check_padding(c, inputs, outputs->grad);
    close_buffers(&b);
}

void cross_entropy_free_outputs(struct cross_entropy_outputs *outputs) {
    void *all[] = {outputs->grad, outputs->loss, outputs->lse, outputs->log_prob, outputs->entropy, outputs->argmax,
                   outputs->stats};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}
