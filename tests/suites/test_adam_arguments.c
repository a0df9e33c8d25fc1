/*
 * Adam refuses invalid options, plans, gradients and saved states with a detail that names the bad field, and writes nothing. The
 * first fields of its arguments: test_arguments.c.  Damaged saved states: test_adam_saved.c.
 *
 * Runs on: cpu, every emulated, gpu.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/adam_case.h"
#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/adam.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void check_refused(quern_status status, quern_status expected, const char *culprit) {
    check(status == expected, "%s: %s instead of %s: %s", culprit, quern_status_string(status), quern_status_string(expected),
          error_detail());
    check(strstr(error_detail(), culprit), "the detail does not name %s: %s", culprit, error_detail());
}

/* Advances a pointer by this many bytes. */
static void *moved(const void *pointer, int bytes) {
    return (char *)(uintptr_t)pointer + bytes;
}

/* ---- a call with every option ---- */

struct call {
    struct test_device device;
    struct adam_problem problem, after;
    struct adam_session session;
};

static const int64_t counts[] = {40, 0, 33};

static void open_call(struct call *call) {
    static const float number = 1, finite = 0;
    static const int64_t taken = 4;
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, true);
    quern_adam_args args = adam_args_of(row);
    args.use_multipliers = 1;
    args.control = (quern_adam_control){&number, (int64_t *)(uintptr_t)&taken, &number, &number, &finite};
    device_open_row(&call->device, 0, row);
    adam_make(&call->problem, &args, counts, COUNT(counts));
    adam_copy(&call->after, &call->problem);
    adam_session_open(&call->session, &call->device, &call->problem);
}

static void check_untouched(struct call *call, const char *culprit) {
    adam_session_read(&call->session, &call->after);
    for (int a = 0; a < ARENAS; a++)
        check(!call->after.arena[a] || !memcmp(call->after.arena[a], call->problem.arena[a], call->problem.bytes[a]),
              "a refused call has written to array %d (%s)", a, culprit);
}

static void close_call(struct call *call) {
    adam_session_close(&call->session);
    adam_free(&call->problem);
    adam_free(&call->after);
    device_close(&call->device);
}

/* a: the arguments.  t: their tensors; the second is empty. */
#define MISTAKE(change, status, culprit) \
    do { \
        struct call call; \
        open_call(&call); \
        quern_adam_args *a = &call.session.args; \
        quern_adam_tensor *t = call.session.tensors; \
        change; \
        (void)a, (void)t; \
        check_refused(adam_session_step(&call.session), status, culprit); \
        check_untouched(&call, culprit); \
        close_call(&call); \
    } while (0)

Test(adam_arguments, a_call_that_uses_everything) {
    struct call call;
    open_call(&call);
    check_ok(adam_session_step(&call.session));
    close_call(&call);
}

Test(adam_arguments, types) {
    MISTAKE(a->m_dtype = QUERN_REMAINDER, QUERN_INVALID_DTYPE, "m_dtype");
    MISTAKE(a->v_dtype = QUERN_INT32, QUERN_INVALID_DTYPE, "v_dtype");
    MISTAKE(a->param_dtype = QUERN_E4M3, QUERN_INVALID_DTYPE, "param_dtype");
    MISTAKE(a->grad_dtype = QUERN_E5M2, QUERN_INVALID_DTYPE, "grad_dtype");
    MISTAKE(a->master_dtype = QUERN_F16, QUERN_INVALID_DTYPE, "master_dtype");
    MISTAKE(a->param_dtype = QUERN_F16, QUERN_INVALID_DTYPE, "master_dtype");
    MISTAKE(a->param_dtype = QUERN_F32, QUERN_INVALID_DTYPE, "master_dtype");
    MISTAKE(a->copy_dtype = QUERN_F32, QUERN_INVALID_DTYPE, "copy_dtype");
    MISTAKE(a->copy_dtype = QUERN_REMAINDER, QUERN_INVALID_DTYPE, "copy_dtype");
    MISTAKE(a->copy_dtype = (quern_dtype)-1, QUERN_INVALID_DTYPE, "copy_dtype");
}

Test(adam_arguments, choices) {
    MISTAKE(a->eps_mode = (quern_adam_eps_mode)2, QUERN_INVALID_ARGUMENT, "eps_mode");
    MISTAKE(a->eps_mode = (quern_adam_eps_mode)-1, QUERN_INVALID_ARGUMENT, "eps_mode");
    MISTAKE(a->amsgrad = 2, QUERN_INVALID_ARGUMENT, "amsgrad");
    MISTAKE(a->maximize = -1, QUERN_INVALID_ARGUMENT, "maximize");
    MISTAKE(a->zero_grads = 100, QUERN_INVALID_ARGUMENT, "zero_grads");
    MISTAKE(a->use_multipliers = 2, QUERN_INVALID_ARGUMENT, "use_multipliers");
    MISTAKE(a->param_rounding = QUERN_ROUND_STOCHASTIC, QUERN_INVALID_ARGUMENT, "param_rounding");
}

Test(adam_arguments, numbers) {
    static const double bad[] = {-1, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < COUNT(bad); i++) {
        MISTAKE(a->grad_scale = bad[i]; a->control.grad_scale = NULL, QUERN_INVALID_ARGUMENT, "grad_scale");
        MISTAKE(a->lr = bad[i]; a->control.lr = NULL, QUERN_INVALID_ARGUMENT, "lr");
        MISTAKE(t[2].lr_multiplier = (float)bad[i], QUERN_INVALID_ARGUMENT, "tensors[2].lr_multiplier");
        MISTAKE(t[0].weight_decay_multiplier = (float)bad[i], QUERN_INVALID_ARGUMENT, "tensors[0].weight_decay_multiplier");
    }
    MISTAKE(a->step = 0; a->control.step = NULL, QUERN_INVALID_ARGUMENT, "step");
}

/* Values that are infinite in fp32, or whose reciprocal is, and would turn parameters into NaN. */
Test(adam_arguments, numbers_beyond_fp32) {
    static const double large[] = {3.5e38, 1e300};
    for (size_t i = 0; i < COUNT(large); i++) {
        MISTAKE(a->lr = large[i]; a->control.lr = NULL, QUERN_INVALID_ARGUMENT, "args.lr");
        MISTAKE(a->eps = large[i], QUERN_INVALID_ARGUMENT, "args.eps");
        MISTAKE(a->weight_decay = large[i], QUERN_INVALID_ARGUMENT, "args.weight_decay");
        MISTAKE(a->grad_scale = large[i]; a->control.grad_scale = NULL, QUERN_INVALID_ARGUMENT, "args.grad_scale");
        MISTAKE(a->grad_scale = 1 / large[i]; a->control.grad_scale = NULL, QUERN_INVALID_ARGUMENT, "args.grad_scale");
    }
    struct call call;
    open_call(&call);
    call.session.args.control.grad_scale = NULL;
    call.session.args.eps = call.session.args.grad_scale = (double)FLT_MAX;
    check_ok(adam_session_step(&call.session));
    call.session.args.grad_scale = 1 / (double)FLT_MAX;
    check_ok(adam_session_step(&call.session));
    close_call(&call);
}

/* A field that the control replaces is ignored. */
Test(adam_arguments, replaced_numbers) {
    struct call call;
    open_call(&call);
    call.session.args.lr = (double)NAN, call.session.args.grad_scale = -1, call.session.args.step = -5;
    check_ok(adam_session_step(&call.session));
    close_call(&call);
}

Test(adam_arguments, pointers) {
    MISTAKE(t[0].m_scale = NULL, QUERN_NULL_POINTER, "tensors[0].m_scale");
    MISTAKE(t[2].v_scale = NULL, QUERN_NULL_POINTER, "tensors[2].v_scale");
    MISTAKE(t[2].v_max = NULL, QUERN_NULL_POINTER, "tensors[2].v_max");
    MISTAKE(t[0].v_max_scale = NULL, QUERN_NULL_POINTER, "tensors[0].v_max_scale");
    MISTAKE(t[0].copy = NULL, QUERN_NULL_POINTER, "tensors[0].copy");
    MISTAKE(t[2].master = NULL, QUERN_NULL_POINTER, "tensors[2].master");
    MISTAKE(t[2].master = moved(t[2].master, 1), QUERN_INVALID_ARGUMENT, "tensors[2].master");
    MISTAKE(t[0].copy_scale = moved(t[0].copy_scale, 2), QUERN_INVALID_ARGUMENT, "tensors[0].copy_scale");
    MISTAKE(t[0].copy_max = moved(t[0].copy_max, 1), QUERN_INVALID_ARGUMENT, "tensors[0].copy_max");
    MISTAKE(t[0].v = t[0].m, QUERN_INVALID_ARGUMENT, "tensors[0].v");
    MISTAKE(t[2].m_scale = moved(t[2].grad, 60), QUERN_INVALID_ARGUMENT, "tensors[2].m_scale");
    MISTAKE(t[2].copy = moved(t[2].param, -32), QUERN_INVALID_ARGUMENT, "tensors[2].copy");
    MISTAKE(t[2].count = INT64_MAX, QUERN_INVALID_SHAPE, "tensors[2].count");
    MISTAKE(a->control.lr = moved(a->control.lr, 1), QUERN_INVALID_ARGUMENT, "control.lr");
    MISTAKE(a->control.step = moved(a->control.step, 4), QUERN_INVALID_ARGUMENT, "control.step");
    MISTAKE(a->control.grad_scale = moved(a->control.grad_scale, 2), QUERN_INVALID_ARGUMENT, "control.grad_scale");
    MISTAKE(a->control.clip = moved(a->control.clip, 3), QUERN_INVALID_ARGUMENT, "control.clip");
    MISTAKE(a->control.found_inf = moved(a->control.found_inf, 2), QUERN_INVALID_ARGUMENT, "control.found_inf");
}

/* The scales of a tensor have a byte for each block of 32 elements, the last of which may be short. */
Test(adam_arguments, scales_reach_to_the_last_block) {
    static const int64_t sizes[] = {1, 31, 32, 33, 40};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const int blocks = (int)(sizes[i] + 31) / 32;
        struct call call;
        quern_adam_plan *plan;
        open_call(&call);
        quern_adam_tensor *t = call.session.tensors;
        uint8_t *const scales = t[2].copy;  /* a place that no other tensor uses */
        call.session.args.copy_dtype = QUERN_NO_DTYPE;
        t[0].count = sizes[i];
        t[0].m_scale = scales, t[0].v_scale = scales + blocks, t[0].v_max_scale = scales + 2 * blocks;
        check_ok(quern_adam_plan_create(call.device.quern, &call.session.args, &plan));
        quern_adam_plan_destroy(plan);
        t[0].v_scale--;
        check_refused(quern_adam_plan_create(call.device.quern, &call.session.args, &plan), QUERN_INVALID_ARGUMENT,
                      "tensors[0].v_scale");
        close_call(&call);
    }
}

/* Only 8-bit copies have a scale. */
Test(adam_arguments, scale_of_a_wide_copy) {
    struct call call;
    open_call(&call);
    quern_adam_args args = call.problem.args;
    args.copy_dtype = QUERN_BF16;
    struct adam_problem problem;
    struct adam_session session;
    adam_make(&problem, &args, counts, COUNT(counts));
    adam_session_open(&session, &call.device, &problem);
    check_ok(adam_session_step(&session));
    session.tensors[0].copy_scale = call.session.tensors[0].copy_scale;
    check_refused(adam_session_step(&session), QUERN_INVALID_ARGUMENT, "tensors[0].copy_scale");
    adam_session_close(&session);
    adam_free(&problem);
    close_call(&call);
}

/* Fields that the arguments do not select may hold anything. */
Test(adam_arguments, what_is_not_asked_for_is_ignored) {
    static const int64_t one[] = {40};
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    const quern_adam_args args = adam_args_of(row);
    struct test_device device;
    struct adam_problem problem, expected;
    struct adam_session session;
    device_open_row(&device, 0, row);
    adam_make(&problem, &args, one, 1);
    adam_copy(&expected, &problem);
    adam_session_open(&session, &device, &problem);
    void *const nowhere = (void *)(uintptr_t)1;
    quern_adam_tensor *t = &session.tensors[0];
    t->master = t->v_max = t->copy = nowhere, t->m_scale = t->v_scale = t->v_max_scale = nowhere;
    t->copy_scale = t->copy_max = nowhere;
    t->lr_multiplier = t->weight_decay_multiplier = NAN;
    check_ok(adam_session_step(&session));
    adam_model_step(&expected.args);
    adam_session_read(&session, &problem);
    adam_check_same(&problem, &expected, "what is not asked for");
    adam_session_close(&session);
    adam_free(&problem);
    adam_free(&expected);
    device_close(&device);
}

/* ---- programs that were compiled against the first header ---- */

/* Their structs are shorter: the missing fields count as zero, and the bytes behind the struct are not read. */
Test(adam_arguments, older_structs) {
    enum { OLD_TENSOR = offsetof(quern_adam_tensor, m_scale), OLD_ARGS = offsetof(quern_adam_args, amsgrad) };
    static const int64_t three[] = {40, 0, 33};
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, false);
    const quern_adam_args args = adam_args_of(row);
    struct test_device device;
    struct adam_problem problem, expected;
    struct adam_session session;
    device_open_row(&device, 0, row);
    adam_make(&problem, &args, three, 3);
    adam_copy(&expected, &problem);
    adam_run(&device, &expected);
    adam_session_open(&session, &device, &problem);
    char list[3 * OLD_TENSOR];
    for (int i = 0; i < 3; i++) memcpy(list + i * OLD_TENSOR, &session.tensors[i], OLD_TENSOR);
    quern_adam_args old = session.args;
    memset((char *)&old + offsetof(quern_adam_args, eps_mode), 0xEE, sizeof old - offsetof(quern_adam_args, eps_mode));
    old.size = OLD_ARGS, old.tensor_size = OLD_TENSOR;
    old.tensors = (const quern_adam_tensor *)(const void *)list;
    size_t bytes = 1;
    check_ok(quern_adam_workspace(device.quern, &old, &bytes));
    check(bytes == 0, "%zu bytes of workspace", bytes);
    check_ok(quern_adam(device.quern, &old, NULL, 0, device.stream));
    adam_session_read(&session, &problem);
    adam_check_same(&problem, &expected, "an older program");
    adam_session_close(&session);
    adam_free(&problem);
    adam_free(&expected);
    device_close(&device);
}

/*
 * Struct sizes that no header has had, and tensors without the requested multipliers: reading those as 0 would freeze the
 * tensors.
 */
Test(adam_arguments, sizes_of_structs) {
    MISTAKE(a->size = offsetof(quern_adam_args, plan) + 4, QUERN_INVALID_STRUCT_SIZE, "args.size");
    MISTAKE(a->size = offsetof(quern_adam_args, amsgrad) - 8, QUERN_INVALID_STRUCT_SIZE, "args.size");
    MISTAKE(a->size += 8, QUERN_INVALID_STRUCT_SIZE, "args.size");
    MISTAKE(a->tensor_size += 8, QUERN_INVALID_STRUCT_SIZE, "args.tensor_size");
    MISTAKE(a->tensor_size -= 4, QUERN_INVALID_STRUCT_SIZE, "args.tensor_size");
    MISTAKE(a->tensor_size = offsetof(quern_adam_tensor, m_scale) - 8, QUERN_INVALID_STRUCT_SIZE, "args.tensor_size");
    MISTAKE(a->tensor_size = offsetof(quern_adam_tensor, lr_multiplier), QUERN_INVALID_STRUCT_SIZE, "use_multipliers");
}

/* ---- workspace and plans ---- */

Test(adam_arguments, workspace) {
    struct call call;
    open_call(&call);
    quern_adam_args *a = &call.session.args;
    quern_device *device = call.device.quern;
    void *const workspace = call.session.workspace.data, *const stream = call.device.stream;
    size_t bytes = call.session.workspace_bytes;
    if (bytes) {
        check_refused(quern_adam(device, a, workspace, bytes - 1, stream), QUERN_WORKSPACE_TOO_SMALL, "workspace");
        check_refused(quern_adam(device, a, NULL, bytes, stream), QUERN_NULL_POINTER, "workspace");
        check_untouched(&call, "workspace");
    }
    bytes = 77;
    a->control.step = NULL;
    check_ok(quern_adam_workspace(device, a, &bytes));
    check(bytes == 0, "%zu bytes without control.step", bytes);
    close_call(&call);
}

/* A plan is made for its device, its types and its options. */
Test(adam_arguments, plan) {
    struct call call;
    open_call(&call);
    quern_adam_args *a = &call.session.args;
    quern_adam_plan *plan = NULL;
    check_refused(quern_adam_plan_create(NULL, a, &plan), QUERN_NULL_POINTER, "device");
    check_refused(quern_adam_plan_create(call.device.quern, NULL, &plan), QUERN_NULL_POINTER, "args");
    check_refused(quern_adam_plan_create(call.device.quern, a, NULL), QUERN_NULL_POINTER, "plan");
    call.session.tensors[0].v_scale = NULL;
    check_refused(quern_adam_plan_create(call.device.quern, a, &plan), QUERN_NULL_POINTER, "tensors[0].v_scale");
    check(!plan, "a refused plan was given back");
    close_call(&call);

    open_call(&call);
    call.problem.with_plan = true;
    struct adam_session planned;
    adam_session_open(&planned, &call.device, &call.problem);
    const quern_adam_args good = planned.args;
    const struct {
        const char *culprit;
        quern_adam_args args;
    } mistakes[] = {
        {"param_dtype", ({ quern_adam_args b = good; b.param_dtype = QUERN_F16, b.master_dtype = QUERN_NO_DTYPE; b; })},
        {"grad_dtype", ({ quern_adam_args b = good; b.grad_dtype = QUERN_F32; b; })},
        {"m_dtype", ({ quern_adam_args b = good; b.m_dtype = QUERN_BF16; b; })},
        {"v_dtype", ({ quern_adam_args b = good; b.v_dtype = QUERN_F32; b; })},
        {"master_dtype", ({ quern_adam_args b = good; b.master_dtype = QUERN_F32; b; })},
        {"copy_dtype", ({ quern_adam_args b = good; b.copy_dtype = QUERN_NO_DTYPE; b; })},
        {"amsgrad", ({ quern_adam_args b = good; b.amsgrad = 0; b; })},
        {"zero_grads", ({ quern_adam_args b = good; b.zero_grads = 0; b; })},
        {"use_multipliers", ({ quern_adam_args b = good; b.use_multipliers = 0; b; })},
        {"tensors", ({ quern_adam_args b = good; b.tensors = call.session.tensors, b.tensor_count = 3; b; })},
    };
    for (size_t i = 0; i < COUNT(mistakes); i++)
        check_refused(quern_adam(call.device.quern, &mistakes[i].args, NULL, 0, call.device.stream), QUERN_INVALID_ARGUMENT,
                      mistakes[i].culprit);
    struct test_device other;
    device_open(&other, 0, NULL);
    check_ok(quern_prepare(other.quern, QUERN_ADAM));
    check_refused(quern_adam(other.quern, &good, NULL, 0, other.stream), QUERN_INVALID_ARGUMENT, "another device");
    adam_session_read(&planned, &call.after);
    adam_check_same(&call.after, &call.problem, "refused");
    device_close(&other);
    adam_session_close(&planned);
    close_call(&call);
}

/* A legal request without a kernel: the detail says how to generate one. */
Test(adam_arguments, a_kernel_that_is_not_built) {
    static const int64_t one[] = {40};
    struct test_device device;
    device_open(&device, 0, NULL);
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    quern_adam_args args = adam_args_of(find_adam_row(QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, true));
    args.m_dtype = QUERN_E5M2;
    struct adam_problem problem;
    struct adam_session session;
    adam_make(&problem, &args, one, 1);
    adam_session_open(&session, &device, &problem);
    check_refused(adam_session_step(&session), QUERN_NO_KERNEL, "adam_pf32_gf32_me5m2_ve4m3_full");
    check(strstr(error_detail(), "gen add"), "%s", error_detail());
    adam_session_close(&session);
    adam_free(&problem);
    device_close(&device);
}

/* ---- gradients ---- */

struct gradient_call {
    struct test_device device;
    struct buffer grads, sums, outputs, workspace;
    quern_gradient list[3];
    quern_gradient_norm_args norm;
    quern_accumulate_args sum;
    size_t workspace_bytes;
};

static void open_gradients(struct gradient_call *call) {
    device_open(&call->device, 0, NULL);
    check_ok(quern_prepare(call->device.quern, QUERN_ADAM));
    buffer_open(&call->grads, &call->device, 400, 0, NULL);
    buffer_open(&call->sums, &call->device, 400, 0, NULL);
    buffer_open(&call->outputs, &call->device, 16, 0, NULL);
    for (int i = 0; i < 3; i++)
        call->list[i] = (quern_gradient){(char *)call->grads.data + 100 * i, (float *)call->sums.data + 30 * i, i == 1 ? 0 : 20};
    float *outputs = call->outputs.data;
    call->norm = (quern_gradient_norm_args)QUERN_GRADIENT_NORM_ARGS_INIT;
    call->norm.grad_dtype = QUERN_BF16, call->norm.gradients = call->list, call->norm.gradient_count = 3, call->norm.max_norm = 1;
    call->norm.norm = outputs, call->norm.clip = outputs + 1, call->norm.found_inf = outputs + 2;
    call->sum = (quern_accumulate_args)QUERN_ACCUMULATE_ARGS_INIT;
    call->sum.grad_dtype = QUERN_BF16, call->sum.gradients = call->list, call->sum.gradient_count = 3;
    check_ok(quern_gradient_norm_workspace(call->device.quern, &call->norm, &call->workspace_bytes));
    buffer_open(&call->workspace, &call->device, call->workspace_bytes, 16, NULL);
}

static void close_gradients(struct gradient_call *call, const char *culprit) {
    struct buffer *buffers[] = {&call->grads, &call->sums, &call->outputs, &call->workspace};
    for (size_t i = 0; i < COUNT(buffers); i++) {
        check(holds_pattern(buffer_read(buffers[i]), buffers[i]->bytes), "a refused call has written (%s)", culprit);
        buffer_close(buffers[i]);
    }
    device_close(&call->device);
}

static quern_status run_norm(struct gradient_call *call) {
    return quern_gradient_norm(call->device.quern, &call->norm, call->workspace.data, call->workspace_bytes, call->device.stream);
}

static quern_status run_sum(struct gradient_call *call) {
    return quern_accumulate(call->device.quern, &call->sum, call->device.stream);
}

#define GRADIENT_MISTAKE(run, change, status, culprit) \
    do { \
        struct gradient_call call; \
        open_gradients(&call); \
        change; \
        check_refused(run(&call), status, culprit); \
        close_gradients(&call, culprit); \
    } while (0)

Test(adam_arguments, gradient_norm) {
    GRADIENT_MISTAKE(run_norm, call.norm.size = 0, QUERN_INVALID_STRUCT_SIZE, "size");
    GRADIENT_MISTAKE(run_norm, call.norm.size += 8, QUERN_INVALID_STRUCT_SIZE, "size");
    GRADIENT_MISTAKE(run_norm, call.norm.gradient_size = 8, QUERN_INVALID_STRUCT_SIZE, "gradient_size");
    GRADIENT_MISTAKE(run_norm, call.norm.grad_dtype = QUERN_E4M3, QUERN_INVALID_DTYPE, "grad_dtype");
    GRADIENT_MISTAKE(run_norm, call.norm.grad_dtype = QUERN_NO_DTYPE, QUERN_INVALID_DTYPE, "grad_dtype");
    GRADIENT_MISTAKE(run_norm, call.norm.gradients = NULL, QUERN_NULL_POINTER, "gradients");
    GRADIENT_MISTAKE(run_norm, call.norm.gradient_count = -1, QUERN_INVALID_SHAPE, "gradient_count");
    GRADIENT_MISTAKE(run_norm, call.norm.max_norm = -1, QUERN_INVALID_ARGUMENT, "max_norm");
    GRADIENT_MISTAKE(run_norm, call.norm.max_norm = (double)NAN, QUERN_INVALID_ARGUMENT, "max_norm");
    GRADIENT_MISTAKE(run_norm, call.norm.grad_scale = -2, QUERN_INVALID_ARGUMENT, "grad_scale");
    GRADIENT_MISTAKE(run_norm, call.norm.grad_scale = (double)INFINITY, QUERN_INVALID_ARGUMENT, "grad_scale");
    GRADIENT_MISTAKE(run_norm, call.list[2].count = -4, QUERN_INVALID_SHAPE, "gradients[2].count");
    GRADIENT_MISTAKE(run_norm, call.list[0].grad = NULL, QUERN_NULL_POINTER, "gradients[0].grad");
    GRADIENT_MISTAKE(run_norm, call.list[2].grad = moved(call.list[2].grad, 1), QUERN_INVALID_ARGUMENT, "gradients[2].grad");
    GRADIENT_MISTAKE(run_norm, call.norm.clip = moved(call.norm.clip, 1), QUERN_INVALID_ARGUMENT, "clip");
    GRADIENT_MISTAKE(run_norm, call.norm.norm = moved(call.norm.norm, 2), QUERN_INVALID_ARGUMENT, "norm");
    GRADIENT_MISTAKE(run_norm, call.norm.found_inf = moved(call.norm.found_inf, 3), QUERN_INVALID_ARGUMENT, "found_inf");
    GRADIENT_MISTAKE(run_norm, call.norm.grad_scale_pointer = moved(call.norm.norm, 1), QUERN_INVALID_ARGUMENT,
                     "grad_scale_pointer");
    GRADIENT_MISTAKE(run_norm, call.workspace_bytes--, QUERN_WORKSPACE_TOO_SMALL, "workspace");
}

Test(adam_arguments, accumulate) {
    GRADIENT_MISTAKE(run_sum, call.sum.size = 0, QUERN_INVALID_STRUCT_SIZE, "size");
    GRADIENT_MISTAKE(run_sum, call.sum.gradient_size = 0, QUERN_INVALID_STRUCT_SIZE, "gradient_size");
    GRADIENT_MISTAKE(run_sum, call.sum.grad_dtype = QUERN_INT32, QUERN_INVALID_DTYPE, "grad_dtype");
    GRADIENT_MISTAKE(run_sum, call.sum.zero_grads = 2, QUERN_INVALID_ARGUMENT, "zero_grads");
    GRADIENT_MISTAKE(run_sum, call.sum.scale = (double)NAN, QUERN_INVALID_ARGUMENT, "scale");
    GRADIENT_MISTAKE(run_sum, call.sum.scale = -3.5e38, QUERN_INVALID_ARGUMENT, "scale");
    GRADIENT_MISTAKE(run_sum, call.sum.gradients = NULL, QUERN_NULL_POINTER, "gradients");
    GRADIENT_MISTAKE(run_sum, call.sum.gradient_count = -7, QUERN_INVALID_SHAPE, "gradient_count");
    GRADIENT_MISTAKE(run_sum, call.list[0].count = -1, QUERN_INVALID_SHAPE, "gradients[0].count");
    GRADIENT_MISTAKE(run_sum, call.list[0].main_grad = NULL, QUERN_NULL_POINTER, "gradients[0].main_grad");
    GRADIENT_MISTAKE(run_sum, call.list[2].main_grad = moved(call.list[2].main_grad, 2), QUERN_INVALID_ARGUMENT,
                     "gradients[2].main_grad");
    GRADIENT_MISTAKE(run_sum, call.list[2].main_grad = call.list[2].grad, QUERN_INVALID_ARGUMENT, "overlaps");
}

Test(adam_arguments, null_of_gradients_and_saved_states) {
    struct call call;
    struct gradient_call gradients;
    size_t bytes;
    open_call(&call);
    open_gradients(&gradients);
    quern_device *device = call.device.quern;
    check_refused(quern_gradient_norm(NULL, &gradients.norm, NULL, 0, NULL), QUERN_NULL_POINTER, "device");
    check_refused(quern_gradient_norm(device, NULL, NULL, 0, call.device.stream), QUERN_NULL_POINTER, "args");
    check_refused(quern_gradient_norm_workspace(device, &gradients.norm, NULL), QUERN_NULL_POINTER, "bytes");
    check_refused(quern_gradient_norm_workspace(NULL, &gradients.norm, &bytes), QUERN_NULL_POINTER, "device");
    check_refused(quern_accumulate(NULL, &gradients.sum, NULL), QUERN_NULL_POINTER, "device");
    check_refused(quern_accumulate(device, NULL, call.device.stream), QUERN_NULL_POINTER, "args");
    check_refused(quern_adam_saved_bytes(NULL, &call.session.args, &bytes), QUERN_NULL_POINTER, "device");
    check_refused(quern_adam_saved_bytes(device, NULL, &bytes), QUERN_NULL_POINTER, "args");
    check_refused(quern_adam_saved_bytes(device, &call.session.args, NULL), QUERN_NULL_POINTER, "bytes");
    check_refused(quern_adam_save(device, &call.session.args, NULL, 1 << 20), QUERN_NULL_POINTER, "saved");
    check_refused(quern_adam_load(device, &call.session.args, NULL, 1 << 20, NULL, NULL), QUERN_NULL_POINTER, "saved");
    close_gradients(&gradients, "NULL");
    close_call(&call);
}

/* ---- random bytes ---- */

/* Random bytes in the options: the call returns a status with a reason and does not crash. */
Test(adam_arguments, fuzzed_options) {
    static const int64_t some[] = {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, -1, INT32_MIN, INT32_MAX};
    static const double doubles[] = {0, 1, 0.5, -1, (double)NAN, (double)INFINITY, 1e-300, 1e300};
    struct call call;
    open_call(&call);
    const quern_adam_args good = call.session.args;
    const quern_adam_tensor tensor = call.session.tensors[2];
    const int64_t rounds = test_size(100000, 2000);
    int64_t refused = 0;
    for (int64_t i = 0; i < rounds; i++) {
        const uint64_t which = random_bits(11, (uint64_t)i), n = (uint64_t)i * 16;
        quern_adam_args *a = &call.session.args;
        quern_adam_tensor *t = &call.session.tensors[2];
        *a = good, *t = tensor;
#define SOME(k) (int32_t)some[random_bits(12, n + (k)) % COUNT(some)]
        if ((which & 3) == 3) a->amsgrad = SOME(0);
        if ((which & 12) == 12) a->zero_grads = SOME(1);
        if ((which & 48) == 48) a->copy_dtype = (quern_dtype)SOME(2);
        if ((which & 192) == 192) a->eps_mode = (quern_adam_eps_mode)SOME(3);
        if ((which & 768) == 768) a->m_dtype = (quern_dtype)SOME(4);
        if (a->m_dtype == QUERN_BF16) a->m_dtype = good.m_dtype;  /* a kernel would write beyond the buffer */
        if ((which & 3072) == 3072) a->master_dtype = (quern_dtype)SOME(5);
        if (which >> 12 & 1) a->use_multipliers = SOME(6);
        if (which >> 13 & 1) a->grad_scale = doubles[which >> 40 & 7];
        if (which >> 14 & 1) t->lr_multiplier = (float)doubles[which >> 43 & 7];
        if (which >> 15 & 1) a->control.grad_scale = NULL;
        if (which >> 16 & 1) t->v_max = NULL;
        if (which >> 17 & 1) t->copy = NULL;
        if (which >> 18 & 1) t->count = SOME(7) % 34;
        if (which >> 19 & 1) a->size = (uint32_t)SOME(8);
#undef SOME
        const quern_status status = adam_session_step(&call.session);
        refused += status != QUERN_OK;
        check(status == QUERN_OK || strlen(error_detail()) > 0, "a refusal without a reason");
        check(status < 3000, "%s: %s", quern_status_string(status), error_detail());
    }
    check(refused > 0 && refused < rounds, "%d of %d refused", (int)refused, (int)rounds);
    close_call(&call);
}
