/*
 * How symmetric memory comes about and goes, and what a process holds of it.  src/ranks/symmetric/symmetric.c runs the calls; the kinds of memory
 * (src/ranks/symmetric/symmetric_host.c, src/ranks/symmetric/symmetric_cuda.c, src/ranks/symmetric/symmetric_cuda_register.c) supply the steps.
 */
#ifndef QUERN_SYMMETRIC_MEMORY_H
#define QUERN_SYMMETRIC_MEMORY_H

#include "ranks/membership.h"
#include "runtime/cuda_driver.h"

/* What a rank tells the others of its part before the first step. */
struct quern_symmetric_part {
    int64_t bytes;               /* as it was asked for */
    uint64_t address;            /* registration: of the part, in the rank's own process */
    uint64_t base, base_bytes;   /* registration on a GPU: the allocation around it */
    int32_t way;                 /* registration on a GPU: how other processes get at it */
    CUipcMemHandle ipc;
};

/* Work of one rank that was under way on its device when it freed its part. */
struct quern_symmetric_use {
    struct quern_symmetric_use *next;
    const struct quern_membership *member;  /* only told apart, never looked into */
    CUcontext context;
    CUevent event;
};

/* CLOSED: nothing is mapped any more; only the addresses are kept from other use. */
enum quern_symmetric_life { QUERN_MEMORY_OPEN, QUERN_MEMORY_CLOSING, QUERN_MEMORY_CLOSED };

/*
 * One collective allocation or registration, as this process holds it: once, for all its ranks.  The steps fill it in before any
 * rank has its address; afterwards only src/ranks/symmetric/symmetric_memory.c changes it, under its lock.
 */
struct quern_symmetric_memory {
    struct quern_symmetric_memory *next;
    const struct quern_symmetric_kind *kind;
    unsigned char group[16];
    uint64_t id;
    int ranks;
    int holders;                        /* ranks of this process that have not freed their part */
    int references;                     /* those, and ranks that remember having freed it */
    enum quern_symmetric_life life;
    struct quern_symmetric_use *uses;

    struct quern_symmetric_part *part;  /* [ranks] */
    void **peer;                        /* [ranks] */
    int64_t *peer_bytes;                /* [ranks] */
    void *multicast;                    /* NULL: none, and the reason is: */
    char no_multicast[240];
    int64_t least_bytes;                /* of all parts: as far as multicast reaches */
    int64_t address_bytes;              /* addresses taken in this process */
    void *state;                        /* of the kind; NULL: none yet, or none at all */
};

/*
 * One step of making memory.  All ranks agree after each that it has succeeded everywhere before any takes the next.  In each
 * process the thread of its lowest rank takes it, for all ranks of the process, unless it is every rank's own.
 */
struct quern_symmetric_step {
    quern_status (*run)(struct quern_symmetric_memory *memory, const struct quern_membership *member);
    bool every_rank;
    bool between_processes;             /* left out when all ranks are in one */
    bool for_multicast;                 /* when it fails there is memory without multicast, with the reason */
};

struct quern_symmetric_kind {
    bool is_registration;
    const char *no_multicast;           /* why memory of this kind never has it; NULL: it may */

    /* What a rank tells of its part; fails for memory that cannot be made reachable.  part->bytes is set already. */
    quern_status (*describe)(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part);

    const struct quern_symmetric_step *steps;
    int step_count;

    /* Around each step; NULL: nothing needs to be. */
    quern_status (*take)(const struct quern_symmetric_step *step, struct quern_symmetric_memory *memory,
                         const struct quern_membership *member);

    /* Gives back what only the steps needed; after the last one, or with close.  Finds whatever the steps came to. */
    void (*settle)(struct quern_symmetric_memory *memory);

    /* Takes back what the steps for multicast did. */
    void (*close_multicast)(struct quern_symmetric_memory *memory);

    /* Notes that a rank of this process has freed its part; may be NULL. */
    void (*leave)(struct quern_symmetric_memory *memory, int rank);

    /* Whether peers in other processes permit to close; NULL: they have mappings of their own. */
    bool (*may_close)(const struct quern_symmetric_memory *memory);

    void (*close)(struct quern_symmetric_memory *memory);    /* everything but the addresses */
    void (*discard)(struct quern_symmetric_memory *memory);  /* the addresses, and the state */

    /* Registrations: what tells an allocation from a later one at the same address; 0: unknown. */
    uint64_t (*generation)(const struct quern_membership *member, const void *pointer);

    /* Work under way: marks the present end of a stream; asks whether it has come there; waits until it has; forgets the mark. */
    quern_status (*record)(const struct quern_membership *member, void *stream, struct quern_symmetric_use *use);
    bool (*has_ended)(const struct quern_symmetric_use *use);
    void (*await)(const struct quern_symmetric_use *use);
    void (*erase)(struct quern_symmetric_use *use);
};

/* This process's record of memory `id`, made if this is its first rank to ask; NULL: no memory.  Held and referred to. */
struct quern_symmetric_memory *quern_symmetric_hold(const struct quern_membership *member, const struct quern_symmetric_kind *kind,
                                                    uint64_t id, const struct quern_symmetric_part *parts);

/* A rank has freed its part; use (NULL: none, else from malloc) is the work that it had under way. */
void quern_symmetric_unhold(struct quern_symmetric_memory *memory, int rank, struct quern_symmetric_use *use);

/* A rank no longer remembers. */
void quern_symmetric_unrefer(struct quern_symmetric_memory *memory);

/* Closes and discards what nobody uses any more, in the whole process; waits for nothing. */
void quern_symmetric_sweep(void);

/* Waits for what a membership had under way when it freed its parts. */
void quern_symmetric_await_uses(const struct quern_membership *member);

#endif
