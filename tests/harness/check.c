/* Reads the calling thread's error detail for the assertions of check.h. */
#include "harness/check.h"

static _Thread_local char detail[4096];

const char *error_detail(void) {
    detail[0] = 0;
    quern_error_detail(detail, sizeof detail);
    return detail;
}

void check_status_of(quern_status status, quern_status expected, const char *call, int line) {
    check(status == expected, "line %d: %s: %s instead of %s: %s", line, call, quern_status_string(status),
          quern_status_string(expected), error_detail());
}
