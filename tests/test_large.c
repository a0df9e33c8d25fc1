/*
 * Beyond 2^31: row offsets, strides and element counts that do not fit 32 bits.  The address space is large and the memory
 * behind it small: pages that nobody touches cost nothing, and one file can be mapped again and again.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/adam_case.h"
#include "harness/check.h"
#include "harness/cross_entropy_case.h"
#include "oracle/adam.h"
#include "oracle/cross_entropy.h"
#include "oracle/dtype.h"

static void *reserve(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(memory != MAP_FAILED, "no address space for %zu bytes", bytes);
    return memory;
}

/* ---- cross-entropy: rows far apart ---- */

enum { ROWS = 3, VOCAB = 100 };
static const int64_t far = ((int64_t)1 << 31) + 24;

/* The same in steps gives the same bits, in the same place. */
static void check_far_steps(const struct test_device *device, quern_cross_entropy_args *args, void *workspace, size_t bytes) {
    const size_t row_bytes = VOCAB * quern_dtype_bytes(args->logits_dtype), row_stride = row_bytes / VOCAB * (size_t)far;
    quern_row_stats stats[ROWS];
    char grad[ROWS][VOCAB * sizeof(float)];
    for (size_t r = 0; r < ROWS; r++) memcpy(grad[r], (char *)args->grad + r * row_stride, row_bytes);
    for (size_t r = 0; r < ROWS; r++) memset((char *)args->grad + r * row_stride, 0, row_bytes);
    args->stats = stats;
    check_ok(quern_cross_entropy_stats(device->quern, args, workspace, bytes, NULL));
    check_ok(quern_cross_entropy_combine(device->quern, args, stats, 1, workspace, bytes, NULL));
    check_ok(quern_cross_entropy_gradient(device->quern, args, workspace, bytes, NULL));
    for (size_t r = 0; r < ROWS; r++)
        check(!memcmp(grad[r], (char *)args->grad + r * row_stride, row_bytes), "in steps row %zu has another gradient", r);
}

static void check_far_rows(const struct test_device *device, quern_dtype dtype, bool in_place) {
    size_t bytes = ((size_t)far * (ROWS - 1) + VOCAB) * quern_dtype_bytes(dtype);
    void *logits = reserve(bytes), *grad = in_place ? logits : reserve(bytes);
    float *upstream = reserve((size_t)far * (ROWS - 1) * sizeof(float) + sizeof(float)), loss[ROWS];
    int32_t labels[ROWS] = {5, 0, VOCAB - 1};
    const struct cross_entropy_options plain = {0};
    double row[VOCAB];
    struct cross_entropy_value expected[ROWS][VOCAB];
    struct cross_entropy_exact exact[ROWS];
    for (int r = 0; r < ROWS; r++) {
        upstream[r * far] = (float)(r + 1);
        for (int j = 0; j < VOCAB; j++) {
            dtype_store(dtype, logits, r * far + j, (r + 1) * j % 17 / 4.0);
            row[j] = dtype_load(dtype, logits, r * far + j);
        }
        exact[r] = cross_entropy_exact_row(row, VOCAB, labels[r], &plain, r + 1, expected[r]);
    }
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = dtype, args.labels_dtype = QUERN_INT32, args.rows = ROWS, args.vocab = VOCAB;
    args.logits = logits, args.logits_stride = far, args.grad = grad, args.grad_stride = far, args.labels = labels;
    args.loss = loss, args.grad_loss = upstream, args.grad_loss_stride = far;
    size_t needed;
    check_ok(quern_cross_entropy_workspace(device->quern, &args, &needed));
    void *workspace = reserve(needed + 1);
    check_ok(quern_cross_entropy(device->quern, &args, workspace, needed, NULL));
    for (int r = 0; r < ROWS; r++) {
        check(cross_entropy_output_is_close((double)loss[r], exact[r].loss), "loss of row %d", r);
        for (int j = 0; j < VOCAB; j++)
            check(cross_entropy_grad_is_close(dtype, dtype_load(dtype, grad, r * far + j), expected[r][j], &exact[r]),
                  "gradient of row %d, column %d", r, j);
    }
    if (!in_place) check_far_steps(device, &args, workspace, needed);
    munmap(workspace, needed + 1);
    munmap(logits, bytes);
    if (!in_place) munmap(grad, bytes);
    munmap(upstream, (size_t)far * (ROWS - 1) * sizeof(float) + sizeof(float));
}

Test(large, cross_entropy_rows_beyond_2_31) {
    if (test_kind() != QUERN_CPU) cr_skip_test("needs memory that is not there: on CPUs");
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        struct test_device device;
        device_open_row(&device, 0, row);
        check_far_rows(&device, row->key.cross_entropy.logits, false);
        check_far_rows(&device, row->key.cross_entropy.logits, true);
        device_close(&device);
    }
}

/* ---- Adam: one tensor of more than 2^31 elements ---- */

/* bf16 values on one 2 MiB file mapped over and over, but for the last page, which is the tensor's own. */
static uint16_t *map_long_tensor(int file, int64_t count) {
    enum { PIECE = 1 << 21 };
    size_t bytes = ((size_t)count * 2 + PIECE - 1) / PIECE * PIECE;
    char *memory = reserve(bytes + PIECE);
    for (size_t at = 0; at < bytes; at += PIECE) {
        void *piece = mmap(memory + at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
        check(piece != MAP_FAILED, "mmap failed");
    }
    char *last_page = memory + (size_t)count * 2 / 4096 * 4096;
    void *own = mmap(last_page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    check(own != MAP_FAILED, "mmap failed");
    return (uint16_t *)memory;
}

static const struct quern_kernel *find_bf16_row(void) {
    for (const struct quern_kernel *row = next_adam_row(NULL); row; row = next_adam_row(row))
        if (!strncmp(row->name, "adam_pbf16_gbf16_mbf16_vbf16__", 30)) return row;
    cr_assert_fail("no row for bf16");
    return NULL;
}

Test(large, adam_tensor_beyond_2_31) {
    if (test_kind() != QUERN_CPU) cr_skip_test("needs memory that is not there: on CPUs");
    if (!strcmp(test_target(), "portable")) cr_skip_test("2^31 elements take minutes without vectors");
    enum { OWN = 1000 };
    const int64_t count = ((int64_t)1 << 31) + OWN + 5, first = count - OWN;
    const struct quern_kernel *row = find_bf16_row();
    quern_adam_tensor tensor = {.count = count};
    void **arrays[] = {&tensor.param, (void **)&tensor.grad, &tensor.m, &tensor.v};
    uint16_t before[4][OWN], model[4][OWN];
    for (int a = 0; a < 4; a++) {
        int file = memfd_create("tensor", 0);
        check(file >= 0 && ftruncate(file, 1 << 21) == 0, "no memory file");
        *arrays[a] = map_long_tensor(file, count);
        close(file);
        for (int i = 0; i < OWN; i++) dtype_store(QUERN_BF16, *arrays[a], first + i, 0.01 * (i + 1) * (a + 1));
        memcpy(before[a], (uint16_t *)*arrays[a] + first, sizeof before[a]);
    }
    quern_adam_args args = adam_args_of(row);
    args.tensors = &tensor, args.tensor_count = 1;
    adam_model_range(&args, 0, first, count);
    for (int a = 0; a < 4; a++) {
        memcpy(model[a], (uint16_t *)*arrays[a] + first, sizeof model[a]);
        memcpy((uint16_t *)*arrays[a] + first, before[a], sizeof before[a]);
    }
    struct test_device device;
    device_open_row(&device, 0, row);
    check_ok(quern_adam(device.quern, &args, NULL, 0, NULL));
    for (int a = 0; a < 4; a++)
        check(!memcmp(model[a], (uint16_t *)*arrays[a] + first, sizeof model[a]), "array %d differs at the end", a);
    device_close(&device);
}
