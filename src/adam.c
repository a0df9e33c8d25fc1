/* quern_adam: check, select, launch. */
#include <math.h>
#include <string.h>

#include "adam_scalars.h"
#include "arguments.h"
#include "dispatch.h"
#include "status.h"
#include "threads.h"

/* Tensors' places are a word of the random numbers' counter. */
#define MAX_TENSORS (((int64_t)1 << 32) - 1)

static bool dtype_refused(const char *name, quern_dtype has, quern_dtype wanted, struct quern_text *why) {
    if (has == wanted) return false;
    if (why)
        quern_text_add(why, "%s is %s, the request has %s", name, has ? quern_dtype_name(has) : "none",
                       wanted ? quern_dtype_name(wanted) : "none");
    return true;
}

static bool refused(const struct quern_kernel *kernel, const void *request, struct quern_text *why) {
    const quern_adam_args *args = request;
    return dtype_refused("param", kernel->key.adam.param, args->param_dtype, why) ||
           dtype_refused("grad", kernel->key.adam.grad, args->grad_dtype, why) ||
           dtype_refused("m", kernel->key.adam.m, args->m_dtype, why) ||
           dtype_refused("v", kernel->key.adam.v, args->v_dtype, why) ||
           dtype_refused("master", kernel->key.adam.master, args->master_dtype, why) || kernel->key.adam.task != QUERN_ADAM_STEP;
}

static const struct quern_operation operation = {"adam", QUERN_ADAM, quern_adam_kernels, refused};

/* ---- arguments ---- */

static quern_status check_dtypes(const quern_device *device, const quern_adam_args *args) {
    static const quern_dtype floats[] = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_NO_DTYPE};
    static const quern_dtype moments[] = {QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE};
    static const quern_dtype masters[] = {QUERN_F32, QUERN_NO_DTYPE};
    quern_status status = quern_check_dtype(device, "args.param_dtype", args->param_dtype, floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.grad_dtype", args->grad_dtype, floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.m_dtype", args->m_dtype, moments, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.v_dtype", args->v_dtype, moments, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.master_dtype", args->master_dtype, masters, true);
    if (status == QUERN_OK && args->master_dtype && args->param_dtype == QUERN_F32)
        status = quern_fail(device, QUERN_INVALID_DTYPE, "args.master_dtype is f32 with f32 parameters: expected none, since a "
                            "master copy would hold the same values twice");
    return status;
}

static quern_status check_choices(const quern_device *device, const quern_adam_args *args) {
    quern_status status = quern_check_choice(device, "args.mode", (int)args->mode, QUERN_ADAM_L2);
    const struct {
        const char *name;
        quern_rounding value;
    } roundings[] = {{"args.param_rounding", args->param_rounding}, {"args.m_rounding", args->m_rounding},
                     {"args.v_rounding", args->v_rounding}};
    for (size_t i = 0; status == QUERN_OK && i < sizeof roundings / sizeof *roundings; i++)
        status = quern_check_choice(device, roundings[i].name, (int)roundings[i].value, QUERN_ROUND_STOCHASTIC);
    return status;
}

static quern_status check_scalars(const quern_device *device, const quern_adam_args *args) {
    const struct {
        const char *name;
        double value;
        bool is_beta;
    } scalars[] = {{"args.lr", args->lr, false}, {"args.beta1", args->beta1, true}, {"args.beta2", args->beta2, true},
                   {"args.eps", args->eps, false}, {"args.weight_decay", args->weight_decay, false}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        double value = scalars[i].value;
        if (value >= 0 && (scalars[i].is_beta ? value < 1 : isfinite(value))) continue;
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is %g: expected %s", scalars[i].name, value,
                          scalars[i].is_beta ? "0 <= beta < 1" : "a finite number, 0 or more");
    }
    if (args->step < 1)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.step is %lld: expected 1 or more (steps count from 1)",
                          (long long)args->step);
    return QUERN_OK;
}

static quern_status check_list(const quern_device *device, const quern_adam_args *args) {
    if (args->tensor_size != sizeof(quern_adam_tensor))
        return quern_fail(device, QUERN_INVALID_STRUCT_SIZE, "args.tensor_size is %u: expected %zu (use QUERN_ADAM_ARGS_INIT)",
                          args->tensor_size, sizeof(quern_adam_tensor));
    quern_status status = quern_check_not_negative(device, "args.tensor_count", args->tensor_count);
    if (status != QUERN_OK) return status;
    if (args->tensor_count > MAX_TENSORS)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.tensor_count is %lld: expected at most %lld",
                          (long long)args->tensor_count, (long long)MAX_TENSORS);
    return args->tensor_count ? quern_check_pointer(device, "args.tensors", args->tensors, sizeof(void *)) : QUERN_OK;
}

static quern_status check_tensor(const quern_device *device, const quern_adam_args *args, int64_t place) {
    const quern_adam_tensor *tensor = &args->tensors[place];
    const struct {
        const char *name;
        const void *pointer;
        quern_dtype dtype;
    } parts[] = {{"param", tensor->param, args->param_dtype}, {"grad", tensor->grad, args->grad_dtype},
                 {"m", tensor->m, args->m_dtype}, {"v", tensor->v, args->v_dtype}, {"master", tensor->master, args->master_dtype}};
    if (tensor->count < 0)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.tensors[%lld].count is %lld: expected 0 or more", (long long)place,
                          (long long)tensor->count);
    for (size_t i = 0; tensor->count && i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].dtype || (parts[i].pointer && (uintptr_t)parts[i].pointer % quern_dtype_bytes(parts[i].dtype) == 0)) continue;
        return quern_fail(device, parts[i].pointer ? QUERN_INVALID_ARGUMENT : QUERN_NULL_POINTER,
                          "args.tensors[%lld].%s is %s", (long long)place, parts[i].name,
                          parts[i].pointer ? "not at a multiple of its element's size" : "NULL");
    }
    return QUERN_OK;
}

static quern_status check_all(const quern_device *device, const quern_adam_args *args) {
    quern_status status = quern_check_struct(device, "args", args, sizeof *args);
    if (status == QUERN_OK) status = check_dtypes(device, args);
    if (status == QUERN_OK) status = check_choices(device, args);
    if (status == QUERN_OK) status = check_scalars(device, args);
    if (status == QUERN_OK) status = check_list(device, args);
    return status;
}

static quern_status check_tensors(const quern_device *device, const quern_adam_args *args) {
    for (int64_t place = 0; place < args->tensor_count; place++) {
        quern_status status = check_tensor(device, args, place);
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}

/* ---- the scalars of the step ---- */

static bool stochastic(quern_rounding rounding, bool by_default) {
    return rounding == QUERN_ROUND_DEFAULT ? by_default : rounding == QUERN_ROUND_STOCHASTIC;
}

static struct quern_adam_step state_step(const quern_adam_args *args) {
    const struct quern_adam_rates rates = {
        .lr = args->lr,
        .beta1 = args->beta1,
        .beta2 = args->beta2,
        .decoupled_decay = args->mode == QUERN_ADAMW ? args->weight_decay : 0,
        .grad_scale = 1,
        .clip = 1,
        .step = (uint64_t)args->step,
    };
    struct quern_adam_step step = {
        .one_minus_beta1 = (float)(1 - args->beta1),
        .one_minus_beta2 = (float)(1 - args->beta2),
        .eps = (float)args->eps,
        .l2_decay = args->mode == QUERN_ADAM_L2 ? (float)args->weight_decay : 0,
        .stochastic_param = stochastic(args->param_rounding, !args->master_dtype),
        .stochastic_m = stochastic(args->m_rounding, false),
        .stochastic_v = stochastic(args->v_rounding, true),
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
    };
    quern_adam_set_scalars(&rates, &step);
    return step;
}

static struct quern_adam_slice slice_of(const quern_adam_tensor *tensor, const quern_adam_args *args) {
    return (struct quern_adam_slice){tensor->param, tensor->grad, tensor->m, tensor->v, args->master_dtype ? tensor->master : NULL,
                                     tensor->count, 1, 1};
}

/* ---- CPU ---- */

enum {
    SPLIT = 256,            /* tensors are split at multiples of this: whole blocks of random numbers, which kernels draw at once */
    TASK_ELEMENTS = 1 << 16 /* about what one task should be worth handing out */
};

/* The list is marked at every so many tensors, so that a task finds where its share begins without a walk over all. */
enum { MARKS = 256 };

struct cpu_call {
    const quern_adam_args *args;
    struct quern_adam_step step;
    quern_adam_cpu_kernel *kernel;
    int64_t elements, tasks;
    int64_t marks, mark_every;
    int64_t mark[MARKS];  /* mark[i]: the elements before tensor i * mark_every */
};

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Where a cut through all tensors laid end to end falls inside a tensor that begins at `begin`: at a multiple of SPLIT. */
static int64_t cut_inside(int64_t cut, int64_t begin, int64_t count) {
    if (cut <= begin) return 0;
    return smaller((cut - begin + SPLIT - 1) / SPLIT * SPLIT, count);
}

/* The first element of a task's share, of all tensors laid end to end; __int128 because elements * task may pass 2^63. */
static int64_t share(const struct cpu_call *call, int64_t task) {
    return (int64_t)((__int128)call->elements * task / call->tasks);
}

static void run_share(void *context, int64_t task) {
    const struct cpu_call *call = context;
    int64_t from = share(call, task), to = share(call, task + 1), mark = 0;
    while (mark + 1 < call->marks && call->mark[mark + 1] <= from) mark++;
    int64_t begin = call->mark[mark];
    for (int64_t place = mark * call->mark_every; place < call->args->tensor_count && begin < to; place++) {
        const quern_adam_tensor *listed = &call->args->tensors[place];
        int64_t first = cut_inside(from, begin, listed->count), end = cut_inside(to, begin, listed->count);
        struct quern_adam_slice tensor = slice_of(listed, call->args);
        if (first < end) call->kernel(&call->step, &tensor, NULL, (uint32_t)place, first, end);
        begin += listed->count;
    }
}

static bool count_elements(struct cpu_call *call) {
    int64_t tensors = call->args->tensor_count;
    call->mark_every = (tensors + MARKS - 1) / MARKS;
    for (int64_t place = 0; place < tensors; place++) {
        if (place == call->marks * call->mark_every) call->mark[call->marks++] = call->elements;
        if (__builtin_add_overflow(call->elements, call->args->tensors[place].count, &call->elements)) return false;
    }
    return true;
}

static quern_status run_on_cpu(quern_device *device, const struct quern_ready_kernel *ready, const quern_adam_args *args) {
    struct cpu_call call = {.args = args, .step = state_step(args), .kernel = ready->kernel->cpu.adam};
    if (!count_elements(&call))
        return quern_fail(device, QUERN_INVALID_SHAPE, "the tensors have more than 2^63 elements together");
    call.tasks = smaller((call.elements + TASK_ELEMENTS - 1) / TASK_ELEMENTS, 8 * (int64_t)device->threads);
    quern_run_tasks(device, call.tasks, run_share, &call);
    return QUERN_OK;
}

/* ---- CUDA ---- */

/* In one launch: as many as 32 bits number, with room for the last tensor's. */
enum { MAX_TILES = 1 << 30 };

struct cuda_call {
    quern_device *device;
    const struct quern_cuda *cuda;
    const struct quern_ready_kernel *ready;
    CUstream stream;
    struct quern_adam_batch batch;
};

/* Launches the tensors gathered so far and begins the next batch. */
static quern_status flush(struct cuda_call *call) {
    struct quern_adam_launch *launch = &call->batch.launch;
    const unsigned threads = call->ready->kernel->cuda.threads, warps = threads / 32;
    const int64_t blocks = (launch->tile_count + warps - 1) / warps;
    void *parameters[] = {&call->batch};
    CUresult error = CUDA_SUCCESS;
    if (blocks)
        error = call->cuda->launch(call->ready->function, (unsigned)blocks, 1, 1, threads, 1, 1, 0, call->stream, parameters, NULL);
    launch->first_place += launch->tensor_count;
    launch->tensor_count = 0;
    launch->tile_count = 0;
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, call->ready->kernel->name);
}

static int64_t tiles_of(int64_t count) {
    return count / QUERN_ADAM_TILE + (count % QUERN_ADAM_TILE != 0);
}

/* Before the first launch: a tensor beyond the grid must not leave half a step taken. */
static quern_status check_tiles(const quern_device *device, const quern_adam_args *args) {
    for (int64_t place = 0; place < args->tensor_count; place++)
        if (tiles_of(args->tensors[place].count) > MAX_TILES)
            return quern_fail(device, QUERN_NOT_SUPPORTED, "args.tensors[%lld].count is %lld: a GPU takes up to %lld", (long long)place,
                              (long long)args->tensors[place].count, (long long)QUERN_ADAM_TILE * MAX_TILES);
    return QUERN_OK;
}

static quern_status gather(struct cuda_call *call, const struct quern_adam_slice *tensor) {
    struct quern_adam_launch *launch = &call->batch.launch;
    quern_status status = QUERN_OK;
    if (launch->tensor_count == QUERN_ADAM_BATCH || launch->tile_count + tiles_of(tensor->count) > MAX_TILES) status = flush(call);
    call->batch.slices[launch->tensor_count] = *tensor;
    call->batch.first_tile[launch->tensor_count] = (uint32_t)launch->tile_count;
    launch->tensor_count++;
    launch->tile_count += tiles_of(tensor->count);
    return status;
}

static quern_status run_on_cuda(quern_device *device, const struct quern_ready_kernel *ready, const quern_adam_args *args,
                                CUstream stream) {
    struct cuda_call call = {.device = device, .ready = ready, .stream = stream, .batch.launch.step = state_step(args)};
    quern_status status = check_tiles(device, args);
    if (status == QUERN_OK) status = quern_cuda_open(&call.cuda);
    if (status != QUERN_OK) return status;
    CUresult error = call.cuda->context_push(device->context);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(device, error, "cuCtxPushCurrent");
    for (int64_t place = 0; place < args->tensor_count && status == QUERN_OK; place++) {
        struct quern_adam_slice tensor = slice_of(&args->tensors[place], args);
        status = gather(&call, &tensor);
    }
    if (status == QUERN_OK) status = flush(&call);
    CUcontext popped;
    call.cuda->context_pop(&popped);
    return status;
}

/* ---- the public functions ---- */

quern_status quern_adam_workspace(const quern_device *device, const quern_adam_args *args, size_t *bytes) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_status status = check_all(device, args);
    if (status == QUERN_OK) *bytes = 0;
    return status;
}

quern_status quern_adam(quern_device *device, const quern_adam_args *args, void *workspace, size_t workspace_bytes, void *stream) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_status status = check_all(device, args);
    if (status == QUERN_OK) status = check_tensors(device, args);
    if (status == QUERN_OK) status = quern_check_workspace(device, workspace, workspace_bytes, 0);
    if (status == QUERN_OK) status = quern_check_stream(device, stream);
    if (status != QUERN_OK) return status;
    const struct quern_ready_kernel *ready;
    status = quern_select(device, &operation, args, &ready);
    if (status != QUERN_OK) return status;
    return device->kind == QUERN_CPU ? run_on_cpu(device, ready, args) : run_on_cuda(device, ready, args, stream);
}

size_t quern_adam_explain(const quern_device *device, const quern_adam_args *args, char *buffer, size_t bytes) {
    if (!device) quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!device || check_all(device, args) != QUERN_OK) return quern_error_detail(buffer, bytes);
    return quern_explain(device, &operation, args, buffer, bytes);
}
