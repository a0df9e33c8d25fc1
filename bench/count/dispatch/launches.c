/*
 * Prints what the library launches for a cross-entropy on the device of driver.c: launches ROWS VOCAB...  Called by launches.py.
 * The buffers are addresses that nobody follows.
 */
#include <quern.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    quern_dtype dtype;
    const char *name;
} logits[] = {{QUERN_F32, "f32"}, {QUERN_F16, "f16"}, {QUERN_BF16, "bf16"}};

/* Far enough from each other for any problem. */
static void *buffer(unsigned number) { return (void *)((uintptr_t)number << 42); }

/* One call; of a single row also the steps, whose kernels divide a row among blocks. */
static quern_status call(quern_device *device, quern_dtype dtype, bool full, int64_t rows, int64_t vocab) {
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = dtype;
    args.labels_dtype = QUERN_INT32;
    args.reduction = QUERN_REDUCTION_NONE;
    args.rows = rows;
    args.vocab = vocab;
    args.logits = buffer(1);
    args.grad = buffer(1);
    args.labels = buffer(2);
    args.loss = buffer(3);
    if (full) args.argmax = buffer(4);
    size_t bytes;
    quern_status status = quern_cross_entropy_workspace(device, &args, &bytes);
    if (status == QUERN_OK) status = quern_cross_entropy(device, &args, buffer(5), bytes, NULL);
    if (status != QUERN_OK || rows != 1) return status;
    args.stats = buffer(6);
    status = quern_cross_entropy_stats(device, &args, buffer(5), bytes, NULL);
    return status == QUERN_OK ? quern_cross_entropy_gradient(device, &args, buffer(5), bytes, NULL) : status;
}

static void report(quern_status status) {
    char detail[256] = "";
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    printf("refused %s: %s\n", quern_status_string(status), detail);
}

int main(int count, char **words) {
    quern_device *device;
    quern_status status = quern_device_open(QUERN_CUDA, 0, &device);
    if (status == QUERN_OK) status = quern_prepare(device, QUERN_CROSS_ENTROPY);
    if (status != QUERN_OK) {
        report(status);
        return 0;
    }
    for (int i = 2; i < count; i++)
        for (size_t dtype = 0; dtype < sizeof logits / sizeof *logits; dtype++)
            for (int full = 0; full <= 1; full++) {
                printf("call %s %d %s\n", logits[dtype].name, full, words[i]);
                report(call(device, logits[dtype].dtype, full, atoll(words[1]), atoll(words[i])));
            }
    quern_device_close(device);
    return 0;
}
