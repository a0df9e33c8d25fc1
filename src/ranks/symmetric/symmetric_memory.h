/*
 * The record that a process holds of one collective allocation or registration, and the interface of a kind of memory.  symmetric.c
 * runs the calls.  The kinds (symmetric_host.c, symmetric_pinned.c, symmetric_cuda.c, symmetric_cuda_register.c) supply the steps.
 */
#ifndef QUERN_SYMMETRIC_MEMORY_H
#define QUERN_SYMMETRIC_MEMORY_H

#include "ranks/membership.h"
#include "runtime/cuda_driver.h"

/* A rank's part, as described to the other ranks before the first step. */
struct quern_symmetric_part {
    int64_t bytes;               /* as requested */
    uint64_t address;            /* registration: of the part, in the rank's own process */
    uint64_t base, base_bytes;   /* registration on a GPU: the allocation that contains it */
    uint64_t control_group;      /* CPU: limits the memory of the rank's process; 0: none does */
    int32_t handle_kind;                 /* registration on a GPU: how other processes reach it */
    int32_t multicast;           /* this rank asks for it */
    CUipcMemHandle ipc;
};

/* Work of one rank that was pending on its device when the rank freed its part. */
struct quern_symmetric_use {
    struct quern_symmetric_use *next;
    const struct quern_membership *member;  /* only compared, never dereferenced */
    CUcontext context;
    CUevent event;
};

/* CLOSED: nothing is mapped; only the addresses are still reserved. */
enum quern_symmetric_life { QUERN_MEMORY_OPEN, QUERN_MEMORY_CLOSING, QUERN_MEMORY_CLOSED };

/*
 * The record of one allocation or registration: one for all ranks of this process.  The steps fill it in before any rank has its
 * address.  Afterwards only symmetric_memory.c changes it, under its lock.
 */
struct quern_symmetric_memory {
    struct quern_symmetric_memory *next;
    const struct quern_symmetric_kind *kind;
    unsigned char group[16];
    uint64_t id;
    int ranks;
    int holders;                        /* ranks of this process that have not freed their part */
    int references;                     /* those, and ranks that still recognise its freed addresses */
    enum quern_symmetric_life life;
    struct quern_symmetric_use *uses;

    struct quern_symmetric_part *part;  /* [ranks] */
    uint64_t digest;                    /* of the parts: the same in all processes */
    void **peer;                        /* [ranks] */
    int64_t *peer_bytes;                /* [ranks] */
    void *multicast;                    /* NULL: none, for this reason: */
    char no_multicast[240];
    bool lost_multicast;                /* that reason is an error of the driver ... */
    bool may_pass;                      /* ... which may pass: the step is to be tried again */
    int64_t least_bytes;                /* the smallest part: the limit of multicast */
    int64_t address_bytes;              /* addresses reserved in this process */
    bool reuses_addresses;              /* its addresses are not reserved: freed ones may belong to other memory */
    void *state;                        /* the kind's own data; NULL: none yet, or none at all */
};

/*
 * One step of making memory.  After each step all ranks agree that it has succeeded everywhere.  In each process the thread of the
 * lowest rank takes the step for all ranks of the process, unless every rank takes it by itself.
 */
struct quern_symmetric_step {
    quern_status (*run)(struct quern_symmetric_memory *memory, const struct quern_membership *member);
    bool every_rank;
    bool between_processes;             /* omitted if all ranks are in one process */
    bool for_multicast;                 /* if it fails, the memory has no multicast, for that reason; may run again */
};

struct quern_symmetric_kind {
    bool is_registration;
    const char *no_multicast;           /* why memory of this kind never has it; NULL: it may */
    size_t state_bytes;                 /* of the state, if the steps are those of symmetric_host.c */

    /* Describes a rank's part.  Fails for memory that cannot be made reachable.  part->bytes is set already. */
    quern_status (*describe)(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part);

    const struct quern_symmetric_step *steps;
    int step_count;

    /* Wraps each step; NULL: steps run without a wrapper. */
    quern_status (*take)(const struct quern_symmetric_step *step, struct quern_symmetric_memory *memory,
                         const struct quern_membership *member);

    /* Frees data that only the steps needed.  Called after the last step, or by close after any step. */
    void (*settle)(struct quern_symmetric_memory *memory);

    /* Notes that a rank of this process has freed its part; may be NULL. */
    void (*leave)(struct quern_symmetric_memory *memory, int rank);

    /* Whether no other process needs this memory; NULL: other processes have their own mappings. */
    bool (*may_close)(const struct quern_symmetric_memory *memory);

    void (*close)(struct quern_symmetric_memory *memory);    /* everything but the addresses */
    void (*discard)(struct quern_symmetric_memory *memory);  /* the addresses, and the state */

    /* Registrations: a number that differs between allocations at the same address; 0: unknown. */
    uint64_t (*generation)(const struct quern_membership *member, const void *pointer);

    /* Pending work: marks the end of a stream; whether the stream has reached the mark; waits until it has; frees the mark. */
    quern_status (*record)(const struct quern_membership *member, void *stream, struct quern_symmetric_use *use);
    bool (*has_ended)(const struct quern_symmetric_use *use);
    void (*await)(const struct quern_symmetric_use *use);
    void (*erase)(struct quern_symmetric_use *use);
};

/* Holds this process's record of memory `id`, which the first rank makes; NULL: out of memory. */
struct quern_symmetric_memory *quern_symmetric_hold(const struct quern_membership *member, const struct quern_symmetric_kind *kind,
                                                    uint64_t id, const struct quern_symmetric_part *parts);

/* A rank has freed its part.  use (NULL: none, else from malloc) marks its pending work. */
void quern_symmetric_unhold(struct quern_symmetric_memory *memory, int rank, struct quern_symmetric_use *use);

/* A rank no longer recognises the freed addresses. */
void quern_symmetric_unrefer(struct quern_symmetric_memory *memory);

/*
 * Closes and discards all unused memory of the process, if none of its kernels may wait for another rank; else the next call does.
 */
void quern_symmetric_sweep(void);

/* Waits for the work that was pending when a membership freed its parts. */
void quern_symmetric_await_uses(const struct quern_membership *member);

#endif
