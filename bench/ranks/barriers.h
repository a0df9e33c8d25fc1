/* The barriers that are measured beside each other in one program, and the ping-pong that all of them are measured by. */
#ifndef BARRIERS_H
#define BARRIERS_H

#include <stddef.h>

#include "ping_pong.h"
#include "team.h"

enum { BARRIERS = 5 };

/* One rank's place at a barrier. */
struct barrier_seat {
    void *shared;
    int rank, ranks;
    unsigned epoch;  /* rounds so far */
    void *more;      /* what a barrier keeps beyond that */
    struct player player;
};

struct barrier {
    const char *name;
    int most_ranks;
    size_t (*bytes)(int ranks);                                /* of zeroed memory that all ranks share */
    void (*prepare)(void *shared, const struct team *team);    /* once, before the ranks start; may be NULL */
    void (*join)(struct barrier_seat *seat);                   /* every rank; may be NULL */
    void (*meet)(void *seat);
    void (*leave)(struct barrier_seat *seat);                  /* every rank; may be NULL */
};

extern const struct barrier barriers[BARRIERS];

#endif
