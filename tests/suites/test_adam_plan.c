/*
 * Adam's lists of tensors, as a plan made once, with its own gradients or with those of each call, and as a list passed to each
 * call: the same bits, any number of tensors of any size, the fewest launches, several threads.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam.
 */
#include "harness/adam_case.h"
#include "harness/cuda.h"
#include "oracle/adam.h"

/* ---- the same bits ---- */

static void check_plan(const struct test_device *device, const struct quern_kernel *row, bool with_grads) {
    const quern_adam_args args = adam_args_of(row);
    OPEN_TENSORS(problem, &args, 0, 300, 2048, 0, 0, 2049, 1, 7, 4100, 0);
    problem.with_plan = true, problem.with_grads = with_grads;
    adam_check_steps(device, &problem, 3, row->name);
}

TEST_ADAM_ROWS(adam_plan, steps_of_a_plan_are_those_of_the_list) { check_plan(device, row, false); }
TEST_ADAM_ROWS(adam_plan, a_plan_follows_gradients_that_move) { check_plan(device, row, true); }

/* ---- many tensors ---- */

/* 10,000 scalars, with a few empty and a few longer tensors among them. */
static void check_scalars(const struct test_device *device, const struct quern_kernel *row, bool with_plan, bool with_grads) {
    enum { MANY = 10000, SMALL = 1100 };
    static int64_t counts[MANY];
    const int64_t tensors = test_size(MANY, SMALL);
    for (int64_t i = 0; i < tensors; i++) counts[i] = i % 100 == 99 ? 0 : i % 1000 == 500 ? 2500 : 1;
    const quern_adam_args args = adam_args_of(row);
    OPEN_ADAM(problem, &args, counts, tensors);
    problem.with_plan = with_plan, problem.with_grads = with_grads;
    adam_check_step(device, &problem, row->name);
}

TEST_ADAM_ROWS(adam_plan, ten_thousand_scalars) {
    if (test_is_small() && !adam_is_typical(row)) return;
    check_scalars(device, row, true, false);
    check_scalars(device, row, true, true);
    if (!test_is_small()) check_scalars(device, row, false, false);
}

/* ---- launches ---- */

enum { LISTED, PLANNED, PLANNED_WITH_GRADS, FORMS };

static long long launches_of(const struct test_device *device, const struct quern_kernel *row, int64_t tensors, int form,
                             bool counts_steps) {
    int64_t *counts = zeroed(((size_t)tensors + 1) * sizeof *counts), taken = 0;
    for (int64_t i = 0; i < tensors; i++) counts[i] = i ? i % 9 : 1;
    quern_adam_args args = adam_args_of(row);
    if (counts_steps) args.control.step = &taken;
    OPEN_ADAM(problem, &args, counts, tensors);
    problem.with_plan = form != LISTED, problem.with_grads = form == PLANNED_WITH_GRADS;
    OPEN_ADAM_SESSION(session, device, &problem);
    const long long before = device_launches(device);
    check_ok(adam_session_step(&session));
    const long long launched = device_launches(device) - before;
    adam_session_read(&session, &problem);
    check(!counts_steps || adam_numbers(&problem)->step == 1, "counted %lld steps", (long long)adam_numbers(&problem)->step);
    free(counts);
    return launched;
}

/* A plan takes one launch; a list, and a plan with other gradients, one for each batch of tensors. */
Test(adam_plan, launches_are_few) {
    if (test_kind() != QUERN_CUDA || cuda_launches() < 0) cr_skip_test("the emulator counts launches");
    for (int form = 0; form < 2; form++) {
        const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, form);
        const int64_t batch = form ? QUERN_ADAM_FULL_BATCH : QUERN_ADAM_BATCH;
        const int64_t lists[] = {1, 2, batch, batch + 1, 3 * batch + 5};
        OPEN_ROW(device, row);
        for (size_t i = 0; i < 2 * FORMS * COUNT(lists); i++) {
            const int64_t tensors = lists[i / (2 * FORMS)];
            const int how = (int)(i / 2 % FORMS);
            const long long launched = launches_of(&device, row, tensors, how, i % 2);
            const long long needed = how == PLANNED ? 1 : (tensors + batch - 1) / batch;
            check(launched == needed, "form %d: %lld tensors took %lld launches, not %lld", how, (long long)tensors, launched,
                  needed);
        }
    }
}

/* ---- several threads ---- */

enum { THREADS = 4, STEPS = 6 };

/* Threads that share one device, each with its own tensors, as plans or as lists.  On a CPU they share its workers. */
struct worker {
    const struct test_device *device;
    struct adam_session session;
    quern_status status;
};

static void *step_on(void *user) {
    struct worker *worker = user;
    device_use(worker->device);
    for (int64_t step = 1; step <= STEPS && worker->status == QUERN_OK; step++) {
        worker->session.args.step = step;
        worker->status = adam_session_step(&worker->session);
    }
    return NULL;
}

static void check_threads(const struct test_device *device, const struct quern_kernel *row, bool with_plan) {
    const int64_t counts[] = {test_size(100000, 2100), 40, 0, 7};
    struct worker workers[THREADS];
    struct adam_problem problems[THREADS], expected;
    pthread_t threads[THREADS];
    quern_adam_args args = adam_args_of(row);
    for (int i = 0; i < THREADS; i++) {
        args.seed = (uint64_t)i;
        adam_make(&problems[i], &args, counts, COUNT(counts));
        problems[i].with_plan = with_plan;
        workers[i] = (struct worker){.device = device};
        adam_session_open(&workers[i].session, device, &problems[i]);
    }
    for (int i = 0; i < THREADS; i++) check(!pthread_create(&threads[i], NULL, step_on, &workers[i]), "no thread");
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        check_ok(workers[i].status);
        adam_copy(&expected, &problems[i]);
        for (int64_t step = 1; step <= STEPS; step++) expected.args.step = step, adam_model_step(&expected.args);
        adam_session_read(&workers[i].session, &problems[i]);
        adam_session_close(&workers[i].session);
        adam_check_same(&problems[i], &expected, row->name);
        adam_free(&expected);
        adam_free(&problems[i]);
    }
}

Test(adam_plan, several_threads) {
    for (int form = 0; form < 4; form++) {
        const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, form & 1);
        OPEN_ROW(device, row);
        check_threads(&device, row, form & 2);
    }
}

/* One plan, used by one thread after another; on a CPU also with other numbers of workers than at its creation. */
Test(adam_plan, a_plan_goes_from_thread_to_thread) {
    const int64_t counts[] = {test_size(100000, 500), 3, 0, test_size(70001, 33)};
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    const quern_adam_args args = adam_args_of(row);
    struct adam_problem expected CLOSED_BY(adam_free);
    OPEN_ROW(device, row);
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    problem.with_plan = true;
    adam_copy(&expected, &problem);
    if (device.kind == QUERN_CPU) check_ok(quern_set_threads(device.quern, 1, NULL, NULL));
    struct worker worker = {.device = &device};
    adam_session_open(&worker.session, &device, &problem);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (device.kind == QUERN_CPU) check_ok(quern_set_threads(device.quern, 1 + 3 * i, NULL, NULL));
        check(!pthread_create(&thread, NULL, step_on, &worker), "no thread");
        pthread_join(thread, NULL);
        check_ok(worker.status);
        for (int64_t step = 1; step <= STEPS; step++) expected.args.step = step, adam_model_step(&expected.args);
    }
    adam_session_read(&worker.session, &problem);
    adam_session_close(&worker.session);
    adam_check_same(&problem, &expected, row->name);
}

/* An engine may fill in its arguments once and set the plan in them later: a plan is made of the list alone. */
Test(adam_plan, a_plan_of_another_list_does_not_count) {
    static const int64_t counts[] = {300, 5}, other_counts[] = {40};
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    const quern_adam_args args = adam_args_of(row);
    OPEN_ROW(device, row);
    struct adam_problem problem CLOSED_BY(adam_free), other CLOSED_BY(adam_free), expected CLOSED_BY(adam_free);
    struct adam_session session CLOSED_BY(adam_session_close), of_other CLOSED_BY(adam_session_close);
    quern_adam_plan *plan;
    adam_make(&problem, &args, counts, COUNT(counts));
    adam_make(&other, &args, other_counts, COUNT(other_counts));
    other.with_plan = true;
    adam_copy(&expected, &problem);
    adam_session_open(&session, &device, &problem);
    adam_session_open(&of_other, &device, &other);
    session.args.plan = of_other.plan;
    check_ok(quern_adam_plan_create(device.quern, &session.args, &plan));
    session.args.plan = plan, session.args.tensors = NULL;
    check_ok(adam_session_step(&session));
    adam_session_read(&session, &problem);
    adam_model_step(&expected.args);
    adam_check_same(&problem, &expected, row->name);
    quern_adam_plan_destroy(plan);
}

Test(adam_plan, nothing_is_destroyed) { quern_adam_plan_destroy(NULL); }
