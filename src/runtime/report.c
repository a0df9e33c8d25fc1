/*
 * The targets as a device and its driver see them.  Called by the engine, when a device is opened and described, and by
 * quern_prepare when no kernel is left.
 */
#include "runtime/report.h"

#include <string.h>

#include "runtime/build_info.h"
#include "runtime/image.h"
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
    bool serves = !refused && !missing && !quern_image_refusal(report->device, kernel) &&
                  quern_row_role(kernel) == QUERN_ROW_SELECTED_BY_NAME && !quern_forced_away(report->device, kernel);
    if (serves && !report->best) report->best = kernel->target.name;
    if (report->last && strcmp(report->last, kernel->target.name) == 0) return true;
    report->last = kernel->target.name;
    const char *state = refused ? reason : missing ? QUERN_WITHOUT_NVCC : "usable";
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

struct age {
    const quern_device *device;
    const struct quern_target *least;  /* of the targets that the driver is too old for */
    bool serves;                       /* one that it is not too old for */
};

static bool compare_age(const struct quern_kernel *kernel, void *context) {
    struct age *age = context;
    const struct quern_target *target = &kernel->target;
    if (target->kind != QUERN_CUDA || quern_has_no_code(kernel) || !quern_target_has_capability(age->device, target)) return true;
    age->serves = !quern_driver_is_too_old(age->device, target);
    if (!age->least || target->images->driver < age->least->images->driver) age->least = target;
    return !age->serves;
}

const struct quern_target *quern_target_beyond_driver(const quern_device *device) {
    struct age age = {.device = device};
    for (unsigned bit = 1; bit & QUERN_ALL_OPERATIONS && !age.least; bit <<= 1)
        if (quern_linked_operation(bit)) quern_walk(bit, compare_age, &age);
    return age.serves ? NULL : age.least;
}

const char *quern_best_target(const quern_device *device) {
    struct report report = {.device = device, .text = quern_text_begin(NULL, 0)};
    walk_targets(&report);
    return report.best ? report.best : "none";
}
