/*
 * Machines without a usable GPU: QUERN_TEST_DRIVER says what is wrong with the driver, and the runner prepares the machine.
 *
 *   absent    there is no libcuda.so.1
 *   garbage   libcuda.so.1 is no library
 *   stub      libcuda.so.1 is what the toolkit has for linking
 *   old       the driver is older than the library needs
 *   behind    the driver is that of CUDA 12.8, which loads no machine code for Blackwell
 *   broken    the driver does not start
 *   empty     the driver works and finds no GPU
 *   prohibited  the GPU serves no process
 *   unknown   there is a GPU, older than every target
 *
 * Runs on: driver.
 */
#include "harness/cross_entropy_case.h"
#include "runtime/cuda_driver.h"

static const struct {
    const char *driver;
    quern_status status;
    const char *reason;  /* part of the expected message */
} situations[] = {
    {"absent", QUERN_NO_DRIVER, "libcuda.so.1"},
    {"garbage", QUERN_NO_DRIVER, "libcuda.so.1"},
    {"stub", QUERN_NO_DRIVER, "(34): libcuda.so.1 is the toolkit's stub"},
    {"old", QUERN_DRIVER_TOO_OLD, "11.0"},
    {"broken", QUERN_CUDA_ERROR, "(999): the module nvidia_uvm"},
    {"empty", QUERN_NO_DEVICE, "no device: see nvidia-smi"},
};

static const char *driver(void) {
    const char *name = getenv("QUERN_TEST_DRIVER");
    return name ? name : "";
}

static bool is_situation(void) {
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++)
        if (!strcmp(situations[i].driver, driver())) return true;
    return false;
}

Test(driver, the_reason_is_named) {
    if (!is_situation()) cr_skip_test("QUERN_TEST_DRIVER describes no unusable driver");
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++) {
        if (strcmp(situations[i].driver, driver())) continue;
        for (int again = 0; again < 3; again++) {
            int count = -1;
            quern_device *device = NULL;
            check_ok(quern_device_count(QUERN_CUDA, &count));
            check(count == 0, "%d devices", count);
            check(strstr(error_detail(), situations[i].reason), "\"%s\" does not speak of %s", error_detail(),
                  situations[i].reason);
            check_status(quern_device_open(QUERN_CUDA, 0, &device), situations[i].status);
            check(!device && strstr(error_detail(), situations[i].reason), "\"%s\" does not speak of %s", error_detail(),
                  situations[i].reason);
        }
    }
}

/* Without a GPU all calls work on the CPU. */
Test(driver, the_cpu_serves) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = 5, .vocab = 300);
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY | QUERN_ADAM);
    cross_entropy_check_case(&device, &c);
}

/* The GPU is counted, but it does not open: nothing could be loaded there. */
Test(driver, kernels_for_a_newer_driver) {
    if (strcmp(driver(), "behind")) cr_skip_test("QUERN_TEST_DRIVER is not behind");
    if (!strstr(quern_build_info(), " sm_100f")) cr_skip_test("the library has no images for Blackwell");
    quern_device *device = NULL;
    int count = 0;
    check_ok(quern_device_count(QUERN_CUDA, &count));
    check(count == 1, "%d devices", count);
    check_status(quern_device_open(QUERN_CUDA, 0, &device), QUERN_DRIVER_TOO_OLD);
    check(!device && strstr(error_detail(), "supports CUDA 12.8: the kernels for sm_100f, made with CUDA ") &&
          strstr(error_detail(), "need a driver for CUDA "), "%s", error_detail());
}

Test(driver, a_gpu_that_serves_no_process) {
    if (strcmp(driver(), "prohibited")) cr_skip_test("QUERN_TEST_DRIVER is not prohibited");
    quern_device *device = NULL;
    check_status(quern_device_open(QUERN_CUDA, 0, &device), QUERN_CUDA_ERROR);
    check(!device && strstr(error_detail(), "unavailable); another process has the GPU to itself, or it serves none"), "%s",
          error_detail());
    char text[200];
    quern_cuda_describe(CUDA_ERROR_INVALID_HANDLE, "a launch", text, sizeof text);
    check(strstr(text, "handle); a stream must be of the device's primary context"), "%s", text);
}

/* A GPU that fits no kernel can be opened and described; quern_prepare reports why it has no kernels. */
Test(driver, a_gpu_without_kernels) {
    if (strcmp(driver(), "unknown")) cr_skip_test("QUERN_TEST_DRIVER is not unknown");
    char report[4096];
    OPEN_ON(device, QUERN_CUDA, 0);
    const quern_device_info info = info_of(device);
    check(!strcmp(info.target, "none"), "%s serves", info.target);
    quern_device_report(device, report, sizeof report);
    check(strstr(report, "needs compute capability") && !strstr(report, "usable"), "%s", report);
    check_refused(quern_prepare(device, QUERN_CROSS_ENTROPY), QUERN_NO_KERNEL, "needs compute capability");
    check_status(quern_prepare(device, QUERN_ADAM), QUERN_NO_KERNEL);
    quern_adam_args args = ADAM_ARGS(ADAM_DTYPES(QUERN_F32), .step = 1);
    quern_adam_explain(device, &args, report, sizeof report);
    check(strstr(report, "needs compute capability") && strstr(report, "no adam kernel serves"), "%s", report);
}
