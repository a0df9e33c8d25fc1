/* Reports a failed call of Quern.  Used by all files that call the library. */
#include "check.h"

#include <stdio.h>

bool succeeded(const char *what, quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return true;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "language_model: %s: %s (%s): %s\n", what, quern_status_string(status), quern_status_blame(status),
            detail);
    return false;
}
