/*
 * The largest columns of each row, and the log-probabilities of these and of given ones, on a CPU.  Called by cross_entropy_cpu.c:
 * first while the logits are there, which the gradient may replace, and then from the sums of the row.
 *
 * The kernels know the largest logit of each piece of 4,096 columns.  Of these maxima the one with the last place of the list is a
 * floor: only pieces that reach it are searched.  Their logits are compared as integers, which any CPU does many at a time:
 * flipping the lower bits of a negative one gives integers in the order of the numbers.
 */
#include "cross_entropy/cross_entropy.h"

#include <math.h>
#include <string.h>

#include "kernels/cross_entropy_scratch.h"
#include "os/integers.h"
#include "runtime/dtype.h"
#include "runtime/storage.h"

/* ---- logits as integers ---- */

/* A vector, as many as are compared together, and as many as are tested together, in bytes. */
enum { VECTOR = 16, TOGETHER = 4 * VECTOR, BLOCK = 4 * TOGETHER };

/* The vectors whose lanes are compared each with its own, and the most lanes they have. */
enum { GROUPS = 32, MOST_LANES = GROUPS * VECTOR / 2 };

/* Of one type of integers: the key of a logit, and the reverse, and whether one of a vector or of a block is above a limit. */
#define DEFINE_KEYS(bits) \
    typedef int##bits##_t lanes_of_##bits __attribute__((vector_size(VECTOR))); \
    static int32_t key_of_##bits(const char *logit) { \
        int##bits##_t x; \
        memcpy(&x, logit, sizeof x); \
        x ^= (int##bits##_t)((x >> (bits - 1)) & INT##bits##_MAX); \
        return x == -1 ? 0 : x; /* the two zeros are equal */ \
    } \
    static void logit_of_##bits(int32_t key, char *logit) { \
        const int##bits##_t x = (int##bits##_t)(key ^ ((key >> 31) & INT##bits##_MAX)); \
        memcpy(logit, &x, sizeof x); \
    } \
    /* With a limit of 0 or more the bits of a negative logit are as good as its key. */ \
    static inline lanes_of_##bits above_##bits(const char *logits, int32_t limit, bool has_negative) { \
        lanes_of_##bits x; \
        memcpy(&x, logits, sizeof x); \
        if (has_negative) x ^= (x >> (bits - 1)) & INT##bits##_MAX; \
        return (lanes_of_##bits)(x > (int##bits##_t)limit); \
    } \
    static inline bool is_any_of_##bits(lanes_of_##bits found) { \
        int64_t halves[VECTOR / sizeof(int64_t)]; \
        memcpy(halves, &found, sizeof halves); \
        return halves[0] | halves[1]; \
    } \
    static inline bool block_passes_##bits(const char *logits, int32_t limit, bool has_negative) { \
        lanes_of_##bits found = {0}; \
        for (const char *end = logits + BLOCK; logits < end; logits += TOGETHER) \
            found |= above_##bits(logits, limit, has_negative) | above_##bits(logits + VECTOR, limit, has_negative) | \
                     above_##bits(logits + 2 * VECTOR, limit, has_negative) | \
                     above_##bits(logits + 3 * VECTOR, limit, has_negative); \
        return is_any_of_##bits(found); \
    } \
    /* The largest keys of groups of columns, each in another lane; returns their number. */ \
    static int largest_of_lanes_##bits(const char *logits, int64_t bytes, int32_t keys[MOST_LANES]) { \
        lanes_of_##bits largest[GROUPS], x; \
        int##bits##_t lanes[GROUPS * VECTOR * 8 / bits]; \
        for (int i = 0; i < GROUPS; i++) largest[i] = (lanes_of_##bits){0} + INT##bits##_MIN; \
        for (const char *end = logits + bytes; logits < end; logits += GROUPS * VECTOR) \
            for (int i = 0; i < GROUPS; i++) { \
                memcpy(&x, logits + i * VECTOR, sizeof x); \
                x ^= (x >> (bits - 1)) & INT##bits##_MAX; \
                const lanes_of_##bits is_larger = (lanes_of_##bits)(x > largest[i]); \
                largest[i] = (x & is_larger) | (largest[i] & ~is_larger); \
            } \
        memcpy(lanes, largest, sizeof lanes); \
        for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) keys[i] = lanes[i] == -1 ? 0 : lanes[i]; \
        return (int)(sizeof lanes / sizeof *lanes); \
    } \
    static bool passes_##bits(const char *logits, int32_t limit, bool is_block) { \
        if (!is_block) return is_any_of_##bits(above_##bits(logits, limit, true)); \
        return limit < 0 ? block_passes_##bits(logits, limit, true) : block_passes_##bits(logits, limit, false); \
    }
DEFINE_KEYS(16)
DEFINE_KEYS(32)

static bool is_wide(quern_dtype dtype) { return quern_dtype_bytes(dtype) == sizeof(int32_t); }

static int32_t key_of(quern_dtype dtype, float logit) {
    char code[sizeof logit];
    quern_storage_narrow(dtype, &logit, 1, false, code, NULL);
    return is_wide(dtype) ? key_of_32(code) : key_of_16(code);
}

static float logit_of(quern_dtype dtype, int32_t key) {
    char code[sizeof(float)];
    float logit;
    if (is_wide(dtype)) logit_of_32(key, code);
    else logit_of_16(key, code);
    quern_storage_widen(dtype, code, NULL, 1, &logit);
    return logit;
}

/* ---- the largest of a row ---- */

/* The largest logits so far, as keys, the largest first and of equal ones the lower column first. */
struct top {
    int64_t count, most;
    int32_t keys[QUERN_MOST_TOP];
    int64_t ids[QUERN_MOST_TOP];
};

static bool is_before(int32_t key, int64_t id, int32_t other, int64_t other_id) {
    return key > other || (key == other && id < other_id);
}

/* Adds a column, unless it comes after a list that is full. */
static void add_to_top(struct top *top, int32_t key, int64_t id) {
    int64_t place = top->count;
    if (place == top->most && !is_before(key, id, top->keys[place - 1], top->ids[place - 1])) return;
    if (place < top->most) top->count++;
    else place--;
    for (; place > 0 && is_before(key, id, top->keys[place - 1], top->ids[place - 1]); place--) {
        top->keys[place] = top->keys[place - 1];
        top->ids[place] = top->ids[place - 1];
    }
    top->keys[place] = key;
    top->ids[place] = id;
}

/* ---- the search of a row ---- */

struct search {
    const char *logits;
    int64_t columns, first_column;
    int64_t label;                /* its column here, if no piece has it; -1 */
    quern_dtype dtype;
    bool is_wide;
    int32_t limit;                /* a column with a larger key belongs into the list, unless an earlier one fills it */
    struct top top;
};

static const char *at_column(const struct search *search, int64_t column) {
    return search->logits + (size_t)column * (search->is_wide ? sizeof(int32_t) : sizeof(int16_t));
}

static int32_t key_at(const struct search *search, int64_t column) {
    return search->is_wide ? key_of_32(at_column(search, column)) : key_of_16(at_column(search, column));
}

static void add_key(struct search *search, int32_t key, int64_t id) {
    add_to_top(&search->top, key, id);
    if (search->top.count == search->top.most) search->limit = search->top.keys[search->top.most - 1];
}

static void take_each(struct search *search, int64_t column, int64_t end) {
    for (; column < end; column++) {
        const int32_t key = key_at(search, column);
        if (key > search->limit) add_key(search, key, search->first_column + column);
    }
}

/* Whether a column of a vector or a block has a key above the limit. */
static bool passes(const struct search *search, int64_t column, bool is_block) {
    const char *logits = at_column(search, column);
    return search->is_wide ? passes_32(logits, search->limit, is_block) : passes_16(logits, search->limit, is_block);
}

static int64_t columns_in(const struct search *search, int bytes) { return bytes / (search->is_wide ? 4 : 2); }

static void take_block(struct search *search, int64_t column) {
    const int64_t end = column + columns_in(search, BLOCK), step = columns_in(search, VECTOR);
    for (; column < end; column += step)
        if (passes(search, column, false)) take_each(search, column, column + step);
}

static void take_columns(struct search *search, int64_t column, int64_t end) {
    const int64_t step = columns_in(search, BLOCK);
    for (; end - column >= step; column += step)
        if (passes(search, column, true)) take_block(search, column);
    take_each(search, column, end);
}

/* Calls back with the pieces of a row, in the order of their columns, and the largest logit of each. */
static void for_each_piece(struct search *search, const float *maxima,
                           void (*body)(struct search *search, int64_t column, int64_t end, int32_t largest)) {
    for (int64_t first = 0; first < search->columns; first += QUERN_CPU_PART_COLUMNS, maxima += QUERN_CPU_PART_PIECES) {
        const int64_t end_of_part = first + quern_smaller(search->columns - first, QUERN_CPU_PART_COLUMNS);
        const float *maximum = maxima;
        for (int64_t column = first, end; column < end_of_part; column = quern_piece_next(end, search->label)) {
            end = quern_piece_end(column, search->columns, search->label);
            if (end > column) body(search, column, end, key_of(search->dtype, *maximum));
            maximum++;
        }
    }
}

static void add_largest(struct search *search, int64_t column, int64_t end, int32_t largest) {
    (void)end;
    add_to_top(&search->top, largest, column);
}

static void take_piece(struct search *search, int64_t column, int64_t end, int32_t largest) {
    if (largest > search->limit) take_columns(search, column, end);
}

/* Of a full list of the largest keys of some groups of columns: so many columns are no less than the last one. */
static void raise_floor(struct search *search) {
    const int32_t least = search->top.keys[search->top.most - 1];  /* of NaN it may be INT32_MIN */
    if (search->top.count == search->top.most && least > search->limit) search->limit = least - 1;
    search->top.count = 0;
}

/* The groups are columns of the first piece of the row, some of them after each other: for rows that have too few pieces. */
static void raise_floor_by_lanes(struct search *search) {
    const int64_t columns = quern_smaller(search->columns, QUERN_CROSS_ENTROPY_BLOCK), bytes = columns * (search->is_wide ? 4 : 2);
    struct top *const top = &search->top;
    int32_t keys[MOST_LANES];
    const int64_t whole = bytes / (GROUPS * VECTOR) * (GROUPS * VECTOR);
    const int lanes = search->is_wide ? largest_of_lanes_32(search->logits, whole, keys)
                                      : largest_of_lanes_16(search->logits, whole, keys);
    for (int i = 0; i < lanes && whole; i++)
        if (top->count < top->most || keys[i] > top->keys[top->most - 1]) add_to_top(top, keys[i], i);
    raise_floor(search);
}

/* The groups are the pieces. */
static void take_pieces(struct search *search, const float *maxima) {
    const int64_t label = search->label;
    for_each_piece(search, maxima, add_largest);
    if (label >= 0) add_largest(search, label, label + 1, key_at(search, label));
    const bool has_enough = search->top.count == search->top.most;
    raise_floor(search);
    if (!has_enough) raise_floor_by_lanes(search);
    const int32_t floor = search->limit;
    for_each_piece(search, maxima, take_piece);
    if (label >= 0 && key_at(search, label) > floor) add_key(search, key_at(search, label), search->first_column + label);
}

static void find_top(const struct quern_columns_problem *problem, int64_t row, const char *logits, const float *maxima) {
    const struct quern_cross_entropy_problem *rows = &problem->rows;
    const quern_dtype dtype = (quern_dtype)problem->logits_dtype;
    const int64_t label = quern_row_label(rows, row), here = label - rows->first_column;
    const bool is_apart = !rows->portable_bits && here >= 0 && here < rows->vocab;
    struct search search = {logits, rows->vocab, rows->first_column, is_apart ? here : -1, dtype, is_wide(dtype),
                            key_of(dtype, -INFINITY) - (rows->softcap != 0),  /* which makes infinities finite */
                            {.most = problem->top_k}};
    if (label >= 0 && maxima) take_pieces(&search, maxima);
    else if (label >= 0) take_columns(&search, 0, rows->vocab);
    for (int64_t i = 0; i < problem->top_k; i++) {
        const bool is_there = i < search.top.count;
        problem->top_ids[row * problem->top_k + i] = is_there ? search.top.ids[i] : -1;
        problem->top_log_probs[row * problem->top_k + i] = is_there ? logit_of(dtype, search.top.keys[i]) : -INFINITY;
    }
}

static void find_given(const struct quern_columns_problem *problem, int64_t row, const char *logits) {
    const quern_dtype dtype = (quern_dtype)problem->logits_dtype;
    const bool skipped = quern_row_label(&problem->rows, row) < 0;
    for (int64_t i = row * problem->given_count; i < (row + 1) * problem->given_count; i++) {
        const int64_t first = problem->rows.first_column, id = problem->given_ids[i];
        float *const logit = &problem->given_log_probs[i];
        *logit = -INFINITY;
        if (!skipped && id >= first && id - first < problem->rows.vocab)
            quern_storage_widen(dtype, logits + (size_t)(id - first) * quern_dtype_bytes(dtype), NULL, 1, logit);
    }
}

void quern_cross_entropy_find_columns(const struct quern_columns_problem *problem, int64_t row, const float *maxima) {
    const size_t bytes = quern_dtype_bytes((quern_dtype)problem->logits_dtype);
    const char *logits = (const char *)problem->rows.logits + (size_t)(row * problem->rows.logits_stride) * bytes;
    if (problem->top_k) find_top(problem, row, logits, maxima);
    find_given(problem, row, logits);
}

/* ---- after the rows ---- */

/* What the log-probabilities of a row need. */
struct row_sums {
    const struct quern_columns_problem *problem;
    int64_t row, label;
    quern_row_stats stats;
    struct quern_row_values values;
};

float quern_cross_entropy_y(const struct quern_cross_entropy_problem *rows, int64_t row, float logit) {
    const float inverse_temperature = quern_row_inverse_temperature(rows, row);
    const double cap = (double)rows->softcap;
    return cap == 0 ? logit * inverse_temperature : (float)(cap * tanh((double)logit / cap) * (double)inverse_temperature);
}

/* is_here: a shard has the column. */
static float log_prob_of(const struct row_sums *sums, int64_t id, float logit, bool is_here) {
    if (sums->label < 0) return 0;
    const float y = is_here ? quern_cross_entropy_y(&sums->problem->rows, sums->row, logit) : -INFINITY;
    return quern_row_log_prob(&sums->stats, &sums->values, id == sums->label, y);
}

static void join_top(const struct row_sums *sums, struct top *top) {
    const struct quern_columns_problem *problem = sums->problem;
    const int64_t *ids = problem->shard_count ? problem->shard_ids : problem->top_ids;
    const float *logits = problem->shard_count ? problem->shard_logits : problem->top_log_probs;
    for (int64_t shard = 0; shard == 0 || shard < problem->shard_count; shard++) {
        const int64_t first = (shard * problem->rows.rows + sums->row) * problem->top_k;
        for (int64_t i = first; i < first + problem->top_k; i++)
            if (ids[i] >= 0) add_to_top(top, key_of(QUERN_F32, logits[i]), ids[i]);
    }
}

static void finish_top(const struct row_sums *sums) {
    const struct quern_columns_problem *problem = sums->problem;
    const int64_t count = problem->top_k;
    struct top top = {.most = count};
    join_top(sums, &top);
    for (int64_t i = 0; i < count; i++) {
        const bool is_here = i < top.count;
        const float logit = is_here ? logit_of(QUERN_F32, top.keys[i]) : -INFINITY;
        const float log_prob = log_prob_of(sums, is_here ? top.ids[i] : -1, logit, is_here);
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

void quern_cross_entropy_finish_columns(const struct quern_columns_problem *problem, int64_t row) {
    const quern_row_stats stats = problem->rows.stats[row];
    const struct row_sums sums = {problem, row, quern_row_label(&problem->rows, row), stats,
                                  quern_row_values(&problem->rows, &stats)};
    finish_top(&sums);
    finish_given(&sums);
}
