/*
 * Kernel packs.  On a generation that the library does not have, a running engine loads a pack, and its kernels then serve the
 * engine without relinking.  A faulty pack is refused with a reason and changes nothing.  Called by tests/checks/pack/run.py.
 *
 *   QUERN_TEST_PACK=FILE             the pack; a device has the compute capability of its target
 *   QUERN_TEST_PACK_TARGET=sm_121    the target of the pack
 *   QUERN_TEST_TARGET=sm_120f        the target that serves the device without the pack
 */
#define _POSIX_C_SOURCE 200809L

#include "harness/buffer.h"
#include "harness/failing.h"
#include "os/unload.h"
#include "runtime/pack_format.h"

static const char *variable(const char *name) {
    const char *value = getenv(name);
    check(value, "%s is not set", name);
    return value;
}

static const char *pack_target(void) { return variable("QUERN_TEST_PACK_TARGET"); }

static const char *pack_path(void) { return variable("QUERN_TEST_PACK"); }

static void expect_target(const quern_device *device, const char *target) {
    const quern_device_info info = info_of(device);
    check(!strcmp(info.target, target), "the best target is %s, expected %s", info.target, target);
}

/* ---- service ---- */

enum { VALUES = 1000 };

static quern_adam_args adam_args(quern_adam_tensor *tensor) {
    return (quern_adam_args)ADAM_ARGS(ADAM_DTYPES(QUERN_BF16), .tensors = tensor, .tensor_count = 1, .lr = 0.01,
                                      .weight_decay = 0.1, .step = 1);
}

/* Takes one step of all-bf16 Adam on a device.  The result holds the new parameters, then m, then v. */
static void take_step(const struct test_device *device, uint16_t result[3 * VALUES]) {
    uint16_t values[4][VALUES];
    struct buffer buffers[4];
    for (int i = 0; i < VALUES; i++) {
        values[0][i] = (uint16_t)(0x3F80 + i % 64);           /* param: 1 to 1.5 */
        values[1][i] = (uint16_t)(0x3C00 + i % 251 * 3);      /* grad: small */
        values[2][i] = values[3][i] = 0;
    }
    for (int k = 0; k < 4; k++) buffer_open(&buffers[k], device, sizeof values[k], 0, values[k]);
    quern_adam_tensor tensor = {.param = buffers[0].data, .grad = buffers[1].data, .m = buffers[2].data, .v = buffers[3].data,
                                .count = VALUES};
    quern_adam_args args = adam_args(&tensor);
    check_ok(quern_adam(device->quern, &args, NULL, 0, device->stream));
    for (int k = 0, to = 0; k < 4; k++)
        if (k != 1) memcpy(result + VALUES * to++, buffer_read(&buffers[k]), sizeof values[k]);
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
    uint16_t before[3 * VALUES], after[3 * VALUES];
    OPEN_DEVICE(device, "*");
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
}

Test(pack, serves_cross_entropy) {
    enum { ROWS = 4, VOCAB = 100 };
    struct buffer logits, labels, loss, workspace;
    char kernels[64];
    float ones[ROWS * VOCAB];
    int32_t label[ROWS] = {0, 1, 2, 99};
    for (int i = 0; i < ROWS * VOCAB; i++) ones[i] = 1;
    check_ok(quern_load_pack(pack_path()));
    snprintf(kernels, sizeof kernels, "*__%s", pack_target());
    setenv("QUERN_TEST_TARGET", pack_target(), 1);
    OPEN_DEVICE(device, kernels);
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
    buffer_open(&logits, &device, sizeof ones, 0, ones);
    buffer_open(&labels, &device, sizeof label, 0, label);
    buffer_open(&loss, &device, sizeof(float), 0, NULL);
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = QUERN_F32, .labels_dtype = QUERN_INT32,
                                                       .reduction = QUERN_REDUCTION_MEAN, .rows = ROWS, .vocab = VOCAB,
                                                       .logits = logits.data, .grad = logits.data, .labels = labels.data,
                                                       .loss = loss.data);
    size_t bytes;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    buffer_open(&workspace, &device, bytes, 0, NULL);
    check_ok(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream));
    float mean = *(float *)buffer_read(&loss);
    check(mean > 4.60516f && mean < 4.60518f, "the loss is %g, expected log(100)", (double)mean);
    struct buffer *all[] = {&logits, &labels, &loss, &workspace};
    for (int i = 0; i < 4; i++) buffer_close(all[i]);
}

/* The pack's kernels are asked like the library's. */
Test(pack, that_computes_rubbish_is_left_to_the_library) {
    char fault[80];
    snprintf(fault, sizeof fault, "stores@%s/*:1", pack_target());
    check_ok(quern_load_pack(pack_path()));
    OPEN_ON(device, QUERN_CUDA, 0);
    expect_target(device, pack_target());
    setenv("QUERN_EMULATOR_FAIL", fault, 1);
    check_ok(quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM));
    expect_target(device, test_target());
}

/* ---- refusals ---- */

struct bytes {
    unsigned char *data;
    size_t count;
};

static struct quern_pack_header *header_of(struct bytes bytes) { return (struct quern_pack_header *)bytes.data; }

static struct quern_pack_row *rows_of(struct bytes bytes) { return (struct quern_pack_row *)(header_of(bytes) + 1); }

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
    uint64_t hash = 0xcbf29ce484222325u;
    header_of(bytes)->checksum = 0;
    for (size_t i = 0; i < bytes.count; i++) hash = (hash ^ bytes.data[i]) * 0x100000001b3u;
    header_of(bytes)->checksum = hash;
}

/* The library's allocations are counted meanwhile. */
static quern_status load(struct bytes bytes) {
    const char *failed;
    char path[] = "/tmp/quern_pack_XXXXXX";
    int file = mkstemp(path);
    check(file >= 0 && write(file, bytes.data, bytes.count) == (ssize_t)bytes.count, "cannot write %s", path);
    close(file);
    failing_begin(FAILING_MEMORY, 0, 0);
    quern_status status = quern_load_pack(path);
    failing_end(&failed);
    unlink(path);
    return status;
}

__attribute__((format(printf, 2, 3))) static void expect_refused(struct bytes bytes, const char *format, ...) {
    char reason[160];
    va_list list;
    va_start(list, format);
    vsnprintf(reason, sizeof reason, format, list);
    va_end(list);
    OPEN_DEVICE(device, "*");
    quern_status status = load(bytes);
    check(status == QUERN_INVALID_PACK, "%s: status %s", reason, quern_status_string(status));
    check(strstr(error_detail(), reason), "the detail is \"%s\", expected \"%s\"", error_detail(), reason);
    expect_target(device.quern, test_target());
}

Test(pack, refuses_what_is_no_pack) {
    static const size_t places[] = {0, sizeof QUERN_PACK_MAGIC - 2}, counts[] = {0, 20, sizeof(struct quern_pack_header) - 1};
    struct bytes bytes = read_pack();
    for (size_t i = 0; i < COUNT(places); i++) {
        bytes.data[places[i]] ^= 1;
        expect_refused(bytes, " does not begin with QUERNPAK: it is no kernel pack");
        bytes.data[places[i]] ^= 1;
    }
    for (size_t i = 0; i < COUNT(counts); i++) {
        bytes.count = counts[i];
        expect_refused(bytes, " has %zu bytes: a kernel pack has at least %zu", bytes.count, sizeof(struct quern_pack_header));
    }
}

/* Changes one field of the header by `change`; what follows is the reason of the refusal. */
#define CHANGED_HEADER(bytes, field, change, ...) do { \
        header_of(bytes)->field += (change); \
        seal(bytes); \
        expect_refused(bytes, __VA_ARGS__); \
        header_of(bytes)->field -= (change); \
    } while (0)

Test(pack, refuses_another_version) {
    struct bytes bytes = read_pack();
    for (int change = -1; change <= 1; change += 2)
        CHANGED_HEADER(bytes, version, (uint32_t)change, "version %d: this library reads version %d", QUERN_PACK_VERSION + change,
                       QUERN_PACK_VERSION);
    CHANGED_HEADER(bytes, header_bytes, 8, "version %d: this library", QUERN_PACK_VERSION);
    CHANGED_HEADER(bytes, row_bytes, (uint32_t)-8, "version %d: this library", QUERN_PACK_VERSION);
}

Test(pack, refuses_a_truncated_one) {
    static const char reason[] = " has %zu bytes and its header says %zu: it is truncated or has grown";
    struct bytes bytes = read_pack();
    const size_t whole = bytes.count, counts[] = {whole - 1, whole / 2, sizeof(struct quern_pack_header)};
    for (size_t i = 0; i < COUNT(counts); i++) {
        bytes.count = counts[i];
        expect_refused(bytes, reason, counts[i], whole);
    }
    bytes.count = whole;
    CHANGED_HEADER(bytes, file_bytes, (uint64_t)-1, reason, whole, whole - 1);
}

/* As many rows as the file could hold are read, and one of them, in the images, makes no sense. */
Test(pack, refuses_a_header_that_makes_no_sense) {
    struct bytes bytes = read_pack();
    struct quern_pack_header *header = header_of(bytes);
    const uint32_t rows = header->row_count;
    const uint32_t most = (uint32_t)((bytes.count - sizeof *header) / sizeof(struct quern_pack_row));
    const uint32_t wrong[] = {0, most + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT(wrong); i++)
        CHANGED_HEADER(bytes, row_count, wrong[i] - rows, " says that it has %u rows, which it cannot hold", wrong[i]);
    CHANGED_HEADER(bytes, row_count, most - rows, ": row %u has ", rows);
    memset(header->target, 'x', sizeof header->target);
    seal(bytes);
    expect_refused(bytes, " has a target name without an end");
}

Test(pack, refuses_versions_that_make_no_sense) {
    static const char reason[] = " names the CUDA versions %d and %d: expected numbers such as 13000";
    struct bytes bytes = read_pack();
    const struct quern_pack_header header = *header_of(bytes);
    CHANGED_HEADER(bytes, driver, -1 - header.driver, reason, -1, header.toolkit);
    CHANGED_HEADER(bytes, toolkit, -1 - header.toolkit, reason, header.driver, -1);
}

/* A pack of a toolkit that is newer than the driver, though its major number is the same: drivers usually load that. */
static void prepare_on_older_driver(int error, quern_status expected) {
    struct bytes bytes = read_pack();
    const int driver = header_of(bytes)->driver, toolkit = driver + 20;
    char value[80], part[100] = "";
    header_of(bytes)->toolkit = toolkit;
    seal(bytes);
    snprintf(value, sizeof value, "driver_version:%d", driver);
    setenv("QUERN_EMULATOR_FAIL", value, 1);
    check_ok(load(bytes));
    OPEN_ON(device, QUERN_CUDA, 0);
    if (error) snprintf(value, sizeof value, "driver_version:%d,cuModuleLoadData:%d", driver, error);
    setenv("QUERN_EMULATOR_FAIL", value, 1);
    check_status(quern_prepare(device, QUERN_ADAM), expected);
    if (expected == QUERN_OUT_OF_MEMORY || expected == QUERN_CUDA_ERROR) snprintf(part, sizeof part, "loading the image");
    if (expected == QUERN_DRIVER_TOO_OLD)
        snprintf(part, sizeof part, "with error %d: CUDA %d.%d made it, and a driver for that version is needed", error,
                 toolkit / 1000, toolkit % 1000 / 10);
    check(strstr(error_detail(), part), "error %d: the detail is \"%s\", expected \"%s\"", error, error_detail(), part);
}

Test(pack, loads_on_an_older_driver) { prepare_on_older_driver(0, QUERN_OK); }
Test(pack, an_older_driver_finds_the_image_invalid) { prepare_on_older_driver(200, QUERN_DRIVER_TOO_OLD); }
Test(pack, an_older_driver_finds_no_binary) { prepare_on_older_driver(209, QUERN_DRIVER_TOO_OLD); }
Test(pack, an_older_driver_cannot_compile_the_ptx) { prepare_on_older_driver(222, QUERN_DRIVER_TOO_OLD); }
Test(pack, an_older_driver_has_no_memory) { prepare_on_older_driver(2, QUERN_OUT_OF_MEMORY); }
Test(pack, an_older_driver_has_another_fault) { prepare_on_older_driver(999, QUERN_CUDA_ERROR); }

/* The driver is as new as the toolkit: its errors stay what they are. */
Test(pack, a_driver_that_is_new_enough_refuses_the_image) {
    setenv("QUERN_EMULATOR_FAIL", "cuModuleLoadData:200", 1);
    check_ok(quern_load_pack(pack_path()));
    OPEN_ON(device, QUERN_CUDA, 0);
    check_status(quern_prepare(device, QUERN_ADAM), QUERN_CUDA_ERROR);
    check(strstr(error_detail(), "CUDA_ERROR_INVALID_IMAGE"), "%s", error_detail());
}

/* A pack that needs a newer driver than there is: the library's kernels serve, and the report says why. */
Test(pack, one_for_a_newer_driver_is_left_out) {
    struct bytes bytes = read_pack();
    char report[4096];
    header_of(bytes)->driver = header_of(bytes)->toolkit = 14010;
    seal(bytes);
    check_ok(load(bytes));
    OPEN_ON(device, QUERN_CUDA, 0);
    expect_target(device, test_target());
    check_ok(quern_prepare(device, QUERN_ADAM));
    quern_device_report(device, report, sizeof report);
    check(strstr(report, "needs a driver for CUDA 14.1, this one is for CUDA 13.9"), "%s", report);
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
    struct quern_pack_row *row = rows_of(bytes);
    while (row->operation != QUERN_ADAM || row->stage != QUERN_ADAM_STEP) row++;
    return row;
}

/* The checksum of the pack is right, but not that of Adam's images: the library's kernels of Adam serve, and the walk says why. */
Test(pack, with_damaged_images_is_left_to_the_library) {
    struct bytes bytes = read_pack();
    const struct quern_pack_row *row = find_step(bytes);
    char text[4000];
    bytes.data[row->packed_offset + row->packed_bytes / 2] ^= 1;
    seal(bytes);
    check_ok(load(bytes));
    OPEN_ON(device, QUERN_CUDA, 0);
    check_ok(quern_prepare(device, QUERN_ADAM | QUERN_CROSS_ENTROPY));
    expect_kernel(device, test_target());
    expect_target(device, pack_target());
    quern_adam_tensor tensor = {0};
    quern_adam_args args = adam_args(&tensor);
    quern_adam_explain(device, &args, text, sizeof text);
    check(strstr(text, "cannot be taken from its packed images: their checksum is wrong"), "%s", text);
}

struct row_fault {
    const char *reason;
    struct quern_pack_row row;
};

#define FAULT(reason, change) {reason, ({ struct quern_pack_row r = sound; change; r; })}

static void expect_rows_refused(struct bytes bytes, struct quern_pack_row *row, const struct row_fault *faults, size_t count) {
    for (size_t i = 0; i < count; i++) {
        *row = faults[i].row;
        seal(bytes);
        expect_refused(bytes, ": row %d has %s", (int)(row - rows_of(bytes)), faults[i].reason);
    }
}

/* The checksum is right, but the rows make no sense. */
Test(pack, refuses_rows_that_make_no_sense) {
    struct bytes bytes = read_pack();
    struct quern_pack_row *row = find_step(bytes), sound = *row;
    const struct row_fault faults[] = {
        FAULT("an unknown operation", r.operation = 64), FAULT("an unknown operation", r.operation = 0),
        FAULT("an unknown operation", r.operation = QUERN_ADAM | QUERN_CROSS_ENTROPY),
        FAULT("an unknown dtype", r.dtypes[0] = 99), FAULT("an unknown dtype", r.dtypes[1] = QUERN_E4M3),
        FAULT("an unknown dtype", r.dtypes[3] = QUERN_REMAINDER), FAULT("an unknown dtype", r.dtypes[4] = QUERN_BF16),
        FAULT("an unknown dtype", r.stage = QUERN_GRADIENT_NORM_COMBINE),
        FAULT("an unknown task", r.stage = 5), FAULT("an unknown task", r.stage = -1),
        FAULT("an unknown set of options", r.full = 2), FAULT("an unknown set of options", r.full = -1),
        FAULT("a wrong number of elements in a tile", r.elements = 1024),
        FAULT("a wrong number of elements in a tile", r.elements = 0),
        FAULT("packed images outside the file", r.packed_offset = bytes.count),
        FAULT("packed images outside the file", r.packed_offset = bytes.count + 1),
        FAULT("packed images outside the file", r.packed_bytes = UINT64_MAX),
        FAULT("packed images outside the file", r.packed_bytes = bytes.count - r.packed_offset + 1),
        FAULT("packed images outside the file", r.packed_bytes = 0),
        FAULT("packed images at no multiple of 64", r.packed_offset += 8; r.packed_bytes -= 8),
        FAULT("no image", memset(r.image, 'x', sizeof r.image)), FAULT("no image", r.image[0] = 0),
        FAULT("a wrong number of threads", r.threads = 0), FAULT("a wrong number of threads", r.threads = 1025),
        FAULT("a wrong range of compute capabilities", r.cc_max = r.cc_min - 1),
        FAULT("a wrong range of compute capabilities", r.cc_min = 9),
        FAULT("no name", memset(r.name, 'x', sizeof r.name)), FAULT("no name", r.name[0] = 0),
        FAULT("no entry", memset(r.entry, 'x', sizeof r.entry)), FAULT("no entry", r.entry[0] = 0),
    };
    expect_rows_refused(bytes, row, faults, COUNT(faults));
}

/* Stages that touch logits have their dtype, the others none. */
Test(pack, refuses_rows_of_cross_entropy_that_make_no_sense) {
    struct bytes bytes = read_pack();
    struct quern_pack_row *row = rows_of(bytes);
    while (row->operation != QUERN_CROSS_ENTROPY || row->stage != QUERN_STAGE_GRADIENT) row++;
    const struct quern_pack_row sound = *row;
    const struct row_fault faults[] = {
        FAULT("an unknown stage", r.stage = QUERN_STAGE_ROWS - 1), FAULT("an unknown stage", r.stage = QUERN_STAGE_WIDE + 1),
        FAULT("an unknown dtype", r.dtypes[0] = QUERN_NO_DTYPE), FAULT("an unknown dtype", r.dtypes[0] = QUERN_INT32),
        FAULT("an unknown dtype", r.stage = QUERN_STAGE_COMBINE),
        FAULT("an unknown set of options", r.full = 2), FAULT("an unknown set of options", r.full = -1),
        FAULT("a wrong number of blocks in a cluster", r.cluster = 3),
        FAULT("a wrong number of blocks in a cluster", r.cluster = 17),
        FAULT("a wrong number of blocks in a cluster", r.cluster = 32),
        FAULT("an unknown way to be launched", r.waits = 2),
    };
    expect_rows_refused(bytes, row, faults, COUNT(faults));
}

/* ---- what is accepted ---- */

struct lines {
    int count;
    char text[1000];
};

static void keep_line(void *user, quern_log_level level, const char *line) {
    struct lines *lines = user;
    if (level != QUERN_LOG_INFO || strncmp(line, "loaded ", 7) != 0) return;
    lines->count++;
    snprintf(lines->text, sizeof lines->text, "%s", line);
}

/* What the library runs at dlclose to free its packs: the linker sends its calls of quern_on_unload here. */
static void (*unload_packs)(void);

void __real_quern_on_unload(enum quern_unload_step step, void (*run)(void));
void __wrap_quern_on_unload(enum quern_unload_step step, void (*run)(void));

void __wrap_quern_on_unload(enum quern_unload_step step, void (*run)(void)) {
    if (step == QUERN_UNLOAD_PACKS) unload_packs = run;
    __real_quern_on_unload(step, run);
}

/* The largest and the smallest values, each in a pack of its own; the same pack again is not added, which the log shows. */
Test(pack, accepts_other_packs_once_each) {
    struct bytes bytes = read_pack();
    struct quern_pack_row *row = find_step(bytes), sound = *row;
    const struct quern_pack_row rows[] = {
        sound,
#define ROW(change) ({ struct quern_pack_row r = sound; change; r; })
        ROW(r.threads = 1024), ROW(r.threads = 1), ROW(r.cc_min = r.cc_max = 10),
        ROW(r.packed_bytes = bytes.count - r.packed_offset),
        ROW(r.packed_offset = (bytes.count - 1) / 64 * 64; r.packed_bytes = 1),
        ROW(memset(r.image, 'x', sizeof r.image - 1); r.image[sizeof r.image - 1] = 0),
        ROW(memset(r.name, 'x', sizeof r.name - 1); r.name[sizeof r.name - 1] = 0),
        ROW(memset(r.entry, 'x', sizeof r.entry - 1); r.entry[sizeof r.entry - 1] = 0),
    };
    static struct lines lines;
    char expected[100];
    snprintf(expected, sizeof expected, ": %u kernels for %s", header_of(bytes)->row_count, pack_target());
    quern_set_log(keep_line, &lines, QUERN_LOG_INFO);
    const struct alive before = failing_count();
    for (int i = 0; i < (int)COUNT(rows); i++) {
        *row = rows[i];
        seal(bytes);
        for (int again = 0; again < 2; again++) {
            check(load(bytes) == QUERN_OK, "pack %d: %s", i, error_detail());
            check(lines.count == i + 1, "pack %d: %d packs were loaded", i, lines.count);
        }
        check(strstr(lines.text, expected), "%s, expected %s", lines.text, expected);
    }
    *row = rows[0];  /* not the newest */
    seal(bytes);
    check(load(bytes) == QUERN_OK && lines.count == (int)COUNT(rows), "the first pack is loaded again");
    quern_set_log(NULL, NULL, QUERN_LOG_INFO);
    const long kept = failing_count().count[ALIVE_ALLOCATIONS] - before.count[ALIVE_ALLOCATIONS];
    check(kept == 2 * lines.count, "%ld allocations, not two for each of %d packs", kept, lines.count);
    check(unload_packs, "nothing would be freed at dlclose");
    unload_packs();
    check(failing_count().count[ALIVE_ALLOCATIONS] == before.count[ALIVE_ALLOCATIONS], "packs are left behind at dlclose");
}

/* The only row that serves the request is of another generation, or arrived after the kernels were prepared. */
Test(pack, names_the_row_that_would_serve) {
    static _Alignas(16) char memory[4][64];  /* never touched: the calls fail */
    struct bytes bytes = read_pack();
    struct quern_pack_row *row = find_step(bytes);
    quern_adam_tensor tensor = {.param = memory[0], .grad = memory[1], .m = memory[2], .v = memory[3], .count = 1};
    quern_adam_args args = adam_args(&tensor);
    const int32_t capability = row->cc_min, dtypes[] = {QUERN_BF16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE};
    char older[80], expected[200];
    snprintf(older, sizeof older, ": needs compute capability 7.5, this device has %d.%d", capability / 10, capability % 10);
    const char *const reasons[] = {older, " was loaded after quern_prepare: call it again"};
    args.grad_dtype = QUERN_F16;  /* the library has no such row */
    memcpy(row->dtypes, dtypes, sizeof dtypes);
    row->full = 1;
    strcpy(row->name, "adam_of_another");
    for (int i = 0; i < 2; i++) {
        row->cc_min = row->cc_max = i ? capability : 75;
        seal(bytes);
        if (i) setenv("QUERN_TEST_TARGET", pack_target(), 1);  /* by the rows of the first pack */
        OPEN_DEVICE(device, "*");
        check_ok(quern_prepare(device.quern, QUERN_ADAM));
        check_ok(load(bytes));
        check_status(quern_adam(device.quern, &args, NULL, 0, device.stream), QUERN_NO_KERNEL);
        snprintf(expected, sizeof expected, "no adam kernel serves this request on cuda:0: adam_of_another%s", reasons[i]);
        check(!strcmp(error_detail(), expected), "\"%s\" instead of \"%s\"", error_detail(), expected);
    }
}

Test(pack, refuses_what_cannot_be_read) {
    check_status(quern_load_pack("/nonexistent/pack.qpack"), QUERN_SYSTEM_ERROR);
    check(strstr(error_detail(), "/nonexistent/pack.qpack cannot be opened: ") == error_detail() &&
          !strcmp(strrchr(error_detail(), ':') + 2, strerror(ENOENT)), "%s", error_detail());
    check_status(quern_load_pack("/tmp"), QUERN_SYSTEM_ERROR);
    check(!strcmp(error_detail(), "/tmp is not a regular file"), "%s", error_detail());
    check_status(quern_load_pack(NULL), QUERN_NULL_POINTER);
    check(!strcmp(error_detail(), "path is NULL"), "%s", error_detail());
}

/* Each allocation fails once, and nothing of the load is left.  Then it succeeds. */
Test(pack, refuses_a_load_without_memory) {
    const char *failed = "";
    const struct alive before = failing_count();
    for (long number = 1; failed; number++) {
        failing_begin(FAILING_MEMORY, number, 0);
        const quern_status status = quern_load_pack(pack_path());
        failing_end(&failed);
        check(status == (failed ? QUERN_OUT_OF_MEMORY : QUERN_OK), "%s: %s", failed, quern_status_string(status));
        if (!failed) check(number > 2, "only %ld allocations", number - 1);
        if (failed) check(strstr(error_detail(), "no memory for the "), "%s: %s", failed, error_detail());
        if (failed) check(failing_count().count[ALIVE_ALLOCATIONS] == before.count[ALIVE_ALLOCATIONS], "%s left memory", failed);
        check(failing_count().count[ALIVE_DESCRIPTORS] == before.count[ALIVE_DESCRIPTORS], "a file is left open");
    }
}
