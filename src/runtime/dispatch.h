/* The dispatcher.  For all operations that run kernels. */
#ifndef QUERN_DISPATCH_H
#define QUERN_DISPATCH_H

#include <stdbool.h>

#include "runtime/device.h"

/*
 * The first ready row that serves the request.  Rows of kernel packs come before the library's own.
 * Errors: QUERN_NOT_PREPARED; QUERN_NO_KERNEL, with the nearest row and the reason against it in the detail.
 */
quern_status quern_select(quern_device *device, unsigned operation, const void *request, const struct quern_ready_kernel **chosen);

/* The first row of an operation that is ready, whatever it serves; NULL: none is. */
const struct quern_ready_kernel *quern_first_ready(const quern_device *device, unsigned operation);

/* Whether a device has an operation prepared. */
bool quern_is_prepared(const quern_device *device, unsigned operation);

#endif
