/*
 * One rank of a run: its membership of the group, and memory that the other ranks can reach.  A run on one rank is a group of one
 * and takes the same path.
 */
#ifndef RANKS_H
#define RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

/* The purposes of exchanges; each has its own times.  CHUNKS run beside the products, which spend WAITS on them. */
enum purpose { TOKENS, GRADIENTS, NUMBERS, CHUNKS, WAITS, PURPOSES };

/* Since the beginning of the training. */
struct exchange_totals {
    double seconds[PURPOSES];  /* of this rank, including the wait for other ranks */
    int64_t bytes[PURPOSES];   /* from this rank to others */
};

/* The settings by which the ranks of a run find each other. */
struct meeting {
    int rank, ranks;
    const char *name;  /* of the group; free again once all have met */
    double timeout;    /* seconds that a rank waits for another */
    bool share_gpu;    /* there are fewer GPUs than ranks */
    const char *meet;  /* ranks of several hosts: see hosts.h; else NULL */
    void *secret;
    size_t secret_bytes;
    int host_ranks;
    char host[16];     /* several hosts on one machine */
};

struct rank {
    int rank, ranks;
    struct device *device;
    quern_group *group;
    struct exchange_totals totals;
};

/* Waits for all ranks; the device must be prepared for EXCHANGE_OPERATIONS.  On failure false, after a message on stderr. */
bool rank_join(struct rank *rank, struct device *device, const struct meeting *meeting);

/* Also accepts a rank that did not join.  Ranks that still wait for this one get an error that names it. */
void rank_leave(struct rank *rank);

#define EXCHANGE_OPERATIONS (QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL | QUERN_COLLECTIVE)

/*
 * Collective.  Zeroed memory that the other ranks can write: its device side is symmetric memory, which is freed when the rank
 * leaves.
 */
bool rank_memory_create(struct rank *rank, struct mirrored *buffer, size_t bytes);
void rank_memory_free(struct mirrored *buffer);

/* The first of `count` items that belongs to a rank; items are assigned to the ranks in order. */
static inline int64_t share_first(int64_t count, int rank, int ranks) { return count * rank / ranks; }

#endif
