/* The report of targets.  Called by the engine, by the description of a device, and by quern_prepare when no kernel is left. */
#include "runtime/report.h"

#include <string.h>

#include "runtime/target.h"
#include "runtime/walk.h"

struct report {
    const quern_device *device;
    struct quern_text text;
    const char *last;      /* the last reported target: rows of a target are consecutive */
    const char *best;
};

static bool report_row(const struct quern_kernel *kernel, void *context) {
    struct report *report = context;
    if (kernel->target.kind != report->device->kind) return true;
    char reason[256];
    bool refused = quern_target_refused(report->device, &kernel->target, reason, sizeof reason);
    bool missing = quern_has_no_code(kernel);
    bool serves = !refused && !missing && quern_row_role(kernel) == QUERN_ROW_SELECTED_BY_NAME &&
                  !quern_forced_away(report->device, kernel);
    if (serves && !report->best) report->best = kernel->target.name;
    if (report->last && strcmp(report->last, kernel->target.name) == 0) return true;
    report->last = kernel->target.name;
    const char *state = refused ? reason : missing ? "the library was built without nvcc" : "usable";
    quern_text_add(&report->text, "%s: %s\n", kernel->target.name, state);
    return true;
}

/* Operations with rows for the device's kind all have the same targets, so the first of them is enough. */
static void walk_targets(struct report *report) {
    for (unsigned bit = 1; bit & QUERN_ALL_OPERATIONS && !report->last; bit <<= 1)
        if (quern_linked_operation(bit)) quern_walk(bit, report_row, report);
}

size_t quern_device_report(const quern_device *device, char *buffer, size_t bytes) {
    struct report report = {.device = device, .text = quern_text_begin(buffer, buffer ? bytes : 0)};
    if (device) walk_targets(&report);
    return report.text.length;
}

const char *quern_best_target(const quern_device *device) {
    struct report report = {.device = device, .text = quern_text_begin(NULL, 0)};
    walk_targets(&report);
    return report.best ? report.best : "none";
}
