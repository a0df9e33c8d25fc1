/* The rows of an operation in their order, and what QUERN_KERNEL leaves of them. */
#ifndef QUERN_WALK_H
#define QUERN_WALK_H

#include "runtime/device.h"

/* Calls visit for every row of an operation, kernel packs first, best first in each; stops when it returns false. */
void quern_walk(unsigned operation, bool (*visit)(const struct quern_kernel *kernel, void *context), void *context);

/* Whether QUERN_KERNEL matches a row's name, or leaves its operation alone. */
bool quern_is_named(const quern_device *device, const struct quern_kernel *kernel);

/* Whether a device leaves a row out because of QUERN_KERNEL. */
bool quern_forced_away(const quern_device *device, const struct quern_kernel *kernel);

#endif
