/* What a group is inside the library: one rank's membership, and the transport that carries its operations. */
#ifndef QUERN_GROUP_H
#define QUERN_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/collective.h"
#include "runtime/device.h"
#include "quern.h"
#include "ranks/segment.h"
#include "os/text.h"

/* A set of ranks. */
struct quern_rank_set {
    uint32_t words[QUERN_RANK_WORDS];
    int count;
};

static inline bool quern_set_has(const struct quern_rank_set *set, int rank) { return set->words[rank / 32] >> rank % 32 & 1; }
static inline void quern_set_add(struct quern_rank_set *set, int rank) {
    set->count += !quern_set_has(set, rank);
    set->words[rank / 32] |= 1u << rank % 32;
}

struct quern_membership;

/*
 * How ranks reach each other.  A group takes the first row of the table in src/ranks/group.c that serves all its ranks; a further kind of
 * reach is a further row.  Every function may be called only with memberships of this transport.
 */
struct quern_transport {
    const char *name;

    /* Whether it serves these ranks: what each has written into the segment.  Else false, and the reason is appended to *why. */
    bool (*serves)(const struct quern_segment *segment, struct quern_text *why);

    /* Collective, after all have joined: whatever the transport keeps for each rank.  On failure nothing is kept. */
    quern_status (*attach)(struct quern_membership *const *members, int count);
    void (*detach)(struct quern_membership *member);

    quern_status (*barrier)(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream);

    /* Symmetric memory: see src/ranks/symmetric/symmetric.h. */
    const struct quern_symmetric_kind *allocated, *registered;

    /* Ragged all-to-all: see src/ranks/ragged/ragged_all_to_all.h. */
    const struct quern_ragged_transport *ragged;
};

extern const struct quern_transport quern_host_transport;   /* threads and processes of one host */
extern const struct quern_transport quern_cuda_transport;   /* GPUs of one host */

/* One rank's membership.  Used by one thread at a time, but for abort and report. */
struct quern_membership {
    struct quern_group *handle;
    quern_device *device;
    const struct quern_transport *transport;
    int rank, ranks;
    double timeout;                      /* seconds */
    int share_gpu;
    char label[64];                      /* "group NAME, rank 3": in front of details */
    struct quern_segment *segment;       /* shared by all ranks; mapped once per process */
    bool one_process;                    /* all ranks are of this process */
    struct quern_rank_set everyone;
    uint32_t everyones_digest;           /* quern_members_digest */
    uint32_t count[QUERN_RANK_LIMIT];    /* host meetings with each rank so far */
    uint32_t exchanges;                  /* so far: which half of the mailbox is next */
    int spins;                           /* how often a wait looks before it sleeps */
    uint32_t splits;                     /* so far */
    uint64_t symmetric_calls;            /* collective ones about symmetric memory so far */
    struct quern_symmetric_ranges *symmetric;  /* the rank's symmetric memory; NULL: none so far */
    void *attached;                      /* what the transport keeps */
};

/* The public handle.  It is never given back to the allocator, so that a use after destroy can be told. */
struct quern_group {
    struct quern_membership *member;     /* atomic; NULL: destroyed */
    uint32_t visitors;                   /* atomic: threads that abort or look at the membership, whose own thread does not */
    struct quern_group *next;
};

/* The membership behind a handle; fails for NULL, and for a handle that was destroyed. */
quern_status quern_member_of(const quern_group *group, struct quern_membership **member);

/* The memberships behind an array of handles that one thread passes to a collective call: of one group, no rank twice. */
quern_status quern_members_of(quern_group *const *groups, int count, struct quern_membership *members[QUERN_RANK_LIMIT]);

/* The members argument of barriers and all-to-alls (NULL: everyone): ascending ranks of the group, this one among them. */
quern_status quern_check_members(const struct quern_membership *member, const int *members, int count, struct quern_rank_set *set);

/* The limit of a call: its own (0: the group's), which must be a number that is not negative. */
quern_status quern_check_timeout(const struct quern_membership *member, double timeout, double *limit);

/* ---- meeting (src/ranks/meeting.c): the barrier on the host, for CPU ranks and for what ranks agree on ---- */

int64_t quern_now(void);  /* CLOCK_MONOTONIC, nanoseconds */

/* One meeting of some ranks.  A rank announces itself to all, then awaits all; a thread with several ranks first announces each. */
struct quern_meeting {
    enum quern_collective operation;
    enum quern_phase phase;
    const struct quern_rank_set *set;
    double timeout;
};

void quern_announce(struct quern_membership *member, const struct quern_meeting *meeting);

/*
 * Returns when all members of the set have announced themselves.  What they wrote before they did is then visible.
 * Errors poison the group: QUERN_PEER_TIMEOUT, QUERN_PEER_LOST, QUERN_PEER_MISMATCH; or return what it is poisoned with.
 */
quern_status quern_await(struct quern_membership *member, const struct quern_meeting *meeting);

quern_status quern_meet(struct quern_membership *member, const struct quern_meeting *meeting);  /* both */

/*
 * Gathers `bytes` bytes of every rank of the group on every rank: all[rank * bytes].  payloads[i] is of members[i].
 * Any number of bytes; collective over the whole group, on the host.  all may be NULL for 0 bytes: a meeting of the memberships.
 */
quern_status quern_exchange(struct quern_membership *const *members, int count, enum quern_collective operation,
                            const void *const *payloads, size_t bytes, void *all);

/* ---- poison (src/ranks/poison.c) ---- */

/* QUERN_OK, or fails with what the group is poisoned with.  Cheap. */
quern_status quern_check_poison(const struct quern_membership *member);

/* Poisons the group, unless it is already, wakes every waiting rank, logs the report, and fails with what it is poisoned with. */
quern_status quern_poison(const struct quern_membership *member, quern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same because of quern_group_abort, from any thread; the above is for the thread whose rank it is. */
void quern_poison_by_abort(const struct quern_membership *member);

/* A line on what the group is poisoned with, if it is; from any thread. */
void quern_report_poison(struct quern_text *text, const struct quern_membership *member);

/* "barrier", "ragged all-to-all (verdict)": where a tag says that a rank is. */
void quern_describe_tag(struct quern_text *text, uint32_t tag);

/* One line of quern_group_report, without its end. */
void quern_describe_rank(struct quern_text *text, const struct quern_segment *segment, int rank);

/* The words for a fault: "rank 1, peer 0, update 3: send_sizes is -2, expected 0 or more". */
void quern_describe_slice(struct quern_text *text, const struct quern_slice_report *report);

/* The status that belongs to a fault: QUERN_INVALID_SHAPE or QUERN_PEER_MISMATCH. */
quern_status quern_slice_status(const struct quern_slice_report *report);

/* ---- rendezvous (src/ranks/rendezvous.c): the segment's life ---- */

/*
 * Joins `count` ranks of one thread (devices, ranks, ...: already in the memberships) and waits for all others; not any longer when
 * the parent, if there is one, is poisoned.
 */
quern_status quern_rendezvous(const char *name, uint32_t first_epoch, const struct quern_membership *parent,
                              struct quern_membership *const *members, int count);

/* Unmaps the segment when no rank of this process uses it any more. */
void quern_release_segment(struct quern_segment *segment);

#endif
