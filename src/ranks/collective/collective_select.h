/* The kernels of the collectives.  For collective.c and chunks_cuda.c. */
#ifndef QUERN_COLLECTIVE_SELECT_H
#define QUERN_COLLECTIVE_SELECT_H

#include "ranks/collective/collective_call.h"

/* Fills in the kernels of a call, whose form and dtype are known. */
quern_status quern_collective_select(struct quern_collective_call *call);

/* The kernel that moves bytes, for whoever sends something to all members itself. */
quern_status quern_collective_select_move(quern_device *device, const struct quern_ready_kernel **chosen);

/* The kernel of a task; a dtype that the task does not have is QUERN_NO_DTYPE. */
quern_status quern_collective_select_task(quern_device *device, enum quern_collective_task task, quern_dtype dtype,
                                          quern_dtype output, const struct quern_ready_kernel **chosen);

#endif
