/*
 * Quantisation of a large bf16 tensor beside a loop over the same bytes, also transposed and in blocks, and of many small ones by a
 * list, a plan and a call each.  All take turns.  Or one cast for each line of input, for quantize_peers.py.  Called by main.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record.h"
#include "operations/data.h"
#include "operations/operation.h"

enum { LARGE = 1 << 26, QUICK = 1 << 20, MOST_TENSORS = 10000, COLUMNS = 1 << 10 };

static const int64_t small_counts[] = {64, 1000};

/* Bytes of an element that a loop reads and writes.  A tensor is read for its amax and for its cast. */
struct traffic {
    int reads, writes;
};

static const struct traffic plain = {4, 1};

struct subject_of_call {
    const struct machine *machine;
    quern_quantize_args args;
    void *workspace;
    size_t workspace_bytes;
    struct traffic traffic;
};

static void call(const struct subject_of_call *subject, const quern_quantize_args *args) {
    if (quern_quantize(subject->machine->quern, args, subject->workspace, subject->workspace_bytes, NULL) != QUERN_OK)
        machine_fail_call("quern_quantize");
}

static void run_call(void *context) {
    const struct subject_of_call *subject = context;
    call(subject, &subject->args);
}

/* The tensors one by one. */
static void run_calls(void *context) {
    const struct subject_of_call *subject = context;
    quern_quantize_args one = subject->args;
    one.tensor_count = 1;
    for (int64_t i = 0; i < subject->args.tensor_count; i++) {
        one.tensors = subject->args.tensors + i;
        one.amax = subject->args.amax + i, one.scale = subject->args.scale + i, one.scale_inv = subject->args.scale_inv + i;
        call(subject, &one);
    }
}

/* Reads and writes as many bytes; what is written is read too. */
static void run_loop(void *context) {
    const struct subject_of_call *subject = context;
    const quern_quantize_tensor *tensor = subject->args.tensors;
    const struct traffic *traffic = &subject->traffic;
    const size_t bytes = (size_t)tensor->count;
    for (int i = traffic->writes; i < traffic->reads; i++)
        machine_read(subject->machine, (const char *)tensor->input + i % 2 * bytes, bytes);
    machine_copy(subject->machine, tensor->output, (const char *)tensor->input + bytes, bytes);
    if (traffic->writes == 2) machine_copy(subject->machine, tensor->transposed, tensor->input, bytes);
}

static struct subject_of_call open_call(const struct machine *machine, const quern_quantize_args *args) {
    struct subject_of_call subject = {.machine = machine, .args = *args, .traffic = plain};
    if (quern_quantize_workspace(machine->quern, args, &subject.workspace_bytes) != QUERN_OK)
        machine_fail_call("quern_quantize_workspace");
    subject.workspace = machine_allocate(machine, subject.workspace_bytes + 1);
    if (!subject.workspace) machine_fail("not enough memory");
    return subject;
}

static void write_time(const struct machine *machine, const char *what, const quern_quantize_args *args, int64_t elements,
                       const struct traffic *traffic, const struct times *times, const struct times *beside) {
    record_begin();
    record_text("operation", "quantize");
    record_text("pass", what);
    record_text("dtypes", quern_dtype_name(args->output_dtype));
    record_integer("threads", machine->threads);
    record_integer("elements", elements);
    record_number("microseconds", 4, 1e6 * times->median);
    record_number("gigabytes_per_second", 4, (double)elements * (traffic->reads + traffic->writes) / times->median / 1e9);
    record_number("ratio", 3, beside->median / times->median);
    record_number("ratio_of_low_quartiles", 3, beside->low / times->low);
    record_integer("rounds", times->rounds);
    record_end();
}

static void run_large(const struct machine *machine, const struct patience *patience, quern_quantize_args *args) {
    struct subject_of_call nearest = open_call(machine, args), stochastic = nearest;
    stochastic.args.rounding = QUERN_ROUND_STOCHASTIC;
    struct activity activities[] = {{.run = run_loop, .context = &nearest}, {.run = run_call, .context = &nearest},
                                    {.run = run_call, .context = &stochastic}};
    const int64_t elements = args->tensors[0].count;
    machine_measure(machine, activities, 3, patience);
    write_time(machine, "nearest, beside the loop", args, elements, &plain, &activities[1].times, &activities[0].times);
    write_time(machine, "stochastic, beside the loop", args, elements, &plain, &activities[2].times, &activities[0].times);
    machine_release(machine, nearest.workspace);
}

/* The same tensor as a matrix. */
static void run_matrix(const struct machine *machine, const struct patience *patience, const quern_quantize_args *args,
                       quern_quantize_tensor *tensor) {
    static const struct {
        const char *name;
        quern_scaling scaling;
        bool is_transposed;
        struct traffic traffic;
    } forms[] = {{"transposed, beside the loop", QUERN_SCALING_TENSOR, true, {4, 2}},
                 {"blocks, beside the loop", QUERN_SCALING_MX, false, {2, 1}},
                 {"blocks and transposed, beside the loop", QUERN_SCALING_MX, true, {2, 2}}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        quern_quantize_tensor matrix = *tensor;
        if (!forms[i].is_transposed) matrix.transposed = NULL;
        struct subject_of_call subject = open_call(machine, args);
        subject.args.tensors = &matrix, subject.args.scaling = forms[i].scaling, subject.traffic = forms[i].traffic;
        struct activity activities[] = {{.run = run_loop, .context = &subject}, {.run = run_call, .context = &subject}};
        machine_measure(machine, activities, 2, patience);
        write_time(machine, forms[i].name, args, matrix.count, &forms[i].traffic, &activities[1].times, &activities[0].times);
        machine_release(machine, subject.workspace);
    }
}

static void run_small(const struct machine *machine, const struct patience *patience, quern_quantize_args *args) {
    quern_quantize_plan *plan;
    if (quern_quantize_plan_create(machine->quern, args, &plan) != QUERN_OK) machine_fail_call("quern_quantize_plan_create");
    struct subject_of_call list = open_call(machine, args), planned = list;
    planned.args.plan = plan, planned.args.tensors = NULL;
    struct activity activities[] = {{.run = run_calls, .context = &list, .repeatable = true},
                                    {.run = run_call, .context = &list, .repeatable = true},
                                    {.run = run_call, .context = &planned, .repeatable = true}};
    const int64_t elements = args->tensor_count * args->tensors[0].count;
    machine_measure(machine, activities, 3, patience);
    write_time(machine, "a list, beside a call each", args, elements, &plain, &activities[1].times, &activities[0].times);
    write_time(machine, "a plan, beside a call each", args, elements, &plain, &activities[2].times, &activities[0].times);
    machine_release(machine, list.workspace);
    quern_quantize_plan_destroy(plan);
}

static void run_cases(const struct options *options) {
    static quern_quantize_tensor large, matrix, small[MOST_TENSORS];
    struct machine machine;
    const struct plan plan = operation_open(&machine, options, QUERN_QUANTIZE);
    const int64_t count = plan.quick ? QUICK : LARGE, tensors = plan.quick ? 100 : MOST_TENSORS;
    char *input = values_create(&machine, QUERN_BF16, count, (struct value_range){-3, 3, true}), *output, *more;
    float *numbers = machine_allocate(&machine, 3 * sizeof(float) * MOST_TENSORS);
    output = bytes_create(&machine, count, 0);
    more = bytes_create(&machine, count + count / 16, 0);
    if (!input || !output || !more || !numbers) machine_fail("not enough memory");
    large = (quern_quantize_tensor){.input = input, .output = output, .count = count};
    matrix = (quern_quantize_tensor){input, output, count, COLUMNS, more, (uint8_t *)more + count,
                                     (uint8_t *)more + count + count / 32};
    quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT;
    args.input_dtype = QUERN_BF16, args.output_dtype = QUERN_E4M3;
    args.amax = numbers, args.scale = numbers + MOST_TENSORS, args.scale_inv = numbers + 2 * MOST_TENSORS;
    machine_record(&machine);
    for (int i = 0; i < plan.thread_counts; i++) {
        if (!machine_set_threads(&machine, plan.threads[i])) return;
        args.tensors = &large, args.tensor_count = 1;
        run_large(&machine, &plan.patience, &args);
        run_matrix(&machine, &plan.patience, &args, &matrix);
        args.tensors = small, args.tensor_count = tensors;
        for (size_t k = 0; k < sizeof small_counts / sizeof *small_counts; k++) {
            const int64_t each = small_counts[k];
            for (int64_t j = 0; j < tensors; j++)
                small[j] = (quern_quantize_tensor){.input = input + 2 * each * j, .output = output + each * j, .count = each};
            run_small(&machine, &plan.patience, &args);
        }
    }
    machine_release(&machine, input), machine_release(&machine, output), machine_release(&machine, more);
    machine_release(&machine, numbers);
    machine_close(&machine);
}

/* One call on a tensor of `list` elements for each line of input: the seconds of each are a line of output. */
static void take_turns(const struct options *options) {
    struct machine machine;
    const struct plan plan = operation_open(&machine, options, QUERN_QUANTIZE);
    const int64_t count = options->list ? strtoll(options->list, NULL, 10) : 0;
    const bool is_wide = options->dtypes && strcmp(options->dtypes, "e5m2") == 0;
    if (count < 1 || count > INT32_MAX || !options->dtypes || (!is_wide && strcmp(options->dtypes, "e4m3") != 0))
        refuse("--list and --dtypes: expected a number of elements, and e4m3 or e5m2");
    quern_quantize_tensor tensor = {.input = values_create(&machine, QUERN_BF16, count, (struct value_range){-3, 3, true}),
                                    .output = bytes_create(&machine, count, 0), .count = count};
    float *numbers = machine_allocate(&machine, 3 * sizeof(float));
    if (!tensor.input || !tensor.output || !numbers) machine_fail("not enough memory");
    quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT;
    args.input_dtype = QUERN_BF16, args.output_dtype = is_wide ? QUERN_E5M2 : QUERN_E4M3;
    args.amax = numbers, args.scale = numbers + 1, args.scale_inv = numbers + 2;
    args.tensors = &tensor, args.tensor_count = 1;
    if (!machine_set_threads(&machine, plan.threads[0])) exit(EXIT_FAILURE);
    struct subject_of_call subject = open_call(&machine, &args);
    for (char turn[8]; fgets(turn, sizeof turn, stdin);) {
        machine_mark(&machine, 0);
        run_call(&subject);
        machine_mark(&machine, 1);
        printf("%.6g\n", machine_seconds(&machine, 0, 1));
        fflush(stdout);
    }
    machine_close(&machine);
}

static void run(const struct options *options) {
    if (options->list || options->dtypes) take_turns(options);
    else run_cases(options);
}

static void test_cases(void) {
    check("the small tensors fit into the large one", MOST_TENSORS * small_counts[1] <= LARGE, true);
    check("likewise of quick cases", 100 * small_counts[1] <= QUICK, true);
}

const struct subject quantize_subject = {"quantize", "casts to FP8 beside a loop, and many small tensors at once", run,
                                         test_cases};
