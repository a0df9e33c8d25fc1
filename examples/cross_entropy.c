/*
 * Cross-entropy of four rows of bf16 logits: the mean loss, and the gradient in place of the logits.
 *
 *   cc cross_entropy.c $(pkg-config --cflags --libs quern) -o cross_entropy
 */
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

int main(void) {
    enum { ROWS = 4, VOCAB = 32000 };
    static uint16_t logits[ROWS * VOCAB];                /* bf16; all 0, so every token is equally likely */
    int32_t labels[ROWS] = {1, 17, -100, 31999};         /* -100: an ignored row */
    float loss;
    size_t bytes;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_CROSS_ENTROPY));

    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_BF16;
    args.labels_dtype = QUERN_INT32;
    args.reduction = QUERN_REDUCTION_MEAN;
    args.rows = ROWS;
    args.vocab = VOCAB;
    args.logits = args.grad = logits;
    args.labels = labels;
    args.loss = &loss;

    check(quern_cross_entropy_workspace(device, &args, &bytes));
    void *workspace = aligned_alloc(16, (bytes + 15) / 16 * 16);
    check(quern_cross_entropy(device, &args, workspace, bytes, NULL));
    printf("loss %.4f (the logarithm of %d), gradient at the first label 0x%04X in bf16\n", loss, VOCAB, logits[1]);

    free(workspace);
    quern_device_close(device);
}
