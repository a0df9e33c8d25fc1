/*
 * The trace: events of calls, kernels and steps; errors; what does not fit; threads; captures.
 *
 * Runs on: one cpu, one emulated, gpu.
 */
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/cross_entropy_case.h"
#include "harness/cuda.h"
#include "harness/look_bench.h"
#include "harness/looking.h"
#include "look/look.h"

/* A step reads 2 bytes of gradient, 4 of moments and 4 of master, and writes 4, 4 and 2 of parameter. */
enum { BYTES_OF_ELEMENT = 20 };

static void open_bench(struct bench *bench) { bench_open(bench, "trace.json"); }
#define TEST_BENCH(suite, name) TEST_IN(struct bench, bench, open_bench, bench_close, suite, name)

/* Microseconds of the clock of traces. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static char *read_trace(const struct bench *bench) {
    char *text = read_text(bench->path, NULL);
    check(text, "no trace");
    check(count_files(bench->folder) == 1, "%d files beside the trace", count_files(bench->folder) - 1);
    return text;
}

/* ---- calls ---- */

/* The time of a call is within that of the caller, and the bytes are those of the tensors that the step reads and writes. */
static void check_call(const char *line, double before, double after, const char *kernel) {
    const double begin = number_in(line, "\"ts\":"), lasted = number_in(line, "\"dur\":");
    check(before <= begin && begin + lasted <= after + 1e-3, "the call is from %f for %f: expected from %f to %f", begin, lasted,
          before, after);
    check(strstr(line, kernel), "no kernel %s in %s", kernel, line);
    check(strstr(line, "\"status\":\"QUERN_OK\""), "%s", line);
    check(number_in(line, "\"bytes\":") == (double)BYTES_OF_ELEMENT * (LOOK_COUNT + LOOK_LAST), "%s", line);
}

TEST_BENCH(trace, calls_and_steps_have_events) {
    check_ok(bench_step(bench));
    const double before = now();
    check_ok(quern_trace_begin(bench->path));
    check_ok(quern_step(bench->device.quern, 41));
    check_ok(bench_step(bench));
    const double after = now();
    bench->adam.args.step = -1;
    bench->adam.args.control.step = NULL;
    check_status(bench_step(bench), QUERN_INVALID_ARGUMENT);
    device_synchronize(&bench->device);
    check_ok(quern_trace_end());
    check(bench_step(bench) != QUERN_OK, "a wrong step");
    char *text = read_trace(bench);
    check(count_lines(text, "\"cat\":\"operation\"", "\"name\":\"adam\"") == 2, "%s", text);
    char *call = find_line(text, "\"cat\":\"operation\"", "QUERN_OK", 0), *step = find_line(text, "\"cat\":\"step\"", "", 0);
    check_call(call, before, after, "\"kernels\":[\"adam_pbf16_gbf16_mbf16_vbf16_master32__");
    find_line(text, "\"cat\":\"operation\"", "QUERN_INVALID_ARGUMENT", 0);
    check(number_in(step, "\"step\":") == 41 && number_in(step, "\"ts\":") >= before, "%s", step);
    find_line(text, "\"name\":\"thread_name\"", "", 0);
    find_line(text, "\"events_left_out\":0", "", 0);
}

/* The device, the thread and the process of a call. */
TEST_BENCH(trace, events_name_their_origin) {
    char device[32];
    check_ok(quern_trace_begin(bench->path));
    check_ok(bench_step(bench));
    check_ok(quern_trace_end());
    char *text = read_trace(bench), *call = find_line(text, "\"cat\":\"operation\"", "", 0);
    snprintf(device, sizeof device, "\"device\":\"%s\"", test_kind() == QUERN_CPU ? "cpu" : "cuda:0");
    check(strstr(call, device), "no %s in %s", device, call);
    check(number_in(call, "\"pid\":") == (double)getpid() && number_in(call, "\"tid\":") == (double)gettid(), "%s", call);
}

/* ---- calls within calls ---- */

/* A matrix product that is a step of Adam, too; and ends the trace and begins another one. */
struct nested {
    struct bench *bench;
    int products;
    bool changes;
};

static quern_status multiply(void *context, const quern_gemm_args *product, UNUSED void *stream) {
    struct nested *nested = context;
    memset(product->c, 0, (size_t)(product->m * product->n) * quern_dtype_bytes(product->c_dtype));
    check_ok(bench_step(nested->bench));
    check(!strcmp(quern_current_look()->view->name, "linear_cross_entropy"), "the thread is in %s",
          quern_current_look()->view->name);
    nested->products++;
    if (!nested->changes) return QUERN_OK;
    check_ok(quern_trace_end());
    check_ok(quern_trace_begin(nested->bench->path));
    return QUERN_OK;
}

static char *trace_nested(struct bench *bench, bool changes) {
    enum { ROWS = 2, WIDTH = 3, VOCAB = 5 };
    static const float hidden[ROWS * WIDTH], weight[VOCAB * WIDTH];
    static const int32_t labels[ROWS] = {1, 2};
    struct nested nested = {.bench = bench, .changes = changes};
    float loss;
    size_t bytes;
    quern_linear_cross_entropy_args args = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    args.hidden_dtype = args.weight_dtype = args.loss.logits_dtype = QUERN_F32, args.loss.labels_dtype = QUERN_INT32;
    args.loss.rows = ROWS, args.loss.vocab = VOCAB, args.width = WIDTH, args.loss.reduction = QUERN_REDUCTION_SUM;
    args.hidden = hidden, args.weight = weight, args.loss.labels = labels, args.loss.loss = &loss;
    args.gemm = multiply, args.gemm_user = &nested;
    check_ok(quern_linear_cross_entropy_workspace(bench->device.quern, &args, &bytes));
    void *workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
    check_ok(quern_trace_begin(bench->path));
    check_ok(quern_linear_cross_entropy(bench->device.quern, &args, workspace, bytes, NULL));
    check_ok(quern_trace_end());
    check(nested.products == 1, "%d products", nested.products);
    check(!quern_current_look(), "the thread is in a call that has ended");
    free(workspace);
    return read_trace(bench);
}

TEST_BENCH(trace, calls_within_calls_have_their_own_kernels) {
    if (test_kind() != QUERN_CPU) cr_skip_test("the product is one of a CPU");
    char *text = trace_nested(bench, false), *inner = find_line(text, "\"name\":\"adam\"", "", 0);
    char *outer = find_line(text, "\"name\":\"linear_cross_entropy\"", "", 0);
    check(strstr(inner, "[\"adam_") && !strstr(inner, "cross_entropy"), "%s", inner);
    check(strstr(outer, "[\"cross_entropy_f32__") && !strstr(outer, "adam"), "%s", outer);
}

/* A call belongs to the trace in which it began. */
TEST_BENCH(trace, a_call_that_outlives_its_trace_is_left_out) {
    if (test_kind() != QUERN_CPU) cr_skip_test("the product is one of a CPU");
    char *text = trace_nested(bench, true);
    check(count_lines(text, "\"cat\":\"operation\"", "") == 0, "%s", text);
}

/* A second trace begins empty. */
TEST_BENCH(trace, traces_follow_each_other) {
    for (int round = 1; round <= 3; round++) {
        check_ok(quern_trace_begin(bench->path));
        for (int i = 0; i < round; i++) check_ok(bench_step(bench));
        check_ok(quern_trace_end());
        SCOPED char *text = read_trace(bench);
        check(count_lines(text, "\"cat\":\"operation\"", "adam") == round, "round %d: %s", round, text);
    }
}

enum { LIMIT = 60 };   /* seconds, after which what hangs has failed */

static bool has_status(quern_status status, quern_status expected) { return status == expected; }

/* Fails to begin a trace, begins one, and notes a step before and within it. */
static bool trace_in_child(struct bench *bench, const char *path) {
    return has_status(quern_trace_end(), QUERN_INVALID_ARGUMENT) &&
           has_status(quern_trace_begin(path_in(bench->folder, "none/child.json")), QUERN_SYSTEM_ERROR) &&
           has_status(quern_step(bench->device.quern, 6), QUERN_OK) && has_status(quern_trace_begin(path), QUERN_OK) &&
           has_status(quern_step(bench->device.quern, 7), QUERN_OK) && has_status(quern_trace_end(), QUERN_OK);
}

/* The parent has noted a step, and a thread of it is writing an event: the child has neither. */
TEST_BENCH(trace, a_child_of_fork_has_its_own) {
    int status;
    const char *other = path_in(bench->folder, "child.json");
    check_ok(quern_trace_begin(bench->path));
    check_ok(quern_step(bench->device.quern, 5));
    check(quern_events_enter(0) != 0, "no trace");
    const pid_t child = fork();
    if (child == 0) {
        alarm(LIMIT);
        _exit(trace_in_child(bench, other) ? 0 : 1);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    quern_events_leave();
    check_ok(quern_step(bench->device.quern, 8));
    check_ok(quern_trace_end());
    char *text = read_text(other, NULL), *line = find_line(text, "\"cat\":\"step\"", "\"step\":7}", 0);
    check(count_lines(text, "\"cat\":\"step\"", "") == 1 && number_in(line, "\"tid\":") == (double)child, "%s", text);
    text = read_text(bench->path, NULL);
    check(count_lines(text, "\"cat\":\"step\"", "") == 2, "%s", text);
}

/* ---- ranges of NVTX ---- */

static const char *nvtx_name;            /* what the loader finds; NULL: nothing of NVTX */
static bool has_pop;
static char ranges[200];                 /* a bracket for each beginning and end */

static int push_range(const char *name) { return strcat(strcat(ranges, name), "("), 0; }
static int pop_range(void) { return strcat(ranges, ")"), 0; }

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
    if (!name || strncasecmp(name, "libnvt", 6)) return __real_dlopen(name, flags);
    return nvtx_name && !strcmp(name, nvtx_name) ? ranges : NULL;
}

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name) {
    if (library != ranges) return __real_dlsym(library, name);
    if (!strcmp(name, "nvtxRangePushA")) return (void *)push_range;
    return has_pop && !strcmp(name, "nvtxRangePop") ? (void *)pop_range : NULL;
}

static void check_ranges(struct bench *bench, const char *name, bool pops, const char *expected) {
    if (test_kind() != QUERN_CPU) cr_skip_test("the product is one of a CPU");
    nvtx_name = name, has_pop = pops;
    free(trace_nested(bench, false));
    check_ok(bench_step(bench));         /* behind the trace */
    check(!strcmp(ranges, expected), "the ranges are %s: expected %s", ranges, expected);
}

#define RANGES "linear_cross_entropy(adam())"
TEST_BENCH(trace, each_call_is_a_range_of_NVTX) { check_ranges(bench, "libnvToolsExt.so.1", true, RANGES); }
TEST_BENCH(trace, NVTX_has_another_name) { check_ranges(bench, "libnvtx3interop.so.1", true, RANGES); }
TEST_BENCH(trace, NVTX_has_a_third_name) { check_ranges(bench, "libnvtx3interop.so", true, RANGES); }
TEST_BENCH(trace, half_of_NVTX_is_none) { check_ranges(bench, "libnvToolsExt.so.1", false, ""); }

/* ---- errors ---- */

TEST_BENCH(trace, wrong_calls_are_refused) {
    check_refused(quern_trace_end(), QUERN_INVALID_ARGUMENT, "no trace has begun");
    check_status(quern_trace_begin(NULL), QUERN_NULL_POINTER);
    check_status(quern_trace_begin(""), QUERN_INVALID_ARGUMENT);
    check_refused(quern_trace_begin(path_in(bench->folder, "none/trace.json")), QUERN_SYSTEM_ERROR, strerror(ENOENT));
    check_status(quern_trace_end(), QUERN_INVALID_ARGUMENT);
    check(mkfifo(path_in(bench->folder, "pipe"), 0600) == 0, "no pipe");
    check_status(quern_trace_begin(path_in(bench->folder, "pipe")), QUERN_SYSTEM_ERROR);
    unlink(path_in(bench->folder, "pipe"));
    check_refused(quern_trace_begin(bench->folder), QUERN_SYSTEM_ERROR, strerror(EISDIR));
    check_ok(quern_trace_begin(bench->path));
    check(count_files(bench->folder) == 0, "there is a file before the end");
    check_refused(quern_trace_begin(bench->path), QUERN_INVALID_ARGUMENT, "a trace has begun");
    check_ok(quern_trace_end());
}

/* A file that cannot be written leaves the old one, no temporary one, and the program alive. */
TEST_BENCH(trace, a_limit_on_files_is_an_error) {
    static const char old[] = "old";
    struct rlimit limit;
    FILE *file = fopen(bench->path, "w");
    fputs(old, file);
    fclose(file);
    check_ok(quern_trace_begin(bench->path));
    check_ok(bench_step(bench));
    getrlimit(RLIMIT_FSIZE, &limit);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, limit.rlim_max});
    const quern_status status = quern_trace_end();
    char detail[256];
    quern_error_detail(detail, sizeof detail);
    setrlimit(RLIMIT_FSIZE, &limit);
    check(status == QUERN_SYSTEM_ERROR && strstr(detail, strerror(EFBIG)), "status %d, %s", (int)status, detail);
    char *text = read_trace(bench);
    check(!strcmp(text, old), "the old file has become %s", text);
    check_ok(quern_trace_begin(bench->path));
    check_ok(quern_trace_end());
}

TEST_BENCH(trace, a_folder_that_is_removed_is_an_error) {
    check_ok(quern_trace_begin(bench->path));
    check_ok(bench_step(bench));
    rmdir(bench->folder);
    check_refused(quern_trace_end(), QUERN_SYSTEM_ERROR, strerror(ENOENT));
    check_status(quern_trace_end(), QUERN_INVALID_ARGUMENT);
}

/* The file behind a link is replaced, and the link stays.  A link to nothing and one to a device are refused. */
TEST_BENCH(trace, a_symbolic_link_stays) {
    struct stat there;
    const char *link = path_in(bench->folder, "link");
    check(symlink("trace.json", link) == 0, "no link");
    check_refused(quern_trace_begin(link), QUERN_SYSTEM_ERROR, strerror(ENOENT));
    fclose(fopen(bench->path, "w"));
    check_ok(quern_trace_begin(link));
    check_ok(quern_trace_end());
    check(lstat(link, &there) == 0 && S_ISLNK(there.st_mode), "the link was replaced");
    check(unlink(link) == 0, "no link");
    find_line(read_trace(bench), "\"events\":0", "", 0);
    check(symlink("/dev/null", link) == 0, "no link");
    check_refused(quern_trace_begin(link), QUERN_SYSTEM_ERROR, "File exists");
}

/* The temporary name is no longer than the file system lets it be. */
TEST_BENCH(trace, a_name_may_be_as_long_as_the_file_system_allows) {
    char name[NAME_MAX + 1] = "";
    memset(name, 'n', NAME_MAX);
    strcpy(bench->path, path_in(bench->folder, name));
    check_ok(quern_trace_begin(bench->path));
    check_ok(quern_trace_end());
    free(read_trace(bench));
}

/* The path is that of the beginning. */
TEST_BENCH(trace, the_working_directory_may_change) {
    check(chdir(bench->folder) == 0, "no folder");
    check_ok(quern_trace_begin("trace.json"));
    check(chdir("/") == 0, "no root");
    check_ok(quern_trace_end());
    read_trace(bench);
}

/* ---- many events ---- */

TEST_BENCH(trace, events_beyond_the_limit_are_counted) {
    char expected[64];
    quern_trace_most_events = 3;
    check_ok(quern_trace_begin(bench->path));
    for (int i = 0; i < 8; i++) check_ok(quern_step(bench->device.quern, i));
    check_ok(quern_trace_end());
    char *text = read_trace(bench);
    check(count_lines(text, "\"cat\":\"step\"", "") == 3, "%s", text);
    for (int i = 0; i < 3; i++) {
        snprintf(expected, sizeof expected, "\"step\":%d}", i);
        check(count_lines(text, "\"cat\":\"step\"", expected) == 1, "no step %d", i);
    }
    find_line(text, "\"events\":3,\"events_left_out\":5", "", 0);
}

enum { THREADS = 4, CALLS = 300 };

static void *take_steps(void *context) {
    struct bench *bench = context;
    for (int i = 0; i < CALLS; i++) check_ok(quern_step(bench->device.quern, i));
    return NULL;
}

/* Each event of each thread is there once, also while traces begin and end beside them. */
Test(trace, threads_write_at_once) {
    static struct bench benches[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) open_bench(&benches[i]);
    check_ok(quern_trace_begin(benches[0].path));
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, take_steps, &benches[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    check_ok(quern_trace_end());
    char *text = read_trace(&benches[0]);
    check(count_lines(text, "\"cat\":\"step\"", "") == THREADS * CALLS, "%d events", count_lines(text, "\"cat\":\"step\"", ""));
    check(count_lines(text, "\"cat\":\"step\"", "\"step\":7}") == THREADS, "%d", count_lines(text, "\"step\":7}", ""));
    check(count_lines(text, "thread_name", "") == THREADS, "%d tracks", count_lines(text, "thread_name", ""));
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, take_steps, &benches[i]);
    for (int i = 0; i < 5; i++) {
        check_ok(quern_trace_begin(benches[0].path));
        check_ok(quern_trace_end());
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) bench_close(&benches[i]);
}

/* ---- the end beside others ---- */

static int is_inside, found_file;    /* atomic */

/* Notes an event for a while, in which the trace must not write its file. */
static void *stay_inside(void *path) {
    check(quern_events_enter(0) != 0, "no trace");
    __atomic_store_n(&is_inside, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 200; i++) {
        usleep(1000);
        if (access(path, F_OK) == 0) __atomic_store_n(&found_file, 1, __ATOMIC_RELEASE);
    }
    quern_events_leave();
    return NULL;
}

TEST_BENCH(trace, the_end_waits_for_events_that_are_written) {
    pthread_t thread;
    check_ok(quern_trace_begin(bench->path));
    pthread_create(&thread, NULL, stay_inside, (void *)(uintptr_t)bench->path);
    while (!__atomic_load_n(&is_inside, __ATOMIC_ACQUIRE)) usleep(100);
    check_ok(quern_trace_end());
    pthread_join(thread, NULL);
    check(!found_file, "the file was written while an event was");
    read_trace(bench);
}

/* The end keeps the lock while it waits for kernels, and a launch that another thread makes may be what they wait for. */
TEST_BENCH(trace, launches_do_not_wait_for_the_end) {
    if (test_kind() != QUERN_CPU) cr_skip_test("the driver's functions are none");
    static const struct quern_view view = {.name = "none"};
    static const struct quern_cuda none;
    struct quern_look look = {.on = 1};
    check_ok(quern_trace_begin(bench->path));
    quern_look_open(&look, &view, bench->device.quern, NULL);
    const struct quern_cuda *timed = quern_timed_cuda(&none);
    check(timed != &none, "launches are not noted");
    alarm(LIMIT);
    quern_hold_kernel_times();
    check(quern_timed_cuda(&none) == timed, "other functions");
    quern_release_kernel_times();
    alarm(0);
    quern_look_close(&look, QUERN_OK);
    check_ok(quern_trace_end());
}

/* ---- kernels of GPUs ---- */

/* Each launch has an event, in the order of the stream, after its launch and before the end. */
static void check_kernels(const char *text, int kernels, double before, double after) {
    double last = before;
    check(count_lines(text, "\"cat\":\"kernel\"", "\"ph\":\"X\"") == kernels, "%d kernels",
          count_lines(text, "\"cat\":\"kernel\"", "\"ph\":\"X\""));
    for (int i = 0; i < kernels; i++) {
        SCOPED char *line = find_line(text, "\"cat\":\"kernel\"", "\"ph\":\"X\"", i);
        const double begin = number_in(line, "\"ts\":"), end = begin + number_in(line, "\"dur\":");
        check(strstr(line, "adam_"), "%s", line);
        check(last <= begin + 1 && begin <= end && end <= after + 1, "kernel %d is from %f to %f: expected from %f to %f", i, begin,
              end, last, after);
        last = end;
    }
}

TEST_BENCH(trace, kernels_have_the_times_of_their_stream) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("kernels are launched on GPUs");
    enum { STEPS = 20 };
    for (int waits = 0; waits < 2; waits++) {
        device_synchronize(&bench->device);
        const double before = now();
        check_ok(quern_trace_begin(bench->path));
        for (int i = 0; i < STEPS; i++) {
            check_ok(bench_step(bench));
            if (waits) device_synchronize(&bench->device);  /* then later launches read the times of earlier ones */
        }
        check_ok(quern_trace_end());
        char *text = read_trace(bench);
        check_kernels(text, STEPS, before, now());
        char *call = find_line(text, "\"cat\":\"operation\"", "", 0), *kernel = find_line(text, "\"cat\":\"kernel\"", "", 0);
        check(number_in(call, "\"tid\":") != number_in(kernel, "\"tid\":"), "a kernel is on the track of the thread");
        check(number_in(kernel, "\"ts\":") >= number_in(call, "\"ts\":"), "a kernel begins before its call");
        check(count_lines(text, "thread_name", "cuda:0 stream") == 1, "%s", text);
    }
}

/* Cross-entropy launches with attributes, clusters for instance. */
TEST_BENCH(trace, launches_with_attributes_have_times) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("kernels are launched on GPUs");
    const struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = 3, .vocab = 500,
                                                             .placement = NO_GRAD);
    check_ok(quern_trace_begin(bench->path));
    cross_entropy_check_case(&bench->device, &c);
    check_ok(quern_trace_end());
    const char *text = read_trace(bench);
    check(count_lines(text, "\"cat\":\"kernel\"", "cross_entropy_") >= 1, "%s", text);
    check(count_lines(text, "\"cat\":\"kernel\"", "\"ph\":\"X\"") == count_lines(text, "\"cat\":\"kernel\"", ""), "%s", text);
}

TEST_BENCH(trace, a_capture_is_noted_without_times) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("streams belong to GPUs");
    device_synchronize(&bench->device);
    cuda_is_emulated() ? cuda_fail_call(0, 0) : (void)0;
    check_ok(bench_step(bench));
    const long calls = cuda_is_emulated() ? cuda_calls() : 0;
    check_ok(quern_trace_begin(bench->path));
    cuda_begin_capture(bench->device.stream);
    cuda_is_emulated() ? cuda_fail_call(0, 0) : (void)0;
    check_ok(bench_step(bench));
    const long more = cuda_is_emulated() ? cuda_calls() - calls : 1;
    check(more == 1, "%ld more calls of the driver: expected one, whether the stream is captured", more);
    void *executable = cuda_end_capture(bench->device.stream);
    for (int i = 0; i < 3; i++) CUDA(cuGraphLaunch(executable, bench->device.stream));
    device_synchronize(&bench->device);
    check_ok(quern_trace_end());
    char *text = read_trace(bench);
    check(count_lines(text, "\"cat\":\"kernel\"", "\"ph\":\"X\"") == 0, "%s", text);
    check(count_lines(text, "\"cat\":\"kernel\"", "\"captured\":true") == 1, "%s", text);
    CUDA(cuGraphExecDestroy(executable));
}

/* A device that is closed before the end of the trace keeps its kernels there. */
Test(trace, a_device_may_be_closed_before_the_end) {
    struct bench bench;
    open_bench(&bench);
    const double before = now();
    check_ok(quern_trace_begin(bench.path));
    for (int i = 0; i < 3; i++) check_ok(bench_step(&bench));
    device_synchronize(&bench.device);
    adam_session_close(&bench.adam);
    device_close(&bench.device);
    const double after = now();
    check_ok(quern_trace_end());
    char *text = read_trace(&bench);
    check(count_lines(text, "\"cat\":\"operation\"", "adam") == 3, "%s", text);
    if (test_kind() == QUERN_CUDA) check_kernels(text, 3, before, after);
    drop_folder(bench.folder);
}

/* The driver fails at each call that the trace makes: the operation succeeds all the same, or fails as it would without. */
TEST_BENCH(trace, failures_of_the_driver_do_not_harm_the_call) {
    if (test_kind() != QUERN_CUDA || !cuda_is_emulated()) cr_skip_test("only the emulator fails on demand");
    device_synchronize(&bench->device);
    cuda_fail_call(0, 0);
    check_ok(bench_step(bench));
    const long plain = cuda_calls();
    int succeeded = 0;
    for (long number = 1; number < 40; number++) {
        check_ok(quern_trace_begin(bench->path));
        cuda_fail_call(number, 2);
        const quern_status status = bench_step(bench);
        const long calls = cuda_calls();
        cuda_fail_call(0, 0);
        succeeded += status == QUERN_OK && number <= calls;
        check(status == QUERN_OK || number <= calls, "call %ld of %ld: %s", number, calls, error_detail());
        device_synchronize(&bench->device);
        check_ok(quern_trace_end());
        if (number > calls) break;
    }
    check(succeeded >= 5, "only %d failures of the trace's own calls (%ld calls without a trace) were survived", succeeded, plain);
}
