/*
 * A step of Adam on a GPU.  With a plan: one launch, with tables in device memory.  Without, or with other gradients than those of
 * the plan: a launch for each batch of tensors that fits into the parameters of a kernel, where streams and captured graphs keep
 * their own addresses.  Tensors with steps of their own have a launch before, which counts them.  Called by adam.c.
 */
#include "adam/adam.h"

#include "os/integers.h"
#include "runtime/cuda_visit.h"

struct launcher {
    const struct quern_adam_call *call;
    const struct quern_cuda *cuda;
    union {
        struct quern_adam_batch plain;
        struct quern_adam_full_batch full;
    } batch;

    /* The batch that the kernel takes. */
    struct quern_adam_launch *launch;
    struct quern_adam_slice *slices;
    struct quern_adam_extras *extras;  /* NULL: a plain kernel */
    uint32_t *first_tile;
    uint32_t capacity;
};

static struct quern_adam_tensor_step *tensor_steps_of(const struct quern_adam_call *call) {
    return !call->args.steps ? NULL : call->args.plan ? call->args.plan->tensor_steps : call->workspace;
}

static void open_launcher(struct launcher *launcher, const struct quern_adam_call *call, const struct quern_cuda *cuda) {
    const bool is_full = call->ready->kernel->key.adam.full;
    const struct quern_adam_pointers *control = &call->control;
    launcher->call = call;
    launcher->cuda = cuda;
    launcher->launch = is_full ? &launcher->batch.full.launch : &launcher->batch.plain.launch;
    launcher->slices = is_full ? launcher->batch.full.slices : launcher->batch.plain.slices;
    launcher->extras = is_full ? launcher->batch.full.extras : NULL;
    launcher->first_tile = is_full ? launcher->batch.full.first_tile : launcher->batch.plain.first_tile;
    launcher->capacity = is_full ? QUERN_ADAM_FULL_BATCH : QUERN_ADAM_BATCH;
    *launcher->launch = (struct quern_adam_launch){
        .step = call->step,
        .rates = call->rates,
        .control = *control,
        .tensor_steps = tensor_steps_of(call),
        .has_control = control->lr || control->step || control->grad_scale || control->clip || control->found_inf,
    };
}

/* A launch with a ticket runs even if it has no tiles, since it counts the step. */
static CUresult launch(struct launcher *launcher) {
    const struct quern_ready_kernel *ready = launcher->call->ready;
    const int64_t tiles = launcher->launch->tile_count;
    unsigned blocks = tiles < (int64_t)ready->resident ? (unsigned)tiles : ready->resident;
    if (!blocks && !launcher->launch->ticket) return CUDA_SUCCESS;
    if (!blocks) blocks = 1;
    void *parameters[] = {&launcher->batch};
    return launcher->cuda->launch(ready->function, blocks, 1, 1, ready->kernel->cuda.threads, 1, 1, 0, launcher->call->stream,
                                  parameters, NULL);
}

static CUresult run_plan(struct launcher *launcher, const struct quern_adam_plan *plan) {
    launcher->launch->ticket = launcher->call->control.step ? plan->ticket : NULL;
    launcher->launch->tiles = plan->tiles;
    launcher->launch->slices = plan->slices;
    launcher->launch->extras = plan->extras;
    launcher->launch->tensor_count = (uint32_t)plan->marks.places;
    launcher->launch->tile_count = plan->tile_count;
    return launch(launcher);
}

/* Launches the current batch and begins the next one. */
static CUresult flush(struct launcher *launcher) {
    CUresult error = launch(launcher);
    launcher->launch->first_place += launcher->launch->tensor_count;
    launcher->launch->tensor_count = 0;
    launcher->launch->tile_count = 0;
    return error;
}

static CUresult gather(struct launcher *launcher, const quern_adam_tensor *tensor) {
    struct quern_adam_launch *batch = launcher->launch;
    const int64_t tiles = quern_adam_tiles(tensor->count);
    CUresult error = CUDA_SUCCESS;
    if (batch->tensor_count == launcher->capacity || batch->tile_count + tiles > QUERN_ADAM_MAX_TILES) error = flush(launcher);
    launcher->slices[batch->tensor_count] = quern_adam_slice_of(&launcher->call->args, tensor);
    if (launcher->extras) launcher->extras[batch->tensor_count] = quern_adam_extras_of(&launcher->call->args, tensor);
    launcher->first_tile[batch->tensor_count] = (uint32_t)batch->tile_count;
    batch->tensor_count++;
    batch->tile_count += tiles;
    return error;
}

/* The last launch counts the step, with a ticket in the workspace or the one of the plan, which is 0 between calls. */
static CUresult run_list(struct launcher *launcher) {
    const struct quern_adam_call *call = launcher->call;
    const struct quern_adam_plan *plan = call->args.plan;
    const struct quern_adam_list *list = &call->list;
    uint32_t *ticket = !call->control.step ? NULL : plan ? plan->ticket : call->workspace;
    CUresult error = CUDA_SUCCESS;
    quern_adam_tensor room;
    if (ticket && !plan)
        error = launcher->cuda->memory_set_async((CUdeviceptr)(uintptr_t)ticket, 0, sizeof *ticket, call->stream);
    for (int64_t place = 0; place < list->count && error == CUDA_SUCCESS; place++) {
        error = gather(launcher, quern_adam_tensor_at(list, place, &room));
    }
    launcher->launch->ticket = ticket;
    return error == CUDA_SUCCESS ? flush(launcher) : error;
}

static CUresult count_steps(const struct quern_adam_call *call, const struct quern_cuda *cuda) {
    const int64_t threads = call->steps_ready->kernel->cuda.threads;
    struct quern_adam_steps_problem problem = {.rates = call->rates, .control = call->control, .steps = call->args.steps,
                                               .tensor_steps = tensor_steps_of(call), .tensor_count = call->list.count};
    void *parameters[] = {&problem};
    return cuda->launch(call->steps_ready->function, (unsigned)quern_divide_up(call->list.count, threads), 1, 1, (unsigned)threads,
                        1, 1, 0, call->stream, parameters, NULL);
}

quern_status quern_adam_on_cuda(struct quern_adam_call *call) {
    const quern_adam_plan *plan = call->args.plan;
    struct quern_cuda_visit visit;
    struct launcher launcher;
    quern_status status = plan ? QUERN_OK : quern_adam_check_tiles(call->device, &call->list);
    if (status == QUERN_OK) status = quern_cuda_begin_launch(&visit, call->device);
    if (status != QUERN_OK) return status;
    open_launcher(&launcher, call, visit.cuda);
    const struct quern_kernel *kernel = call->steps_ready ? call->steps_ready->kernel : call->ready->kernel;
    CUresult error = call->steps_ready && call->list.count ? count_steps(call, visit.cuda) : CUDA_SUCCESS;
    if (error == CUDA_SUCCESS) {
        kernel = call->ready->kernel;
        error = plan && !call->args.grads ? run_plan(&launcher, plan) : run_list(&launcher);
    }
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, kernel->name);
}
