/*
 * The known answers of the kernels of cross-entropy: three rows, of which the last is ignored, reduced to a mean.  Each stage gets
 * the results of the stages before it.  Called by quern_prepare through the operation's row.
 */
#include "cross_entropy/cross_entropy.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "quern.h"
#include "runtime/answers.h"
#include "runtime/storage.h"

enum { ROWS = 3, COUNTED = 2, VOCAB = 40, IGNORED = -100, COLUMNS = 2 };

/* The inputs and outputs of all stages. */
struct memory {
    char logits[ROWS][4 * VOCAB], grad[ROWS][4 * VOCAB];
    quern_row_stats parts[ROWS], stats[ROWS];
    quern_cross_entropy_report report;
    double divisor;
    struct quern_rows_progress progress;
    uint32_t of_slice;
    int32_t labels[ROWS];
    float row_loss[ROWS], lse[ROWS], log_prob[ROWS], loss, upstream[ROWS];
    int64_t top_ids[ROWS * COLUMNS], given_ids[ROWS * COLUMNS];
    float top[ROWS * COLUMNS], given[ROWS * COLUMNS], targets[ROWS * COLUMNS], own_logits[ROWS * (COLUMNS + 1)];
    float of_divergence[ROWS], row_upstream[ROWS];
    float soft_targets[ROWS][VOCAB];
    struct quern_divergence_sums soft_sums[ROWS];
};

/* ---- the problem and its results, in double ---- */

/* Multiples of 1/8 in [-2, 2], which every type of logits represents. */
static double logit(int row, int column) { return ((7 * column + 3 * row) % 33 - 16) / 8.0; }

static int label(int row) { return row < COUNTED ? 5 + 12 * row : IGNORED; }

/* Over the columns other than one; -1: over all. */
static double sum_of_exponentials(int row, int except) {
    double sum = 0;
    for (int column = 0; column < VOCAB; column++)
        if (column != except) sum += exp(logit(row, column));
    return sum;
}

static double lse(int row) { return row < COUNTED ? log(sum_of_exponentials(row, -1)) : 0; }
static double log_prob(int row) { return row < COUNTED ? logit(row, label(row)) - lse(row) : 0; }
static double loss(int row) { return -log_prob(row); }

/* The mean's divisor is the number of counted rows. */
static double gradient(int row, int column) {
    return row < COUNTED ? (exp(logit(row, column) - lse(row)) - (column == label(row))) / COUNTED : 0;
}

/* Exact products with each logit; the first row stays as it is. */
static float upstream(int row) { return 1 - 0.5f * (float)row; }

static double product(int row, int column) { return (double)upstream(row) * logit(row, column); }

/* With the origin 0: any number near the largest logit would do. */
static quern_row_stats stats(int row) {
    if (row >= COUNTED) return (quern_row_stats){.origin = (double)-INFINITY, .label_value = -INFINITY, .argmax = -1};
    return (quern_row_stats){.others = sum_of_exponentials(row, label(row)), .label_value = (float)logit(row, label(row)),
                             .label_weight = 1, .has_label = 1, .argmax = -1};
}

/* The first column with the largest logit, or of the others.  Column 0 is neither. */
static int top_id(int row, int rank) {
    int best = 0;
    for (int column = 1; column < VOCAB; column++)
        if (logit(row, column) > logit(row, best) && (rank == 0 || column != top_id(row, rank - 1))) best = column;
    return best;
}

/* The second one does not exist.  With a target for the first one the forward KL divergence has this upstream gradient. */
static int given_id(int row, int place) { return place == 0 ? label(row) + 3 : VOCAB; }

#define TARGET 0.25f
#define OF_DIVERGENCE 0.5f

static double listed_gradient(int row, int column) {
    const double target = column == given_id(row, 0) ? (double)TARGET : 0;
    return gradient(row, column) + (double)OF_DIVERGENCE * ((double)TARGET * exp(logit(row, column) - lse(row)) - target);
}

/* The same target for all columns, and its forward KL divergence from all columns but the label's. */
#define SOFT_TARGET 0x1p-6

static double soft_value(int row) {
    double sum = 0;
    for (int column = 0; column < VOCAB; column++)
        if (column != label(row)) sum += SOFT_TARGET * (log(SOFT_TARGET) - logit(row, column) + lse(row));
    return sum;
}

static double soft_upstream(int row) { return row < COUNTED ? -(double)OF_DIVERGENCE * SOFT_TARGET * VOCAB : 0; }

/* Of the label's column as of the others, which the next stage corrects. */
static double wide_gradient(int row, int column) {
    const double q = exp(logit(row, column) - lse(row));
    if (row >= COUNTED) return 0;
    return gradient(row, column) + soft_upstream(row) * ((column == label(row)) - q) - (double)OF_DIVERGENCE * SOFT_TARGET;
}

/* ---- asking ---- */

static quern_dtype dtype_of(const struct quern_kernel *kernel) {
    const quern_dtype logits = kernel->key.cross_entropy.logits;
    return logits ? logits : QUERN_F32;
}

static bool combines(enum quern_cross_entropy_stage stage) {
    return stage == QUERN_STAGE_COMBINE || stage == QUERN_STAGE_PORTABLE_COMBINE;
}

/* The first stage has none but the given columns, the last one has all. */
static void write_lists(struct memory *memory, enum quern_cross_entropy_stage stage, int row) {
    memory->of_divergence[row] = OF_DIVERGENCE, memory->row_upstream[row] = 0;
    for (int place = 0; place <= COLUMNS; place++) {
        const int i = row * COLUMNS + place, id = place < COLUMNS ? given_id(row, place) : label(row);
        const double own = id < VOCAB ? logit(row, id) : (double)-INFINITY;
        memory->own_logits[row * (COLUMNS + 1) + place] = (float)own;
        if (place == COLUMNS) continue;
        memory->top_ids[i] = top_id(row, place), memory->given_ids[i] = id;
        memory->targets[i] = place == 0 ? TARGET : 0;
        memory->top[i] = stage == QUERN_STAGE_COLUMNS ? 0 : (float)logit(row, top_id(row, place));
        memory->given[i] = stage == QUERN_STAGE_COLUMNS ? 0 : (float)(stage == QUERN_STAGE_LISTED ? own - lse(row) : own);
    }
}

static void write_inputs(struct memory *memory, const struct quern_kernel *kernel) {
    const enum quern_cross_entropy_stage stage = kernel->key.cross_entropy.stage;
    for (int row = 0; row < ROWS; row++) {
        float logits[VOCAB];
        for (int column = 0; column < VOCAB; column++) logits[column] = (float)logit(row, column);
        quern_storage_narrow(dtype_of(kernel), logits, VOCAB, false, memory->logits[row], NULL);
        memory->labels[row] = label(row);
        if (combines(stage)) memory->parts[row] = stats(row);
        if (stage == QUERN_STAGE_GRADIENT || stage >= QUERN_STAGE_LOG_PROBS) memory->stats[row] = stats(row);
        if (stage >= QUERN_STAGE_COLUMNS && row < COUNTED) write_lists(memory, stage, row);
        for (int column = 0; column < VOCAB; column++) memory->soft_targets[row][column] = (float)SOFT_TARGET;
        if (stage == QUERN_STAGE_WIDE) memory->row_upstream[row] = (float)soft_upstream(row);
        if (stage == QUERN_STAGE_REDUCE) memory->row_loss[row] = (float)loss(row);
        if (stage == QUERN_STAGE_UPSTREAM) memory->upstream[row] = upstream(row);
        if (stage == QUERN_STAGE_UPSTREAM) memcpy(memory->grad[row], memory->logits[row], sizeof memory->grad[row]);
    }
    if (stage != QUERN_STAGE_LABELS && !quern_cross_entropy_serves_call(kernel)) memory->divisor = COUNTED;
    memory->progress = (struct quern_rows_progress){0};
    memory->of_slice = 0;
}

/* A member of the memory, as a pointer on the device. */
#define ON_DEVICE(trial, member) ((void *)(uintptr_t)((trial)->address + offsetof(struct memory, member)))

static void write_problem(struct quern_cross_entropy_problem *problem, const struct quern_trial *trial,
                          const struct quern_kernel *kernel) {
    const enum quern_cross_entropy_stage stage = kernel->key.cross_entropy.stage;
    const int64_t stride = 4 * VOCAB / (int64_t)quern_dtype_bytes(dtype_of(kernel));
    const bool serves_call = quern_cross_entropy_serves_call(kernel);
    *problem = (struct quern_cross_entropy_problem){
        .logits = ON_DEVICE(trial, logits), .logits_stride = stride, .grad = ON_DEVICE(trial, grad), .grad_stride = stride,
        .labels = ON_DEVICE(trial, labels), .ignore_index = IGNORED,
        .rows = ROWS, .vocab = VOCAB, .padded_vocab = VOCAB, .global_vocab = VOCAB,
        .grad_scale = 1, .inverse_temperature = 1, .reduction = QUERN_REDUCTION_MEAN,
        .row_loss = ON_DEVICE(trial, row_loss), .lse = ON_DEVICE(trial, lse), .log_prob = ON_DEVICE(trial, log_prob),
        .stats = stage == QUERN_STAGE_ROWS ? NULL : ON_DEVICE(trial, stats), .portable_bits = stage == QUERN_STAGE_PORTABLE,
        .parts = ON_DEVICE(trial, parts), .part_count = 1, .is_final = 1,
        .loss = ON_DEVICE(trial, loss), .divisor = ON_DEVICE(trial, divisor),
        .progress = serves_call ? ON_DEVICE(trial, progress) : NULL,
        .grad_loss = stage == QUERN_STAGE_UPSTREAM ? ON_DEVICE(trial, upstream) : NULL, .grad_loss_stride = 1,
        .report = stage == QUERN_STAGE_LABELS || serves_call ? ON_DEVICE(trial, report) : NULL,
    };
}

static void write_columns(struct quern_columns_problem *problem, const struct quern_trial *trial,
                          enum quern_cross_entropy_stage stage) {
    const bool is_last = stage == QUERN_STAGE_LISTED, is_soft = stage == QUERN_STAGE_SOFT || stage == QUERN_STAGE_WIDE;
    problem->logits_dtype = problem->grad_dtype = problem->soft_dtype = QUERN_F32;
    problem->soft_targets = is_soft ? ON_DEVICE(trial, soft_targets) : NULL;
    problem->soft_stride = VOCAB;
    problem->soft_sums = ON_DEVICE(trial, soft_sums);
    problem->top_k = problem->given_count = COLUMNS;
    problem->of_targets = 1;
    problem->target_probs = is_last ? ON_DEVICE(trial, targets) : NULL;
    problem->grad_divergence = is_last || is_soft ? ON_DEVICE(trial, of_divergence) : NULL;
    problem->grad_divergence_stride = 1;
    problem->row_upstream = is_last || is_soft ? ON_DEVICE(trial, row_upstream) : NULL;
    problem->own_logits = is_last ? ON_DEVICE(trial, own_logits) : NULL;
    problem->top_ids = ON_DEVICE(trial, top_ids);
    problem->top_log_probs = ON_DEVICE(trial, top);
    problem->given_ids = ON_DEVICE(trial, given_ids);
    problem->given_log_probs = ON_DEVICE(trial, given);
}

/* A block for each row, or one for all.  Blocks that take rows in turns are fewer, so that one of them has two. */
static unsigned blocks_of(const struct quern_kernel *kernel) {
    if (kernel->cuda.elements) return ROWS - 1;
    const enum quern_cross_entropy_stage stage = kernel->key.cross_entropy.stage;
    return stage <= QUERN_STAGE_PORTABLE_COMBINE || stage == QUERN_STAGE_COLUMNS || stage >= QUERN_STAGE_SOFT ? ROWS : 1;
}

static void ask(const struct quern_kernel *kernel, struct quern_trial *trial) {
    write_inputs((struct memory *)(void *)trial->memory, kernel);
    struct quern_columns_problem *parameters = trial->parameters;
    write_problem(&parameters->rows, trial, kernel);
    const enum quern_cross_entropy_stage stage = kernel->key.cross_entropy.stage;
    if (stage >= QUERN_STAGE_COLUMNS) write_columns(parameters, trial, stage);
    trial->arguments[0] = trial->parameters;
    trial->blocks = blocks_of(kernel);
    trial->shared_bytes = (unsigned)(kernel->cuda.elements ? quern_cross_entropy_share_bytes(kernel, VOCAB, 1)
                                                           : quern_cross_entropy_shared_bytes(kernel, VOCAB, 1));
}

/* ---- comparing ---- */

/* Results in fp32 err by a few units in the last place. */
#define FEW_ULPS 0x1p-16

static bool floats_are_wrong(const char *name, const float *got, double (*expected)(int), struct quern_text *why) {
    const struct quern_answer answer = {name, QUERN_F32, got, NULL, ROWS, FEW_ULPS};
    double values[ROWS];
    for (int row = 0; row < ROWS; row++) values[row] = expected(row);
    return quern_answer_is_wrong(&answer, values, why);
}

static bool outputs_are_wrong(const struct memory *memory, struct quern_text *why) {
    return floats_are_wrong("row_loss", memory->row_loss, loss, why) || floats_are_wrong("lse", memory->lse, lse, why) ||
           floats_are_wrong("log_prob", memory->log_prob, log_prob, why);
}

/* An element of the gradient is rounded once: by up to 2^-9 of itself to bf16, 2^-12 to f16. */
static bool matrix_is_wrong(const struct memory *memory, quern_dtype dtype, double (*expected)(int, int), struct quern_text *why) {
    const double tolerance = dtype == QUERN_F32 ? FEW_ULPS : dtype == QUERN_F16 ? 0x1p-9 : 0x1p-7;
    for (int row = 0; row < ROWS; row++) {
        const struct quern_answer answer = {"gradient", dtype, memory->grad[row], NULL, VOCAB, tolerance};
        double values[VOCAB];
        for (int column = 0; column < VOCAB; column++) values[column] = expected(row, column);
        if (quern_answer_is_wrong(&answer, values, why)) return true;
    }
    return false;
}

static bool gradient_is_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    return matrix_is_wrong(memory, dtype, gradient, why);
}

static bool product_is_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    return matrix_is_wrong(memory, dtype, product, why);
}

/* The origin is the kernel's choice, so the sums are compared without it.  A skipped row has none. */
static bool stats_are_wrong(const quern_row_stats *got, struct quern_text *why) {
    for (int row = 0; row < COUNTED; row++) {
        const double others = got[row].others * exp(got[row].origin), expected = stats(row).others;
        if (fabs(others - expected) <= FEW_ULPS * expected && got[row].label_value == stats(row).label_value &&
            got[row].label_weight == 1 && got[row].has_label == 1)
            continue;
        quern_text_add(why, "others %d is %g, expected %g, or the label's value is wrong", row, others, expected);
        return true;
    }
    return false;
}

static bool counts_are_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    (void)dtype;
    const quern_cross_entropy_report *report = &memory->report;
    if (memory->divisor == COUNTED && report->counted_rows == COUNTED && report->ignored_rows == ROWS - COUNTED &&
        !report->bad_labels && report->first_bad_row == -1)
        return false;
    quern_text_add(why, "counted_rows is %lld, expected %d, or another count is wrong", (long long)report->counted_rows, COUNTED);
    return true;
}

static bool mean_is_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    (void)dtype;
    const struct quern_answer answer = {"loss", QUERN_F32, &memory->loss, NULL, 1, FEW_ULPS};
    const double expected = (loss(0) + loss(1)) / COUNTED;
    return quern_answer_is_wrong(&answer, &expected, why);
}

static bool rows_are_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    return outputs_are_wrong(memory, why) || gradient_is_wrong(memory, dtype, why);
}

static bool parts_are_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    (void)dtype;
    return stats_are_wrong(memory->parts, why);
}

static bool combined_is_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    (void)dtype;
    return stats_are_wrong(memory->stats, why) || outputs_are_wrong(memory, why);
}

/* A given column that does not exist is the second one of its row. */
static bool lists_are_wrong(const struct memory *memory, bool has_log_probs, struct quern_text *why) {
    for (int i = 0; i < COUNTED * COLUMNS; i++) {
        const int row = i / COLUMNS, place = i % COLUMNS, id = top_id(row, place);
        const double below = has_log_probs ? lse(row) : 0, top = logit(row, id) - below;
        const double given = place ? (double)-INFINITY : logit(row, given_id(row, 0)) - below;
        const double got = (double)memory->given[i];
        const bool is_given = place ? got == given : fabs(got - given) <= FEW_ULPS * fabs(given);
        if (memory->top_ids[i] == id && fabs((double)memory->top[i] - top) <= FEW_ULPS * fabs(top) && is_given) continue;
        quern_text_add(why, "column %d of row %d is %lld with %g, expected %d with %g, or the given one with %g is wrong", place,
                       row, (long long)memory->top_ids[i], (double)memory->top[i], id, top, got);
        return true;
    }
    return false;
}

static bool columns_are_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    (void)dtype;
    return lists_are_wrong(memory, false, why);
}

static bool log_probs_are_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    (void)dtype;
    return lists_are_wrong(memory, true, why);
}

static bool listed_is_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    (void)dtype;
    for (int row = 0; row < COUNTED; row++)
        for (int i = 0; i < 2; i++) {
            const int column = i ? given_id(row, 0) : label(row);
            float got;
            memcpy(&got, memory->grad[row] + sizeof got * (size_t)column, sizeof got);
            const double expected = listed_gradient(row, column);
            if (fabs((double)got - expected) <= FEW_ULPS) continue;
            quern_text_add(why, "the gradient of column %d of row %d is %g, expected %g", column, row, (double)got, expected);
            return true;
        }
    return false;
}

static bool soft_is_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    (void)dtype;
    for (int row = 0; row < COUNTED; row++) {
        const struct quern_divergence_sums *got = &memory->soft_sums[row];
        const double value = soft_value(row), slope = -SOFT_TARGET * (VOCAB - 1);
        if (fabs(got->value - value) <= FEW_ULPS && fabs(got->slope - slope) <= FEW_ULPS) continue;
        quern_text_add(why, "the divergence of row %d is %g with slope %g, expected %g with %g", row, got->value, got->slope, value,
                       slope);
        return true;
    }
    return false;
}

static bool wide_is_wrong(const struct memory *memory, quern_dtype dtype, struct quern_text *why) {
    return matrix_is_wrong(memory, dtype, wide_gradient, why);
}

static bool (*const stage_is_wrong[])(const struct memory *memory, quern_dtype dtype, struct quern_text *why) = {
    [QUERN_STAGE_ROWS] = rows_are_wrong,
    [QUERN_STAGE_STATS] = parts_are_wrong,
    [QUERN_STAGE_GRADIENT] = gradient_is_wrong,
    [QUERN_STAGE_UPSTREAM] = product_is_wrong,
    [QUERN_STAGE_PORTABLE] = rows_are_wrong,
    [QUERN_STAGE_PORTABLE_COMBINE] = combined_is_wrong,
    [QUERN_STAGE_COMBINE] = combined_is_wrong,
    [QUERN_STAGE_LABELS] = counts_are_wrong,
    [QUERN_STAGE_REDUCE] = mean_is_wrong,
    [QUERN_STAGE_COLUMNS] = columns_are_wrong,
    [QUERN_STAGE_LOG_PROBS] = log_probs_are_wrong,
    [QUERN_STAGE_LISTED] = listed_is_wrong,
    [QUERN_STAGE_SOFT] = soft_is_wrong,
    [QUERN_STAGE_WIDE] = wide_is_wrong,
};

static bool is_wrong(const struct quern_kernel *kernel, const char *memory, struct quern_text *why) {
    const struct memory *results = (const void *)memory;
    const quern_dtype dtype = dtype_of(kernel);
    if (stage_is_wrong[kernel->key.cross_entropy.stage](results, dtype, why)) return true;
    if (!quern_cross_entropy_serves_call(kernel)) return false;
    return counts_are_wrong(results, dtype, why) || mean_is_wrong(results, dtype, why);
}

const struct quern_known_answers quern_cross_entropy_answers = {
    .memory_bytes = sizeof(struct memory), .parameter_bytes = sizeof(struct quern_columns_problem), .ask = ask,
    .is_wrong = is_wrong};
