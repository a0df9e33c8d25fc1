/* quern_accumulate, a public function: adds gradients to their sums, or overwrites the sums. */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "../generated/arguments.h"
#include "adam/adam.h"
#include "runtime/arguments.h"
#include "runtime/cuda_visit.h"
#include "runtime/look.h"
#include "runtime/status.h"

struct call {
    quern_device *device;
    quern_accumulate_args args;
    struct quern_gradient_list list;
    const struct quern_ready_kernel *ready;
    CUstream stream;
};

/* ---- arguments ---- */

static quern_status check_numbers(const quern_device *device, const quern_accumulate_args *args) {
    if (!(fabs(args->scale) <= FLT_MAX))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.scale is %g: expected -3.4e38 to 3.4e38, the range of fp32",
                          args->scale);
    quern_status status = QUERN_OK;
    if (!args->overwrite_flags) status = quern_check_choice(device, "args.overwrite", args->overwrite, 1);
    if (status == QUERN_OK)
        status = quern_check_optional(device, "args.overwrite_flags", args->overwrite_flags, sizeof *args->overwrite_flags);
    if (status == QUERN_OK) status = quern_check_optional(device, "args.token_counts", args->token_counts, sizeof(int64_t));
    return status;
}

/* The list of a plan is apart already. */
static quern_status check_apart(const struct call *call) {
    const quern_accumulate_args *args = &call->args;
    const quern_accumulate_plan *plan = args->plan;
    const struct quern_gradient_access access = quern_accumulate_access(args);
    const int64_t groups = !args->token_counts ? 0 : plan ? plan->args.group_count : args->group_count;  /* else unchecked */
    const int64_t places = groups && !plan ? call->list.count : 0;
    const struct quern_range others[] = {
        quern_range_of("args.overwrite_flags", args->overwrite_flags, call->list.count * (int64_t)sizeof(int32_t), QUERN_READ),
        quern_range_of("args.token_counts", args->token_counts, groups * (int64_t)sizeof(int64_t), QUERN_READ),
        quern_range_of("args.token_places", args->token_places, places * (int64_t)sizeof(int32_t), QUERN_READ),
    };
    const int count = sizeof others / sizeof *others;
    if (plan && !args->grads) return quern_check_against_pieces(call->device, &plan->pieces, others, count);
    return quern_gradient_check_apart(call->device, &call->list, &access, others, count);
}

static quern_status check_plan(struct call *call) {
    const quern_accumulate_args *args = &call->args;
    const struct quern_gradient_access access = quern_accumulate_access(args);
    quern_status status = quern_accumulate_check_plan(call->device, args);
    if (status == QUERN_OK) status = quern_adam_check_grads(call->device, args->grads, args->plan);
    if (status != QUERN_OK) return status;
    call->list = args->plan->list;
    call->list.grads = args->grads;
    return args->grads ? quern_gradient_check_each(call->device, &call->list, &access) : QUERN_OK;
}

static quern_status check_list(struct call *call) {
    const quern_accumulate_args *args = &call->args;
    quern_status status = quern_accumulate_check_list(call->device, args, args->token_counts, &call->list);
    return status == QUERN_OK ? quern_adam_check_grads(call->device, args->grads, NULL) : status;
}

static quern_status check(struct call *call, const quern_accumulate_args *given) {
    quern_accumulate_args *args = &call->args;
    quern_status status = quern_accumulate_take(call->device, given, args);
    if (status != QUERN_OK) return status;
    status = args->plan ? check_plan(call) : check_list(call);
    if (status == QUERN_OK) status = check_numbers(call->device, args);
    return status == QUERN_OK ? check_apart(call) : status;
}

/* ---- CPU ---- */

static bool overwrites(const quern_accumulate_args *args, int64_t place) {
    return args->overwrite_flags ? args->overwrite_flags[place] != 0 : args->overwrite != 0;
}

static bool has_tokens(const quern_accumulate_args *args, int64_t group) {
    return !args->token_counts || group < 0 || args->token_counts[group] > 0;
}

static void add(void *context, int64_t place, int64_t piece, int64_t first, int64_t count) {
    const struct call *call = context;
    const struct quern_gradient_slice slice = quern_gradient_at(&call->list, place);
    const size_t main_bytes = quern_dtype_bytes(call->args.main_dtype);
    char *grad = (char *)slice.grad + (size_t)first * quern_dtype_bytes(call->args.grad_dtype);
    char *main_grad = (char *)slice.main_grad + (size_t)first * main_bytes;
    const bool overwrite = overwrites(&call->args, place);
    (void)piece;
    if (has_tokens(&call->args, slice.group))
        call->ready->kernel->cpu.gradient_accumulate(main_grad, grad, count, (float)call->args.scale, overwrite,
                                                     call->args.zero_grads);
    else if (overwrite)
        memset(main_grad, 0, (size_t)count * main_bytes);
}

static quern_status run_on_cpu(struct call *call) {
    quern_gradient_visit_all(call->device, &call->list, add, call);
    return QUERN_OK;
}

/* ---- CUDA ---- */

static CUresult launch(const struct call *call, const struct quern_cuda *cuda) {
    const quern_accumulate_args *args = &call->args;
    struct quern_gradient_batch batch = {
        .overwrite_flags = args->overwrite_flags,
        .token_counts = args->token_counts,
        .scale = (float)args->scale,
        .zero_grads = args->zero_grads,
        .overwrite = args->overwrite,
    };
    if (!args->plan || args->grads) return quern_gradient_launch(cuda, call->ready, &call->list, &batch, call->stream);
    batch.tiles = args->plan->tables.tiles, batch.sums = args->plan->tables.slices;
    batch.tile_count = args->plan->tables.tile_count;
    return quern_gradient_launch_tiles(cuda, call->ready, &batch, call->stream);
}

static quern_status run_on_cuda(struct call *call) {
    struct quern_cuda_visit visit;
    quern_status status = quern_cuda_begin_launch(&visit, call->device);
    if (status != QUERN_OK) return status;
    CUresult error = launch(call, visit.cuda);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, call->ready->kernel->name);
}

/* ---- the public function ---- */

static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct call *call = context;
    const quern_accumulate_args *args = &call->args;
    const struct quern_gradient_access access = quern_accumulate_access(args);
    const int64_t groups = args->plan ? args->plan->args.group_count : args->group_count;
    quern_gradient_show(&call->list, &access, taker);
    quern_show_vector(taker, "overwrite_flags", args->overwrite_flags, quern_int32_element, call->list.count, QUERN_TENSOR_IN);
    quern_show_vector(taker, "token_counts", args->token_counts, quern_int64_element, groups, QUERN_TENSOR_IN);
}

static const struct quern_view view = {.name = "accumulate", QUERN_ARGUMENTS(quern_accumulate_args), .tensors = show};

static quern_status run(struct call *call, const quern_accumulate_args *args, struct quern_look *look) {
    quern_status status = check(call, args);
    if (status == QUERN_OK) status = quern_check_stream(call->device, call->stream);
    if (status == QUERN_OK)
        status = quern_gradient_select(call->device, QUERN_GRADIENT_ACCUMULATE, call->args.grad_dtype, call->args.main_dtype,
                                       &call->ready);
    if (status != QUERN_OK) return status;
    quern_show_call(look, &call->args, call);
    return call->device->kind == QUERN_CPU ? run_on_cpu(call) : run_on_cuda(call);
}

/* The engine's rounding mode must not change the scale. */
quern_status quern_accumulate(quern_device *device, const quern_accumulate_args *args, void *stream) {
    struct call call = {.device = device, .stream = stream};
    struct quern_look look;
    fenv_t environment;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_begin_look(&look, &view, device, stream);
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    const quern_status status = run(&call, args, &look);
    fesetenv(&environment);
    return quern_end_look(&look, status);
}
