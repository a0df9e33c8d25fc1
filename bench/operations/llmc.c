/*
 * The loss with its gradient and the AdamW of llm.c's CPU engine, in turns with Quern's, in fp32.  A copy of llm.c brings the loops:
 * LLMC is its train_gpt2.c.  Compiled and run by bench/llmc.sh.
 */
#define TESTING
#include LLMC

#include <omp.h>
#include <quern.h>

#include "harness/record.h"
#include "harness/times.h"

enum { ROWS = 512, VOCAB = 50257, PADDED = 50304, PARAMETERS = 16 << 20, TURNS = 41 };

static quern_device *device;
static float *logits, *gradient, *probabilities, *losses, *factors;
static int labels[ROWS];
static quern_cross_entropy_args loss_args = QUERN_CROSS_ENTROPY_ARGS_INIT;
static GPT2 model;
static quern_adam_tensor tensor = {.count = PARAMETERS};
static quern_adam_args adam_args = QUERN_ADAM_ARGS_INIT;
static void *workspace;
static size_t workspace_bytes;

static void check_call(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static float *floats(size_t count, float most) {
    float *values = malloc(count * sizeof *values);
    if (!values) exit(EXIT_FAILURE);
    for (size_t i = 0; i < count; i++) values[i] = most * ((float)rand() / (float)RAND_MAX - 0.5f);
    return values;
}

/* As gpt2_zero_grad, gpt2_forward and gpt2_backward do it. */
static void their_loss(void) {
    memset(gradient, 0, sizeof *gradient * ROWS * PADDED);
    softmax_forward(probabilities, logits, 1, ROWS, VOCAB, PADDED);
    crossentropy_forward(losses, probabilities, labels, 1, ROWS, PADDED);
    crossentropy_softmax_backward(gradient, factors, probabilities, labels, 1, ROWS, VOCAB, PADDED);
}

static void our_loss(void) { check_call(quern_cross_entropy(device, &loss_args, workspace, workspace_bytes, NULL)); }
static void their_adam(void) { gpt2_update(&model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.1f, 10); }
static void our_adam(void) { check_call(quern_adam(device, &adam_args, workspace, workspace_bytes, NULL)); }

static double seconds_of(void (*run)(void)) {
    const int64_t begin = clock_nanoseconds();
    run();
    return 1e-9 * (double)(clock_nanoseconds() - begin);
}

/* One turn before is not counted. */
static void compare(const char *operation, void (*theirs)(void), void (*ours)(void)) {
    double times[2][TURNS], ratios[TURNS];
    for (int turn = -1; turn < TURNS; turn++) {
        const double their_time = seconds_of(theirs), our_time = seconds_of(ours);
        if (turn < 0) continue;
        times[0][turn] = their_time, times[1][turn] = our_time, ratios[turn] = their_time / our_time;
    }
    record_begin();
    record_text("operation", operation);
    record_text("name", "llm.c");
    record_integer("threads", omp_get_max_threads());
    const struct times their_times = times_summary(times[0], TURNS), our_times = times_summary(times[1], TURNS);
    record_number("seconds", 4, their_times.median);
    record_number("quern_seconds", 4, our_times.median);
    record_number("ratio", 3, times_summary(ratios, TURNS).median);
    record_number("ratio_of_bests", 3, times[0][0] / times[1][0]);  /* sorted by now */
    record_end();
}

static void prepare_loss(void) {
    logits = floats((size_t)ROWS * PADDED, 8), gradient = floats((size_t)ROWS * PADDED, 0);
    probabilities = floats((size_t)ROWS * PADDED, 0), losses = floats(ROWS, 0), factors = floats(ROWS, 0);
    for (int row = 0; row < ROWS; row++) labels[row] = rand() % VOCAB, factors[row] = 1.0f / ROWS;
    loss_args.logits_dtype = QUERN_F32, loss_args.labels_dtype = QUERN_INT32, loss_args.grad_scale = 1.0f / ROWS;
    loss_args.rows = ROWS, loss_args.vocab = VOCAB, loss_args.padded_vocab = loss_args.logits_stride = PADDED;
    loss_args.logits = logits, loss_args.labels = labels, loss_args.loss = losses, loss_args.grad = gradient;
}

static void prepare_adam(void) {
    model.num_parameters = PARAMETERS;
    model.params_memory = floats(PARAMETERS, 1), model.grads_memory = floats(PARAMETERS, 1);
    their_adam();  /* takes the memory of the moments */
    tensor.param = floats(PARAMETERS, 1), tensor.grad = floats(PARAMETERS, 1);
    tensor.m = floats(PARAMETERS, 0), tensor.v = floats(PARAMETERS, 0);
    adam_args.param_dtype = adam_args.grad_dtype = adam_args.m_dtype = adam_args.v_dtype = QUERN_F32;
    adam_args.tensors = &tensor, adam_args.tensor_count = 1;
    adam_args.lr = 1e-4, adam_args.weight_decay = 0.1, adam_args.step = 10;
}

/* The mean of the losses, which both must agree on. */
static double mean_of(void (*run)(void)) {
    double sum = 0;
    run();
    for (int row = 0; row < ROWS; row++) sum += losses[row];
    return sum / ROWS;
}

int main(void) {
    size_t needed[2];
    check_call(quern_device_open(QUERN_CPU, 0, &device));
    check_call(quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM));
    check_call(quern_set_threads(device, omp_get_max_threads(), NULL, NULL));
    prepare_loss(), prepare_adam();
    check_call(quern_cross_entropy_workspace(device, &loss_args, &needed[0]));
    check_call(quern_adam_workspace(device, &adam_args, &needed[1]));
    workspace_bytes = needed[0] > needed[1] ? needed[0] : needed[1];
    workspace = aligned_alloc(64, workspace_bytes / 64 * 64 + 64);
    const double theirs = mean_of(their_loss), ours = mean_of(our_loss);
    if (!(fabs(theirs - ours) < 1e-5 * fabs(theirs))) {
        fprintf(stderr, "the losses are %g and %g\n", theirs, ours);
        return EXIT_FAILURE;
    }
    compare("loss and gradient", their_loss, our_loss);
    compare("AdamW", their_adam, our_adam);
    quern_device_close(device);
}
