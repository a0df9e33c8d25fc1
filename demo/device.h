/* The device on which one rank's loss, optimizer and exchange run. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>

#include "device_memory.h"
#include "quern.h"

struct thread_pool;

struct device_choice {
    bool is_auto;  /* the first GPU there is, else the CPU */
    bool is_cuda;
    int ordinal;
    int gpus;      /* how many there are; known once resolved */
};

struct device {
    quern_device *quern;
    struct device_memory memory;
    char name[160];
};

/*
 * Counts the GPUs and resolves `auto`: a GPU if there is one, unless several of `processes` processes would share it, which without
 * MPS can only take turns.  On failure false, after a message on stderr; if `talks`, prints why no GPU is used.
 */
bool device_resolve(struct device_choice *choice, int processes, bool talks);

/* The choice of one of several ranks: GPUs are dealt out in turn. */
struct device_choice device_of_rank(struct device_choice choice, int rank);

/* Opens it with its operations prepared; a CPU works on the pool's threads.  On failure false, after a message on stderr. */
bool device_open(struct device *device, struct device_choice choice, struct thread_pool *pool, int threads,
                 unsigned operations);

/* A device that was not opened is fine. */
void device_close(struct device *device);

#endif
