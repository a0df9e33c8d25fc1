/*
 * Calls of the driver that may wait for a device: unmapping, unregistering, freeing, unloading.  For all code that makes them.
 *
 * A kernel of a rank waits for other ranks, which may be launched later by the same thread or by another one of the process.  If a
 * call waited for that kernel meanwhile, the launch would not come before the kernel's time limit.  So such calls are tasks, which
 * run when no operation of the process's ranks is pending: at once, or later, in a call that brings another task.
 */
#ifndef QUERN_IDLE_H
#define QUERN_IDLE_H

#include <stdbool.h>

#include "runtime/cuda_visit.h"

struct quern_idle_task {
    struct quern_idle_task *next;
    bool is_queued;
    void (*run)(struct quern_idle_task *task);   /* may free it */
};

/* Runs the task, and others that have waited, when it may.  A task that is queued already is queued once. */
void quern_when_idle(struct quern_idle_task *task);

/* Around a launch whose kernel waits for other ranks: waits for the end of tasks, and no task begins before the end. */
void quern_begin_launching(void);
void quern_end_launching(void);

/* Sets the function that tells whether such kernels may still run.  It is called while no launch is under way. */
void quern_set_pending_check(bool (*is_pending)(void));

/* ---- memory and modules of a device that are not needed any more ---- */

struct quern_leftover {
    struct quern_idle_task task;
    CUdevice device;         /* its context is retained until the end */
    CUcontext context;
    CUdeviceptr memory;      /* 0: none */
    CUmodule module;         /* NULL: none */
};

/* Made in advance, so that the end cannot fail.  NULL on failure. */
CUresult quern_make_leftover(const quern_device *device, struct quern_leftover **leftover);

/* Frees what the leftover names, and the leftover, when the process is idle. */
void quern_discard_when_idle(struct quern_leftover *leftover);

/* Frees a leftover that names nothing.  NULL does nothing. */
void quern_drop_leftover(struct quern_leftover *leftover);

#endif
