/* What quern_prepare finds out about the targets of a device. */
#ifndef QUERN_PREPARE_H
#define QUERN_PREPARE_H

#include "quern.h"

/* The name of the best target that the device can run, of those linked into the program; "none" when there is none. */
const char *quern_best_target(const quern_device *device);

#endif
