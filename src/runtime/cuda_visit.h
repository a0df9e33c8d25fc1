/*
 * The only place that makes a CUDA context current and restores the engine's own.
 *
 * A launch enqueues work on a stream of the caller.  A visit does the library's own work beside the engine's: it may make calls
 * that would otherwise invalidate a capture on another thread, and it never uses the default stream, which waits for the engine's.
 */
#ifndef QUERN_CUDA_VISIT_H
#define QUERN_CUDA_VISIT_H

#include <stdbool.h>

#include "runtime/cuda_driver.h"
#include "runtime/device.h"

struct quern_cuda_visit {
    const struct quern_cuda *cuda;
    int mode;      /* of captures, before the visit */
    bool relaxed;  /* the mode was exchanged */
    bool pushed;   /* a context was made current */
};

/* context may be NULL: none is needed.  The visit must be ended even if this fails. */
CUresult quern_cuda_begin_visit(struct quern_cuda_visit *visit, CUcontext context);

/* Makes the context of a device current, for launches.  Fails with its detail; then ending it is allowed and does nothing. */
quern_status quern_cuda_begin_launch(struct quern_cuda_visit *visit, const quern_device *device);

/* Ends either. */
void quern_cuda_end_visit(struct quern_cuda_visit *visit);

/* During a visit: writes bytes of device memory (data NULL: zeros) on a stream of its own, and waits for it. */
CUresult quern_cuda_write(const struct quern_cuda_visit *visit, CUdeviceptr address, const void *data, size_t bytes);

#endif
