/* Asks Quern for a trace and a dump.  Called by run.c and, for each step, by training.c. */
#include "look.h"

#include <stdio.h>

static bool succeeded(const char *function, quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return true;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "language_model: %s: %s: %s\n", function, quern_status_string(status), detail);
    return false;
}

/* Each rank has a file or folder of its own. */
static bool name_for(const char *name, int rank, char path[4096]) {
    const int length = rank == 0 ? snprintf(path, 4096, "%s", name) : snprintf(path, 4096, "%s.%d", name, rank);
    if (length > 0 && length < 4096) return true;
    fprintf(stderr, "language_model: the name %.80s... is too long\n", name);
    return false;
}

bool look_begin_trace(const struct look *look, int rank) {
    char path[4096];
    if (look->trace == NULL) return true;
    return name_for(look->trace, rank, path) && succeeded("quern_trace_begin", quern_trace_begin(path));
}

bool look_end_trace(const struct look *look) {
    return look->trace == NULL || succeeded("quern_trace_end", quern_trace_end());
}

bool look_dump_at(const struct look *look, quern_device *device, int rank) {
    char path[4096];
    if (look->dump == NULL) return true;
    if (!name_for(look->dump, rank, path)) return false;
    quern_dump_args args = QUERN_DUMP_ARGS_INIT;
    args.folder = path;
    args.step = look->dump_step;
    return succeeded("quern_dump_at", quern_dump_at(device, &args));
}

bool look_step(quern_device *device, int64_t step) {
    return device == NULL || succeeded("quern_step", quern_step(device, step));
}
