/* Cross-entropy on a CPU.  Kernels read the logits; this file handles labels, parts and losses.  Called by cross_entropy_run.c. */
#include "cross_entropy/cross_entropy.h"

#include <string.h>

#include "kernels/cpu/cross_entropy_kept.h"
#include "kernels/cross_entropy_nodes.h"
#include "kernels/cross_entropy_row.h"
#include "os/integers.h"
#include "runtime/dtype.h"
#include "runtime/status.h"
#include "runtime/log.h"
#include "runtime/threads.h"

/* ---- labels and losses ---- */

static double weight_of(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t label) {
    if (problem->weights_in_stats) return (double)problem->stats[row].label_weight;
    return problem->class_weights ? (double)problem->class_weights[label - problem->first_column] : 1;
}

static void log_bad_labels(const struct quern_cross_entropy_call *call, const quern_cross_entropy_report *report) {
    const struct quern_cross_entropy_problem *problem = &call->problem;
    quern_log(call->device, QUERN_LOG_ERROR, "cross_entropy: %lld of %lld rows are skipped for their labels; the first is row "
              "%lld, whose label is %lld: expected 0 to %lld, or ignore_index %lld", (long long)report->bad_labels,
              (long long)problem->rows, (long long)report->first_bad_row,
              (long long)quern_row_given_label(problem, report->first_bad_row), (long long)problem->global_vocab - 1,
              (long long)problem->ignore_index);
}

/* The steps that tell of labels: the others of the same rows repeat them. */
static bool is_told(const struct quern_cross_entropy_call *call) {
    return (call->step == QUERN_STEP_WHOLE || call->step == QUERN_STEP_COMBINE) && quern_log_wanted(QUERN_LOG_ERROR);
}

/* The mean's divisor, the report and the log.  problem: that of the call, or with other stats. */
static void count_labels(const struct quern_cross_entropy_call *call, const struct quern_cross_entropy_problem *problem) {
    if (!problem->divisor && !problem->report && !is_told(call)) return;
    quern_cross_entropy_report report = {.first_bad_row = -1};
    double weights = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const int64_t label = quern_row_label(problem, row);
        if (label >= 0) {
            report.counted_rows++;
            if (problem->divisor) weights += weight_of(problem, row, label);
        } else if (quern_row_is_ignored(problem, row)) {
            report.ignored_rows++;
        } else {
            if (!report.bad_labels++) report.first_bad_row = row;
        }
    }
    if (problem->divisor) *problem->divisor = weights;
    if (problem->report) *problem->report = report;
    if (report.bad_labels && is_told(call)) log_bad_labels(call, &report);
}

/* Sums the losses in the order of the rows, so that the result does not depend on the threads. */
static void reduce_losses(const struct quern_cross_entropy_problem *problem) {
    double sum = 0;
    for (int64_t row = 0; row < problem->rows; row++) sum += (double)problem->row_loss[row];
    if (problem->divisor) sum = *problem->divisor != 0 ? sum / *problem->divisor : 0;
    *problem->loss = (float)sum;
}

/* ---- dividing the work ---- */

/*
 * In logits: the least call that is worth waking a worker, some 50 microseconds with a gradient, the least share of a worker, and
 * the least chunk, which is claimed with one atomic operation.
 */
enum { LEAST_SHARED = 1 << 18, LEAST_SHARE = 1 << 15, LEAST_CHUNK = 1 << 14 };

/* What a row without its logits costs, in logits. */
enum { ROW_COST = 256 };

/* The largest number of threads of a device. */
enum { MOST_WORKERS = 1024 };

/* The kernels of a step; NULL: not needed. */
struct kernels {
    const struct quern_kernel *rows, *stats, *gradient, *upstream, *soft;
};

/*
 * A number of items.  Each worker has a contiguous share, which is the same in each pass over the same items.  It claims chunks of
 * its own share and then of the others', so that a worker that comes late or is interrupted holds up no other for long.
 */
struct work {
    const struct quern_cross_entropy_call *call;
    const struct quern_cross_entropy_problem *problem;
    const struct quern_kernel *kernel;  /* NULL: none is needed */
    const struct kernels *kernels;      /* rows with lists of columns, and soft targets: all of them */
    void (*run)(const struct work *work, int64_t first, int64_t end, void *scratch);
    int64_t count, cost;                /* the cost of one item, in logits */
    bool keeps;                         /* parts: values are kept in the scratch of their row */
    int64_t workers, chunk;
    int64_t *claimed;                   /* [workers], atomic: items of each share; may exceed it by a chunk for each worker */
};

static void *scratch_of(const struct work *work, int64_t place) {
    return work->call->scratch ? work->call->scratch + (size_t)place * work->call->scratch_bytes : NULL;
}

/* The first item of a share; that of the share after the last is the count. */
static int64_t share_at(const struct work *work, int64_t share) {
    const int64_t rest = work->count % work->workers;
    return share * (work->count / work->workers) + quern_smaller(share, rest);
}

static void run_chunks(const struct work *work, int64_t share, void *scratch) {
    const int64_t begin = share_at(work, share), end = share_at(work, share + 1);
    while (__atomic_load_n(&work->claimed[share], __ATOMIC_RELAXED) < end - begin) {
        const int64_t first = begin + __atomic_fetch_add(&work->claimed[share], work->chunk, __ATOMIC_RELAXED);
        if (first < end) work->run(work, first, quern_smaller(first + work->chunk, end), scratch);
    }
}

static void run_share(void *context, int64_t worker) {
    const struct work *work = context;
    void *scratch = scratch_of(work, worker);
    for (int64_t i = 0; i < work->workers; i++) run_chunks(work, (worker + i) % work->workers, scratch);
}

/* Large chunks cost less, small ones are divided more evenly: an eighth of a share, if that is worth it. */
static int64_t choose_chunk(const struct work *work) {
    const int64_t share = work->count / work->workers;
    return quern_larger(1, quern_larger(share / 8, quern_smaller(share, LEAST_CHUNK / work->cost)));
}

/* All rows of the call count, also where only the last ones are divided. */
static bool is_shared(const struct quern_cross_entropy_call *call) {
    return call->args.rows * call->problem.vocab >= LEAST_SHARED;
}

static void run_work(struct work work) {
    const int64_t most = work.kernel && work.call->workers ? work.call->workers : work.call->threads;  /* 0: no scratch */
    int64_t claimed[MOST_WORKERS];
    const int64_t worth = is_shared(work.call) ? quern_larger(1, work.count * work.cost / LEAST_SHARE) : 1;
    work.workers = quern_smaller(work.count, quern_smaller(most, worth));
    if (!work.workers) return;
    work.chunk = choose_chunk(&work);
    work.claimed = memset(claimed, 0, (size_t)work.workers * sizeof *claimed);
    quern_run_tasks(work.call->device, work.workers, run_share, &work);
}

/* ---- the stages ---- */

static void run_rows(const struct work *work, int64_t first, int64_t end, void *scratch) {
    work->kernel->cpu.cross_entropy_rows(work->problem, first, end, scratch);
}

/* The largest logits of the pieces of a part; NULL: not wanted, or shards with portable bits divide a part in other ways. */
static float *maxima_of(const struct quern_cross_entropy_call *call, int64_t row, int64_t part) {
    if (!call->maxima || call->problem.nodes) return NULL;
    return call->maxima + (row * call->problem.part_count + part) * QUERN_CPU_PART_PIECES;
}

/* What the kernels of a row find beside its numbers.  scratch: NULL without a gradient. */
static struct quern_kept_values kept_in(const struct work *work, int64_t row, void *scratch, bool of_row) {
    const struct quern_columns_problem *columns = &work->call->columns;
    const bool adds = scratch && columns->soft_targets && columns->row_upstream;
    const bool is_zero = adds && columns->grad_divergence[row * columns->grad_divergence_stride] == 0;
    float *const grad = quern_cross_entropy_is_wide(work->call) ? work->problem->grad : NULL;
    return (struct quern_kept_values){.values = scratch, .of_row = of_row,
                                      .addends = adds && !is_zero ? (void *)((char *)scratch + work->call->addends) : NULL,
                                      .wide = grad ? grad + row * work->problem->grad_stride : NULL};
}

/* The sums over the soft targets of a part, and the addends of its columns.  own: of this worker, for targets as fp32 numbers. */
static void run_soft_part(const struct work *work, int64_t row, int64_t part, struct quern_kept_values kept, void *own) {
    struct quern_columns_problem columns = work->call->columns;
    struct quern_divergence_sums *const sums = &columns.soft_sums[part * work->problem->rows + row];
    float *const room = work->call->widened ? (void *)((char *)own + work->call->widened) : NULL;
    struct quern_soft_part soft = {.value = 0};
    quern_columns_take_rows(&columns, work->problem);
    kept.soft = &soft;
    if (quern_cross_entropy_soft_part(&columns, row, part, room, &soft))
        work->kernels->soft->cpu.cross_entropy_part(work->problem, row, part, &kept);
    *sums = (struct quern_divergence_sums){soft.value, soft.slope, 0, 0};
}

/* Items are (row, part) pairs; the parts of a row are neighbours. */
static void run_parts(const struct work *work, int64_t first, int64_t end, void *scratch) {
    const int64_t parts = work->problem->part_count;
    for (int64_t i = first; i < end; i++) {
        const int64_t row = i / parts, part = i % parts;
        void *const place = !work->problem->grad ? NULL : work->keeps ? scratch_of(work, row) : scratch;
        struct quern_kept_values kept = kept_in(work, row, place, work->keeps);
        kept.maxima = maxima_of(work->call, row, part);
        if (work->kernel->key.cross_entropy.stage == QUERN_STAGE_SOFT) {
            run_soft_part(work, row, part, kept, scratch);
            continue;
        }
        if (kept.addends && !work->keeps) run_soft_part(work, row, part, kept, scratch);
        work->kernel->cpu.cross_entropy_part(work->problem, row, part, &kept);
    }
}

static quern_row_stats combine_parts(const struct quern_cross_entropy_problem *problem, int64_t row) {
    quern_row_stats stats = problem->parts[row];
    for (int64_t part = 1; part < problem->part_count; part++)
        quern_row_add(&stats, problem->parts[part * problem->rows + row]);
    return stats;
}

static quern_row_stats combine_portable_parts(const struct quern_cross_entropy_problem *problem, int64_t row) {
    struct quern_row_tree tree = quern_row_tree_from(0);
    quern_row_stats stats = quern_row_nothing();
    for (int64_t part = 0; part < problem->part_count; part++)
        quern_row_add_part(&tree, &stats, &problem->parts[part * problem->rows + row]);
    quern_row_finish_parts(&tree, &stats);
    return stats;
}

/* The nodes of parts or shards, and what is no sum. */
static void grow_over_parts(const struct quern_cross_entropy_problem *problem, int64_t row, struct quern_row_growth *growth,
                            quern_row_stats *stats) {
    for (int64_t part = 0; part < problem->part_count; part++) {
        const int64_t place = part * problem->rows + row;
        quern_row_add_nodes(growth, &problem->part_nodes[place * quern_row_nodes_of_row(problem)], &problem->parts[place]);
        quern_row_take(stats, &problem->parts[place]);
    }
}

/* Moves the columns of a unit that began in another shard from the first part to the shard. */
static void move_first_unit(quern_row_nodes *part, const quern_row_stats *of_part, quern_row_nodes *shard, double power,
                            bool has_moments) {
    const double from = quern_row_origin_power(of_part);
    for (int i = 0; i < QUERN_UNIT_COLUMNS; i++) {
        if (part->first_unit[i] == QUERN_NO_NODE) continue;
        const struct quern_row_node column = quern_row_node_at(part->first_unit[i], from, 0);
        shard->first_unit[i] = quern_row_kept_node(column.sum, column.power - power);
        if (has_moments) shard[1].first_unit[i] = part[1].first_unit[i];
        part->first_unit[i] = QUERN_NO_NODE;
    }
}

static quern_row_stats combine_nodes_of_parts(const struct quern_cross_entropy_problem *problem, int64_t row) {
    struct quern_row_growth growth;
    quern_row_stats stats = quern_row_nothing();
    for (int64_t part = 0; part < problem->part_count; part++)
        stats.origin = fmax(stats.origin, problem->parts[part * problem->rows + row].origin);
    const double power = quern_row_origin_power(&stats);
    const int64_t nodes_of_row = quern_row_nodes_of_row(problem);
    quern_row_nodes *const nodes = &problem->nodes[row * nodes_of_row];
    for (int64_t i = 0; i < nodes_of_row; i++) quern_row_no_nodes(nodes + i);
    move_first_unit(&problem->part_nodes[row * nodes_of_row], &problem->parts[row], nodes, power, nodes_of_row > 1);
    quern_row_begin(&growth, problem, problem->first_column);
    const int64_t first_unit = growth.tree.end;
    grow_over_parts(problem, row, &growth, &stats);
    quern_row_keep_growth(&growth, first_unit, power, nodes, &stats);
    return stats;
}

static quern_row_stats combine_nodes_of_shards(const struct quern_cross_entropy_problem *problem, int64_t row) {
    struct quern_row_growth growth;
    quern_row_stats stats = quern_row_nothing();
    if (quern_row_label(problem, row) < 0) return stats;
    quern_row_begin(&growth, problem, 0);
    grow_over_parts(problem, row, &growth, &stats);
    quern_row_finish_growth(&growth, problem->global_vocab, &stats);
    return stats;
}

/* What the steps have given as a shard of the whole vocab is settled. */
static quern_row_stats combine_row(const struct quern_cross_entropy_problem *problem, int64_t row, bool is_settled) {
    if (problem->nodes) return combine_nodes_of_parts(problem, row);
    if (problem->part_nodes) return combine_nodes_of_shards(problem, row);
    if (!problem->portable_bits) return combine_parts(problem, row);
    return is_settled ? problem->parts[row] : combine_portable_parts(problem, row);
}

/* Combines the parts of each row, or its shards, in their order. */
static void combine_rows(const struct work *work, int64_t first, int64_t end, void *scratch) {
    (void)scratch;
    const struct quern_cross_entropy_problem *problem = work->problem;
    for (int64_t row = first; row < end; row++)
        problem->stats[row] = combine_row(problem, row, work->call->step == QUERN_STEP_COMBINE);
}

static void finish_rows(const struct work *work, int64_t first, int64_t end, void *scratch) {
    (void)scratch;
    for (int64_t row = first; row < end; row++) {
        const quern_row_stats *stats = &work->problem->stats[row];
        const struct quern_row_values values = quern_row_values(work->problem, stats);
        quern_row_finish(work->problem, row, quern_row_label(work->problem, row), stats, &values);
    }
}

/* ---- lists of columns ---- */

/* With the maxima of pieces, unless they are not known. */
static void find_columns(const struct work *work, int64_t first, int64_t end, void *scratch) {
    (void)scratch;
    struct quern_columns_problem columns = work->call->columns;
    quern_columns_take_rows(&columns, work->problem);
    for (int64_t row = first; row < end; row++) quern_cross_entropy_find_columns(&columns, row, maxima_of(work->call, row, 0));
}

/* All that lies between the sums of rows and their gradient. */
static void finish_columns(const struct work *work, int64_t first, int64_t end, void *scratch) {
    (void)scratch;
    struct quern_columns_problem columns = work->call->columns;
    quern_columns_take_rows(&columns, work->problem);
    for (int64_t row = first; row < end; row++) {
        if (!columns.has_log_probs) quern_cross_entropy_finish_columns(&columns, row);
        if (columns.own_logits) quern_cross_entropy_keep_logits(&columns, row);
        if (columns.divergence || columns.row_upstream) quern_cross_entropy_find_divergence(&columns, row);
    }
}

static void write_listed(const struct work *work, int64_t first, int64_t end, void *scratch) {
    (void)scratch;
    struct quern_columns_problem columns = work->call->columns;
    quern_columns_take_rows(&columns, work->problem);
    for (int64_t row = first; row < end; row++) quern_cross_entropy_write_listed(&columns, row);
}

/* The parts of a row one after the other, so that the cache still has the logits when they are searched. */
static void run_row_with_columns(const struct work *work, int64_t row, void *scratch) {
    const struct quern_cross_entropy_problem *problem = work->problem;
    struct quern_kept_values kept = kept_in(work, row, problem->grad ? scratch : NULL, true);
    for (int64_t part = 0; part < problem->part_count; part++) {
        kept.maxima = maxima_of(work->call, row, part);
        work->kernels->stats->cpu.cross_entropy_part(problem, row, part, &kept);
    }
    combine_rows(work, row, row + 1, NULL);
    finish_rows(work, row, row + 1, NULL);
    find_columns(work, row, row + 1, NULL);
    for (int64_t part = 0; part < problem->part_count && quern_cross_entropy_wants_soft(work->call); part++)
        run_soft_part(work, row, part, kept, scratch);
    finish_columns(work, row, row + 1, NULL);
    for (int64_t part = problem->part_count - 1; part >= 0 && problem->grad; part--)
        work->kernels->gradient->cpu.cross_entropy_part(problem, row, part, &kept);
    if (quern_cross_entropy_wants_slopes(work->call)) write_listed(work, row, row + 1, NULL);
}

static void run_rows_with_columns(const struct work *work, int64_t first, int64_t end, void *scratch) {
    for (int64_t row = first; row < end; row++) run_row_with_columns(work, row, scratch);
}

/* ---- the steps ---- */

/*
 * How many rows, the last ones, all workers share part by part, because they are too few to be dealt out evenly as whole rows.
 * Each worker then has at most three quarters of a row's parts, and there is work for two.
 */
static int64_t count_split(const struct quern_cross_entropy_call *call) {
    const struct quern_cross_entropy_problem *problem = &call->problem;
    const int64_t threads = call->threads, rest = problem->rows % threads;
    const int64_t share = quern_divide_up(rest * problem->part_count, threads);
    const bool is_worth_it = 4 * share <= 3 * problem->part_count && rest * problem->vocab >= 2 * LEAST_SHARE;
    return is_shared(call) && is_worth_it ? rest : 0;
}

static quern_status find_kernel(const struct quern_cross_entropy_call *call, enum quern_cross_entropy_stage stage, bool is_needed,
                                const struct quern_kernel **kernel) {
    const struct quern_ready_kernel *ready;
    *kernel = NULL;
    if (!is_needed) return QUERN_OK;
    const quern_status status = quern_cross_entropy_select(call, stage, &ready);
    if (status == QUERN_OK) *kernel = ready->kernel;
    return status;
}

/* Whether whole rows have something to be done between their sums and their gradient, or a gradient that the rows stage lacks. */
static bool takes_one_by_one(const struct quern_cross_entropy_call *call) {
    return quern_cross_entropy_wants_columns(call) || quern_cross_entropy_is_wide(call);
}

/* Finds all kernels before the first one runs, so that a missing one leaves no partial result. */
static quern_status find_kernels(const struct quern_cross_entropy_call *call, struct kernels *kernels) {
    const bool is_whole = call->step == QUERN_STEP_WHOLE, one_by_one = takes_one_by_one(call);
    const int64_t split = is_whole ? count_split(call) : 0;
    const bool in_parts = is_whole && (split > 0 || one_by_one);
    quern_status status = find_kernel(call, QUERN_STAGE_ROWS, is_whole && !one_by_one && split < call->problem.rows,
                                      &kernels->rows);
    if (status == QUERN_OK)
        status = find_kernel(call, QUERN_STAGE_STATS, in_parts || call->step == QUERN_STEP_STATS, &kernels->stats);
    if (status == QUERN_OK)
        status = find_kernel(call, QUERN_STAGE_GRADIENT, (in_parts && call->problem.grad) || call->step == QUERN_STEP_GRADIENT,
                             &kernels->gradient);
    if (status == QUERN_OK)
        status = find_kernel(call, QUERN_STAGE_UPSTREAM, call->step == QUERN_STEP_UPSTREAM, &kernels->upstream);
    if (status == QUERN_OK)
        status = find_kernel(call, QUERN_STAGE_SOFT, quern_cross_entropy_wants_soft(call), &kernels->soft);
    return status;
}

/* The parts of rows.  Only a whole call keeps values, since its sums and its gradients have the same scratch. */
static struct work parts_of(const struct quern_cross_entropy_call *call, const struct quern_cross_entropy_problem *problem,
                            const struct quern_kernel *kernel, const struct kernels *kernels) {
    return (struct work){
        .call = call, .problem = problem, .kernel = kernel, .kernels = kernels, .run = run_parts,
        .count = problem->rows * problem->part_count,
        .cost = problem->vocab / quern_larger(1, problem->part_count), .keeps = call->step == QUERN_STEP_WHOLE && problem->grad};
}

static struct work rows_of(const struct quern_cross_entropy_call *call, const struct quern_cross_entropy_problem *problem,
                           void (*run)(const struct work *work, int64_t first, int64_t end, void *scratch)) {
    return (struct work){.call = call, .problem = problem, .run = run, .count = problem->rows, .cost = ROW_COST};
}

static void search_rows(const struct quern_cross_entropy_call *call, const struct quern_cross_entropy_problem *problem) {
    struct work work = rows_of(call, problem, find_columns);
    work.cost += problem->vocab / 8;
    if (quern_cross_entropy_wants_columns(call)) run_work(work);
}

static void sum_rows(const struct quern_cross_entropy_call *call, const struct quern_cross_entropy_problem *problem,
                     const struct kernels *kernels) {
    run_work(parts_of(call, problem, kernels->stats, kernels));
    run_work(rows_of(call, problem, combine_rows));
    search_rows(call, problem);
}

static void run_whole_rows(const struct quern_cross_entropy_call *call, struct quern_cross_entropy_problem problem, int64_t rows,
                           const struct kernels *kernels) {
    const bool one_by_one = takes_one_by_one(call);
    problem.rows = rows;
    struct work work = rows_of(call, &problem, one_by_one ? run_rows_with_columns : run_rows);
    work.kernel = one_by_one ? kernels->stats : kernels->rows;
    work.kernels = kernels;
    work.cost += problem.vocab;
    run_work(work);
}

/* All rows but the first ones; the parts have no place of their own. */
static void run_split_rows(struct quern_cross_entropy_call call, int64_t first, const struct kernels *kernels) {
    const struct quern_cross_entropy_problem *problem = &call.problem;
    quern_cross_entropy_skip_rows(&call, first);
    quern_cross_entropy_place_upstream(&call);
    call.problem.stats = problem->stats ? problem->stats + first : call.spare_stats;
    sum_rows(&call, problem, kernels);
    run_work(rows_of(&call, problem, finish_rows));
    if (kernels->soft) run_work(parts_of(&call, problem, kernels->soft, kernels));
    if (quern_cross_entropy_wants_columns(&call)) run_work(rows_of(&call, problem, finish_columns));
    if (kernels->gradient) run_work(parts_of(&call, problem, kernels->gradient, kernels));
    if (quern_cross_entropy_wants_slopes(&call)) run_work(rows_of(&call, problem, write_listed));
}

static void run_whole(const struct quern_cross_entropy_call *call, const struct kernels *kernels) {
    const struct quern_cross_entropy_problem *problem = &call->problem;
    if (call->tasks & QUERN_COUNT_LABELS) count_labels(call, problem);
    if (call->tasks & QUERN_RUN_ROWS) {
        const int64_t split = count_split(call), whole = problem->rows - split;
        if (whole) run_whole_rows(call, *problem, whole, kernels);
        if (split) run_split_rows(*call, whole, kernels);
    }
    if ((call->tasks & QUERN_SUM_LOSSES) && problem->loss) reduce_losses(problem);
}

static void run_combine(const struct quern_cross_entropy_call *call) {
    struct quern_cross_entropy_problem problem = call->problem;
    problem.parts = (quern_row_stats *)call->shards;
    problem.part_nodes = quern_cross_entropy_has_nodes(&call->args) ? call->args.nodes : NULL;
    problem.part_count = call->shard_count;
    if (!problem.stats) problem.stats = call->spare_stats;
    if (call->tasks & QUERN_RUN_ROWS) run_work(rows_of(call, &problem, combine_rows));
    if (call->tasks & QUERN_COUNT_LABELS) count_labels(call, &problem);
    if (call->tasks & QUERN_RUN_ROWS) run_work(rows_of(call, &problem, finish_rows));
    if (quern_cross_entropy_wants_columns(call)) run_work(rows_of(call, &problem, finish_columns));
    if ((call->tasks & QUERN_SUM_LOSSES) && problem.loss) reduce_losses(&problem);
}

/* No worker is woken for one value for all rows that is 1. */
static bool multiplies(const struct quern_cross_entropy_problem *problem) {
    return problem->rows && (problem->grad_loss_stride || *problem->grad_loss != 1);
}

quern_status quern_cross_entropy_on_cpu(struct quern_cross_entropy_call *call) {
    struct kernels kernels;
    const quern_status status = find_kernels(call, &kernels);
    if (status != QUERN_OK) return status;
    switch (call->step) {
    case QUERN_STEP_WHOLE:
        run_whole(call, &kernels);
        break;
    case QUERN_STEP_STATS:
        sum_rows(call, &call->problem, &kernels);
        break;
    case QUERN_STEP_COMBINE:
        run_combine(call);
        break;
    case QUERN_STEP_UPSTREAM:
        if (multiplies(&call->problem)) run_work(parts_of(call, &call->problem, kernels.upstream, &kernels));
        break;
    default:
        if (call->tasks & QUERN_COUNT_LABELS) count_labels(call, &call->problem);
        if (kernels.soft) run_work(parts_of(call, &call->problem, kernels.soft, &kernels));
        if (quern_cross_entropy_wants_slopes(call)) run_work(rows_of(call, &call->problem, finish_columns));
        run_work(parts_of(call, &call->problem, kernels.gradient, &kernels));
        if (quern_cross_entropy_wants_slopes(call)) run_work(rows_of(call, &call->problem, write_listed));
    }
    return QUERN_OK;
}
