/*
 * Sizes, counts and strides beyond memory: each field of each argument struct, and each size parameter, is refused with a detail
 * that names it, and nothing is written.  The sanitized configurations find sums and products that overflow on the way.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffer.h"
#include "harness/check.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the walk ---- */

/* Values that memory could hold: whether they are refused depends on the other sizes, and no call that reads the data is made. */
static const int64_t large[] = {(int64_t)1 << 31, (int64_t)1 << 40};

static const int64_t impossible[] = {(int64_t)1 << 60, INT64_MAX, INT64_MIN, -1};

enum { NEGATIVE = 1, ANY = 2 };  /* what a field may be, besides sizes: -1; also more than any memory holds */

struct field {
    const char *name;     /* in the detail */
    size_t offset;        /* in the struct */
    unsigned legal;
};

/* The struct that the walk changes, and the calls that take it.  The query asks for sizes only; NULL: there is none. */
struct walk {
    const char *name;
    void *arguments;
    const struct field *fields;
    size_t field_count;
    quern_status (*query)(void);
    quern_status (*calls[4])(void);
};

static void check_refusal(const struct walk *walk, const struct field *field, int64_t value, quern_status status) {
    check(status >= 1000 && status < 2000, "%s: %s = %lld: %s: %s", walk->name, field->name, (long long)value,
          quern_status_string(status), error_detail());
    check(strstr(error_detail(), field->name), "%s: %s = %lld: the detail does not name it: %s", walk->name, field->name,
          (long long)value, error_detail());
    check(!strstr(error_detail(), "overlaps"), "%s: %s = %lld: %s", walk->name, field->name, (long long)value, error_detail());
}

static bool is_legal(const struct field *field, int64_t value) {
    return field->legal & ANY || (value == -1 && field->legal & NEGATIVE);
}

static void set_field(const struct walk *walk, const struct field *field, int64_t value) {
    memcpy((char *)walk->arguments + field->offset, &value, sizeof value);
}

static void walk_field(const struct walk *walk, const struct field *field) {
    int64_t good;
    memcpy(&good, (char *)walk->arguments + field->offset, sizeof good);
    for (size_t i = 0; i < COUNT(large) && walk->query; i++) {
        set_field(walk, field, large[i]);
        quern_status status = walk->query();
        check(status < 2000, "%s: %s = %lld: %s", walk->name, field->name, (long long)large[i], error_detail());
    }
    for (size_t i = 0; i < COUNT(impossible); i++) {
        set_field(walk, field, impossible[i]);
        if (is_legal(field, impossible[i])) {
            if (walk->query) check_ok(walk->query());
            continue;
        }
        if (walk->query) check_refusal(walk, field, impossible[i], walk->query());
        for (size_t call = 0; call < COUNT(walk->calls) && walk->calls[call]; call++)
            check_refusal(walk, field, impossible[i], walk->calls[call]());
    }
    set_field(walk, field, good);
}

static void walk_fields(const struct walk *walk) {
    if (walk->query) check_ok(walk->query());
    for (size_t i = 0; i < walk->field_count; i++) walk_field(walk, &walk->fields[i]);
    if (walk->query) check_ok(walk->query());
}

/* ---- the memory of a call: all pointers of a struct lead into one buffer, of which nothing may be written ---- */

enum { ARENA = 1 << 16, PART = 1 << 12 };

static struct test_device device;
static struct buffer arena;
static size_t used;

static void open_arena(void) {
    device_open(&device, 0, NULL);
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL |
                                             QUERN_QUANTIZE));
    buffer_open(&arena, &device, ARENA, 0, NULL);
    used = 0;
}

static void close_arena(void) {
    check(holds_pattern(buffer_read(&arena), ARENA), "a refused call wrote");
    buffer_close(&arena);
    device_close(&device);
}

static void *take(void) {
    used += PART;
    check(used <= ARENA, "the arena is too small");
    return (char *)arena.data + used - PART;
}

/* ---- cross-entropy ---- */

enum { ROWS = 4, VOCAB = 50 };

static quern_cross_entropy_args loss;
static quern_row_stats *shards;
static int64_t shard_count;
static void *workspace;

#define FIELD(type, member, ...) {#member, offsetof(type, member), __VA_ARGS__}
#define LOSS(member, ...) FIELD(quern_cross_entropy_args, member, __VA_ARGS__)

static const struct field loss_fields[] = {
    LOSS(rows, 0), LOSS(vocab, 0), LOSS(logits_stride, 0), LOSS(ignore_index, ANY), LOSS(grad_stride, 0),
    LOSS(grad_loss_stride, NEGATIVE), LOSS(padded_vocab, 0), LOSS(first_column, 0), LOSS(global_vocab, 0)};

static void fill_loss(quern_cross_entropy_args *args) {
    *args = (quern_cross_entropy_args)QUERN_CROSS_ENTROPY_ARGS_INIT;
    args->logits_dtype = QUERN_F32, args->labels_dtype = QUERN_INT32, args->reduction = QUERN_REDUCTION_MEAN;
    args->rows = ROWS, args->vocab = VOCAB;
    args->labels = take(), args->loss = take(), args->grad_loss = take(), args->report = take();
    args->lse = take(), args->log_prob = take(), args->class_weights = take();
}

static quern_status ask_loss(void) {
    size_t bytes;
    return quern_cross_entropy_workspace(device.quern, &loss, &bytes);
}

static quern_status call_loss(void) { return quern_cross_entropy(device.quern, &loss, workspace, PART, device.stream); }
static quern_status call_stats(void) { return quern_cross_entropy_stats(device.quern, &loss, workspace, PART, device.stream); }
static quern_status call_gradient(void) {
    return quern_cross_entropy_gradient(device.quern, &loss, workspace, PART, device.stream);
}

static quern_status call_combine(void) {
    return quern_cross_entropy_combine(device.quern, &loss, shards, shard_count, workspace, PART, device.stream);
}

Test(sizes, cross_entropy) {
    open_arena();
    fill_loss(&loss);
    loss.logits = take(), loss.grad = take(), loss.stats = take();
    shards = take(), shard_count = 1, workspace = take();
    walk_fields(&(struct walk){"cross-entropy", &loss, loss_fields, COUNT(loss_fields), ask_loss,
                               {call_loss, call_stats, call_combine, call_gradient}});
    loss.softcap = 30, loss.label_smoothing = 0.1f, loss.entropy = take();  /* the longest workspace */
    walk_fields(&(struct walk){"cross-entropy with options", &loss, loss_fields, COUNT(loss_fields), ask_loss, {call_loss}});
    loss.rows = 1;  /* so that the row alone is too long */
    walk_fields(&(struct walk){"cross-entropy of one row", &loss, loss_fields, COUNT(loss_fields), ask_loss, {call_loss}});
    static const struct field count = {"shard_count", 0, 0};
    walk_fields(&(struct walk){"combine", &shard_count, &count, 1, NULL, {call_combine}});
    close_arena();
}

/* A stride backwards stands in the detail as it was given. */
Test(sizes, a_long_step_backwards) {
    static const struct {
        int64_t stride;
        const char *detail;
    } steps[] = {{INT64_MIN, "is -9223372036854775808 with args.rows 4: expected -8796093022208 to 8796093022208,"},
                 {-8796093022209, "args.grad_loss_stride is -8796093022209 with"}, {8796093022209, " is 8796093022209 with"}};
    size_t bytes;
    open_arena();
    fill_loss(&loss);
    for (size_t i = 0; i < COUNT(steps); i++) {
        loss.grad_loss_stride = steps[i].stride;
        const quern_status status = quern_cross_entropy_workspace(device.quern, &loss, &bytes);
        check(status == QUERN_INVALID_SHAPE && strstr(error_detail(), steps[i].detail), "%s: %s", quern_status_string(status),
              error_detail());
    }
    loss.grad_loss_stride = -8796093022208;
    check_ok(quern_cross_entropy_workspace(device.quern, &loss, &bytes));
    close_arena();
}

/* No rows, whose matrices may be NULL: nothing is added to NULL, which the sanitizers would report. */
Test(sizes, cross_entropy_without_rows) {
    open_arena();
    loss = (quern_cross_entropy_args)QUERN_CROSS_ENTROPY_ARGS_INIT;
    loss.logits_dtype = QUERN_BF16, loss.labels_dtype = QUERN_INT64, loss.vocab = VOCAB;
    workspace = take();
    check_ok(call_loss());
    walk_fields(&(struct walk){"no rows", &loss, (struct field[]){LOSS(rows, 0), LOSS(vocab, 0)}, 2, ask_loss, {call_loss}});
    loss.logits_stride = ((int64_t)1 << 46) + 1;
    check_status(call_loss(), QUERN_INVALID_SHAPE);
    check(strstr(error_detail(), "args.logits_stride is 70368744177665 with args.rows 0: expected at most 70368744177664,"), "%s",
          error_detail());
    /* No row has a value of grad_loss, so nothing is subtracted from its address. */
    loss.logits_stride = 0, loss.reduction = QUERN_REDUCTION_NONE;
    loss.grad_loss = (const float *)(UINTPTR_MAX - 63), loss.grad_loss_stride = -(1 << 20);
    check_ok(call_loss());
    close_arena();
}

/* ---- linear cross-entropy and products ---- */

static quern_linear_cross_entropy_args layer;

#define LAYER(member, ...) FIELD(quern_linear_cross_entropy_args, member, __VA_ARGS__)

static const struct field layer_fields[] = {
    {"rows", offsetof(quern_linear_cross_entropy_args, loss.rows), 0},
    {"vocab", offsetof(quern_linear_cross_entropy_args, loss.vocab), 0},
    {"grad_loss_stride", offsetof(quern_linear_cross_entropy_args, loss.grad_loss_stride), NEGATIVE},
    LAYER(width, 0), LAYER(hidden_stride, 0), LAYER(weight_stride, 0), LAYER(d_hidden_stride, 0), LAYER(d_weight_stride, 0)};

static quern_status no_product(void *user, const quern_gemm_args *args, void *stream) {
    (void)user, (void)args, (void)stream;
    return QUERN_OK;
}

static quern_status ask_layer(void) {
    size_t bytes;
    return quern_linear_cross_entropy_workspace(device.quern, &layer, &bytes);
}

static quern_status call_layer(void) { return quern_linear_cross_entropy(device.quern, &layer, workspace, PART, device.stream); }

Test(sizes, linear_cross_entropy) {
    open_arena();
    layer = (quern_linear_cross_entropy_args)QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    fill_loss(&layer.loss);
    layer.hidden_dtype = layer.weight_dtype = QUERN_BF16, layer.width = 8, layer.gemm = no_product;
    layer.hidden = take(), layer.weight = take(), layer.d_hidden = take(), layer.d_weight = take();
    workspace = take();
    walk_fields(&(struct walk){"layer", &layer, layer_fields, COUNT(layer_fields), ask_layer, {call_layer}});
    for (size_t i = 0; i < COUNT(large); i++) {  /* more rows than there are */
        layer.chunk_rows = large[i];
        check_ok(ask_layer());
    }
    layer.chunk_rows = INT64_MAX;
    check_ok(ask_layer());
    layer.chunk_rows = -1;
    check_status(ask_layer(), QUERN_INVALID_SHAPE);
    close_arena();
}

/* Neither hidden nor a workspace, and nothing is added to NULL: d_weight is a product of no rows. */
Test(sizes, linear_cross_entropy_without_rows) {
    open_arena();
    layer = (quern_linear_cross_entropy_args)QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    layer.loss.logits_dtype = layer.hidden_dtype = layer.weight_dtype = QUERN_F32, layer.loss.labels_dtype = QUERN_INT32;
    layer.loss.vocab = VOCAB, layer.width = 8, layer.gemm = no_product, layer.d_weight = take();
    check_ok(quern_linear_cross_entropy(device.quern, &layer, NULL, 0, device.stream));
    close_arena();
}

static quern_gemm_args product;
static quern_blas *blas;

#define PRODUCT(member) FIELD(quern_gemm_args, member, 0)

static quern_status call_product(void) { return quern_blas_gemm(blas, &product, device.stream); }

Test(sizes, products) {
    static const struct field fields[] = {PRODUCT(m), PRODUCT(n), PRODUCT(k), PRODUCT(a_stride), PRODUCT(b_stride),
                                          PRODUCT(c_stride)};
    open_arena();
    const quern_status opened = quern_blas_open(device.quern, NULL, &blas);
    if (opened == QUERN_OK) {
        product = (quern_gemm_args){.size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = 2, .n = 3, .k = 4,
                                    .a = take(), .b = take(), .c = take(),
                                    .a_dtype = QUERN_F32, .b_dtype = QUERN_F16, .c_dtype = QUERN_BF16,
                                    .a_stride = 4, .b_stride = 3, .c_stride = 3};
        walk_fields(&(struct walk){"product", &product, fields, COUNT(fields), NULL, {call_product}});
        quern_blas_close(blas);
    }
    close_arena();
    if (opened != QUERN_OK) cr_skip_test("there is no BLAS: %s", error_detail());
}

/* ---- Adam ---- */

static quern_adam_args adam;
static quern_adam_tensor tensors[2];

static quern_status ask_state(void) {
    size_t bytes;
    return quern_adam_saved_bytes(device.quern, &adam, &bytes);
}

static quern_status call_adam(void) { return quern_adam(device.quern, &adam, NULL, 0, device.stream); }
static quern_status call_save(void) { return quern_adam_save(device.quern, &adam, workspace, PART); }

static quern_status call_load(void) {
    int64_t step;
    return quern_adam_load(device.quern, &adam, workspace, PART, &step, NULL);
}

static quern_status call_plan(void) {
    quern_adam_plan *plan = NULL;
    quern_status status = quern_adam_plan_create(device.quern, &adam, &plan);
    quern_adam_plan_destroy(plan);
    return status;
}

Test(sizes, adam) {
    static const struct field counts[] = {{"tensors[0].count", offsetof(quern_adam_tensor, count), 0},
                                          {"tensors[1].count", sizeof *tensors + offsetof(quern_adam_tensor, count), 0}};
    static const struct field tensor_count = FIELD(quern_adam_args, tensor_count, 0);
    open_arena();
    adam = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.grad_dtype = adam.m_dtype = adam.v_dtype = QUERN_F32;
    adam.tensors = tensors, adam.tensor_count = 2, adam.lr = 1, adam.step = 1;
    for (int i = 0; i < 2; i++)
        tensors[i] = (quern_adam_tensor){.param = take(), .grad = take(), .m = take(), .v = take(), .count = 10};
    workspace = calloc(1, PART);
    walk_fields(&(struct walk){"tensors", tensors, counts, 2, ask_state, {call_adam, call_plan, call_save, call_load}});
    walk_fields(&(struct walk){"list", &adam, &tensor_count, 1, NULL, {ask_state, call_adam, call_plan, call_save}});
    free(workspace);
    close_arena();
}

/* Each tensor could be held, but all together could not. */
Test(sizes, many_large_tensors) {
    enum { TENSORS = 3 };
    static quern_adam_tensor list[TENSORS];
    static quern_gradient gradients[TENSORS];
    size_t bytes;
    open_arena();
    adam = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.grad_dtype = QUERN_BF16, adam.m_dtype = adam.v_dtype = QUERN_E4M3;
    adam.tensors = list, adam.tensor_count = TENSORS;
    quern_gradient_norm_args norm = QUERN_GRADIENT_NORM_ARGS_INIT;
    norm.grad_dtype = QUERN_BF16, norm.gradients = gradients, norm.gradient_count = TENSORS;
    for (int i = 0; i < TENSORS; i++) {
        char *at = (char *)((uintptr_t)(6 * i + 1) << 50);  /* never read */
        const uintptr_t step = (uintptr_t)1 << 47;
        list[i] = (quern_adam_tensor){.param = at, .grad = at + step, .m = at + 2 * step, .v = at + 3 * step,
                                      .m_scale = (uint8_t *)at + 4 * step, .v_scale = (uint8_t *)at + 5 * step,
                                      .count = (int64_t)1 << 43};
        gradients[i] = (quern_gradient){.grad = at, .count = device.kind == QUERN_CPU ? (int64_t)1 << 43 : (int64_t)1 << 41};
    }
    check_status(quern_adam_saved_bytes(device.quern, &adam, &bytes), QUERN_OK);
    check(bytes > (size_t)3 << 44 && bytes < (size_t)7 << 43, "a state of %zu bytes", bytes);
    list[0].count = list[1].count = list[2].count = (int64_t)1 << 45;
    check_status(quern_adam_saved_bytes(device.quern, &adam, &bytes), QUERN_INVALID_SHAPE);
    check(strstr(error_detail(), "args.tensors"), "%s", error_detail());
    if (device.kind == QUERN_CPU) {
        check_ok(quern_gradient_norm_workspace(device.quern, &norm, &bytes));
        check_status(call_plan(), QUERN_INVALID_SHAPE);
        gradients[1].count = (int64_t)1 << 45;
        check_status(quern_gradient_norm_workspace(device.quern, &norm, &bytes), QUERN_INVALID_SHAPE);
        check(strstr(error_detail(), "args.gradients"), "%s", error_detail());
    }
    close_arena();
}

static void refuse_tensor(quern_status status, const char *text) {
    check(status == QUERN_NOT_SUPPORTED, "%s: %s", quern_status_string(status), error_detail());
    check(strstr(error_detail(), text), "the detail is \"%s\": expected \"%s\"", error_detail(), text);
}

/* More tiles than a GPU numbers in one tensor: the second one has an element too many.  The addresses are never read. */
Test(sizes, tensors_beyond_a_gpu) {
    static quern_adam_tensor list[2];
    static quern_gradient slices[2];
    const int64_t most = (int64_t)1 << 41;
    size_t bytes;
    open_arena();
    if (device.kind == QUERN_CPU) {
        close_arena();
        cr_skip_test("there is no GPU");
    }
    for (int i = 0; i < 2; i++) {
        char *at = (char *)((uintptr_t)(4 * i + 1) << 50);
        const uintptr_t step = (uintptr_t)1 << 47;
        list[i] = (quern_adam_tensor){.param = at, .grad = at + step, .m = at + 2 * step, .v = at + 3 * step, .count = most + i};
        slices[i] = (quern_gradient){.grad = at, .main_grad = (float *)(at + step), .count = most + i};
    }
    adam = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.grad_dtype = adam.m_dtype = adam.v_dtype = QUERN_BF16;
    adam.tensors = list, adam.tensor_count = 2, adam.lr = 1, adam.step = 1;
    refuse_tensor(call_adam(), "args.tensors[1].count is 2199023255553: a GPU takes up to 2199023255552");
    refuse_tensor(call_plan(), "args.tensors[1].count is 2199023255553: a GPU takes up to 2199023255552");
    quern_gradient_norm_args squares = QUERN_GRADIENT_NORM_ARGS_INIT;
    quern_accumulate_args added = QUERN_ACCUMULATE_ARGS_INIT;
    squares.grad_dtype = added.grad_dtype = QUERN_BF16, squares.norm = take();
    squares.gradients = added.gradients = slices, squares.gradient_count = added.gradient_count = 2;
    static const char words[] = "args.gradients[1].count is 2199023255553: a GPU takes up to 2199023255552";
    refuse_tensor(quern_gradient_norm_workspace(device.quern, &squares, &bytes), words);
    refuse_tensor(quern_gradient_norm(device.quern, &squares, take(), PART, device.stream), words);
    refuse_tensor(quern_accumulate(device.quern, &added, device.stream), words);
    slices[1].count = most;
    check_ok(quern_gradient_norm_workspace(device.quern, &squares, &bytes));
    close_arena();
}

/* ---- gradients ---- */

static quern_gradient gradients[2];
static quern_gradient_norm_args norm;
static quern_accumulate_args sum;

static quern_status ask_norm(void) {
    size_t bytes;
    return quern_gradient_norm_workspace(device.quern, &norm, &bytes);
}

static quern_status call_norm(void) { return quern_gradient_norm(device.quern, &norm, workspace, PART, device.stream); }
static quern_status call_sum(void) { return quern_accumulate(device.quern, &sum, device.stream); }

Test(sizes, gradients) {
    static const struct field counts[] = {{"gradients[0].count", offsetof(quern_gradient, count), 0},
                                          {"gradients[1].count", sizeof *gradients + offsetof(quern_gradient, count), 0}};
    static const struct field of_norm = FIELD(quern_gradient_norm_args, gradient_count, 0);
    static const struct field of_sum = FIELD(quern_accumulate_args, gradient_count, 0);
    open_arena();
    norm = (quern_gradient_norm_args)QUERN_GRADIENT_NORM_ARGS_INIT;
    sum = (quern_accumulate_args)QUERN_ACCUMULATE_ARGS_INIT;
    norm.grad_dtype = sum.grad_dtype = QUERN_F16;
    norm.gradients = sum.gradients = gradients, norm.gradient_count = sum.gradient_count = 2;
    norm.norm = take(), workspace = take();
    for (int i = 0; i < 2; i++) gradients[i] = (quern_gradient){.grad = take(), .main_grad = take(), .count = 10};
    walk_fields(&(struct walk){"gradients", gradients, counts, 2, device.kind == QUERN_CPU ? ask_norm : NULL,
                               {call_norm, call_sum}});
    walk_fields(&(struct walk){"norm", &norm, &of_norm, 1, NULL, {ask_norm, call_norm}});
    walk_fields(&(struct walk){"sum", &sum, &of_sum, 1, NULL, {call_sum}});
    close_arena();
}

/* ---- quantisation ---- */

static quern_quantize_tensor quantized[2];
static quern_quantize_args quantize;

static quern_status ask_quantize(void) {
    size_t bytes;
    return quern_quantize_workspace(device.quern, &quantize, &bytes);
}

static quern_status call_quantize(void) { return quern_quantize(device.quern, &quantize, workspace, PART, device.stream); }
static quern_status call_cast(void) { return quern_quantize_cast(device.quern, &quantize, device.stream); }

static void fill_quantize(void) {
    quantize = (quern_quantize_args)QUERN_QUANTIZE_ARGS_INIT;
    quantize.input_dtype = QUERN_BF16, quantize.output_dtype = QUERN_E4M3;
    quantize.tensors = quantized, quantize.tensor_count = 2, quantize.amax = take(), workspace = take();
    for (int i = 0; i < 2; i++) quantized[i] = (quern_quantize_tensor){.input = take(), .output = take(), .count = 10};
}

Test(sizes, quantisation) {
    static const struct field counts[] = {{"tensors[0].count", offsetof(quern_quantize_tensor, count), 0},
                                          {"tensors[1].count", sizeof *quantized + offsetof(quern_quantize_tensor, count), 0}};
    static const struct field of_list = FIELD(quern_quantize_args, tensor_count, 0);
    open_arena();
    fill_quantize();
    walk_fields(&(struct walk){"tensors", quantized, counts, 2, device.kind == QUERN_CPU ? ask_quantize : NULL,
                               {call_quantize, call_cast}});
    walk_fields(&(struct walk){"quantize", &quantize, &of_list, 1, NULL, {ask_quantize, call_quantize}});
    close_arena();
}

/* A GPU's tiles are numbered with 30 bits in each tensor. */
Test(sizes, the_longest_tensor_that_a_gpu_casts) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("a CPU has no tiles");
    open_arena();
    fill_quantize();
    quantized[1] = (quern_quantize_tensor){.input = (void *)64, .output = (void *)((uintptr_t)1 << 46),
                                           .count = ((int64_t)1 << 41) + 1};
    refuse_tensor(call_quantize(), "args.tensors[1].count is 2199023255553: a GPU takes up to 2199023255552");
    quantized[1].count = (int64_t)1 << 36, quantized[1].columns = 1, quantized[1].transposed = (void *)((uintptr_t)1 << 45);
    refuse_tensor(call_quantize(), "args.tensors[1] has 2147483648 tiles of 32 x 64 elements: a GPU takes up to 1073741824");
    close_arena();
}

/* ---- ranks ---- */

static quern_group *group;
static quern_ragged_all_to_all_args ragged;
static size_t bytes_of_part;

static quern_status ask_ragged(void) {
    size_t bytes;
    return quern_ragged_all_to_all_workspace(group, &ragged, &bytes);
}

static quern_status call_ragged(void) { return quern_ragged_all_to_all(group, &ragged, workspace, PART, NULL); }

static quern_status plan_ragged(void) {
    quern_ragged_plan *plan;
    return quern_ragged_plan_create(&group, 1, &ragged, &workspace, (size_t[]){PART}, &plan);
}

static quern_status allocate(void) {
    void *pointer;
    return quern_symmetric_alloc(&group, 1, &bytes_of_part, &pointer);
}

static quern_status register_part(void) { return quern_symmetric_register(&group, 1, &arena.data, &bytes_of_part); }

static void open_group(void) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    args.ranks = 1, args.device = device.quern;
    check_ok(quern_group_create(&args, 1, &group));
}

Test(sizes, ranks) {
#define RAGGED(member) FIELD(quern_ragged_all_to_all_args, member, 0)
    static const struct field fields[] = {RAGGED(input_rows), RAGGED(output_rows), RAGGED(row_bytes), RAGGED(updates)};
    static const struct field part = {"bytes[0]", 0, 0};
    static const int64_t none[1];
    open_arena();
    if (device.kind == QUERN_CPU) {
        open_group();
        ragged = (quern_ragged_all_to_all_args)QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
        ragged.metadata_dtype = QUERN_INT64, ragged.input = take(), ragged.output = take();
        ragged.input_rows = ragged.output_rows = 4, ragged.row_bytes = 8;
        ragged.input_offsets = ragged.send_sizes = ragged.output_offsets = ragged.recv_sizes = none;
        bytes_of_part = PART;
        check_ok(quern_symmetric_alloc(&group, 1, &bytes_of_part, &workspace));
        walk_fields(&(struct walk){"ragged", &ragged, fields, COUNT(fields), ask_ragged, {call_ragged, plan_ragged}});
        check_ok(call_ragged());
        walk_fields(&(struct walk){"symmetric", &bytes_of_part, &part, 1, NULL, {allocate, register_part}});
        check_ok(quern_group_destroy(group));
    }
    close_arena();
}

/* Counts of 32 bits: no array is read beyond the ranks that there can be. */
Test(sizes, counts_of_ranks) {
    static const int numbers[] = {INT32_MAX, INT32_MIN, -1, 2, 0};
    static const int members[1] = {0};
    open_arena();
    if (device.kind == QUERN_CPU) {
        open_group();
        for (size_t i = 0; i < COUNT(numbers); i++) {
            quern_barrier_args args = QUERN_BARRIER_ARGS_INIT;
            args.members = members, args.member_count = numbers[i];
            check_status(quern_barrier(group, &args, NULL), QUERN_INVALID_ARGUMENT);
            check(strstr(error_detail(), "args.member_count"), "%s", error_detail());
            if (numbers[i] == 2) continue;  /* of which the second is missing */
            check_status(quern_group_split(&group, numbers[i], (int[]){0}, (int[]){0}, (quern_group *[]){NULL}),
                         QUERN_INVALID_ARGUMENT);
            check(strstr(error_detail(), "count is"), "%s", error_detail());
        }
        check_ok(quern_barrier(group, NULL, NULL));
        check_ok(quern_group_destroy(group));
    }
    close_arena();
}

Test(sizes, room_for_text) {
    char text[8];
    check_status(quern_load_pack(NULL), QUERN_NULL_POINTER);
    check(quern_error_detail(text, sizeof text) == strlen("path is NULL") && !strcmp(text, "path is"), "\"%s\"", text);
    check(quern_error_detail(NULL, SIZE_MAX) == strlen("path is NULL"), "with NULL");
    char whole[256];
    check(quern_error_detail(whole, SIZE_MAX) == strlen("path is NULL") && !strcmp(whole, "path is NULL"), "\"%s\"", whole);
}
