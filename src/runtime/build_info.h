/* Tells which operations a build of the library leaves out: gen/selection.py.  For the dispatcher and quern_prepare. */
#ifndef QUERN_BUILD_INFO_H
#define QUERN_BUILD_INFO_H

#include <stdbool.h>

#include "runtime/status.h"

/* Ends a detail about what a build leaves out, and of one without GPU kernels. */
#define QUERN_WHOLE_BUILD "; `./quern build` makes a library with all kernels"
#define QUERN_WITHOUT_NVCC "the library was built without nvcc, which `./quern toolkit` installs"

/* Whether an operation that the program calls has no row for any target, neither in the library nor in a loaded pack. */
bool quern_is_left_out(unsigned operation);

/* Fails with QUERN_NO_KERNEL and a detail that names the operations of the build. */
quern_status quern_fail_left_out(const quern_device *device, unsigned operation);

#endif
