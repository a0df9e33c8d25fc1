/* The choice of a kernel of Adam.  For quern_adam, its explanation and the functions on gradients. */
#ifndef QUERN_ADAM_SELECT_H
#define QUERN_ADAM_SELECT_H

#include <stdbool.h>

#include "runtime/dispatch.h"

/* The request that a kernel must serve. */
struct quern_adam_request {
    enum quern_adam_task task;
    quern_dtype param, grad, m, v, master;  /* tasks on gradients set only grad, and sums param; the task that
                                              combines norms sets none */
    bool full;                              /* an option is on that only full kernels implement */
};

struct quern_adam_request quern_adam_request_of(const quern_adam_args *args);

quern_status quern_adam_select(quern_device *device, const struct quern_adam_request *request,
                               const struct quern_ready_kernel **chosen);
size_t quern_adam_explain_request(const quern_device *device, const struct quern_adam_request *request, char *buffer, size_t bytes);

#endif
