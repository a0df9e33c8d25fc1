/* What became of a call to Quern, for whoever runs the program. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

#include "quern.h"

/* Whether it succeeded; if not, says on stderr what was called, whose matter it is and the detail. */
bool succeeded(const char *what, quern_status status);

#endif
