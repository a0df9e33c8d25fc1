/*
 * The segment: the shared memory in which the ranks of a group meet and signal on the host.
 *
 * It begins as a file of POSIX shared memory, has its name removed when all ranks have joined, and lives until the last process
 * unmaps it.  GPUs see it too (it is registered with the driver), so that kernels can leave incidents and see that the group has
 * been poisoned.  Fields marked atomic are accessed with the __atomic builtins only.
 */
#ifndef QUERN_SEGMENT_H
#define QUERN_SEGMENT_H

#include <stdint.h>

#include "kernels/collective.h"
#include "os/process.h"

enum {
    QUERN_MAILBOX_BYTES = 1024,
    QUERN_POISON_TEXT_BYTES = 1024,
};

enum quern_segment_state { QUERN_SEGMENT_FORMING = 1, QUERN_SEGMENT_READY = 2 };

enum quern_rank_state { QUERN_RANK_ABSENT = 0, QUERN_RANK_CLAIMED = 1, QUERN_RANK_JOINED = 2, QUERN_RANK_LEFT = 3 };

/* What a rank tells of itself. */
struct quern_segment_rank {
    uint32_t state;              /* atomic; enum quern_rank_state */
    struct quern_process process;
    int32_t device_kind;         /* quern_device_kind */
    int32_t device_ordinal;      /* in its own process */
    unsigned char device_uuid[16];
    int32_t share_gpu;

    /* For reports: where it is.  Atomic, each on its own. */
    uint32_t tag;
    uint32_t meetings;           /* on the host so far */
    uint32_t asleep_in_meeting;  /* 1: it has been waiting long enough to sleep, ... */
    int64_t since;               /* ... since then: CLOCK_MONOTONIC, nanoseconds */

    /* How it sleeps: see src/ranks/meeting.c. */
    _Alignas(64) uint32_t arrivals;  /* atomic; the futex: signals that were put into its pad */
    uint32_t wake_at;                /* atomic: the number of arrivals at which it wants to be woken, if it sleeps */

    char reason[QUERN_POISON_TEXT_BYTES];  /* why its own thread poisons the group */
    _Alignas(64) struct quern_incident incident;  /* atomic kind */
    _Alignas(64) unsigned char mailbox[2][QUERN_MAILBOX_BYTES];
};

struct quern_segment {
    uint64_t magic;              /* atomic; written last by the creator */
    uint32_t layout;             /* QUERN_SEGMENT_LAYOUT: of another version of the library when it differs */
    uint32_t bytes;
    uint32_t ranks;
    uint32_t first_epoch;
    unsigned char id[16];        /* random: names sockets and the groups that are split off */
    uint32_t state;              /* atomic; enum quern_segment_state; a futex */
    uint32_t joined;             /* atomic */

    /* Poison: see src/ranks/poison.c. */
    _Alignas(64) uint32_t poison;   /* atomic; not 0: the group is poisoned.  Kernels set it, too */
    uint32_t poison_by;             /* atomic; with what, on all ranks: set once, by hosts only */

    _Alignas(64) struct quern_segment_rank rank[];  /* [ranks], then the pads: quern_signal [ranks][pad stride] */
};

static inline uint64_t quern_segment_bytes(uint32_t ranks) {
    return sizeof(struct quern_segment) + (uint64_t)ranks * sizeof(struct quern_segment_rank) +
           (uint64_t)ranks * quern_pad_stride(ranks) * sizeof(quern_signal);
}

/* The pad of one rank: signal [s] is written by rank s. */
static inline quern_signal *quern_segment_pad(struct quern_segment *segment, int rank) {
    quern_signal *pads = (quern_signal *)(segment->rank + segment->ranks);
    return pads + (uint64_t)rank * quern_pad_stride(segment->ranks);
}

#endif
