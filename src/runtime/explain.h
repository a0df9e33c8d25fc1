/* The dispatcher's walk as text. */
#ifndef QUERN_EXPLAIN_H
#define QUERN_EXPLAIN_H

#include "runtime/device.h"

/* The walk; see the …_explain functions of quern.h. */
size_t quern_explain(const quern_device *device, unsigned operation, const void *request, char *buffer, size_t bytes);

/* The failure of a request that no row serves: QUERN_NO_KERNEL, with the reason against each target in the detail. */
quern_status quern_fail_no_kernel(const quern_device *device, unsigned operation, const void *request);

/* Logs the first use of a row and, where that is wanted, the walk to it. */
void quern_log_choice(const quern_device *device, const void *request, struct quern_ready_kernel *ready);

#endif
