/* The workspace, the fields and the run of a call.  For cross_entropy.c and linear_cross_entropy.c. */
#ifndef QUERN_CROSS_ENTROPY_RUN_H
#define QUERN_CROSS_ENTROPY_RUN_H

#include "cross_entropy/cross_entropy_call.h"

/* The bytes of workspace of a step.  The arguments have passed the checks. */
size_t quern_cross_entropy_needs(const quern_device *device, int threads, enum quern_cross_entropy_step step,
                                 const quern_cross_entropy_args *args);

/* Fills in the rest of a call that has its device, step and checked arguments.  The workspace is as large as needed. */
void quern_cross_entropy_fill(struct quern_cross_entropy_call *call, void *workspace);

/* Runs the tasks of an initialised call on its device. */
quern_status quern_cross_entropy_run(struct quern_cross_entropy_call *call);

#endif
