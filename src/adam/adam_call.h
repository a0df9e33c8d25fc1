/* A checked call of quern_adam: the argument of adam_cpu.c and adam_cuda.c. */
#ifndef QUERN_ADAM_CALL_H
#define QUERN_ADAM_CALL_H

#include "adam/adam_list.h"
#include "runtime/device.h"

struct quern_adam_call {
    quern_device *device;
    quern_adam_args args;
    struct quern_adam_list list;       /* the caller's or the plan's */
    struct quern_adam_pointers control;
    struct quern_adam_rates rates;
    struct quern_adam_step step;       /* complete, except for values that are in device memory (control) */
    const struct quern_ready_kernel *ready, *steps_ready;  /* the latter on a GPU, with args.steps */
    void *workspace;
    void *stream;
};

#endif
