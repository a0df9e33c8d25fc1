/* The targets of the library as a device sees them. */
#ifndef QUERN_REPORT_H
#define QUERN_REPORT_H

#include "runtime/device.h"

/* The name of the best target that the device can run, of those linked into the program; "none" when there is none. */
const char *quern_best_target(const quern_device *device);

#endif
