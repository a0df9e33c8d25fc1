/*
 * Policy gradient with an entropy bonus: a policy over 1,000 tokens, a table of logits, learns to say the token that a prompt rewards.
 * Tokens are sampled at a temperature, and the gradient is that of the same temperature.
 *
 *   cc policy_gradient.c $(pkg-config --cflags --libs quern) -lm -o policy_gradient
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

enum { ROWS = 64, VOCAB = 1000, STEPS = 400 };

static const float temperature = 2, bonus = 0.01f, rate = 15;

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

/* Uniform in [0, 1), the same on every machine. */
static float uniform(void) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / (1 << 24);
}

/* A token of softmax(logits / temperature). */
static int32_t sample(const float *logits) {
    float sum = 0, at;
    for (int j = 0; j < VOCAB; j++) sum += expf(logits[j] / temperature);
    at = uniform() * sum;
    for (int j = 0; j < VOCAB - 1; j++)
        if ((at -= expf(logits[j] / temperature)) < 0) return j;
    return VOCAB - 1;
}

/* 1 for the token that the row asks for, less for those further away. */
static float reward(int row, int32_t token) {
    return 1 - (float)abs(token - (row * 15 + 7)) / VOCAB;
}

int main(void) {
    static float logits[ROWS][VOCAB], grad[ROWS][VOCAB], baseline[ROWS];
    static float log_prob[ROWS], entropy[ROWS], grad_log_prob[ROWS], mean_reward, mean_entropy;
    static int32_t tokens[ROWS];
    const float zero = 0, grad_entropy = -bonus / ROWS;
    size_t bytes;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_CROSS_ENTROPY));

    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_F32, args.labels_dtype = QUERN_INT32, args.rows = ROWS, args.vocab = VOCAB;
    args.logits = logits, args.grad = grad, args.labels = tokens, args.log_prob = log_prob, args.entropy = entropy;
    args.inverse_temperature = 1 / temperature;
    args.grad_loss = &zero, args.grad_loss_stride = 0;
    args.grad_log_prob = grad_log_prob;
    args.grad_entropy = &grad_entropy, args.grad_entropy_stride = 0;
    check(quern_cross_entropy_workspace(device, &args, &bytes));
    void *workspace = aligned_alloc(16, (bytes + 15) / 16 * 16);

    for (int step = 0; step < STEPS; step++) {
        mean_reward = mean_entropy = 0;
        for (int r = 0; r < ROWS; r++) {
            tokens[r] = sample(logits[r]);
            const float got = reward(r, tokens[r]);
            grad_log_prob[r] = -(got - baseline[r]) / ROWS;
            baseline[r] += step ? 0.1f * (got - baseline[r]) : got;
            mean_reward += got / ROWS;
        }
        check(quern_cross_entropy(device, &args, workspace, bytes, NULL));
        for (int r = 0; r < ROWS; r++) {
            mean_entropy += entropy[r] / ROWS;
            for (int j = 0; j < VOCAB; j++) logits[r][j] -= rate * ROWS * grad[r][j];
        }
        if (step % 100 == 0) printf("step %3d: reward %.2f, entropy %.2f\n", step, mean_reward, mean_entropy);
    }
    printf("after %d steps the mean reward is %s 0.85\n", STEPS, mean_reward > 0.85f ? "above" : "below");
    free(workspace);
    quern_device_close(device);
}
