/*
 * Kernel packs.  On a generation that the library does not have, a running engine loads a pack, and its kernels then serve the
 * engine without relinking.  A faulty pack is refused with a reason and changes nothing.  Called by tests/checks/pack/run.py.
 *
 *   QUERN_TEST_PACK=FILE             the pack; a device has the compute capability of its target
 *   QUERN_TEST_PACK_TARGET=sm_121    the target of the pack
 *   QUERN_TEST_TARGET=sm_120f        the target that serves the device without the pack
 */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/device.h"
#include "kernels/kernel.h"
#include "runtime/pack_format.h"
#include "quern.h"

static const char *pack_target(void) {
    const char *target = getenv("QUERN_TEST_PACK_TARGET");
    check(target, "QUERN_TEST_PACK_TARGET is not set");
    return target;
}

static const char *pack_path(void) {
    const char *path = getenv("QUERN_TEST_PACK");
    check(path, "QUERN_TEST_PACK is not set");
    return path;
}

static void expect_target(const quern_device *device, const char *target) {
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    check_ok(quern_device_get_info(device, &info));
    check(!strcmp(info.target, target), "the best target is %s, expected %s", info.target, target);
}

/* ---- service ---- */

enum { COUNT = 1000 };

static quern_adam_args adam_args(quern_adam_tensor *tensor) {
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = args.grad_dtype = args.m_dtype = args.v_dtype = QUERN_BF16;
    args.tensors = tensor;
    args.tensor_count = 1;
    args.lr = 0.01;
    args.weight_decay = 0.1;
    args.step = 1;
    return args;
}

/* Takes one step of all-bf16 Adam on a device.  The result holds the new parameters, then m, then v. */
static void take_step(const struct test_device *device, uint16_t result[3 * COUNT]) {
    uint16_t values[4][COUNT];
    struct buffer buffers[4];
    for (int i = 0; i < COUNT; i++) {
        values[0][i] = (uint16_t)(0x3F80 + i % 64);           /* param: 1 to 1.5 */
        values[1][i] = (uint16_t)(0x3C00 + i % 251 * 3);      /* grad: small */
        values[2][i] = values[3][i] = 0;
    }
    for (int k = 0; k < 4; k++) buffer_open(&buffers[k], device, sizeof values[k], 0, values[k]);
    quern_adam_tensor tensor = {.param = buffers[0].data, .grad = buffers[1].data, .m = buffers[2].data, .v = buffers[3].data,
                                .count = COUNT};
    quern_adam_args args = adam_args(&tensor);
    check_ok(quern_adam(device->quern, &args, NULL, 0, device->stream));
    for (int k = 0, to = 0; k < 4; k++)
        if (k != 1) memcpy(result + COUNT * to++, buffer_read(&buffers[k]), sizeof values[k]);
    for (int k = 0; k < 4; k++) buffer_close(&buffers[k]);
}

static void expect_kernel(const quern_device *device, const char *target) {
    char text[4000], name[100];
    snprintf(name, sizeof name, "adam_pbf16_gbf16_mbf16_vbf16__%s: chosen", target);
    quern_adam_tensor tensor = {0};
    quern_adam_args args = adam_args(&tensor);
    quern_adam_explain(device, &args, text, sizeof text);
    check(strstr(text, name), "%s is not in the walk:\n%s", name, text);
}

Test(pack, serves_a_generation_that_the_library_does_not_have) {
    struct test_device device;
    uint16_t before[3 * COUNT], after[3 * COUNT];
    device_open(&device, 0, "*");
    expect_target(device.quern, test_target());
    check_ok(quern_prepare(device.quern, QUERN_ADAM | QUERN_CROSS_ENTROPY));
    take_step(&device, before);
    expect_kernel(device.quern, test_target());

    check_ok(quern_load_pack(pack_path()));
    expect_target(device.quern, pack_target());
    check_ok(quern_prepare(device.quern, QUERN_ADAM | QUERN_CROSS_ENTROPY));
    expect_kernel(device.quern, pack_target());
    take_step(&device, after);
    check(!memcmp(before, after, sizeof before), "the pack's kernel gives other bits than the library's");

    check_ok(quern_load_pack(pack_path()));  /* a second load has no effect */
    expect_target(device.quern, pack_target());
    device_close(&device);
}

Test(pack, serves_cross_entropy) {
    enum { ROWS = 4, VOCAB = 100 };
    struct test_device device;
    struct buffer logits, labels, loss, workspace;
    float ones[ROWS * VOCAB];
    int32_t label[ROWS] = {0, 1, 2, 99};
    for (int i = 0; i < ROWS * VOCAB; i++) ones[i] = 1;
    check_ok(quern_load_pack(pack_path()));
    char kernels[64];
    snprintf(kernels, sizeof kernels, "*__%s", pack_target());
    setenv("QUERN_TEST_TARGET", pack_target(), 1);
    device_open(&device, 0, kernels);
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
    buffer_open(&logits, &device, sizeof ones, 0, ones);
    buffer_open(&labels, &device, sizeof label, 0, label);
    buffer_open(&loss, &device, sizeof(float), 0, NULL);
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_F32;
    args.labels_dtype = QUERN_INT32;
    args.reduction = QUERN_REDUCTION_MEAN;
    args.rows = ROWS;
    args.vocab = VOCAB;
    args.logits = args.grad = logits.data;
    args.labels = labels.data;
    args.loss = loss.data;
    size_t bytes;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    buffer_open(&workspace, &device, bytes, 0, NULL);
    check_ok(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream));
    float mean = *(float *)buffer_read(&loss);
    check(mean > 4.60516f && mean < 4.60518f, "the loss is %g, expected log(100)", (double)mean);
    struct buffer *all[] = {&logits, &labels, &loss, &workspace};
    for (int i = 0; i < 4; i++) buffer_close(all[i]);
    device_close(&device);
}

/* ---- refusals ---- */

struct bytes {
    unsigned char *data;
    size_t count;
};

static struct bytes read_pack(void) {
    FILE *file = fopen(pack_path(), "rb");
    check(file, "%s cannot be opened", pack_path());
    fseek(file, 0, SEEK_END);
    struct bytes bytes = {NULL, (size_t)ftell(file)};
    bytes.data = malloc(bytes.count);
    rewind(file);
    check(fread(bytes.data, 1, bytes.count, file) == bytes.count, "%s cannot be read", pack_path());
    fclose(file);
    return bytes;
}

/* Writes the right checksum, so that the pack has only the fault under test. */
static void seal(struct bytes bytes) {
    struct quern_pack_header *header = (struct quern_pack_header *)bytes.data;
    header->checksum = 0;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes.count; i++) hash = (hash ^ bytes.data[i]) * 0x100000001b3u;
    header->checksum = hash;
}

static void expect_refused(struct bytes bytes, const char *reason) {
    char path[] = "/tmp/quern_pack_XXXXXX";
    int file = mkstemp(path);
    check(file >= 0 && write(file, bytes.data, bytes.count) == (ssize_t)bytes.count, "cannot write %s", path);
    close(file);
    struct test_device device;
    device_open(&device, 0, "*");
    quern_status status = quern_load_pack(path);
    unlink(path);
    check(status == QUERN_INVALID_PACK, "%s: status %s", reason, quern_status_string(status));
    check(strstr(error_detail(), reason), "the detail is \"%s\", expected \"%s\"", error_detail(), reason);
    expect_target(device.quern, test_target());
    device_close(&device);
}

Test(pack, refuses_what_is_no_pack) {
    struct bytes bytes = read_pack();
    bytes.data[0] ^= 1;
    expect_refused(bytes, "it is no kernel pack");
    bytes.count = 20;
    expect_refused(bytes, "has 20 bytes");
    bytes.count = 0;
    expect_refused(bytes, "has 0 bytes");
}

Test(pack, refuses_another_version) {
    struct bytes bytes = read_pack();
    ((struct quern_pack_header *)bytes.data)->version++;
    seal(bytes);
    char reason[80];
    snprintf(reason, sizeof reason, "version %d: this library reads version %d", QUERN_PACK_VERSION + 1, QUERN_PACK_VERSION);
    expect_refused(bytes, reason);
}

Test(pack, refuses_a_truncated_one) {
    struct bytes bytes = read_pack();
    bytes.count -= 1;
    expect_refused(bytes, "truncated");
    bytes.count /= 2;
    expect_refused(bytes, "truncated");
}

Test(pack, refuses_damage_anywhere) {
    struct bytes bytes = read_pack();
    for (size_t at = sizeof(struct quern_pack_header); at < bytes.count; at += bytes.count / 7) {
        bytes.data[at] ^= 0x10;
        expect_refused(bytes, "wrong checksum");
        bytes.data[at] ^= 0x10;
    }
}

/* A row that takes steps of Adam: its dtypes are param, grad, m, v and master. */
static struct quern_pack_row *find_step(struct bytes bytes) {
    const struct quern_pack_header *header = (const struct quern_pack_header *)bytes.data;
    struct quern_pack_row *row = (struct quern_pack_row *)(bytes.data + sizeof *header);
    while (row->operation != QUERN_ADAM || row->stage != QUERN_ADAM_STEP) row++;
    return row;
}

/* The checksum is right, but the rows make no sense. */
Test(pack, refuses_rows_that_make_no_sense) {
    struct bytes bytes = read_pack();
    struct quern_pack_row *row = find_step(bytes), sound = *row;
    const struct {
        const char *reason;
        struct quern_pack_row row;
    } faults[] = {
#define FAULT(text, change) {text, ({ struct quern_pack_row r = sound; change; r; })}
        FAULT("an unknown operation", r.operation = 64),
        FAULT("an unknown dtype", r.dtypes[0] = 99),
        FAULT("an unknown dtype", r.dtypes[1] = QUERN_E4M3),
        FAULT("an unknown dtype", r.dtypes[3] = QUERN_REMAINDER),
        FAULT("an unknown dtype", r.dtypes[4] = QUERN_BF16),
        FAULT("an unknown dtype", r.stage = QUERN_GRADIENT_NORM_COMBINE),
        FAULT("an unknown task", r.stage = 4),
        FAULT("an unknown set of options", r.full = 2),
        FAULT("a wrong number of elements in a tile", r.elements = 1024),
        FAULT("an image outside the file", r.image_offset = bytes.count),
        FAULT("an image outside the file", r.image_bytes = UINT64_MAX),
        FAULT("a wrong number of threads", r.threads = 2048),
        FAULT("a wrong range of compute capabilities", r.cc_max = r.cc_min - 1),
        FAULT("no name", memset(r.name, 'x', sizeof r.name)),
        FAULT("no entry", r.entry[0] = 0),
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        *row = faults[i].row;
        seal(bytes);
        expect_refused(bytes, faults[i].reason);
    }
}

Test(pack, refuses_what_cannot_be_read) {
    check_status(quern_load_pack("/nonexistent/pack.qpack"), QUERN_SYSTEM_ERROR);
    check_status(quern_load_pack("/tmp"), QUERN_SYSTEM_ERROR);
    check_status(quern_load_pack(NULL), QUERN_NULL_POINTER);
}
