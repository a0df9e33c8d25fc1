/*
 * The choice of a kernel: the rows that QUERN_KERNEL selects, the explanation, and the order of rows.
 *
 * Runs on: cpu, every emulated, gpu.
 */
#define _POSIX_C_SOURCE 200809L
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/adam_case.h"
#include "harness/check.h"
#include "harness/cross_entropy_case.h"

static quern_cross_entropy_args args_of(int64_t vocab, bool full) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = 1, .vocab = vocab,
                                                     .softcap = full ? 30 : 0);
    return cross_entropy_args_of(&c);
}

static quern_cross_entropy_args plain_args(int64_t vocab) {
    return args_of(vocab, false);
}

/* The name in "name: chosen", or "". */
static const char *chosen_in(const char *text) {
    static char name[128];
    name[0] = 0;
    const char *end = strstr(text, ": chosen");
    if (!end) return name;
    const char *start = end;
    while (start > text && start[-1] != '\n') start--;
    snprintf(name, sizeof name, "%.*s", (int)(end - start), start);
    return name;
}

static const char *chosen_by(const struct test_device *device, const quern_cross_entropy_args *args) {
    static char text[1 << 14];
    quern_cross_entropy_explain(device->quern, args, text, sizeof text);
    return chosen_in(text);
}

static const char *chosen_for(const struct test_device *device, int64_t vocab) {
    const quern_cross_entropy_args args = plain_args(vocab);
    return chosen_by(device, &args);
}

static quern_device *open_with(const char *glob) {
    quern_device *device;
    if (glob) setenv("QUERN_KERNEL", glob, 1);
    else unsetenv("QUERN_KERNEL");
    check_ok(quern_device_open(test_kind(), 0, &device));
    return device;
}

/* ---- the tables ---- */

/* Names are unique, carry their target, and each table ends with a row that any CPU can run. */
static void check_table(const struct quern_kernel *table, unsigned operation) {
    const struct quern_kernel *last = NULL;
    int rows = 0;
    for (const struct quern_kernel *row = table; *row->name; last = row++, rows++) {
        const char *target = strstr(row->name, "__");
        check(row->operation == operation, "%s is in the wrong table", row->name);
        check(target && !strcmp(target + 2, row->target.name), "%s is for %s", row->name, row->target.name);
        for (const struct quern_kernel *other = row + 1; *other->name; other++)
            check(strcmp(row->name, other->name), "%s is there twice", row->name);
        if (row->target.kind == QUERN_CPU) check(row->cpu.adam, "%s has no function", row->name);
        else check(row->cuda.entry && row->cuda.threads > 0, "%s has no entry", row->name);
    }
    check(rows > 0 && last && last->target.kind == QUERN_CPU && !last->target.cpu_features, "the last row is not portable");
}

Test(dispatch, tables_are_in_order) {
    check_table(quern_cross_entropy_kernels, QUERN_CROSS_ENTROPY);
    check_table(quern_adam_kernels, QUERN_ADAM);
}

/* ---- the choice ---- */

/* With nothing forced, a row of the best target is taken. */
Test(dispatch, the_best_row_comes_first) {
    quern_device *device = open_with(NULL);
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    check_ok(quern_device_get_info(device, &info));
    struct test_device plain = {.quern = device};
    const char *name = chosen_for(&plain, 10);
    char pattern[64];
    snprintf(pattern, sizeof pattern, "cross_entropy_f32*__%s", info.target);
    check(!fnmatch(pattern, name, 0), "%s is chosen, %s is the best target", name, info.target);
    quern_device_close(device);
}

Test(dispatch, a_glob_leaves_its_rows_only) {
    struct test_device device;
    device_open(&device, 0, NULL);
    const char *name = chosen_for(&device, 10);
    check(strstr(name, test_target()), "%s is chosen for %s", name, test_target());
    device_close(&device);
}

/* A glob for one operation does not affect the others. */
Test(dispatch, a_glob_names_its_operation) {
    const struct quern_kernel *row = next_adam_row(NULL);
    struct test_device device = {.quern = open_with(row->name)};
    check(strlen(chosen_for(&device, 10)) > 0, "cross-entropy has no kernel when Adam's is forced");
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY | QUERN_ADAM));
    quern_device_close(device.quern);
}

Test(dispatch, a_glob_that_matches_nothing) {
    quern_device *device = open_with("*no such kernel*");
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    check_ok(quern_device_get_info(device, &info));
    check(!strcmp(info.target, "none"), "the target is %s", info.target);
    check_status(quern_prepare(device, QUERN_CROSS_ENTROPY), QUERN_NO_KERNEL);
    check(strstr(error_detail(), "QUERN_KERNEL"), "the reason is not named: %s", error_detail());
    check_status(quern_prepare(device, QUERN_ADAM), QUERN_NO_KERNEL);
    quern_device_close(device);
    device = open_with("?");
    check_status(quern_prepare(device, QUERN_ADAM), QUERN_NO_KERNEL);
    check(strstr(error_detail(), "QUERN_KERNEL=? leaves no adam kernel for "), "%s", error_detail());
    quern_device_close(device);
}

/* The forced row does not support this request: the detail says which row and why. */
Test(dispatch, a_forced_row_that_does_not_fit) {
    const struct quern_kernel *row = next_adam_row(NULL);
    struct test_device device;
    device_open_row(&device, 0, row);
    quern_adam_args args = adam_args_of(row);
    args.grad_dtype = args.grad_dtype == QUERN_F32 ? QUERN_BF16 : QUERN_F32;
    check_status(quern_adam(device.quern, &args, NULL, 0, device.stream), QUERN_NO_KERNEL);
    check(strstr(error_detail(), "no adam kernel"), "%s", error_detail());
    device_close(&device);
}

Test(dispatch, an_overlong_glob_is_refused) {
    static char glob[10000];
    memset(glob, '*', sizeof glob - 1);
    setenv("QUERN_KERNEL", glob, 1);
    quern_device *device;
    check_status(quern_device_open(test_kind(), 0, &device), QUERN_INVALID_ARGUMENT);
    check(strstr(error_detail(), "QUERN_KERNEL"), "%s", error_detail());
}

/* A row too long for the kernels that hold it on the chip goes to the next kernel. */
Test(dispatch, long_rows_go_to_another_kernel) {
    struct test_device device;
    device_open(&device, 0, NULL);
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        if (row->key.cross_entropy.logits != QUERN_F32 || row->key.cross_entropy.vocab_max == INT64_MAX) continue;
        const quern_cross_entropy_args longest = args_of(row->key.cross_entropy.vocab_max, row->key.cross_entropy.full);
        const quern_cross_entropy_args too_long = args_of(row->key.cross_entropy.vocab_max + 1, row->key.cross_entropy.full);
        char fits[128];
        snprintf(fits, sizeof fits, "%s", chosen_by(&device, &longest));
        const char *beyond = chosen_by(&device, &too_long);
        check(!strcmp(fits, row->name), "%s serves at the limit of %s", fits, row->name);
        check(strcmp(beyond, row->name) && strlen(beyond) > 0, "\"%s\" serves beyond the limit of %s", beyond, row->name);
    }
    device_close(&device);
}

/* A plain kernel knows its own options only; each other option goes to a full one, and the explanation says why. */
Test(dispatch, options_go_to_full_kernels) {
    struct test_device device;
    static float weights[100], entropy[1], lse[1];
    static int64_t argmax[1];
    static quern_row_stats stats[1];
    quern_cross_entropy_args plain = plain_args(100), full[5];
    device_open(&device, 0, NULL);
    for (int i = 0; i < 5; i++) full[i] = plain;
    full[0].softcap = 30, full[1].label_smoothing = 0.1f, full[2].class_weights = weights;
    full[3].entropy = entropy, full[4].argmax = argmax;
    plain.z_loss = 1e-3f, plain.padded_vocab = 128, plain.lse = plain.log_prob = lse, plain.stats = stats;
    check(!strstr(chosen_by(&device, &plain), "_full"), "%s serves a plain request", chosen_by(&device, &plain));
    for (int i = 0; i < 5; i++) {
        check(strstr(chosen_by(&device, &full[i]), "_full"), "\"%s\" serves option %d", chosen_by(&device, &full[i]), i);
        char text[1 << 14];
        quern_cross_entropy_explain(device.quern, &full[i], text, sizeof text);
        check(strstr(text, "knows no label smoothing"), "%s", text);
    }
    device_close(&device);
}

/* ---- the explanation ---- */

Test(dispatch, explanations_are_copied_like_snprintf) {
    struct test_device device;
    static char all[1 << 14], part[16];
    device_open(&device, 0, NULL);
    quern_cross_entropy_args args = plain_args(10);
    size_t length = quern_cross_entropy_explain(device.quern, &args, all, sizeof all);
    check(length == strlen(all), "%zu is not the length %zu", length, strlen(all));
    check(quern_cross_entropy_explain(device.quern, &args, NULL, 0) == length, "another length without a buffer");
    memset(part, 'x', sizeof part);
    check(quern_cross_entropy_explain(device.quern, &args, part, sizeof part - 1) == length, "another length");
    check(!strncmp(part, all, sizeof part - 2) && part[sizeof part - 1] == 'x', "not cut off at the buffer's end");
    device_close(&device);
}

/* Bad arguments and a missing device are explained too. */
Test(dispatch, explanations_of_mistakes) {
    struct test_device device;
    char text[1 << 14];
    device_open(&device, 0, NULL);
    quern_cross_entropy_args args = plain_args(10);
    quern_adam_args adam = adam_args_of(next_adam_row(NULL));
    args.logits_dtype = (quern_dtype)99;
    check(quern_cross_entropy_explain(device.quern, &args, text, sizeof text) && strstr(text, "logits_dtype"), "%s", text);
    adam.m_dtype = (quern_dtype)99;
    check(quern_adam_explain(device.quern, &adam, text, sizeof text) && strstr(text, "m_dtype"), "%s", text);
    check(quern_adam_explain(NULL, &adam, text, sizeof text) && strstr(text, "device"), "%s", text);
    check(quern_cross_entropy_explain(NULL, &args, text, sizeof text) && strstr(text, "device"), "%s", text);
    device_close(&device);
}
