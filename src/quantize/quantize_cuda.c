/* Launches a quantisation on a GPU.  Called by quantize.c. */
#include "quantize/quantize.h"

#include "kernels/quantize_scale.h"
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
        .in_blocks = call->form.in_blocks,
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

/* What the launches of a call do: each is a kernel that takes tensors or matrices, with the amaxes first. */
struct step {
    const struct quern_ready_kernel *kernel;
    bool takes_matrices;
};

/* At most two.  With a history the cast finds the amaxes, behind a launch that finds the scales. */
static int steps_of(const struct quern_quantize_call *call, struct step *steps) {
    int count = 0;
    if (call->amax && !(call->cast && call->args.history)) steps[count++] = (struct step){call->amax, false};
    if (call->cast) steps[count++] = (struct step){call->cast, call->form.has_matrices};
    return count;
}

static CUresult launch_plan(const struct quern_quantize_call *call, const struct quern_cuda *cuda, const struct step *step,
                            struct quern_quantize_batch *batch) {
    const struct quern_quantize_tables *tables = &call->args.plan->tables;
    batch->tiles = step->takes_matrices ? tables->matrix_tiles : tables->tiles;
    batch->tile_count = step->takes_matrices ? tables->matrix_tile_count : tables->tile_count;
    batch->slices = tables->slices, batch->matrices_of_plan = tables->matrices;
    return batch->tile_count ? launch(call, cuda, step->kernel, batch) : CUDA_SUCCESS;
}

/* ---- lists ---- */

static int64_t put_tensor(const struct quern_quantize_call *call, int64_t place, struct quern_quantize_batch *batch) {
    const quern_quantize_tensor tensor = quern_quantize_tensor_at(&call->list, place);
    batch->tensors[batch->tensor_count] = (struct quern_quantize_slice){tensor.input, tensor.output, tensor.count};
    return quern_quantize_tiles(tensor.count);
}

static int64_t put_matrix(const struct quern_quantize_call *call, int64_t place, struct quern_quantize_batch *batch) {
    const quern_quantize_tensor tensor = quern_quantize_tensor_at(&call->list, place);
    struct quern_quantize_matrix *matrix = &batch->matrices[batch->tensor_count];
    *matrix = quern_quantize_matrix_of(&tensor, call->form.in_blocks);
    return quern_quantize_matrix_tiles(matrix);
}

/* Fills a batch from a place of the list on and returns the place behind it. */
static int64_t fill(const struct quern_quantize_call *call, int64_t place, bool takes_matrices,
                    struct quern_quantize_batch *batch) {
    const uint32_t most = takes_matrices ? QUERN_QUANTIZE_MATRICES : QUERN_QUANTIZE_BATCH;
    batch->first_place = (uint32_t)place, batch->tensor_count = 0, batch->tile_count = 0;
    for (; place < call->count && batch->tensor_count < most; place++) {
        const int64_t tiles = (takes_matrices ? put_matrix : put_tensor)(call, place, batch);
        if (batch->tile_count + tiles > QUERN_LIST_MAX_TILES) break;
        batch->first_tile[batch->tensor_count++] = (uint32_t)batch->tile_count;
        batch->tile_count += tiles;
    }
    return place;
}

/* The steps of one batch follow each other, as long as they take the same tensors: the cast then finds its inputs in the cache. */
static CUresult launch_list(const struct quern_quantize_call *call, const struct quern_cuda *cuda, const struct step *steps,
                            int step_count, struct quern_quantize_batch *batch) {
    CUresult error = CUDA_SUCCESS;
    for (int64_t place = 0; place < call->count && error == CUDA_SUCCESS;) {
        place = fill(call, place, steps[0].takes_matrices, batch);
        for (int i = 0; i < step_count && error == CUDA_SUCCESS; i++) error = launch(call, cuda, steps[i].kernel, batch);
    }
    return error;
}

/* The states of a list are in the workspace, which may hold anything before. */
static CUresult clear_states(const struct quern_quantize_call *call, const struct quern_cuda *cuda) {
    if (call->args.plan || !call->amax || !call->count) return CUDA_SUCCESS;
    return cuda->memory_set_async((CUdeviceptr)(uintptr_t)call->states, 0, (size_t)call->count * sizeof *call->states,
                                  call->stream);
}

/* The scales of the whole list by its history.  A block for each tensor, though only a warp of it has work. */
static CUresult launch_history(const struct quern_quantize_call *call, const struct quern_cuda *cuda,
                               struct quern_quantize_batch *batch) {
    if (!(call->cast && call->args.history && call->count)) return CUDA_SUCCESS;
    batch->prepares = 1;
    batch->code_limit = quern_quantize_largest(call->args.output_dtype);
    batch->tile_count = call->count;
    const CUresult error = launch(call, cuda, call->amax, batch);
    batch->prepares = 0;
    return error;
}

static CUresult launch_all(const struct quern_quantize_call *call, const struct quern_cuda *cuda) {
    struct quern_quantize_batch batch = batch_of(call);
    struct step steps[2];
    const int count = steps_of(call, steps);
    const bool together = !call->args.plan && steps[0].takes_matrices == steps[count - 1].takes_matrices;
    CUresult error = clear_states(call, cuda);
    if (error == CUDA_SUCCESS) error = launch_history(call, cuda, &batch);
    if (together) return error == CUDA_SUCCESS ? launch_list(call, cuda, steps, count, &batch) : error;
    for (int i = 0; i < count && error == CUDA_SUCCESS; i++)
        error = call->args.plan ? launch_plan(call, cuda, &steps[i], &batch) : launch_list(call, cuda, &steps[i], 1, &batch);
    return error;
}

quern_status quern_quantize_on_cuda(struct quern_quantize_call *call) {
    const struct quern_ready_kernel *named = call->cast ? call->cast : call->amax;
    struct quern_cuda_visit visit;
    quern_status status = quern_cuda_begin_launch(&visit, call->device);
    if (status != QUERN_OK) return status;
    const CUresult error = launch_all(call, visit.cuda);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, named->kernel->name);
}
