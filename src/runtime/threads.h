/* The CPU's share of an operation, spread over threads. */
#ifndef QUERN_THREADS_H
#define QUERN_THREADS_H

#include "quern.h"

/* The cores this process may use, or QUERN_THREADS. */
int quern_default_threads(void);

/*
 * Calls task(context, i) once for every i in [0, tasks) and returns when all have returned: on the engine's hook, or on the
 * library's pool with the caller taking part.  Each call runs in the default floating-point environment, so that an engine
 * which flushes subnormals gets the same bits as one which does not.
 */
void quern_run_tasks(const quern_device *device, int64_t tasks, void (*task)(void *context, int64_t index), void *context);

#endif
