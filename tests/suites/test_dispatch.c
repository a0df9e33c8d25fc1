/*
 * The choice of a kernel: the rows that QUERN_KERNEL selects, the explanation, and the order of rows.
 *
 * Runs on: every cpu, every emulated, gpu.
 */
#include <fnmatch.h>

#include "harness/adam_case.h"
#include "harness/cross_entropy_case.h"
#include "kernels/problem.h"
#include "oracle/adam_value.h"
#include "runtime/cpu_features.h"

static quern_cross_entropy_args args_of(int64_t vocab, bool full) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = 1, .vocab = vocab,
                                                     .softcap = full ? 30 : 0);
    return cross_entropy_args_of(&c);
}

static quern_cross_entropy_args plain_args(int64_t vocab) { return args_of(vocab, false); }

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

static bool has_gradients(const struct quern_kernel *row) {
    return row->key.adam.task != QUERN_GRADIENT_NORM_COMBINE && row->key.adam.task != QUERN_ADAM_TENSOR_STEPS;
}

/* The generator and the kernels know the tile from two places. */
static void check_tiles(void) {
    for (const struct quern_kernel *row = quern_adam_kernels; *row->name; row++) {
        const bool has_tiles = row->target.kind == QUERN_CUDA && has_gradients(row);
        const uint32_t expected = has_tiles ? QUERN_LIST_TILE : 0;
        check(row->target.kind == QUERN_CPU || row->cuda.elements == expected, "%s has tiles of %u elements, expected %u",
              row->name, row->cuda.elements, expected);
    }
}

Test(dispatch, tables_are_in_order) {
    check_tiles();
    check_table(quern_cross_entropy_kernels, QUERN_CROSS_ENTROPY);
    check_table(quern_adam_kernels, QUERN_ADAM);
}

/* ---- the choice ---- */

/* With nothing forced, a row of the best target is taken. */
Test(dispatch, the_best_row_comes_first) {
    quern_device *device = open_with(NULL);
    const quern_device_info info = info_of(device);
    struct test_device plain = {.quern = device};
    const char *name = chosen_for(&plain, 10);
    char pattern[64];
    snprintf(pattern, sizeof pattern, "cross_entropy_f32*__%s", info.target);
    check(!fnmatch(pattern, name, 0), "%s is chosen, %s is the best target", name, info.target);
    quern_device_close(device);
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
    const quern_device_info info = info_of(device);
    check(!strcmp(info.target, "none"), "the target is %s", info.target);
    check_status(quern_prepare(device, QUERN_CROSS_ENTROPY), QUERN_NO_KERNEL);
    check(strstr(error_detail(), "QUERN_KERNEL"), "the reason is not named: %s", error_detail());
    check_status(quern_prepare(device, QUERN_ADAM), QUERN_NO_KERNEL);
    quern_device_close(device);
    device = open_with("?");
    check_refused(quern_prepare(device, QUERN_ADAM), QUERN_NO_KERNEL, "QUERN_KERNEL=? leaves no adam kernel for ");
    quern_device_close(device);
}

/* The forced row does not support this request: the detail says which row and why. */
Test(dispatch, a_forced_row_that_does_not_fit) {
    const struct quern_kernel *row = next_adam_row(NULL);
    OPEN_ROW(device, row);
    quern_adam_args args = adam_args_of(row);
    args.grad_dtype = args.grad_dtype == QUERN_F32 ? QUERN_BF16 : QUERN_F32;
    check_refused(quern_adam(device.quern, &args, NULL, 0, device.stream), QUERN_NO_KERNEL, "no adam kernel");
}

Test(dispatch, an_overlong_glob_is_refused) {
    static char glob[10000];
    memset(glob, '*', sizeof glob - 1);
    setenv("QUERN_KERNEL", glob, 1);
    quern_device *device;
    check_refused(quern_device_open(test_kind(), 0, &device), QUERN_INVALID_ARGUMENT, "QUERN_KERNEL");
}

/* ---- the explanation ---- */

Test(dispatch, explanations_are_copied_like_snprintf) {
    static char all[1 << 14], part[16];
    OPEN_DEVICE(device, NULL);
    quern_cross_entropy_args args = plain_args(10);
    size_t length = quern_cross_entropy_explain(device.quern, &args, all, sizeof all);
    check(length == strlen(all), "%zu is not the length %zu", length, strlen(all));
    check(quern_cross_entropy_explain(device.quern, &args, NULL, 0) == length, "another length without a buffer");
    memset(part, 'x', sizeof part);
    check(quern_cross_entropy_explain(device.quern, &args, part, sizeof part - 1) == length, "another length");
    check(!strncmp(part, all, sizeof part - 2) && part[sizeof part - 1] == 'x', "not cut off at the buffer's end");
}

/* Bad arguments are explained too; test_details.c has a missing device. */
Test(dispatch, explanations_of_mistakes) {
    char text[1 << 14];
    OPEN_DEVICE(device, NULL);
    quern_cross_entropy_args args = plain_args(10);
    quern_adam_args adam = adam_args_of(next_adam_row(NULL));
    args.logits_dtype = (quern_dtype)99;
    check(quern_cross_entropy_explain(device.quern, &args, text, sizeof text) && strstr(text, "logits_dtype"), "%s", text);
    adam.m_dtype = (quern_dtype)99;
    check(quern_adam_explain(device.quern, &adam, text, sizeof text) && strstr(text, "m_dtype"), "%s", text);
}

/* ---- the explanation, line by line ---- */

/* The reason against a row, as the test derives it from the row's own fields; "" for a row that serves. */
typedef void reason_function(const struct quern_kernel *row, const void *args, char *reason, size_t bytes);

static quern_device_info info;
static const char *glob;   /* of the form PREFIX*__TARGET, or NULL */

static bool is_other_target(const struct quern_target *target, char *reason, size_t bytes) {
    const int has = info.compute_capability;
    char last[20] = "";
    if (target->kind != info.kind) {
        snprintf(reason, bytes, target->kind == QUERN_CPU ? "runs on a CPU" : "runs on a CUDA device");
        return true;
    }
    if (info.kind == QUERN_CPU) {
        const uint32_t lacks = target->cpu_features & ~quern_cpu_features();
        if (lacks) snprintf(reason, bytes, "this processor or its operating system lacks %s",
                            quern_name_cpu_features(lacks));
        return lacks;
    }
    if (has >= target->cc_min && has <= target->cc_max) return false;
    if (target->cc_max > 999) snprintf(last, sizeof last, " or newer");
    else if (target->cc_max != target->cc_min) snprintf(last, sizeof last, " to %d.%d", target->cc_max / 10, target->cc_max % 10);
    snprintf(reason, bytes, "needs compute capability %d.%d%s, this device has %d.%d", target->cc_min / 10, target->cc_min % 10,
             last, has / 10, has % 10);
    return true;
}

static bool is_left_out(const struct quern_kernel *row, char *reason, size_t bytes) {
    if (!glob || !fnmatch(glob, row->name, 0)) return false;
    const bool is_adam = row->operation == QUERN_ADAM;
    const enum quern_cross_entropy_stage stage = row->key.cross_entropy.stage;
    const bool is_soft = stage == QUERN_STAGE_SOFT && row->target.kind == QUERN_CPU;  /* it has the scratch of its target */
    const bool always = is_adam ? !has_gradients(row) : stage > QUERN_STAGE_UPSTREAM && !is_soft;
    if (always) return false;
    snprintf(reason, bytes, "QUERN_KERNEL=%s leaves it out", glob);
    return true;
}

static void adam_reason(const struct quern_kernel *row, const void *given, char *reason, size_t bytes) {
    const quern_adam_args *args = given;
    const struct {
        const char *name;
        quern_dtype has, wanted;
    } dtypes[] = {{"param", row->key.adam.param, args->param_dtype}, {"grad", row->key.adam.grad, args->grad_dtype},
                  {"m", row->key.adam.m, args->m_dtype}, {"v", row->key.adam.v, args->v_dtype},
                  {"master", row->key.adam.master, args->master_dtype}};
    if (row->key.adam.task != QUERN_ADAM_STEP) {
        snprintf(reason, bytes, "computes something else");
    } else if ((args->amsgrad || adam_is_scaled(args->m_dtype)) && !row->key.adam.full) {
        snprintf(reason, bytes, "knows no AMSGrad, copies, zero_grads or scales, of which the request has some");
    } else {
        for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes && !*reason; i++)
            if (dtypes[i].has != dtypes[i].wanted)
                snprintf(reason, bytes, "%s is %s, the request has %s", dtypes[i].name,
                         dtypes[i].has ? quern_dtype_name(dtypes[i].has) : "none",
                         dtypes[i].wanted ? quern_dtype_name(dtypes[i].wanted) : "none");
    }
}

static bool needs_full(const quern_cross_entropy_args *args) {
    return args->softcap != 0 || args->label_smoothing != 0 || args->class_weights || args->entropy || args->argmax;
}

static void loss_reason(const struct quern_kernel *row, const void *given, char *reason, size_t bytes) {
    const quern_cross_entropy_args *args = given;
    const long long part = QUERN_GPU_PART_BYTES / (long long)quern_dtype_bytes(args->logits_dtype);
    const long long parts = (args->vocab + part - 1) / part, cluster = row->cuda.cluster, shared = info.shared_bytes;
    const long long blocks = cluster ? cluster : 1, vector = row->cuda.elements, column = row->cuda.shared_per_column;
    const bool keeps_rows = row->key.cross_entropy.vocab_max < INT64_MAX;
    const long long vectors = vector ? (args->vocab + vector - 1) / vector : 0;
    const long long each = row->cuda.shared_fixed + (vector ? column * ((vectors + blocks - 1) / blocks * vector)
                                                            : row->cuda.shared_per_part * ((parts + blocks - 1) / blocks)
                                                                  + column * args->vocab);
    if (row->key.cross_entropy.stage != QUERN_STAGE_ROWS) {
        snprintf(reason, bytes, "computes another stage");
    } else if (row->key.cross_entropy.logits != args->logits_dtype) {
        snprintf(reason, bytes, "logits are %s, the request has %s", quern_dtype_name(row->key.cross_entropy.logits),
                 quern_dtype_name(args->logits_dtype));
    } else if (needs_full(args) && !row->key.cross_entropy.full) {
        snprintf(reason, bytes, "knows no label smoothing, softcap, class weights, entropy and argmax");
    } else if (args->vocab > row->key.cross_entropy.vocab_max) {
        snprintf(reason, bytes, "holds a vocab of up to %lld on the chip, the request has %lld",
                 (long long)row->key.cross_entropy.vocab_max, (long long)args->vocab);
    } else if (!cluster && column && keeps_rows && each > shared) {
        snprintf(reason, bytes, "keeps a row in shared memory, of which a block has %lld bytes here: too few for a vocab of %lld",
                 shared, (long long)args->vocab);
    } else if (cluster && each > shared) {
        snprintf(reason, bytes, "keeps a row in the shared memory of %lld blocks, which have %lld bytes each here: too few for a "
                 "vocab of %lld", cluster, shared, (long long)args->vocab);
    }
}

/* Rows that follow each other in the table with one target and one reason are one line.  Ends with the chosen row. */
static bool expect_walk(const struct quern_kernel *table, reason_function *reason_of, const void *args, char *text) {
    const struct quern_kernel *first = NULL;
    char open[256] = "";
    *text = 0;
    for (int rows = 0;; rows++) {
        const struct quern_kernel *row = first ? first + rows : table;
        char reason[256] = "";
        const bool ends = !*row->name;
        if (!ends && !is_other_target(&row->target, reason, sizeof reason) && !is_left_out(row, reason, sizeof reason))
            reason_of(row, args, reason, sizeof reason);
        if (first && (ends || strcmp(reason, open) || strcmp(row->target.name, first->target.name))) {
            text += rows == 1 ? sprintf(text, "%s: %s\n", first->name, open)
                              : sprintf(text, "%s and %d more of %s: %s\n", first->name, rows - 1, first->target.name, open);
            rows = 0;
        }
        if (ends) return false;
        if (!*reason) {
            sprintf(text, "%s: chosen\n", row->name);
            return true;
        }
        if (!first || !rows) first = row;
        snprintf(open, sizeof open, "%s", reason);
    }
}

static void check_text(int number, const char *got, const char *expected) {
    size_t same = 0;
    while (got[same] && got[same] == expected[same]) same++;
    check(got[same] == expected[same], "case %d: after %zu characters there is\n%.200s\ninstead of\n%.200s", number, same,
          got + same, expected + same);
}

static void check_loss(quern_device *device, quern_cross_entropy_args args) {
    static char text[1 << 15], expected[1 << 15];
    check(expect_walk(quern_cross_entropy_kernels, loss_reason, &args, expected), "no kernel serves");
    quern_cross_entropy_explain(device, &args, text, sizeof text);
    check_text((int)args.vocab, text, expected);
}

static quern_cross_entropy_args with_option(int option) {
    static float weights[100], values[1];
    static int64_t argmax[1];
    static quern_row_stats stats[1];
    quern_cross_entropy_args args = plain_args(100);
    args.z_loss = 1e-3f, args.padded_vocab = 128, args.lse = args.log_prob = values, args.stats = stats;
    if (option == 1) args.softcap = 30;
    if (option == 2) args.label_smoothing = 0.1f;
    if (option == 3) args.class_weights = weights;
    if (option == 4) args.entropy = values;
    if (option == 5) args.argmax = argmax;
    return args;
}

static void check_walks(quern_device *device) {
    static char text[1 << 15], expected[1 << 15];
    info = info_of(device);
    quern_adam_args adam = ADAM_ARGS(.grad_dtype = QUERN_BF16, .param_dtype = QUERN_BF16, .step = 1);
    static const quern_dtype moments[] = {QUERN_F32, QUERN_BF16, QUERN_F16};
    for (int i = 0; i < 12; i++) {
        adam.m_dtype = adam.v_dtype = moments[i % 3], adam.amsgrad = i / 3 % 2;
        adam.master_dtype = i / 6 ? QUERN_F32 : QUERN_NO_DTYPE;
        if (!expect_walk(quern_adam_kernels, adam_reason, &adam, expected))
            sprintf(expected + strlen(expected), "no adam kernel serves this request on %s; "
                    "`./quern gen add adam_pbf16_gbf16_m%s_v%s%s%s` (or python3 -m gen add ...) and a build add one\n",
                    info.kind == QUERN_CPU ? "cpu" : "cuda:0",
                    quern_dtype_name(adam.m_dtype), quern_dtype_name(adam.v_dtype), adam.master_dtype ? "_master32" : "",
                    adam.amsgrad || adam_is_scaled(adam.m_dtype) ? "_full" : "");
        quern_adam_explain(device, &adam, text, sizeof text);
        check_text(i, text, expected);
    }
    static const int64_t vocabs[] = {1, 5000, 20000, 40000, 100000, 300000, 10000000};
    for (int i = 0; i < 14; i++) check_loss(device, args_of(vocabs[i / 2], i % 2));
    /* The longest row that a kernel holds on the chip, and the next one, which another kernel takes. */
    for (const struct quern_kernel *row = quern_cross_entropy_kernels; *row->name; row++)
        for (int i = 0; i < 2 && row->key.cross_entropy.vocab_max < INT64_MAX; i++)
            check_loss(device, args_of(row->key.cross_entropy.vocab_max + i, row->key.cross_entropy.full));
    /* What a plain kernel knows, and each of what it does not. */
    for (int i = 0; i < 6; i++) check_loss(device, with_option(i));
}

Test(dispatch, explanations_line_by_line) {
    quern_device *device = open_with(NULL);
    check_walks(device);
    quern_device_close(device);
    char of_target[64];
    snprintf(of_target, sizeof of_target, "*__%s", test_target());
    glob = of_target;
    device = open_with(of_target);
    check_walks(device);
    quern_device_close(device);
}

/*
 * A GPU with less shared memory than the one for which its kernels were made; a real GPU is as it is.  A build for one GPU has no
 * target for it.
 */
Test(dispatch, explanations_for_less_shared_memory) {
    setenv("QUERN_EMULATOR", "13.0", 1);
    setenv("QUERN_EMULATOR_SHARED_KB", "48", 1);
    quern_device *device = open_with(NULL);
    info = info_of(device);
    if (!strcmp(info.target, "none")) cr_skip_test("no target of this build serves a GPU of 13.0");
    check_walks(device);
    quern_device_close(device);
}

/* One line for each target of the device's kind, in the order of the tables, whatever QUERN_KERNEL selects. */
Test(dispatch, reports_line_by_line) {
    static char text[1 << 12], expected[1 << 12], of_target[64];
    snprintf(of_target, sizeof of_target, "*__%s", test_target());
    quern_device *device = open_with(NULL);
    info = info_of(device);
    const char *last = "";
    for (const struct quern_kernel *row = quern_cross_entropy_kernels; *row->name; row++) {
        char reason[256] = "usable";
        if (row->target.kind != info.kind || !strcmp(row->target.name, last)) continue;
        last = row->target.name;
        is_other_target(&row->target, reason, sizeof reason);
        sprintf(expected + strlen(expected), "%s: %s\n", last, reason);
    }
    for (int is_selected = 0; is_selected < 2; is_selected++) {
        check(quern_device_report(device, text, sizeof text) == strlen(expected), "another length");
        check_text(is_selected, text, expected);
        quern_device_close(device);
        if (!is_selected) device = open_with(of_target);
    }
}
