/* Whether code for a target runs on a device. */
#ifndef QUERN_TARGET_H
#define QUERN_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/device.h"

/* Why a target cannot run on a device, written to buffer; false: it can. */
bool quern_target_refused(const quern_device *device, const struct quern_target *target, char *buffer, size_t bytes);

/* Whether a row is for a GPU and the library was built without nvcc, so that it has no code. */
bool quern_has_no_code(const struct quern_kernel *kernel);

#endif
