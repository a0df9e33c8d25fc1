/* The walk down the tables: kernel packs first, then the library's own rows. */
#ifndef QUERN_DISPATCH_H
#define QUERN_DISPATCH_H

#include <stdbool.h>

#include "runtime/device.h"
#include "os/text.h"

/*
 * An operation as the dispatcher sees it.  refused tells whether a row cannot serve a request, and appends the reason to *why
 * unless that is NULL.  advise, which may be NULL, says how to come by a row where no target has one for the request.
 */
struct quern_operation {
    const char *name;
    unsigned bit;
    const struct quern_kernel *table;
    bool (*refused)(const struct quern_kernel *kernel, const void *request, struct quern_text *why);
    void (*advise)(const void *request, struct quern_text *text);
};

/*
 * The first ready row that serves the request.
 * Errors: QUERN_NOT_PREPARED; QUERN_NO_KERNEL, with the reason against each target in the detail.
 */
quern_status quern_select(quern_device *device, const struct quern_operation *operation, const void *request,
                          const struct quern_ready_kernel **chosen);

/* The walk as text; see the …_explain functions of quern.h. */
size_t quern_explain(const quern_device *device, const struct quern_operation *operation, const void *request, char *buffer,
                     size_t bytes);

/* Calls visit for every row of an operation, best first; stops when it returns false. */
void quern_walk(unsigned operation, const struct quern_kernel *table,
                bool (*visit)(const struct quern_kernel *kernel, void *context), void *context);

/* Whether QUERN_KERNEL matches a row's name, or leaves its operation alone. */
bool quern_is_named(const quern_device *device, const struct quern_kernel *kernel);

/* Whether a device leaves a row out because of QUERN_KERNEL. */
bool quern_forced_away(const quern_device *device, const struct quern_kernel *kernel);

#endif
