/* Whether code for a target runs on a device.  For prepare.c, explain.c and report.c. */
#ifndef QUERN_TARGET_H
#define QUERN_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/device.h"

/* Whether a target cannot run on a device.  If so, writes the reason to buffer. */
bool quern_target_refused(const quern_device *device, const struct quern_target *target, char *buffer, size_t bytes);

/* Whether a device has the compute capability that a GPU target asks for. */
bool quern_target_has_capability(const quern_device *device, const struct quern_target *target);

/* Whether the driver is too old to load the images of a GPU target. */
bool quern_driver_is_too_old(const quern_device *device, const struct quern_target *target);

/* Whether a GPU row has no code, because the library was built without nvcc. */
bool quern_has_no_code(const struct quern_kernel *kernel);

#endif
