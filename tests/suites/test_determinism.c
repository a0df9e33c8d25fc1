/*
 * The same bits in every run, in any batch and with any number of threads.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam, cross_entropy; not with sanitizers.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/adam_case.h"
#include "harness/check.h"
#include "harness/cross_entropy_case.h"
#include "harness/random.h"

/* ---- hooks: an engine's own task runner ---- */

static void run_backwards(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    ++*(int *)user;
    for (int64_t i = tasks - 1; i >= 0; i--) task(context, i);
}

struct share {
    int64_t first, tasks;
    void (*task)(void *context, int64_t index);
    void *context;
};

enum { HOOK_THREADS = 3 };

static void *run_share(void *user) {
    struct share *share = user;
    for (int64_t i = share->first; i < share->tasks; i += HOOK_THREADS) share->task(share->context, i);
    return NULL;
}

static void run_on_new_threads(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    ++*(int *)user;
    pthread_t threads[HOOK_THREADS];
    struct share shares[HOOK_THREADS];
    for (int i = 0; i < HOOK_THREADS; i++) {
        shares[i] = (struct share){i, tasks, task, context};
        pthread_create(&threads[i], NULL, run_share, &shares[i]);
    }
    for (int i = 0; i < HOOK_THREADS; i++) pthread_join(threads[i], NULL);
}

static const struct {
    int threads;
    quern_parallel_for hook;
} pools[] = {{1, NULL}, {2, NULL}, {3, NULL},          {7, NULL},
             {64, NULL}, {0, NULL}, {5, run_backwards}, {16, run_on_new_threads}};

/* ---- cross-entropy ---- */

static struct cross_entropy_case case_of(const struct quern_kernel *row) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(
        .logits_dtype = row->key.cross_entropy.logits, .rows = 37, .vocab = test_size(1500, 1100),
        .reduction = QUERN_REDUCTION_MEAN, .ignored_every = 6, .spread = 3);
    if (row->key.cross_entropy.full) cross_entropy_add_options(&c, row, true);
    return c;
}

Test(determinism, cross_entropy_from_run_to_run) {
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        struct cross_entropy_case c = case_of(row);
        struct cross_entropy_outputs first CLOSED_BY(cross_entropy_free_outputs), again;
        OPEN_ROW(device, row);
        OPEN_INPUTS(inputs, &c);
        cross_entropy_run(&device, &c, &inputs, &first);
        for (int i = 0; i < 5; i++) {
            cross_entropy_run(&device, &c, &inputs, &again);
            cross_entropy_check_same(&c, &again, &first, "another run");
            cross_entropy_free_outputs(&again);
        }
    }
}

/*
 * Row `place` of the batch `all`, run alone and `offset` elements beyond a 256-byte boundary: another alignment and position,
 * without a gradient if requested, but the same bits.
 */
static void check_row_alone(const struct test_device *device, const struct cross_entropy_case *c,
                            const struct cross_entropy_inputs *inputs, const struct cross_entropy_outputs *all,
                            int64_t place, int64_t offset, enum placement placement) {
    size_t bytes = (size_t)c->vocab * quern_dtype_bytes(c->logits_dtype);
    struct cross_entropy_case one = *c;
    struct cross_entropy_inputs part = *inputs;
    struct cross_entropy_outputs alone, expected = {.loss = all->loss + place, .grad = (char *)all->grad + (size_t)place * bytes};
    if (all->lse) expected.lse = all->lse + place;
    if (all->log_prob) expected.log_prob = all->log_prob + place;
    if (all->entropy) expected.entropy = all->entropy + place;
    if (all->argmax) expected.argmax = all->argmax + place;
    if (all->stats) expected.stats = all->stats + place;
    one.rows = 1;
    one.offset = offset;
    one.placement = placement;
    part.logits = (char *)inputs->logits + (size_t)place * bytes;
    part.labels = (int64_t *)inputs->labels + place;
    part.upstream_count = 1;
    cross_entropy_run(device, &one, &part, &alone);
    expected.report = alone.report;
    cross_entropy_check_same(&one, &alone, &expected, "a row alone");
    cross_entropy_free_outputs(&alone);
}

/*
 * The batch's rows have no gaps, so each has another alignment if the vocab is odd.  With steps, different vocab sizes use
 * different offsets and together cover all.
 */
static void check_every_place(const struct test_device *device, const struct quern_kernel *row, int64_t rows, int64_t vocab,
                              int64_t offset_step) {
    if (vocab > row->key.cross_entropy.vocab_max) return;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = rows,
                                                     .vocab = vocab, .spread = 3, .seed = (uint64_t)vocab);
    if (row->key.cross_entropy.full) cross_entropy_add_options(&c, row, vocab % 2);
    c.filled = 0;
    OPEN_INPUTS(inputs, &c);
    OPEN_OUTPUTS(all, device, &c, &inputs);
    for (int64_t r = 0; r < rows; r++) check_row_alone(device, &c, &inputs, &all, r, 0, OUT_OF_PLACE);
    for (int64_t offset = 1 + vocab % offset_step; offset < 16; offset += offset_step)
        for (enum placement placement = OUT_OF_PLACE; placement <= NO_GRAD; placement++)
            check_row_alone(device, &c, &inputs, &all, offset % rows, offset, placement);
}

/* A row has the same bits alone as in a batch, for any alignment. */
Test(determinism, cross_entropy_in_any_batch) {
    static const int64_t vocabs[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 1000, 1031, 2051};
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        OPEN_ROW(device, row);
        for (size_t i = 0; i < COUNT(vocabs); i++) check_every_place(&device, row, 5, vocabs[i], test_size(1, 5));
        check_every_place(&device, row, 17, 1031, 5);
    }
}

/*
 * Every third row has a logit so far above the others that its sums are computed once more.  Those beside it, which the same warp
 * may have, keep theirs.
 */
Test(determinism, cross_entropy_beside_strange_rows) {
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 29, .vocab = 130);
        OPEN_ROW(device, row);
        c.filled = 0;
        OPEN_INPUTS(inputs, &c);
        for (int64_t r = 0; r < c.rows; r += 3) cross_entropy_set_logit(&c, &inputs, r, 9, 200);
        OPEN_OUTPUTS(all, &device, &c, &inputs);
        for (int64_t r = 0; r < c.rows; r++) check_row_alone(&device, &c, &inputs, &all, r, 0, OUT_OF_PLACE);
    }
}

/* Many groups per thread, and the longest row that a kernel can hold. */
Test(determinism, cross_entropy_of_long_rows_in_any_batch) {
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        int64_t longest = row->key.cross_entropy.vocab_max, beyond = test_size(300007, 40009);
        OPEN_ROW(device, row);
        check_every_place(&device, row, 2, longest < beyond ? longest : beyond, test_size(3, 7));
    }
}

/* On one multiprocessor a block takes several rows of the batch in turns, of a row alone it takes one. */
Test(determinism, cross_entropy_on_any_number_of_multiprocessors) {
    if (test_kind() == QUERN_CPU || !getenv("QUERN_EMULATOR")) cr_skip_test("a real device has a fixed number of multiprocessors");
    setenv("QUERN_EMULATOR_SMS", "1", 1);
    static const int64_t vocabs[] = {5, 33, 1031, 4096};
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        OPEN_ROW(device, row);
        for (size_t i = 0; i < COUNT(vocabs); i++) check_every_place(&device, row, 29, vocabs[i], 16);
    }
}

/*
 * The mean of more rows than a warp sums in one go, by every kernel of f32 logits without options, in a process whose GPUs have so
 * many multiprocessors.
 */
enum { MOST_KERNELS = 8 };

static void write_means(int to, const char *multiprocessors, const char *order) {
    float means[MOST_KERNELS] = {0};
    int count = 0;
    setenv("QUERN_EMULATOR_SMS", multiprocessors, 1);
    setenv("QUERN_EMULATOR_ORDER", order, 1);
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        if (row->key.cross_entropy.full || row->key.cross_entropy.logits != QUERN_F32) continue;
        struct cross_entropy_case c = case_of(row);
        c.rows = 1030, c.vocab = 5, c.placement = NO_GRAD;
        OPEN_ROW(device, row);
        OPEN_INPUTS(inputs, &c);
        OPEN_OUTPUTS(outputs, &device, &c, &inputs);
        check(count < MOST_KERNELS && outputs.loss[0] > 0, "%d kernels, a mean of %g", count, (double)outputs.loss[0]);
        means[count++] = outputs.loss[0];
    }
    check(write(to, means, sizeof means) == sizeof means, "no means written");
}

static void read_means(float means[MOST_KERNELS], const char *multiprocessors, const char *order) {
    int ends[2], status;
    check(pipe(ends) == 0, "no pipe");
    const pid_t child = fork();
    if (!child) write_means(ends[1], multiprocessors, order), _exit(0);
    close(ends[1]);
    check(read(ends[0], means, MOST_KERNELS * sizeof *means) == (ssize_t)(MOST_KERNELS * sizeof *means), "no means read");
    check(waitpid(child, &status, 0) == child && status == 0, "the other process failed");
    close(ends[0]);
}

/* Whichever block counts the labels or sums the losses, and whichever rows it has. */
Test(determinism, a_mean_on_any_number_of_multiprocessors) {
    if (test_kind() == QUERN_CPU || !getenv("QUERN_EMULATOR")) cr_skip_test("a real device has a fixed number of multiprocessors");
    float first[MOST_KERNELS], means[MOST_KERNELS];
    read_means(first, "1", "forward");
    read_means(means, "3", "reverse");
    check(!memcmp(means, first, sizeof first), "other bits on three multiprocessors");
    read_means(means, "4", "random:5");
    check(!memcmp(means, first, sizeof first), "other bits on four multiprocessors");
}

Test(determinism, cross_entropy_in_place_or_out_of_place) {
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        struct cross_entropy_case c = case_of(row);
        struct cross_entropy_outputs out CLOSED_BY(cross_entropy_free_outputs), in CLOSED_BY(cross_entropy_free_outputs);
        OPEN_ROW(device, row);
        OPEN_INPUTS(inputs, &c);
        cross_entropy_run(&device, &c, &inputs, &out);
        c.placement = IN_PLACE;
        cross_entropy_run(&device, &c, &inputs, &in);
        cross_entropy_check_same(&c, &in, &out, "in place");
        c.placement = NO_GRAD;
        OPEN_OUTPUTS(none, &device, &c, &inputs);
        check(none.loss[0] == out.loss[0], "without a gradient the loss is another");
    }
}

Test(determinism, cross_entropy_with_any_threads) {
    if (test_kind() != QUERN_CPU) cr_skip_test("threads belong to CPUs");
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        struct cross_entropy_case c = case_of(row);
        struct cross_entropy_outputs first CLOSED_BY(cross_entropy_free_outputs), other;
        OPEN_ROW(device, row);
        OPEN_INPUTS(inputs, &c);
        check_ok(quern_set_threads(device.quern, 1, NULL, NULL));
        cross_entropy_run(&device, &c, &inputs, &first);
        for (size_t i = 0; i < COUNT(pools); i++) {
            int calls = 0;
            check_ok(quern_set_threads(device.quern, pools[i].threads, pools[i].hook, &calls));
            cross_entropy_run(&device, &c, &inputs, &other);
            cross_entropy_check_same(&c, &other, &first, "other threads");
            check(!pools[i].hook || calls > 0, "the hook was not called");
            cross_entropy_free_outputs(&other);
        }
    }
}

/* ---- Adam ---- */

/* One tensor far longer than one task, several short ones, stochastic rounding everywhere. */
static void make_long_problem(const struct quern_kernel *row, struct adam_problem *problem) {
    const int64_t counts[] = {3, test_size(300011, 20011), 17, 0, test_size(70000, 3000)};
    quern_adam_args args = adam_args_of(row);
    adam_set_rounding(&args, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC);
    adam_make(problem, &args, counts, COUNT(counts));
}

/* The types that differ most in loading and storing; all rows run in test_adam. */
static bool is_typical(const struct quern_kernel *row) {
    quern_dtype p = row->key.adam.param, m = row->key.adam.m;
    return row->key.adam.grad == p && row->key.adam.v == QUERN_BF16 && (p == QUERN_BF16 || m == QUERN_BF16);
}

Test(determinism, adam_from_run_to_run) {
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row)) {
        if (!is_typical(row)) continue;
        struct adam_problem problem CLOSED_BY(adam_free), first CLOSED_BY(adam_free), again;
        OPEN_ROW(device, row);
        make_long_problem(row, &problem);
        adam_copy(&first, &problem);
        adam_run(&device, &first);
        for (int i = 0; i < 3; i++) {
            adam_copy(&again, &problem);
            adam_run(&device, &again);
            adam_check_same(&again, &first, "another run");
            adam_free(&again);
        }
    }
}

Test(determinism, adam_with_any_threads) {
    if (test_kind() != QUERN_CPU) cr_skip_test("threads belong to CPUs");
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row)) {
        if (!is_typical(row)) continue;
        struct adam_problem problem CLOSED_BY(adam_free), first CLOSED_BY(adam_free), other;
        OPEN_ROW(device, row);
        make_long_problem(row, &problem);
        adam_copy(&first, &problem);
        check_ok(quern_set_threads(device.quern, 1, NULL, NULL));
        adam_run(&device, &first);
        for (size_t i = 0; i < COUNT(pools); i++) {
            int calls = 0;
            check_ok(quern_set_threads(device.quern, pools[i].threads, pools[i].hook, &calls));
            adam_copy(&other, &problem);
            adam_run(&device, &other);
            adam_check_same(&other, &first, "other threads");
            check(!pools[i].hook || calls > 0, "the hook was not called");
            adam_free(&other);
        }
    }
}

/* A long tensor in one call, or only its first elements: the common part is the same. */
Test(determinism, adam_of_a_prefix) {
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row)) {
        if (!is_typical(row)) continue;
        static const int64_t ends[] = {1, 7, 8, 9, 127, 128, 129, 1000, 2047, 2049, 4097};
        const int64_t counts[] = {5000};
        struct adam_problem problem CLOSED_BY(adam_free), whole CLOSED_BY(adam_free), part;
        OPEN_ROW(device, row);
        quern_adam_args args = adam_args_of(row);
        adam_set_rounding(&args, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC);
        adam_make(&problem, &args, counts, 1);
        adam_copy(&whole, &problem);
        adam_run(&device, &whole);
        for (size_t i = 0; i < COUNT(ends); i++) {
            adam_copy(&part, &problem);
            part.tensors[0].count = ends[i];
            adam_run(&device, &part);
            const quern_adam_tensor *a = &part.tensors[0], *b = &whole.tensors[0];
            size_t v_bytes = (size_t)ends[i] * quern_dtype_bytes(args.v_dtype);
            size_t param_bytes = (size_t)ends[i] * quern_dtype_bytes(args.param_dtype);
            check(!memcmp(a->v, b->v, v_bytes) && !memcmp(a->param, b->param, param_bytes),
                  "%s: the first %d elements differ", row->name, (int)ends[i]);
            adam_free(&part);
        }
    }
}

/* ---- several threads on one device ---- */

struct caller {
    struct test_device *device;
    struct adam_problem *problem;
    quern_status status;
};

static void *call_adam(void *user) {
    struct caller *caller = user;
    caller->status = quern_adam(caller->device->quern, &caller->problem->args, NULL, 0, NULL);
    return NULL;
}

/* CPU only: with a GPU the threads would have to share a stream or use separate devices. */
Test(determinism, several_threads_call_at_once) {
    if (test_kind() != QUERN_CPU) cr_skip_test("concurrent calls are compared on CPUs");
    enum { CALLERS = 4 };
    const struct quern_kernel *row = next_adam_row(NULL);
    OPEN_ROW(device, row);
    for (int round = 0; round < 10; round++) {
        struct adam_problem problem, expected, problems[CALLERS];
        struct caller callers[CALLERS];
        pthread_t threads[CALLERS];
        make_long_problem(row, &problem);
        adam_copy(&expected, &problem);
        adam_run(&device, &expected);
        for (int i = 0; i < CALLERS; i++) {
            adam_copy(&problems[i], &problem);
            callers[i] = (struct caller){&device, &problems[i], QUERN_SYSTEM_ERROR};
            pthread_create(&threads[i], NULL, call_adam, &callers[i]);
        }
        for (int i = 0; i < CALLERS; i++) {
            pthread_join(threads[i], NULL);
            check(callers[i].status == QUERN_OK, "%s", quern_status_string(callers[i].status));
            adam_check_same(&problems[i], &expected, "one of several callers");
            adam_free(&problems[i]);
        }
        adam_free(&expected);
        adam_free(&problem);
    }
}
