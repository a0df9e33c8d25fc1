/*
 * Cross-entropy of few rows in the cache, with the gradient in place: one thread and all threads in turns, each through a device of
 * its own.  An activity is repeated for two milliseconds, so that the calls of one follow each other closely.  Called by main.c.
 */
#include <stdlib.h>

#include "harness/record.h"
#include "operations/data.h"
#include "operations/operation.h"

enum { LEAST_LOGITS = 1 << 16, MOST_LOGITS = 1 << 22 };  /* from what can be shared to what a cache of 32 MiB holds */

static const int64_t rows_of_shapes[] = {1, 2, 3, 4, 7, 8, 16, 64};
static const int64_t vocabs_of_shapes[] = {4096, 32768, 50257, 65536, 131072, 262144, 1 << 20};

enum { ROWS = sizeof rows_of_shapes / sizeof *rows_of_shapes, VOCABS = sizeof vocabs_of_shapes / sizeof *vocabs_of_shapes };

struct contender {
    struct machine machine;
    quern_cross_entropy_args args;
    void *workspace;
    size_t workspace_bytes;
};

static void run_call(void *context) {
    struct contender *contender = context;
    if (quern_cross_entropy(contender->machine.quern, &contender->args, contender->workspace, contender->workspace_bytes, NULL) !=
        QUERN_OK)
        machine_fail_call("quern_cross_entropy");
}

static void take_case(struct contender *contender, const quern_cross_entropy_args *args) {
    contender->args = *args;
    if (quern_cross_entropy_workspace(contender->machine.quern, args, &contender->workspace_bytes) != QUERN_OK)
        machine_fail_call("quern_cross_entropy_workspace");
    contender->workspace = machine_allocate(&contender->machine, contender->workspace_bytes + 1);
    if (!contender->workspace) machine_fail("not enough memory");
}

static void write_times(const struct contender *all, const struct times *one_thread, const struct times *all_threads) {
    record_begin();
    record_text("operation", "few_rows");
    record_text("dtypes", quern_dtype_name(all->args.logits_dtype));
    record_integer("rows", all->args.rows);
    record_integer("vocab", all->args.vocab);
    record_integer("threads", all->machine.threads);
    record_number("microseconds_one", 4, 1e6 * one_thread->median);
    record_number("microseconds_all", 4, 1e6 * all_threads->median);
    record_number("low_quartile_one", 4, 1e6 * one_thread->low);
    record_number("low_quartile_all", 4, 1e6 * all_threads->low);
    record_number("ratio", 3, one_thread->median / all_threads->median);
    record_number("ratio_of_low_quartiles", 3, one_thread->low / all_threads->low);
    record_integer("rounds", one_thread->rounds);
    record_end();
}

static void run_shape(struct contender *one, struct contender *all, const struct patience *patience, int64_t rows, int64_t vocab) {
    const struct machine *machine = &all->machine;
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    void *logits = values_create(machine, QUERN_BF16, rows * vocab, (struct value_range){-3, 3, true});
    void *labels = labels_create(machine, rows, vocab), *loss = machine_allocate(machine, sizeof(float) * (size_t)rows);
    if (!logits || !labels || !loss) machine_fail("not enough memory");
    args.logits_dtype = QUERN_BF16, args.labels_dtype = QUERN_INT64;
    args.rows = rows, args.vocab = vocab, args.logits = args.grad = logits, args.labels = labels, args.loss = loss;
    take_case(one, &args), take_case(all, &args);
    struct activity activities[] = {{.run = run_call, .context = one, .repeatable = true},
                                    {.run = run_call, .context = all, .repeatable = true}};
    machine_measure(machine, activities, 2, patience);
    write_times(all, &activities[0].times, &activities[1].times);
    void *memory[] = {logits, labels, loss, one->workspace, all->workspace};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) machine_release(machine, memory[i]);
}

static bool is_measured(int64_t logits) { return logits >= LEAST_LOGITS && logits <= MOST_LOGITS; }

static void run_shapes(const struct options *options) {
    struct contender one, all;
    const struct plan plan = operation_open(&all.machine, options, QUERN_CROSS_ENTROPY);
    if (all.machine.info.kind != QUERN_CPU) refuse("few_rows is measured on a CPU only");
    operation_open(&one.machine, options, QUERN_CROSS_ENTROPY);
    if (!machine_set_threads(&one.machine, 1)) exit(EXIT_FAILURE);
    machine_record(&all.machine);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < VOCABS; j++)
            if (is_measured(rows_of_shapes[i] * vocabs_of_shapes[j]))
                run_shape(&one, &all, &plan.patience, rows_of_shapes[i], vocabs_of_shapes[j]);
    machine_close(&one.machine);
    machine_close(&all.machine);
}

static void test_shapes(void) {
    check("65,536 logits are measured", is_measured(64 * 1024), true);
    check("8 rows of 262,144 are measured", is_measured(8 * 262144), true);
    check("65,535 logits are not measured", is_measured(65535), false);
}

const struct subject few_rows_subject = {"few_rows", "cross-entropy in the cache on one thread and all, in turns", run_shapes,
                                         test_shapes};
