/*
 * Details: one line of at most 255 characters (which harness/check.c asserts in every suite), with the nearest cause; statuses
 * instead of crashes for handles that are NULL; flags other than 0 and 1.
 *
 * Runs on: every cpu, one emulated, gpu.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "harness/device.h"
#include "runtime/status.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void check_detail(quern_status status, quern_status expected, const char *text) {
    check(status == expected && strstr(error_detail(), text), "%s: \"%s\" instead of %s: \"%s\"", quern_status_string(status),
          error_detail(), quern_status_string(expected), text);
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
    struct test_device device;
    quern_blas *blas;
    char path[3000], why[200];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    for (size_t i = 200; i < sizeof path; i += 200) path[i - 1] = '/';
    path[sizeof path - 1] = 0;
    device_open(&device, 0, NULL);
    check_detail(quern_load_pack(path), QUERN_SYSTEM_ERROR, "/xxxxx");
    path[900] = 0;
    snprintf(why, sizeof why, "cannot be opened: %s", strerror(ENOENT));
    check_detail(quern_load_pack(path), QUERN_SYSTEM_ERROR, why);
    path[400] = 0;
    check(!dlopen(path, RTLD_NOW), "there is a library");
    snprintf(why, sizeof why, "%s", strrchr(dlerror(), ':'));  /* behind the name, which the detail shortens */
    check_detail(quern_blas_open(device.quern, path, &blas), QUERN_NOT_SUPPORTED, why);
    check_detail(quern_blas_open(device.quern, "libnone.so", &blas), QUERN_NOT_SUPPORTED, "no BLAS can be opened of libnone.so: ");
    device_close(&device);
}

/* ---- no kernel: the nearest row ---- */

static void fill_step(quern_adam_args *args, quern_adam_tensor *tensor) {
    static _Alignas(16) char memory[6][64];  /* never touched: the call fails */
    *args = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    args->param_dtype = args->grad_dtype = args->m_dtype = args->v_dtype = QUERN_F32;
    args->tensors = tensor, args->tensor_count = 1, args->lr = 1, args->step = 1;
    *tensor = (quern_adam_tensor){.param = memory[0], .grad = memory[1], .m = memory[2], .v = memory[3],
                                  .m_scale = (void *)memory[4], .v_scale = (void *)memory[5], .count = 4};
}

Test(details, a_combination_that_no_kernel_has) {
    struct test_device device;
    quern_adam_args args;
    quern_adam_tensor tensor;
    fill_step(&args, &tensor);
    args.grad_dtype = QUERN_F16, args.m_dtype = QUERN_E5M2, args.v_dtype = QUERN_F16;
    device_open(&device, 0, NULL);
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    check_detail(quern_adam(device.quern, &args, NULL, 0, device.stream), QUERN_NO_KERNEL,
                 "`./quern gen add adam_pf32_gf16_me5m2_vf16_full`");
    check(strstr(error_detail(), device.kind == QUERN_CPU ? " on cpu" : " on cuda:0"), "%s", error_detail());
    static char walk[1 << 16];
    check(quern_adam_explain(device.quern, &args, walk, sizeof walk) > 255, "the explanation is short: %s", walk);
    /* The library has this one with a master copy only. */
    args.param_dtype = args.m_dtype = QUERN_BF16, args.grad_dtype = args.v_dtype = QUERN_F32;
    check(quern_adam_explain(device.quern, &args, walk, sizeof walk) < sizeof walk &&
          strstr(walk, ": master is f32, the request has none\n"), "%s", walk);
    device_close(&device);
}

/* Named is the row that would have been chosen, not one behind it. */
Test(details, a_kernel_that_the_environment_leaves_out) {
    static char walk[1 << 16], expected[256];
    struct test_device device;
    quern_adam_args args;
    quern_adam_tensor tensor;
    fill_step(&args, &tensor);
    device_open(&device, 0, "*");
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    quern_adam_explain(device.quern, &args, walk, sizeof walk);
    device_close(&device);
    char *end = strstr(walk, ": chosen"), *begin = end;
    check(end, "%s", walk);
    for (*end = 0; begin > walk && begin[-1] != '\n';) begin--;
    snprintf(expected, sizeof expected, ": %s is left out by QUERN_KERNEL=adam_pbf16_gbf16_mbf16_vbf16__*", begin);
    device_open(&device, 0, "adam_pbf16_gbf16_mbf16_vbf16__*");
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    check_detail(quern_adam(device.quern, &args, NULL, 0, device.stream), QUERN_NO_KERNEL, expected);
    device_close(&device);
}

/* ---- handles that are NULL ---- */

Test(details, null_handles) {
    static quern_cross_entropy_args loss = QUERN_CROSS_ENTROPY_ARGS_INIT;
    static quern_linear_cross_entropy_args layer = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    static quern_adam_args adam = QUERN_ADAM_ARGS_INIT;
    static quern_gradient_norm_args norm = QUERN_GRADIENT_NORM_ARGS_INIT;
    static quern_accumulate_args sum = QUERN_ACCUMULATE_ARGS_INIT;
    static quern_ragged_all_to_all_args ragged = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    static const quern_gemm_args product = {.size = sizeof product};
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    quern_adam_plan *plan;
    static quern_quantize_args quantize = QUERN_QUANTIZE_ARGS_INIT;
    quern_accumulate_plan *sums;
    quern_quantize_plan *casts;
    quern_ragged_plan *ragged_plan;
    quern_group *group = NULL;
    quern_blas *blas;
    char buffer[16];
    void *pointer = buffer;
    size_t bytes;
    int64_t step;
    const quern_status statuses[] = {
        quern_device_count(QUERN_CPU, NULL), quern_device_open(QUERN_CPU, 0, NULL), quern_device_get_info(NULL, &info),
        quern_prepare(NULL, QUERN_ADAM), quern_load_pack(NULL), quern_set_threads(NULL, 1, NULL, NULL),
        quern_cross_entropy_workspace(NULL, &loss, &bytes), quern_cross_entropy(NULL, &loss, NULL, 0, NULL),
        quern_cross_entropy_stats(NULL, &loss, NULL, 0, NULL), quern_cross_entropy_combine(NULL, &loss, NULL, 1, NULL, 0, NULL),
        quern_cross_entropy_gradient(NULL, &loss, NULL, 0, NULL), quern_blas_open(NULL, NULL, &blas),
        quern_blas_gemm(NULL, &product, NULL), quern_linear_cross_entropy_workspace(NULL, &layer, &bytes),
        quern_linear_cross_entropy(NULL, &layer, NULL, 0, NULL), quern_adam_workspace(NULL, &adam, &bytes),
        quern_adam(NULL, &adam, NULL, 0, NULL), quern_adam_plan_create(NULL, &adam, &plan),
        quern_gradient_norm_workspace(NULL, &norm, &bytes), quern_gradient_norm(NULL, &norm, NULL, 0, NULL),
        quern_accumulate(NULL, &sum, NULL), quern_accumulate_plan_create(NULL, &sum, &sums),
        quern_quantize_workspace(NULL, &quantize, &bytes), quern_quantize(NULL, &quantize, NULL, 0, NULL),
        quern_quantize_amax(NULL, &quantize, NULL, 0, NULL), quern_quantize_cast(NULL, &quantize, NULL),
        quern_quantize_plan_create(NULL, &quantize, &casts), quern_adam_saved_bytes(NULL, &adam, &bytes),
        quern_adam_save(NULL, &adam, buffer, sizeof buffer), quern_adam_load(NULL, &adam, buffer, sizeof buffer, &step, NULL),
        quern_group_create(NULL, 1, &group), quern_group_split(NULL, 1, NULL, NULL, &group),
        quern_group_split(&group, 1, NULL, NULL, &group), quern_group_abort(NULL, NULL), quern_group_status(NULL),
        quern_barrier(NULL, NULL, NULL), quern_symmetric_alloc(NULL, 1, &bytes, &pointer),
        quern_symmetric_alloc(&group, 1, &bytes, &pointer), quern_symmetric_free(NULL, buffer, NULL),
        quern_symmetric_register(&group, 1, &pointer, &bytes), quern_symmetric_unregister(NULL, buffer, NULL),
        quern_symmetric_peer(NULL, buffer, 0, &pointer), quern_symmetric_multicast(NULL, buffer, &pointer),
        quern_ragged_all_to_all_workspace(NULL, &ragged, &bytes), quern_ragged_all_to_all(NULL, &ragged, NULL, 0, NULL),
        quern_ragged_plan_create(&group, 1, &ragged, &pointer, &bytes, &ragged_plan), quern_ragged_plan_run(NULL, NULL)};
    for (size_t i = 0; i < COUNT(statuses); i++)
        check(statuses[i] == QUERN_NULL_POINTER, "call %zu: %s", i, quern_status_string(statuses[i]));
    check(strstr(error_detail(), "plan is NULL"), "%s", error_detail());
    check_ok(quern_group_destroy(NULL));
    check_ok(quern_ragged_plan_destroy(NULL));
    check(quern_group_rank(NULL) == -1 && quern_group_size(NULL) == -1, "NULL has a rank");
    quern_device_close(NULL);
    quern_blas_close(NULL);
    quern_adam_plan_destroy(NULL);
    quern_accumulate_plan_destroy(NULL);
    quern_quantize_plan_destroy(NULL);
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

/* ---- flags, and seconds ---- */

Test(details, flags_and_limits_of_ranks) {
    struct test_device device;
    quern_group *group;
    int64_t none[1] = {0};
    size_t bytes;
    device_open(&device, 0, NULL);
    if (device.kind == QUERN_CPU) {
        quern_group_args args = QUERN_GROUP_ARGS_INIT;
        args.ranks = 1, args.device = device.quern, args.share_gpu = 2;
        check_detail(quern_group_create(&args, 1, &group), QUERN_INVALID_ARGUMENT, "args.share_gpu is 2: expected 0 to 1");
        args.share_gpu = 0;
        static const double seconds[] = {(double)NAN, -1, -(double)INFINITY};
        for (size_t i = 0; i < COUNT(seconds); i++) {
            args.timeout = seconds[i];
            check_detail(quern_group_create(&args, 1, &group), QUERN_INVALID_ARGUMENT, "timeout is ");
        }
        args.timeout = (double)INFINITY;
        check_ok(quern_group_create(&args, 1, &group));
        for (size_t i = 0; i < COUNT(seconds); i++) {
            quern_barrier_args barrier = QUERN_BARRIER_ARGS_INIT;
            barrier.timeout = seconds[i];
            check_detail(quern_barrier(group, &barrier, NULL), QUERN_INVALID_ARGUMENT, "timeout is ");
        }
        quern_ragged_all_to_all_args ragged = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
        ragged.metadata_dtype = QUERN_INT64;
        ragged.input_offsets = ragged.send_sizes = ragged.output_offsets = ragged.recv_sizes = none;
        check_ok(quern_ragged_all_to_all_workspace(group, &ragged, &bytes));
        ragged.check_overlap = -1;
        check_detail(quern_ragged_all_to_all_workspace(group, &ragged, &bytes), QUERN_INVALID_ARGUMENT, "args.check_overlap is -1");
        ragged.check_overlap = 1, ragged.metadata_on_device = 5;
        check_detail(quern_ragged_all_to_all_workspace(group, &ragged, &bytes), QUERN_INVALID_ARGUMENT,
                     "args.metadata_on_device is 5");
        ragged.metadata_on_device = 0, ragged.timeout = (double)NAN;
        check_detail(quern_ragged_all_to_all_workspace(group, &ragged, &bytes), QUERN_INVALID_ARGUMENT, "timeout is nan");
        check_ok(quern_group_destroy(group));
    }
    device_close(&device);
}

static quern_status no_product(void *user, const quern_gemm_args *args, void *stream) {
    (void)user, (void)args, (void)stream;
    return QUERN_OK;
}

Test(details, flags_of_linear_cross_entropy) {
    struct test_device device;
    size_t bytes;
    device_open(&device, 0, NULL);
    quern_linear_cross_entropy_args layer = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    layer.loss.logits_dtype = layer.hidden_dtype = layer.weight_dtype = QUERN_F32, layer.loss.labels_dtype = QUERN_INT32;
    layer.loss.vocab = 10, layer.width = 8, layer.gemm = no_product;
    check_ok(quern_linear_cross_entropy_workspace(device.quern, &layer, &bytes));
    layer.accumulate_weight = 2;
    check_detail(quern_linear_cross_entropy_workspace(device.quern, &layer, &bytes), QUERN_INVALID_ARGUMENT,
                 "args.accumulate_weight is 2: expected 0 to 1");
    quern_blas *blas;
    if (quern_blas_open(device.quern, NULL, &blas) == QUERN_OK) {
        quern_gemm_args product = QUERN_GEMM_ARGS_INIT;
        product.a_dtype = product.b_dtype = product.c_dtype = QUERN_F32;
        check_ok(quern_blas_gemm(blas, &product, device.stream));
        const struct {
            const char *name;
            int32_t *flag;
        } flags[] = {{"args.accumulate", &product.accumulate}, {"args.a_transposed", &product.a_transposed},
                     {"args.b_transposed", &product.b_transposed}};
        for (size_t i = 0; i < COUNT(flags); i++) {
            *flags[i].flag = -1;
            check_detail(quern_blas_gemm(blas, &product, device.stream), QUERN_INVALID_ARGUMENT, flags[i].name);
            *flags[i].flag = 0;
        }
        product.c_dtype = (quern_dtype)99;
        check_detail(quern_blas_gemm(blas, &product, device.stream), QUERN_INVALID_DTYPE, "args.c_dtype is 99");
        quern_blas_close(blas);
    }
    device_close(&device);
}
