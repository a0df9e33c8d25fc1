/*
 * Details, word for word: the refusals of arguments, with the values and the limits in their places.
 * test_fields_*.c show that each field is checked; here the text is what is tested.
 *
 * Runs on: every cpu, one emulated, gpu.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "harness/device.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void expect(int line, quern_status status, quern_status expected, const char *text) {
    check(status == expected && !strcmp(error_detail(), text), "line %d: %s: \"%s\" instead of %s: \"%s\"", line,
          quern_status_string(status), status ? error_detail() : "", quern_status_string(expected), text);
}

static struct test_device device;
static _Alignas(64) char memory[64][256];  /* never touched: every call fails */

static void open_device(void) {
    device_open(&device, 0, NULL);
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY | QUERN_ADAM));
}

/* ---- devices ---- */

Test(exact_details, devices) {
    int count;
    quern_device *opened;
#define DEVICE(call, status, text) expect(__LINE__, call, status, text)
    DEVICE(quern_device_count((quern_device_kind)3, &count), QUERN_INVALID_ARGUMENT,
           "kind is 3: expected QUERN_CPU (1) or QUERN_CUDA (2)");
    DEVICE(quern_device_count((quern_device_kind)0, &count), QUERN_INVALID_ARGUMENT,
           "kind is 0: expected QUERN_CPU (1) or QUERN_CUDA (2)");
    DEVICE(quern_device_count(QUERN_CPU, NULL), QUERN_NULL_POINTER, "count is NULL");
    DEVICE(quern_device_open((quern_device_kind)-1, 0, &opened), QUERN_INVALID_ARGUMENT,
           "kind is -1: expected QUERN_CPU (1) or QUERN_CUDA (2)");
    DEVICE(quern_device_open(QUERN_CPU, 1, &opened), QUERN_NO_DEVICE, "ordinal is 1: expected 0, the only CPU device");
    DEVICE(quern_device_open(QUERN_CPU, -1, &opened), QUERN_NO_DEVICE, "ordinal is -1: expected 0, the only CPU device");
    DEVICE(quern_device_open(QUERN_CUDA, -2, &opened), QUERN_NO_DEVICE, "ordinal is -2: expected 0 or more");
    DEVICE(quern_device_open(QUERN_CPU, 0, NULL), QUERN_NULL_POINTER, "device is NULL");
    device_open(&device, 0, NULL);
    DEVICE(quern_prepare(device.quern, 0), QUERN_INVALID_ARGUMENT,
           "operations is 0: expected QUERN_CROSS_ENTROPY, QUERN_ADAM, QUERN_BARRIER, QUERN_RAGGED_ALL_TO_ALL, QUERN_QUANTIZE "
           "or QUERN_COLLECTIVE or several of them (a value from 1 to 63)");
    DEVICE(quern_prepare(device.quern, 64), QUERN_INVALID_ARGUMENT,
           "operations is 64: expected QUERN_CROSS_ENTROPY, QUERN_ADAM, QUERN_BARRIER, QUERN_RAGGED_ALL_TO_ALL, QUERN_QUANTIZE "
           "or QUERN_COLLECTIVE or several of them (a value from 1 to 63)");
    DEVICE(quern_prepare(NULL, 1), QUERN_NULL_POINTER, "device is NULL");
    DEVICE(quern_device_get_info(device.quern, NULL), QUERN_NULL_POINTER, "quern_device_info is NULL");
    if (device.kind == QUERN_CPU) {
        DEVICE(quern_set_threads(device.quern, 1025, NULL, NULL), QUERN_INVALID_ARGUMENT, "threads is 1025: expected 0 to 1024");
        DEVICE(quern_set_threads(device.quern, -1, NULL, NULL), QUERN_INVALID_ARGUMENT, "threads is -1: expected 0 to 1024");
    } else {
        DEVICE(quern_set_threads(device.quern, 1, NULL, NULL), QUERN_NOT_SUPPORTED,
               "cuda:0 has no threads to set: only the CPU device has");
    }
    device_close(&device);
}

Test(exact_details, operations_that_are_not_prepared) {
    struct test_device plain = {.kind = test_kind()};
    quern_adam_args adam = QUERN_ADAM_ARGS_INIT;
    char text[100];
    setenv("QUERN_KERNEL", "", 1);
    check_ok(quern_device_open(plain.kind, 0, &plain.quern));
    adam.param_dtype = adam.grad_dtype = adam.m_dtype = adam.v_dtype = QUERN_F32, adam.step = 1;
    snprintf(text, sizeof text, "adam is not prepared on %s: call quern_prepare first", plain.kind == QUERN_CPU ? "cpu" : "cuda:0");
    expect(__LINE__, quern_adam(plain.quern, &adam, NULL, 0, NULL), QUERN_NOT_PREPARED, text);
    quern_device_close(plain.quern);
}

/* The longest QUERN_KERNEL, whose end the detail still has, and one character more. */
Test(exact_details, longest_glob) {
    enum { LONGEST = 159 };
    static const char first[] = "adam_pbf16_gbf16_mbf16_vbf16__", last[] = "[0-9a-z]";
    char glob[LONGEST + 2];
    quern_adam_args adam = QUERN_ADAM_ARGS_INIT;
    quern_device *opened;
    for (int i = 0; i < 2; i++) {
        const size_t length = LONGEST + (size_t)i;
        memset(glob, '*', sizeof glob);
        memcpy(glob, first, sizeof first - 1);
        memcpy(glob + length - strlen(last), last, sizeof last);
        setenv("QUERN_KERNEL", glob, 1);
        const quern_status status = quern_device_open(test_kind(), 0, &opened);
        if (i) expect(__LINE__, status, QUERN_INVALID_ARGUMENT, "QUERN_KERNEL has 160 characters: expected fewer than 160");
        if (i) break;
        check_ok(status);
        check_ok(quern_prepare(opened, QUERN_ADAM));
        adam.param_dtype = adam.grad_dtype = adam.m_dtype = adam.v_dtype = QUERN_F32, adam.step = 1;
        check_status(quern_adam(opened, &adam, NULL, 0, NULL), QUERN_NO_KERNEL);
        const char *detail = error_detail();
        check(!strncmp(detail, "no adam kernel serves this request on c", 39) && strlen(detail) == 255 &&
              !strcmp(detail + 255 - 125, glob + LONGEST - 125), "%s", detail);
        quern_device_close(opened);
    }
}

/* ---- cross-entropy ---- */

enum { ROWS = 4, VOCAB = 50 };

static quern_cross_entropy_args loss;
static quern_row_stats *shards;
static int64_t shard_count;

static void fill_loss(void) {
    loss = (quern_cross_entropy_args)QUERN_CROSS_ENTROPY_ARGS_INIT;
    loss.logits_dtype = QUERN_F32, loss.labels_dtype = QUERN_INT32, loss.reduction = QUERN_REDUCTION_MEAN;
    loss.rows = ROWS, loss.vocab = VOCAB;
    loss.logits = memory[0], loss.labels = memory[4], loss.grad = memory[5], loss.stats = (void *)memory[10];
    shards = (void *)memory[20], shard_count = 1;
}

static quern_status call_loss(void) { return quern_cross_entropy(device.quern, &loss, NULL, 0, NULL); }
static quern_status call_stats(void) { return quern_cross_entropy_stats(device.quern, &loss, NULL, 0, NULL); }
static quern_status call_gradient(void) { return quern_cross_entropy_gradient(device.quern, &loss, NULL, 0, NULL); }
static quern_status call_combine(void) {
    return quern_cross_entropy_combine(device.quern, &loss, shards, shard_count, NULL, 0, NULL);
}

/* A call with one change. */
#define LOSS(call, change, status, text) do { fill_loss(); change; expect(__LINE__, call(), status, text); } while (0)

Test(exact_details, cross_entropy_types_and_values) {
    open_device();
    LOSS(call_loss, loss.size = 0, QUERN_INVALID_STRUCT_SIZE,
         "args.size is 0: expected the size with the mark and the defaults, as the struct's _INIT macro and _init function set "
         "them");
    LOSS(call_loss, loss.size = sizeof loss, QUERN_INVALID_STRUCT_SIZE,
         "args.size is 224, a plain sizeof: expected the size with the mark and the defaults, as the struct's _INIT macro and "
         "_init function set them");
    LOSS(call_loss, loss.size += 8, QUERN_INVALID_STRUCT_SIZE,
         "args.size is that of 232 bytes: expected 224 (was the program compiled against a newer quern.h?)");
    LOSS(call_loss, loss.size -= 4, QUERN_INVALID_STRUCT_SIZE, "args.size is that of 220 bytes: expected 224");
    LOSS(call_loss, loss.logits_dtype = QUERN_INT32, QUERN_INVALID_DTYPE,
         "args.logits_dtype is 16 (int32): expected one of f32, f16, bf16");
    LOSS(call_loss, loss.labels_dtype = QUERN_F32, QUERN_INVALID_DTYPE,
         "args.labels_dtype is 1 (f32): expected one of int32, int64");
    LOSS(call_loss, loss.grad_dtype = (quern_dtype)77, QUERN_INVALID_DTYPE,
         "args.grad_dtype is 77 (unknown dtype): expected one of f32, f16, bf16");
    LOSS(call_loss, loss.reduction = (quern_reduction)3, QUERN_INVALID_ARGUMENT, "args.reduction is 3: expected 0 to 2");
    LOSS(call_loss, loss.reduction = (quern_reduction)-1, QUERN_INVALID_ARGUMENT, "args.reduction is -1: expected 0 to 2");
    LOSS(call_loss, loss.grad_dtype = QUERN_BF16, QUERN_NOT_SUPPORTED,
         "args.grad_dtype is bf16 with f32 logits: only the logits' dtype is supported");
    LOSS(call_loss, (loss.grad = memory[0], loss.grad_dtype = QUERN_F16), QUERN_INVALID_DTYPE,
         "args.grad_dtype is f16 in place of f32 logits: expected the same dtype");
    LOSS(call_loss, loss.grad_scale = INFINITY, QUERN_INVALID_ARGUMENT, "args.grad_scale is inf: expected a finite number");
    LOSS(call_loss, loss.label_smoothing = 1.5f, QUERN_INVALID_ARGUMENT, "args.label_smoothing is 1.5: expected 0 to 1");
    LOSS(call_loss, loss.label_smoothing = -0.25f, QUERN_INVALID_ARGUMENT, "args.label_smoothing is -0.25: expected 0 to 1");
    LOSS(call_loss, loss.z_loss = -1, QUERN_INVALID_ARGUMENT, "args.z_loss is -1: expected a finite number, 0 or more");
    LOSS(call_loss, loss.softcap = INFINITY, QUERN_INVALID_ARGUMENT, "args.softcap is inf: expected a finite number, 0 or more");
    LOSS(call_loss, loss.strict_labels = 2, QUERN_INVALID_ARGUMENT, "args.strict_labels is 2: expected 0 to 1");
    device_close(&device);
}

Test(exact_details, cross_entropy_shapes) {
    open_device();
    LOSS(call_loss, loss.rows = -3, QUERN_INVALID_SHAPE, "args.rows is -3: expected 0 or more");
    LOSS(call_loss, loss.rows = (int64_t)1 << 47, QUERN_INVALID_SHAPE,
         "args.rows is 140737488355328: expected at most 2199023255552");
    LOSS(call_loss, loss.vocab = -3, QUERN_INVALID_SHAPE, "args.vocab is -3: expected 0 or more");
    LOSS(call_loss, loss.vocab = (int64_t)1 << 47, QUERN_INVALID_SHAPE,
         "args.vocab is 140737488355328: expected at most 2199023255552");
    LOSS(call_loss, loss.vocab = 0, QUERN_INVALID_SHAPE, "args.vocab is 0 with 4 rows: expected at least 1");
    LOSS(call_loss, loss.padded_vocab = 49, QUERN_INVALID_SHAPE, "args.padded_vocab is 49: expected at least vocab, 50");
    LOSS(call_loss, loss.padded_vocab = (int64_t)1 << 47, QUERN_INVALID_SHAPE,
         "args.padded_vocab is 140737488355328: expected at most 2199023255552");
    LOSS(call_loss, loss.logits_stride = 49, QUERN_INVALID_SHAPE, "args.logits_stride is 49: expected at least vocab, 50");
    LOSS(call_loss, loss.logits_stride = (int64_t)1 << 44, QUERN_INVALID_SHAPE,
         "args.logits_stride is 17592186044416 with args.rows 4: expected at most 8796093022208, since no buffer has more than "
         "2^47 bytes");
    LOSS(call_loss, (loss.rows = 64, loss.vocab = (int64_t)1 << 41), QUERN_INVALID_SHAPE,
         "args.vocab is 2199023255552 with args.rows 64: expected at most 549755813888, since no buffer has more than 2^47 bytes");
    LOSS(call_loss, loss.grad_stride = 49, QUERN_INVALID_SHAPE, "args.grad_stride is 49: expected at least vocab, 50");
    LOSS(call_loss, (loss.padded_vocab = 64, loss.grad_stride = 63), QUERN_INVALID_SHAPE,
         "args.grad_stride is 63: expected at least padded_vocab, 64");
    LOSS(call_loss, loss.grad_stride = (int64_t)1 << 44, QUERN_INVALID_SHAPE,
         "args.grad_stride is 17592186044416 with args.rows 4: expected at most 8796093022208, since no buffer has more than "
         "2^47 bytes");
    LOSS(call_loss, (loss.rows = 64, loss.padded_vocab = (int64_t)1 << 41), QUERN_INVALID_SHAPE,
         "args.padded_vocab is 2199023255552 with args.rows 64: expected at most 549755813888, since no buffer has more than "
         "2^47 bytes");
    LOSS(call_loss, (loss.grad = memory[0], loss.padded_vocab = 64), QUERN_INVALID_SHAPE,
         "args.logits_stride is 50 (0 means vocab): expected at least padded_vocab, 64, since grad is in place of the logits");
    LOSS(call_loss, (loss.grad = memory[0], loss.padded_vocab = 64, loss.logits_stride = 60), QUERN_INVALID_SHAPE,
         "args.logits_stride is 60: expected at least padded_vocab, 64, since grad is in place of the logits");
    LOSS(call_loss, (loss.grad = memory[0], loss.logits_stride = 64, loss.grad_stride = 60), QUERN_INVALID_SHAPE,
         "args.grad_stride is 60 in place of logits with stride 64: expected the same");
    LOSS(call_loss, (loss.grad_loss = (void *)memory[8], loss.grad_loss_stride = (int64_t)1 << 46), QUERN_INVALID_SHAPE,
         "args.grad_loss_stride is 70368744177664 with args.rows 4: expected -8796093022208 to 8796093022208, since no buffer "
         "has more than 2^47 bytes");
    LOSS(call_loss, (loss.grad_loss = (void *)memory[8], loss.grad_loss_stride = -((int64_t)1 << 43) - 1), QUERN_INVALID_SHAPE,
         "args.grad_loss_stride is -8796093022209 with args.rows 4: expected -8796093022208 to 8796093022208, since no buffer "
         "has more than 2^47 bytes");
    LOSS(call_loss, loss.first_column = -1, QUERN_INVALID_SHAPE, "args.first_column is -1: expected 0 or more");
    LOSS(call_loss, loss.global_vocab = 49, QUERN_INVALID_SHAPE, "args.global_vocab is 49: expected at least vocab, 50");
    LOSS(call_loss, loss.global_vocab = ((int64_t)1 << 47) + 1, QUERN_INVALID_SHAPE,
         "args.global_vocab is 140737488355329: expected at most 140737488355328");
    LOSS(call_loss, (loss.global_vocab = 60, loss.first_column = 11), QUERN_INVALID_SHAPE,
         "args.first_column is 11: expected at most global_vocab - vocab, 10");
    LOSS(call_loss, loss.global_vocab = 60, QUERN_INVALID_SHAPE,
         "args.global_vocab is 60 with a vocab of 50: expected all columns, or one step for the shard at a time");
    device_close(&device);
}

Test(exact_details, cross_entropy_buffers) {
    open_device();
    LOSS(call_loss, loss.logits = NULL, QUERN_NULL_POINTER, "args.logits is NULL");
    LOSS(call_loss, loss.logits = memory[0] + 2, QUERN_INVALID_ARGUMENT,
         "args.logits is not at a multiple of 4 bytes, the size of its elements");
    LOSS(call_loss, (loss.labels_dtype = QUERN_INT64, loss.labels = memory[0] + 4), QUERN_INVALID_ARGUMENT,
         "args.labels is not at a multiple of 8 bytes, the size of its elements");
    LOSS(call_loss, (loss.logits_dtype = QUERN_BF16, loss.grad = memory[5] + 1), QUERN_INVALID_ARGUMENT,
         "args.grad is not at a multiple of 2 bytes, the size of its elements");
    LOSS(call_loss, loss.stats = (void *)(memory[0] + 4), QUERN_INVALID_ARGUMENT,
         "args.stats is not at a multiple of 8 bytes, the size of its elements");
    LOSS(call_loss, loss.lse = (void *)(memory[0] + 1), QUERN_INVALID_ARGUMENT,
         "args.lse is not at a multiple of 4 bytes, the size of its elements");
    LOSS(call_stats, loss.stats = NULL, QUERN_NULL_POINTER, "args.stats is NULL");
    LOSS(call_gradient, loss.grad = NULL, QUERN_NULL_POINTER, "args.grad is NULL");
    LOSS(call_combine, shards = NULL, QUERN_NULL_POINTER, "shards is NULL");
    LOSS(call_combine, shard_count = 0, QUERN_INVALID_ARGUMENT, "shard_count is 0: expected at least 1");
    LOSS(call_combine, shard_count = ((int64_t)1 << 47) / (int64_t)sizeof *shards / ROWS + 1, QUERN_INVALID_SHAPE,
         "shard_count is 549755813889 with args.rows 4: expected at most 549755813888, since shards has no more than 2^47 bytes");
    loss.rows = 0;
    shard_count = ((int64_t)1 << 47) / (int64_t)sizeof *shards + 1;
    expect(__LINE__, call_combine(), QUERN_INVALID_SHAPE,
           "shard_count is 2199023255553 with args.rows 0: expected at most 2199023255552, since shards has no more than 2^47 "
           "bytes");
    fill_loss();
    size_t bytes;
    char text[100];
    check_ok(quern_cross_entropy_workspace(device.quern, &loss, &bytes));
    snprintf(text, sizeof text, "workspace_bytes is 1: expected at least %zu", bytes);
    expect(__LINE__, quern_cross_entropy(device.quern, &loss, memory[30], 1, NULL), QUERN_WORKSPACE_TOO_SMALL, text);
    device_close(&device);
}

/* The first of the bad labels; a GPU needs a report. */
Test(exact_details, strict_labels) {
    static _Alignas(64) char workspace[1 << 16];
    const int32_t labels[ROWS] = {3, -100, -1, 50};
    open_device();
    fill_loss();
    loss.strict_labels = 1, loss.labels = labels;
    quern_status status = quern_cross_entropy(device.quern, &loss, workspace, sizeof workspace, NULL);
    if (device.kind == QUERN_CPU) expect(__LINE__, status, QUERN_INVALID_ARGUMENT,
                                         "args.labels[2] is -1: expected 0 to 49, or ignore_index -100");
    else expect(__LINE__, status, QUERN_NULL_POINTER,
                "args.report is NULL: expected a report, in which a GPU tells of bad labels if strict_labels is 1");
    device_close(&device);
}

/* ---- the last layer ---- */

static quern_linear_cross_entropy_args layer;

static quern_status no_product(void *user, const quern_gemm_args *args, void *stream) {
    (void)user, (void)args, (void)stream;
    return QUERN_OK;
}

static void fill_layer(void) {
    layer = (quern_linear_cross_entropy_args)QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    layer.loss.logits_dtype = layer.hidden_dtype = layer.weight_dtype = QUERN_F32, layer.loss.labels_dtype = QUERN_INT32;
    layer.loss.rows = ROWS, layer.loss.vocab = VOCAB, layer.width = 8, layer.loss.labels = memory[0];
    layer.hidden = memory[1], layer.weight = memory[2], layer.gemm = no_product;
}

#define LAYER(change, status, text) do { \
        fill_layer(); \
        change; \
        expect(__LINE__, quern_linear_cross_entropy(device.quern, &layer, NULL, 0, NULL), status, text); \
    } while (0)

Test(exact_details, linear_cross_entropy) {
    open_device();
    LAYER(layer.size = 0, QUERN_INVALID_STRUCT_SIZE,
          "args.size is 0: expected the size with the mark and the defaults, as the struct's _INIT macro and _init function set "
          "them");
    LAYER(layer.loss.size = 0, QUERN_INVALID_STRUCT_SIZE,
          "args.loss.size is 0: expected the size with the mark and the defaults, as the struct's _INIT macro and _init function "
          "set them");
    LAYER(layer.loss.logits = memory[9], QUERN_INVALID_ARGUMENT,
          "args.loss.logits is set: expected NULL or 0, since the logits are computed here");
    LAYER(layer.loss.grad = memory[9], QUERN_INVALID_ARGUMENT,
          "args.loss.grad is set: expected NULL or 0, since the logits are computed here");
    LAYER(layer.loss.stats = (void *)memory[9], QUERN_INVALID_ARGUMENT,
          "args.loss.stats is set: expected NULL or 0, since the logits are computed here");
    LAYER(layer.loss.logits_stride = 1, QUERN_INVALID_ARGUMENT,
          "args.loss.logits_stride is set: expected NULL or 0, since the logits are computed here");
    LAYER(layer.loss.grad_stride = 1, QUERN_INVALID_ARGUMENT,
          "args.loss.grad_stride is set: expected NULL or 0, since the logits are computed here");
    LAYER(layer.loss.padded_vocab = 1, QUERN_INVALID_ARGUMENT,
          "args.loss.padded_vocab is set: expected NULL or 0, since the logits are computed here");
    LAYER(layer.loss.first_column = 1, QUERN_INVALID_ARGUMENT,
          "args.loss.first_column is set: expected NULL or 0, since the logits are computed here");
    LAYER(layer.loss.global_vocab = 1, QUERN_INVALID_ARGUMENT,
          "args.loss.global_vocab is set: expected NULL or 0, since the logits are computed here");
    LAYER(layer.hidden_dtype = QUERN_E4M3, QUERN_INVALID_DTYPE, "args.hidden_dtype is 4 (e4m3): expected one of f32, f16, bf16");
    LAYER(layer.weight_dtype = QUERN_INT64, QUERN_INVALID_DTYPE, "args.weight_dtype is 17 (int64): expected one of f32, f16, bf16");
    LAYER(layer.accumulate_weight = -1, QUERN_INVALID_ARGUMENT, "args.accumulate_weight is -1: expected 0 to 1");
    LAYER(layer.width = -1, QUERN_INVALID_SHAPE, "args.width is -1: expected 0 or more");
    LAYER(layer.width = (int64_t)1 << 47, QUERN_INVALID_SHAPE, "args.width is 140737488355328: expected at most 2199023255552");
    LAYER(layer.chunk_rows = -5, QUERN_INVALID_SHAPE, "args.chunk_rows is -5: expected 0 or more");
    LAYER(layer.hidden_stride = 7, QUERN_INVALID_SHAPE, "args.hidden_stride is 7: expected at least width, 8");
    LAYER(layer.weight_stride = -6, QUERN_INVALID_SHAPE, "args.weight_stride is -6: expected at least width, 8");
    LAYER(layer.d_hidden_stride = 5, QUERN_INVALID_SHAPE, "args.d_hidden_stride is 5: expected at least width, 8");
    LAYER(layer.d_weight_stride = 4, QUERN_INVALID_SHAPE, "args.d_weight_stride is 4: expected at least width, 8");
    LAYER(layer.width = (int64_t)1 << 44, QUERN_INVALID_SHAPE, "args.width is 17592186044416: expected at most 2199023255552");
    LAYER(layer.hidden_stride = (int64_t)1 << 44, QUERN_INVALID_SHAPE,
          "args.hidden_stride is 17592186044416 with args.loss.rows 4: expected at most 8796093022208, since no buffer has more "
          "than 2^47 bytes");
    LAYER(layer.weight_stride = (int64_t)1 << 44, QUERN_INVALID_SHAPE,
          "args.weight_stride is 17592186044416 with args.loss.vocab 50: expected at most 703687441776, since no buffer has more "
          "than 2^47 bytes");
    LAYER((layer.d_hidden = memory[1], layer.d_hidden_stride = 9), QUERN_INVALID_SHAPE,
          "args.d_hidden_stride is 9 in place of hidden with stride 8: expected the same");
    LAYER(layer.gemm = NULL, QUERN_NULL_POINTER, "args.gemm is NULL");
    LAYER(layer.hidden = NULL, QUERN_NULL_POINTER, "args.hidden is NULL");
    LAYER(layer.weight = memory[2] + 1, QUERN_INVALID_ARGUMENT,
          "args.weight is not at a multiple of 4 bytes, the size of its elements");
    LAYER(layer.d_hidden = memory[3] + 2, QUERN_INVALID_ARGUMENT,
          "args.d_hidden is not at a multiple of 4 bytes, the size of its elements");
    LAYER(layer.d_weight = (void *)(memory[3] + 2), QUERN_INVALID_ARGUMENT,
          "args.d_weight is not at a multiple of 4 bytes, the size of its elements");
    device_close(&device);
}

/* ---- products ---- */

static quern_gemm_args product;
static quern_blas *blas;

#define PRODUCT(change, status, text) do { \
        product = (quern_gemm_args)QUERN_GEMM_ARGS_INIT; \
        product.a_dtype = product.b_dtype = product.c_dtype = QUERN_F32; \
        product.m = 2, product.n = 3, product.k = 4, product.a_stride = 4, product.b_stride = 3, product.c_stride = 3; \
        product.a = memory[0], product.b = memory[1], product.c = memory[2]; \
        change; \
        expect(__LINE__, quern_blas_gemm(blas, &product, NULL), status, text); \
    } while (0)

Test(exact_details, products) {
    open_device();
    if (quern_blas_open(device.quern, NULL, &blas) == QUERN_OK) {
        PRODUCT(product.size = 3, QUERN_INVALID_STRUCT_SIZE,
                "quern_gemm_args.size is 3: expected the size with the mark and the defaults, as the struct's _INIT macro and "
                "_init function set them");
        PRODUCT(product.m = -1, QUERN_INVALID_SHAPE, "args.m is -1: expected 0 or more");
        PRODUCT(product.n = -2, QUERN_INVALID_SHAPE, "args.n is -2: expected 0 or more");
        PRODUCT(product.k = (int64_t)1 << 48, QUERN_INVALID_SHAPE, "args.k is 281474976710656: expected at most 2199023255552");
        PRODUCT(product.accumulate = 2, QUERN_INVALID_ARGUMENT, "args.accumulate is 2: expected 0 to 1");
        PRODUCT(product.a_transposed = 3, QUERN_INVALID_ARGUMENT, "args.a_transposed is 3: expected 0 to 1");
        PRODUCT(product.b_transposed = 4, QUERN_INVALID_ARGUMENT, "args.b_transposed is 4: expected 0 to 1");
        PRODUCT(product.a_dtype = QUERN_E5M2, QUERN_INVALID_DTYPE, "args.a_dtype is 5 (e5m2): expected one of f32, f16, bf16");
        PRODUCT(product.b = NULL, QUERN_NULL_POINTER, "args.b is NULL");
        PRODUCT(product.c = memory[2] + 2, QUERN_INVALID_ARGUMENT,
                "args.c is not at a multiple of 4 bytes, the size of its elements");
        PRODUCT(product.a_stride = 3, QUERN_INVALID_SHAPE, "args.a_stride is 3: expected at least its columns, 4");
        PRODUCT((product.a_transposed = 1, product.a_stride = 1), QUERN_INVALID_SHAPE,
                "args.a_stride is 1: expected at least its columns, 2");
        PRODUCT(product.b_stride = 2, QUERN_INVALID_SHAPE, "args.b_stride is 2: expected at least its columns, 3");
        PRODUCT((product.b_transposed = 1, product.b_stride = 3), QUERN_INVALID_SHAPE,
                "args.b_stride is 3: expected at least its columns, 4");
        PRODUCT(product.c_stride = 2, QUERN_INVALID_SHAPE, "args.c_stride is 2: expected at least its columns, 3");
        PRODUCT(product.c_stride = (int64_t)1 << 46, QUERN_INVALID_SHAPE,
                "args.c_stride is 70368744177664 with rows 2: expected at most 17592186044416, since no buffer has more than "
                "2^47 bytes");
        PRODUCT((product.accumulate = 1, product.c_dtype = QUERN_F16), QUERN_INVALID_DTYPE,
                "args.c_dtype is f16 with accumulate: expected f32");
        quern_blas_close(blas);
    }
    device_close(&device);
}

/* ---- Adam ---- */

static quern_adam_args adam;
static quern_adam_tensor tensors[2];
static quern_adam_plan *plan;
static quern_gradient gradients[2];

static void fill_adam(void) {
    adam = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.grad_dtype = QUERN_BF16, adam.m_dtype = adam.v_dtype = QUERN_E4M3, adam.master_dtype = QUERN_REMAINDER;
    adam.amsgrad = 1, adam.copy_dtype = QUERN_E4M3, adam.lr = 1, adam.step = 1, adam.tensors = tensors, adam.tensor_count = 2;
    for (int i = 0; i < 2; i++) {
        char(*at)[256] = memory + 16 * i;
        tensors[i] = (quern_adam_tensor){.param = at[0], .grad = at[1], .m = at[2], .v = at[3], .master = at[4],
                                         .m_scale = (void *)at[5], .v_scale = (void *)at[6], .v_max = at[7],
                                         .v_max_scale = (void *)at[8], .copy = at[9], .copy_scale = (void *)at[10],
                                         .copy_max = (void *)at[11], .count = 40, .lr_multiplier = 1, .weight_decay_multiplier = 1};
    }
}

static quern_status call_adam(void) { return quern_adam(device.quern, &adam, NULL, 0, NULL); }

/* A step with one change, in which the second tensor is `t`. */
#define ADAM(change, status, text) do { \
        quern_adam_tensor *const t = &tensors[1]; \
        (void)t; \
        fill_adam(); \
        change; \
        expect(__LINE__, call_adam(), status, text); \
    } while (0)

Test(exact_details, adam_types_and_choices) {
    open_device();
    ADAM(adam.size = 8, QUERN_INVALID_STRUCT_SIZE,
         "args.size is 8: expected the size with the mark and the defaults, as the struct's _INIT macro and _init function set "
         "them");
    ADAM(adam.param_dtype = QUERN_E4M3, QUERN_INVALID_DTYPE, "args.param_dtype is 4 (e4m3): expected one of f32, f16, bf16");
    ADAM(adam.grad_dtype = QUERN_NO_DTYPE, QUERN_INVALID_DTYPE,
         "args.grad_dtype is 0 (unknown dtype): expected one of f32, f16, bf16");
    ADAM(adam.m_dtype = QUERN_REMAINDER, QUERN_INVALID_DTYPE,
         "args.m_dtype is 6 (remainder): expected one of f32, bf16, f16, e4m3, e5m2");
    ADAM(adam.v_dtype = QUERN_INT32, QUERN_INVALID_DTYPE, "args.v_dtype is 16 (int32): expected one of f32, bf16, f16, e4m3, e5m2");
    ADAM(adam.master_dtype = QUERN_BF16, QUERN_INVALID_DTYPE, "args.master_dtype is 3 (bf16): expected none or f32, remainder");
    ADAM(adam.copy_dtype = QUERN_INT64, QUERN_INVALID_DTYPE,
         "args.copy_dtype is 17 (int64): expected none or f16, bf16, e4m3, e5m2");
    ADAM(adam.param_dtype = QUERN_F16, QUERN_INVALID_DTYPE,
         "args.master_dtype is remainder with f16 parameters: expected bf16 ones, which the remainder completes to fp32");
    ADAM((adam.param_dtype = QUERN_F32, adam.master_dtype = QUERN_F32), QUERN_INVALID_DTYPE,
         "args.master_dtype is f32 with f32 parameters: expected none, since a master copy would hold the same values twice");
    ADAM(adam.amsgrad = 2, QUERN_INVALID_ARGUMENT, "args.amsgrad is 2: expected 0 to 1");
    ADAM(adam.zero_grads = -1, QUERN_INVALID_ARGUMENT, "args.zero_grads is -1: expected 0 to 1");
    ADAM(adam.use_multipliers = 3, QUERN_INVALID_ARGUMENT, "args.use_multipliers is 3: expected 0 to 1");
    ADAM(adam.mode = (quern_adam_mode)2, QUERN_INVALID_ARGUMENT, "args.mode is 2: expected 0 to 1");
    ADAM(adam.param_rounding = (quern_rounding)3, QUERN_INVALID_ARGUMENT, "args.param_rounding is 3: expected 0 to 2");
    ADAM(adam.m_rounding = (quern_rounding)4, QUERN_INVALID_ARGUMENT, "args.m_rounding is 4: expected 0 to 2");
    ADAM(adam.v_rounding = (quern_rounding)-1, QUERN_INVALID_ARGUMENT, "args.v_rounding is -1: expected 0 to 2");
    ADAM(adam.eps_mode = 2, QUERN_INVALID_ARGUMENT, "args.eps_mode is 2: expected 0 to 1");
    ADAM(adam.maximize = 2, QUERN_INVALID_ARGUMENT, "args.maximize is 2: expected 0 to 1");
    ADAM(adam.param_rounding = QUERN_ROUND_STOCHASTIC, QUERN_INVALID_ARGUMENT,
         "args.param_rounding is stochastic with a remainder: expected default or nearest, since the parameter is the upper half "
         "of the master and cannot be rounded another way");
    device_close(&device);
}

Test(exact_details, adam_numbers) {
    open_device();
    ADAM(adam.lr = -1, QUERN_INVALID_ARGUMENT, "args.lr is -1: expected 0 to 3.4e38, the largest fp32");
    ADAM(adam.lr = 4e38, QUERN_INVALID_ARGUMENT, "args.lr is 4e+38: expected 0 to 3.4e38, the largest fp32");
    ADAM(adam.beta1 = 1, QUERN_INVALID_ARGUMENT, "args.beta1 is 1: expected 0 <= beta < 1");
    ADAM(adam.beta2 = -0.5, QUERN_INVALID_ARGUMENT, "args.beta2 is -0.5: expected 0 <= beta < 1");
    ADAM(adam.eps = (double)INFINITY, QUERN_INVALID_ARGUMENT, "args.eps is inf: expected 0 to 3.4e38, the largest fp32");
    ADAM(adam.weight_decay = (double)NAN, QUERN_INVALID_ARGUMENT,
         "args.weight_decay is nan: expected 0 to 3.4e38, the largest fp32");
    ADAM(adam.grad_scale = 1e-39, QUERN_INVALID_ARGUMENT,
         "args.grad_scale is 1e-39: expected 0, which means 1, or 3e-39 to 3.4e38");
    ADAM(adam.grad_scale = -2, QUERN_INVALID_ARGUMENT, "args.grad_scale is -2: expected 0, which means 1, or 3e-39 to 3.4e38");
    ADAM(adam.step = 0, QUERN_INVALID_ARGUMENT, "args.step is 0: expected 1 or more (steps count from 1)");
    ADAM(adam.step = -7, QUERN_INVALID_ARGUMENT, "args.step is -7: expected 1 or more (steps count from 1)");
    ADAM(adam.control.lr = (void *)(memory[50] + 1), QUERN_INVALID_ARGUMENT,
         "args.control.lr is not at a multiple of 4 bytes, the size of its elements");
    ADAM(adam.control.step = (void *)(memory[50] + 4), QUERN_INVALID_ARGUMENT,
         "args.control.step is not at a multiple of 8 bytes, the size of its elements");
    ADAM(adam.control.grad_scale = (void *)(memory[50] + 2), QUERN_INVALID_ARGUMENT,
         "args.control.grad_scale is not at a multiple of 4 bytes, the size of its elements");
    ADAM(adam.control.clip = (void *)(memory[50] + 3), QUERN_INVALID_ARGUMENT,
         "args.control.clip is not at a multiple of 4 bytes, the size of its elements");
    ADAM(adam.control.found_inf = (void *)(memory[50] + 1), QUERN_INVALID_ARGUMENT,
         "args.control.found_inf is not at a multiple of 4 bytes, the size of its elements");
    device_close(&device);
}

Test(exact_details, adam_lists) {
    open_device();
    ADAM(adam.tensor_size = 0, QUERN_INVALID_STRUCT_SIZE, "args.tensor_size is 0: expected 112 (as QUERN_ADAM_ARGS_INIT sets)");
    ADAM(adam.tensor_size += 8, QUERN_INVALID_STRUCT_SIZE,
         "args.tensor_size is 120: expected 112 (as QUERN_ADAM_ARGS_INIT sets) (was the program compiled against a newer "
         "quern.h?)");
    ADAM(adam.tensor_size -= 4, QUERN_INVALID_STRUCT_SIZE, "args.tensor_size is 108: expected 112 (as QUERN_ADAM_ARGS_INIT sets)");
    ADAM((adam.tensor_size -= 8, adam.use_multipliers = 1), QUERN_INVALID_STRUCT_SIZE,
         "args.tensor_size is 104 with use_multipliers: expected 112, since a shorter tensor has no multipliers");
    ADAM(adam.tensor_count = -1, QUERN_INVALID_SHAPE, "args.tensor_count is -1: expected 0 or more");
    ADAM(adam.tensor_count = (int64_t)1 << 32, QUERN_INVALID_SHAPE, "args.tensor_count is 4294967296: expected at most 4294967295");
    ADAM(adam.tensors = NULL, QUERN_NULL_POINTER, "args.tensors is NULL");
    ADAM(adam.tensors = (void *)((char *)tensors + 4), QUERN_INVALID_ARGUMENT,
         "args.tensors is not at a multiple of 8 bytes, the size of its elements");
    ADAM(t->count = -1, QUERN_INVALID_SHAPE, "args.tensors[1].count is -1: expected 0 to 35184372088832");
    ADAM(t->count = INT64_MAX, QUERN_INVALID_SHAPE, "args.tensors[1].count is 9223372036854775807: expected 0 to 35184372088832");
    ADAM(t->param = NULL, QUERN_NULL_POINTER, "args.tensors[1].param is NULL");
    ADAM(t->grad = memory[1] + 1, QUERN_INVALID_ARGUMENT, "args.tensors[1].grad is not at a multiple of its element's size");
    ADAM(t->m_scale = NULL, QUERN_NULL_POINTER, "args.tensors[1].m_scale is NULL");
    ADAM(t->v_max_scale = NULL, QUERN_NULL_POINTER, "args.tensors[1].v_max_scale is NULL");
    ADAM(t->v = (char *)t->m + 39, QUERN_INVALID_ARGUMENT, "args.tensors[1].v overlaps args.tensors[1].m");
    ADAM(t->m = (char *)t->v + 39, QUERN_INVALID_ARGUMENT, "args.tensors[1].v overlaps args.tensors[1].m");
    ADAM(t->copy_scale = (void *)(memory[50] + 2), QUERN_INVALID_ARGUMENT,
         "args.tensors[1].copy_scale is not at a multiple of its element's size");
    ADAM(t->copy_max = (void *)(memory[50] + 1), QUERN_INVALID_ARGUMENT,
         "args.tensors[1].copy_max is not at a multiple of its element's size");
    ADAM(adam.copy_dtype = QUERN_BF16, QUERN_INVALID_ARGUMENT,
         "args.tensors[0].copy_scale is not NULL with a bf16 copy: only e4m3 and e5m2 copies are scaled");
    ADAM((adam.use_multipliers = 1, t->lr_multiplier = -0.5f), QUERN_INVALID_ARGUMENT,
         "args.tensors[1].lr_multiplier is -0.5: expected a finite number, 0 or more");
    ADAM((adam.use_multipliers = 1, t->weight_decay_multiplier = INFINITY), QUERN_INVALID_ARGUMENT,
         "args.tensors[1].weight_decay_multiplier is inf: expected a finite number, 0 or more");
    ADAM(t->v = (char *)tensors[0].m + 39, QUERN_INVALID_ARGUMENT,
         "args.tensors[1].v overlaps args.tensors[0].m: expected separate memory");
    ADAM(adam.control.lr = (void *)((char *)t->v + 36), QUERN_INVALID_ARGUMENT,
         "args.tensors[1].v overlaps args.control.lr: expected separate memory");
    device_close(&device);
}

Test(exact_details, adam_plans) {
    struct test_device other;
    open_device();
    fill_adam();
    check_ok(quern_adam_plan_create(device.quern, &adam, &plan));
#define PLANNED(change, status, text) ADAM((adam.tensors = NULL, adam.tensor_count = 0, adam.plan = plan, change), status, text)
    PLANNED(adam.tensors = tensors, QUERN_INVALID_ARGUMENT, "args.tensors is not NULL with a plan, which has its own list");
    PLANNED((adam.param_dtype = QUERN_F32, adam.master_dtype = QUERN_NO_DTYPE), QUERN_INVALID_ARGUMENT,
                "args.param_dtype is f32, and args.plan was made with bf16");
    PLANNED(adam.grad_dtype = QUERN_F32, QUERN_INVALID_ARGUMENT, "args.grad_dtype is f32, and args.plan was made with bf16");
    PLANNED(adam.m_dtype = QUERN_BF16, QUERN_INVALID_ARGUMENT, "args.m_dtype is bf16, and args.plan was made with e4m3");
    PLANNED(adam.v_dtype = QUERN_F16, QUERN_INVALID_ARGUMENT, "args.v_dtype is f16, and args.plan was made with e4m3");
    PLANNED(adam.master_dtype = QUERN_NO_DTYPE, QUERN_INVALID_ARGUMENT,
                "args.master_dtype is none, and args.plan was made with remainder");
    PLANNED(adam.copy_dtype = QUERN_NO_DTYPE, QUERN_INVALID_ARGUMENT, "args.copy_dtype is none, and args.plan was made with e4m3");
    PLANNED(adam.amsgrad = 0, QUERN_INVALID_ARGUMENT, "args.amsgrad is 0, and args.plan was made with 1");
    PLANNED(adam.zero_grads = 1, QUERN_INVALID_ARGUMENT, "args.zero_grads is 1, and args.plan was made with 0");
    PLANNED(adam.use_multipliers = 1, QUERN_INVALID_ARGUMENT, "args.use_multipliers is 1, and args.plan was made with 0");
    PLANNED(adam.control.step = (void *)memory[0], QUERN_INVALID_ARGUMENT,
                "args.control.step overlaps an array of args.plan: expected separate memory");
    device_open(&other, 0, NULL);
    adam.control.step = NULL;
    expect(__LINE__, quern_adam(other.quern, &adam, NULL, 0, NULL), QUERN_INVALID_ARGUMENT,
           "args.plan was made for another device");
    quern_gradient_norm_args norm = QUERN_GRADIENT_NORM_ARGS_INIT;
    norm.grad_dtype = QUERN_BF16, norm.plan = plan;
    expect(__LINE__, quern_gradient_norm(other.quern, &norm, NULL, 0, NULL), QUERN_INVALID_ARGUMENT,
           "args.plan was made for another device");
    norm.gradients = (void *)memory[0];
    expect(__LINE__, quern_gradient_norm(device.quern, &norm, NULL, 0, NULL), QUERN_INVALID_ARGUMENT,
           "args.gradients is not NULL with a plan, which has its own list");
    norm.gradients = NULL, norm.grad_dtype = QUERN_F16;
    expect(__LINE__, quern_gradient_norm(device.quern, &norm, NULL, 0, NULL), QUERN_INVALID_ARGUMENT,
           "args.grad_dtype is f16, and args.plan was made with bf16");
    device_close(&other);
    quern_adam_plan_destroy(plan);
    device_close(&device);
}

/* More elements than memory has, of one array or together; a GPU counts its tiles in 32 bits. */
Test(exact_details, counts_of_lists) {
    const int64_t most = (int64_t)1 << 45, too_many_tiles = (int64_t)1 << 44;
    open_device();
    fill_adam();
    tensors[0].count = tensors[1].count = device.kind == QUERN_CPU ? most : too_many_tiles;
    adam.param_dtype = adam.grad_dtype = adam.m_dtype = adam.v_dtype = QUERN_BF16;
    adam.amsgrad = 0, adam.master_dtype = adam.copy_dtype = QUERN_NO_DTYPE;
    for (int i = 0; i < 2; i++) {
        char *at = (char *)(uintptr_t)((uint64_t)(i + 1) << 52);
        tensors[i].param = at, tensors[i].grad = at + ((uint64_t)1 << 48), tensors[i].m = at + ((uint64_t)1 << 49);
        tensors[i].v = at + ((uint64_t)1 << 50);
    }
    if (device.kind == QUERN_CPU) {
        expect(__LINE__, quern_adam_plan_create(device.quern, &adam, &plan), QUERN_INVALID_SHAPE,
               "the count of args.tensors is more than 35184372088832 together");
    } else {
        expect(__LINE__, quern_adam_plan_create(device.quern, &adam, &plan), QUERN_NOT_SUPPORTED,
               "args.tensors[0].count is 17592186044416: a GPU takes up to 2199023255552");
        expect(__LINE__, call_adam(), QUERN_NOT_SUPPORTED,
               "args.tensors[0].count is 17592186044416: a GPU takes up to 2199023255552");
    }
    for (int i = 0; i < 2; i++) gradients[i] = (quern_gradient){tensors[i].grad, tensors[i].grad, tensors[i].count};
    quern_gradient_norm_args norm = QUERN_GRADIENT_NORM_ARGS_INIT;
    norm.grad_dtype = QUERN_BF16, norm.gradients = gradients, norm.gradient_count = 2;
    if (device.kind == QUERN_CPU) expect(__LINE__, quern_gradient_norm(device.quern, &norm, NULL, 0, NULL), QUERN_INVALID_SHAPE,
                                         "the count of args.gradients is more than 35184372088832 together");
    else expect(__LINE__, quern_gradient_norm(device.quern, &norm, NULL, 0, NULL), QUERN_NOT_SUPPORTED,
                "args.gradients[0].count is 17592186044416: a GPU takes up to 2199023255552");
    device_close(&device);
}

Test(exact_details, saved_states) {
    size_t bytes;
    open_device();
    fill_adam();
    expect(__LINE__, quern_adam_save(device.quern, &adam, memory[60], 7), QUERN_INVALID_ARGUMENT,
           "bytes is 7: expected 1416, as quern_adam_saved_bytes says");
    expect(__LINE__, quern_adam_load(device.quern, &adam, memory[60], 71, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "saved cannot be read as a saved state: it is shorter than a header");
    expect(__LINE__, quern_adam_load(device.quern, &adam, memory[60], 200, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "saved cannot be read as a saved state: it does not begin with QUERNADM");
    check_ok(quern_adam_saved_bytes(device.quern, &adam, &bytes));
    adam.tensor_count = 0;
    size_t empty;
    check_ok(quern_adam_saved_bytes(device.quern, &adam, &empty));
    unsigned char *saved = calloc(1, bytes);
    check(saved, "no memory");
    check_ok(quern_adam_save(device.quern, &adam, saved, empty));
    adam.tensor_count = 2;
    expect(__LINE__, quern_adam_load(device.quern, &adam, saved, empty, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "saved has 0 tensors: expected 2, those of args.tensors");
    saved[32] = 2;
    memset(saved + 64, 0, 16);
    expect(__LINE__, quern_adam_load(device.quern, &adam, saved, empty + 4, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "saved cannot be read as a saved state: it ends among its counts");
    saved[64] = 40, saved[72] = 41;
    expect(__LINE__, quern_adam_load(device.quern, &adam, saved, bytes, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "saved has 41 elements in tensor 1: expected 40, those of args.tensors");
    saved[72] = 40;
    expect(__LINE__, quern_adam_load(device.quern, &adam, saved, bytes - 64, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "bytes is 1352: expected 1416, by the header of saved");
    expect(__LINE__, quern_adam_load(device.quern, &adam, saved, bytes, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "saved cannot be read as a saved state: its hash does not match its bytes, so it is damaged");
    saved[28] = 2;
    expect(__LINE__, quern_adam_load(device.quern, &adam, saved, bytes, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "saved cannot be read as a saved state: its types are not those of a saved state");
    saved[8] = 2;
    expect(__LINE__, quern_adam_load(device.quern, &adam, saved, bytes, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "saved is of version 2: expected 1");
    saved[0] = 'q';
    expect(__LINE__, quern_adam_load(device.quern, &adam, saved, bytes, NULL, NULL), QUERN_INVALID_ARGUMENT,
           "saved cannot be read as a saved state: it does not begin with QUERNADM");
    free(saved);
    device_close(&device);
}

/* ---- gradients ---- */

static void fill_gradients(void) {
    for (int i = 0; i < 2; i++) gradients[i] = (quern_gradient){memory[2 * i], (void *)memory[2 * i + 1], 40};
}

#define NORM(change, status, text) do { \
        quern_gradient_norm_args norm = QUERN_GRADIENT_NORM_ARGS_INIT; \
        fill_gradients(); \
        norm.grad_dtype = QUERN_BF16, norm.gradients = gradients, norm.gradient_count = 2; \
        change; \
        expect(__LINE__, quern_gradient_norm(device.quern, &norm, memory[50], sizeof memory[50], NULL), status, text); \
    } while (0)

#define SUM(change, status, text) do { \
        quern_accumulate_args sum = QUERN_ACCUMULATE_ARGS_INIT; \
        fill_gradients(); \
        sum.grad_dtype = QUERN_BF16, sum.gradients = gradients, sum.gradient_count = 2; \
        change; \
        expect(__LINE__, quern_accumulate(device.quern, &sum, NULL), status, text); \
    } while (0)

Test(exact_details, gradient_norms) {
    open_device();
    NORM(norm.size = 4, QUERN_INVALID_STRUCT_SIZE,
         "args.size is 4: expected the size with the mark and the defaults, as the struct's _INIT macro and _init function set "
         "them");
    NORM(norm.grad_dtype = QUERN_E4M3, QUERN_INVALID_DTYPE, "args.grad_dtype is 4 (e4m3): expected one of f32, f16, bf16");
    NORM(norm.gradient_size = 32, QUERN_INVALID_STRUCT_SIZE,
         "args.gradient_size is 32: expected 24 (as the struct's initialiser sets)");
    NORM(norm.gradient_count = -1, QUERN_INVALID_SHAPE, "args.gradient_count is -1: expected 0 or more");
    NORM(norm.gradient_count = (int64_t)1 << 32, QUERN_INVALID_SHAPE,
         "args.gradient_count is 4294967296: expected at most 4294967295");
    NORM(norm.gradients = NULL, QUERN_NULL_POINTER, "args.gradients is NULL");
    NORM(norm.max_norm = -1, QUERN_INVALID_ARGUMENT, "args.max_norm is -1: expected a finite number, 0 or more");
    NORM(norm.grad_scale = (double)NAN, QUERN_INVALID_ARGUMENT,
         "args.grad_scale is nan: expected a finite number above 0, or 0 for 1");
    NORM(norm.grad_scale_pointer = (void *)(memory[8] + 2), QUERN_INVALID_ARGUMENT,
         "args.grad_scale_pointer is not at a multiple of 4 bytes, the size of its elements");
    NORM(norm.norm = (void *)(memory[8] + 2), QUERN_INVALID_ARGUMENT,
         "args.norm is not at a multiple of 4 bytes, the size of its elements");
    NORM(norm.clip = (void *)(memory[8] + 2), QUERN_INVALID_ARGUMENT,
         "args.clip is not at a multiple of 4 bytes, the size of its elements");
    NORM(norm.found_inf = (void *)(memory[8] + 2), QUERN_INVALID_ARGUMENT,
         "args.found_inf is not at a multiple of 4 bytes, the size of its elements");
    NORM(gradients[1].count = -2, QUERN_INVALID_SHAPE, "args.gradients[1].count is -2: expected 0 to 35184372088832");
    NORM(gradients[1].grad = NULL, QUERN_NULL_POINTER, "args.gradients[1].grad is NULL");
    NORM(gradients[1].grad = memory[2] + 1, QUERN_INVALID_ARGUMENT,
         "args.gradients[1].grad is not at a multiple of its element's size");
    NORM(norm.norm = (void *)(memory[2] + 76), QUERN_INVALID_ARGUMENT,
         "args.norm overlaps args.gradients[1].grad: expected separate memory");
    NORM((norm.norm = (void *)memory[8], norm.clip = norm.norm), QUERN_INVALID_ARGUMENT,
         "args.clip overlaps args.norm: expected separate memory");
    NORM((gradients[0].count = INT64_MAX / 4 * 2), QUERN_INVALID_SHAPE,
         "args.gradients[0].count is 4611686018427387902: expected 0 to 35184372088832");
    device_close(&device);
}

Test(exact_details, sums_of_gradients) {
    open_device();
    SUM(sum.size = 4, QUERN_INVALID_STRUCT_SIZE,
        "args.size is 4: expected the size with the mark and the defaults, as the struct's _INIT macro and _init function set "
        "them");
    SUM(sum.zero_grads = 2, QUERN_INVALID_ARGUMENT, "args.zero_grads is 2: expected 0 to 1");
    SUM(sum.scale = 4e38, QUERN_INVALID_ARGUMENT, "args.scale is 4e+38: expected -3.4e38 to 3.4e38, the range of fp32");
    SUM(sum.scale = (double)NAN, QUERN_INVALID_ARGUMENT, "args.scale is nan: expected -3.4e38 to 3.4e38, the range of fp32");
    SUM(gradients[1].main_grad = NULL, QUERN_NULL_POINTER, "args.gradients[1].main_grad is NULL");
    SUM(gradients[1].main_grad = (void *)(memory[3] + 2), QUERN_INVALID_ARGUMENT,
        "args.gradients[1].main_grad is not at a multiple of its element's size");
    SUM(gradients[1].main_grad = (void *)(memory[2] + 76), QUERN_INVALID_ARGUMENT,
        "args.gradients[1].main_grad overlaps args.gradients[1].grad");
    SUM(gradients[0].main_grad = (void *)(memory[2] + 76), QUERN_INVALID_ARGUMENT,
        "args.gradients[0].main_grad overlaps args.gradients[1].grad: expected separate memory");
    SUM((gradients[0].main_grad = gradients[1].main_grad), QUERN_INVALID_ARGUMENT,
        "args.gradients[1].main_grad overlaps args.gradients[0].main_grad: expected separate memory");
    SUM(sum.main_dtype = QUERN_F16, QUERN_INVALID_DTYPE, "args.main_dtype is 2 (f16): expected none or f32, bf16");
    SUM(sum.overwrite = 2, QUERN_INVALID_ARGUMENT, "args.overwrite is 2: expected 0 to 1");
    SUM(sum.overwrite_flags = (void *)(memory[8] + 2), QUERN_INVALID_ARGUMENT,
        "args.overwrite_flags is not at a multiple of 4 bytes, the size of its elements");
    SUM(sum.overwrite_flags = (void *)(memory[1] + 156), QUERN_INVALID_ARGUMENT,
        "args.gradients[0].main_grad overlaps args.overwrite_flags: expected separate memory");
    SUM((sum.main_dtype = QUERN_BF16, gradients[1].main_grad = memory[3] + 1), QUERN_INVALID_ARGUMENT,
        "args.gradients[1].main_grad is not at a multiple of its element's size");
    device_close(&device);
}

static const int32_t token_places[2] = {-1, 1};

Test(exact_details, groups_of_gradients) {
    open_device();
    SUM(sum.token_counts = (void *)memory[8], QUERN_INVALID_ARGUMENT,
        "args.group_count is 0: expected at least args.gradient_count, which is 2, since args.token_places is NULL");
    SUM((sum.token_counts = (void *)memory[8], sum.group_count = -1), QUERN_INVALID_SHAPE,
        "args.group_count is -1: expected 0 or more");
    SUM((sum.token_counts = (void *)memory[8], sum.group_count = (int64_t)1 << 31), QUERN_INVALID_SHAPE,
        "args.group_count is 2147483648: expected at most 2147483647");
    SUM((sum.token_counts = (void *)memory[8], sum.group_count = 1, sum.token_places = token_places), QUERN_INVALID_ARGUMENT,
        "args.token_places[1] is 1: expected -1, or 0 to below args.group_count, which is 1");
    static const int32_t negative[2] = {0, -2};
    SUM((sum.token_counts = (void *)memory[8], sum.group_count = 1, sum.token_places = negative), QUERN_INVALID_ARGUMENT,
        "args.token_places[1] is -2: expected -1, or 0 to below args.group_count, which is 1");
    SUM((sum.token_counts = (void *)memory[8], sum.group_count = 2, sum.token_places = (void *)(memory[9] + 2)),
        QUERN_INVALID_ARGUMENT, "args.token_places is not at a multiple of 4 bytes, the size of its elements");
    SUM((sum.token_counts = (void *)(memory[8] + 4), sum.group_count = 2), QUERN_INVALID_ARGUMENT,
        "args.token_counts is not at a multiple of 8 bytes, the size of its elements");
    SUM((sum.token_counts = (void *)(memory[3] + 152), sum.group_count = 2), QUERN_INVALID_ARGUMENT,
        "args.gradients[1].main_grad overlaps args.token_counts: expected separate memory");
    device_close(&device);
}

static quern_accumulate_plan *plan_of_sums(quern_device *owner, int64_t groups) {
    quern_accumulate_args sum = QUERN_ACCUMULATE_ARGS_INIT;
    quern_accumulate_plan *plan;
    fill_gradients();
    sum.grad_dtype = QUERN_BF16, sum.gradients = gradients, sum.gradient_count = 2, sum.group_count = groups;
    check_ok(quern_accumulate_plan_create(owner, &sum, &plan));
    return plan;
}

#define PLANNED_SUM(change, status, text) SUM((sum.plan = plan, sum.gradients = NULL, change), status, text)

Test(exact_details, plans_of_sums) {
    quern_device *other;
    open_device();
    check_ok(quern_device_open(device.kind, device.ordinal, &other));
    quern_accumulate_plan *plan = plan_of_sums(device.quern, 0);
    SUM(sum.plan = plan, QUERN_INVALID_ARGUMENT, "args.gradients is not NULL with a plan, which has its own list");
    PLANNED_SUM(sum.token_places = token_places, QUERN_INVALID_ARGUMENT,
                "args.token_places is not NULL with a plan, which has its own");
    PLANNED_SUM(sum.grad_dtype = QUERN_F16, QUERN_INVALID_ARGUMENT, "args.grad_dtype is f16, and args.plan was made with bf16");
    PLANNED_SUM(sum.main_dtype = QUERN_BF16, QUERN_INVALID_ARGUMENT, "args.main_dtype is bf16, and args.plan was made with f32");
    PLANNED_SUM(sum.zero_grads = 1, QUERN_INVALID_ARGUMENT, "args.zero_grads is 1, and args.plan was made with 0");
    PLANNED_SUM(sum.token_counts = (void *)memory[8], QUERN_INVALID_ARGUMENT,
                "args.token_counts is not NULL, and args.plan was made with group_count 0: expected NULL");
    PLANNED_SUM(sum.overwrite_flags = (void *)(memory[3] + 156), QUERN_INVALID_ARGUMENT,
                "args.overwrite_flags overlaps an array of args.plan: expected separate memory");
    quern_accumulate_plan_destroy(plan);
    plan = plan_of_sums(device.quern, 2);
    PLANNED_SUM(sum.token_counts = (void *)(memory[3] + 152), QUERN_INVALID_ARGUMENT,
                "args.token_counts overlaps an array of args.plan: expected separate memory");
    quern_accumulate_plan_destroy(plan);
    plan = plan_of_sums(other, 0);
    PLANNED_SUM(sum.scale = 1, QUERN_INVALID_ARGUMENT, "args.plan was made for another device");
    quern_accumulate_args sum = QUERN_ACCUMULATE_ARGS_INIT;
    sum.grad_dtype = QUERN_BF16, sum.gradient_count = 2, sum.plan = plan;  /* a plan is not made of another one */
    expect(__LINE__, quern_accumulate_plan_create(other, &sum, &plan), QUERN_NULL_POINTER, "args.gradients is NULL");
    expect(__LINE__, quern_accumulate_plan_create(other, &sum, NULL), QUERN_NULL_POINTER, "plan is NULL");
    expect(__LINE__, quern_accumulate_plan_create(NULL, &sum, &plan), QUERN_NULL_POINTER, "device is NULL");
    expect(__LINE__, quern_accumulate_plan_create(other, NULL, &plan), QUERN_NULL_POINTER, "args is NULL");
    quern_accumulate_plan_destroy(plan);
    quern_device_close(other);
    device_close(&device);
}

/* ---- quantisation ---- */

static quern_quantize_tensor quantized[300];

#define QUANTIZE(call, change, status, text) do { \
        quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT; \
        for (int i = 0; i < 300; i++) quantized[i] = (quern_quantize_tensor){.input = memory[0], .output = memory[1]}; \
        for (int i = 0; i < 2; i++) \
            quantized[i] = (quern_quantize_tensor){.input = memory[2 * i], .output = memory[2 * i + 1], .count = 4}; \
        args.input_dtype = QUERN_BF16, args.output_dtype = QUERN_E4M3, args.tensors = quantized, args.tensor_count = 2; \
        args.amax = (void *)memory[8], args.scale = (void *)memory[9], args.scale_inv = (void *)memory[10]; \
        change; \
        expect(__LINE__, call, status, text); \
    } while (0)
#define WHOLE quern_quantize(device.quern, &args, memory[50], sizeof memory - 50 * sizeof *memory, NULL)

Test(exact_details, quantisations) {
    open_device();
    QUANTIZE(WHOLE, args.input_dtype = QUERN_E4M3, QUERN_INVALID_DTYPE,
             "args.input_dtype is 4 (e4m3): expected one of f32, f16, bf16");
    QUANTIZE(WHOLE, args.output_dtype = QUERN_F16, QUERN_INVALID_DTYPE, "args.output_dtype is 2 (f16): expected one of e4m3, e5m2");
    QUANTIZE(WHOLE, args.tensor_size = 16, QUERN_INVALID_STRUCT_SIZE,
             "args.tensor_size is 16: expected 56 (as the struct's initialiser sets)");
    QUANTIZE(WHOLE, args.tensor_size = 64, QUERN_INVALID_STRUCT_SIZE,
             "args.tensor_size is 64: expected 56 (as the struct's initialiser sets)");
    QUANTIZE(WHOLE, args.tensor_size = 28, QUERN_INVALID_STRUCT_SIZE,
             "args.tensor_size is 28: expected 56 (as the struct's initialiser sets)");
    QUANTIZE(WHOLE, (args.tensor_size = 24, args.scaling = QUERN_SCALING_MX, quantized[0].columns = 2), QUERN_INVALID_SHAPE,
             "args.tensors[0].columns is 0: expected a divisor of the count, 4");
    QUANTIZE(WHOLE, quantized[1].count = -1, QUERN_INVALID_SHAPE, "args.tensors[1].count is -1: expected 0 to 35184372088832");
    QUANTIZE(WHOLE, quantized[1].input = NULL, QUERN_NULL_POINTER, "args.tensors[1].input is NULL");
    QUANTIZE(WHOLE, quantized[1].input = memory[2] + 1, QUERN_INVALID_ARGUMENT,
             "args.tensors[1].input is not at a multiple of its element's size");
    QUANTIZE(WHOLE, quantized[0].output = NULL, QUERN_NULL_POINTER, "args.tensors[0].output is NULL");
    QUANTIZE(WHOLE, quantized[0].output = memory[0] + 7, QUERN_INVALID_ARGUMENT,
             "args.tensors[0].output overlaps args.tensors[0].input: expected separate memory");
    QUANTIZE(WHOLE, quantized[1].transposed = memory[20], QUERN_INVALID_SHAPE,
             "args.tensors[1].columns is 0: expected a divisor of the count, 4");
    QUANTIZE(WHOLE, (args.scaling = QUERN_SCALING_MX, quantized[0].columns = 3), QUERN_INVALID_SHAPE,
             "args.tensors[0].columns is 3: expected a divisor of the count, 4");
    QUANTIZE(WHOLE, (args.scaling = QUERN_SCALING_MX, quantized[0].columns = 2), QUERN_NULL_POINTER,
             "args.tensors[0].block_scales is NULL");
    QUANTIZE(WHOLE, (args.scaling = QUERN_SCALING_MX, args.tensor_count = 1, quantized[0].columns = 2, quantized[0].output = NULL,
                     quantized[0].transposed = memory[20]), QUERN_NULL_POINTER,
             "args.tensors[0].transposed_block_scales is NULL");
    QUANTIZE(WHOLE,
             (args.scaling = QUERN_SCALING_MX, quantized[0].columns = 2, quantized[0].block_scales = (void *)(memory[1] + 3)),
             QUERN_INVALID_ARGUMENT, "args.tensors[0].block_scales overlaps args.tensors[0].output: expected separate memory");
    QUANTIZE(WHOLE, (quantized[0].columns = 2, quantized[0].transposed = memory[0] + sizeof memory[0] - 3), QUERN_INVALID_ARGUMENT,
             "args.tensors[0].transposed overlaps args.tensors[0].output: expected separate memory");
    QUANTIZE(WHOLE, args.scaling = (quern_scaling)3, QUERN_INVALID_ARGUMENT, "args.scaling is 3: expected 0 to 2");
    QUANTIZE(WHOLE, (args.tensor_count = 1, quantized[0].columns = 2, quantized[0].block_scales = (void *)memory[20],
                     args.history = (void *)memory[12], args.history_length = 1, args.scaling = QUERN_SCALING_MX),
             QUERN_INVALID_ARGUMENT, "args.history is not NULL: expected NULL with QUERN_SCALING_MX");
    QUANTIZE(quern_quantize_amax(device.quern, &args, NULL, 0, NULL), args.scaling = QUERN_SCALING_MX, QUERN_INVALID_ARGUMENT,
             "args.scaling is QUERN_SCALING_MX: expected the scaling of a tensor, since only quern_quantize has blocks");
    QUANTIZE(WHOLE, quantized[1].output = memory[1] + 3, QUERN_INVALID_ARGUMENT,
             "args.tensors[1].output overlaps args.tensors[0].output: expected separate memory");
    QUANTIZE(WHOLE, (args.tensor_count = 300, args.amax = (void *)memory[3], args.scale = args.scale_inv = NULL),
             QUERN_INVALID_ARGUMENT,
             "args.amax overlaps args.tensors[1].output: expected separate memory");
    QUANTIZE(WHOLE, args.eps = -1, QUERN_INVALID_ARGUMENT, "args.eps is -1: expected 0 to 3.4e38, the largest fp32");
    QUANTIZE(WHOLE, args.power_of_two = 2, QUERN_INVALID_ARGUMENT, "args.power_of_two is 2: expected 0 to 1");
    QUANTIZE(WHOLE, args.rounding = (quern_rounding)3, QUERN_INVALID_ARGUMENT, "args.rounding is 3: expected 0 to 2");
    QUANTIZE(WHOLE, args.amax = NULL, QUERN_NULL_POINTER, "args.amax is NULL");
    QUANTIZE(WHOLE, (args.history = (void *)memory[12], args.history_length = 0), QUERN_INVALID_SHAPE,
             "args.history_length is 0: expected 1 to 65536");
    QUANTIZE(quern_quantize_cast(device.quern, &args, NULL), args.history = (void *)memory[12], QUERN_INVALID_ARGUMENT,
             "args.history is not NULL: expected NULL, since only quern_quantize has delayed scaling");
    device_close(&device);
}

static quern_quantize_plan *plan_of_tensors(quern_device *owner) {
    quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT;
    quern_quantize_plan *plan;
    for (int i = 0; i < 2; i++)
        quantized[i] = (quern_quantize_tensor){.input = memory[2 * i], .output = memory[2 * i + 1], .count = 4};
    args.input_dtype = QUERN_BF16, args.output_dtype = QUERN_E4M3, args.tensors = quantized, args.tensor_count = 2;
    check_ok(quern_quantize_plan_create(owner, &args, &plan));
    return plan;
}

Test(exact_details, plans_of_quantisations) {
    quern_device *other;
    open_device();
    check_ok(quern_device_open(device.kind, device.ordinal, &other));
    quern_quantize_plan *plan = plan_of_tensors(device.quern), *foreign = plan_of_tensors(other);
    QUANTIZE(WHOLE, args.plan = plan, QUERN_INVALID_ARGUMENT, "args.tensors is not NULL with a plan, which has its own list");
    QUANTIZE(WHOLE, (args.plan = plan, args.tensors = NULL, args.input_dtype = QUERN_F16), QUERN_INVALID_ARGUMENT,
             "args.input_dtype is f16, and args.plan was made with bf16");
    QUANTIZE(WHOLE, (args.plan = plan, args.tensors = NULL, args.output_dtype = QUERN_E5M2), QUERN_INVALID_ARGUMENT,
             "args.output_dtype is e5m2, and args.plan was made with e4m3");
    QUANTIZE(WHOLE, (args.plan = plan, args.tensors = NULL, args.scaling = QUERN_SCALING_MX), QUERN_INVALID_ARGUMENT,
             "args.scaling is QUERN_SCALING_MX, and args.plan was made with that of a tensor");
    QUANTIZE(WHOLE, (args.plan = foreign, args.tensors = NULL), QUERN_INVALID_ARGUMENT, "args.plan was made for another device");
    QUANTIZE(WHOLE, (args.plan = plan, args.tensors = NULL, args.scale = (void *)memory[3]), QUERN_INVALID_ARGUMENT,
             "args.scale overlaps an array of args.plan: expected separate memory");
    QUANTIZE(quern_quantize_plan_create(device.quern, &args, NULL), args.eps = 0, QUERN_NULL_POINTER, "plan is NULL");
    QUANTIZE(quern_quantize_plan_create(NULL, &args, &plan), args.eps = 0, QUERN_NULL_POINTER, "device is NULL");
    quern_quantize_plan_destroy(plan);
    quern_quantize_plan_destroy(foreign);
    quern_device_close(other);
    device_close(&device);
}

/* ---- arguments that all calls have ---- */

Test(exact_details, workspaces_and_streams) {
    open_device();
    quern_gradient_norm_args norm = QUERN_GRADIENT_NORM_ARGS_INIT;
    fill_gradients();
    norm.grad_dtype = QUERN_BF16, norm.gradients = gradients, norm.gradient_count = 2;
    size_t bytes;
    char text[100];
    check_ok(quern_gradient_norm_workspace(device.quern, &norm, &bytes));
    snprintf(text, sizeof text, "workspace_bytes is %zu: expected at least %zu", bytes - 1, bytes);
    expect(__LINE__, quern_gradient_norm(device.quern, &norm, memory[50], bytes - 1, NULL), QUERN_WORKSPACE_TOO_SMALL, text);
    snprintf(text, sizeof text, "workspace is NULL: expected %zu bytes", bytes);
    expect(__LINE__, quern_gradient_norm(device.quern, &norm, NULL, bytes, NULL), QUERN_NULL_POINTER, text);
    expect(__LINE__, quern_gradient_norm(device.quern, &norm, memory[50] + 8, bytes, NULL), QUERN_INVALID_ARGUMENT,
           "workspace is not at a multiple of 16 bytes");
    if (device.kind == QUERN_CPU)
        expect(__LINE__, quern_gradient_norm(device.quern, &norm, memory[50], bytes, memory), QUERN_INVALID_ARGUMENT,
               "stream is not NULL: a CPU device has no streams");
    expect(__LINE__, quern_gradient_norm_workspace(device.quern, &norm, NULL), QUERN_NULL_POINTER, "bytes is NULL");
    expect(__LINE__, quern_gradient_norm_workspace(NULL, &norm, &bytes), QUERN_NULL_POINTER, "device is NULL");
    expect(__LINE__, quern_gradient_norm(device.quern, NULL, NULL, 0, NULL), QUERN_NULL_POINTER, "args is NULL");
    device_close(&device);
}
