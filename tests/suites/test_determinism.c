/*
 * The same bits in every run, in any batch and with any number of threads.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam, cross_entropy; not with sanitizers.
 */
#include "harness/adam_case.h"
#include "harness/cross_entropy_case.h"
#include "oracle/adam.h"

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

TEST_CROSS_ENTROPY_ROWS(determinism, cross_entropy_from_run_to_run) {
    const struct cross_entropy_case c = case_of(row);
    OPEN_INPUTS(inputs, &c);
    OPEN_OUTPUTS(first, device, &c, &inputs);
    for (int i = 0; i < 5; i++) {
        OPEN_OUTPUTS(again, device, &c, &inputs);
        cross_entropy_check_same(&c, &again, &first, "another run");
    }
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
    for (int64_t r = 0; r < rows; r++) cross_entropy_check_row_alone(device, &c, &inputs, &all, r, 0, OUT_OF_PLACE);
    for (int64_t offset = 1 + vocab % offset_step; offset < 16; offset += offset_step)
        for (enum placement placement = OUT_OF_PLACE; placement <= NO_GRAD; placement++)
            cross_entropy_check_row_alone(device, &c, &inputs, &all, offset % rows, offset, placement);
}

/* A row has the same bits alone as in a batch, for any alignment. */
TEST_CROSS_ENTROPY_ROWS(determinism, cross_entropy_in_any_batch) {
    static const int64_t vocabs[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 1000, 1031, 2051};
    for (size_t i = 0; i < COUNT(vocabs); i++) check_every_place(device, row, 5, vocabs[i], test_size(1, 5));
    check_every_place(device, row, 17, 1031, 5);
}

/*
 * Every third row has a logit so far above the others that its sums are computed once more.  Those beside it, which the same warp
 * may have, keep theirs.
 */
TEST_CROSS_ENTROPY_ROWS(determinism, cross_entropy_beside_strange_rows) {
    const struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 29, .vocab = 130);
    OPEN_INPUTS(inputs, &c);
    for (int64_t r = 0; r < c.rows; r += 3) cross_entropy_set_logit(&c, &inputs, r, 9, 200);
    OPEN_OUTPUTS(all, device, &c, &inputs);
    for (int64_t r = 0; r < c.rows; r++) cross_entropy_check_row_alone(device, &c, &inputs, &all, r, 0, OUT_OF_PLACE);
}

/* Many groups per thread, and the longest row that a kernel can hold. */
TEST_CROSS_ENTROPY_ROWS(determinism, cross_entropy_of_long_rows_in_any_batch) {
    const int64_t longest = row->key.cross_entropy.vocab_max, beyond = test_size(300007, 40009);
    check_every_place(device, row, 2, longest < beyond ? longest : beyond, test_size(3, 7));
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

TEST_CROSS_ENTROPY_ROWS(determinism, cross_entropy_in_place_or_out_of_place) {
    struct cross_entropy_case c = case_of(row);
    OPEN_INPUTS(inputs, &c);
    OPEN_OUTPUTS(out, device, &c, &inputs);
    c.placement = IN_PLACE;
    OPEN_OUTPUTS(in, device, &c, &inputs);
    cross_entropy_check_same(&c, &in, &out, "in place");
    c.placement = NO_GRAD;
    OPEN_OUTPUTS(none, device, &c, &inputs);
    check(none.loss[0] == out.loss[0], "without a gradient the loss is another");
}

/* The threads of a pool, which must take part if they are an engine's; returns how often those were asked. */
static void set_pool(const struct test_device *device, size_t i, int *calls) {
    *calls = 0;
    check_ok(quern_set_threads(device->quern, pools[i].threads, pools[i].hook, calls));
}

static void check_pool(size_t i, int calls) { check(!pools[i].hook || calls > 0, "the hook was not called"); }

TEST_CROSS_ENTROPY_ROWS(determinism, cross_entropy_with_any_threads) {
    if (test_kind() != QUERN_CPU) return;
    const struct cross_entropy_case c = case_of(row);
    int calls;
    OPEN_INPUTS(inputs, &c);
    set_pool(device, 0, &calls);
    OPEN_OUTPUTS(first, device, &c, &inputs);
    for (size_t i = 1; i < COUNT(pools); i++) {
        set_pool(device, i, &calls);
        OPEN_OUTPUTS(other, device, &c, &inputs);
        cross_entropy_check_same(&c, &other, &first, "other threads");
        check_pool(i, calls);
    }
}

/* ---- Adam: its bits are those of the model ---- */

/*
 * One tensor far longer than one task, several short ones, stochastic rounding everywhere.  The types are those that differ most in
 * loading and storing; all rows run in test_adam.
 */
TEST_ADAM_ROWS(determinism, adam_with_any_threads) {
    const int64_t counts[] = {3, test_size(300011, 20011), 17, 0, test_size(70000, 3000)};
    const quern_dtype p = row->key.adam.param, m = row->key.adam.m;
    const bool is_typical = row->key.adam.grad == p && row->key.adam.v == QUERN_BF16 && (p == QUERN_BF16 || m == QUERN_BF16);
    if (test_kind() != QUERN_CPU || !is_typical) return;
    quern_adam_args args = adam_args_of(row);
    adam_set_rounding(&args, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC, QUERN_ROUND_STOCHASTIC);
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    struct adam_problem expected CLOSED_BY(adam_free);
    adam_copy(&expected, &problem);
    adam_model_step(&expected.args);
    for (size_t i = 0; i < COUNT(pools); i++) {
        struct adam_problem got CLOSED_BY(adam_free);
        int calls;
        adam_copy(&got, &problem);
        set_pool(device, i, &calls);
        adam_run(device, &got);
        adam_check_same(&got, &expected, "other threads");
        check_pool(i, calls);
    }
}
