/* A BLAS that is opened at run time: one table of functions for each kind of device.  For blas.c. */
#ifndef QUERN_BLAS_KIND_H
#define QUERN_BLAS_KIND_H

#include "quern.h"

struct quern_blas_kind {
    const char *const *libraries;  /* the usual names, best first; the list ends with NULL */

    /* Finds its functions in an open library.  *state is the data of this kind. */
    quern_status (*attach)(quern_device *device, void *library, const char *name, void **state);
    quern_status (*multiply)(quern_device *device, void *state, const quern_gemm_args *args, void *stream);
    void (*detach)(quern_device *device, void *state);
};

#endif
