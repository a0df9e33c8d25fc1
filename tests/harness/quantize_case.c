/* Lists of tensors that are quantised.  quantize_case.h documents the functions. */
#include "harness/quantize_case.h"

#include "harness/random.h"
#include "oracle/dtype.h"
#include "oracle/quantize.h"

/* Each array misses a 64-byte boundary by a number of elements that depends on its place. */
static int64_t start_of(int64_t *end, int64_t missed, int64_t count) {
    const int64_t start = (*end + 63) / 64 * 64 + missed % 16;
    *end = start + count;
    return start;
}

/* Many tensors begin as their inputs do at a boundary of vectors, some do not. */
static int64_t input_start(int64_t *end, int64_t place, int64_t count) { return start_of(end, place % 3 ? 0 : place, count); }
static int64_t output_start(int64_t *end, int64_t place, int64_t count) { return start_of(end, place % 5 ? 0 : place, count); }

static int64_t blocks(int64_t count) { return (count + 31) / 32; }

/* The pointers are offsets until the arrays are allocated; 0 is no array of an output, since the first byte is a guard. */
static void place_tensors(struct quantize_case *q, const struct quantize_shape *shapes) {
    const size_t element = quern_dtype_bytes(q->args.input_dtype);
    int64_t input_end = 0, output_end = 1;
    for (int64_t i = 0; i < q->args.tensor_count; i++) {
        const struct quantize_shape *shape = &shapes[i];
        const int64_t count = shape->rows * shape->columns;
        const bool in_blocks = q->args.scaling == QUERN_SCALING_MX;
        quern_quantize_tensor *tensor = &q->tensors[i];
        *tensor = (quern_quantize_tensor){.count = count, .columns = shape->columns};
        tensor->input = (void *)(input_start(&input_end, i, count) * (int64_t)element);
        if (!shape->no_output) tensor->output = (void *)output_start(&output_end, i, count);
        if (shape->transposed) tensor->transposed = (void *)output_start(&output_end, 7 * i + 1, count);
        if (in_blocks && !shape->no_output)
            tensor->block_scales = (void *)start_of(&output_end, i, shape->rows * blocks(shape->columns));
        if (in_blocks && shape->transposed)
            tensor->transposed_block_scales = (void *)start_of(&output_end, 3 * i, shape->columns * blocks(shape->rows));
    }
    q->input_bytes = (size_t)input_end * element, q->output_bytes = (size_t)output_end;
}

static void *moved(const void *pointer, const void *from, void *to) {
    return pointer ? (char *)to + ((uintptr_t)pointer - (uintptr_t)from) : NULL;
}

/* The arrays of outputs of a tensor, from one memory to another one. */
static void move_outputs(const quern_quantize_tensor *tensor, const void *from, void *to, quern_quantize_tensor *moving) {
    moving->output = moved(tensor->output, from, to);
    moving->transposed = moved(tensor->transposed, from, to);
    moving->block_scales = moved(tensor->block_scales, from, to);
    moving->transposed_block_scales = moved(tensor->transposed_block_scales, from, to);
}

static void allocate(struct quantize_case *q, const struct quantize_shape *shapes, int64_t history) {
    const size_t tensors = (size_t)q->args.tensor_count;
    q->tensors = zeroed((tensors + 1) * sizeof *q->tensors), q->device_tensors = zeroed((tensors + 1) * sizeof *q->device_tensors);
    place_tensors(q, shapes);
    q->inputs = zeroed(q->input_bytes + 1), q->outputs = zeroed(q->output_bytes + 1);
    fill_pattern(q->inputs, q->input_bytes), fill_pattern(q->outputs, q->output_bytes);
    for (int array = 0; array < QUANTIZE_ARRAYS; array++) {
        q->bytes_of[array] = tensors * sizeof(float) * (size_t)(array == QUANTIZE_HISTORY ? history : 1);
        q->numbers[array] = zeroed(q->bytes_of[array] + 4);
        if (array != QUANTIZE_HISTORY) fill_pattern(q->numbers[array], q->bytes_of[array]);
    }
}

static void point(quern_quantize_args *args, const quern_quantize_tensor *tensors, float *const *numbers) {
    args->tensors = tensors;
    args->amax = numbers[QUANTIZE_AMAX];
    args->scale = numbers[QUANTIZE_SCALE_ARRAY];
    args->scale_inv = numbers[QUANTIZE_INVERSE];
    if (args->history_length) args->history = numbers[QUANTIZE_HISTORY];
}

void quantize_open_matrices(struct quantize_case *q, const struct test_device *device, quern_dtype input, quern_dtype output,
                            quern_scaling scaling, const struct quantize_shape *shapes, int64_t tensors, int64_t history) {
    *q = (struct quantize_case){.device = device, .args = QUERN_QUANTIZE_ARGS_INIT};
    q->args.input_dtype = input, q->args.output_dtype = output, q->args.scaling = scaling;
    q->args.tensor_count = tensors, q->args.history_length = history;
    allocate(q, shapes, history);
    point(&q->args, q->tensors, q->numbers);
    for (int64_t place = 0; place < tensors; place++) {
        quern_quantize_tensor *tensor = &q->tensors[place];
        void *values = q->inputs + (uintptr_t)tensor->input;
        tensor->input = values;
        move_outputs(tensor, NULL, q->outputs, tensor);
        for (int64_t i = 0; i < tensor->count; i++)
            dtype_store(input, values, i, ldexp(random_normal((uint64_t)place, (uint64_t)i), (int)(place * 7 % 23) - 12));
    }
}

/* The columns are not read: they are no size. */
void quantize_open(struct quantize_case *q, const struct test_device *device, quern_dtype input, quern_dtype output,
                   const int64_t *counts, int64_t tensors, int64_t history) {
    SCOPED struct quantize_shape *shapes = zeroed(((size_t)tensors + 1) * sizeof *shapes);
    for (int64_t i = 0; i < tensors; i++) shapes[i] = (struct quantize_shape){.rows = 1, .columns = counts[i]};
    quantize_open_matrices(q, device, input, output, QUERN_SCALING_DEFAULT, shapes, tensors, history);
    for (int64_t i = 0; i < tensors; i++) q->tensors[i].columns = -3;
}

void quantize_upload(struct quantize_case *q, bool with_plan) {
    float *numbers[QUANTIZE_ARRAYS];
    size_t workspace_bytes;
    buffer_open(&q->input, q->device, q->input_bytes, 0, q->inputs);
    buffer_open(&q->output, q->device, q->output_bytes, 0, q->outputs);
    for (int array = 0; array < QUANTIZE_ARRAYS; array++) {
        buffer_open(&q->of[array], q->device, q->bytes_of[array], 4, q->numbers[array]);
        numbers[array] = q->of[array].data;
    }
    for (int64_t i = 0; i < q->args.tensor_count; i++) {
        q->device_tensors[i].input = moved(q->tensors[i].input, q->inputs, q->input.data);
        move_outputs(&q->tensors[i], q->outputs, q->output.data, &q->device_tensors[i]);
        q->device_tensors[i].count = q->tensors[i].count, q->device_tensors[i].columns = q->tensors[i].columns;
    }
    q->on_device = q->args;
    point(&q->on_device, q->device_tensors, numbers);
    if (with_plan) {
        check_ok(quern_quantize_plan_create(q->device->quern, &q->on_device, &q->plan));
        q->on_device.tensors = NULL, q->on_device.tensor_count = -1, q->on_device.plan = q->plan;
    }
    check_ok(quern_quantize_workspace(q->device->quern, &q->on_device, &workspace_bytes));
    const bool needs = q->device->kind == QUERN_CUDA && !with_plan && q->args.scaling != QUERN_SCALING_MX;
    check(workspace_bytes == (needs ? 8 * (size_t)q->args.tensor_count : 0), "%zu bytes of workspace", workspace_bytes);
    buffer_open(&q->workspace, q->device, workspace_bytes, 0, NULL);
}

void quantize_update(struct quantize_case *q) {
    buffer_write(&q->input, q->inputs);
    buffer_write(&q->of[QUANTIZE_AMAX], q->numbers[QUANTIZE_AMAX]);
    buffer_write(&q->of[QUANTIZE_HISTORY], q->numbers[QUANTIZE_HISTORY]);
    buffer_write(&q->of[QUANTIZE_SCALE_ARRAY], q->numbers[QUANTIZE_SCALE_ARRAY]);
}

void quantize_run(struct quantize_case *q) {
    check_ok(quern_quantize(q->device->quern, &q->on_device, q->workspace.data, q->workspace.bytes, q->device->stream));
}

void quantize_run_amax(struct quantize_case *q) {
    check_ok(quern_quantize_amax(q->device->quern, &q->on_device, q->workspace.data, q->workspace.bytes, q->device->stream));
}

void quantize_run_cast(struct quantize_case *q) {
    check_ok(quern_quantize_cast(q->device->quern, &q->on_device, q->device->stream));
}

static void check_numbers(struct quantize_case *q, int array, const char *what) {
    static const char *const names[] = {"amax", "scale", "scale_inv", "history"};
    const float *got = buffer_read(&q->of[array]), *expected = q->numbers[array];
    for (size_t i = 0; i < q->bytes_of[array] / sizeof *got; i++)
        check(!memcmp(&got[i], &expected[i], sizeof *got), "%s: %s[%zu] is %a instead of %a", what, names[array], i, (double)got[i],
              (double)expected[i]);
}

void quantize_check(struct quantize_case *q, const char *what) {
    const unsigned char *output = buffer_read(&q->output);
    for (int array = 0; array < QUANTIZE_ARRAYS; array++) check_numbers(q, array, what);
    for (size_t i = 0; i < q->output_bytes; i++)
        check(output[i] == q->outputs[i], "%s: byte %zu of the outputs is 0x%02x instead of 0x%02x", what, i, output[i],
              q->outputs[i]);
    check(!memcmp(buffer_read(&q->input), q->inputs, q->input_bytes), "%s: the inputs have changed", what);
}

void quantize_check_run(struct quantize_case *q, const char *what) {
    quantize_run(q);
    quantize_model(&q->args);
    quantize_check(q, what);
}

void quantize_check_cast(struct quantize_case *q, const char *what) {
    quantize_run_cast(q);
    quantize_model_cast(&q->args);
    quantize_check(q, what);
}

void quantize_close(struct quantize_case *q) {
    quern_quantize_plan_destroy(q->plan);
    for (int array = 0; array < QUANTIZE_ARRAYS; array++) {
        buffer_close(&q->of[array]);
        free(q->numbers[array]);
    }
    buffer_close(&q->input), buffer_close(&q->output), buffer_close(&q->workspace);
    free(q->inputs), free(q->outputs);
    free(q->tensors), free(q->device_tensors);
}

/* ---- targets and ways ---- */

void quantize_device_open(struct test_device *device) {
    device_open(device, 0, NULL);
    check_ok(quern_prepare(device->quern, QUERN_QUANTIZE));
}

void quantize_each_types(void (*body)(const struct test_device *device, quern_dtype input, quern_dtype output)) {
    static const quern_dtype inputs[] = {QUERN_F32, QUERN_F16, QUERN_BF16}, outputs[] = {QUERN_E4M3, QUERN_E5M2};
    struct test_device device CLOSED_BY(device_close);
    quantize_device_open(&device);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++) body(&device, inputs[i], outputs[k]);
}

void quantize_check_way(struct quantize_case *q, unsigned way, const char *what) {
    const bool planned = way & 1, stepwise = way & 2 && q->args.scaling != QUERN_SCALING_MX;
    q->args.rounding = way & 4 ? QUERN_ROUND_STOCHASTIC : way & 8 ? QUERN_ROUND_NEAREST : QUERN_ROUND_DEFAULT;
    q->args.power_of_two = way / 8 % 2, q->args.eps = way % 3 == 1 ? 0.25 : 0;
    q->args.seed = 0x9876543210ABCDEF + way, q->args.offset = ((uint64_t)way << 32) + 77 * way;
    quantize_upload(q, planned);
    quantize_model(&q->args);
    if (stepwise) quantize_run_amax(q), quantize_run_cast(q);
    else quantize_run(q);
    quantize_check(q, what);
}
