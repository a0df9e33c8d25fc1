/*
 * Into how many tasks a CPU call divides its work, as an engine's hook sees it: enough for all threads, and none that is too small.
 * Wrong numbers give the same results, only later.
 *
 * Runs on: one cpu.
 */
#include "harness/adam_case.h"
#include "harness/cross_entropy_case.h"
#include "kernels/problem.h"

enum { THREADS = 4 };

/* What the hook was given, in order. */
static struct {
    int64_t tasks[64];
    size_t jobs;
} seen;

static void count_tasks(UNUSED void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    check(seen.jobs < COUNT(seen.tasks), "more jobs than a call has");
    seen.tasks[seen.jobs++] = tasks;
    for (int64_t i = 0; i < tasks; i++) task(context, i);
}

static void open_device(struct test_device *device) {
    device_open(device, 0, NULL);
    check_ok(quern_prepare(device->quern, QUERN_CROSS_ENTROPY | QUERN_ADAM));
    check_ok(quern_set_threads(device->quern, THREADS, count_tasks, NULL));
}
#define TEST_DEVICE(suite, name) TEST_IN(struct test_device, device, open_device, device_close, suite, name)

static void check_seen(const int64_t *tasks, size_t jobs, const char *what) {
    char text[300] = "";
    for (size_t i = 0; i < seen.jobs && i < 12; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %lld", (long long)seen.tasks[i]);
    bool same = seen.jobs == jobs;
    for (size_t i = 0; same && i < jobs; i++) same = seen.tasks[i] == tasks[i];
    check(same, "%s: %zu jobs of%s tasks, expected %zu", what, seen.jobs, text, jobs);
    seen.jobs = 0;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- cross-entropy ---- */

static void run_case(const struct test_device *device, const struct cross_entropy_case *c) {
    OPEN_INPUTS(inputs, c);
    OPEN_OUTPUTS(outputs, device, c, &inputs);
}

/* One task in a call of less than 262,144 logits.  Else 32,768 logits for each task, at most a task for each item and thread. */
static int64_t tasks_of(const struct cross_entropy_case *c, int64_t items, int64_t cost) {
    const int64_t worth = items * cost / (1 << 15);
    return c->rows * c->vocab < 1 << 18 || worth < 1 ? 1 : smaller(smaller(items, THREADS), worth);
}

/*
 * Rows, as many for each thread.  The parts of the others where no thread then has more than three quarters of a row, in four jobs:
 * stats, combine, finish and gradient.
 */
TEST_DEVICE(tasks, whole_cross_entropy) {
    enum { PART = QUERN_CPU_PART_COLUMNS };
    static const int64_t vocabs[] = {100, PART, PART + 1, 3 * PART, 4 * PART, 9 * PART};
    for (size_t i = 0; i < COUNT(vocabs) * 2 * (2 * THREADS + 1); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .vocab = vocabs[i % COUNT(vocabs)]);
        const bool has_grad = i / COUNT(vocabs) % 2;
        c.placement = has_grad ? IN_PLACE : NO_GRAD, c.rows = (int64_t)(i / COUNT(vocabs) / 2) + 1;
        const int64_t parts = (c.vocab + PART - 1) / PART, rest = c.rows % THREADS, share = (rest * parts + THREADS - 1) / THREADS;
        const bool is_split = 4 * share <= 3 * parts && rest * c.vocab >= 1 << 16 && c.rows * c.vocab >= 1 << 18;
        const int64_t split = is_split ? rest : 0, whole = c.rows - split, of_parts = tasks_of(&c, split * parts, c.vocab / parts);
        int64_t tasks[5];
        size_t jobs = 0;
        if (whole) tasks[jobs++] = tasks_of(&c, whole, c.vocab);
        if (split) tasks[jobs++] = of_parts, tasks[jobs++] = 1, tasks[jobs++] = 1;
        if (split && has_grad) tasks[jobs++] = of_parts;
        run_case(device, &c);
        check_seen(tasks, jobs, cross_entropy_describe(&c));
    }
}

TEST_DEVICE(tasks, steps_of_cross_entropy) {
    enum { PARTS = 5 };
    for (int64_t rows = 1; rows <= THREADS + 1; rows++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = rows, .shards = 1,
                                                         .vocab = PARTS * QUERN_CPU_PART_COLUMNS - 100, .placement = IN_PLACE);
        const int64_t parts = tasks_of(&c, PARTS * rows, c.vocab / PARTS);
        const int64_t tasks[] = {parts, 1, 1, 1, 1, 1, parts};  /* stats, two ranks that combine, gradient */
        run_case(device, &c);
        check_seen(tasks, COUNT(tasks), cross_entropy_describe(&c));
    }
}

/* The rows of which a gradient is written when only the last task of a job has run, as if all other threads were interrupted. */
struct interrupted {
    const float *gradient;
    int64_t rows, vocab, written;
};

static void run_last_task_first(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    struct interrupted *interrupted = user;
    task(context, tasks - 1);
    interrupted->written = 0;
    for (int64_t row = 0; row < interrupted->rows; row++)
        interrupted->written += interrupted->gradient[row * interrupted->vocab] != 0;
    for (int64_t i = 0; i < tasks - 1; i++) task(context, i);
}

/* A slow thread holds up no more than the rows that it has begun: the others take those of its share. */
TEST_DEVICE(tasks, rows_of_an_interrupted_thread) {
    enum { ROWS = 64, VOCAB = 8192 };
    static float logits[ROWS * VOCAB], gradient[ROWS * VOCAB], loss[ROWS];
    static int32_t labels[ROWS];
    struct interrupted interrupted = {gradient, ROWS, VOCAB, 0};
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_F32, args.labels_dtype = QUERN_INT32, args.rows = ROWS, args.vocab = VOCAB;
    args.logits = logits, args.labels = labels, args.loss = loss, args.grad = gradient;
    check_ok(quern_set_threads(device->quern, THREADS, run_last_task_first, &interrupted));
    size_t bytes;
    check_ok(quern_cross_entropy_workspace(device->quern, &args, &bytes));
    OPEN_BUFFER(workspace, device, bytes, 0, NULL);
    check_ok(quern_cross_entropy(device->quern, &args, workspace.data, bytes, NULL));
    check(interrupted.written == ROWS, "one thread took %lld of %d rows", (long long)interrupted.written, ROWS);
}

/* A product of zeros, during which many threads are set. */
static quern_status change_threads(void *user, const quern_gemm_args *product, UNUSED void *stream) {
    memset(product->c, 0, (size_t)(product->m * product->c_stride) * quern_dtype_bytes(product->c_dtype));
    return quern_set_threads(user, 64, count_tasks, NULL);
}

/* A call keeps to the threads for which it has its workspace. */
TEST_DEVICE(tasks, threads_that_change_within_a_call) {
    enum { ROWS = 64, VOCAB = 8192 };
    static float values[VOCAB], loss[ROWS];
    static int32_t labels[ROWS];
    quern_linear_cross_entropy_args args = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    args.hidden_dtype = args.weight_dtype = QUERN_F32, args.loss.logits_dtype = QUERN_BF16, args.loss.labels_dtype = QUERN_INT32;
    args.loss.rows = args.chunk_rows = ROWS, args.loss.vocab = VOCAB, args.width = 1;
    args.hidden = args.weight = values, args.loss.labels = labels, args.loss.loss = loss;
    args.gemm = change_threads, args.gemm_user = device->quern;
    size_t bytes;
    OPEN_BUFFER(gradient, device, VOCAB * sizeof(float), 0, NULL);
    args.d_weight = gradient.data;
    check_ok(quern_set_threads(device->quern, 1, count_tasks, NULL));
    check_ok(quern_linear_cross_entropy_workspace(device->quern, &args, &bytes));
    OPEN_BUFFER(workspace, device, bytes, 0, NULL);
    check_ok(quern_linear_cross_entropy(device->quern, &args, workspace.data, bytes, NULL));
    check_seen(&(int64_t){1}, 1, "a chunk");
}

/* ---- Adam ---- */

enum { OF_ONE_TASK = 1 << 16, FEW_THREADS = 2, MOST = 8 * FEW_THREADS };

/* At least 65,536 elements for each task, and at most eight tasks for each thread. */
TEST_DEVICE(tasks, steps_of_adam) {
    static const int64_t counts[] = {1, OF_ONE_TASK, OF_ONE_TASK + 1, (MOST - 1) * OF_ONE_TASK, MOST * OF_ONE_TASK + 1};
    static const int64_t tasks[] = {1, 1, 2, MOST - 1, MOST};
    check_ok(quern_set_threads(device->quern, FEW_THREADS, count_tasks, NULL));
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    for (size_t i = 0; i < COUNT(counts); i++) {
        const quern_adam_args args = adam_args_of(row);
        char what[40];
        const int64_t list[] = {counts[i] / 2, counts[i] - counts[i] / 2};
        OPEN_ADAM(problem, &args, list, COUNT(list));
        adam_run(device, &problem);
        snprintf(what, sizeof what, "%lld elements", (long long)counts[i]);
        check_seen(&tasks[i], 1, what);
    }
}

/* ---- gradients ---- */

/* Pieces of 65,536 elements, each of one gradient, and at most eight tasks for each thread. */
Test(tasks, gradients) {
    enum { ITEMS = MOST + 1 };
    static uint16_t grad[2 * QUERN_GRADIENT_CHUNK + 1];
    static float sums[2 * QUERN_GRADIENT_CHUNK + 1], norm;
    static double squares[ITEMS + 2];
    static const struct {
        int64_t items, count, tasks;
    } lists[] = {{1, 1, 1}, {1, QUERN_GRADIENT_CHUNK, 1}, {1, QUERN_GRADIENT_CHUNK + 1, 2}, {1, 2 * QUERN_GRADIENT_CHUNK + 1, 3},
                 {MOST - 1, 1, MOST - 1}, {MOST, 1, MOST}, {ITEMS, 1, MOST}};
    struct test_device device CLOSED_BY(device_close);
    open_device(&device);
    check_ok(quern_set_threads(device.quern, FEW_THREADS, count_tasks, NULL));
    for (size_t i = 0; i < COUNT(lists); i++) {
        quern_gradient items[ITEMS];
        for (int64_t k = 0; k < lists[i].items; k++) items[k] = (quern_gradient){grad + k, sums + k, lists[i].count};
        quern_gradient_norm_args args = QUERN_GRADIENT_NORM_ARGS_INIT;
        args.grad_dtype = QUERN_BF16, args.gradients = items, args.gradient_count = lists[i].items, args.norm = &norm;
        size_t bytes;
        char what[60];
        check_ok(quern_gradient_norm_workspace(device.quern, &args, &bytes));
        const int64_t pieces = lists[i].items * ((lists[i].count + QUERN_GRADIENT_CHUNK - 1) / QUERN_GRADIENT_CHUNK);
        check(bytes == sizeof(double) * (size_t)pieces, "%lld pieces need %zu bytes", (long long)pieces, bytes);
        check_ok(quern_gradient_norm(device.quern, &args, squares, sizeof squares, NULL));
        snprintf(what, sizeof what, "%lld gradients of %lld", (long long)lists[i].items, (long long)lists[i].count);
        check_seen(&lists[i].tasks, 1, what);
        quern_accumulate_args sum = ACCUMULATE_ARGS(.grad_dtype = QUERN_BF16, .gradients = items, .gradient_count = lists[i].items);
        check_ok(quern_accumulate(device.quern, &sum, NULL));
        check_seen(&lists[i].tasks, 1, what);
    }
}

/* ---- saved states ---- */

/* Chunks of 65,536 elements, each in pieces of 2,048. */
TEST_DEVICE(tasks, conversions_of_saved_states) {
    enum { CHUNK = 1 << 16, PIECE = 2048 };
    static const int64_t counts[] = {1, PIECE, PIECE + 1, CHUNK + 2 * PIECE};
    for (size_t i = 0; i < COUNT(counts); i++) {
        quern_adam_args from = adam_args_of(find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, true));
        quern_adam_args to = adam_args_of(find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, true));
        from.amsgrad = to.amsgrad = 0;
        char what[40];
        size_t bytes;
        OPEN_ADAM(problem, &from, &counts[i], 1);
        check_ok(quern_adam_saved_bytes(device->quern, &problem.args, &bytes));
        SCOPED void *saved = zeroed(bytes);
        check_ok(quern_adam_save(device->quern, &problem.args, saved, bytes));
        adam_free(&problem);
        adam_make(&problem, &to, &counts[i], 1);
        seen.jobs = 0;
        check_ok(quern_adam_load(device->quern, &problem.args, saved, bytes, NULL, NULL));
        const int64_t first = smaller(counts[i], CHUNK), second = counts[i] - first;
        const int64_t one = (first + PIECE - 1) / PIECE, two = (second + PIECE - 1) / PIECE, both[] = {one, two, one, two};
        snprintf(what, sizeof what, "%lld elements", (long long)counts[i]);
        check_seen(second ? both : (int64_t[]){one, one}, second ? 4 : 2, what);  /* of m and v */
    }
}
