/*
 * The largest columns of each row and the log-probabilities of these and of given columns, against a sort of the logits and the
 * oracle: of whole rows, of shards, beside all options, and without a change of the other outputs.
 *
 * Runs on: cpu, every emulated, gpu; kernels of cross_entropy.
 */
#include "harness/args.h"
#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/random.h"
#include "kernels/cross_entropy_columns.h"
#include "oracle/cross_entropy.h"
#include "oracle/dtype.h"

static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};

enum placement { NO_GRAD, IN_PLACE, OUT_OF_PLACE };

/* Kinds of rows: normal logits, few values, one value, ascending, descending, and normal ones beside what the name says. */
enum kind { NORMAL, TIED, EQUAL, ASCENDING, DESCENDING, MASKED, ALL_MASKED, WITH_NAN, WITH_INFINITY, ZEROS, CONFIDENT, NEGATIVE,
            KINDS };

enum { MOST_SHARDS = 4, IGNORED = -100, IGNORED_ROW = 3, BAD_ROW = 5 };

struct lists_case {
    quern_dtype dtype;
    int64_t rows, vocab, top_k, given_count;
    int64_t padding, offset;       /* elements: between rows, before all buffers */
    enum placement placement;
    double spread;
    float softcap, inverse_temperature;
    bool has_temperatures, has_options, is_portable, is_strict;
    int shards;                    /* 0: one call */
    int first_kind, kinds;         /* of the rows, in turns */
    uint64_t seed;
};

/* The inputs of a case, on the host, and what is expected. */
struct lists {
    struct lists_case c;
    int64_t stride;
    unsigned char *logits;
    double *wide;                  /* [rows, vocab] */
    int64_t *labels, *given;
    float *temperatures;
};

static enum kind kind_of(const struct lists_case *c, int64_t row) {
    return (enum kind)((c->first_kind + row % (c->kinds ? c->kinds : 1)) % KINDS);
}

static double logit_of(const struct lists_case *c, int64_t row, int64_t column) {
    const double x = random_normal(c->seed + (uint64_t)row, (uint64_t)column);
    switch (kind_of(c, row)) {
    case TIED: return floor(2 * x) / 2;
    case EQUAL: return 1.25;
    case ASCENDING: return (double)column / 64 - 3;
    case DESCENDING: return 4 - (double)column / 32;
    case MASKED: return random_below(c->seed + 1, (uint64_t)column, 50) ? (double)-INFINITY : x;
    case ALL_MASKED: return (double)-INFINITY;
    case WITH_NAN: return column == c->vocab / 2 ? (double)NAN : x;
    case WITH_INFINITY: return column == c->vocab / 3 ? (double)INFINITY : x;
    case ZEROS: return column % 3 == 2 ? -1 : column % 2 ? 0.0 : -0.0;
    case CONFIDENT: return column == c->vocab / 2 ? 30 : x;
    case NEGATIVE: return x / 5 - 1;
    default: return x * (c->spread != 0 ? c->spread : 1);
    }
}

/* Beside random columns of the vocab: the label's, the first, the last, and some that do not exist. */
static int64_t given_of(const struct lists *lists, int64_t row, int64_t place) {
    const struct lists_case *c = &lists->c;
    const int64_t special[] = {lists->labels[row], 0, c->vocab - 1, -1, c->vocab, INT64_MIN, INT64_MAX};
    if (place < (int64_t)COUNT(special)) return special[place];
    return random_below(c->seed + 2, (uint64_t)(row * c->given_count + place), c->vocab);
}

static int64_t label_of(const struct lists_case *c, int64_t row) {
    if (c->rows > 1 && row % 8 == IGNORED_ROW) return IGNORED;
    if (c->rows > 1 && row % 8 == BAD_ROW) return c->vocab + 2;
    return kind_of(c, row) == CONFIDENT && row % 2 ? c->vocab / 2 : random_below(c->seed + 3, (uint64_t)row, c->vocab);
}

static void make_lists(struct lists *lists, const struct lists_case *c) {
    const size_t element = quern_dtype_bytes(c->dtype), bytes = (size_t)(c->rows * (c->vocab + c->padding)) * element;
    *lists = (struct lists){.c = *c, .stride = c->vocab + c->padding, .logits = zeroed(bytes),
                            .wide = zeroed((size_t)(c->rows * c->vocab) * sizeof(double)),
                            .labels = zeroed((size_t)c->rows * sizeof(int64_t)),
                            .given = zeroed((size_t)(c->rows * c->given_count) * sizeof(int64_t) + 1),
                            .temperatures = zeroed((size_t)c->rows * sizeof(float))};
    fill_pattern(lists->logits, bytes);
    for (int64_t row = 0; row < c->rows; row++) {
        lists->labels[row] = label_of(c, row);
        lists->temperatures[row] = 0.5f + (float)(row % 4) / 4;
        for (int64_t i = 0; i < c->given_count; i++) lists->given[row * c->given_count + i] = given_of(lists, row, i);
        for (int64_t column = 0; column < c->vocab; column++) {
            dtype_store(c->dtype, lists->logits, row * lists->stride + column, logit_of(c, row, column));
            lists->wide[row * c->vocab + column] = dtype_load(c->dtype, lists->logits, row * lists->stride + column);
        }
    }
}

static void free_lists(struct lists *lists) {
    free(lists->logits), free(lists->wide), free(lists->labels), free(lists->given), free(lists->temperatures);
}

/* ---- what is expected ---- */

static struct cross_entropy_options options_of(const struct lists *lists, int64_t row) {
    const struct lists_case *c = &lists->c;
    const double of_call = c->inverse_temperature != 0 ? (double)c->inverse_temperature : 1;
    return (struct cross_entropy_options){
        .label_smoothing = c->has_options ? (double)0.1f : 0, .z_loss = c->has_options ? (double)0.01f : 0,
        .softcap = (double)c->softcap,
        .inverse_temperature = of_call * (c->has_temperatures ? (double)lists->temperatures[row] : 1)};
}

/* A row in which nothing can be compared has this for all log-probabilities; 1: it is an ordinary row. */
static double common_log_prob(const struct lists *lists, int64_t row, const struct cross_entropy_exact *exact) {
    const int64_t label = lists->labels[row];
    if (label < 0 || label >= lists->c.vocab) return 0;
    return exact->infinite ? (double)-INFINITY : isnan(exact->lse.exact) ? (double)NAN : 1;
}

/* The column of this rank: that before which so many others come.  -1: there are too few. */
static void sort_row(const struct lists *lists, int64_t row, int64_t *ids) {
    const struct lists_case *c = &lists->c;
    const double *x = lists->wide + row * c->vocab;
    for (int64_t rank = 0; rank < c->top_k; rank++) {
        ids[rank] = -1;
        for (int64_t column = 0; column < c->vocab; column++) {
            const bool is_after = rank == 0 || (ids[rank - 1] >= 0 && (x[column] < x[ids[rank - 1]] ||
                                                                       (x[column] == x[ids[rank - 1]] && column > ids[rank - 1])));
            const bool counts = x[column] > (double)-INFINITY || c->softcap != 0;
            if (is_after && counts && (ids[rank] < 0 || x[column] > x[ids[rank]])) ids[rank] = column;
        }
    }
}

static void check_log_prob(const struct lists *lists, int64_t row, const char *name, int64_t place, int64_t id, double found,
                           const struct cross_entropy_exact *exact) {
    const struct cross_entropy_options options = options_of(lists, row);
    const double common = common_log_prob(lists, row, exact);
    const bool exists = id >= 0 && id < lists->c.vocab;
    const double y = exists ? cross_entropy_y(lists->wide[row * lists->c.vocab + id], &options) : (double)-INFINITY;
    const double expected = common != 1 ? common : y == (double)-INFINITY ? y : y - exact->lse.exact;
    const double error = exact->lse.tolerance + 0x1p-21 * (fabs(y) + fabs(exact->lse.exact)) + 1e-7;
    const bool is_close = isfinite(expected) && common == 1 ? fabs(found - expected) <= error
                                                             : found == expected || (isnan(found) && isnan(expected));
    check(is_close, "%s %lld of row %lld (kind %d), column %lld: %.9g instead of %.9g [%s, %lld x %lld, seed %llu]", name,
          (long long)place, (long long)row, kind_of(&lists->c, row), (long long)id, found, expected,
          quern_dtype_name(lists->c.dtype), (long long)lists->c.rows, (long long)lists->c.vocab,
          (unsigned long long)lists->c.seed);
}

static void check_row(const struct lists *lists, int64_t row, const int64_t *top_ids, const float *top, const float *given) {
    const struct lists_case *c = &lists->c;
    const struct cross_entropy_options options = options_of(lists, row);
    const int64_t label = lists->labels[row];
    const bool skipped = label < 0 || label >= c->vocab;
    const struct cross_entropy_exact exact = cross_entropy_exact_row(lists->wide + row * c->vocab, c->vocab, skipped ? 0 : label,
                                                                     &options, (struct cross_entropy_upstream){1, 0, 0}, NULL);
    int64_t ids[QUERN_MOST_TOP];
    sort_row(lists, row, ids);
    for (int64_t i = 0; i < c->top_k; i++) {
        const int64_t expected = common_log_prob(lists, row, &exact) == 1 ? ids[i] : -1, found = top_ids[row * c->top_k + i];
        check(found == expected, "rank %lld of row %lld (kind %d) is column %lld instead of %lld [%s, %lld x %lld, seed %llu]",
              (long long)i, (long long)row, kind_of(c, row), (long long)found, (long long)expected, quern_dtype_name(c->dtype),
              (long long)c->rows, (long long)c->vocab, (unsigned long long)c->seed);
        check_log_prob(lists, row, "rank", i, expected, (double)top[row * c->top_k + i], &exact);
    }
    for (int64_t i = 0; i < c->given_count; i++) {
        const int64_t place = row * c->given_count + i;
        check_log_prob(lists, row, "given column", i, lists->given[place], (double)given[place], &exact);
    }
}

/* ---- calls ---- */

struct results {
    struct buffer logits, labels, grad, temperatures, loss, log_prob, report, top_ids, top, given_ids, given;
    struct buffer stats, nodes, shard_ids, shard_top, shard_given;  /* of all shards */
};

static void open_results(struct results *r, const struct test_device *device, const struct lists *lists) {
    const struct lists_case *c = &lists->c;
    const int64_t all = c->shards * c->rows;
    const size_t element = quern_dtype_bytes(c->dtype), bytes = (size_t)(c->rows * lists->stride) * element;
    const size_t of_floats = (size_t)c->offset * sizeof(float), of_wide = (size_t)c->offset * sizeof(int64_t);
    buffer_open(&r->logits, device, bytes, (size_t)c->offset * element, lists->logits);
    buffer_open(&r->labels, device, (size_t)c->rows * sizeof(int64_t), of_wide, lists->labels);
    buffer_open(&r->grad, device, c->placement == OUT_OF_PLACE ? bytes : 0, (size_t)c->offset * element, NULL);
    buffer_open(&r->temperatures, device, (size_t)c->rows * sizeof(float), of_floats, lists->temperatures);
    buffer_open(&r->loss, device, (size_t)c->rows * sizeof(float), of_floats, NULL);
    buffer_open(&r->log_prob, device, (size_t)c->rows * sizeof(float), of_floats, NULL);
    buffer_open(&r->report, device, sizeof(quern_cross_entropy_report), 8, NULL);
    buffer_open(&r->top_ids, device, (size_t)(c->rows * c->top_k) * sizeof(int64_t), of_wide, NULL);
    buffer_open(&r->top, device, (size_t)(c->rows * c->top_k) * sizeof(float), of_floats, NULL);
    buffer_open(&r->given_ids, device, (size_t)(c->rows * c->given_count) * sizeof(int64_t), of_wide, lists->given);
    buffer_open(&r->given, device, (size_t)(c->rows * c->given_count) * sizeof(float), of_floats, NULL);
    buffer_open(&r->stats, device, (size_t)all * sizeof(quern_row_stats), 8, NULL);
    buffer_open(&r->nodes, device, c->is_portable ? (size_t)all * sizeof(quern_row_nodes) : 0, 4, NULL);
    buffer_open(&r->shard_ids, device, (size_t)(all * c->top_k) * sizeof(int64_t), of_wide, NULL);
    buffer_open(&r->shard_top, device, (size_t)(all * c->top_k) * sizeof(float), of_floats, NULL);
    buffer_open(&r->shard_given, device, (size_t)(all * c->given_count) * sizeof(float), of_floats, NULL);
}

static void close_results(struct results *r) {
    struct buffer *all[] = {&r->logits, &r->labels, &r->grad, &r->temperatures, &r->loss, &r->log_prob, &r->report, &r->top_ids,
                            &r->top, &r->given_ids, &r->given, &r->stats, &r->nodes, &r->shard_ids, &r->shard_top,
                            &r->shard_given};
    for (size_t i = 0; i < COUNT(all); i++) buffer_close(all[i]);
}

static quern_cross_entropy_args args_of(const struct lists *lists, const struct results *r) {
    const struct lists_case *c = &lists->c;
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = c->dtype, .labels_dtype = QUERN_INT64, .rows = c->rows,
                                                       .vocab = c->vocab, .logits = r->logits.data,
                                                       .logits_stride = lists->stride, .labels = r->labels.data);
    if (c->placement != NO_GRAD) args.grad = c->placement == IN_PLACE ? r->logits.data : r->grad.data;
    if (args.grad) args.grad_stride = lists->stride;
    args.loss = r->loss.data, args.log_prob = r->log_prob.data, args.report = r->report.data;
    args.softcap = c->softcap, args.inverse_temperature = c->inverse_temperature;
    if (c->has_options) args.label_smoothing = 0.1f, args.z_loss = 0.01f;
    if (c->has_temperatures) args.inverse_temperatures = r->temperatures.data;
    args.bits = c->is_portable ? QUERN_BITS_PORTABLE : QUERN_BITS_DEFAULT;
    args.strict_labels = c->is_strict;
    args.top_k = c->top_k, args.top_ids = r->top_ids.data, args.top_log_probs = r->top.data;
    args.given_count = c->given_count, args.given_ids = r->given_ids.data, args.given_log_probs = r->given.data;
    return args;
}

typedef quern_status step(quern_device *device, const quern_cross_entropy_args *args, void *workspace, size_t bytes, void *stream);

static void run(const struct test_device *device, step *function, const quern_cross_entropy_args *args) {
    size_t bytes;
    check_ok(quern_cross_entropy_workspace(device->quern, args, &bytes));
    OPEN_BUFFER(workspace, device, bytes, 16, NULL);
    check_ok(function(device->quern, args, workspace.data, bytes, device->stream));
}

/* Shards that begin at multiples of a third of the vocab and a bit. */
static void run_shards(const struct test_device *device, const struct lists *lists, struct results *r) {
    const struct lists_case *c = &lists->c;
    quern_cross_entropy_args args = args_of(lists, r);
    args.global_vocab = c->vocab, args.grad = NULL, args.grad_stride = 0;
    const size_t element = quern_dtype_bytes(c->dtype);
    for (int64_t shard = 0, first = 0; shard < c->shards; shard++) {
        const int64_t end = shard == c->shards - 1 ? c->vocab : c->vocab * (shard + 1) / c->shards;
        quern_cross_entropy_args own = args;
        own.first_column = first, own.vocab = end - first;
        own.logits = (const char *)args.logits + (size_t)first * element;
        own.stats = (quern_row_stats *)r->stats.data + shard * c->rows;
        if (c->is_portable) own.nodes = (quern_row_nodes *)r->nodes.data + shard * c->rows;
        own.top_ids = (int64_t *)r->shard_ids.data + shard * c->rows * c->top_k;
        own.top_log_probs = (float *)r->shard_top.data + shard * c->rows * c->top_k;
        own.given_log_probs = (float *)r->shard_given.data + shard * c->rows * c->given_count;
        run(device, quern_cross_entropy_stats, &own);
        first = end;
    }
    size_t bytes;
    args.vocab = c->vocab / c->shards;
    args.shard_top_ids = r->shard_ids.data, args.shard_top_logits = r->shard_top.data;
    args.shard_given_logits = r->shard_given.data;
    if (c->is_portable) args.nodes = r->nodes.data;
    check_ok(quern_cross_entropy_workspace(device->quern, &args, &bytes));
    OPEN_BUFFER(workspace, device, bytes, 16, NULL);
    check_ok(quern_cross_entropy_combine(device->quern, &args, r->stats.data, c->shards, workspace.data, bytes, device->stream));
}

static void check_label_bits(const struct lists *lists, const float *log_prob, const float *given) {
    const struct lists_case *c = &lists->c;
    for (int64_t row = 0; row < c->rows && c->given_count; row++)
        if (lists->labels[row] >= 0 && lists->labels[row] < c->vocab && !isnan(log_prob[row]) && test_kind() == QUERN_CPU)
            check(!memcmp(&given[row * c->given_count], &log_prob[row], sizeof(float)), "row %lld: %.9g beside log_prob %.9g",
                  (long long)row, (double)given[row * c->given_count], (double)log_prob[row]);
}

static void check_case(const struct test_device *device, const struct lists_case *c) {
    struct lists lists CLOSED_BY(free_lists);
    struct results r CLOSED_BY(close_results);
    make_lists(&lists, c);
    open_results(&r, device, &lists);
    const quern_cross_entropy_args args = args_of(&lists, &r);
    if (c->shards) run_shards(device, &lists, &r);
    else run(device, quern_cross_entropy, &args);
    const int64_t *ids = buffer_read(&r.top_ids);
    const float *top = buffer_read(&r.top), *given = buffer_read(&r.given), *log_prob = buffer_read(&r.log_prob);
    for (int64_t row = 0; row < c->rows; row++) check_row(&lists, row, ids, top, given);
    check_label_bits(&lists, log_prob, given);
    check(!memcmp(buffer_read(&r.given_ids), lists.given, r.given_ids.bytes), "the given columns were changed");
}

#define CHECK(...) check_case(&device, &(const struct lists_case){__VA_ARGS__})

Test(cross_entropy_columns, of_all_kinds_of_rows) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int i = 0; i < 4; i++)
            CHECK(.dtype = dtypes[d], .rows = 2 * KINDS, .kinds = KINDS, .vocab = (int64_t[]){300, 1021, 64, 4200}[i],
                  .top_k = (int64_t[]){5, 32, 1, 8}[i], .given_count = (int64_t[]){9, 3, 40, 0}[i], .padding = i % 3, .offset = i,
                  .placement = (enum placement)(i % 3), .seed = 10 * (uint64_t)i + d);
}

Test(cross_entropy_columns, with_options) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int i = 0; i < 4; i++)
            CHECK(.dtype = dtypes[d], .rows = KINDS, .kinds = KINDS, .vocab = 700 + i, .top_k = 6, .given_count = 12,
                  .placement = (enum placement)(i % 3), .softcap = i % 2 ? 5 : 0, .inverse_temperature = i > 1 ? 0.75f : 0,
                  .has_temperatures = i != 1, .has_options = true, .seed = 100 + 10 * (uint64_t)i + d);
}

/* Around the sizes of a block and of a tile, and with fewer columns than the list has places. */
Test(cross_entropy_columns, of_all_widths) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const int64_t widths[] = {1, 2, 7, 31, 32, 33, 63, 65, 127, 129, 255, 256, 257, 511, 513};
    for (size_t i = 0; i < COUNT(widths); i++)
        CHECK(.dtype = dtypes[i % 3], .rows = 5, .kinds = 2, .vocab = widths[i], .top_k = 1 + (int64_t)(5 * i) % 32,
              .given_count = 8, .placement = (enum placement)(i % 3), .seed = 200 + i);
}

/* A row of several parts, which several threads share, and rows that they do not. */
Test(cross_entropy_columns, of_long_rows) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const int64_t vocab = test_size(140001, 40001);
    for (int i = 0; i < 3; i++)
        CHECK(.dtype = dtypes[i], .rows = 1 + 2 * i, .kinds = 2, .vocab = vocab, .top_k = 32, .given_count = 10, .spread = 3,
              .placement = (enum placement)i, .seed = 300 + (uint64_t)i);
}

/* Shards whose pieces of rows the search tells apart, also where nodes of a tree divide them in other ways. */
Test(cross_entropy_columns, of_long_shards) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int i = 0; i < 2; i++)
        CHECK(.dtype = dtypes[2 * i], .rows = 2, .vocab = test_size(60001, 20001), .top_k = 3, .given_count = 2,
              .is_portable = i == 1, .shards = 2, .seed = 350 + (uint64_t)i);
}

Test(cross_entropy_columns, of_shards) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int shards = 1; shards <= MOST_SHARDS; shards++)
            CHECK(.dtype = dtypes[d], .rows = KINDS, .kinds = KINDS, .vocab = 40 * shards + 5, .top_k = shards == 2 ? 32 : 7,
                  .given_count = 11, .softcap = shards == 3 ? 4 : 0, .has_temperatures = shards == 4, .shards = shards,
                  .seed = 400 + 10 * (uint64_t)shards + d);
    /* The lists of the shards have places without a column. */
    CHECK(.dtype = QUERN_F32, .rows = KINDS, .kinds = KINDS, .vocab = 20, .top_k = 12, .given_count = 3, .softcap = 4, .shards = 3,
          .seed = 450);
}

Test(cross_entropy_columns, with_portable_bits) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int shards = 0; shards < 4; shards += 3)
            CHECK(.dtype = dtypes[d], .rows = KINDS, .kinds = KINDS, .vocab = 530, .top_k = 9, .given_count = 20,
                  .is_portable = true, .placement = IN_PLACE, .has_temperatures = d == 1, .shards = shards, .seed = 500 + d);
}

/* Negative NaN, whose bits are the least integer: no column is listed. */
Test(cross_entropy_columns, of_rows_of_nan) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int shards = 0; shards < 3; shards += 2) {
            const struct lists_case c = {.dtype = dtypes[d], .rows = 3, .vocab = 600, .top_k = 9, .given_count = 2,
                                         .shards = shards, .seed = 650 + d};
            struct lists lists CLOSED_BY(free_lists);
            struct results r CLOSED_BY(close_results);
            make_lists(&lists, &c);
            memset(lists.logits, 0xFF, (size_t)(c.rows * lists.stride) * quern_dtype_bytes(c.dtype));
            for (int64_t i = 0; i < c.rows * c.vocab; i++) lists.wide[i] = (double)NAN;
            open_results(&r, &device, &lists);
            const quern_cross_entropy_args args = args_of(&lists, &r);
            if (shards) run_shards(&device, &lists, &r);
            else run(&device, quern_cross_entropy, &args);
            const int64_t *ids = buffer_read(&r.top_ids);
            const float *top = buffer_read(&r.top), *given = buffer_read(&r.given);
            for (int64_t row = 0; row < c.rows; row++) check_row(&lists, row, ids, top, given);
        }
}

/* One list without the other, whose pointers mean nothing then. */
Test(cross_entropy_columns, of_one_list) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int shards = 0; shards < 3; shards += 2) {
        CHECK(.dtype = QUERN_BF16, .rows = 4, .vocab = 300, .top_k = 3, .shards = shards, .seed = 600);
        CHECK(.dtype = QUERN_F32, .rows = 4, .vocab = 300, .given_count = 9, .shards = shards, .seed = 601);
    }
}

/* ---- beside the other outputs ---- */

static void check_same(struct buffer *with, struct buffer *without, const char *name) {
    check(!memcmp(buffer_read(with), buffer_read(without), with->bytes), "lists change the %s", name);
}

/* Of rows that are shared and of rows that are not, with a gradient in place. */
Test(cross_entropy_columns, leave_the_bits_of_the_others) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int i = 0; i < 8; i++) {
        const struct lists_case c = {.dtype = dtypes[i % 3], .rows = 1 + 2 * i, .vocab = i % 2 ? 3000 : test_size(70000, 20000),
                                     .top_k = 5, .given_count = 4, .placement = (enum placement)(i % 3), .has_options = i > 4,
                                     .is_portable = i == 3, .seed = 700 + (uint64_t)i};
        struct lists lists CLOSED_BY(free_lists);
        struct results with CLOSED_BY(close_results), without CLOSED_BY(close_results);
        make_lists(&lists, &c);
        open_results(&with, &device, &lists), open_results(&without, &device, &lists);
        quern_cross_entropy_args args = args_of(&lists, &with);
        run(&device, quern_cross_entropy, &args);
        args = args_of(&lists, &without);
        args.top_k = args.given_count = 0;
        run(&device, quern_cross_entropy, &args);
        check_same(&with.loss, &without.loss, "losses"), check_same(&with.log_prob, &without.log_prob, "log-probabilities");
        check_same(&with.logits, &without.logits, "logits"), check_same(&with.grad, &without.grad, "gradient");
        check_same(&with.report, &without.report, "report");
        check(holds_pattern(buffer_read(&without.top_ids), without.top_ids.bytes), "a list was written that nobody wants");
    }
}

/* On a GPU nothing is written to the lists of a bad row; on a CPU the call is refused. */
Test(cross_entropy_columns, of_strict_labels) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const struct lists_case c = {.dtype = QUERN_BF16, .rows = 8, .vocab = 200, .top_k = 4, .given_count = 3, .is_strict = true,
                                 .seed = 800};
    struct lists lists CLOSED_BY(free_lists);
    struct results r CLOSED_BY(close_results);
    size_t bytes;
    make_lists(&lists, &c);
    open_results(&r, &device, &lists);
    const quern_cross_entropy_args args = args_of(&lists, &r);
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    OPEN_BUFFER(workspace, &device, bytes, 16, NULL);
    check_status(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream),
                 device.kind == QUERN_CPU ? QUERN_INVALID_ARGUMENT : QUERN_OK);
    const int64_t *ids = buffer_read(&r.top_ids);
    const float *top = buffer_read(&r.top), *given = buffer_read(&r.given);
    for (int64_t row = 0; row < c.rows; row++) {
        const size_t of_top = (size_t)(row * c.top_k), of_given = (size_t)(row * c.given_count);
        if (device.kind == QUERN_CUDA && row != BAD_ROW) check_row(&lists, row, ids, top, given);
        else check(holds_pattern(ids + of_top, (size_t)c.top_k * sizeof *ids) &&
                       holds_pattern(top + of_top, (size_t)c.top_k * sizeof *top) &&
                       holds_pattern(given + of_given, (size_t)c.given_count * sizeof *given),
                   "the lists of row %d were written", (int)row);
    }
}

/* ---- what shards exchange ---- */

/* Lists of any bytes, as another rank may send them: no column is read by them, and other rows do not change. */
Test(cross_entropy_columns, of_shards_with_any_lists) {
    enum { ROWS = 6, SHARDS = 3, TOP = 32 };
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const struct lists_case c = {.dtype = QUERN_F32, .rows = ROWS, .vocab = 400, .top_k = TOP, .given_count = 8, .shards = SHARDS,
                                 .seed = 900};
    struct lists lists CLOSED_BY(free_lists);
    struct results r CLOSED_BY(close_results);
    int64_t ids[SHARDS * ROWS * TOP];
    float top[SHARDS * ROWS * TOP];
    size_t bytes;
    make_lists(&lists, &c);
    open_results(&r, &device, &lists);
    run_shards(&device, &lists, &r);
    memcpy(ids, buffer_read(&r.shard_ids), sizeof ids), memcpy(top, buffer_read(&r.shard_top), sizeof top);
    for (int i = 0; i < SHARDS * ROWS * TOP; i++) {
        if (i / TOP % ROWS % 2 == 0) continue;
        const uint64_t bits = random_bits(901, (uint64_t)i);
        memcpy(&ids[i], &bits, sizeof ids[i]), memcpy(&top[i], &bits, sizeof top[i]);
    }
    buffer_write(&r.shard_ids, ids), buffer_write(&r.shard_top, top);
    quern_cross_entropy_args args = args_of(&lists, &r);
    args.global_vocab = c.vocab, args.vocab = c.vocab / SHARDS;
    args.shard_top_ids = r.shard_ids.data, args.shard_top_logits = r.shard_top.data, args.shard_given_logits = r.shard_given.data;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    OPEN_BUFFER(workspace, &device, bytes, 16, NULL);
    check_ok(quern_cross_entropy_combine(device.quern, &args, r.stats.data, SHARDS, workspace.data, bytes, device.stream));
    const int64_t *found = buffer_read(&r.top_ids);
    const float *log_probs = buffer_read(&r.top), *given = buffer_read(&r.given);
    for (int64_t row = 0; row < ROWS; row += 2) check_row(&lists, row, found, log_probs, given);
}

/* Each list of the shards is required, aligned, and apart from what is written. */
Test(cross_entropy_columns, shards_need_their_lists) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const struct lists_case c = {.dtype = QUERN_F32, .rows = 2, .vocab = 40, .top_k = 2, .given_count = 2, .shards = 2,
                                 .seed = 950};
    struct lists lists CLOSED_BY(free_lists);
    struct results r CLOSED_BY(close_results);
    size_t bytes;
    make_lists(&lists, &c);
    open_results(&r, &device, &lists);
    run_shards(&device, &lists, &r);
    quern_cross_entropy_args args = args_of(&lists, &r);
    args.global_vocab = c.vocab, args.vocab = c.vocab / 2;
    const struct {
        const char *name;
        size_t field, alignment;
        void *list, *written;
    } required[] = {
        {"args.shard_top_ids", offsetof(quern_cross_entropy_args, shard_top_ids), 8, r.shard_ids.data, r.top_ids.data},
        {"args.shard_top_logits", offsetof(quern_cross_entropy_args, shard_top_logits), 4, r.shard_top.data, r.top.data},
        {"args.shard_given_logits", offsetof(quern_cross_entropy_args, shard_given_logits), 4, r.shard_given.data, r.given.data},
        {"args.top_ids", offsetof(quern_cross_entropy_args, top_ids), 8, r.top_ids.data, r.stats.data},
        {"args.top_log_probs", offsetof(quern_cross_entropy_args, top_log_probs), 4, r.top.data, r.stats.data},
        {"args.given_ids", offsetof(quern_cross_entropy_args, given_ids), 8, r.given_ids.data, r.given.data},
        {"args.given_log_probs", offsetof(quern_cross_entropy_args, given_log_probs), 4, r.given.data, r.stats.data},
    };
    args.shard_top_ids = r.shard_ids.data, args.shard_top_logits = r.shard_top.data, args.shard_given_logits = r.shard_given.data;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    OPEN_BUFFER(workspace, &device, bytes, 16, NULL);
    for (size_t i = 0; i < COUNT(required); i++) {
        void **field = (void **)(void *)((char *)&args + required[i].field);
        const struct {
            void *pointer;
            quern_status status;
            const char *text;
        } refused[] = {{NULL, QUERN_NULL_POINTER, " is NULL"},
                       {(char *)required[i].list + 1, QUERN_INVALID_ARGUMENT, "is not at a multiple of"},
                       {required[i].written, QUERN_INVALID_ARGUMENT, " overlaps "}};
        for (size_t k = 0; k < COUNT(refused); k++) {
            *field = refused[k].pointer;
            check_refused(quern_cross_entropy_combine(device.quern, &args, r.stats.data, 2, workspace.data, bytes, device.stream),
                          refused[k].status, required[i].name);
            check_detail(refused[k].text);
        }
        *field = required[i].list;
    }
}
