/* The device memory of a plan: one piece, written when the plan is made.  For plans of Adam, accumulations and quantisation. */
#ifndef QUERN_PLAN_MEMORY_H
#define QUERN_PLAN_MEMORY_H

#include <stddef.h>

#include "quern.h"
#include "runtime/cuda_driver.h"

struct quern_plan_memory {
    CUdeviceptr address;              /* 0: none */
    struct quern_leftover *leftover;  /* for its end */
};

/* Reserves `more` bytes behind the first *bytes and returns their offset. */
size_t quern_plan_reserve(size_t *bytes, size_t more);

/* Allocates the memory and writes the tables to it.  On failure it has none. */
quern_status quern_plan_upload(quern_device *device, struct quern_plan_memory *memory, const void *tables, size_t bytes);

/* Frees the memory, if there is any, when the process is idle. */
void quern_plan_free(struct quern_plan_memory *memory);

#endif
