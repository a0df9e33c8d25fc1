/* The device on which one rank's loss, optimizer and exchange run. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>

#include "device_memory.h"
#include "quern.h"

struct thread_pool;

struct device_choice {
    bool is_auto;  /* the first GPU if the machine has one, else the CPU */
    bool is_cuda;
    int ordinal;
    int gpus;      /* number of devices; known once resolved */
};

struct device {
    quern_device *quern;
    struct device_memory memory;
    char name[160];
};

/*
 * Counts the GPUs and resolves `auto`: a GPU if the machine has one, unless several of `processes` processes would share it
 * (without MPS they would take turns).  On failure false, after a message on stderr; if `talks`, prints why no GPU is used.
 */
bool device_resolve(struct device_choice *choice, int processes, bool talks);

/* The choice of one of several ranks: GPUs are assigned in turn. */
struct device_choice device_of_rank(struct device_choice choice, int rank);

/* Opens it and prepares its operations; a CPU uses the pool's threads.  On failure false, after a message on stderr. */
bool device_open(struct device *device, struct device_choice choice, struct thread_pool *pool, int threads,
                 unsigned operations);

/* Also accepts a device that was not opened. */
void device_close(struct device *device);

#endif
