/* Symmetric memory: allocation, registration, multicast and lookup, on CPUs, on GPUs and in pinned memory. */
#ifndef QUERN_RANKS_SYMMETRIC_H
#define QUERN_RANKS_SYMMETRIC_H

#include <pthread.h>

#include "ranks/descriptors.h"
#include "ranks/membership.h"
#include "runtime/cuda_driver.h"

/* ---- symmetric_memory.c ---- */

/*
 * The record that a process holds of one collective allocation or registration, and the interface of a kind of memory.  symmetric.c
 * runs the calls.  The kinds (symmetric_host.c, symmetric_pinned.c, symmetric_cuda.c, symmetric_cuda_register.c) supply the steps.
 */

enum { QUERN_TOLD_FREES = 4 };

/* A rank's part, as described to the other ranks before the first step. */
struct quern_symmetric_part {
    int64_t bytes;               /* as requested */
    uint64_t address;            /* registration: of the part, in the rank's own process */
    uint64_t base, base_bytes;   /* on a GPU: the allocation that contains it; base 0: it begins with the part */
    uint64_t control_group;      /* CPU: limits the memory of the rank's process; 0: none does */
    int32_t handle_kind;                 /* registration on a GPU: how other processes reach it */
    int32_t multicast;           /* this rank asks for it */
    CUipcMemHandle ipc;
    uint64_t freed[QUERN_TOLD_FREES];    /* ids of memory whose part the rank has freed, which other hosts must hear; 0: none */
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

    /* The handles of all ranks, [ranks], which they tell each other before the step: each its own; NULL: none are told. */
    CUmemFabricHandle *(*told)(const struct quern_symmetric_memory *memory);
};

struct quern_symmetric_kind {
    bool is_registration;
    const char *no_multicast;           /* why memory of this kind never has it; NULL: it may */
    bool has_bases;                     /* each part lies within an allocation, which the rank tells, too */
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

    /* Notes that a rank of this process, or of another host that tells so, has freed its part; may be NULL. */
    void (*leave)(struct quern_symmetric_memory *memory, int rank);

    /* Whether other hosts must hear that a rank has freed its part.  It asks once: then they are told.  NULL: they need not. */
    bool (*must_tell)(struct quern_symmetric_memory *memory, int rank);

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

/*
 * Between hosts: what a rank tells of the memory that it has freed, in the next call in which all ranks make memory, and what it
 * hears of another one.
 */
void quern_symmetric_tell_frees(const struct quern_membership *member, uint64_t freed[QUERN_TOLD_FREES]);
void quern_symmetric_hear_frees(const struct quern_membership *member, int rank, const uint64_t freed[QUERN_TOLD_FREES]);

/* No rank has used the multicast address of this memory, nor will one: it can be unbound. */
void quern_symmetric_abandon_multicast(struct quern_symmetric_memory *memory);

/* A rank no longer recognises the freed addresses. */
void quern_symmetric_unrefer(struct quern_symmetric_memory *memory);

/*
 * Closes and discards all unused memory of the process, if none of its kernels may wait for another rank; else the next call does.
 */
void quern_symmetric_sweep(void);

/* Waits for the work that was pending when a membership freed its parts. */
void quern_symmetric_await_uses(const struct quern_membership *member);

/* ---- gpu_mapping.c ---- */

/* The GPUs of this process, and the mapping of memory for all of them: for allocations and for registrations. */

/* The GPUs of this process's ranks, each once.  Their contexts are retained until the close. */
struct quern_local_gpus {
    const struct quern_cuda *cuda;
    int count;
    CUdevice device[QUERN_RANK_LIMIT];
    CUcontext context[QUERN_RANK_LIMIT];
};

quern_status quern_open_local_gpus(const struct quern_membership *member, struct quern_local_gpus *gpus);
void quern_close_local_gpus(struct quern_local_gpus *gpus);

/* Memory behind a driver's handle, mapped in this process. */
struct quern_cuda_mapping {
    CUdeviceptr address;   /* 0: none reserved */
    size_t bytes;
    bool mapped;
};

/* Reserves addresses and maps a handle's memory for all GPUs of the process; `whose` is for the detail: "the part of rank 3". */
quern_status quern_map_for_all(const struct quern_membership *member, const struct quern_local_gpus *gpus,
                               CUmemGenericAllocationHandle handle, size_t bytes, const char *whose,
                               struct quern_cuda_mapping *mapping);

/* Opens mapped memory to all GPUs of the process. */
quern_status quern_give_access(const struct quern_membership *member, const struct quern_local_gpus *gpus, CUdeviceptr address,
                               size_t bytes, const char *whose);

void quern_unmap(const struct quern_cuda *cuda, struct quern_cuda_mapping *mapping);    /* keeps the addresses */
void quern_unreserve(const struct quern_cuda *cuda, struct quern_cuda_mapping *mapping);

/* "the part of rank 3" */
struct quern_whose {
    char text[32];
};
struct quern_whose quern_part_of(int rank);

/* Functions of quern_symmetric_kind that are the same for all GPU memory. */
quern_status quern_cuda_take(const struct quern_symmetric_step *step, struct quern_symmetric_memory *memory,
                             const struct quern_membership *member);
quern_status quern_cuda_record(const struct quern_membership *member, void *stream, struct quern_symmetric_use *use);
bool quern_cuda_has_ended(const struct quern_symmetric_use *use);
void quern_cuda_await(const struct quern_symmetric_use *use);
void quern_cuda_erase(struct quern_symmetric_use *use);

/* ---- symmetric.c: making and freeing symmetric memory ---- */

/* quern_symmetric_alloc for memberships.  `operation` is the call that reports name. */
quern_status quern_symmetric_allocate(struct quern_membership *const *members, int count, enum quern_collective operation,
                                      const size_t *bytes, void **pointers);

/* Frees all symmetric memory of a membership.  Its work on the device has completed. */
void quern_symmetric_forget(struct quern_membership *member);

/* ---- symmetric_cuda.c: symmetric memory of GPU ranks that quern_symmetric_alloc makes ---- */

extern const struct quern_symmetric_kind quern_cuda_memory;

/* For the other kind of such memory: its functions, and the steps that make this process's parts and map those of others. */
quern_status quern_cuda_describe_part(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part);
quern_status quern_cuda_make_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_cuda_map_parts(struct quern_symmetric_memory *memory, const struct quern_membership *member);
void quern_cuda_settle_memory(struct quern_symmetric_memory *memory);
void quern_cuda_leave_memory(struct quern_symmetric_memory *memory, int rank);
bool quern_cuda_may_close(const struct quern_symmetric_memory *memory);
void quern_cuda_close_memory(struct quern_symmetric_memory *memory);
void quern_cuda_discard_memory(struct quern_symmetric_memory *memory);

/* What the kinds of memory of cuMemCreate have in common. */
#define QUERN_CUDA_MEMORY                                                                                             \
    .has_bases = true, .describe = quern_cuda_describe_part, .take = quern_cuda_take,                                 \
    .settle = quern_cuda_settle_memory,                                                                               \
    .leave = quern_cuda_leave_memory, .may_close = quern_cuda_may_close,                                              \
    .discard = quern_cuda_discard_memory, .record = quern_cuda_record,                                                \
    .has_ended = quern_cuda_has_ended, .await = quern_cuda_await, .erase = quern_cuda_erase

/* ---- symmetric_cuda_register.c: GPU memory that an engine made itself and registers ---- */

extern const struct quern_symmetric_kind quern_cuda_registration, quern_fabric_registration;

/* ---- symmetric_cuda_state.c: the state of an allocation on GPUs, and the way of its handles to other processes ---- */

/* Which ranks have freed their part. */
struct quern_ledger {
    uint32_t has_freed[QUERN_RANK_LIMIT];  /* atomic */
};

struct quern_cuda_part {
    CUmemGenericAllocationHandle handle;
    bool has_handle;             /* until all is settled, or, if it is bound to a multicast object, until the end */
    struct quern_cuda_mapping mapping;
};

struct quern_cuda_memory_state {
    struct quern_local_gpus gpus;
    int listener;                                    /* -1: none */
    int received[QUERN_DESCRIPTOR_TAGS];             /* -1: none */
    struct quern_ledger *ledger;                     /* atomic; NULL: all ranks are in one process */
    bool told[QUERN_RANK_LIMIT];                     /* other hosts know that a rank of this process has freed its part */
    struct quern_roster *roster;                     /* a rank that has ended will not free its part */
    CUmemFabricHandle *fabric;                       /* [ranks]: in place of descriptors, in a group of several hosts; else NULL */

    CUmemGenericAllocationHandle multicast;
    bool has_multicast;
    size_t multicast_bytes;
    bool joined[QUERN_RANK_LIMIT], bound[QUERN_RANK_LIMIT];  /* GPUs and parts of this process */
    CUdevice device[QUERN_RANK_LIMIT];               /* of the ranks of this process */
    struct quern_cuda_mapping multicast_mapping;

    struct quern_cuda_part part[];                   /* [ranks] */
};

static inline struct quern_cuda_memory_state *quern_cuda_state_of(const struct quern_symmetric_memory *memory) {
    return __atomic_load_n((struct quern_cuda_memory_state **)&memory->state, __ATOMIC_ACQUIRE);
}

/* The kinds of handles that the ranks need. */
int quern_cuda_handle_types(const struct quern_membership *member);

/*
 * Fails since the driver refuses a handle or the memory behind it.  Between hosts that is QUERN_NOT_SUPPORTED, for whatever reason
 * but a lack of memory: the GPUs are not of one fabric, or the process has no IMEX channel.
 */
quern_status quern_fail_handle(const struct quern_membership *member, CUresult error, const char *what);

/* A descriptor of the memory behind a handle, which the caller closes; -1 after a failure. */
quern_status quern_export_handle(const struct quern_membership *member, const struct quern_cuda *cuda,
                                 CUmemGenericAllocationHandle handle, int *descriptor);

/* Imports the memory behind a received descriptor, and closes the descriptor; or behind a fabric handle. */
quern_status quern_import_handle(const struct quern_membership *member, struct quern_cuda_memory_state *state, int tag,
                                 const char *whose, CUmemGenericAllocationHandle *handle);

quern_status quern_export_fabric(const struct quern_membership *member, const struct quern_cuda *cuda,
                                 CUmemGenericAllocationHandle handle, CUmemFabricHandle *fabric);
quern_status quern_import_fabric(const struct quern_membership *member, const struct quern_cuda *cuda, CUmemFabricHandle *fabric,
                                 CUmemGenericAllocationHandle *handle);

/* ---- symmetric_fabric.c: the same for ranks of several hosts whose GPUs have one fabric ---- */

extern const struct quern_symmetric_kind quern_fabric_memory;

/* ---- symmetric_host.c: symmetric memory of CPU ranks ---- */

extern const struct quern_symmetric_kind quern_host_memory, quern_host_registration;

/* ---- for kinds whose memory is such a file, too ---- */

struct quern_host_memory {
    int descriptor, listener;   /* -1: none, or closed */
    char *addresses;            /* NULL: none yet */
    size_t address_bytes;       /* more than the file's, so that huge pages can be aligned */
    char *mapping;
};

quern_status quern_host_describe(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part);

quern_status quern_host_begin(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_host_send(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_host_receive(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_host_map(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_host_set_aside(struct quern_symmetric_memory *memory, const struct quern_membership *member);

/* The steps that make the memory. */
#define QUERN_HOST_STEPS                                    \
    {.run = quern_host_begin},                              \
    {.run = quern_host_send, .between_processes = true},    \
    {.run = quern_host_receive, .between_processes = true}, \
    {.run = quern_host_map},                                \
    {.run = quern_host_set_aside, .every_rank = true}

size_t quern_host_file_bytes(const struct quern_symmetric_memory *memory);

void quern_host_settle(struct quern_symmetric_memory *memory);
void quern_host_close(struct quern_symmetric_memory *memory);
void quern_host_discard(struct quern_symmetric_memory *memory);

/* ---- symmetric_lookup.c: lookups among the symmetric ranges of a rank ---- */

/*
 * A place in symmetric memory, as one rank sees it.  `id` counts the group's collective allocations and registrations.  It is the
 * same on every rank and never used again, so (id, offset) names the place in every process.
 */
struct quern_symmetric_location {
    uint64_t id;
    int64_t offset;                  /* bytes from the beginning of this rank's part */
    int64_t bytes;                   /* of this rank's part */
    void *const *peer;               /* [ranks] the address of each rank's part in this process */
    const int64_t *peer_bytes;       /* [ranks] */
    void *multicast;                 /* the address that reaches all parts, or NULL */
};

/* How a rank knows a piece of memory. */
enum quern_symmetric_state { QUERN_MEMORY_PRIVATE, QUERN_MEMORY_SYMMETRIC, QUERN_MEMORY_FREED };

/*
 * Looks up [pointer, pointer + bytes) among the ranges of a rank.  SYMMETRIC: one range contains all of it.  FREED: it begins in a
 * range that this rank has freed.  *place is valid until the rank frees the range.  Never fails and sets no detail.
 */
enum quern_symmetric_state quern_symmetric_find(const struct quern_membership *member, const void *pointer, int64_t bytes,
                                              struct quern_symmetric_location *place);

/* The same of a call's buffer.  Fails if it is FREED; without an address or bytes it is PRIVATE. */
quern_status quern_symmetric_find_buffer(const struct quern_membership *member, const char *name, const void *pointer,
                                         int64_t bytes, enum quern_symmetric_state *state, struct quern_symmetric_location *place);

/* The same of a call's workspace, of which `needed` bytes must be there and SYMMETRIC. */
quern_status quern_symmetric_find_workspace(const struct quern_membership *member, const void *workspace, size_t bytes,
                                            size_t needed, enum quern_symmetric_state *state,
                                            struct quern_symmetric_location *place);

/* The same for another thread than the rank's, which may be changing the ranges. */
enum quern_symmetric_state quern_symmetric_find_beside(const struct quern_membership *member, const void *pointer, int64_t bytes,
                                                       struct quern_symmetric_location *place);

/* A digest of the ids that this rank can resolve: it can reach the same memory as another rank with the same digest. */
uint64_t quern_symmetric_live(const struct quern_membership *member);

/* How many allocations the rank has freed. */
uint64_t quern_symmetric_frees(const struct quern_membership *member);

/* The address of (id, offset) of a rank's part in this process; NULL: no such range, or the part ends before offset + bytes. */
void *quern_symmetric_resolve(const struct quern_membership *member, uint64_t id, int64_t offset, int64_t bytes, int rank);

/* The same for another thread than the rank's, which may be changing the ranges. */
void *quern_symmetric_resolve_beside(const struct quern_membership *member, uint64_t id, int64_t offset, int64_t bytes, int rank);

/* ---- symmetric_multicast.c: the multicast object of an allocation on GPUs ---- */

enum { QUERN_FIRST_WITH_MULTICAST = 90 /* compute capability */ };

CUmulticastObjectProp quern_multicast_properties(const struct quern_membership *member, size_t bytes);

/* The steps, in this order.  A failure is a reason against multicast. */
quern_status quern_check_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_make_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_join_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_bind_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member);

/* Unmaps and unbinds what the steps have made.  The addresses stay reserved. */
void quern_close_multicast(struct quern_symmetric_memory *memory);

/* ---- symmetric_pinned.c: symmetric memory of GPU ranks in host memory, where GPUs cannot reach each other's ---- */

extern const struct quern_symmetric_kind quern_pinned_memory, quern_pinned_registration;

/* ---- symmetric_ranges.c ---- */

/*
 * The symmetric ranges of one rank, in its membership: found by address, and by id.
 *
 * Ranges of a rank never overlap: a registration that overlaps another live range is refused.  A freed allocation stays in the
 * table and its addresses stay reserved until 32 later ones or 64 GiB have been freed.  Until then a use after free is recognised.
 */

struct quern_symmetric_range {
    const char *base;
    int64_t bytes;
    uint64_t id;
    struct quern_symmetric_memory *memory;
    uint64_t generation;                  /* registrations: of the allocation that contains it */
    int registrations;                    /* of this id that have not ended; 0: an allocation */
    uint64_t freed;                       /* its number among the freed ranges; 0: live */
    struct quern_symmetric_range *older;  /* an earlier registration of the same range, with other ranges of the peers */
};

struct quern_symmetric_ranges {
    pthread_mutex_t lock;                    /* held by the rank's thread while it changes this, and by others while they look */
    struct quern_symmetric_range **by_base;  /* ascending; the newest of each range */
    uintptr_t *base;                         /* of each of by_base: a search reads nothing else */
    struct quern_symmetric_range **by_id;    /* ascending; all that are live */
    int based, identified, capacity;
    uint64_t live;                           /* a digest of the ids in by_id */
    uint64_t frees;                          /* so far */
    struct quern_symmetric_range *stale;     /* removed, but held until the end: pending work may use the peers' parts */
};

/* The table of a membership, made on first use; NULL: out of memory. */
struct quern_symmetric_ranges *quern_symmetric_ranges_of(struct quern_membership *member);

/* Makes room for one more range, so that the next insertion cannot fail. */
bool quern_symmetric_reserve(struct quern_symmetric_ranges *ranges);

/* Inserts a live range.  An existing range at the same base becomes its older one. */
void quern_symmetric_insert(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* Removes a registration whose allocation was freed, with its older ones, and holds it until the end. */
void quern_symmetric_set_aside(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* The earliest registration of a range that has not ended; and its removal, after which the caller owns it. */
struct quern_symmetric_range *quern_symmetric_oldest(struct quern_symmetric_range *range);
void quern_symmetric_remove_oldest(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* Marks an allocation as freed, and drops the oldest freed ones beyond the limit. */
void quern_symmetric_retire(struct quern_symmetric_ranges *ranges, struct quern_symmetric_range *range);

/* The live or freed range that contains pointer or begins there; NULL: none. */
struct quern_symmetric_range *quern_symmetric_range_at(const struct quern_symmetric_ranges *ranges, const void *pointer);

/* The first live or freed range with a byte in [pointer, pointer + bytes); NULL: none. */
struct quern_symmetric_range *quern_symmetric_overlapped(const struct quern_symmetric_ranges *ranges, const void *pointer,
                                                         int64_t bytes);

/* The live range with an id; NULL: none. */
struct quern_symmetric_range *quern_symmetric_range_of_id(const struct quern_symmetric_ranges *ranges, uint64_t id);

#endif
