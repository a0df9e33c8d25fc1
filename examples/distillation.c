/*
 * Distillation: a student, a table of logits, learns the distributions of a teacher from its eight largest tokens and their
 * probabilities alone.  All other tokens are one outcome more.
 *
 *   cc distillation.c $(pkg-config --cflags --libs quern) -lm -o distillation
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

enum { ROWS = 32, VOCAB = 1000, TOP = 8, STEPS = 300 };

static const float rate = 4;

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

/* Both calls fit one workspace. */
static void run(quern_device *device, const quern_cross_entropy_args *args) {
    size_t bytes;
    check(quern_cross_entropy_workspace(device, args, &bytes));
    void *workspace = aligned_alloc(16, (bytes + 15) / 16 * 16);
    check(quern_cross_entropy(device, args, workspace, bytes, NULL));
    free(workspace);
}

int main(void) {
    static float teacher[ROWS][VOCAB], student[ROWS][VOCAB], grad[ROWS][VOCAB], divergence[ROWS];
    static float log_probs[ROWS][TOP], targets[ROWS][TOP], own[ROWS][TOP];
    static int64_t ids[ROWS][TOP];
    static int32_t labels[ROWS];  /* any token: no loss is wanted, but a row without a label is skipped */
    const float zero = 0, one = 1;
    float mean = 0;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_CROSS_ENTROPY));
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < VOCAB; j++) teacher[r][j] = 6 * sinf((float)(j * (r + 3)) * 0.37f);

    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_F32, args.labels_dtype = QUERN_INT32, args.rows = ROWS, args.vocab = VOCAB, args.labels = labels;
    args.logits = teacher, args.top_k = TOP, args.top_ids = &ids[0][0], args.top_log_probs = &log_probs[0][0];
    run(device, &args);
    for (int i = 0; i < ROWS * TOP; i++) targets[i / TOP][i % TOP] = expf(log_probs[i / TOP][i % TOP]);

    args.logits = student, args.top_k = 0, args.grad = grad;
    args.given_count = TOP, args.given_ids = &ids[0][0], args.given_log_probs = &own[0][0];
    args.target_probs = &targets[0][0], args.has_tail = 1, args.divergence_kind = QUERN_KL_FORWARD, args.divergence = divergence;
    args.grad_loss = &zero, args.grad_loss_stride = 0;
    args.grad_divergence = &one, args.grad_divergence_stride = 0;
    for (int step = 0; step < STEPS; step++) {
        run(device, &args);
        mean = 0;
        for (int r = 0; r < ROWS; r++) {
            mean += divergence[r] / ROWS;
            for (int j = 0; j < VOCAB; j++) student[r][j] -= rate * grad[r][j];
        }
        if (step % 100 == 0) printf("step %3d: divergence %.4f\n", step, mean);
    }
    printf("after %d steps the mean divergence is %s 0.001\n", STEPS, mean < 0.001f ? "below" : "above");
    quern_device_close(device);
}
