/* The rows of an operation in their order, and the filter QUERN_KERNEL.  For prepare.c, explain.c, report.c and cross-entropy. */
#ifndef QUERN_WALK_H
#define QUERN_WALK_H

#include "runtime/device.h"

/* Calls visit for every row of an operation until it returns false.  Kernel packs come first; the best row of each comes first. */
void quern_walk(unsigned operation, bool (*visit)(const struct quern_kernel *kernel, void *context), void *context);

/* Whether QUERN_KERNEL matches a row's name, or cannot match names of its operation. */
bool quern_is_named(const quern_device *device, const struct quern_kernel *kernel);

/* Whether a device leaves out a row because of QUERN_KERNEL. */
bool quern_forced_away(const quern_device *device, const struct quern_kernel *kernel);

/* Whether a device cannot use a row, whatever is asked of it.  Writes the reason to buffer. */
bool quern_row_unusable(const quern_device *device, const struct quern_kernel *kernel, char *buffer, size_t bytes);

#endif
