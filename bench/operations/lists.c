/*
 * Cross-entropy with lists of columns, with a divergence from soft targets, and with an fp32 gradient, in turns with the same call
 * without them.  Called by main.c.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/record.h"
#include "operations/data.h"
#include "operations/operation.h"

enum { LOGITS = 1 << 23, MOST_TOP = 32 };  /* of a call: some times what the second cache holds */

/* A request beside the plain call. */
static const struct request {
    const char *name;
    int top;                   /* the largest columns */
    bool diverges;             /* the divergence from as many targets, or from targets of all columns, with its gradient */
    quern_divergence kind;
} requests[] = {{.name = "top 1", .top = 1},
                {.name = "top 8", .top = 8},
                {.name = "top 32", .top = 32},
                {.name = "divergence of 8", .top = 8, .diverges = true},
                {.name = "forward KL of all", .diverges = true},
                {.name = "reverse KL of all", .diverges = true, .kind = QUERN_KL_REVERSE},
                {.name = "Jensen-Shannon of all", .diverges = true, .kind = QUERN_JENSEN_SHANNON},
                {.name = "fp32 gradient"}};

static const int64_t vocabs[] = {4096, 32000, 131072};
static const quern_dtype dtypes[] = {QUERN_BF16, QUERN_F32};

struct contender {
    const struct machine *machine;
    quern_cross_entropy_args args;
    void *workspace;
    size_t workspace_bytes;
};

static void run_call(void *context) {
    struct contender *contender = context;
    if (quern_cross_entropy(contender->machine->quern, &contender->args, contender->workspace, contender->workspace_bytes, NULL) !=
        QUERN_OK)
        machine_fail_call("quern_cross_entropy");
}

/* The memory that all calls of a shape share. */
struct lists {
    int64_t *ids;
    float *top, *given, *targets, *one, *divergence, *wide;
    void *soft;                /* targets of all columns, of the logits' type */
};

static struct lists create_lists(const struct machine *machine, quern_dtype dtype, int64_t rows, int64_t vocab) {
    const size_t count = (size_t)(rows * MOST_TOP);
    struct lists lists = {machine_allocate(machine, count * sizeof(int64_t)), machine_allocate(machine, count * sizeof(float)),
                          machine_allocate(machine, count * sizeof(float)), machine_allocate(machine, count * sizeof(float)),
                          machine_allocate(machine, sizeof(float)), machine_allocate(machine, (size_t)rows * sizeof(float)),
                          machine_allocate(machine, (size_t)(rows * vocab) * sizeof(float)),
                          values_create(machine, dtype, rows * vocab, (struct value_range){-14, -10, false})};
    if (!lists.ids || !lists.top || !lists.given || !lists.targets || !lists.one || !lists.divergence || !lists.wide || !lists.soft)
        machine_fail("not enough memory");
    for (size_t i = 0; i < count; i++) {
        lists.ids[i] = (int64_t)(i * 7919) % vocab;
        lists.targets[i] = 1.0f / MOST_TOP;
    }
    *lists.one = 1;
    return lists;
}

static struct contender contender_of(const struct machine *machine, const quern_cross_entropy_args *plain,
                                     const struct request *request, const struct lists *lists) {
    struct contender contender = {.machine = machine, .args = *plain};
    quern_cross_entropy_args *args = &contender.args;
    if (request && request->diverges) {
        args->divergence = lists->divergence, args->divergence_kind = request->kind;
        args->grad_divergence = lists->one, args->grad_divergence_stride = 0;
    }
    if (request && request->diverges && !request->top) {
        args->soft_targets_dtype = args->logits_dtype, args->soft_targets = lists->soft;
    } else if (request && request->diverges) {
        args->given_count = request->top, args->given_ids = lists->ids, args->given_log_probs = lists->given;
        args->target_probs = lists->targets, args->has_tail = 1;
    } else if (request && request->top) {
        args->top_k = request->top, args->top_ids = lists->ids, args->top_log_probs = lists->top;
    } else if (request) {
        args->grad_dtype = QUERN_F32, args->grad = lists->wide;
    }
    if (quern_cross_entropy_workspace(machine->quern, args, &contender.workspace_bytes) != QUERN_OK)
        machine_fail_call("quern_cross_entropy_workspace");
    contender.workspace = machine_allocate(machine, contender.workspace_bytes + 1);
    if (!contender.workspace) machine_fail("not enough memory");
    return contender;
}

static void write_times(const struct contender *plain, const struct request *request, const struct times *with,
                        const struct times *without) {
    record_begin();
    record_text("operation", "lists");
    record_text("request", request->name);
    record_text("dtypes", quern_dtype_name(plain->args.logits_dtype));
    record_text("gradient", plain->args.grad ? "yes" : "no");
    record_integer("rows", plain->args.rows);
    record_integer("vocab", plain->args.vocab);
    record_integer("threads", plain->machine->threads);
    record_number("milliseconds", 4, 1e3 * with->median);
    record_number("milliseconds_plain", 4, 1e3 * without->median);
    record_number("ratio", 3, with->median / without->median);
    record_number("ratio_of_low_quartiles", 3, with->low / without->low);
    record_integer("rounds", with->rounds);
    record_end();
}

static void run_shape(const struct machine *machine, const struct patience *patience, quern_dtype dtype, int64_t vocab, bool has_grad) {
    const int64_t rows = LOGITS / vocab;
    const size_t bytes = (size_t)(rows * vocab) * quern_dtype_bytes(dtype);
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    void *logits = values_create(machine, dtype, rows * vocab, (struct value_range){-3, 3, true}), *grad = machine_allocate(machine, bytes);
    void *labels = labels_create(machine, rows, vocab), *loss = machine_allocate(machine, sizeof(float) * (size_t)rows);
    if (!logits || !grad || !labels || !loss) machine_fail("not enough memory");
    args.logits_dtype = dtype, args.labels_dtype = QUERN_INT64, args.rows = rows, args.vocab = vocab;
    args.logits = logits, args.labels = labels, args.loss = loss, args.grad = has_grad ? grad : NULL;
    struct lists lists = create_lists(machine, dtype, rows, vocab);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const bool is_wide = !requests[i].top && !requests[i].diverges;
        if ((requests[i].diverges || is_wide) && !has_grad) continue;
        if (is_wide && dtype == QUERN_F32) continue;
        struct contender plain = contender_of(machine, &args, NULL, &lists), listed = contender_of(machine, &args, &requests[i], &lists);
        struct activity activities[] = {{.run = run_call, .context = &plain, .repeatable = true},
                                        {.run = run_call, .context = &listed, .repeatable = true}};
        machine_measure(machine, activities, 2, patience);
        write_times(&plain, &requests[i], &activities[1].times, &activities[0].times);
        machine_release(machine, plain.workspace), machine_release(machine, listed.workspace);
    }
    void *memory[] = {logits, grad, labels, loss, lists.ids, lists.top, lists.given, lists.targets, lists.one, lists.divergence,
                      lists.wide, lists.soft};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) machine_release(machine, memory[i]);
}

static void run_shapes(const struct options *options) {
    struct machine machine;
    const struct plan plan = operation_open(&machine, options, QUERN_CROSS_ENTROPY);
    if (machine.info.kind != QUERN_CPU) refuse("lists are measured on a CPU only");
    machine_record(&machine);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t v = 0; v < sizeof vocabs / sizeof *vocabs; v++)
            for (int has_grad = 0; has_grad < 2; has_grad++) run_shape(&machine, &plan.patience, dtypes[d], vocabs[v], has_grad);
    machine_close(&machine);
}

static void test_shapes(void) {
    check("the rows of 131,072 columns", LOGITS / 131072, 64);
    check("the columns of the longest list", requests[2].top, MOST_TOP);
}

const struct subject lists_subject = {"lists", "cross-entropy with lists of columns, divergences and an fp32 gradient, in turns with the plain call",
                                      run_shapes, test_shapes};
