/*
 * What the host hands to the kernels of the collective operations.  Included by the host code and by the generated CUDA kernels,
 * so that both agree on the layout; a kernel takes one of these structs by value.
 */
#ifndef QUERN_COLLECTIVE_PROBLEM_H
#define QUERN_COLLECTIVE_PROBLEM_H

#include "collective.h"

/* How a kernel reaches the other ranks of its group, who of them takes part in this launch, and how long it waits for them. */
struct quern_links {
    char *pad[QUERN_RANK_LIMIT];          /* every rank's pad, at the addresses of this rank */
    char *multicast_pad;                  /* reaches all pads at once; NULL: not mapped, or not all ranks take part */
    uint32_t *poison;                     /* the group's, in host memory */
    struct quern_incident *incident;      /* this rank's, in host memory */
    uint32_t *reported_tag, *reported_wait;  /* in host memory, for quern_group_report: where this rank waits, and whether it does */
    uint64_t timeout;                     /* nanoseconds, of each wait */
    uint32_t members[QUERN_RANK_WORDS];   /* bit mask */
    uint32_t rank, ranks;
    uint32_t tag;                         /* of the operation and its members, with no phase */
};

/* The words of a pad's `grid`. */
enum quern_grid_word {
    QUERN_GRID_ENDED,       /* not 0: a launch of this rank has given up; every later one ends at once */
    QUERN_GRID_LAUNCHES,    /* launches that have completed so far */
    QUERN_GRID_RELEASED,    /* the launch whose blocks may go on: QUERN_GRID_LAUNCHES + 1, or still the one before */
    QUERN_GRID_FINISHED     /* blocks of this launch that are done */
};

/* ---- barrier ---- */

struct quern_barrier_problem {
    struct quern_links links;
};

#endif
