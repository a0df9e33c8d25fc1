/* Which targets a device can run. */
#ifndef QUERN_TARGETS_H
#define QUERN_TARGETS_H

#include "runtime/device.h"

/* Whether a device cannot run a target.  Then the reason is written to buffer. */
bool quern_target_refused(const quern_device *device, const struct quern_target *target, char *buffer, size_t bytes);

#endif
