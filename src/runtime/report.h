/* The targets of the library as a device sees them.  For device_open.c. */
#ifndef QUERN_REPORT_H
#define QUERN_REPORT_H

#include "runtime/device.h"

/* The name of the best linked target that the device can run; "none" if it can run no target. */
const char *quern_best_target(const quern_device *device);

/*
 * If the driver is too old for every linked target that has code for the GPU, the target that asks least of it; else NULL.  Packs
 * that are loaded count.
 */
const struct quern_target *quern_target_beyond_driver(const quern_device *device);

#endif
