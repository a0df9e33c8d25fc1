/* Rows of kernels that a task and two data types choose, and nothing else.  For quantisation and collectives. */
#ifndef QUERN_MATCH_H
#define QUERN_MATCH_H

#include "runtime/device.h"

struct quern_match {
    int32_t task;
    quern_dtype dtypes[2];
    const char *names[2];   /* of the dtypes, in explanations */
};

/* For the members `refused` and `covers` of an operation.  request: a struct quern_match. */
int quern_match_refused(const struct quern_kernel *kernel, int cluster, const void *request, struct quern_text *why);
bool quern_match_covers(const struct quern_kernel *kernel, const struct quern_kernel *other);

#endif
