/* The dispatcher's walk as text.  For the dispatcher and the …_explain functions. */
#ifndef QUERN_EXPLAIN_H
#define QUERN_EXPLAIN_H

#include "runtime/device.h"

/* Writes the walk; see the …_explain functions of quern.h. */
size_t quern_explain(const quern_device *device, unsigned operation, const void *request, char *buffer, size_t bytes);

/* Fails because no row serves the request: QUERN_NO_KERNEL, with the nearest row and the reason against it in the detail. */
quern_status quern_fail_no_kernel(const quern_device *device, unsigned operation, const void *request);

/* Logs the first use of a row.  At the level DEBUG it also logs the walk to it. */
void quern_log_choice(const quern_device *device, const void *request, struct quern_ready_kernel *ready);

#endif
