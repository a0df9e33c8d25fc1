/*
 * The dump of each operation on lists of tensors: which arrays are inputs and outputs, with their types, shapes and bytes.
 *
 * Runs on: one cpu, one emulated.
 */
#include "harness/buffer.h"
#include "harness/looking.h"

enum { COUNT = 96, ROWS = 3, COLUMNS = 32, STEP = 1, MOST_ARRAYS = 16 };

struct scene {
    struct test_device device;
    const char *folder;
    char run[512];
    struct buffer arrays[MOST_ARRAYS];
    int count;
};

static void open_scene(struct scene *scene) {
    memset(scene, 0, sizeof *scene);
    device_open(&scene->device, 0, NULL);
    check_ok(quern_prepare(scene->device.quern, QUERN_ADAM | QUERN_QUANTIZE));
    scene->folder = make_folder();
    strcpy(scene->run, path_in(scene->folder, "run"));
}

static void begin_dump(struct scene *scene) {
    quern_dump_args args = DUMP_ARGS(.folder = scene->run, .step = STEP);
    check_ok(quern_dump_at(scene->device.quern, &args));
    check_ok(quern_step(scene->device.quern, STEP));
}

static void close_scene(struct scene *scene) {
    check_ok(quern_step(scene->device.quern, STEP + 1));
    for (int i = 0; i < scene->count; i++) buffer_close(&scene->arrays[i]);
    device_close(&scene->device);
    drop_folder(scene->folder);
}

/* An array of the device with these contents. */
static struct buffer *array(struct scene *scene, size_t bytes, const void *contents) {
    struct buffer *buffer = &scene->arrays[scene->count++];
    buffer_open(buffer, &scene->device, bytes, 0, contents);
    return buffer;
}

static void *output(struct scene *scene, size_t bytes) {
    const unsigned char zeros[4 * COUNT] = {0};
    return array(scene, bytes, zeros)->data;
}

static struct buffer *buffer_at(struct scene *scene, const void *data) {
    for (int i = 0; i < scene->count; i++)
        if (scene->arrays[i].data == data) return &scene->arrays[i];
    cr_assert_fail("no array is there");
    return NULL;
}

/* A tensor of a file: "in" or "out" of the first call. */
struct written {
    const char *access, *name, *dtype, *shape;
    const void *data;       /* in: what it was; out: where it is on the device */
};

static const char *file_of(const struct scene *scene, const char *operation, const char *access) {
    char name[128];
    snprintf(name, sizeof name, "000000.%s.%s.safetensors", operation, access);
    return path_in(scene->run, name);
}

static int tensors_in(const char *path) {
    size_t bytes;
    char *text = read_text(path, &bytes);
    int count = 0;
    if (!text) return 0;
    for (const char *at = text + 8; (at = strstr(at, "\"dtype\"")); at++) count++;  /* the header ends with a zero or spaces */
    free(text);
    return count;
}

/* The files have these tensors and no others. */
static void check_written(struct scene *scene, const char *operation, const struct written *expected, int count) {
    int outputs = 0;
    for (int i = 0; i < count; i++) {
        const struct written *each = &expected[i];
        const bool is_output = !strcmp(each->access, "out");
        size_t bytes;
        SCOPED void *data = read_tensor(file_of(scene, operation, each->access), each->name, each->dtype, each->shape, &bytes);
        const void *wanted = is_output ? buffer_read(buffer_at(scene, each->data)) : each->data;
        check(!memcmp(data, wanted, bytes), "%s %s has other bytes", each->access, each->name);
        outputs += is_output;
    }
    check(tensors_in(file_of(scene, operation, "in")) == count - outputs, "%d inputs", tensors_in(file_of(scene, operation, "in")));
    check(tensors_in(file_of(scene, operation, "out")) == outputs, "%d outputs", tensors_in(file_of(scene, operation, "out")));
}

#define CHECK_WRITTEN(scene, operation, ...) \
    check_written(scene, operation, (const struct written[]){__VA_ARGS__}, \
                  (int)(sizeof((const struct written[]){__VA_ARGS__}) / sizeof(struct written)))

static void fill(float *values, int count) { for (int i = 0; i < count; i++) values[i] = (float)(i % 17) - 8; }

/* ---- gradients ---- */

Test(dump_operations, the_norm_of_gradients) {
    static const float scale[1] = {2}, none[1] = {0};
    float values[COUNT];
    struct scene scene CLOSED_BY(close_scene);
    size_t bytes;
    open_scene(&scene);
    fill(values, COUNT);
    quern_gradient list[] = {{.grad = NULL, .count = 0}, {.grad = array(&scene, sizeof values, values)->data, .count = COUNT}};
    quern_gradient_norm_args args = QUERN_GRADIENT_NORM_ARGS_INIT;
    args.grad_dtype = QUERN_F32, args.gradients = list, args.gradient_count = 2, args.max_norm = 1;
    args.grad_scale_pointer = array(&scene, sizeof scale, scale)->data;
    args.norm = output(&scene, 4), args.clip = output(&scene, 4), args.found_inf = output(&scene, 4);
    check_ok(quern_gradient_norm_workspace(scene.device.quern, &args, &bytes));
    begin_dump(&scene);
    check_ok(quern_gradient_norm(scene.device.quern, &args, array(&scene, bytes, NULL)->data, bytes, scene.device.stream));
    CHECK_WRITTEN(&scene, "gradient_norm", {"in", "grad.1", "F32", "[96]", values},
                  {"in", "grad_scale_pointer", "F32", "[1]", scale}, {"in", "found_inf", "F32", "[1]", none},
                  {"out", "norm", "F32", "[1]", args.norm}, {"out", "clip", "F32", "[1]", args.clip},
                  {"out", "found_inf", "F32", "[1]", args.found_inf});
}

/* With zero_grads the gradient is written too. */
Test(dump_operations, the_accumulation_of_gradients) {
    static const int32_t flags[2] = {0, 1};
    static const int64_t tokens[1] = {4};
    static const int32_t places[2] = {-1, 0};
    float values[COUNT], sums[COUNT] = {1, 2, 3};
    struct scene scene CLOSED_BY(close_scene);
    open_scene(&scene);
    fill(values, COUNT);
    quern_gradient list[2];
    for (int i = 0; i < 2; i++)
        list[i] = (quern_gradient){.grad = array(&scene, sizeof values, values)->data,
                                   .main_grad = array(&scene, sizeof sums, sums)->data, .count = COUNT};
    quern_accumulate_args args = QUERN_ACCUMULATE_ARGS_INIT;
    args.grad_dtype = QUERN_F32, args.gradients = list, args.gradient_count = 2, args.zero_grads = 1;
    args.overwrite_flags = array(&scene, sizeof flags, flags)->data;
    args.token_counts = array(&scene, sizeof tokens, tokens)->data, args.group_count = 1, args.token_places = places;
    begin_dump(&scene);
    check_ok(quern_accumulate(scene.device.quern, &args, scene.device.stream));
    CHECK_WRITTEN(&scene, "accumulate", {"in", "grad.0", "F32", "[96]", values}, {"in", "main_grad.0", "F32", "[96]", sums},
                  {"in", "grad.1", "F32", "[96]", values}, {"in", "main_grad.1", "F32", "[96]", sums},
                  {"in", "overwrite_flags", "I32", "[2]", flags}, {"in", "token_counts", "I64", "[1]", tokens},
                  {"out", "grad.0", "F32", "[96]", list[0].grad}, {"out", "main_grad.0", "F32", "[96]", list[0].main_grad},
                  {"out", "grad.1", "F32", "[96]", list[1].grad}, {"out", "main_grad.1", "F32", "[96]", list[1].main_grad});
}

/* ---- quantisation ---- */

static void open_quantize(struct scene *scene, float *values, quern_quantize_tensor *tensor, quern_quantize_args *args) {
    open_scene(scene);
    fill(values, COUNT);
    *tensor = (quern_quantize_tensor){.input = array(scene, COUNT * sizeof *values, values)->data, .count = COUNT,
                                      .columns = COLUMNS, .output = output(scene, COUNT)};
    *args = (quern_quantize_args)QUERN_QUANTIZE_ARGS_INIT;
    args->input_dtype = QUERN_F32, args->output_dtype = QUERN_E4M3, args->tensors = tensor, args->tensor_count = 1;
}

#define OPEN_QUANTIZED(scene, values, tensor, args) \
    float values[COUNT]; \
    quern_quantize_tensor tensor; \
    quern_quantize_args args; \
    struct scene scene CLOSED_BY(close_scene); \
    open_quantize(&scene, values, &tensor, &args)

/* quern_quantize, or its first step alone. */
static void quantize(struct scene *scene, const quern_quantize_args *args, __typeof__(quern_quantize) *function) {
    size_t bytes;
    check_ok(quern_quantize_workspace(scene->device.quern, args, &bytes));
    void *workspace = array(scene, bytes, NULL)->data;
    begin_dump(scene);
    check_ok(function(scene->device.quern, args, workspace, bytes, scene->device.stream));
}

Test(dump_operations, a_quantisation_with_everything) {
    static const float history[2] = {8, 4}, off[1] = {0}, last[1] = {2};
    static const uint64_t number[1] = {7};
    OPEN_QUANTIZED(scene, values, tensor, args);
    tensor.transposed = output(&scene, COUNT);
    args.rounding = QUERN_ROUND_STOCHASTIC;
    args.amax = output(&scene, 4), args.scale = array(&scene, sizeof last, last)->data, args.scale_inv = output(&scene, 4);
    args.noop = array(&scene, sizeof off, off)->data, args.offset_pointer = array(&scene, sizeof number, number)->data;
    args.history = array(&scene, sizeof history, history)->data, args.history_length = 2;
    quantize(&scene, &args, quern_quantize);
    CHECK_WRITTEN(&scene, "quantize", {"in", "input.0", "F32", "[96]", values}, {"in", "scale", "F32", "[1]", last},
                  {"in", "history", "F32", "[2,1]", history}, {"in", "noop", "F32", "[1]", off},
                  {"in", "offset_pointer", "I64", "[1]", number},
                  {"out", "output.0", "F8_E4M3", "[96]", tensor.output},
                  {"out", "transposed.0", "F8_E4M3", "[96]", tensor.transposed}, {"out", "amax", "F32", "[1]", args.amax},
                  {"out", "scale", "F32", "[1]", args.scale}, {"out", "scale_inv", "F32", "[1]", args.scale_inv},
                  {"out", "history", "F32", "[2,1]", args.history});
}

Test(dump_operations, a_quantisation_in_blocks) {
    OPEN_QUANTIZED(scene, values, tensor, args);
    args.output_dtype = QUERN_E5M2, args.scaling = QUERN_SCALING_MX;
    tensor.block_scales = output(&scene, ROWS);
    tensor.transposed = output(&scene, COUNT), tensor.transposed_block_scales = output(&scene, COLUMNS);
    quantize(&scene, &args, quern_quantize);
    CHECK_WRITTEN(&scene, "quantize", {"in", "input.0", "F32", "[96]", values},
                  {"out", "output.0", "F8_E5M2", "[96]", tensor.output},
                  {"out", "transposed.0", "F8_E5M2", "[96]", tensor.transposed},
                  {"out", "block_scales.0", "U8", "[3]", tensor.block_scales},
                  {"out", "transposed_block_scales.0", "U8", "[32]", tensor.transposed_block_scales});
}

/* Scales of an output that is not wanted are not written, though the pointer is there. */
Test(dump_operations, blocks_of_the_transposed_matrix_alone) {
    OPEN_QUANTIZED(scene, values, tensor, args);
    args.scaling = QUERN_SCALING_MX;
    tensor.output = NULL, tensor.block_scales = output(&scene, ROWS);
    tensor.transposed = output(&scene, COUNT), tensor.transposed_block_scales = output(&scene, COLUMNS);
    quantize(&scene, &args, quern_quantize);
    CHECK_WRITTEN(&scene, "quantize", {"in", "input.0", "F32", "[96]", values},
                  {"out", "transposed.0", "F8_E4M3", "[96]", tensor.transposed},
                  {"out", "transposed_block_scales.0", "U8", "[32]", tensor.transposed_block_scales});
}

Test(dump_operations, the_largest_magnitudes_alone) {
    OPEN_QUANTIZED(scene, values, tensor, args);
    args.amax = output(&scene, 4), args.scale = output(&scene, 4);
    quantize(&scene, &args, quern_quantize_amax);
    CHECK_WRITTEN(&scene, "quantize_amax", {"in", "input.0", "F32", "[96]", values}, {"out", "amax", "F32", "[1]", args.amax});
}

Test(dump_operations, the_cast_alone) {
    static const float largest[1] = {16};
    OPEN_QUANTIZED(scene, values, tensor, args);
    args.amax = array(&scene, sizeof largest, largest)->data, args.scale = output(&scene, 4);
    begin_dump(&scene);
    check_ok(quern_quantize_cast(scene.device.quern, &args, scene.device.stream));
    CHECK_WRITTEN(&scene, "quantize_cast", {"in", "input.0", "F32", "[96]", values}, {"in", "amax", "F32", "[1]", largest},
                  {"out", "output.0", "F8_E4M3", "[96]", tensor.output}, {"out", "scale", "F32", "[1]", args.scale});
}

/* ---- Adam ---- */

/* The parameter of a list without a master is read, and an 8-bit copy has two numbers. */
Test(dump_operations, a_step_with_a_copy) {
    static const float factor[1] = {3}, low[1] = {0};
    float values[COUNT];
    const float zeros[COUNT] = {0};
    struct scene scene CLOSED_BY(close_scene);
    size_t bytes;
    open_scene(&scene);
    fill(values, COUNT);
    quern_adam_tensor tensors[2] = {
        {.count = 0},
        {.param = array(&scene, sizeof values, values)->data, .grad = array(&scene, sizeof values, values)->data,
         .m = output(&scene, sizeof values), .v = output(&scene, sizeof values), .count = COUNT, .copy = output(&scene, COUNT),
         .copy_scale = array(&scene, sizeof factor, factor)->data, .copy_max = output(&scene, 4)}};
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = args.grad_dtype = args.m_dtype = args.v_dtype = QUERN_F32, args.master_dtype = QUERN_NO_DTYPE;
    args.copy_dtype = QUERN_E4M3, args.tensors = tensors, args.tensor_count = 2, args.lr = 0.1, args.step = 1;
    check_ok(quern_adam_workspace(scene.device.quern, &args, &bytes));
    void *workspace = array(&scene, bytes, NULL)->data;
    begin_dump(&scene);
    check_ok(quern_adam(scene.device.quern, &args, workspace, bytes, scene.device.stream));
    CHECK_WRITTEN(&scene, "adam", {"in", "param.1", "F32", "[96]", values}, {"in", "grad.1", "F32", "[96]", values},
                  {"in", "m.1", "F32", "[96]", zeros}, {"in", "v.1", "F32", "[96]", zeros},
                  {"in", "copy_scale.1", "F32", "[1]", factor}, {"in", "copy_max.1", "F32", "[1]", low},
                  {"out", "param.1", "F32", "[96]", tensors[1].param}, {"out", "m.1", "F32", "[96]", tensors[1].m},
                  {"out", "v.1", "F32", "[96]", tensors[1].v}, {"out", "copy.1", "F8_E4M3", "[96]", tensors[1].copy},
                  {"out", "copy_max.1", "F32", "[1]", tensors[1].copy_max});
}
