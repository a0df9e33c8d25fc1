/* Reports failed calls of Quern to the user. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

#include "quern.h"

/* Whether it succeeded; if not, prints the call, the status, the responsible party and the detail to stderr. */
bool succeeded(const char *what, quern_status status);

#endif
