/* Failing: a status, and a detail for the calling thread.  For all of the library. */
#ifndef QUERN_STATUS_H
#define QUERN_STATUS_H

#include <stdbool.h>

#include "quern.h"

/* A detail is one line of at most 255 characters, and longer texts lose their middle: the nearest cause comes first. */

/* Sets the thread's detail, logs it as an error under the device's prefix (NULL: no device) and returns the status. */
quern_status quern_fail(const quern_device *device, quern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether a number is a status of quern.h. */
bool quern_is_status(quern_status status);

/* Sets the thread's detail without failing, for instance to explain why a count is 0. */
void quern_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
