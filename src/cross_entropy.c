/* quern_cross_entropy: check, select, launch. */
#include <math.h>
#include <string.h>

#include "arguments.h"
#include "dispatch.h"
#include "status.h"
#include "threads.h"

/* What selects a kernel. */
struct request {
    quern_dtype logits;
    enum quern_cross_entropy_stage stage;
    int64_t vocab;
    int64_t shared_bytes;  /* of the device; a row made for a larger sibling may ask for more */
};

/* What a GPU kernel's static shared memory stays below (gen/spec.py counts with the same). */
enum { STATIC_SHARED_BYTES = 1024 };

static bool refused(const struct quern_kernel *kernel, const void *context, struct quern_text *why) {
    const struct request *request = context;
    struct quern_text nobody = quern_text_begin(NULL, 0);
    if (!why) why = &nobody;
    if (kernel->key.cross_entropy.stage != request->stage) {
        quern_text_add(why, "computes another stage");
        return true;
    }
    if (kernel->key.cross_entropy.logits != request->logits) {
        quern_text_add(why, "logits are %s, the request has %s", quern_dtype_name(kernel->key.cross_entropy.logits),
                       quern_dtype_name(request->logits));
        return true;
    }
    int64_t longest = kernel->key.cross_entropy.vocab_max;
    if (request->vocab > longest) {
        quern_text_add(why, "holds a vocab of up to %lld on the chip, the request has %lld", (long long)longest,
                       (long long)request->vocab);
        return true;
    }
    int64_t per_column = kernel->cuda.shared_per_column;
    if (per_column && request->vocab > (request->shared_bytes - STATIC_SHARED_BYTES - kernel->cuda.shared_fixed) / per_column) {
        quern_text_add(why, "keeps a row in shared memory, of which a block has %lld bytes here: too few for a vocab of %lld",
                       (long long)request->shared_bytes, (long long)request->vocab);
        return true;
    }
    return false;
}

static const struct quern_operation operation = {"cross_entropy", QUERN_CROSS_ENTROPY, quern_cross_entropy_kernels, refused};

/* ---- arguments ---- */

static quern_status fill_defaults(const quern_device *device, const quern_cross_entropy_args *args,
                                  quern_cross_entropy_args *filled) {
    quern_status status = quern_check_struct(device, "args", args, sizeof *args);
    if (status != QUERN_OK) return status;
    *filled = *args;
    bool in_place = filled->grad && filled->grad == filled->logits;
    if (!filled->logits_stride) filled->logits_stride = filled->vocab;
    if (!filled->grad_stride) filled->grad_stride = in_place ? filled->logits_stride : filled->vocab;
    if (!filled->grad_dtype) filled->grad_dtype = filled->logits_dtype;
    return QUERN_OK;
}

static quern_status check_dtypes(const quern_device *device, const quern_cross_entropy_args *args) {
    static const quern_dtype floats[] = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_NO_DTYPE};
    static const quern_dtype integers[] = {QUERN_INT32, QUERN_INT64, QUERN_NO_DTYPE};
    quern_status status = quern_check_dtype(device, "args.logits_dtype", args->logits_dtype, floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.labels_dtype", args->labels_dtype, integers, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.grad_dtype", args->grad_dtype, floats, false);
    if (status == QUERN_OK) status = quern_check_choice(device, "args.reduction", (int)args->reduction, QUERN_REDUCTION_MEAN);
    return status;
}

static quern_status check_stride(const quern_device *device, const char *name, int64_t stride, const quern_cross_entropy_args *args,
                                 quern_dtype dtype) {
    if (stride < args->vocab)
        return quern_fail(device, QUERN_INVALID_SHAPE, "%s is %lld: expected at least vocab, %lld", name, (long long)stride,
                          (long long)args->vocab);
    int64_t bytes;
    if (!__builtin_mul_overflow(stride, args->rows, &bytes) &&
        !__builtin_mul_overflow(bytes, (int64_t)quern_dtype_bytes(dtype), &bytes))
        return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "%lld rows at %s %lld are more than 2^63 bytes", (long long)args->rows, name,
                      (long long)stride);
}

static quern_status check_shape(const quern_device *device, const quern_cross_entropy_args *args) {
    quern_status status = quern_check_not_negative(device, "args.rows", args->rows);
    if (status == QUERN_OK) status = quern_check_not_negative(device, "args.vocab", args->vocab);
    if (status != QUERN_OK) return status;
    if (args->rows && !args->vocab)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.vocab is 0 with %lld rows: expected at least 1", (long long)args->rows);
    status = check_stride(device, "args.logits_stride", args->logits_stride, args, args->logits_dtype);
    if (status == QUERN_OK && args->grad)
        status = check_stride(device, "args.grad_stride", args->grad_stride, args, args->grad_dtype);
    return status;
}

/* The gradient either takes the place of the logits exactly or stays clear of them. */
static quern_status check_places(const quern_device *device, const quern_cross_entropy_args *args) {
    if (!args->grad || !args->rows) return QUERN_OK;
    bool in_place = args->grad == args->logits;
    if (in_place && args->grad_dtype != args->logits_dtype)
        return quern_fail(device, QUERN_INVALID_DTYPE, "args.grad_dtype is %s in place of %s logits: expected the same dtype",
                          quern_dtype_name(args->grad_dtype), quern_dtype_name(args->logits_dtype));
    if (args->grad_dtype != args->logits_dtype)
        return quern_fail(device, QUERN_NOT_SUPPORTED, "args.grad_dtype is %s with %s logits: only the logits' dtype is supported",
                          quern_dtype_name(args->grad_dtype), quern_dtype_name(args->logits_dtype));
    if (in_place && args->grad_stride != args->logits_stride)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.grad_stride is %lld in place of logits with stride %lld: expected the same",
                          (long long)args->grad_stride, (long long)args->logits_stride);
    if (in_place) return QUERN_OK;
    int64_t bytes = (int64_t)quern_dtype_bytes(args->logits_dtype);
    uintptr_t logits = (uintptr_t)args->logits, grad = (uintptr_t)args->grad;
    uintptr_t logits_end = logits + (uintptr_t)(((args->rows - 1) * args->logits_stride + args->vocab) * bytes);
    uintptr_t grad_end = grad + (uintptr_t)(((args->rows - 1) * args->grad_stride + args->vocab) * bytes);
    if (grad < logits_end && logits < grad_end)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.grad overlaps args.logits without being equal to it");
    return QUERN_OK;
}

static quern_status check_optional(const quern_device *device, const char *name, const void *pointer, size_t alignment) {
    return pointer ? quern_check_pointer(device, name, pointer, alignment) : QUERN_OK;
}

static quern_status check_pointers(const quern_device *device, const quern_cross_entropy_args *args) {
    const struct {
        const char *name;
        const void *pointer;
        size_t alignment;
        bool needed;
    } pointers[] = {
        {"args.logits", args->logits, quern_dtype_bytes(args->logits_dtype), args->rows > 0},
        {"args.labels", args->labels, quern_dtype_bytes(args->labels_dtype), args->rows > 0},
        {"args.loss", args->loss, sizeof(float), false},
        {"args.grad", args->grad, quern_dtype_bytes(args->grad_dtype), false},
        {"args.grad_loss", args->grad_loss, sizeof(float), false},
        {"args.report", args->report, sizeof(int64_t), false},
    };
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        quern_status status = (pointers[i].needed ? quern_check_pointer : check_optional)(device, pointers[i].name,
                                                                                         pointers[i].pointer, pointers[i].alignment);
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}

static quern_status check_values(const quern_device *device, const quern_cross_entropy_args *args) {
    if (isnan(args->grad_scale)) return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.grad_scale is NaN");
    return QUERN_OK;
}

/* ---- workspace: what a call needs beside its arguments ---- */

struct layout {
    size_t counted_rows;   /* offset of the mean's divisor */
    size_t row_loss;       /* offset of the rows' losses, when they are to be summed */
    size_t scratch;        /* offset of the first worker's scratch (CPU) */
    size_t scratch_bytes;  /* of one worker */
    int64_t workers;
    size_t total;
};

static size_t round_up(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Whether the label stage runs: the mean needs its divisor, the report its counts. */
static bool needs_labels(const quern_cross_entropy_args *args) {
    return args->report || args->reduction == QUERN_REDUCTION_MEAN;
}

static struct layout lay_out(const quern_device *device, const quern_cross_entropy_args *args) {
    struct layout layout = {0};
    if (needs_labels(args)) layout.total += 64;
    layout.row_loss = layout.total;
    if (args->reduction != QUERN_REDUCTION_NONE) layout.total += round_up(sizeof(float) * (size_t)args->rows);
    if (device->kind == QUERN_CPU) {
        layout.workers = args->rows < device->threads ? args->rows : device->threads;
        layout.scratch = layout.total;
        layout.scratch_bytes = round_up((size_t)quern_cross_entropy_scratch_bytes(args->vocab));
        /* The caller's workspace is 16-byte aligned and the scratch is wanted 64-byte aligned. */
        layout.total += (size_t)layout.workers * layout.scratch_bytes + (layout.workers ? 64 : 0);
    }
    return layout;
}

static struct quern_cross_entropy_problem state_problem(const quern_cross_entropy_args *args, const struct layout *layout,
                                                        char *workspace) {
    bool reduced = args->reduction != QUERN_REDUCTION_NONE;
    float *row_loss = reduced ? (float *)(workspace + layout->row_loss) : args->loss;
    return (struct quern_cross_entropy_problem){
        .logits = args->logits,
        .logits_stride = args->logits_stride,
        .grad = args->grad,
        .grad_stride = args->grad_stride,
        .labels = args->labels,
        .labels_are_int64 = args->labels_dtype == QUERN_INT64,
        .ignore_index = args->ignore_index,
        .rows = args->rows,
        .vocab = args->vocab,
        .grad_loss = args->grad_loss,
        .grad_loss_stride = args->grad_loss_stride,
        .grad_scale = args->grad_scale,
        .reduction = (int32_t)args->reduction,
        .row_loss = args->loss ? row_loss : NULL,
        .loss = reduced ? args->loss : NULL,
        .counted_rows = needs_labels(args) ? (int64_t *)(workspace + layout->counted_rows) : NULL,
        .report = args->report,
    };
}

/* ---- CPU ---- */

struct cpu_call {
    const struct quern_cross_entropy_problem *problem;
    quern_cross_entropy_cpu_kernel *kernel;
    char *scratch;
    size_t scratch_bytes;
    int64_t workers;
};

static void count_labels(const struct quern_cross_entropy_problem *problem) {
    quern_cross_entropy_report report = {.first_bad_row = -1};
    for (int64_t row = 0; row < problem->rows; row++) {
        int64_t label = problem->labels_are_int64 ? ((const int64_t *)problem->labels)[row] : ((const int32_t *)problem->labels)[row];
        if (label == problem->ignore_index) {
            report.ignored_rows++;
        } else if (label >= 0 && label < problem->vocab) {
            report.counted_rows++;
        } else {
            if (!report.bad_labels++) report.first_bad_row = row;
        }
    }
    *problem->counted_rows = report.counted_rows;
    if (problem->report) *problem->report = report;
}

static void run_rows(void *context, int64_t worker) {
    const struct cpu_call *call = context;
    int64_t rows = call->problem->rows, share = rows / call->workers, rest = rows % call->workers;
    int64_t first = worker * share + (worker < rest ? worker : rest);
    call->kernel(call->problem, first, first + share + (worker < rest), call->scratch + (size_t)worker * call->scratch_bytes);
}

/* In the order of the rows, so that the sum does not depend on the threads. */
static void reduce_losses(const struct quern_cross_entropy_problem *problem) {
    double sum = 0;
    for (int64_t row = 0; row < problem->rows; row++) sum += problem->row_loss[row];
    if (problem->reduction == QUERN_REDUCTION_MEAN) sum = *problem->counted_rows ? sum / (double)*problem->counted_rows : 0;
    *problem->loss = (float)sum;
}

static quern_status run_on_cpu(quern_device *device, const struct quern_ready_kernel *rows,
                               const struct quern_cross_entropy_problem *problem, const struct layout *layout, char *workspace) {
    struct cpu_call call = {
        .problem = problem,
        .kernel = rows->kernel->cpu.cross_entropy,
        .scratch = (char *)round_up((size_t)workspace + layout->scratch),
        .scratch_bytes = layout->scratch_bytes,
        .workers = layout->workers,
    };
    if (problem->counted_rows) count_labels(problem);
    quern_run_tasks(device, layout->workers, run_rows, &call);
    if (problem->loss) reduce_losses(problem);
    return QUERN_OK;
}

/* ---- CUDA ---- */

enum { MAX_BLOCKS = 0x7fffffff };  /* the grid's first dimension; a kernel strides over what is left */

static CUresult launch(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready, int64_t blocks,
                       struct quern_cross_entropy_problem *problem, CUstream stream) {
    const struct quern_kernel *kernel = ready->kernel;
    void *parameters[] = {problem};
    size_t shared = (size_t)kernel->cuda.shared_per_column * (size_t)problem->vocab + kernel->cuda.shared_fixed;
    return cuda->launch(ready->function, (unsigned)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS), 1, 1, kernel->cuda.threads, 1, 1,
                        (unsigned)shared, stream, parameters, NULL);
}

struct stages {
    const struct quern_ready_kernel *rows, *labels, *reduce;
};

/* All stages are found before the first is launched: a missing one must not leave half an answer. */
static quern_status select_stages(quern_device *device, const struct request *rows, const struct quern_cross_entropy_problem *problem,
                                  struct stages *stages) {
    struct request labels = {.stage = QUERN_STAGE_LABELS, .vocab = rows->vocab};
    struct request reduce = {.stage = QUERN_STAGE_REDUCE, .vocab = rows->vocab};
    quern_status status = quern_select(device, &operation, &labels, &stages->labels);
    if (status == QUERN_OK && problem->loss) status = quern_select(device, &operation, &reduce, &stages->reduce);
    return status;
}

static quern_status run_on_cuda(quern_device *device, const struct request *request, const struct quern_ready_kernel *rows,
                                struct quern_cross_entropy_problem *problem, CUstream stream) {
    struct stages stages = {.rows = rows};
    const struct quern_cuda *cuda;
    quern_status status = select_stages(device, request, problem, &stages);
    if (status == QUERN_OK) status = quern_cuda_open(&cuda);
    if (status != QUERN_OK) return status;
    CUresult error = cuda->context_push(device->context);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(device, error, "cuCtxPushCurrent");
    if (problem->counted_rows) error = launch(cuda, stages.labels, 1, problem, stream);
    if (error == CUDA_SUCCESS && problem->rows) error = launch(cuda, stages.rows, problem->rows, problem, stream);
    if (error == CUDA_SUCCESS && problem->loss) error = launch(cuda, stages.reduce, 1, problem, stream);
    CUcontext popped;
    cuda->context_pop(&popped);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, rows->kernel->name);
}

/* ---- the public functions ---- */

static quern_status check_all(const quern_device *device, const quern_cross_entropy_args *given, quern_cross_entropy_args *args) {
    quern_status status = fill_defaults(device, given, args);
    if (status == QUERN_OK) status = check_dtypes(device, args);
    if (status == QUERN_OK) status = check_shape(device, args);
    if (status == QUERN_OK) status = check_places(device, args);
    if (status == QUERN_OK) status = check_values(device, args);
    return status;
}

static struct request state_request(const quern_device *device, const quern_cross_entropy_args *args) {
    return (struct request){args->logits_dtype, QUERN_STAGE_ROWS, args->vocab, device->shared_bytes};
}

quern_status quern_cross_entropy_workspace(const quern_device *device, const quern_cross_entropy_args *given, size_t *bytes) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_cross_entropy_args args;
    quern_status status = check_all(device, given, &args);
    if (status == QUERN_OK) *bytes = lay_out(device, &args).total;
    return status;
}

quern_status quern_cross_entropy(quern_device *device, const quern_cross_entropy_args *given, void *workspace, size_t workspace_bytes,
                                 void *stream) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_cross_entropy_args args;
    quern_status status = check_all(device, given, &args);
    if (status == QUERN_OK) status = check_pointers(device, &args);
    if (status != QUERN_OK) return status;
    struct layout layout = lay_out(device, &args);
    status = quern_check_workspace(device, workspace, workspace_bytes, layout.total);
    if (status == QUERN_OK) status = quern_check_stream(device, stream);
    if (status != QUERN_OK) return status;

    struct request request = state_request(device, &args);
    struct quern_cross_entropy_problem problem = state_problem(&args, &layout, workspace);
    const struct quern_ready_kernel *rows;
    status = quern_select(device, &operation, &request, &rows);
    if (status != QUERN_OK) return status;
    if (device->kind == QUERN_CPU) return run_on_cpu(device, rows, &problem, &layout, workspace);
    return run_on_cuda(device, &request, rows, &problem, stream);
}

size_t quern_cross_entropy_explain(const quern_device *device, const quern_cross_entropy_args *given, char *buffer, size_t bytes) {
    quern_cross_entropy_args args;
    if (!device) quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!device || check_all(device, given, &args) != QUERN_OK) return quern_error_detail(buffer, bytes);
    struct request request = state_request(device, &args);
    return quern_explain(device, &operation, &request, buffer, bytes);
}
