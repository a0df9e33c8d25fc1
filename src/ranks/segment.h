/*
 * The segment: the shared memory in which the ranks of a group meet and signal on the host.
 *
 * It is a file of POSIX shared memory.  Its name is removed when all ranks have joined, and it lives until the last process unmaps
 * it.  It is registered with the CUDA driver, so that kernels can record errors in it and can see that the group is poisoned.
 * Fields marked atomic are accessed with the __atomic builtins only.
 *
 * Any process of this user can write here.  A rank uses its own number of ranks, reads a field once into a variable, and checks
 * what it read before it uses it as anything but text.
 */
#ifndef QUERN_SEGMENT_H
#define QUERN_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/collective.h"
#include "os/address.h"
#include "os/cpu_quota.h"
#include "os/process_end.h"

enum {
    QUERN_GROUP_LIMIT = 512,       /* ranks of a group of several hosts; of a host: QUERN_RANK_LIMIT */
    QUERN_GROUP_WORDS = QUERN_GROUP_LIMIT / 32,
    QUERN_MAILBOX_BYTES = 1024,
    QUERN_EAGER_BYTES = 2048,      /* see src/ranks/ragged/ragged.h */
    QUERN_TOLD_WORDS = 7,
    QUERN_POISON_TEXT_BYTES = 1024,
    QUERN_ABORT_TEXT_BYTES = 161,
};

enum quern_segment_state { QUERN_SEGMENT_FORMING = 1, QUERN_SEGMENT_READY = 2, QUERN_SEGMENT_REFUSED = 3 };

enum quern_rank_state { QUERN_RANK_ABSENT = 0, QUERN_RANK_CLAIMED = 1, QUERN_RANK_JOINED = 2, QUERN_RANK_LEFT = 3,
                        QUERN_RANK_ELSEWHERE = 4, QUERN_RANK_ENDED = 5  /* of another host: see src/ranks/hosts/hosts.h */ };

/* Its host has told that it has ended; is silent; its connection has ended. */
enum quern_loss { QUERN_LOSS_TOLD = 0, QUERN_LOSS_TIMEOUT, QUERN_LOSS_CONNECTION };

/* Whether all hosts have one poison: see src/ranks/hosts/monitor.c. */
enum quern_poison_agreement { QUERN_AGREED_ALONE = 0 /* this host has no monitor */, QUERN_AGREES = 1 /* not yet */,
                              QUERN_AGREED = 2 };

/* The process of a rank.  Two name spaces may give one number to two processes; the random numbers differ. */
struct quern_process {
    unsigned char id[16];  /* random */
    int32_t pid;           /* in its own name space: for texts */
};

/* See src/ranks/eventcount.h. */
struct quern_eventcount {
    uint32_t count;              /* atomic; a futex: of notifications */
    uint32_t has_waiter;         /* atomic: 1: a thread sleeps until the count changes */
};

/* Each host's knowledge of each rank.  Of a rank of another host it mirrors the words of that host's monitor. */
struct quern_segment_rank {
    _Alignas(64) uint32_t state; /* atomic; enum quern_rank_state */
    uint32_t seat;               /* atomic: of a rank of this host: the slot of its place and 1; 0: none so far */
    struct quern_process process;
    int32_t device_kind;         /* quern_device_kind */
    int32_t device_ordinal;      /* in its own process */
    unsigned char device_uuid[16];
    int32_t share_gpu;
    int32_t has_fabric;          /* its GPU's memory can have handles for other hosts */
    int32_t host;                /* its number; 0 in a group of one host */
    uint32_t transports;               /* of data between hosts that it allows: bits of src/ranks/hosts/hosts.h */
    uint32_t failure_timeout;            /* microseconds: after which it counts a host as lost */
    struct quern_address address;  /* where it expects the ranks of other hosts */
    uint32_t loss;               /* atomic; enum quern_loss: why a rank of another host counts as ended */

    /* For reports: the call it is in.  Each field is atomic by itself. */
    uint32_t tag;
    uint32_t meetings;           /* on the host so far */
    uint32_t asleep_in_meeting;  /* 1: it sleeps in a meeting ... */
    int64_t since;               /* ... since this time: CLOCK_MONOTONIC, nanoseconds */
};

/* The text of a poison, and the ranks that were waited for in vain. */
struct quern_poison_reason {
    char text[QUERN_POISON_TEXT_BYTES];
    uint32_t missing[QUERN_GROUP_WORDS];
};

/* Copies bytes that others may be writing, each by itself: the caller looks twice at what says whose they are. */
static inline void quern_copy_atomically(void *to, const void *from, size_t bytes) {
    const unsigned char *source = from;
    unsigned char *target = to;
    for (size_t i = 0; i < bytes; i++)
        __atomic_store_n(&target[i], __atomic_load_n(&source[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/* That of a rank of another host. */
struct quern_heard_reason {
    uint32_t from;               /* atomic: the rank and 1; 0: none */
    struct quern_poison_reason reason;
};

/* The decision of a round of a shrink between hosts: src/ranks/hosts/hosts.h. */
struct quern_decision {
    uint32_t round;              /* atomic: of the host; 0: none so far */
    uint32_t status;             /* quern_status: not QUERN_OK: no group is formed */
    unsigned char number[16];    /* random: of the new group's name */
    struct quern_address place;  /* where its ranks meet */
    uint32_t living[QUERN_GROUP_WORDS];  /* its ranks, by their old numbers */
    char reason[240];
};

/* The place of a rank of this host. */
struct quern_segment_place {
    struct quern_process_mark mark;  /* of its process */
    struct quern_cores cores;    /* on which its thread could run when it joined */
    uint32_t quota;              /* thousandths of a core, of its process's control group; UINT32_MAX: no limit */
    uint64_t quota_group;        /* the group's number; 0: no limit */

    uint32_t shrink;             /* atomic: see src/ranks/group/shrink.c */
    struct quern_decision decision[2];  /* by this rank for its host, in turns */

    /* The protocol of sleeping in a meeting of some ranks: see src/ranks/meeting.c. */
    _Alignas(64) uint32_t arrivals;  /* atomic; a futex: counts the signals put into its pad */
    uint32_t wake_at;                /* atomic: wake it when arrivals reaches this */

    struct quern_eventcount eventcount;          /* of transfers, and of what comes from other hosts */

    struct quern_poison_reason reason;  /* of a poison by its own thread */
    char abort_reason[QUERN_ABORT_TEXT_BYTES];  /* the text of an abort by its process */
    _Alignas(64) struct quern_kernel_error error;  /* atomic kind */
    _Alignas(64) unsigned char mailbox[2][QUERN_MAILBOX_BYTES];
};

struct quern_segment {
    uint64_t magic;              /* atomic; written last by the creator */
    uint32_t layout;             /* differs between incompatible versions of the library */
    uint32_t ranks;
    uint32_t first_epoch;
    unsigned char id[16];        /* random: part of the names of sockets and of groups made by a split */
    uint32_t state;              /* atomic; enum quern_segment_state; a futex */
    uint32_t joined;             /* atomic */
    uint32_t seated;             /* atomic: slots that ranks have taken */

    /* A group of several hosts: see src/ranks/hosts. */
    uint32_t here;               /* its ranks of this host; in a group of one host all */
    uint32_t met;                /* atomic; a futex: the facts of the ranks of other hosts are in their places */
    int32_t hosts;
    unsigned char meeting[32];   /* a random number of this meeting of hosts */
    uint32_t told;               /* atomic: the other hosts know of the poison */
    uint32_t agreement;          /* atomic; enum quern_poison_agreement */
    uint32_t rejections[8];       /* atomic: connections that came to nothing, by enum quern_rejection */

    /* Poison: see src/ranks/poison.c. */
    _Alignas(64) uint32_t poison;   /* atomic; not 0: the group is poisoned.  Kernels set it, too. */
    uint32_t poison_by;             /* atomic; the source, rank and status of the poison: set once, by hosts only */
    uint32_t gone[QUERN_RANK_WORDS];  /* atomic; a bit for each rank that has ended or left, for kernels: src/ranks/watch.c */
    struct quern_heard_reason heard[2];  /* of poisons of other hosts, in turns: each precedes the one before */

    /* The protocol of sleeping in a meeting of all ranks: see src/ranks/meeting.c. */
    _Alignas(64) uint32_t wakes;    /* atomic; a futex: counts the times when all sleepers were woken */
    uint32_t sleeps_in;             /* atomic: the epoch of the meeting in which a rank sleeps */

    struct quern_segment_rank rank[];  /* [ranks], then of this host's ranks the places, the pads, the lines and the eager
                                          messages */
};

/*
 * The signals of a rank for the meetings of all ranks, in turns, and what it tells beside each, which comes with the signal on the
 * same line.  A half is written again when all have read it, for the meeting after the next.  Processors fetch lines in pairs.
 */
struct quern_signal_line {
    _Alignas(128) struct quern_signal_half {
        _Alignas(64) uint64_t told[QUERN_TOLD_WORDS];  /* first: a vector that is loaded from here does not reach the next line */
        quern_signal signal;               /* atomic */
    } half[2];
};

/* Of a group of `ranks` ranks, of which `here` are of this host. */
static inline uint64_t quern_segment_bytes(uint32_t ranks, uint32_t here) {
    return sizeof(struct quern_segment) + (uint64_t)ranks * sizeof(struct quern_segment_rank) +
           (uint64_t)here * sizeof(struct quern_segment_place) + (uint64_t)here * quern_pad_stride(here) * sizeof(quern_signal) +
           ((uint64_t)here + 1) * sizeof(struct quern_signal_line) + (uint64_t)here * 2 * QUERN_EAGER_BYTES;
}

/* Where the parts of the segment are.  A process has its own copy of these numbers. */
struct quern_segment_view {
    struct quern_segment *segment;
    uint32_t ranks, here;
};

static inline struct quern_segment_place *quern_segment_place(const struct quern_segment_view *view, uint32_t slot) {
    return (struct quern_segment_place *)(view->segment->rank + view->ranks) + slot;
}

/* The pad of a slot: signal [s] is written by slot s. */
static inline quern_signal *quern_segment_pad(const struct quern_segment_view *view, uint32_t slot) {
    return (quern_signal *)quern_segment_place(view, view->here) + (uint64_t)slot * quern_pad_stride(view->here);
}

/* The signals of a rank for the meetings of all ranks: on lines of their own, behind the pads. */
static inline struct quern_signal_line *quern_segment_line(const struct quern_segment_view *view, uint32_t slot) {
    const uintptr_t end = (uintptr_t)quern_segment_pad(view, view->here), line = sizeof(struct quern_signal_line);
    return (struct quern_signal_line *)((end + line - 1) / line * line) + slot;
}

/* A half of a rank's eager message: behind the lines. */
static inline unsigned char *quern_segment_eager(const struct quern_segment_view *view, uint32_t slot, uint32_t half) {
    return (unsigned char *)quern_segment_line(view, view->here) + ((uint64_t)slot * 2 + half % 2) * QUERN_EAGER_BYTES;
}

#endif
