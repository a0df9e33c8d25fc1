/* Log lines of the library, sent to the engine's callback or to the file of QUERN_LOG.  For all code that fails or reports. */
#ifndef QUERN_LOG_H
#define QUERN_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

/* Whether anything receives lines of this level.  Check it before composing a costly line. */
bool quern_log_wanted(quern_log_level level);

/* Sends one line, prefixed with the device (NULL: no device). */
void quern_log(const quern_device *device, quern_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says in a line on standard error that a variable of the environment is ignored, since it is not what was expected. */
void quern_refuse_variable(const char *name, const char *value, const char *expected);

/* The number, 1 to most, that a variable has; 0: it is not set or, which is said once (*told: 0 before), has another value. */
int quern_variable_number(const char *name, int most, uint32_t *told);

#endif
