/*
 * The only place that makes a CUDA context current and restores the engine's own.
 *
 * A launch enqueues work on a stream of the caller.  A visit does the library's own work, for instance allocation.  It may make
 * calls that would otherwise invalidate a capture on another thread.  It never uses the default stream, which waits for the
 * engine's streams.
 */
#ifndef QUERN_CUDA_VISIT_H
#define QUERN_CUDA_VISIT_H

#include <stdbool.h>

#include "runtime/cuda_driver.h"
#include "runtime/device.h"

struct quern_cuda_visit {
    const struct quern_cuda *cuda;
    int mode;      /* the thread's capture mode before the visit */
    bool relaxed;  /* the capture mode was exchanged */
    bool pushed;   /* a context was made current */
};

/* Begins a visit.  context may be NULL if none is needed.  The visit must be ended even if this fails. */
CUresult quern_cuda_begin_visit(struct quern_cuda_visit *visit, CUcontext context);

/* Makes the context of a device current, for launches.  After a failure, which sets the detail, ending does nothing. */
quern_status quern_cuda_begin_launch(struct quern_cuda_visit *visit, const quern_device *device);

/* Ends a visit or a launch. */
void quern_cuda_end_visit(struct quern_cuda_visit *visit);

/* During a visit: writes bytes of device memory (data NULL: zeros) on a new stream, and waits until they are written. */
CUresult quern_cuda_write(const struct quern_cuda_visit *visit, CUdeviceptr address, const void *data, size_t bytes);

#endif
