/* Log lines of the library, sent to the engine's callback or to the file of QUERN_LOG.  For all code that fails or reports. */
#ifndef QUERN_LOG_H
#define QUERN_LOG_H

#include <stdbool.h>

#include "quern.h"

/* Whether anything receives lines of this level.  Check it before composing a costly line. */
bool quern_log_wanted(quern_log_level level);

/* Sends one line, prefixed with the device (NULL: no device). */
void quern_log(const quern_device *device, quern_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
