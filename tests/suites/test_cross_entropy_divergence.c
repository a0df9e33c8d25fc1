/*
 * Divergences from soft targets of given and of all columns, and their gradient, against sums over the row in double and their
 * slopes, which are differences of these sums: of whole rows, with a gradient that is computed later, and of shards, beside all
 * options.
 *
 * Runs on: cpu, every emulated, gpu; kernels of cross_entropy.
 */
#include "harness/args.h"
#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/cross_entropy.h"
#include "oracle/dtype.h"

static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};

enum { WHOLE, LATER, IN_SHARDS, WAYS };

/* Rows that are not ordinary, in the order of their numbers from 3 on. */
enum { IGNORED_ROW = 3, NAN_ROW, INFINITE_ROW, MASKED_ROW, CONFIDENT_ROW, ROWS = 10, MOST_VOCAB = 80, MOST_GIVEN = MOST_VOCAB };

struct divergence_case {
    quern_dtype dtype;
    quern_dtype soft;                            /* all columns have targets, of this type, in a matrix; 0: given columns have */
    quern_dtype grad;                            /* 0: the type of the logits */
    quern_divergence kind;
    quern_reduction reduction;
    int way;
    int64_t vocab, given;
    bool has_tail, in_place, has_options, has_other_upstreams, has_all_mass;
    float softcap, inverse_temperature;
    uint64_t seed;
};

struct scene {
    struct divergence_case c;
    int64_t stride;
    double logits[ROWS][MOST_VOCAB];             /* as stored */
    int64_t labels[ROWS], ids[ROWS][MOST_GIVEN];
    double targets[ROWS][MOST_GIVEN];
    float upstream[4][ROWS];                     /* of the loss, log_prob, the entropy and the divergence */
    double weights[MOST_VOCAB];
};

static const float grad_scale = 0.75f;

/* ---- the inputs ---- */

static double logit_of(const struct divergence_case *c, int64_t row, int64_t column) {
    const double x = 2 * random_normal(c->seed + (uint64_t)row, (uint64_t)column);
    if (row == NAN_ROW && column == 1) return (double)NAN;
    if (row == INFINITE_ROW && c->softcap == 0) return (double)-INFINITY;
    if (row == MASKED_ROW && column % 3 == 1) return (double)-INFINITY;
    return row == CONFIDENT_ROW && column == 2 ? 25 : x;
}

/* Distinct columns, the label among them in every second row; one that does not exist has no mass. */
static void make_lists(struct scene *s, int64_t row) {
    const struct divergence_case *c = &s->c;
    const int64_t first = random_below(c->seed + 20, (uint64_t)row, c->vocab);
    double sum = 0;
    for (int64_t i = 0; i < c->given; i++) {
        s->ids[row][i] = (first + i * (c->vocab / c->given)) % c->vocab;
        s->targets[row][i] = 0.05 + random_uniform(c->seed + 21, (uint64_t)(row * c->given + i));
        if (i == 2 && c->kind != QUERN_KL_REVERSE) s->targets[row][i] = 0;
        if (i == 1 && row % 3 == 1 && !c->soft) s->ids[row][i] = -1, s->targets[row][i] = 0;
        sum += s->targets[row][i];
    }
    for (int64_t i = 0; i < c->given; i++)
        s->targets[row][i] = dtype_round(c->soft ? c->soft : QUERN_F32, s->targets[row][i] / sum * (c->has_all_mass ? 1 : 0.8));
    s->labels[row] = row == IGNORED_ROW ? -100 : row % 2 ? s->ids[row][0] : (s->ids[row][0] + 1) % c->vocab;
}

static quern_dtype grad_dtype(const struct scene *s) { return s->c.grad ? s->c.grad : s->c.dtype; }

static void make_scene(struct scene *s, const struct divergence_case *c) {
    *s = (struct scene){.c = *c, .stride = c->vocab + 3};
    if (c->soft) s->c.given = c->vocab;
    c = &s->c;
    for (int64_t row = 0; row < ROWS; row++) {
        for (int64_t column = 0; column < c->vocab; column++)
            s->logits[row][column] = dtype_round(c->dtype, logit_of(c, row, column));
        make_lists(s, row);
        for (int k = 0; k < 4; k++) s->upstream[k][row] = (float)(random_uniform(c->seed + 22, (uint64_t)(row * 4 + k)) - 0.3);
    }
    for (int64_t i = 0; i < c->vocab; i++) s->weights[i] = 0.5 + 0.125 * (double)(i % 5);
}

/* ---- what is expected ---- */

static struct cross_entropy_options options_of(const struct scene *s) {
    const struct divergence_case *c = &s->c;
    struct cross_entropy_options options = {.softcap = (double)c->softcap, .inverse_temperature = (double)c->inverse_temperature};
    if (c->has_options) options.label_smoothing = (double)0.1f, options.z_loss = (double)0.01f, options.class_weights = s->weights;
    return options;
}

static double times_log(double p, double ratio) { return p != 0 ? p * log(ratio) : 0; }

static double term_of(quern_divergence kind, double t, double q) {
    const double m = (t + q) / 2;
    if (kind == QUERN_JENSEN_SHANNON) return (times_log(t, t / m) + times_log(q, q / m)) / 2;
    return kind == QUERN_KL_FORWARD ? times_log(t, t / q) : times_log(q, q / t);
}

/* Of the row with these y. */
static double divergence_of(const struct scene *s, int64_t row, const double *y) {
    const struct divergence_case *c = &s->c;
    double largest = (double)-INFINITY, sum = 0, value = 0, all_t = 0, all_q = 0;
    for (int64_t i = 0; i < c->vocab; i++) largest = fmax(largest, y[i]);
    for (int64_t i = 0; i < c->vocab; i++) sum += exp(y[i] - largest);
    for (int64_t i = 0; i < c->given; i++) {
        const double t = s->targets[row][i], q = s->ids[row][i] < 0 ? 0 : exp(y[s->ids[row][i]] - largest) / sum;
        value += term_of(c->kind, t, q), all_t += t, all_q += q;
    }
    return value + (c->has_tail ? term_of(c->kind, fmax(1 - all_t, 0x1p-22), fmax(1 - all_q, 0x1p-22)) : 0);
}

/* The slope of the divergence in one logit. */
static double slope_of(const struct scene *s, int64_t row, int64_t column) {
    const struct cross_entropy_options options = options_of(s);
    double y[MOST_VOCAB], above, x = s->logits[row][column];
    const double step = 1e-4;
    if (x == (double)-INFINITY) return 0;
    for (int64_t i = 0; i < s->c.vocab; i++) y[i] = cross_entropy_y(s->logits[row][i], &options);
    y[column] = cross_entropy_y(x + step, &options);
    above = divergence_of(s, row, y);
    y[column] = cross_entropy_y(x - step, &options);
    return (above - divergence_of(s, row, y)) / (2 * step);
}

static bool is_ordinary(const struct scene *s, int64_t row) {
    return row != IGNORED_ROW && row != NAN_ROW && (row != INFINITE_ROW || s->c.softcap != 0);
}

static double divisor_of(const struct scene *s) {
    double sum = 0;
    for (int64_t row = 0; row < ROWS; row++)
        if (row != IGNORED_ROW) sum += s->c.has_options ? s->weights[s->labels[row]] : 1;
    return s->c.reduction == QUERN_REDUCTION_MEAN ? sum : 1;
}

static void check_gradient(const struct scene *s, int64_t row, const void *grad) {
    const struct divergence_case *c = &s->c;
    const struct cross_entropy_options options = options_of(s);
    const double scale = (double)grad_scale;
    struct cross_entropy_upstream upstream = {scale * (double)s->upstream[0][row] / divisor_of(s), 0, 0};
    if (c->has_other_upstreams)
        upstream.log_prob = scale * (double)s->upstream[1][row], upstream.entropy = scale * (double)s->upstream[2][row];
    struct cross_entropy_value exact[MOST_VOCAB];
    const struct cross_entropy_exact of_row = cross_entropy_exact_row(s->logits[row], c->vocab, s->labels[row], &options, upstream,
                                                                      exact);
    for (int64_t column = 0; column < c->vocab; column++) {
        const double own = scale * (double)s->upstream[3][row] * slope_of(s, row, column), expected = exact[column].exact + own;
        const double error = exact[column].tolerance + 4e-6 * (fabs(exact[column].exact) + fabs(own) + of_row.largest_grad) + 4e-7;
        const quern_dtype dtype = grad_dtype(s);
        const double found = dtype_load(dtype, grad, row * s->stride + column);
        check(found >= dtype_round(dtype, expected - error) && found <= dtype_round(dtype, expected + error),
              "gradient [%lld][%lld] is %.9g instead of %.9g (%.3g of the divergence): %s, kind %d, way %d, tail %d, seed %llu",
              (long long)row, (long long)column, found, expected, own, quern_dtype_name(c->dtype), (int)c->kind, c->way,
              c->has_tail, (unsigned long long)c->seed);
    }
}

/* Rows without numbers: 0, NaN and 0 throughout. */
static void check_other_row(const struct scene *s, int64_t row, float divergence, const void *grad) {
    const double expected = row == IGNORED_ROW ? 0 : row == NAN_ROW ? (double)NAN : (double)INFINITY;
    check((double)divergence == expected || (isnan(divergence) && isnan(expected)), "row %d has the divergence %g", (int)row,
          (double)divergence);
    for (int64_t column = 0; column < s->c.vocab && grad; column++) {
        const double found = dtype_load(grad_dtype(s), grad, row * s->stride + column);
        check(row == NAN_ROW ? isnan(found) : found == 0, "gradient [%d][%d] is %g", (int)row, (int)column, found);
    }
}

static void check_results(const struct scene *s, const float *divergence, const void *grad) {
    const struct cross_entropy_options options = options_of(s);
    for (int64_t row = 0; row < ROWS; row++) {
        double y[MOST_VOCAB];
        if (!is_ordinary(s, row)) {
            check_other_row(s, row, divergence[row], grad);
            continue;
        }
        for (int64_t i = 0; i < s->c.vocab; i++) y[i] = cross_entropy_y(s->logits[row][i], &options);
        const double expected = divergence_of(s, row, y);
        const double error = fabs((double)divergence[row] - expected);
        check(error <= 4e-6 * (1 + fabs(expected)) || (isinf(expected) && isinf(divergence[row])),
              "the divergence of row %d is %.9g instead of %.9g: kind %d, way %d, tail %d, seed %llu", (int)row,
              (double)divergence[row], expected, (int)s->c.kind, s->c.way, s->c.has_tail, (unsigned long long)s->c.seed);
        if (grad && isfinite(expected)) check_gradient(s, row, grad);
    }
}

/* ---- calls ---- */

enum { SHARDS = 3 };

struct memory {
    struct buffer logits, labels, grad, upstream[4], weights, ids, log_probs, targets, soft, divergence, loss;
    struct buffer stats, shards, shard_log_probs;
};

static void open_floats(struct buffer *buffer, const struct test_device *device, const double *values, int64_t count) {
    float floats[ROWS * MOST_VOCAB];
    for (int64_t i = 0; i < count; i++) floats[i] = (float)values[i];
    buffer_open(buffer, device, (size_t)count * sizeof *floats, 4, floats);
}

static void open_memory(struct memory *m, const struct test_device *device, const struct scene *s) {
    const struct divergence_case *c = &s->c;
    const size_t bytes = (size_t)(ROWS * s->stride) * quern_dtype_bytes(c->dtype);
    SCOPED unsigned char *logits = zeroed(bytes);
    int64_t ids[ROWS * MOST_GIVEN];
    double targets[ROWS * MOST_GIVEN];
    float soft[ROWS * (MOST_VOCAB + 3)];
    fill_pattern(logits, bytes);
    fill_pattern(soft, sizeof soft);
    for (int64_t row = 0; row < ROWS; row++) {
        for (int64_t i = 0; i < c->vocab; i++) dtype_store(c->dtype, logits, row * s->stride + i, s->logits[row][i]);
        memcpy(ids + row * c->given, s->ids[row], (size_t)c->given * sizeof *ids);
        memcpy(targets + row * c->given, s->targets[row], (size_t)c->given * sizeof *targets);
    }
    buffer_open(&m->logits, device, bytes, quern_dtype_bytes(c->dtype), logits);
    const size_t of_grad = quern_dtype_bytes(grad_dtype(s)), of_soft = quern_dtype_bytes(c->soft ? c->soft : QUERN_F32);
    buffer_open(&m->grad, device, (size_t)(ROWS * s->stride) * of_grad, of_grad, NULL);
    for (int64_t i = 0; i < ROWS * c->given && c->soft; i++)
        dtype_store(c->soft, soft, i / c->given * s->stride + ids[i], targets[i]);
    buffer_open(&m->soft, device, sizeof soft / sizeof(float) * of_soft, of_soft, soft);
    buffer_open(&m->labels, device, sizeof s->labels, 8, s->labels);
    for (int k = 0; k < 4; k++) buffer_open(&m->upstream[k], device, sizeof s->upstream[k], 4, s->upstream[k]);
    open_floats(&m->weights, device, s->weights, c->vocab);
    buffer_open(&m->ids, device, (size_t)(ROWS * c->given) * sizeof *ids, 8, ids);
    open_floats(&m->targets, device, targets, ROWS * c->given);
    buffer_open(&m->log_probs, device, (size_t)(ROWS * c->given) * sizeof(float), 4, NULL);
    buffer_open(&m->divergence, device, ROWS * sizeof(float), 4, NULL);
    buffer_open(&m->loss, device, ROWS * sizeof(float), 4, NULL);
    buffer_open(&m->stats, device, ROWS * sizeof(quern_row_stats), 8, NULL);
    buffer_open(&m->shards, device, SHARDS * ROWS * sizeof(quern_row_stats), 8, NULL);
    buffer_open(&m->shard_log_probs, device, (size_t)(SHARDS * ROWS * c->given) * sizeof(float), 4, NULL);
}

static void close_memory(struct memory *m) {
    struct buffer *all[] = {&m->logits, &m->labels, &m->grad, &m->weights, &m->ids, &m->log_probs, &m->targets, &m->soft,
                            &m->divergence, &m->loss, &m->stats, &m->shards, &m->shard_log_probs};
    for (size_t i = 0; i < COUNT(all); i++) buffer_close(all[i]);
    for (int k = 0; k < 4; k++) buffer_close(&m->upstream[k]);
}

static quern_cross_entropy_args args_of(const struct scene *s, const struct memory *m) {
    const struct divergence_case *c = &s->c;
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = c->dtype, .labels_dtype = QUERN_INT64, .rows = ROWS,
                                                       .reduction = c->reduction, .vocab = c->vocab, .logits = m->logits.data,
                                                       .logits_stride = s->stride, .labels = m->labels.data);
    args.grad = c->in_place ? m->logits.data : m->grad.data, args.grad_stride = s->stride;
    args.loss = m->loss.data, args.grad_scale = grad_scale, args.grad_loss = m->upstream[0].data;
    if (c->has_other_upstreams) args.grad_log_prob = m->upstream[1].data, args.grad_entropy = m->upstream[2].data;
    args.softcap = c->softcap, args.inverse_temperature = c->inverse_temperature;
    if (c->has_options) args.label_smoothing = 0.1f, args.z_loss = 0.01f, args.class_weights = m->weights.data;
    args.given_count = c->given, args.given_ids = m->ids.data, args.given_log_probs = m->log_probs.data;
    args.target_probs = m->targets.data, args.divergence_kind = c->kind, args.has_tail = c->has_tail;
    args.grad_dtype = c->grad;
    if (c->soft) {
        args.given_count = 0, args.given_ids = NULL, args.given_log_probs = NULL, args.target_probs = NULL;
        args.soft_targets_dtype = c->soft, args.soft_targets = m->soft.data, args.soft_targets_stride = s->stride;
    }
    args.divergence = m->divergence.data, args.grad_divergence = m->upstream[3].data, args.stats = m->stats.data;
    return args;
}

typedef quern_status step(quern_device *device, const quern_cross_entropy_args *args, void *workspace, size_t bytes, void *stream);

static void run(const struct test_device *device, step *function, const quern_cross_entropy_args *args) {
    size_t bytes;
    check_ok(quern_cross_entropy_workspace(device->quern, args, &bytes));
    OPEN_BUFFER(workspace, device, bytes, 16, NULL);
    check_ok(function(device->quern, args, workspace.data, bytes, device->stream));
}

static void run_combine(const struct test_device *device, const quern_cross_entropy_args *args, const struct memory *m) {
    size_t bytes;
    check_ok(quern_cross_entropy_workspace(device->quern, args, &bytes));
    OPEN_BUFFER(workspace, device, bytes, 16, NULL);
    check_ok(quern_cross_entropy_combine(device->quern, args, m->shards.data, SHARDS, workspace.data, bytes, device->stream));
}

/* The columns of one shard, in the memory of the whole. */
static quern_cross_entropy_args of_shard(const struct scene *s, const quern_cross_entropy_args *all, int64_t shard) {
    const int64_t first = s->c.vocab * shard / SHARDS, end = s->c.vocab * (shard + 1) / SHARDS;
    const size_t bytes = (size_t)first * quern_dtype_bytes(s->c.dtype);
    quern_cross_entropy_args args = *all;
    args.vocab = end - first, args.first_column = first, args.global_vocab = s->c.vocab;
    args.logits = (const char *)all->logits + bytes;
    args.grad = (char *)all->grad + bytes;
    if (all->class_weights) args.class_weights = all->class_weights + first;
    return args;
}

static void run_shards(const struct test_device *device, const struct scene *s, const quern_cross_entropy_args *all,
                       const struct memory *m) {
    quern_cross_entropy_args args = *all;
    for (int64_t shard = 0; shard < SHARDS; shard++) {
        args = of_shard(s, all, shard);
        args.stats = (quern_row_stats *)m->shards.data + shard * ROWS;
        args.given_log_probs = (float *)m->shard_log_probs.data + shard * ROWS * s->c.given;
        run(device, quern_cross_entropy_stats, &args);
    }
    args = of_shard(s, all, 0);
    args.shard_given_logits = m->shard_log_probs.data;
    run_combine(device, &args, m);
    for (int64_t shard = 0; shard < SHARDS; shard++) {
        args = of_shard(s, all, shard);
        run(device, quern_cross_entropy_gradient, &args);
    }
}

/* The gradient of a skipped row is 0 whatever its stats are. */
static void run_later(const struct test_device *device, const quern_cross_entropy_args *forward,
                      const quern_cross_entropy_args *args, struct memory *m) {
    quern_row_stats stats[ROWS];
    run(device, quern_cross_entropy, forward);
    memcpy(stats, buffer_read(&m->stats), sizeof stats);
    stats[IGNORED_ROW] = stats[0];
    buffer_write(&m->stats, stats);
    run(device, quern_cross_entropy_gradient, args);
}

static void check_case(const struct test_device *device, const struct divergence_case *c) {
    struct scene s;
    struct memory m CLOSED_BY(close_memory);
    make_scene(&s, c);
    open_memory(&m, device, &s);
    const quern_cross_entropy_args args = args_of(&s, &m);
    quern_cross_entropy_args forward = args;
    forward.grad = NULL;
    if (c->way == IN_SHARDS) run_shards(device, &s, &args, &m);
    else if (c->way == WHOLE) run(device, quern_cross_entropy, &args);
    else run_later(device, &forward, &args, &m);
    check_results(&s, buffer_read(&m.divergence), buffer_read(c->in_place ? &m.logits : &m.grad));
}

#define CHECK(...) check_case(&device, &(const struct divergence_case){__VA_ARGS__})

Test(cross_entropy_divergence, of_all_kinds) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int kind = QUERN_KL_FORWARD; kind <= QUERN_JENSEN_SHANNON; kind++)
        for (int i = 0; i < 6; i++)
            CHECK(.dtype = dtypes[i % 3], .kind = (quern_divergence)kind, .way = (i + kind) % WAYS, .vocab = 40 + 13 * (i % 4),
                  .given = 3 + 4 * (i % 3), .has_tail = i % 2, .in_place = i > 2, .has_all_mass = i == 5,
                  .seed = (uint64_t)(100 * kind + 10 * i));
}

/* One call, and a gradient that is computed later; logits, targets and gradient have each type. */
Test(cross_entropy_divergence, of_soft_targets_of_all_columns) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int kind = QUERN_KL_FORWARD; kind <= QUERN_JENSEN_SHANNON; kind++)
        for (int i = 0; i < 9; i++)
            CHECK(.dtype = dtypes[i % 3], .soft = dtypes[i / 3], .grad = i % 4 == 1 ? QUERN_F32 : QUERN_NO_DTYPE,
                  .kind = (quern_divergence)kind, .way = (i + kind) % 2 ? LATER : WHOLE, .vocab = 33 + 11 * (i % 5),
                  .in_place = i % 4 == 3, .has_all_mass = i != 4, .seed = (uint64_t)(6000 + 100 * kind + 10 * i));
}

Test(cross_entropy_divergence, with_options) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int i = 0; i < 24; i++)
        CHECK(.dtype = dtypes[i % 3], .soft = i % 2 && i % 3 < 2 ? dtypes[i / 2 % 3] : QUERN_NO_DTYPE,
              .kind = (quern_divergence)(i % 4 % 3), .way = i % WAYS, .vocab = 61, .given = 7,
              .has_tail = i % 2 && i % 3 == 2, .in_place = i % 5 == 1, .has_options = i % 4 > 1, .has_other_upstreams = i % 3 == 1,
              .reduction = i % 7 == 3 ? QUERN_REDUCTION_MEAN : QUERN_REDUCTION_NONE, .softcap = i % 3 == 2 ? 6 : 0,
              .inverse_temperature = i % 5 == 2 ? 0.75f : 0, .seed = 1000 + 10 * (uint64_t)i);
}

/* Without a list all distributions have one outcome, and are equal. */
Test(cross_entropy_divergence, of_no_columns) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int has_tail = 0; has_tail < 2; has_tail++) {
        struct scene s;
        struct memory m CLOSED_BY(close_memory);
        make_scene(&s, &(const struct divergence_case){.dtype = QUERN_F32, .vocab = 50, .given = 5, .seed = 5});
        open_memory(&m, &device, &s);
        quern_cross_entropy_args args = args_of(&s, &m);
        args.given_count = 0, args.target_probs = NULL, args.given_ids = NULL, args.given_log_probs = NULL;
        args.has_tail = has_tail;
        run(&device, quern_cross_entropy, &args);
        const float *divergence = buffer_read(&m.divergence);
        for (int row = 0; row < ROWS; row++)
            check(divergence[row] == 0 || !is_ordinary(&s, row), "row %d has %g", row, (double)divergence[row]);
        s.c.given = 0;
        check_gradient(&s, 0, buffer_read(&m.grad));
    }
}

/* Every column is listed: nothing is left for the tail but an error of rounding. */
Test(cross_entropy_divergence, of_all_columns) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int i = 0; i < 6; i++)
        CHECK(.dtype = dtypes[i % 3], .kind = i % 2 ? QUERN_JENSEN_SHANNON : QUERN_KL_FORWARD, .way = i % WAYS, .vocab = 12,
              .given = 12, .has_tail = true, .has_all_mass = true, .seed = 2500 + 10 * (uint64_t)i);
}

/* The divergence alone, without a gradient, and its own gradient with no loss beside it. */
Test(cross_entropy_divergence, alone) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    struct scene s;
    struct memory m CLOSED_BY(close_memory);
    make_scene(&s, &(const struct divergence_case){.dtype = QUERN_BF16, .vocab = 50, .given = 5, .has_tail = true,
                                                   .seed = 2000});
    open_memory(&m, &device, &s);
    quern_cross_entropy_args args = args_of(&s, &m);
    args.grad = NULL, args.grad_divergence = NULL, args.loss = NULL, args.stats = NULL;
    run(&device, quern_cross_entropy, &args);
    check_results(&s, buffer_read(&m.divergence), NULL);
    for (int row = 0; row < ROWS; row++) s.upstream[0][row] = 0;
    buffer_write(&m.upstream[0], s.upstream[0]);
    args = args_of(&s, &m);
    args.loss = NULL, args.stats = NULL, args.divergence = NULL;
    run(&device, quern_cross_entropy, &args);
    check_results(&s, buffer_read(&m.divergence), buffer_read(&m.grad));
}

/* A mean of a subnormal target and a model's 0 has no finite inverse in fp32. */
Test(cross_entropy_divergence, of_a_subnormal_target) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int i = 0; i < 2; i++) {
        struct scene s;
        struct memory m CLOSED_BY(close_memory);
        make_scene(&s, &(const struct divergence_case){.dtype = QUERN_F32, .soft = i ? QUERN_BF16 : QUERN_F32,
                                                       .kind = QUERN_JENSEN_SHANNON, .vocab = 50, .seed = 5500});
        for (int row = 0; row < ROWS; row++) s.logits[row][s.ids[row][5]] = (double)-INFINITY, s.targets[row][5] = 0x1p-130;
        open_memory(&m, &device, &s);
        const quern_cross_entropy_args args = args_of(&s, &m);
        run(&device, quern_cross_entropy, &args);
        check_results(&s, buffer_read(&m.divergence), buffer_read(&m.grad));
    }
}

/* Without an upstream gradient, and with one of 0 beside a divergence that is infinite, the gradient is that of the loss. */
Test(cross_entropy_divergence, of_no_weight) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const float zero = 0;
    for (int i = 0; i < 4; i++) {
        struct scene s;
        struct memory m CLOSED_BY(close_memory);
        make_scene(&s, &(const struct divergence_case){.dtype = QUERN_F32, .soft = QUERN_F32, .kind = QUERN_KL_REVERSE, .vocab = 50,
                                                       .seed = 5200});
        for (int row = 0; row < ROWS; row++) s.targets[row][7] = i % 2 ? 0 : s.targets[row][7];
        open_memory(&m, &device, &s);
        OPEN_BUFFER(none, &device, sizeof zero, 4, &zero);
        quern_cross_entropy_args args = args_of(&s, &m);
        args.grad_divergence = i < 2 ? NULL : none.data, args.grad_divergence_stride = 0;
        run(&device, quern_cross_entropy, &args);
        check_results(&s, buffer_read(&m.divergence), NULL);
        for (int row = 0; row < ROWS; row++) s.upstream[3][row] = 0;
        for (int64_t row = 0; row < ROWS; row++)
            for (int64_t k = 0; k < s.c.given; k++) s.targets[row][k] = 1.0 / 50;  /* of no weight, but finite */
        for (int64_t row = 0; row < ROWS; row++)
            if (is_ordinary(&s, row)) check_gradient(&s, row, buffer_read(&m.grad));
    }
}

/* Rows of several parts: one thread has a row, and two share the last one.  The gradient is in place. */
Test(cross_entropy_divergence, of_long_rows) {
    enum { GIVEN = 6, LONG_ROWS = 3, VOCAB = 100000 };
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    if (device.kind == QUERN_CPU) check_ok(quern_set_threads(device.quern, 2, NULL, NULL));
    static const int64_t places[GIVEN] = {5, 20000, 40000, 66666, 80000, 99999};
    int64_t ids[LONG_ROWS][GIVEN], labels[LONG_ROWS];
    float targets[LONG_ROWS][GIVEN];
    const float one = 1, zero = 0;
    SCOPED float *logits = zeroed((size_t)LONG_ROWS * VOCAB * sizeof *logits);
    double sum[LONG_ROWS] = {0};
    for (int row = 0; row < LONG_ROWS; row++) {
        labels[row] = 40000 + row;
        for (int i = 0; i < GIVEN; i++) ids[row][i] = places[i], targets[row][i] = 0.05f * (float)(1 + (i + row) % GIVEN);
        for (int64_t i = 0; i < VOCAB; i++) {
            logits[row * VOCAB + i] = (float)random_normal(3000 + (uint64_t)row, (uint64_t)i);
            sum[row] += exp((double)logits[row * VOCAB + i]);
        }
    }
    OPEN_BUFFER(matrix, &device, (size_t)LONG_ROWS * VOCAB * sizeof *logits, 4, logits);
    OPEN_BUFFER(label_buffer, &device, sizeof labels, 8, labels);
    OPEN_BUFFER(id_buffer, &device, sizeof ids, 8, ids);
    OPEN_BUFFER(target_buffer, &device, sizeof targets, 4, targets);
    OPEN_BUFFER(log_probs, &device, sizeof targets, 4, NULL);
    OPEN_BUFFER(upstream, &device, sizeof one, 4, &one);
    OPEN_BUFFER(none, &device, sizeof zero, 4, &zero);
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = QUERN_F32, .labels_dtype = QUERN_INT64, .rows = LONG_ROWS,
                                                       .vocab = VOCAB, .logits = matrix.data, .labels = label_buffer.data,
                                                       .grad = matrix.data);
    args.given_count = GIVEN, args.given_ids = id_buffer.data, args.given_log_probs = log_probs.data;
    args.target_probs = target_buffer.data, args.grad_divergence = upstream.data, args.grad_loss = none.data;
    args.grad_loss_stride = args.grad_divergence_stride = 0;
    run(&device, quern_cross_entropy, &args);
    const float *grad = buffer_read(&matrix);
    for (int64_t i = 0, listed = 0; i < LONG_ROWS * VOCAB; i++) {
        const int64_t row = i / VOCAB;
        listed = i % VOCAB ? listed : 0;
        const bool is_listed = listed < GIVEN && i % VOCAB == ids[row][listed];
        const double q = exp((double)logits[i]) / sum[row], expected = 1.05 * q - (is_listed ? (double)targets[row][listed] : 0);
        check(fabs((double)grad[i] - expected) <= 1e-5 * fabs(expected) + 1e-9, "gradient [%lld][%lld] is %.9g instead of %.9g",
              (long long)row, (long long)(i % VOCAB), (double)grad[i], expected);
        listed += is_listed;
    }
}

/* The same with targets for all columns: 16-bit logits and targets, and a gradient in fp32. */
enum { SOFT_ROWS = 3, SOFT_VOCAB = 90001, SOFT_COUNT = SOFT_ROWS * SOFT_VOCAB };

struct soft_rows {
    quern_dtype dtype, soft;
    uint16_t *logits, *targets;
    double sum[SOFT_ROWS], targets_sum[SOFT_ROWS], divergence[SOFT_ROWS];
};

static double soft_q(const struct soft_rows *rows, int64_t i) {
    return exp(dtype_load(rows->dtype, rows->logits, i)) / rows->sum[i / SOFT_VOCAB];
}

static void make_soft_rows(struct soft_rows *rows, uint64_t seed) {
    for (int64_t i = 0; i < SOFT_COUNT; i++) {
        dtype_store(rows->dtype, rows->logits, i, random_normal(seed, (uint64_t)i));
        dtype_store(rows->soft, rows->targets, i, random_uniform(seed + 1, (uint64_t)i) * 2 / SOFT_VOCAB);
        rows->sum[i / SOFT_VOCAB] += exp(dtype_load(rows->dtype, rows->logits, i));
    }
    for (int64_t i = 0; i < SOFT_COUNT; i++) {
        const double t = dtype_load(rows->soft, rows->targets, i);
        rows->targets_sum[i / SOFT_VOCAB] += t;
        rows->divergence[i / SOFT_VOCAB] += term_of(QUERN_KL_FORWARD, t, soft_q(rows, i));
    }
}

static void check_soft_rows(const struct soft_rows *rows, const float *divergence, const float *grad) {
    for (int row = 0; row < SOFT_ROWS; row++)
        check(fabs((double)divergence[row] - rows->divergence[row]) <= 2e-6 * (1 + fabs(rows->divergence[row])),
              "row %d has %.9g instead of %.9g", row, (double)divergence[row], rows->divergence[row]);
    for (int64_t i = 0; i < SOFT_COUNT; i++) {
        const double q = soft_q(rows, i);
        const double expected = rows->targets_sum[i / SOFT_VOCAB] * q - dtype_load(rows->soft, rows->targets, i);
        check(fabs((double)grad[i] - expected) <= 3e-6 * (q + fabs(expected)), "gradient %lld is %.9g instead of %.9g: %s, %s",
              (long long)i, (double)grad[i], expected, quern_dtype_name(rows->dtype), quern_dtype_name(rows->soft));
    }
}

Test(cross_entropy_divergence, of_long_rows_with_soft_targets) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    if (device.kind == QUERN_CPU) check_ok(quern_set_threads(device.quern, 2, NULL, NULL));
    SCOPED uint16_t *logits = zeroed(SOFT_COUNT * sizeof *logits), *targets = zeroed(SOFT_COUNT * sizeof *targets);
    const int64_t labels[SOFT_ROWS] = {5, 40000, SOFT_VOCAB - 1};
    const float one = 1, zero = 0;
    for (int way = 0; way < 4; way++) {
        struct soft_rows rows = {.dtype = way < 2 ? QUERN_BF16 : QUERN_F16, .soft = way % 2 ? QUERN_F16 : QUERN_BF16,
                                 .logits = logits, .targets = targets};
        make_soft_rows(&rows, 7000 + 10 * (uint64_t)way);
        OPEN_BUFFER(matrix, &device, SOFT_COUNT * sizeof *logits, 2, logits);
        OPEN_BUFFER(soft, &device, SOFT_COUNT * sizeof *targets, 2, targets);
        OPEN_BUFFER(label_buffer, &device, sizeof labels, 8, labels);
        OPEN_BUFFER(grad, &device, SOFT_COUNT * sizeof(float), 4, NULL);
        OPEN_BUFFER(divergence, &device, SOFT_ROWS * sizeof(float), 4, NULL);
        OPEN_BUFFER(upstream, &device, sizeof one, 4, &one);
        OPEN_BUFFER(none, &device, sizeof zero, 4, &zero);
        quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = rows.dtype, .labels_dtype = QUERN_INT64,
                                                           .rows = SOFT_ROWS, .vocab = SOFT_VOCAB, .logits = matrix.data,
                                                           .labels = label_buffer.data, .grad = grad.data,
                                                           .grad_dtype = QUERN_F32);
        args.soft_targets_dtype = rows.soft, args.soft_targets = soft.data, args.divergence = divergence.data;
        args.grad_loss = none.data, args.grad_divergence = upstream.data;
        args.grad_loss_stride = args.grad_divergence_stride = 0;
        run(&device, quern_cross_entropy, &args);
        check_soft_rows(&rows, buffer_read(&divergence), buffer_read(&grad));
    }
}

/* The step for the gradient leaves lists that are complete as they are. */
Test(cross_entropy_divergence, leaves_the_largest_columns) {
    enum { TOP = 2 };
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    struct scene s;
    struct memory m CLOSED_BY(close_memory);
    make_scene(&s, &(const struct divergence_case){.dtype = QUERN_F32, .vocab = 50, .given = 5, .way = LATER, .seed = 3500});
    open_memory(&m, &device, &s);
    OPEN_BUFFER(ids, &device, ROWS * TOP * sizeof(int64_t), 8, NULL);
    OPEN_BUFFER(top, &device, ROWS * TOP * sizeof(float), 4, NULL);
    float before[ROWS * TOP];
    quern_cross_entropy_args args = args_of(&s, &m), forward = args;
    forward.top_k = TOP, forward.top_ids = ids.data, forward.top_log_probs = top.data, forward.grad = NULL;
    run(&device, quern_cross_entropy, &forward);
    memcpy(before, buffer_read(&top), sizeof before);
    forward.grad = args.grad;
    run(&device, quern_cross_entropy_gradient, &forward);
    check(!memcmp(before, buffer_read(&top), sizeof before), "the log-probabilities were written again");
    check_results(&s, buffer_read(&m.divergence), buffer_read(&m.grad));
}

/* On a GPU nothing is written for a bad row, not even from what is left in the workspace; on a CPU the call is refused. */
Test(cross_entropy_divergence, of_strict_labels) {
    enum { BAD = 6 };
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    struct scene s;
    struct memory m CLOSED_BY(close_memory);
    size_t bytes;
    make_scene(&s, &(const struct divergence_case){.dtype = QUERN_F32, .vocab = 50, .given = 5, .seed = 4000});
    open_memory(&m, &device, &s);
    OPEN_BUFFER(report, &device, sizeof(quern_cross_entropy_report), 8, NULL);
    quern_cross_entropy_args args = args_of(&s, &m);
    args.stats = NULL, args.report = report.data;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    OPEN_BUFFER(workspace, &device, bytes, 16, NULL);
    check_ok(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream));
    check(!holds_pattern(buffer_read(&m.grad), 4), "no gradient");
    OPEN_BUFFER(grad, &device, m.grad.bytes, 4, NULL);
    OPEN_BUFFER(divergence, &device, m.divergence.bytes, 4, NULL);
    s.labels[BAD] = 1000;
    buffer_write(&m.labels, s.labels);
    args.grad = grad.data, args.divergence = divergence.data, args.strict_labels = 1;
    const quern_status expected = device.kind == QUERN_CPU ? QUERN_INVALID_ARGUMENT : QUERN_OK;
    check_status(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream), expected);
    const float *found = buffer_read(&grad), *divergences = buffer_read(&divergence);
    for (int row = 0; row < ROWS; row++) {
        const bool is_kept = device.kind == QUERN_CPU || row == BAD;
        check(holds_pattern(found + row * s.stride, (size_t)s.c.vocab * sizeof *found) == is_kept, "the gradient of row %d", row);
        check(holds_pattern(divergences + row, sizeof *divergences) == is_kept, "the divergence of row %d", row);
    }
}

Test(cross_entropy_divergence, what_cannot_be) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    struct scene s;
    struct memory m CLOSED_BY(close_memory);
    size_t bytes;
    make_scene(&s, &(const struct divergence_case){.dtype = QUERN_F32, .vocab = 50, .given = 5});
    open_memory(&m, &device, &s);
    const quern_cross_entropy_args good = args_of(&s, &m);
    quern_cross_entropy_args args = good;
    args.bits = QUERN_BITS_PORTABLE;
    check_refused(quern_cross_entropy_workspace(device.quern, &args, &bytes), QUERN_NOT_SUPPORTED, " with divergence: expected 0");
    args.divergence = NULL;
    check_refused(quern_cross_entropy_workspace(device.quern, &args, &bytes), QUERN_NOT_SUPPORTED,
                  " with grad_divergence: expected 0");
    args = good, args.bits = QUERN_BITS_PORTABLE, args.divergence = NULL, args.grad_divergence = NULL;
    args.logits_dtype = QUERN_BF16, args.grad_dtype = QUERN_F32;
    check_refused(quern_cross_entropy_workspace(device.quern, &args, &bytes), QUERN_NOT_SUPPORTED,
                  " with an f32 gradient of 16-bit logits: expected 0");
    args = good, args.given_count = 0, args.target_probs = NULL;
    args.soft_targets_dtype = QUERN_F32, args.soft_targets = args.logits;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    OPEN_BUFFER(workspace, &device, bytes, 16, NULL);
    args.divergence = (float *)(uintptr_t)args.soft_targets;
    check_refused(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream), QUERN_INVALID_ARGUMENT,
                  "args.divergence overlaps args.logits");
    /* The second half of an fp32 gradient is beyond one of 16 bits. */
    args.soft_targets_dtype = QUERN_NO_DTYPE, args.logits_dtype = QUERN_BF16, args.grad_dtype = QUERN_F32;
    args.divergence = (float *)args.grad + (ROWS - 1) * s.stride;
    check_refused(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream), QUERN_INVALID_ARGUMENT,
                  "args.divergence overlaps args.grad");
    args = good, args.divergence_kind = (quern_divergence)3;
    check_refused(quern_cross_entropy_workspace(device.quern, &args, &bytes), QUERN_INVALID_ARGUMENT,
                  "args.divergence_kind is 3: expected 0 to 2");
}
