/*
 * The kernels of cross-entropy, whose threads talk to each other: every row of the device but those of f16, which differ from those
 * of bf16 in arithmetic alone; in place, forward only, skipped rows and each reduction, rows of one part and of several, by one
 * block, by a cluster and split into parts, and with portable bits.
 */
#include <stdbool.h>
#include <string.h>

#include "kernels/kernel.h"
#include "race/race.h"
#include "runtime/cuda_driver.h"

/*
 * One call: rows with every kind of label, logits of zero bits (their values do not matter here); with options if the row is a
 * full one.
 */
static void run_case(quern_device *device, const struct quern_kernel *row, int64_t vocab, quern_bits bits, bool gradient,
                     quern_reduction reduction) {
    enum { ROWS = 3 };
    int32_t labels[ROWS] = {-100, 0, (int32_t)vocab};  /* the row that needs a divisor is not that of the block which counts */
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = row->key.cross_entropy.logits, .labels_dtype = QUERN_INT32,
                                                       .reduction = reduction, .rows = ROWS, .vocab = vocab,
                                                       .logits = device_memory(ROWS * (size_t)vocab * 4, NULL));
    args.grad = gradient ? (void *)args.logits : NULL;
    args.labels = device_memory(sizeof labels, labels);
    args.loss = device_memory(sizeof(float) * ROWS, NULL);
    args.report = device_memory(sizeof *args.report, NULL);
    const bool is_full = row->key.cross_entropy.full && bits == QUERN_BITS_DEFAULT;
    args.bits = bits;
    args.argmax = is_full ? device_memory(sizeof *args.argmax * ROWS, NULL) : NULL;
    args.entropy = is_full ? device_memory(sizeof *args.entropy * ROWS, NULL) : NULL;
    args.label_smoothing = is_full ? 0.1f : 0;
    size_t bytes;
    OK(quern_cross_entropy_workspace(device, &args, &bytes));
    void *workspace = device_memory(bytes + 1, NULL);
    OK(quern_cross_entropy(device, &args, workspace, bytes, NULL));
    CHECK(!driver->context_synchronize());
    const void *buffers[] = {args.logits, args.labels, args.loss, args.report, args.argmax, args.entropy, workspace};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) free_device_memory(buffers[i]);
}

static void run_vocab(quern_device *device, const struct quern_kernel *row, int64_t vocab, quern_bits bits) {
    if (vocab > row->key.cross_entropy.vocab_max) vocab = row->key.cross_entropy.vocab_max;
    run_case(device, row, vocab, bits, true, QUERN_REDUCTION_MEAN);
    run_case(device, row, vocab, bits, false, QUERN_REDUCTION_SUM);
}

enum { SEVERAL_PARTS = 40000 };  /* columns: three parts of 16 bits each, five of 32 */

static quern_device *open_device(void) {
    quern_device *device;
    OK(quern_device_open(QUERN_CUDA, 0, &device));
    OK(quern_prepare(device, QUERN_CROSS_ENTROPY));
    return device;
}

/* The row alone. */
static void run_row(const struct quern_kernel *row) {
    setenv("QUERN_KERNEL", row->name, 1);
    quern_device *device = open_device();
    for (int64_t vocab = 5; vocab < 6000; vocab = vocab * 9 + 1) run_vocab(device, row, vocab, QUERN_BITS_DEFAULT);
    run_vocab(device, row, SEVERAL_PARTS, QUERN_BITS_DEFAULT);
    quern_device_close(device);
}

/* The library's choice for few rows: a block for each part, in stages; with portable bits for each row. */
static void run_choices(const struct quern_kernel *row) {
    unsetenv("QUERN_KERNEL");
    quern_device *device = open_device();
    run_vocab(device, row, SEVERAL_PARTS, QUERN_BITS_DEFAULT);
    run_vocab(device, row, SEVERAL_PARTS, QUERN_BITS_PORTABLE);
    quern_device_close(device);
}

void run_cross_entropy(void) {
    quern_device *device;
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    int rows = 0;
    OK(quern_device_open(QUERN_CUDA, 0, &device));
    OK(quern_device_get_info(device, &info));
    for (const struct quern_kernel *row = quern_cross_entropy_kernels; *row->name; row++) {
        if (strcmp(row->target.name, info.target) || row->key.cross_entropy.stage != QUERN_STAGE_ROWS) continue;
        if (row->key.cross_entropy.logits == QUERN_F16) continue;
        run_row(row);
        if (row->key.cross_entropy.vocab_max == INT64_MAX) run_choices(row);
        rows++;
    }
    quern_device_close(device);
    CHECK(rows);
}
