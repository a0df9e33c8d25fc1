/* Launches a quantisation on a GPU.  Called by quantize.c. */
#include "quantize/quantize_cuda.h"

#include "runtime/cuda_visit.h"

static struct quern_quantize_batch batch_of(const struct quern_quantize_call *call) {
    const quern_quantize_args *args = &call->args;
    const bool casts = call->steps & QUERN_QUANTIZE_CASTS;
    return (struct quern_quantize_batch){
        .states = call->states,
        .amax = args->amax,
        .scale = casts ? args->scale : NULL,
        .scale_inv = casts ? args->scale_inv : NULL,
        .noop = args->noop,
        .offset_pointer = args->offset_pointer,
        .history = args->history,
        .history_length = args->history_length,
        .list_count = call->count,
        .eps = (float)args->eps,
        .power_of_two = args->power_of_two,
        .stochastic = args->rounding == QUERN_ROUND_STOCHASTIC,
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
        .offset = (uint32_t)args->offset,
    };
}

static CUresult launch(const struct quern_quantize_call *call, const struct quern_cuda *cuda,
                       const struct quern_ready_kernel *ready, struct quern_quantize_batch *batch) {
    void *parameters[] = {batch};
    const int64_t tiles = batch->tile_count;
    const unsigned blocks = tiles < (int64_t)ready->resident ? (unsigned)tiles : ready->resident;
    return cuda->launch(ready->function, blocks, 1, 1, ready->kernel->cuda.threads, 1, 1, 0, call->stream, parameters, NULL);
}

/* The tensors of a batch: first their amaxes, then the cast.  With a history one launch does both. */
static CUresult launch_steps(const struct quern_quantize_call *call, const struct quern_cuda *cuda,
                             struct quern_quantize_batch *batch) {
    CUresult error = CUDA_SUCCESS;
    if (!batch->tile_count) return error;
    if (call->amax && !batch->history) error = launch(call, cuda, call->amax, batch);
    if (call->cast && error == CUDA_SUCCESS) error = launch(call, cuda, call->cast, batch);
    return error;
}

static CUresult launch_plan(const struct quern_quantize_call *call, const struct quern_cuda *cuda,
                            struct quern_quantize_batch *batch) {
    const struct quern_quantize_tables *tables = &call->args.plan->tables;
    batch->tiles = tables->tiles, batch->slices = tables->slices, batch->tile_count = tables->tile_count;
    return launch_steps(call, cuda, batch);
}

/* Launches the current batch and begins the next one. */
static CUresult flush(const struct quern_quantize_call *call, const struct quern_cuda *cuda, struct quern_quantize_batch *batch) {
    const CUresult error = launch_steps(call, cuda, batch);
    batch->first_place += batch->tensor_count;
    batch->tensor_count = 0;
    batch->tile_count = 0;
    return error;
}

static CUresult launch_list(const struct quern_quantize_call *call, const struct quern_cuda *cuda,
                            struct quern_quantize_batch *batch) {
    CUresult error = CUDA_SUCCESS;
    for (int64_t place = 0; place < call->count && error == CUDA_SUCCESS; place++) {
        const quern_quantize_tensor *tensor = &call->tensors[place];
        const int64_t tiles = quern_quantize_tiles(tensor->count);
        if (batch->tensor_count == QUERN_QUANTIZE_BATCH || batch->tile_count + tiles > QUERN_QUANTIZE_MAX_TILES)
            error = flush(call, cuda, batch);
        batch->tensors[batch->tensor_count] = (struct quern_quantize_slice){tensor->input, tensor->output, tensor->count};
        batch->first_tile[batch->tensor_count] = (uint32_t)batch->tile_count;
        batch->tensor_count++;
        batch->tile_count += tiles;
    }
    return error == CUDA_SUCCESS ? flush(call, cuda, batch) : error;
}

/* The states of a list are in the workspace, which may hold anything before. */
static CUresult clear_states(const struct quern_quantize_call *call, const struct quern_cuda *cuda) {
    if (call->args.plan || !call->amax || !call->count) return CUDA_SUCCESS;
    return cuda->memory_set_async((CUdeviceptr)(uintptr_t)call->states, 0, (size_t)call->count * sizeof *call->states,
                                  call->stream);
}

quern_status quern_quantize_on_cuda(struct quern_quantize_call *call) {
    const struct quern_ready_kernel *named = call->cast ? call->cast : call->amax;
    struct quern_quantize_batch batch = batch_of(call);
    struct quern_cuda_visit visit;
    quern_status status = quern_cuda_begin_launch(&visit, call->device);
    if (status != QUERN_OK) return status;
    CUresult error = clear_states(call, visit.cuda);
    if (error == CUDA_SUCCESS)
        error = call->args.plan ? launch_plan(call, visit.cuda, &batch) : launch_list(call, visit.cuda, &batch);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, named->kernel->name);
}
