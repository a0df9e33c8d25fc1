/*
 * GPUs: operations are asynchronous on the caller's stream, can be captured into a graph, need no current context, and
 * report the driver's errors.
 *
 * Runs on: every emulated, gpu.
 */
#include <stdatomic.h>

#include "harness/adam_case.h"
#include "harness/cross_entropy_case.h"
#include "harness/cuda.h"
#include "oracle/adam.h"

enum { ROWS = 6, VOCAB = 300, CUDA_NOT_READY = 600 };

/* A call of each operation, with buffers that outlive it. */
struct calls {
    struct test_device device;
    struct cross_entropy_case c;
    struct cross_entropy_inputs inputs;
    struct cross_entropy_outputs outputs;  /* of the same call, made directly */
    struct buffer logits, labels, grad, loss, workspace;
    size_t workspace_bytes;
    quern_cross_entropy_args args;
    struct adam_problem problem;
    struct adam_session adam;
};

/* With a softcap a mean has a kernel for the labels and one for the sum of the losses. */
static void open_cross_entropy(struct calls *calls, float softcap, quern_reduction reduction) {
    static uint64_t opened;
    calls->c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = ROWS, .vocab = VOCAB, .no_report = true,
                                  .reduction = reduction, .seed = ++opened, .softcap = softcap);
    cross_entropy_make_inputs(&calls->c, &calls->inputs);
    cross_entropy_run(&calls->device, &calls->c, &calls->inputs, &calls->outputs);
    calls->args = cross_entropy_args_of(&calls->c);
    check_ok(quern_cross_entropy_workspace(calls->device.quern, &calls->args, &calls->workspace_bytes));
    buffer_open(&calls->logits, &calls->device, ROWS * VOCAB * 2, 0, calls->inputs.logits);
    buffer_open(&calls->labels, &calls->device, ROWS * 8, 0, calls->inputs.labels);
    buffer_open(&calls->grad, &calls->device, ROWS * VOCAB * 2, 0, NULL);
    buffer_open(&calls->loss, &calls->device, ROWS * 4, 0, NULL);
    buffer_open(&calls->workspace, &calls->device, calls->workspace_bytes, 0, NULL);
    calls->args.logits = calls->logits.data;
    calls->args.labels = calls->labels.data;
    calls->args.grad = calls->grad.data;
    calls->args.loss = calls->loss.data;
}

static void open_adam(struct calls *calls) {
    static const int64_t counts[] = {700, 33};
    const quern_adam_args args = adam_args_of(next_adam_row(NULL));
    adam_make(&calls->problem, &args, counts, 2);
    adam_session_open(&calls->adam, &calls->device, &calls->problem);
}

static void open_calls(struct calls *calls) {
    memset(calls, 0, sizeof *calls);
    device_open(&calls->device, 0, NULL);
    check_ok(quern_prepare(calls->device.quern, QUERN_CROSS_ENTROPY | QUERN_ADAM));
    open_cross_entropy(calls, 0, QUERN_REDUCTION_MEAN);
    open_adam(calls);
}

static void close_calls(struct calls *calls) { device_close(&calls->device); }
#define TEST_CALLS(suite, name) TEST_IN(struct calls, calls, open_calls, close_calls, suite, name)

static void call_cross_entropy(struct calls *calls, void *stream) {
    check_ok(quern_cross_entropy(calls->device.quern, &calls->args, calls->workspace.data, calls->workspace_bytes, stream));
}

static void call_adam(struct calls *calls, void *stream) {
    check_ok(quern_adam(calls->device.quern, &calls->adam.args, NULL, 0, stream));
}

static void check_cross_entropy(struct calls *calls) {
    check(!memcmp(buffer_read(&calls->grad), calls->outputs.grad, calls->grad.bytes), "another gradient");
    check(!memcmp(buffer_read(&calls->loss), calls->outputs.loss, 4), "another loss");
}

/* The arenas must equal the model's after a number of steps. */
static void check_adam(struct calls *calls, int steps) {
    struct adam_problem got CLOSED_BY(adam_free);
    adam_copy(&got, &calls->problem);
    adam_session_read(&calls->adam, &got);
    for (int i = 0; i < steps; i++) adam_model_step(&calls->problem.args);
    adam_check_same(&got, &calls->problem, "on a stream");
}

/* ---- asynchrony ---- */

static atomic_bool released;

/* Blocks the stream until the test releases it, or for ten seconds. */
static void wait_for_release(UNUSED void *user) { for (int i = 0; i < 10000 && !atomic_load(&released); i++) usleep(1000); }

TEST_CALLS(stream, operations_are_asynchronous) {
    void *stream = calls->device.stream;
    if (cuda()->cuLaunchHostFunc) CUDA(cuLaunchHostFunc(stream, wait_for_release, NULL));
    call_cross_entropy(calls, stream);
    call_adam(calls, stream);
    int state = cuda()->cuStreamQuery(stream);
    atomic_store(&released, true);
    check(state == CUDA_NOT_READY, "the stream is done (%d) although it was blocked: the calls have waited", state);
    device_synchronize(&calls->device);
    check_cross_entropy(calls);
    check_adam(calls, 1);
}

/* A stream runs its work in order: each step starts from the result of the one before. */
TEST_CALLS(stream, steps_follow_each_other) {
    for (int i = 0; i < 20; i++) call_adam(calls, calls->device.stream);
    check_adam(calls, 20);
}

/* The gradients of one cross-entropy are the logits of the next one, whose kernels overlap each other, but not the first call. */
static void check_following(float softcap, quern_reduction reduction) {
    struct calls calls;
    struct buffer second;
    memset(&calls, 0, sizeof calls);
    device_open(&calls.device, 0, NULL);
    check_ok(quern_prepare(calls.device.quern, QUERN_CROSS_ENTROPY));
    open_cross_entropy(&calls, softcap, reduction);
    buffer_open(&second, &calls.device, ROWS * VOCAB * 2, 0, NULL);
    unsigned char expected[ROWS * VOCAB * 2];
    for (int waits = 1; waits >= 0; waits--) {
        unsigned char pattern[ROWS * VOCAB * 2];
        fill_pattern(pattern, sizeof pattern);
        buffer_write(&calls.grad, pattern);
        calls.args.logits = calls.logits.data, calls.args.grad = calls.grad.data;
        call_cross_entropy(&calls, calls.device.stream);
        if (waits) device_synchronize(&calls.device);
        calls.args.logits = calls.grad.data, calls.args.grad = second.data;
        call_cross_entropy(&calls, calls.device.stream);
        const void *got = buffer_read(&second);
        if (waits) memcpy(expected, got, sizeof expected);
        check(!memcmp(expected, got, sizeof expected), "softcap %g, reduction %d: another gradient where the host has not waited",
              (double)softcap, (int)reduction);
    }
    device_close(&calls.device);
}

Test(stream, losses_follow_each_other) {
    check_following(0, QUERN_REDUCTION_MEAN);
    check_following(20, QUERN_REDUCTION_MEAN);
    check_following(20, QUERN_REDUCTION_NONE);
}

TEST_CALLS(stream, the_default_stream) {
    call_cross_entropy(calls, NULL);
    call_adam(calls, NULL);
    CUDA(cuStreamSynchronize(NULL));
    check_cross_entropy(calls);
    check_adam(calls, 1);
}

static void *call_and_wait(void *user) {
    struct calls *calls = user;
    device_use(&calls->device);
    call_cross_entropy(calls, calls->device.stream);
    device_synchronize(&calls->device);
    return NULL;
}

/* The blocks of a call count labels and sum losses for each other: calls at the same time do not mix them up. */
Test(stream, two_streams_at_once) {
    static struct calls calls[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) open_calls(&calls[i]);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, call_and_wait, &calls[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) check_cross_entropy(&calls[i]);
    for (int i = 0; i < 2; i++) device_close(&calls[i].device);
}

/* ---- graphs ---- */

static void *capture(struct calls *calls, void (*call)(struct calls *calls, void *stream)) {
    cuda_begin_capture(calls->device.stream);
    call(calls, calls->device.stream);
    return cuda_end_capture(calls->device.stream);
}

static void check_captured(float softcap) {
    struct calls calls;
    memset(&calls, 0, sizeof calls);
    device_open(&calls.device, 0, NULL);
    check_ok(quern_prepare(calls.device.quern, QUERN_CROSS_ENTROPY));
    open_cross_entropy(&calls, softcap, QUERN_REDUCTION_MEAN);
    void *executable = capture(&calls, call_cross_entropy);
    check(holds_pattern(buffer_read(&calls.grad), calls.grad.bytes), "a captured call was executed");
    for (int i = 0; i < 100; i++) CUDA(cuGraphLaunch(executable, calls.device.stream));
    check_cross_entropy(&calls);
    CUDA(cuGraphExecDestroy(executable));
    device_close(&calls.device);
}

Test(stream, a_captured_cross_entropy_can_be_replayed) {
    check_captured(0);
    check_captured(20);
}

/* The list of tensors is read during the call: the replays do not need it. */
TEST_CALLS(stream, a_captured_adam_step_can_be_replayed) {
    void *executable = capture(calls, call_adam);
    memset(calls->adam.tensors, 0, 2 * sizeof *calls->adam.tensors);
    for (int i = 0; i < 100; i++) CUDA(cuGraphLaunch(executable, calls->device.stream));
    check_adam(calls, 100);
    CUDA(cuGraphExecDestroy(executable));
}

/* ---- threads ---- */

static void *call_from_another_thread(void *user) {
    struct calls *calls = user;  /* this thread has no current context */
    call_cross_entropy(calls, calls->device.stream);
    call_adam(calls, calls->device.stream);
    return NULL;
}

TEST_CALLS(stream, no_context_needs_to_be_current) {
    pthread_t thread;
    pthread_create(&thread, NULL, call_from_another_thread, calls);
    pthread_join(thread, NULL);
    check_cross_entropy(calls);
    check_adam(calls, 1);
}

/* ---- errors ---- */

/* A launch that the driver refuses is reported with the driver's message. */
TEST_CALLS(stream, a_refused_launch_is_reported) {
    const char *emulator = getenv("QUERN_EMULATOR");
    if (!emulator) cr_skip_test("a real driver refuses nothing here");
    setenv("QUERN_EMULATOR_FAIL", "cuLaunchKernel:701,cuLaunchKernelEx:701", 1);
    quern_status status = quern_adam(calls->device.quern, &calls->adam.args, NULL, 0, calls->device.stream);
    check(status == QUERN_CUDA_ERROR, "%s", quern_status_string(status));
    check(strstr(error_detail(), "LAUNCH_OUT_OF_RESOURCES"), "%s", error_detail());
    status = quern_cross_entropy(calls->device.quern, &calls->args, calls->workspace.data, calls->workspace_bytes,
                                 calls->device.stream);
    check(status == QUERN_CUDA_ERROR, "%s", quern_status_string(status));
    unsetenv("QUERN_EMULATOR_FAIL");
}
