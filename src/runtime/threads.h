/* Runs the work of an operation on the threads of the CPU device.  For all operations. */
#ifndef QUERN_THREADS_H
#define QUERN_THREADS_H

#include "quern.h"

/* QUERN_THREADS or, without it, one for each core that the process can keep busy. */
int quern_default_threads(void);

/* A CPU device opens or closes.  The pool's workers end with the last one: they have ended on return. */
void quern_threads_enter(quern_device *device);
void quern_threads_leave(quern_device *device);

/* An open CPU device; NULL: there is none. */
quern_device *quern_threads_device(void);

/*
 * Calls task(context, i) once for every i in [0, tasks) and returns when all calls have returned.  The calls run on the engine's
 * hook, or on the library's pool and the calling thread.  Each runs in the default floating-point environment, so that the bits do
 * not depend on whether the engine flushes subnormals.
 */
void quern_run_tasks(const quern_device *device, int64_t tasks, void (*task)(void *context, int64_t index), void *context);

#endif
