/* The last line of level 1 that the library has told the log, and how many it has told.  For suites. */
#ifndef HARNESS_TOLD_H
#define HARNESS_TOLD_H

#include "harness/check.h"
#include "quern.h"

static struct told {
    char line[256];
    int lines;
} told;

static void keep_line(UNUSED void *user, quern_log_level level, const char *line) {
    check(level == QUERN_LOG_ERROR, "level %d", (int)level);
    snprintf(told.line, sizeof told.line, "%s", line);
    told.lines++;
}

#endif
