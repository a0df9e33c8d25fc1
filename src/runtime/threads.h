/* Runs the work of an operation on the threads of the CPU device.  For all operations. */
#ifndef QUERN_THREADS_H
#define QUERN_THREADS_H

#include "quern.h"

/*
 * The number of threads of a CPU device.  It may change while an operation runs, which reads it once where two numbers that follow
 * from it must agree.
 */
int quern_threads_of(const quern_device *device);

/* Sets the threads and the hook of a CPU device or, with NULL, of those that open later.  threads 0: the default. */
void quern_threads_set(quern_device *device, int threads, quern_parallel_for hook, void *user);

/*
 * A CPU device opens, with the threads of new ones, or closes.  The pool's workers end with the last one: they have ended on
 * return.
 */
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
