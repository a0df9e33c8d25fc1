/*
 * The dump: inputs before and outputs after each call, the index, what is left out, errors, threads.
 *
 * Runs on: one cpu, one emulated, gpu.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "harness/cuda.h"
#include "harness/look_bench.h"
#include "harness/looking.h"
#include "look/look.h"
#include "oracle/adam.h"
#include "runtime/preferred.h"

static const int64_t STEP = ((int64_t)7 << 32) + 5;

#define INDEX "index.jsonl"

/* The path is that of the dump's folder. */
static void open_bench(struct bench *bench) { bench_open(bench, "run"); }
#define TEST_BENCH(suite, name) TEST_IN(struct bench, bench, open_bench, bench_close, suite, name)

static quern_dump_args dump_args(const struct bench *bench) {
    return (quern_dump_args)DUMP_ARGS(.folder = bench->path, .step = STEP);
}

static void begin_dump(struct bench *bench) {
    const quern_dump_args args = dump_args(bench);
    check_ok(quern_dump_at(bench->device.quern, &args));
    check_ok(quern_step(bench->device.quern, STEP));
}

static char *read_index(const struct bench *bench) {
    char *text = read_text(path_in(bench->path, INDEX), NULL);
    check(text, "no index");
    return text;
}

static int lines_of(const char *index) { return count_lines(index, "\"sequence\":", ""); }

/* ---- contents ---- */

static void check_arena(const char *path, const char *name, const char *dtype, const char *shape, const void *expected) {
    size_t bytes;
    SCOPED void *data = read_tensor(path, name, dtype, shape, &bytes);
    check(!memcmp(data, expected, bytes), "%s has another %s", path, name);
}

/* What Adam reads is as before the step, and what it writes as after it: that of the model. */
TEST_BENCH(dump, inputs_are_from_before_and_outputs_from_after) {
    begin_dump(bench);
    check_ok(bench_step(bench));
    const char *in = path_in(bench->path, "000000.adam.in.safetensors"), *out = path_in(bench->path, "000000.adam.out.safetensors");
    const quern_adam_tensor *tensors = bench->problem.tensors;
    check_arena(in, "grad.0", "BF16", "[700]", tensors[0].grad);
    check_arena(in, "m.1", "BF16", "[33]", tensors[1].m);
    check_arena(in, "master.0", "F32", "[700]", tensors[0].master);
    adam_model_step(&bench->problem.args);
    check_arena(out, "param.0", "BF16", "[700]", tensors[0].param);
    check_arena(out, "param.1", "BF16", "[33]", tensors[1].param);
    check_arena(out, "v.1", "BF16", "[33]", tensors[1].v);
    check_arena(out, "master.0", "F32", "[700]", tensors[0].master);
    char *index = read_index(bench), *line = find_line(index, "\"operation\":\"adam\"", "\"sequence\":0,\"step\":30064771077", 0);
    check(lines_of(index) == 1 && count_files(bench->path) == 3, "%d files, index %s", count_files(bench->path), index);
    check(strstr(line, "\"status\":\"QUERN_OK\"") && strstr(line, "\"param_dtype\":\"bf16\""), "%s", line);
    check(strstr(line, "\"beta1\":0.9"), "%s", line);
    check(strstr(line, bench->device.kind == QUERN_CPU ? "\"device\":\"cpu\"" : "\"device\":\"cuda:0\""), "%s", line);
    check(strstr(line, "adam_pbf16_gbf16_mbf16_vbf16_master32__"), "no kernel in %s", line);
    check(!strstr(line, "\"name\":\"param.0\",\"access\":\"in\""), "with a master the parameter is not read: %s", line);
    check_ok(quern_step(bench->device.quern, STEP + 1));
}

/* Rows with gaps, a vector from its end to its beginning, and more than a piece of device memory. */
TEST_BENCH(dump, matrices_are_written_without_gaps) {
    enum { ROWS = 3, VOCAB = 40, STRIDE = 47 };
    struct buffer logits, labels, grad, upstream, loss, workspace;
    float values[ROWS * STRIDE], factors[ROWS] = {1, 2, 3};
    int32_t wanted[ROWS] = {0, 1, 2};
    size_t bytes;
    for (int i = 0; i < ROWS * STRIDE; i++) values[i] = (float)i * 0.01f;
    buffer_open(&logits, &bench->device, sizeof values, 0, values);
    buffer_open(&grad, &bench->device, sizeof values, 0, values);
    buffer_open(&labels, &bench->device, sizeof wanted, 0, wanted);
    buffer_open(&upstream, &bench->device, sizeof factors, 0, factors);
    buffer_open(&loss, &bench->device, sizeof factors, 0, factors);
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_F32, args.labels_dtype = QUERN_INT32, args.rows = ROWS, args.vocab = VOCAB;
    args.logits = logits.data, args.logits_stride = STRIDE, args.labels = labels.data, args.loss = loss.data;
    args.grad = grad.data, args.grad_stride = STRIDE, args.padded_vocab = VOCAB + 2;
    args.grad_loss = (float *)upstream.data + ROWS - 1, args.grad_loss_stride = -1;
    check_ok(quern_cross_entropy_workspace(bench->device.quern, &args, &bytes));
    buffer_open(&workspace, &bench->device, bytes, 0, NULL);
    begin_dump(bench);
    check_ok(quern_cross_entropy(bench->device.quern, &args, workspace.data, bytes, bench->device.stream));
    const char *in = path_in(bench->path, "000000.cross_entropy.in.safetensors");
    const char *out = path_in(bench->path, "000000.cross_entropy.out.safetensors");
    const float *written = read_tensor(in, "logits", "F32", "[3,40]", NULL);
    for (int i = 0; i < ROWS * VOCAB; i++)
        check(written[i] == values[i / VOCAB * STRIDE + i % VOCAB], "logit %d is %g", i, (double)written[i]);
    const float *reversed = read_tensor(in, "grad_loss", "F32", "[3,1]", NULL);
    check(reversed[0] == 3 && reversed[1] == 2 && reversed[2] == 1, "grad_loss begins with %g", (double)reversed[0]);
    const float *gradient = read_tensor(out, "grad", "F32", "[3,42]", NULL), *on_device = buffer_read(&grad);
    for (int row = 0; row < ROWS; row++)
        check(!memcmp(&gradient[row * 42], &on_device[row * STRIDE], 42 * sizeof *gradient), "another gradient in row %d", row);
    check(!memcmp(read_tensor(out, "loss", "F32", "[3]", NULL), buffer_read(&loss), sizeof factors), "another loss");
}

/* Larger than the piece that is read from a GPU at a time, dense and with gaps. */
TEST_BENCH(dump, long_tensors_are_read_in_pieces) {
    enum { ROWS = 300, VOCAB = 5000, STRIDE = 5003 };
    struct buffer logits, labels, loss, workspace;
    float *values = malloc((size_t)ROWS * STRIDE * sizeof *values), none = 0;
    int64_t wanted[ROWS] = {0};
    size_t bytes;
    for (int i = 0; i < ROWS * STRIDE; i++) values[i] = (float)(i % 1009) * 0.001f;
    buffer_open(&logits, &bench->device, (size_t)ROWS * STRIDE * sizeof *values, 0, values);
    buffer_open(&labels, &bench->device, sizeof wanted, 0, wanted);
    buffer_open(&loss, &bench->device, sizeof none, 0, &none);
    for (int gaps = 0; gaps < 2; gaps++) {
        quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
        args.logits_dtype = QUERN_F32, args.labels_dtype = QUERN_INT64, args.rows = test_size(ROWS, 220), args.vocab = VOCAB;
        args.reduction = QUERN_REDUCTION_SUM;
        args.logits = logits.data, args.logits_stride = gaps ? STRIDE : VOCAB, args.labels = labels.data, args.loss = loss.data;
        check_ok(quern_cross_entropy_workspace(bench->device.quern, &args, &bytes));
        buffer_open(&workspace, &bench->device, bytes, 0, NULL);
        strcpy(bench->path, path_in(bench->folder, gaps ? "gaps" : "dense"));
        begin_dump(bench);
        check_ok(quern_cross_entropy(bench->device.quern, &args, workspace.data, bytes, bench->device.stream));
        char shape[32];
        snprintf(shape, sizeof shape, "[%d,%d]", (int)args.rows, VOCAB);
        const float *written = read_tensor(path_in(bench->path, "000000.cross_entropy.in.safetensors"), "logits", "F32", shape,
                                           NULL);
        for (int row = 0; row < (int)args.rows; row++)
            check(!memcmp(&written[row * VOCAB], &values[row * args.logits_stride], VOCAB * sizeof *values), "row %d differs", row);
        buffer_close(&workspace);
    }
}

/* ---- launches ---- */

/* The clock of the library: each reading is a microsecond after the one before. */
int64_t __wrap_quern_now(void);
int64_t __wrap_quern_now(void) {
    static int64_t now;
    return __atomic_add_fetch(&now, 1000, __ATOMIC_RELAXED);
}

static const struct quern_kernel *kernel_in(const char *line) {
    char part[128];
    for (const struct quern_kernel *row = quern_adam_kernels; *row->name; row++) {
        snprintf(part, sizeof part, "\"launches\":[{\"kernel\":\"%s\",", row->name);
        if (strstr(line, part)) return row;
    }
    cr_assert_fail("no launch of a kernel in %s", line);
    return NULL;
}

/* A kernel with its digest and its bits; how it was launched; on a GPU its time by events, on a CPU the call's. */
TEST_BENCH(dump, launches_name_their_kernels) {
    const bool is_cpu = test_kind() == QUERN_CPU;
    char expected[300], digest[QUERN_DIGEST_TEXT];
    begin_dump(bench);
    check_ok(bench_step(bench));
    char *line = find_line(read_index(bench), "\"operation\":\"adam\"", "QUERN_OK", 0);
    const struct quern_kernel *row = kernel_in(line);
    quern_row_digest(row, digest);
    const int length = snprintf(expected, sizeof expected, "\"%s\",\"digest\":\"%s\",\"task\":0,\"bits\":\"exact\",", row->name,
                                digest);
    if (is_cpu) snprintf(expected + length, sizeof expected - (size_t)length, "\"threads\":%d,\"nanoseconds\":1000}],",
                         info_of(bench->device.quern).multiprocessors);
    else snprintf(expected + length, sizeof expected - (size_t)length, "\"grid\":[");
    check(strstr(line, expected), "expected %s in %s", expected, line);
    snprintf(expected, sizeof expected, ",1,1],\"block\":[%u,1,1],\"shared_bytes\":0,\"nanoseconds\":", row->cuda.threads);
    check(is_cpu || (strstr(line, expected) && number_in(line, expected) >= 0), "expected %s in %s", expected, line);
    snprintf(expected, sizeof expected, "\"device_name\":\"%s\",", info_of(bench->device.quern).name);
    check(strstr(line, expected) && count_lines(line, "\"kernel\":", "") == 1, "expected %s in %s", expected, line);
}

/* A call of two kernels has a time for each on a GPU.  On a CPU they are not known apart. */
TEST_BENCH(dump, launches_of_two_kernels) {
    static const float values[64] = {1, 2, 3};
    struct buffer input, output, scales;
    buffer_open(&input, &bench->device, sizeof values, 0, values);
    buffer_open(&output, &bench->device, sizeof values / 4, 0, NULL);
    buffer_open(&scales, &bench->device, 3 * sizeof *values, 0, NULL);
    float *const numbers = scales.data;
    const quern_quantize_tensor tensor = {.input = input.data, .output = output.data, .count = COUNT(values)};
    quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT;
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3, args.tensors = &tensor, args.tensor_count = 1;
    args.amax = numbers, args.scale = numbers + 1, args.scale_inv = numbers + 2;
    size_t bytes;
    struct buffer workspace;
    check_ok(quern_prepare(bench->device.quern, QUERN_QUANTIZE));
    check_ok(quern_quantize_workspace(bench->device.quern, &args, &bytes));
    buffer_open(&workspace, &bench->device, bytes + 1, 0, NULL);
    begin_dump(bench);
    check_ok(quern_quantize(bench->device.quern, &args, workspace.data, bytes, bench->device.stream));
    char *line = find_line(read_index(bench), "\"operation\":\"quantize\"", "QUERN_OK", 0);
    const char *amax = strstr(line, "{\"kernel\":\"quantize_amax_f32__"), *cast = strstr(line, "{\"kernel\":\"quantize_f32_e4m3__");
    check(amax && cast && strstr(line, "\"task\":1,\"bits\":\"exact\""), "%s", line);
    if (test_kind() == QUERN_CPU) check(!strstr(line, "nanoseconds"), "%s", line);
    else check(number_in(amax, "\"nanoseconds\":") >= 0 && number_in(cast, "\"nanoseconds\":") >= 0, "%s", line);
}

/* A trace beside the dump notes the same launches. */
TEST_BENCH(dump, launches_of_a_call_that_is_traced) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("kernels of a CPU are not launched");
    begin_dump(bench);
    for (int i = 0; i < 3; i++) {
        if (i == 1) check_ok(quern_trace_begin(path_in(bench->folder, "trace.json")));
        check_ok(bench_step(bench));
        if (i == 1) check_ok(quern_trace_end());
        check(number_in(find_line(read_index(bench), "\"sequence\":", "", i), "\"nanoseconds\":") >= 0, "no time");
    }
    const char *trace = read_text(path_in(bench->folder, "trace.json"), NULL);
    check(count_lines(trace, "\"cat\":\"kernel\"", "\"dur\":") == 1, "%s", trace);
}

/* ---- which calls ---- */

TEST_BENCH(dump, only_the_step_is_written) {
    const quern_dump_args args = dump_args(bench);
    check_ok(quern_dump_at(bench->device.quern, &args));
    check_ok(bench_step(bench));  /* no step has begun */
    const int64_t steps[] = {STEP - 1, STEP & UINT32_MAX, STEP, STEP + 1};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        check_ok(quern_step(bench->device.quern, steps[i]));
        check_ok(bench_step(bench));
        check_ok(bench_step(bench));
    }
    char *index = read_index(bench);
    const int lines = lines_of(index), files = count_files(bench->path);
    check(lines == 2 && files == 5, "%d lines and %d files", lines, files);
    find_line(index, "\"sequence\":1", "000001.adam.out.safetensors", 0);
}

TEST_BENCH(dump, a_step_that_has_begun_is_written) {
    check_ok(quern_step(bench->device.quern, STEP));
    const quern_dump_args args = dump_args(bench);
    check_ok(quern_dump_at(bench->device.quern, &args));
    check_ok(bench_step(bench));
    check(lines_of(read_index(bench)) == 1, "no call was written");
    check_ok(quern_dump_at(bench->device.quern, NULL));
    for (int again = 0; again < 2; again++) {
        check_ok(bench_step(bench));
        check(lines_of(read_index(bench)) == 1, "a call was written after the end");
        check_ok(quern_dump_at(bench->device.quern, NULL));
        check_ok(quern_step(bench->device.quern, STEP));
    }
}

/* The next dump ends the one before, also if its step comes again. */
TEST_BENCH(dump, one_after_another) {
    for (int i = 0; i < 3; i++) {
        snprintf(bench->path, sizeof bench->path, "%s", path_in(bench->folder, (const char *[]){"first", "second", "third"}[i]));
        begin_dump(bench);
        for (int call = 0; call <= i; call++) check_ok(bench_step(bench));
    }
    for (int i = 0; i < 3; i++) {
        snprintf(bench->path, sizeof bench->path, "%s", path_in(bench->folder, (const char *[]){"first", "second", "third"}[i]));
        check(lines_of(read_index(bench)) == i + 1, "dump %d has %d lines", i, lines_of(read_index(bench)));
    }
}

Test(dump, the_filter_is_a_glob_over_operations) {
    static const struct {
        const char *filter;
        int calls;
    } cases[] = {{"adam", 1}, {"a*", 1}, {"cross_entropy*", 0}, {"*", 1}, {"ada", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench bench CLOSED_BY(bench_close);
        open_bench(&bench);
        quern_dump_args args = dump_args(&bench);
        char filter[32];
        args.filter = strcpy(filter, cases[i].filter);
        check_ok(quern_dump_at(bench.device.quern, &args));
        memset(filter, 'x', sizeof filter);  /* it was copied */
        check_ok(quern_step(bench.device.quern, STEP));
        check_ok(bench_step(&bench));
        check(lines_of(read_index(&bench)) == cases[i].calls, "%s: another number of calls", cases[i].filter);
    }
}

/* A call that is refused has a line with the detail, and no files. */
TEST_BENCH(dump, a_call_that_fails_has_a_line) {
    begin_dump(bench);
    bench->adam.args.step = -7;
    check_status(bench_step(bench), QUERN_INVALID_ARGUMENT);
    char *line = find_line(read_index(bench), "QUERN_INVALID_ARGUMENT", "", 0);
    check(strstr(line, "args.step is -7") && strstr(line, "\"launches\":[]") && strstr(line, "\"tensors\":[]"), "%s", line);
    check(count_files(bench->path) == 1, "%d files", count_files(bench->path));
}

/* ---- what is left out ---- */

/* Gradients and moments have 2 bytes an element: those of the first tensor fit, what comes then does not, unless it is smaller. */
TEST_BENCH(dump, what_does_not_fit_is_left_out) {
    quern_dump_args args = dump_args(bench);
    args.most_bytes = 2 * LOOK_COUNT + 2 * LOOK_LAST;
    check_ok(quern_dump_at(bench->device.quern, &args));
    check_ok(quern_step(bench->device.quern, STEP));
    check_ok(bench_step(bench));
    char *line = find_line(read_index(bench), "adam", "", 0);
    check(strstr(line, "\"m.0\",\"access\":\"in\",\"dtype\":\"BF16\",\"shape\":[700],\"left_out\":\"most_bytes\""), "%s", line);
    free(read_tensor(path_in(bench->path, "000000.adam.in.safetensors"), "grad.0", "BF16", "[700]", NULL));
    free(read_tensor(path_in(bench->path, "000000.adam.in.safetensors"), "grad.1", "BF16", "[33]", NULL));
    check(count_files(bench->path) == 2, "%d files: expected no outputs", count_files(bench->path));
    check_ok(quern_step(bench->device.quern, STEP + 1));
}

TEST_BENCH(dump, a_capture_is_left_out) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("streams belong to GPUs");
    device_synchronize(&bench->device);
    begin_dump(bench);
    cuda_begin_capture(bench->device.stream);
    check_ok(bench_step(bench));
    CUDA(cuGraphExecDestroy(cuda_end_capture(bench->device.stream)));
    char *line = find_line(read_index(bench), "\"captured\":true", "adam", 0);
    check(strstr(line, "\"left_out\":\"captured\"") && !strstr(line, "\"file\""), "%s", line);
    check(strstr(line, "\"grid\":[") && !strstr(line, "nanoseconds"), "%s", line);
    check(count_files(bench->path) == 1, "%d files", count_files(bench->path));
    check_ok(quern_step(bench->device.quern, STEP + 1));
}

/* The weights are in every rank's arguments, but this step does not read them. */
TEST_BENCH(dump, a_combination_ignores_the_class_weights) {
    if (test_kind() != QUERN_CPU) cr_skip_test("the buffers are the host's");
    enum { ROWS = 4, SHARDS = 2, VOCAB = 8, WORKSPACE = 1 << 16 };
    static const quern_row_stats shards[SHARDS * ROWS];
    static const int32_t labels[ROWS];
    float loss[ROWS];
    begin_dump(bench);
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_F32, args.labels_dtype = QUERN_INT32, args.rows = ROWS, args.vocab = VOCAB;
    args.global_vocab = SHARDS * VOCAB, args.labels = labels, args.loss = loss;
    args.class_weights = (const float *)(uintptr_t)64;   /* no memory */
    SCOPED void *workspace = aligned_alloc(64, WORKSPACE);
    check_ok(quern_cross_entropy_combine(bench->device.quern, &args, shards, SHARDS, workspace, WORKSPACE, NULL));
    char *line = find_line(read_index(bench), "cross_entropy_combine", "QUERN_OK", 0);
    check(strstr(line, "\"labels\"") && !strstr(line, "class_weights\",\"access"), "%s", line);
}

/* A call without rows reads no number for all rows. */
TEST_BENCH(dump, no_rows_have_no_upstream_gradient) {
    if (test_kind() != QUERN_CPU) cr_skip_test("the buffers are the host's");
    enum { VOCAB = 8, WORKSPACE = 1 << 16 };
    float loss;
    begin_dump(bench);
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = args.grad_dtype = QUERN_F32, args.labels_dtype = QUERN_INT32, args.vocab = VOCAB;
    args.reduction = QUERN_REDUCTION_SUM, args.loss = &loss;
    args.grad = (void *)(uintptr_t)64, args.grad_loss = args.grad;   /* no memory */
    SCOPED void *workspace = aligned_alloc(64, WORKSPACE);
    check_ok(quern_cross_entropy(bench->device.quern, &args, workspace, WORKSPACE, NULL));
    find_line(read_index(bench), "cross_entropy", "QUERN_OK", 0);
}

/* A child of fork has the device, but the folder is its parent's. */
TEST_BENCH(dump, a_child_of_fork_writes_nothing) {
    if (test_kind() != QUERN_CPU) cr_skip_test("a GPU does not work in a child");
    int status;
    begin_dump(bench);
    check_ok(bench_step(bench));
    const pid_t child = fork();
    if (child == 0) {
        quern_dump_args own = dump_args(bench);
        bool right = bench_step(bench) == QUERN_OK;
        own.folder = path_in(bench->folder, "child");
        right = right && quern_dump_at(bench->device.quern, &own) == QUERN_OK && bench_step(bench) == QUERN_OK;
        _exit(right ? 0 : 1);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    check(lines_of(read_index(bench)) == 1 && count_files(bench->path) == 3, "%s", read_index(bench));
    strcpy(bench->path, path_in(bench->folder, "child"));
    check(lines_of(read_index(bench)) == 1 && count_files(bench->path) == 3, "%s", read_index(bench));
}

/* ---- errors ---- */

static void refuse_dump(struct bench *bench, const quern_dump_args *args, quern_status status, const char *detail) {
    check_refused(quern_dump_at(bench->device.quern, args), status, detail);
}

TEST_BENCH(dump, wrong_arguments_are_refused) {
    quern_dump_args args = dump_args(bench);
    args.folder = NULL;
    refuse_dump(bench, &args, QUERN_NULL_POINTER, "args.folder is NULL");
    args.folder = "";
    refuse_dump(bench, &args, QUERN_INVALID_ARGUMENT, "args.folder is empty");
    args = dump_args(bench), args.filter = "";
    refuse_dump(bench, &args, QUERN_INVALID_ARGUMENT, "args.filter is empty");
    args = dump_args(bench), args.most_bytes = -1;
    refuse_dump(bench, &args, QUERN_INVALID_SHAPE, "args.most_bytes is -1");
    args = dump_args(bench), args.size = sizeof args;
    refuse_dump(bench, &args, QUERN_INVALID_STRUCT_SIZE, "quern_dump_args.size");
    args = dump_args(bench), args.folder = path_in(bench->folder, "none/run");
    refuse_dump(bench, &args, QUERN_SYSTEM_ERROR, strerror(ENOENT));
    fclose(fopen(path_in(bench->folder, "file"), "w"));
    args.folder = path_in(bench->folder, "file");
    refuse_dump(bench, &args, QUERN_SYSTEM_ERROR, strerror(ENOTDIR));
    args = dump_args(bench);
    check_ok(quern_dump_at(bench->device.quern, &args));
    refuse_dump(bench, &args, QUERN_INVALID_ARGUMENT, "has an index.jsonl");
}

/* The call goes on and is right; the error comes with the next step, once. */
static void check_failed_step(struct bench *bench, const char *reason) {
    struct adam_problem got CLOSED_BY(adam_free);
    check_refused(quern_step(bench->device.quern, STEP + 1), QUERN_SYSTEM_ERROR, reason);
    check_ok(quern_step(bench->device.quern, STEP + 2));
    adam_copy(&got, &bench->problem);
    adam_session_read(&bench->adam, &got);
    adam_model_step(&bench->problem.args);
    adam_check_same(&got, &bench->problem, "a step that could not be written");
}

TEST_BENCH(dump, a_limit_on_files_is_told_by_the_next_step) {
    struct rlimit limit;
    begin_dump(bench);
    getrlimit(RLIMIT_FSIZE, &limit);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, limit.rlim_max});
    const quern_status status = bench_step(bench);
    setrlimit(RLIMIT_FSIZE, &limit);
    check_status(status, QUERN_OK);
    check(count_files(bench->path) == 1, "%d files: expected the index alone", count_files(bench->path));
    check_failed_step(bench, strerror(EFBIG));
    check(lines_of(read_index(bench)) == 0, "a line that does not fit was written in part");
}

TEST_BENCH(dump, a_folder_that_is_removed_is_told_by_the_next_step) {
    begin_dump(bench);
    unlink(path_in(bench->path, INDEX));
    rmdir(bench->path);
    check_ok(bench_step(bench));
    check_failed_step(bench, strerror(ENOENT));
}

/* Nothing but the error: the index has the call, and says which tensors are missing. */
TEST_BENCH(dump, files_that_cannot_be_written_are_in_the_index) {
    begin_dump(bench);
    check(mkdir(path_in(bench->path, "000000.adam.in.safetensors"), 0777) == 0, "no folder in the way");
    check_ok(bench_step(bench));
    char *line = find_line(read_index(bench), "adam", "", 0);
    check(strstr(line, "\"grad.0\",\"access\":\"in\",\"dtype\":\"BF16\",\"shape\":[700],\"left_out\":\"error\""), "%s", line);
    free(read_tensor(path_in(bench->path, "000000.adam.out.safetensors"), "param.0", "BF16", "[700]", NULL));
    check_failed_step(bench, strerror(EISDIR));
}

/* The index and what was put in its place stay as they are. */
TEST_BENCH(dump, no_line_goes_through_a_link) {
    begin_dump(bench);
    fclose(fopen(path_in(bench->folder, "other"), "w"));
    check(unlink(path_in(bench->path, INDEX)) == 0 && symlink("../other", path_in(bench->path, INDEX)) == 0, "no link in the way");
    check_ok(bench_step(bench));
    check_failed_step(bench, strerror(ELOOP));
    check(!*read_text(path_in(bench->folder, "other"), NULL), "a line is in another file");
}

/* Readers of safetensors refuse a longer one. */
TEST_BENCH(dump, a_header_has_a_limit) {
    begin_dump(bench);
    quern_most_header = 100;
    check_ok(bench_step(bench));
    find_line(read_index(bench), "adam", "\"left_out\":\"error\"", 0);
    check(count_files(bench->path) == 1, "%d files: expected the index alone", count_files(bench->path));
    check_failed_step(bench, strerror(EFBIG));
}

TEST_BENCH(dump, the_first_of_several_errors_is_told) {
    begin_dump(bench);
    check(mkdir(path_in(bench->path, "000000.adam.in.safetensors"), 0777) == 0, "no folder in the way");
    unlink(path_in(bench->path, INDEX));
    check_ok(bench_step(bench));
    check_failed_step(bench, strerror(EISDIR));
}

/* The driver fails at each call that the dump makes: the operation is as without it, and quern_step tells the whole reason. */
TEST_BENCH(dump, failures_of_the_driver_do_not_harm_the_call) {
    if (test_kind() != QUERN_CUDA || !cuda_is_emulated()) cr_skip_test("only the emulator fails on demand");
    int told = 0;
    for (long number = 1; number < 100; number++) {
        char run[32];
        snprintf(run, sizeof run, "run%ld", number);
        strcpy(bench->path, path_in(bench->folder, run));
        begin_dump(bench);
        device_synchronize(&bench->device);
        cuda_fail_call(number, CUDA_ERROR_DEVICE_UNAVAILABLE);  /* the longest text */
        const quern_status status = bench_step(bench);
        const long calls = cuda_calls();
        cuda_fail_call(0, 0);
        const quern_status after = quern_step(bench->device.quern, STEP + 1);
        check(status == QUERN_OK || number <= calls, "call %ld of %ld: %s", number, calls, error_detail());
        const char *end = strstr(error_detail(), "no memory or no driver") ? "driver" : "it serves none (compute mode)";
        check(after == QUERN_OK || (after == QUERN_SYSTEM_ERROR && strstr(error_detail(), end)), "%s", error_detail());
        told += status == QUERN_OK && after == QUERN_SYSTEM_ERROR;
        if (number > calls) {
            check(after == QUERN_OK, "%s", error_detail());
            break;
        }
    }
    check(told >= 4, "only %d failures were told", told);
}

/* ---- threads ---- */

enum { THREADS = 4, CALLS = 20 };

static void *take_steps(void *context) {
    struct bench *bench = context;
    for (int i = 0; i < CALLS; i++) check_ok(bench_step(bench));
    return NULL;
}

/* Threads with a device each, and lists of their own, that write to one folder each and to one device. */
Test(dump, threads_write_at_once) {
    static struct bench benches[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        open_bench(&benches[i]);
        if (i) benches[i].device.quern = benches[0].device.quern;  /* the first device has all calls */
    }
    begin_dump(&benches[0]);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, take_steps, &benches[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    check_ok(quern_step(benches[0].device.quern, STEP + 1));
    char *index = read_index(&benches[0]);
    check(lines_of(index) == THREADS * CALLS, "%d lines", lines_of(index));
    for (int i = 0; i < THREADS * CALLS; i++) {
        char sequence[32];
        snprintf(sequence, sizeof sequence, "\"sequence\":%d,", i);
        check(count_lines(index, sequence, "QUERN_OK") == 1, "no call %d", i);
    }
    check(count_files(benches[0].path) == 1 + 2 * THREADS * CALLS, "%d files", count_files(benches[0].path));
    for (int i = 0; i < THREADS; i++) drop_folder(benches[i].folder);
}
