/* Opens the device under test and restricts its rows.  device.h documents the functions. */
#include "harness/device.h"

#include "harness/cuda.h"

quern_device_kind test_kind(void) {
    const char *kind = getenv("QUERN_TEST_DEVICE");
    if (!kind || !strcmp(kind, "cpu")) return QUERN_CPU;
    check(!strcmp(kind, "cuda"), "QUERN_TEST_DEVICE=%s: cpu or cuda expected", kind);
    return QUERN_CUDA;
}

bool test_is_small(void) {
    const char *scale = getenv("QUERN_TEST_SCALE");
    return scale && !strcmp(scale, "small");
}

bool test_is_once(void) {
    const char *once = getenv("QUERN_TEST_ONCE");
    return once && !strcmp(once, "1");
}

int64_t test_size(int64_t full, int64_t small) { return test_is_small() ? small : full; }

const char *test_target(void) {
    static char target[32];
    const char *expected = getenv("QUERN_TEST_TARGET");
    if (expected) return expected;
    if (!target[0]) {
        quern_device *device;
        quern_device_info info = QUERN_DEVICE_INFO_INIT;
        check_ok(quern_device_open(test_kind(), 0, &device));
        check_ok(quern_device_get_info(device, &info));
        quern_device_close(device);
        snprintf(target, sizeof target, "%s", info.target);
    }
    return target;
}

void device_use(const struct test_device *device) { if (device->kind == QUERN_CUDA) CUDA(cuCtxSetCurrent(device->context)); }

static void open_stream(struct test_device *device) {
    enum { NON_BLOCKING = 1 };
    int handle;
    CUDA(cuDeviceGet(&handle, device->ordinal));
    CUDA(cuDevicePrimaryCtxRetain(&device->context, handle));
    device_use(device);
    CUDA(cuStreamCreate(&device->stream, NON_BLOCKING));
}

void device_open(struct test_device *device, int ordinal, const char *kernels) {
    char all[64];
    snprintf(all, sizeof all, "*__%s", test_target());
    setenv("QUERN_KERNEL", kernels ? kernels : all, 1);
    setenv("QUERN_KNOWN_ANSWERS", "0", 0);  /* a wrong kernel is for the test to find: no other one may replace it */
    *device = (struct test_device){.kind = test_kind(), .ordinal = ordinal};
    check_ok(quern_device_open(device->kind, ordinal, &device->quern));
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    check_ok(quern_device_get_info(device->quern, &info));
    /* An adam_* glob does not restrict cross-entropy, nor the device's best target. */
    if (!kernels || strncmp(kernels, "adam", 4))
        check(!strcmp(info.target, test_target()), "%s serves instead of %s", info.target, test_target());
    if (device->kind == QUERN_CUDA) open_stream(device);
}

void device_open_row(struct test_device *device, int ordinal, const struct quern_kernel *row) {
    device_open(device, ordinal, row->name);
    check_ok(quern_prepare(device->quern, row->operation));
}

void device_close(struct test_device *device) {
    device_synchronize(device);
    quern_device_close(device->quern);
    if (device->kind == QUERN_CPU) return;
    int handle;
    CUDA(cuStreamDestroy_v2(device->stream));
    CUDA(cuDeviceGet(&handle, device->ordinal));
    CUDA(cuDevicePrimaryCtxRelease_v2(handle));
}

void device_synchronize(const struct test_device *device) {
    if (device->kind == QUERN_CUDA) CUDA(cuStreamSynchronize(device->stream));
}

long long device_launches(const struct test_device *device) {
    device_synchronize(device);
    return device->kind == QUERN_CUDA ? cuda_launches() : -1;
}

const struct quern_kernel *next_row(const struct quern_kernel *table, const struct quern_kernel *row) {
    for (row = row ? row + 1 : table; row->name && row->name[0]; row++)
        if (!strcmp(row->target.name, test_target())) return row;
    return NULL;
}

const struct quern_kernel *next_cross_entropy_row(const struct quern_kernel *row) {
    do row = next_row(quern_cross_entropy_kernels, row);
    while (row && row->key.cross_entropy.stage != QUERN_STAGE_ROWS);
    return row;
}

const struct quern_kernel *next_adam_row(const struct quern_kernel *row) {
    do row = next_row(quern_adam_kernels, row);
    while (row && row->key.adam.task != QUERN_ADAM_STEP);
    return row;
}
