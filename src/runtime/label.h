/* The label of a device: the prefix of its log lines and details.  For device.h and log.c. */
#ifndef QUERN_LABEL_H
#define QUERN_LABEL_H

#include "quern.h"

/* "cpu", "cuda:0" */
struct quern_label {
    char text[24];
};

/* The label is the first member of a device, so the log depends on nothing else in it. */
static inline const char *quern_label_of(const quern_device *device) { return ((const struct quern_label *)device)->text; }

#endif
