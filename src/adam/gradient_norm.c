/* quern_gradient_norm, a public function: sums the squares of each piece in the workspace, then the pieces in order. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "../generated/arguments.h"
#include "adam/adam.h"
#include "kernels/gradient_norm_finish.h"
#include "os/integers.h"
#include "runtime/arguments.h"
#include "runtime/cuda_visit.h"
#include "runtime/look.h"
#include "runtime/status.h"

struct call {
    quern_device *device;
    quern_gradient_norm_args args;
    struct quern_gradient_list list;
    const struct quern_ready_kernel *ready;
    struct quern_gradient_norm_problem problem;
    double *squares;                   /* [problem.square_count]: the workspace; on a GPU the totals of their parts follow */
    CUstream stream;
};

/* ---- arguments ---- */

/* The first header's struct ended before grads. */
enum { OLDEST_ARGS = offsetof(quern_gradient_norm_args, grads) };

static quern_status check_numbers(const quern_device *device, const quern_gradient_norm_args *args) {
    if (!(args->max_norm >= 0) || !isfinite(args->max_norm))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.max_norm is %g: expected a finite number, 0 or more",
                          args->max_norm);
    if (!args->grad_scale_pointer && (!(args->grad_scale >= 0) || !isfinite(args->grad_scale)))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.grad_scale is %g: expected a finite number above 0, or 0 for 1",
                          args->grad_scale);
    quern_status status = quern_check_optional(device, "args.grad_scale_pointer", args->grad_scale_pointer, sizeof(float));
    if (status == QUERN_OK) status = quern_check_optional(device, "args.norm", args->norm, sizeof(float));
    if (status == QUERN_OK) status = quern_check_optional(device, "args.clip", args->clip, sizeof(float));
    if (status == QUERN_OK) status = quern_check_optional(device, "args.found_inf", args->found_inf, sizeof(float));
    return status;
}

/* The sums that the workspace holds: one for each tile on a GPU, for each chunk on a CPU. */
static void count_squares(struct call *call) {
    call->problem.square_count =
        quern_gradient_pieces(&call->list, call->device->kind == QUERN_CUDA ? QUERN_LIST_TILE : QUERN_GRADIENT_CHUNK);
}

static quern_status check(struct call *call, const quern_gradient_norm_args *given) {
    quern_gradient_norm_args *args = &call->args;
    quern_status status = quern_check_grown_struct(call->device, "args", given, OLDEST_ARGS, sizeof *args);
    if (status != QUERN_OK) return status;
    memcpy(args, given, quern_struct_bytes(given->size));
    call->list = (struct quern_gradient_list){
        .gradients = args->gradients,
        .plan = args->plan,
        .count = args->plan ? args->plan->marks.places : args->gradient_count,
        .grads = args->grads,
    };
    status = quern_gradient_check_list(call->device, args->gradient_size, args->grad_dtype, &call->list);
    if (status == QUERN_OK) status = quern_adam_check_grads(call->device, args->grads, args->plan);
    const struct quern_gradient_access access = {.grad_dtype = args->grad_dtype};
    if (status == QUERN_OK) status = check_numbers(call->device, args);
    if (status == QUERN_OK) status = quern_gradient_check_each(call->device, &call->list, &access);
    if (status == QUERN_OK) count_squares(call);
    return status;
}

/* ---- CPU ---- */

static void sum(void *context, int64_t place, int64_t piece, int64_t first, int64_t count) {
    const struct call *call = context;
    const char *grad = quern_gradient_at(&call->list, place).grad;
    const size_t bytes = quern_dtype_bytes(call->args.grad_dtype);
    call->squares[piece] = call->ready->kernel->cpu.gradient_norm(grad + (size_t)first * bytes, count);
}

static void finish(const struct call *call) {
    double squares = 0;
    for (int64_t i = 0; i < call->problem.square_count; i++) squares += call->squares[i];
    quern_gradient_norm_finish(&call->problem, squares);
}

/* The bits must not depend on the engine's rounding mode. */
static quern_status run_on_cpu(struct call *call) {
    fenv_t environment;
    quern_gradient_visit_all(call->device, &call->list, sum, call);
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    finish(call);
    fesetenv(&environment);
    return QUERN_OK;
}

/* ---- CUDA ---- */

static int64_t parts_of(int64_t square_count) {
    return quern_divide_up(square_count, QUERN_GRADIENT_NORM_PART);
}

/* One block writes the norm; several write totals.  The sums of 2^31 parts would fill 32 TB. */
static CUresult launch_combine(const struct quern_cuda *cuda, const struct quern_ready_kernel *combine, int64_t blocks,
                               struct quern_gradient_norm_problem *problem, double *totals, CUstream stream) {
    void *parameters[] = {problem, &totals};
    return cuda->launch(combine->function, (unsigned)blocks, 1, 1, combine->kernel->cuda.threads, 1, 1, 0, stream, parameters,
                        NULL);
}

/* Many sums are first added up to totals of their parts. */
static CUresult combine_sums(const struct quern_cuda *cuda, const struct quern_ready_kernel *combine, const struct call *call) {
    struct quern_gradient_norm_problem problem = call->problem;
    const int64_t parts = parts_of(problem.square_count);
    CUresult error = CUDA_SUCCESS;
    if (parts > 1) {
        double *totals = call->squares + problem.square_count;
        error = launch_combine(cuda, combine, parts, &problem, totals, call->stream);
        problem.squares = totals;
        problem.square_count = parts;
    }
    return error == CUDA_SUCCESS ? launch_combine(cuda, combine, 1, &problem, NULL, call->stream) : error;
}

static CUresult launch_sums(const struct call *call, const struct quern_cuda *cuda, struct quern_gradient_batch *batch) {
    const quern_adam_plan *plan = call->list.plan;
    if (!plan || call->list.grads) return quern_gradient_launch(cuda, call->ready, &call->list, batch, call->stream);
    batch->tiles = plan->tiles, batch->slices = plan->slices, batch->tile_count = plan->tile_count;
    return quern_gradient_launch_tiles(cuda, call->ready, batch, call->stream);
}

static quern_status run_on_cuda(struct call *call) {
    const struct quern_ready_kernel *combine;
    struct quern_cuda_visit visit;
    quern_status status = quern_gradient_select(call->device, QUERN_GRADIENT_NORM_COMBINE, QUERN_NO_DTYPE, QUERN_NO_DTYPE,
                                                &combine);
    if (status == QUERN_OK) status = quern_cuda_begin_launch(&visit, call->device);
    if (status != QUERN_OK) return status;
    struct quern_gradient_batch batch = {.squares = call->squares};
    CUresult error = launch_sums(call, visit.cuda, &batch);
    if (error == CUDA_SUCCESS) error = combine_sums(visit.cuda, combine, call);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, call->ready->kernel->name);
}

/* ---- the public functions ---- */

static size_t needs(const struct call *call) {
    const int64_t squares = call->problem.square_count;
    const int64_t parts = call->device->kind == QUERN_CUDA ? parts_of(squares) : 0;
    return (size_t)(squares + parts) * sizeof *call->squares;
}

static quern_status check_apart(const struct call *call, const void *workspace) {
    const quern_gradient_norm_args *args = &call->args;
    const struct quern_gradient_access access = {.grad_dtype = args->grad_dtype};
    const struct quern_range others[] = {
        quern_range_of("args.grad_scale_pointer", args->grad_scale_pointer, sizeof *args->grad_scale_pointer, QUERN_READ),
        quern_range_of("args.norm", args->norm, sizeof *args->norm, QUERN_WRITTEN),
        quern_range_of("args.clip", args->clip, sizeof *args->clip, QUERN_WRITTEN),
        quern_range_of("args.found_inf", args->found_inf, sizeof *args->found_inf, QUERN_WRITTEN),
        quern_range_of("workspace", workspace, (int64_t)needs(call), QUERN_WRITTEN),
    };
    return quern_gradient_check_apart(call->device, &call->list, &access, others, sizeof others / sizeof *others);
}

quern_status quern_gradient_norm_workspace(const quern_device *device, const quern_gradient_norm_args *args, size_t *bytes) {
    struct call call = {.device = (quern_device *)device};
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_status status = check(&call, args);
    if (status == QUERN_OK) *bytes = needs(&call);
    return status;
}

static void fill(struct call *call, void *workspace, void *stream) {
    const quern_gradient_norm_args *args = &call->args;
    call->squares = workspace;
    call->stream = stream;
    call->problem.squares = workspace;
    call->problem.max_norm = args->max_norm;
    call->problem.grad_scale = args->grad_scale != 0 ? args->grad_scale : 1;
    call->problem.grad_scale_pointer = args->grad_scale_pointer;
    call->problem.norm = args->norm;
    call->problem.clip = args->clip;
    call->problem.found_inf = args->found_inf;
}

static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct call *call = context;
    const quern_gradient_norm_args *args = &call->args;
    const struct quern_gradient_access access = {.grad_dtype = args->grad_dtype};
    quern_gradient_show(&call->list, &access, taker);
    quern_show_vector(taker, "grad_scale_pointer", args->grad_scale_pointer, quern_float_element, 1, QUERN_TENSOR_IN);
    quern_show_vector(taker, "norm", args->norm, quern_float_element, 1, QUERN_TENSOR_OUT);
    quern_show_vector(taker, "clip", args->clip, quern_float_element, 1, QUERN_TENSOR_OUT);
    quern_show_vector(taker, "found_inf", args->found_inf, quern_float_element, 1, QUERN_TENSOR_BOTH);
}

static const struct quern_view view = {.name = "gradient_norm", QUERN_ARGUMENTS(quern_gradient_norm_args), .tensors = show};

static quern_status run(struct call *call, const quern_gradient_norm_args *args, void *workspace, size_t workspace_bytes,
                        void *stream, struct quern_look *look) {
    quern_status status = check(call, args);
    if (status == QUERN_OK) status = quern_check_workspace(call->device, workspace, workspace_bytes, needs(call));
    if (status == QUERN_OK) status = check_apart(call, workspace);
    if (status == QUERN_OK) status = quern_check_stream(call->device, stream);
    if (status == QUERN_OK)
        status = quern_gradient_select(call->device, QUERN_GRADIENT_NORM, args->grad_dtype, QUERN_NO_DTYPE, &call->ready);
    if (status != QUERN_OK) return status;
    fill(call, workspace, stream);
    quern_show_call(look, &call->args, call);
    return call->device->kind == QUERN_CPU ? run_on_cpu(call) : run_on_cuda(call);
}

quern_status quern_gradient_norm(quern_device *device, const quern_gradient_norm_args *args,
                                 void *workspace, size_t workspace_bytes, void *stream) {
    struct call call = {.device = device};
    struct quern_look look;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_begin_look(&look, &view, device, stream);
    return quern_end_look(&look, run(&call, args, workspace, workspace_bytes, stream, &look));
}
