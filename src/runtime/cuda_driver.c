/* Opens libcuda.so.1 once per process.  Called by everything that uses a GPU. */
#include "runtime/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/status.h"
#include "os/text.h"

/* The result of opening the driver.  Every call returns the same status and the same reason. */
static struct {
    pthread_once_t once;
    struct quern_cuda functions;
    int version;
    quern_status status;
    char reason[512];
} driver = {.once = PTHREAD_ONCE_INIT, .status = QUERN_NO_DRIVER};

static const struct {
    size_t offset;
    const char *symbol;
    bool is_new;         /* older drivers lack it */
} symbols[] = {
#define QUERN_CUDA_SYMBOL(field, symbol, parameters) {offsetof(struct quern_cuda, field), symbol, false},
#define QUERN_CUDA_NEW_SYMBOL(field, symbol, parameters) {offsetof(struct quern_cuda, field), symbol, true},
    QUERN_CUDA_FUNCTIONS(QUERN_CUDA_SYMBOL)
    QUERN_CUDA_NEW_FUNCTIONS(QUERN_CUDA_NEW_SYMBOL)
#undef QUERN_CUDA_SYMBOL
#undef QUERN_CUDA_NEW_SYMBOL
};

static void refuse(quern_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void refuse(quern_status status, const char *format, ...) {
    struct quern_text text = quern_text_begin(driver.reason, sizeof driver.reason);
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
    driver.status = status;
}

/* The name of the first symbol that the library lacks though it should not, or NULL. */
static const char *find_symbols(void *library) {
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(library, symbols[i].symbol);
        if (!address && !symbols[i].is_new) return symbols[i].symbol;
        memcpy((char *)&driver.functions + symbols[i].offset, &address, sizeof address);
    }
    return NULL;
}

static const char *describe(CUresult error) {
    const char *text = NULL;
    if (!driver.functions.error_name || driver.functions.error_name(error, &text) != CUDA_SUCCESS || !text)
        return "unknown error";
    return text;
}

/* The usual causes of errors of cuInit.  tests/runner/devices.py reads these rows, too, and shows the text before a build. */
static const struct {
    CUresult error;
    const char *text;
} remedies[] = {
    {2, "there is no memory or address space (ulimit -v)"},
    {3, "a child of fork cannot use a driver that its parent has initialised"},
    {34, "libcuda.so.1 is the toolkit's stub: take its folder out of LD_LIBRARY_PATH"},
    {36, "the virtual GPU has no licence"},
    {100, "see nvidia-smi, CUDA_VISIBLE_DEVICES and, of a container, whether it was given GPUs"},
    {101, "CUDA_VISIBLE_DEVICES names a device that there is not"},
    {304, "the kernel's module nvidia is not loaded, or /dev/nvidia* may not be opened"},
    {802, "NVSwitches are not set up: nvidia-fabricmanager of the driver's version must run"},
    {803, "libcuda.so.1 and the kernel's module are of different versions: load the module again or reboot"},
    {804, "cuda-compat does not serve this GPU: take it out of LD_LIBRARY_PATH, or update the driver"},
    {805, "the daemon of MPS does not answer: see CUDA_MPS_PIPE_DIRECTORY"},
    {999, "the module nvidia_uvm is not loaded (nvidia-modprobe -u -c 0), or the GPU has failed (dmesg: Xid)"},
};

static const char *remedy(CUresult error) {
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (remedies[i].error == error) return remedies[i].text;
    return "no remedy is known";
}

/* Of other calls, where the driver's text does not say what to do. */
static const char *hint(CUresult error) {
    return error == CUDA_ERROR_DEVICE_UNAVAILABLE ? "; another process has the GPU to itself, or it serves none (compute mode)"
           : error == CUDA_ERROR_INVALID_HANDLE   ? "; a stream must be of the device's primary context"
                                                  : "";
}

static void open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        refuse(QUERN_NO_DRIVER, "the CUDA driver cannot be opened: %s", why ? why : "libcuda.so.1");
        return;
    }
    /* The version is checked first: an old driver also lacks symbols, but its age is the better reason. */
    int version = 0;
    CUresult (*driver_version)(int *) = NULL;
    void *address = dlsym(library, "cuDriverGetVersion");
    memcpy(&driver_version, &address, sizeof address);
    const CUresult told = driver_version ? driver_version(&version) : CUDA_ERROR_NOT_FOUND;
    if (told != CUDA_SUCCESS) {
        refuse(QUERN_NO_DRIVER, "libcuda.so.1 does not tell its version (%d): %s", told,
               told == CUDA_ERROR_STUB_LIBRARY ? remedy(told) : "it is no CUDA driver");
        return;
    }
    if (version < QUERN_CUDA_DRIVER_MIN) {
        refuse(QUERN_DRIVER_TOO_OLD, "the CUDA driver supports CUDA %d.%d, at least %d.%d is needed", version / 1000,
               version % 1000 / 10, QUERN_CUDA_DRIVER_MIN / 1000, QUERN_CUDA_DRIVER_MIN % 1000 / 10);
        return;
    }
    const char *missing = find_symbols(library);
    if (missing) {
        refuse(QUERN_NO_DRIVER, "libcuda.so.1 has no function %s", missing);
        return;
    }
    CUresult error = driver.functions.init(0);
    if (error == CUDA_ERROR_NO_DEVICE)
        refuse(QUERN_NO_DEVICE, "the CUDA driver finds no device: %s", remedy(error));
    else if (error != CUDA_SUCCESS)
        refuse(QUERN_CUDA_ERROR, "cuInit: %s (%d): %s", describe(error), error, remedy(error));
    else
        driver.status = QUERN_OK;
    driver.version = version;
}

quern_status quern_cuda_open(const struct quern_cuda **cuda) {
    pthread_once(&driver.once, open_driver);
    *cuda = driver.status == QUERN_OK ? &driver.functions : NULL;
    if (driver.status == QUERN_OK) return QUERN_OK;
    quern_note("%s", driver.reason);
    return driver.status;
}

int quern_cuda_version(void) {
    return driver.version;
}

void quern_cuda_describe(CUresult error, const char *what, char *buffer, size_t bytes) {
    const char *text = NULL;
    struct quern_text whole = quern_text_begin(buffer, bytes);
    if (driver.functions.error_string(error, &text) != CUDA_SUCCESS || !text) text = "no description";
    quern_text_add(&whole, "%s: %s (%s)%s", what, describe(error), text, hint(error));
}

bool quern_cuda_is_sticky(CUresult error) {
    static const CUresult sticky[] = {
        CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_CONTAINED, CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_ASSERT, CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_TENSOR_MEMORY_LEAK, CUDA_ERROR_MPS_CLIENT_TERMINATED, CUDA_ERROR_EXTERNAL_DEVICE,
    };
    for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++)
        if (sticky[i] == error) return true;
    return false;
}

quern_status quern_cuda_fail(const quern_device *device, CUresult error, const char *what) {
    char text[QUERN_CUDA_TEXT];
    quern_cuda_describe(error, what, text, sizeof text);
    return quern_fail(device, error == CUDA_ERROR_OUT_OF_MEMORY ? QUERN_OUT_OF_MEMORY : QUERN_CUDA_ERROR, "%s", text);
}
