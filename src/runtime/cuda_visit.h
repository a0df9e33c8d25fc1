/*
 * Using the driver beside the engine's own work: with a context current and popped again, with calls that a capture on another
 * thread would otherwise be invalidated by, and never on the default stream, which waits for the engine's.
 */
#ifndef QUERN_CUDA_VISIT_H
#define QUERN_CUDA_VISIT_H

#include <stdbool.h>

#include "runtime/cuda_driver.h"

struct quern_cuda_visit {
    const struct quern_cuda *cuda;
    int mode;      /* of captures, before */
    bool pushed;
};

/* context may be NULL: none is needed.  Always to be ended, also when it fails. */
CUresult quern_cuda_begin_visit(struct quern_cuda_visit *visit, CUcontext context);
void quern_cuda_end_visit(struct quern_cuda_visit *visit);

/* During a visit: writes bytes of device memory (data NULL: zeros) on a stream of its own, and waits for that. */
CUresult quern_cuda_write(const struct quern_cuda_visit *visit, CUdeviceptr address, const void *data, size_t bytes);

#endif
