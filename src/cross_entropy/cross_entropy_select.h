/* The choice of a kernel for a stage of a call.  For both backends and quern_cross_entropy_explain. */
#ifndef QUERN_CROSS_ENTROPY_SELECT_H
#define QUERN_CROSS_ENTROPY_SELECT_H

#include "cross_entropy/cross_entropy_call.h"
#include "runtime/dispatch.h"

/* A kernel for one stage of the call. */
quern_status quern_cross_entropy_select(const struct quern_cross_entropy_call *call, enum quern_cross_entropy_stage stage,
                                        const struct quern_ready_kernel **chosen);

/* The walk past the kernels of the rows stage, as text. */
size_t quern_cross_entropy_explain_call(const struct quern_cross_entropy_call *call, char *buffer, size_t bytes);

/* The number of parts into which a device divides a row. */
int64_t quern_cross_entropy_parts(const quern_device *device, const quern_cross_entropy_args *args);

#endif
