/*
 * The largest columns of each row, and the log-probabilities of these and of given ones, on a CPU.  Called by cross_entropy_cpu.c:
 * first while the logits are there, which the gradient may replace, and then from the sums of the row.
 *
 * The logits are compared as integers, which any CPU does many at a time: flipping the lower bits of a negative one gives integers
 * in the order of the numbers.  A block without a column that belongs into the list costs little more than its loads.
 */
#include "cross_entropy/cross_entropy.h"

#include <math.h>
#include <string.h>

#include "runtime/dtype.h"
#include "runtime/storage.h"

/* ---- the largest of a row ---- */

/* The largest logits so far, the largest first and of equal ones the lower column first. */
struct top {
    int64_t count, most;
    float logits[QUERN_MOST_TOP];
    int64_t ids[QUERN_MOST_TOP];
};

static bool is_before(float logit, int64_t id, float other, int64_t other_id) {
    return logit > other || (logit == other && id < other_id);
}

/* Adds a column, unless it comes after a list that is full. */
static void add_to_top(struct top *top, float logit, int64_t id) {
    int64_t place = top->count;
    while (place > 0 && is_before(logit, id, top->logits[place - 1], top->ids[place - 1])) place--;
    if (place == top->most) return;
    if (top->count < top->most) top->count++;
    for (int64_t i = top->count - 1; i > place; i--) {
        top->logits[i] = top->logits[i - 1];
        top->ids[i] = top->ids[i - 1];
    }
    top->logits[place] = logit;
    top->ids[place] = id;
}

/* ---- logits as integers ---- */

enum { BLOCK = 64, LANE_BYTES = 16 };

/* Of one type of integers: the key of a logit, and whether one of a block is above a limit.  Above 0 keys are the logits' bits. */
#define DEFINE_KEYS(bits) \
    typedef int##bits##_t lanes_of_##bits __attribute__((vector_size(LANE_BYTES))); \
    static int32_t key_of_##bits(const char *logit) { \
        int##bits##_t x; \
        memcpy(&x, logit, sizeof x); \
        x ^= (int##bits##_t)((x >> (bits - 1)) & INT##bits##_MAX); \
        return x == -1 ? 0 : x; /* the two zeros are equal */ \
    } \
    static inline bool passes_##bits(const char *block, int32_t limit, bool has_negative) { \
        lanes_of_##bits found = {0}, x; \
        int64_t halves[LANE_BYTES / sizeof(int64_t)]; \
        for (int i = 0; i < BLOCK * bits / 8; i += LANE_BYTES) { \
            memcpy(&x, block + i, sizeof x); \
            if (has_negative) x ^= (x >> (bits - 1)) & INT##bits##_MAX; \
            found |= (lanes_of_##bits)(x > (int##bits##_t)limit); \
        } \
        memcpy(halves, &found, sizeof halves); \
        return halves[0] | halves[1]; \
    }
DEFINE_KEYS(16)
DEFINE_KEYS(32)

struct logits {
    const char *data;
    int64_t columns;
    quern_dtype dtype;
    size_t bytes;
};

static float logit_at(const struct logits *logits, int64_t column) {
    float logit;
    quern_storage_widen(logits->dtype, logits->data + (size_t)column * logits->bytes, NULL, 1, &logit);
    return logit;
}

static int32_t key_at(const struct logits *logits, int64_t column) {
    const char *logit = logits->data + (size_t)column * logits->bytes;
    return logits->bytes == sizeof(int16_t) ? key_of_16(logit) : key_of_32(logit);
}

static bool block_passes(const struct logits *logits, int64_t column, int32_t limit) {
    const char *block = logits->data + (size_t)column * logits->bytes;
    if (logits->bytes == sizeof(int16_t)) return limit < 0 ? passes_16(block, limit, true) : passes_16(block, limit, false);
    return limit < 0 ? passes_32(block, limit, true) : passes_32(block, limit, false);
}

static int32_t key_of(quern_dtype dtype, float logit) {
    char code[sizeof logit];
    quern_storage_narrow(dtype, &logit, 1, false, code, NULL);
    return quern_dtype_bytes(dtype) == sizeof(int16_t) ? key_of_16(code) : key_of_32(code);
}

/* Columns with larger keys than this belong into the list, unless an earlier one of them fills it. */
static int32_t limit_of(const struct logits *logits, const struct top *top, bool has_softcap) {
    if (top->count == top->most) return key_of(logits->dtype, top->logits[top->most - 1]);
    return key_of(logits->dtype, -INFINITY) - has_softcap;  /* which makes infinities finite */
}

static void take_largest(const struct logits *logits, int64_t first_column, bool has_softcap, struct top *top) {
    int32_t limit = limit_of(logits, top, has_softcap);
    for (int64_t column = 0, end; column < logits->columns; column = end) {
        end = logits->columns - column < BLOCK ? logits->columns : column + BLOCK;
        if (end - column == BLOCK && !block_passes(logits, column, limit)) continue;
        for (int64_t i = column; i < end; i++) {
            if (key_at(logits, i) <= limit) continue;
            add_to_top(top, logit_at(logits, i), first_column + i);
            limit = limit_of(logits, top, has_softcap);
        }
    }
}

/* ---- before the rows ---- */

static void find_in_row(const struct quern_columns_problem *problem, int64_t row) {
    const struct quern_cross_entropy_problem *rows = &problem->rows;
    const quern_dtype dtype = (quern_dtype)problem->logits_dtype;
    const size_t bytes = quern_dtype_bytes(dtype);
    const struct logits logits = {(const char *)rows->logits + (size_t)(row * rows->logits_stride) * bytes, rows->vocab, dtype, bytes};
    const bool skipped = quern_row_label(rows, row) < 0;
    struct top top = {.most = problem->top_k};
    if (!skipped && problem->top_k) take_largest(&logits, rows->first_column, rows->softcap != 0, &top);
    for (int64_t i = 0; i < problem->top_k; i++) {
        problem->top_ids[row * problem->top_k + i] = i < top.count ? top.ids[i] : -1;
        problem->top_log_probs[row * problem->top_k + i] = i < top.count ? top.logits[i] : -INFINITY;
    }
    for (int64_t i = row * problem->given_count; i < (row + 1) * problem->given_count; i++) {
        const int64_t column = problem->given_ids[i];
        const bool is_here = !skipped && column >= rows->first_column && column - rows->first_column < rows->vocab;
        problem->given_log_probs[i] = is_here ? logit_at(&logits, column - rows->first_column) : -INFINITY;
    }
}

void quern_cross_entropy_find_columns(const struct quern_columns_problem *problem, int64_t first, int64_t end) {
    for (int64_t row = first; row < end; row++) find_in_row(problem, row);
}

/* ---- after the rows ---- */

/* What the log-probabilities of a row need. */
struct row_sums {
    const struct quern_columns_problem *problem;
    int64_t row, label;
    quern_row_stats stats;
    struct quern_row_values values;
};

static float y_of(const struct quern_cross_entropy_problem *rows, int64_t row, float logit) {
    const float inverse_temperature = quern_row_inverse_temperature(rows, row);
    const double cap = (double)rows->softcap;
    return cap == 0 ? logit * inverse_temperature : (float)(cap * tanh((double)logit / cap) * (double)inverse_temperature);
}

/* is_here: a shard has the column. */
static float log_prob_of(const struct row_sums *sums, int64_t id, float logit, bool is_here) {
    if (sums->label < 0) return 0;
    const float y = is_here ? y_of(&sums->problem->rows, sums->row, logit) : -INFINITY;
    return quern_row_log_prob(&sums->stats, &sums->values, id == sums->label, y);
}

static void join_top(const struct row_sums *sums, struct top *top) {
    const struct quern_columns_problem *problem = sums->problem;
    const int64_t *ids = problem->shard_count ? problem->shard_ids : problem->top_ids;
    const float *logits = problem->shard_count ? problem->shard_logits : problem->top_log_probs;
    for (int64_t shard = 0; shard == 0 || shard < problem->shard_count; shard++) {
        const int64_t first = (shard * problem->rows.rows + sums->row) * problem->top_k;
        for (int64_t i = first; i < first + problem->top_k; i++)
            if (ids[i] >= 0) add_to_top(top, logits[i], ids[i]);
    }
}

static void finish_top(const struct row_sums *sums) {
    const struct quern_columns_problem *problem = sums->problem;
    const int64_t count = problem->top_k;
    struct top top = {.most = count};
    join_top(sums, &top);
    for (int64_t i = 0; i < count; i++) {
        const bool is_here = i < top.count;
        const float log_prob = log_prob_of(sums, is_here ? top.ids[i] : -1, is_here ? top.logits[i] : -INFINITY, is_here);
        problem->top_ids[sums->row * count + i] = is_here && sums->label >= 0 && log_prob > -INFINITY ? top.ids[i] : -1;
        problem->top_log_probs[sums->row * count + i] = log_prob;
    }
}

static void finish_given(const struct row_sums *sums) {
    const struct quern_columns_problem *problem = sums->problem;
    const int64_t count = problem->given_count, all = problem->rows.rows * count;
    const float *logits = problem->shard_count ? problem->given_logits : problem->given_log_probs;
    for (int64_t i = sums->row * count; i < (sums->row + 1) * count; i++) {
        const int64_t id = problem->given_ids[i];
        float logit = logits[i];
        for (int64_t shard = 1; shard < problem->shard_count; shard++) logit = fmaxf(logit, logits[shard * all + i]);
        problem->given_log_probs[i] = log_prob_of(sums, id, logit, id >= 0 && id < problem->rows.global_vocab);
    }
}

void quern_cross_entropy_finish_columns(const struct quern_columns_problem *problem, int64_t first, int64_t end) {
    for (int64_t row = first; row < end; row++) {
        const quern_row_stats stats = problem->rows.stats[row];
        const struct row_sums sums = {problem, row, quern_row_label(&problem->rows, row), stats,
                                      quern_row_values(&problem->rows, &stats)};
        finish_top(&sums);
        finish_given(&sums);
    }
}
