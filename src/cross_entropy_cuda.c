/* Cross-entropy on a GPU: the launches of its stages. */
#include "cross_entropy.h"
#include "status.h"

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
static quern_status select_stages(const struct quern_cross_entropy_call *call, struct stages *stages) {
    quern_status status = quern_cross_entropy_select(call, QUERN_STAGE_ROWS, &stages->rows);
    if (status == QUERN_OK) status = quern_cross_entropy_select(call, QUERN_STAGE_LABELS, &stages->labels);
    if (status == QUERN_OK && call->problem.loss) status = quern_cross_entropy_select(call, QUERN_STAGE_REDUCE, &stages->reduce);
    return status;
}

quern_status quern_cross_entropy_on_cuda(struct quern_cross_entropy_call *call) {
    struct stages stages = {NULL, NULL, NULL};
    struct quern_cross_entropy_problem *problem = &call->problem;
    CUstream stream = call->stream;
    const struct quern_cuda *cuda;
    if (call->step != QUERN_STEP_WHOLE) return quern_fail(call->device, QUERN_NOT_SUPPORTED, "to be written");
    quern_status status = select_stages(call, &stages);
    if (status == QUERN_OK) status = quern_cuda_open(&cuda);
    if (status != QUERN_OK) return status;
    CUresult error = cuda->context_push(call->device->context);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(call->device, error, "cuCtxPushCurrent");
    if (problem->divisor || problem->report) error = launch(cuda, stages.labels, 1, problem, stream);
    if (error == CUDA_SUCCESS && problem->rows) error = launch(cuda, stages.rows, problem->rows, problem, stream);
    if (error == CUDA_SUCCESS && problem->loss) error = launch(cuda, stages.reduce, 1, problem, stream);
    CUcontext popped;
    cuda->context_pop(&popped);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(call->device, error, stages.rows->kernel->name);
}
