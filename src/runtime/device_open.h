/* The end of devices, for what the process keeps on one.  For src/ranks/nccl. */
#ifndef QUERN_DEVICE_OPEN_H
#define QUERN_DEVICE_OPEN_H

#include "runtime/device.h"

/* Sets the function that is called before the context of a device is released. */
void quern_set_device_end(void (*end)(const quern_device *device));

#endif
