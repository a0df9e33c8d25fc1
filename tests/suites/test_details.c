/*
 * Details: one line of at most 255 characters (which harness/check.c asserts in every suite), with the nearest cause; statuses
 * instead of crashes for handles that are NULL; the arguments of devices.  tests/fields/ has the details about fields.
 *
 * Runs on: every cpu, one emulated, gpu.
 */
#include <dlfcn.h>

#include "adam/adam.h"
#include "cross_entropy/cross_entropy.h"
#include "harness/device.h"
#include "header/table.h"
#include "runtime/explain.h"
#include "runtime/match.h"
#include "runtime/status.h"

static void expect(int line, quern_status status, quern_status expected, const char *text) {
    check(status == expected && !strcmp(error_detail(), text), "line %d: %s: \"%s\" instead of %s: \"%s\"", line,
          quern_status_string(status), status ? error_detail() : "", quern_status_string(expected), text);
}

/* ---- length ---- */

/* The beginning and the end remain: the fault, and what was expected. */
Test(details, a_long_text_loses_its_middle) {
    char text[2000];
    for (size_t length = 0; length < 1000; length++) {
        for (size_t i = 0; i < length; i++) text[i] = (char)('a' + i % 26);
        text[length] = 0;
        check(quern_fail(NULL, QUERN_NO_DEVICE, "%s", text) == QUERN_NO_DEVICE, "another status");
        const char *detail = error_detail();
        if (length <= 255) check(!strcmp(detail, text), "%zu characters changed: %s", length, detail);
        else check(strlen(detail) == 255 && !strncmp(detail, text, 125) && !strcmp(detail + 130, text + length - 125) &&
                   !strncmp(detail + 125, " ... ", 5), "%zu characters became: %s", length, detail);
    }
    quern_fail(NULL, QUERN_NO_DEVICE, "one\ntwo\tthree");
    check(!strcmp(error_detail(), "one two three"), "%s", error_detail());
}

Test(details, long_names_of_the_caller) {
    quern_blas *blas;
    char path[3000], why[200];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    for (size_t i = 200; i < sizeof path; i += 200) path[i - 1] = '/';
    path[sizeof path - 1] = 0;
    OPEN_DEVICE(device, NULL);
    check_refused(quern_load_pack(path), QUERN_SYSTEM_ERROR, "/xxxxx");
    path[900] = 0;
    snprintf(why, sizeof why, "cannot be opened: %s", strerror(ENOENT));
    check_refused(quern_load_pack(path), QUERN_SYSTEM_ERROR, why);
    path[400] = 0;
    check(!dlopen(path, RTLD_NOW), "there is a library");
    snprintf(why, sizeof why, "%s", strrchr(dlerror(), ':'));  /* behind the name, which the detail shortens */
    check_refused(quern_blas_open(device.quern, path, &blas), QUERN_NOT_SUPPORTED, why);
    check_refused(quern_blas_open(device.quern, "libnone.so", &blas), QUERN_NOT_SUPPORTED, "no BLAS can be opened of libnone.so: ");
}

/* ---- no kernel: the nearest row ---- */

static void fill_step(quern_adam_args *args, quern_adam_tensor *tensor) {
    static _Alignas(16) char memory[6][64];  /* never touched: the call fails */
    *args = (quern_adam_args)ADAM_ARGS(ADAM_DTYPES(QUERN_F32), .tensors = tensor, .tensor_count = 1, .lr = 1, .step = 1);
    *tensor = (quern_adam_tensor){.param = memory[0], .grad = memory[1], .m = memory[2], .v = memory[3],
                                  .m_scale = (void *)memory[4], .v_scale = (void *)memory[5], .count = 4};
}

Test(details, a_combination_that_no_kernel_has) {
    quern_adam_args args;
    quern_adam_tensor tensor;
    fill_step(&args, &tensor);
    args.grad_dtype = QUERN_F16, args.m_dtype = QUERN_E5M2, args.v_dtype = QUERN_F16;
    OPEN_PREPARED(device, QUERN_ADAM);
    check_refused(quern_adam(device.quern, &args, NULL, 0, device.stream), QUERN_NO_KERNEL,
                 "`./quern gen add adam_pf32_gf16_me5m2_vf16_full`");
    check(strstr(error_detail(), device.kind == QUERN_CPU ? " on cpu" : " on cuda:0"), "%s", error_detail());
    static char walk[1 << 16];
    check(quern_adam_explain(device.quern, &args, walk, sizeof walk) > 255, "the explanation is short: %s", walk);
    /* The library has this one with a master copy only. */
    args.param_dtype = args.m_dtype = QUERN_BF16, args.grad_dtype = args.v_dtype = QUERN_F32;
    check(quern_adam_explain(device.quern, &args, walk, sizeof walk) < sizeof walk &&
          strstr(walk, ": master is f32, the request has none\n"), "%s", walk);
}

/* What a build lacks of the other operations: no build has kernels for these types. */
Test(details, what_no_kernel_of_this_build_has) {
    static const char *const names[] = {"input", "output"};
    const struct quern_match requests[] = {{QUERN_QUANTIZE_CAST, {QUERN_BF16, QUERN_F16}, {names[0], names[1]}},
                                           {QUERN_QUANTIZE_CAST, {QUERN_INT32, QUERN_E4M3}, {names[0], names[1]}},
                                           {77, {QUERN_BF16, QUERN_E4M3}, {names[0], names[1]}}};
    static const char *const nearest[] = {": output is e", ": input is ", "; `./quern build`"};
    static const char *const has[] = {"f16; ", "int32; ", ""};
    OPEN_PREPARED(device, QUERN_QUANTIZE | QUERN_CROSS_ENTROPY | QUERN_ADAM);
    const char *const on = device.kind == QUERN_CPU ? "cpu" : "cuda:0";
    char expected[256];
    for (size_t i = 0; i < COUNT(requests); i++) {
        check_status(quern_fail_no_kernel(device.quern, QUERN_QUANTIZE, &requests[i]), QUERN_NO_KERNEL);
        snprintf(expected, sizeof expected, "no quantize kernel serves this request on %s%s", on, nearest[i]);
        check(!strncmp(error_detail(), expected, strlen(expected)), "%s: %s", expected, error_detail());
        snprintf(expected, sizeof expected, "%s%s", has[i], "`./quern build` makes a library with all kernels");
        check(strstr(error_detail(), expected), "%s: %s", expected, error_detail());
    }
    struct quern_cross_entropy_call call = {.device = device.quern, .args = {.logits_dtype = QUERN_E4M3, .rows = 1, .vocab = 9}};
    const struct quern_ready_kernel *chosen;
    check_refused(quern_cross_entropy_select(&call, QUERN_STAGE_ROWS, &chosen), QUERN_NO_KERNEL,
                  "the request has e4m3; `./quern build` makes");
    check_refused(quern_gradient_select(device.quern, QUERN_GRADIENT_NORM, QUERN_E4M3, QUERN_NO_DTYPE, &chosen), QUERN_NO_KERNEL,
                  "the request has e4m3; `./quern build` makes");
}

/* The longest QUERN_KERNEL, whose end the detail still has, and one character more. */
Test(details, longest_glob) {
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

/* Named is the row that would have been chosen, not one behind it. */
Test(details, a_kernel_that_the_environment_leaves_out) {
    static char walk[1 << 16], expected[256];
    quern_adam_args args;
    quern_adam_tensor tensor;
    fill_step(&args, &tensor);
    OPEN_DEVICE(device, "adam_*");
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    quern_adam_explain(device.quern, &args, walk, sizeof walk);
    device_close(&device);
    char *end = strstr(walk, ": chosen"), *begin = end;
    check(end, "%s", walk);
    for (*end = 0; begin > walk && begin[-1] != '\n';) begin--;
    snprintf(expected, sizeof expected, ": %.180s is left out by QUERN_KERNEL=adam_pbf16_gbf16_mbf16_vbf16__*", begin);
    device_open(&device, 0, "adam_pbf16_gbf16_mbf16_vbf16__*");
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    check_refused(quern_adam(device.quern, &args, NULL, 0, device.stream), QUERN_NO_KERNEL, expected);
}

/* ---- handles that are NULL ---- */

static bool takes_handles(const struct record *parameters) {
    for (int i = 0; i < parameters->count; i++)
        if (parameters->fields[i].kind == HANDLE || parameters->fields[i].kind == HANDLES) return true;
    return false;
}

/* Every function that takes a handle, with all parameters 0: a status, a text or nothing.  One has a meaning without a device. */
Test(details, null_handles) {
    int refused = 0, ended = 0;
    for (int i = 0; i < header_function_count; i++) {
        const struct function *function = &header_functions[i];
        static const uint64_t zeros[32];
        if (!function->record || !takes_handles(function->record) || same_text(function->name, "quern_set_threads")) continue;
        const uint64_t result = function->call(zeros);
        const bool ends = strstr(function->name, "_destroy") || strstr(function->name, "_close");
        if (function->result == STATUS && !ends) check(result == QUERN_NULL_POINTER, "%s: %s", function->name, error_detail());
        if (function->result == STATUS && ends) check(result == QUERN_OK, "%s: %s", function->name, error_detail());
        refused += function->result == STATUS && !ends, ended += ends;
    }
    check(refused > 40 && ended > 5, "%d refused and %d ended", refused, ended);
}

Test(details, texts_about_null_handles) {
    quern_cross_entropy_args loss = QUERN_CROSS_ENTROPY_ARGS_INIT;
    quern_adam_args adam = QUERN_ADAM_ARGS_INIT;
    quern_quantize_args quantize = QUERN_QUANTIZE_ARGS_INIT;
    char buffer[16];
    check(quern_group_rank(NULL) == -1 && quern_group_size(NULL) == -1, "NULL has a rank");
    check(quern_device_report(NULL, buffer, sizeof buffer) == 0, "NULL has targets");
    quern_group_report(NULL, buffer, sizeof buffer);
    check(!strcmp(buffer, "group is NULL"), "%s", buffer);
    quern_cross_entropy_explain(NULL, &loss, buffer, sizeof buffer);
    check(!strcmp(buffer, "device is NULL"), "%s", buffer);
    quern_quantize_explain(NULL, &quantize, buffer, sizeof buffer);
    check(!strcmp(buffer, "device is NULL"), "%s", buffer);
    quern_adam_explain(NULL, &adam, buffer, sizeof buffer);
    check(!strcmp(buffer, "device is NULL"), "%s", buffer);
}

/* ---- devices ---- */

Test(details, devices) {
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
    OPEN_DEVICE(device, NULL);
    DEVICE(quern_prepare(device.quern, 0), QUERN_INVALID_ARGUMENT,
           "operations is 0: expected QUERN_CROSS_ENTROPY, QUERN_ADAM, QUERN_BARRIER, QUERN_RAGGED_ALL_TO_ALL, QUERN_QUANTIZE "
           "or QUERN_COLLECTIVE or several of them (a value from 1 to 63)");
    DEVICE(quern_prepare(device.quern, 64), QUERN_INVALID_ARGUMENT,
           "operations is 64: expected QUERN_CROSS_ENTROPY, QUERN_ADAM, QUERN_BARRIER, QUERN_RAGGED_ALL_TO_ALL, QUERN_QUANTIZE "
           "or QUERN_COLLECTIVE or several of them (a value from 1 to 63)");
    DEVICE(quern_device_get_info(device.quern, NULL), QUERN_NULL_POINTER, "quern_device_info is NULL");
    if (device.kind == QUERN_CPU) {
        DEVICE(quern_set_threads(device.quern, 1025, NULL, NULL), QUERN_INVALID_ARGUMENT, "threads is 1025: expected 0 to 1024");
        DEVICE(quern_set_threads(device.quern, -1, NULL, NULL), QUERN_INVALID_ARGUMENT, "threads is -1: expected 0 to 1024");
    } else {
        DEVICE(quern_set_threads(device.quern, 1, NULL, NULL), QUERN_NOT_SUPPORTED,
               "cuda:0 has no threads to set: only the CPU device has");
    }
}
