/*
 * The global norm of gradients, against long double.
 *
 * Runs on: cpu, every emulated, gpu; kernels of adam.
 */
#include "harness/adam_case.h"
#include "harness/gradient_case.h"
#include "oracle/dtype.h"
#include "oracle/gradients.h"

static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};

/* ---- the norm ---- */

struct outputs {
    float norm, clip, found_inf;
};

/* Runs it on the device with the three outputs next to each other, initialised to `before`. */
static struct outputs run_norm(struct gradients *g, quern_gradient_norm_args args, struct outputs before) {
    size_t bytes;
    OPEN_BUFFER(outputs, g->device, sizeof before, 0, &before);
    float *numbers = outputs.data;
    args.gradients = args.plan ? NULL : g->on_device, args.gradient_count = args.plan ? 0 : g->tensors;
    args.norm = &numbers[0], args.clip = &numbers[1], args.found_inf = &numbers[2];
    check_ok(quern_gradient_norm_workspace(g->device->quern, &args, &bytes));
    OPEN_BUFFER(workspace, g->device, bytes, 16, NULL);
    check_ok(quern_gradient_norm(g->device->quern, &args, workspace.data, bytes, g->device->stream));
    struct outputs after;
    memcpy(&after, buffer_read(&outputs), sizeof after);
    return after;
}

static const struct outputs nothing = {-1, -1, 0};

static quern_gradient_norm_args norm_args(const struct gradients *g, double max_norm) {
    return (quern_gradient_norm_args)GRADIENT_NORM_ARGS(.grad_dtype = g->dtype, .max_norm = max_norm);
}

static void check_close(struct outputs got, struct exact_norm exact, const char *what) {
    const double norm = (double)got.norm, clip = (double)got.clip;
    check(fabs(norm - exact.norm) <= 1e-6 * exact.norm, "%s: the norm is %.9g, not %.9g", what, norm, exact.norm);
    check(fabs(clip - exact.clip) <= 1e-6 * exact.clip, "%s: clip is %.9g, not %.9g", what, clip, exact.clip);
}

static struct exact_norm exact_of(const struct gradients *g, quern_gradient_norm_args args) {
    args.gradients = g->host, args.gradient_count = g->tensors;
    return gradient_norm_exact(&args);
}

static void check_norm(struct gradients *g, quern_gradient_norm_args args, const char *what) {
    const struct outputs got = run_norm(g, args, nothing);
    check_close(got, exact_of(g, args), what);
    check(got.found_inf == 0, "%s: found_inf is %g", what, (double)got.found_inf);
}

/* Runs a test body for each type of gradients, with all kernels of the target. */
static void for_each_dtype(void (*body)(const struct test_device *device, quern_dtype dtype)) {
    OPEN_PREPARED(device, QUERN_ADAM);
    for (size_t d = 0; d < COUNT(dtypes); d++) body(&device, dtypes[d]);
}
#define TEST_DTYPES(suite, name) TEST_EACH(for_each_dtype, suite, name, const struct test_device *device, quern_dtype dtype)

/* Sizes 0 to 257, longer than a tile, a list longer than a launch. */
TEST_DTYPES(gradient_norm, any_shape) {
    enum { MANY = 2500 };
    static int64_t sizes[258], many[MANY];
    static const int64_t longs[] = {5000, 0, 2048, 2049, 1}, one[] = {1}, empty[] = {0, 0, 0};
    const int64_t large[] = {test_size(300000, 30000), 77};
    for (int i = 0; i < 258; i++) sizes[i] = i;
    for (int i = 0; i < MANY; i++) many[i] = i % 4;
    const struct {
        const int64_t *counts;
        int64_t tensors;
    } lists[] = {{sizes, 258}, {longs, COUNT(longs)}, {one, 1}, {empty, 3}, {empty, 0}, {large, 2}, {many, MANY}};
    for (size_t i = 0; i < COUNT(lists); i++) {
        OPEN_GRADIENTS(g, device, dtype, QUERN_F32, lists[i].counts, lists[i].tensors);
        gradients_upload(&g);
        static const double max_norms[] = {0, 1, 1e9, 1e-3};
        for (size_t k = 0; k < COUNT(max_norms); k++) check_norm(&g, norm_args(&g, max_norms[k]), quern_dtype_name(dtype));
    }
}

/* Enough tiles for several blocks of a GPU to add up their sums: more than 2,048, with a short last part. */
Test(gradient_norm, many_sums_are_added_up_in_parts) {
    static const int64_t counts[] = {2048 * 2048 + 70000};
    OPEN_PREPARED(device, QUERN_ADAM);
    OPEN_GRADIENTS(g, &device, QUERN_BF16, QUERN_F32, counts, 1);
    gradients_upload(&g);
    check_norm(&g, norm_args(&g, 1), "many tiles");
    const struct outputs first = run_norm(&g, norm_args(&g, 1), nothing), again = run_norm(&g, norm_args(&g, 1), nothing);
    check(first.norm == again.norm, "the norm is %.9g and then %.9g", (double)first.norm, (double)again.norm);
}

/* Values whose squares leave the range of fp32, at both ends. */
TEST_DTYPES(gradient_norm, neither_overflows_nor_vanishes) {
    static const double sizes[] = {1e30, 0x1.FEp127, 1e-30, 0x1p-133, 65504, 1e-7, 0x1p-24, 1e4};
    static const int64_t counts[] = {3000, 17};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        if (dtype_round(dtype, sizes[i]) == 0 || !isfinite(dtype_round(dtype, sizes[i]))) continue;
        OPEN_GRADIENTS(g, device, dtype, QUERN_F32, counts, 2);
        for (int place = 0; place < 2; place++)
            for (int64_t k = 0; k < counts[place]; k++)
                dtype_store(dtype, g.host[place].grad, k, k % 2 ? -sizes[i] : k % 3 ? sizes[i] : 0);
        gradients_upload(&g);
        quern_gradient_norm_args args = norm_args(&g, 1);
        args.grad_scale = sizes[i] > 1e20 ? 1e20 : 0;  /* the norm itself must fit fp32 */
        const struct outputs got = run_norm(&g, args, nothing);
        const struct exact_norm exact = exact_of(&g, args);
        if (exact.norm > 0x1p-120) check_close(got, exact, "range");
        else check(fabs((double)got.norm - exact.norm) <= 0x1p-149, "%g instead of %g", (double)got.norm, exact.norm);
        check(got.found_inf == 0, "finite gradients have found_inf %g", (double)got.found_inf);
    }
}

/* The scale of the gradients: from the field, or from the device, which takes precedence. */
TEST_DTYPES(gradient_norm, gradients_may_be_scaled) {
    static const int64_t counts[] = {500};
    OPEN_GRADIENTS(g, device, dtype, QUERN_F32, counts, 1);
    gradients_upload(&g);
    for (int where = 0; where < 3; where++) {
        quern_gradient_norm_args args = norm_args(&g, 0.01);
        const float scale = 1024;
        OPEN_BUFFER(buffer, device, sizeof scale, 0, &scale);
        args.grad_scale = where == 1 ? 3 : 7;
        if (where == 2) args.grad_scale_pointer = buffer.data;
        quern_gradient_norm_args on_host = args;
        if (where == 2) on_host.grad_scale_pointer = &scale;
        check_close(run_norm(&g, args, nothing), exact_of(&g, on_host), "grad_scale");
    }
}

/* A single infinity or NaN at any position is found; otherwise the previous flag stays. */
TEST_DTYPES(gradient_norm, finds_infinity_and_nan) {
    static const double bad[] = {(double)INFINITY, (double)-INFINITY, (double)NAN};
    static const int64_t counts[] = {2500, 0, 40, 1}, places[][2] = {{0, 0}, {0, 2047}, {0, 2048}, {0, 2499}, {2, 39}, {3, 0}};
    struct gradients g CLOSED_BY(gradients_close);
    for (size_t i = 0; i < COUNT(bad) * COUNT(places); i++) {
        gradients_open(&g, device, dtype, QUERN_F32, counts, COUNT(counts));
        dtype_store(dtype, g.host[places[i / 3][0]].grad, places[i / 3][1], bad[i % 3]);
        gradients_upload(&g);
        const struct outputs got = run_norm(&g, norm_args(&g, 1), nothing);
        check(got.found_inf == 1 && got.clip == 0 && !isfinite(got.norm), "%s: norm %g, clip %g, found_inf %g",
              quern_dtype_name(dtype), (double)got.norm, (double)got.clip, (double)got.found_inf);
        gradients_close(&g);
    }
    gradients_open(&g, device, dtype, QUERN_F32, counts, COUNT(counts));
    gradients_upload(&g);
    const struct outputs got = run_norm(&g, norm_args(&g, 1), (struct outputs){-1, -1, 1});
    check(got.found_inf == 1 && isfinite(got.norm), "found_inf is %g, the norm %g", (double)got.found_inf, (double)got.norm);
}

/* Each output is optional. */
TEST_DTYPES(gradient_norm, each_output_can_be_left_out) {
    static const int64_t counts[] = {300};
    OPEN_GRADIENTS(g, device, dtype, QUERN_F32, counts, 1);
    gradients_upload(&g);
    quern_gradient_norm_args args = norm_args(&g, 1);
    args.gradients = g.on_device, args.gradient_count = 1;
    const struct exact_norm exact = exact_of(&g, args);
    for (int wanted = 0; wanted < 8; wanted++) {
        size_t bytes;
        OPEN_BUFFER(outputs, device, sizeof nothing, 0, &nothing);
        float *numbers = outputs.data;
        args.norm = wanted & 1 ? &numbers[0] : NULL, args.clip = wanted & 2 ? &numbers[1] : NULL;
        args.found_inf = wanted & 4 ? &numbers[2] : NULL;
        check_ok(quern_gradient_norm_workspace(device->quern, &args, &bytes));
        OPEN_BUFFER(workspace, device, bytes, 16, NULL);
        check_ok(quern_gradient_norm(device->quern, &args, workspace.data, bytes, device->stream));
        const float *got = buffer_read(&outputs);
        check(wanted & 1 ? fabs((double)got[0] - exact.norm) < 1e-6 * exact.norm : got[0] == -1, "the norm is %g", (double)got[0]);
        check(wanted & 2 ? got[1] > 0 && got[1] < 1 : got[1] == -1, "clip is %g", (double)got[1]);
        check(got[2] == 0, "found_inf is %g", (double)got[2]);
    }
}

/* The same bits from run to run and for any number of threads. */
TEST_DTYPES(gradient_norm, the_same_bits_every_time) {
    const int64_t counts[] = {test_size(500000, 20000), 3, 0, test_size(70000, 3000)};
    OPEN_GRADIENTS(g, device, dtype, QUERN_F32, counts, COUNT(counts));
    gradients_upload(&g);
    struct outputs first = {0};
    for (int run = 0; run < 6; run++) {
        if (device->kind == QUERN_CPU) check_ok(quern_set_threads(device->quern, 1 + run, NULL, NULL));
        const struct outputs got = run_norm(&g, norm_args(&g, 1), nothing);
        if (run == 0) first = got;
        check(!memcmp(&got, &first, sizeof got), "run %d: %.9g instead of %.9g", run, (double)got.norm, (double)first.norm);
    }
}

/* The norm of a plan's gradients, or of others, clips them in a step: clip and found_inf never reach the host. */
Test(gradient_norm, a_plan_has_gradients_too) {
    static const int64_t counts[] = {300, 0, 2100, 5};
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    OPEN_PREPARED(device, QUERN_ADAM);
    for (int k = 0; k < 4; k++) {
        const int bad = k % 2;
        quern_adam_args args = adam_args_of(row);
        const float unset = 0;
        args.control.clip = args.control.found_inf = &unset;
        struct adam_problem problem CLOSED_BY(adam_free), before CLOSED_BY(adam_free);
        adam_make(&problem, &args, counts, COUNT(counts));
        problem.with_plan = true, problem.with_grads = k / 2;
        if (bad) adam_set_value(&problem, 2, ARENA_GRAD, 2099, (double)NAN);
        adam_copy(&before, &problem);
        OPEN_ADAM_SESSION(session, &device, &problem);
        quern_gradient_norm_args norm = QUERN_GRADIENT_NORM_ARGS_INIT;
        norm.grad_dtype = QUERN_BF16, norm.plan = session.plan, norm.grads = session.args.grads, norm.max_norm = 0.5;
        norm.clip = (float *)(uintptr_t)session.args.control.clip;
        norm.found_inf = (float *)(uintptr_t)session.args.control.found_inf;
        size_t bytes;
        check_ok(quern_gradient_norm_workspace(device.quern, &norm, &bytes));
        OPEN_BUFFER(workspace, &device, bytes, 16, NULL);
        check_ok(quern_gradient_norm(device.quern, &norm, workspace.data, bytes, device.stream));
        check_ok(adam_session_step(&session));
        adam_session_read(&session, &problem);
        const float clip = adam_numbers(&problem)->clip;
        if (bad) {
            check(adam_numbers(&problem)->found_inf == 1, "NaN was not found");
            check(!memcmp(problem.arena[ARENA_PARAM], before.arena[ARENA_PARAM], before.bytes[ARENA_PARAM]), "a step was taken");
        } else {
            check(clip > 0 && clip < 0.5f, "clip is %g", (double)clip);
            adam_numbers(&before)->clip = clip;
            adam_check_exact(&before, &problem, "clipped");
        }
    }
}
