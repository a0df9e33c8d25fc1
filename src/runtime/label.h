/* The label of a device: the prefix of its log lines and details. */
#ifndef QUERN_LABEL_H
#define QUERN_LABEL_H

#include "quern.h"

/* "cpu", "cuda:0" */
struct quern_label {
    char text[24];
};

/* The first member of every device is its label, so that the log needs to know nothing else of devices. */
static inline const char *quern_label_of(const quern_device *device) { return ((const struct quern_label *)device)->text; }

#endif
