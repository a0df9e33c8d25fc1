/* The public functions on devices: count, open, describe and close them. */
#include "runtime/device_open.h"

#include <stdlib.h>
#include <string.h>

#include "os/text.h"
#include "os/unload.h"
#include "runtime/arguments.h"
#include "runtime/cpu_features.h"
#include "runtime/cuda_visit.h"
#include "runtime/image.h"
#include "runtime/look.h"
#include "runtime/log.h"
#include "runtime/operation.h"
#include "runtime/preferred.h"
#include "runtime/report.h"
#include "runtime/status.h"
#include "runtime/threads.h"

quern_status quern_device_count(quern_device_kind kind, int *count) {
    if (!count) return quern_fail(NULL, QUERN_NULL_POINTER, "count is NULL");
    if (kind != QUERN_CPU && kind != QUERN_CUDA)
        return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "kind is %d: expected QUERN_CPU (1) or QUERN_CUDA (2)", (int)kind);
    *count = kind == QUERN_CPU ? 1 : 0;
    if (kind == QUERN_CPU) return QUERN_OK;
    const struct quern_cuda *cuda;
    if (quern_cuda_open(&cuda) != QUERN_OK) return QUERN_OK;  /* 0 devices: the detail says why */
    CUresult error = cuda->device_count(count);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(NULL, error, "cuDeviceGetCount");
}

static void close_forgotten(void) {
    for (quern_device *device; (device = quern_threads_device());) quern_device_close(device);
}

static void open_cpu(quern_device *device) {
    device->cpu_features = quern_cpu_features();
    quern_cpu_name(device->name, sizeof device->name);
    quern_threads_enter(device);
    quern_on_unload(QUERN_UNLOAD_DEVICES, close_forgotten);
}

/* Older drivers do not know the attribute. */
static quern_status read_fabric(quern_device *device, const struct quern_cuda *cuda) {
    const int attribute = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED;
    const CUresult error = cuda->device_attribute(&device->has_fabric, attribute, device->cuda_device);
    if (error == CUDA_SUCCESS) return QUERN_OK;
    device->has_fabric = 0;
    return error == CUDA_ERROR_INVALID_VALUE ? QUERN_OK : quern_cuda_fail(device, error, "cuDeviceGetAttribute");
}

static quern_status read_attributes(quern_device *device, const struct quern_cuda *cuda) {
    int major = 0, minor = 0, shared = 0;
    const struct {
        int attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device->multiprocessors},
        {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, &device->has_watchdog},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        CUresult error = cuda->device_attribute(wanted[i].value, wanted[i].attribute, device->cuda_device);
        if (error != CUDA_SUCCESS) return quern_cuda_fail(device, error, "cuDeviceGetAttribute");
    }
    device->compute_capability = 10 * major + minor;
    device->shared_bytes = shared;
    return read_fabric(device, cuda);
}

/* The driver has all functions, but it may be too old for the images that this library has for the device. */
static quern_status check_driver(quern_device *device) {
    device->driver = quern_cuda_version();
    const struct quern_target *target = quern_target_beyond_driver(device);
    if (!target) return QUERN_OK;
    const int found = device->driver, needed = target->images->driver, toolkit = target->images->toolkit;
    return quern_fail(NULL, QUERN_DRIVER_TOO_OLD,
                      "the CUDA driver supports CUDA %d.%d: the kernels for %s, made with CUDA %d.%d, need a driver for CUDA %d.%d",
                      found / 1000, found % 1000 / 10, target->name, toolkit / 1000, toolkit % 1000 / 10, needed / 1000,
                      needed % 1000 / 10);
}

static quern_status open_cuda(quern_device *device) {
    const struct quern_cuda *cuda;
    quern_status status = quern_cuda_open(&cuda);
    if (status != QUERN_OK) return status;
    int count = 0;
    CUresult error = cuda->device_count(&count);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(device, error, "cuDeviceGetCount");
    if (device->ordinal >= count)
        return quern_fail(NULL, QUERN_NO_DEVICE, "there is no CUDA device %d: the driver has %d, counted from 0", device->ordinal,
                          count);
    error = cuda->device_get(&device->cuda_device, device->ordinal);
    if (error == CUDA_SUCCESS) error = cuda->device_name(device->name, sizeof device->name, device->cuda_device);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(device, error, "cuDeviceGet");
    status = read_attributes(device, cuda);
    if (status == QUERN_OK) status = check_driver(device);
    if (status != QUERN_OK) return status;
    error = cuda->device_uuid(&device->uuid, device->cuda_device);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(device, error, "cuDeviceGetUuid");
    error = cuda->context_retain(&device->context, device->cuda_device);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, "cuDevicePrimaryCtxRetain");
}

static quern_status read_kernel_glob(quern_device *device) {
    const char *glob = getenv("QUERN_KERNEL");
    if (!glob) return QUERN_OK;
    struct quern_text text = quern_text_begin(device->kernel_glob, sizeof device->kernel_glob);
    quern_text_add(&text, "%s", glob);
    if (text.length < sizeof device->kernel_glob) return QUERN_OK;
    return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "QUERN_KERNEL has %zu characters: expected fewer than %zu", text.length,
                      sizeof device->kernel_glob);
}

static quern_status read_known_answers(quern_device *device) {
    const char *value = getenv("QUERN_KNOWN_ANSWERS");
    device->checks_answers = !value || strcmp(value, "0") != 0;
    if (!value || !*value || !strcmp(value, "0") || !strcmp(value, "1")) return QUERN_OK;
    return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "QUERN_KNOWN_ANSWERS is %s: expected 0 or 1", value);
}

static void set_label(quern_device *device) {
    struct quern_text text = quern_text_begin(device->label, sizeof device->label);
    if (device->kind == QUERN_CPU)
        quern_text_add(&text, "cpu");
    else
        quern_text_add(&text, "cuda:%d", device->ordinal);
}

static void (*end_of_device)(const quern_device *device);  /* atomic */

void quern_set_device_end(void (*end)(const quern_device *device)) { __atomic_store_n(&end_of_device, end, __ATOMIC_RELEASE); }

static void release(quern_device *device) {
    const struct quern_cuda *cuda;
    if (device->context && quern_cuda_open(&cuda) == QUERN_OK) {
        void (*end)(const quern_device *) = __atomic_load_n(&end_of_device, __ATOMIC_ACQUIRE);
        if (end) end(device);
        quern_image_release(device);
        cuda->context_release(device->cuda_device);
    }
    for (int index = 0; index < QUERN_OPERATION_COUNT; index++)
        while (device->ready[index]) {
            struct quern_ready_list *list = device->ready[index];
            device->ready[index] = list->retired;
            free(list);
        }
    pthread_mutex_destroy(&device->prepare_lock);
    quern_forget_preferred(device->preferred);
    free(device);
}

quern_status quern_device_open(quern_device_kind kind, int ordinal, quern_device **out) {
    if (!out) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (kind != QUERN_CPU && kind != QUERN_CUDA)
        return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "kind is %d: expected QUERN_CPU (1) or QUERN_CUDA (2)", (int)kind);
    if (ordinal < 0 || (kind == QUERN_CPU && ordinal > 0))
        return quern_fail(NULL, QUERN_NO_DEVICE, "ordinal is %d: expected %s", ordinal,
                          kind == QUERN_CPU ? "0, the only CPU device" : "0 or more");
    quern_device *device = calloc(1, sizeof *device);
    if (!device) return quern_fail(NULL, QUERN_OUT_OF_MEMORY, "no memory for a device");
    device->kind = kind;
    device->ordinal = ordinal;
    pthread_mutex_init(&device->prepare_lock, NULL);
    set_label(device);
    quern_status status = read_kernel_glob(device);
    if (status == QUERN_OK) status = read_known_answers(device);
    if (status == QUERN_OK) status = quern_read_preferred(&device->preferred);
    if (status == QUERN_OK && kind == QUERN_CUDA) status = open_cuda(device);
    if (status != QUERN_OK) {
        release(device);
        return status;
    }
    if (kind == QUERN_CPU) open_cpu(device);
    quern_log(device, QUERN_LOG_INFO, "opened %s; best target: %s", device->name, quern_best_target(device));
    *out = device;
    return QUERN_OK;
}

void quern_device_close(quern_device *device) {
    if (!device) return;
    if (device->kind == QUERN_CPU) quern_threads_leave(device);
    quern_look_end_device(device);
    release(device);
}

quern_status quern_device_get_info(const quern_device *device, quern_device_info *info) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_device_info mine = {0};
    quern_status status = quern_check_struct(device, "quern_device_info", info, sizeof mine);
    if (status != QUERN_OK) return status;
    mine.size = info->size;
    mine.kind = device->kind;
    mine.ordinal = device->ordinal;
    mine.compute_capability = device->compute_capability;
    mine.multiprocessors = device->kind == QUERN_CPU ? quern_threads_of(device) : device->multiprocessors;
    mine.shared_bytes = device->shared_bytes;
    memcpy(mine.name, device->name, sizeof mine.name);
    struct quern_text target = quern_text_begin(mine.target, sizeof mine.target);
    quern_text_add(&target, "%s", quern_best_target(device));
    memcpy(info, &mine, quern_struct_bytes(info->size));
    return QUERN_OK;
}

quern_status quern_set_threads(quern_device *device, int threads, quern_parallel_for hook, void *user) {
    if (device && device->kind != QUERN_CPU)
        return quern_fail(device, QUERN_NOT_SUPPORTED, "%s has no threads to set: only the CPU device has", device->label);
    if (threads < 0 || threads > 1024)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "threads is %d: expected 0 to 1024", threads);
    quern_threads_set(device, threads, hook, user);
    return QUERN_OK;
}
