/*
 * One rank's membership of a group, the set of ranks of a call, and the row of a transport: what all of src/ranks shares.
 * Types only, so that everything here may include it.
 */
#ifndef QUERN_MEMBERSHIP_H
#define QUERN_MEMBERSHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/collective.h"
#include "os/digest.h"
#include "os/text.h"
#include "quern.h"
#include "ranks/spin.h"
#include "ranks/roster.h"
#include "ranks/segment.h"
#include "runtime/device.h"

/* A set of ranks.  Of its words only those for the group's ranks are used: see quern_set_words. */
struct quern_rank_set {
    uint32_t words[QUERN_GROUP_WORDS];
    int count;
};

/* How many words sets of a group have: never less than kernels take. */
static inline int quern_set_words(int ranks) {
    return (ranks + QUERN_RANK_LIMIT - 1) / QUERN_RANK_LIMIT * QUERN_RANK_WORDS;
}

static inline size_t quern_set_bytes(int ranks) { return (size_t)quern_set_words(ranks) * sizeof(uint32_t); }

/* For tags, of 16 bits: that of kernels, whose groups have at most 128 ranks. */
static inline uint32_t quern_set_digest(const struct quern_rank_set *set, int ranks) {
    return ranks <= QUERN_RANK_LIMIT ? quern_members_digest(set->words)
                                     : (uint32_t)(quern_digest(set->words, quern_set_bytes(ranks)) >> 48);
}

/* Sets of up to 128 ranks are told whole.  Of others a digest, so that a mask of 512 bits does not go to each member. */
static inline void quern_set_describe(const struct quern_rank_set *set, int ranks, uint64_t members[2]) {
    members[0] = quern_digest(set->words, quern_set_bytes(ranks));
    members[1] = (uint64_t)set->count;
    if (ranks <= QUERN_RANK_LIMIT) memcpy(members, set->words, 2 * sizeof *members);
}

static inline bool quern_set_has(const struct quern_rank_set *set, int rank) { return set->words[rank / 32] >> rank % 32 & 1; }
static inline void quern_set_add(struct quern_rank_set *set, int rank) {
    set->count += !quern_set_has(set, rank);
    set->words[rank / 32] |= 1u << rank % 32;
}

/* Whether a step succeeded on one rank: see src/ranks/agreement.h. */
struct quern_vote {
    int32_t status;     /* quern_status */
    int32_t unused;
    uint64_t value;     /* for the caller */
    char reason[240];   /* why it failed */
};

struct quern_membership;
struct quern_meeting;
struct quern_transfers;

/* How ranks of several hosts meet: the parts of src/ranks/hosts that lower files call.  A group of one host has none. */
struct quern_control {
    /* As quern_exchange, of up to QUERN_MAILBOX_BYTES: traded with other hosts, and met in the memory of this one. */
    quern_status (*exchange)(struct quern_membership *member, const struct quern_meeting *meeting, const void *piece, size_t bytes);
    unsigned char *(*mailbox)(const struct quern_membership *member, int rank);  /* of a rank of another host */

    /* The rank's place says that it has left. */
    void (*leave)(struct quern_membership *member);
};

/*
 * How ranks reach each other.  A group uses the first row of the table in src/ranks/group/form.c that serves all its ranks.
 * Every function takes memberships of its own transport only.
 */
struct quern_transport {
    const char *name;
    bool reaches_hosts;                  /* ranks have addresses of each other's symmetric memory also between hosts */

    /* Whether it serves these ranks.  If not, the reason is appended to *why. */
    bool (*serves)(const struct quern_roster *roster, struct quern_text *why);

    /* Collective, after all ranks have joined: makes the transport's data of each rank.  On failure nothing is kept. */
    quern_status (*attach)(struct quern_membership *const *members, int count);
    void (*detach)(struct quern_membership *member);

    /* Looks for an error that has ended the rank's device, which then poisons the group; NULL: there is none. */
    quern_status (*look)(const struct quern_membership *member);

    /*
     * Waits for the rank's own work, before it is detached; NULL: there is none.  QUERN_INVALID_ARGUMENT: it cannot wait now.  Any
     * other error is of work that has ended.
     */
    quern_status (*settle)(const struct quern_membership *member);

    quern_status (*barrier)(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream);

    /* Symmetric memory: src/ranks/symmetric/symmetric.h. */
    const struct quern_symmetric_kind *allocated, *registered;

    /* Ragged all-to-all: src/ranks/ragged/ragged.h. */
    const struct quern_ragged_transport *ragged;

    /* Collectives: src/ranks/collective/collective.h.  NULL: it has none. */
    const struct quern_collective_transport *collective;

    /* Quantised chunks: src/ranks/chunks/chunks.h.  NULL: it has none. */
    const struct quern_chunks_transport *chunks;
};

/* One rank's membership.  Used by one thread at a time, except for abort and report. */
struct quern_membership {
    struct quern_group *handle;
    quern_device *device;
    const struct quern_transport *transport;
    char detour[240];                    /* why an earlier row of the table of transports is not used; "": none failed */
    int rank, ranks;
    int here;                            /* ranks of this host */
    double timeout;                      /* seconds: of a wait at present ... */
    double first_timeout, steady_timeout;  /* ... until the first barrier or all-to-all has succeeded, and after it */
    int share_gpu;
    int multicast;                       /* for memory of quern_symmetric_alloc */
    int progress, progress_core;         /* as in quern_group_args */
    uint32_t failure_timeout;                    /* microseconds: after which a host is lost.  0: the group is of one host */
    char label[64];                      /* "group NAME, rank 3": prefix of details */
    const uint16_t *numbers;             /* while the group is formed: of the ranks in texts; NULL: their own */
    uint32_t first_epoch;
    struct quern_roster *roster;         /* what this process knows of the group */
    struct quern_segment *segment;       /* the roster's: any process may write there */
    const struct quern_control *control; /* NULL: the group is of one host */
    struct quern_net *net;             /* the connections to ranks of other hosts; NULL: there are none */
    struct quern_address address;        /* where it expects them */
    quern_carrier carrier;               /* the engine's, if the ways have one; its name is a copy */
    char carrier_name[16];
    uint32_t transports;                       /* bits, of src/ranks/hosts/hosts.h: those that this rank allows */
    bool one_process;                    /* all ranks of this host are in this process */
    bool has_eager;                     /* on each host that holds, or each rank is in a process of its own */
    /* Of the ranks of this host, by their slots: */
    quern_signal *from[QUERN_RANK_LIMIT], *to[QUERN_RANK_LIMIT];  /* the signals of each rank for this one, and back */
    struct quern_signal_line *line_of[QUERN_RANK_LIMIT];  /* each rank's signals for the meetings of all ranks */
    uint32_t count[QUERN_RANK_LIMIT];    /* host meetings of some ranks so far: with each rank */
    struct quern_signal_line *own_line[2];  /* this rank's: for the ranks of this process; for the others; NULL: there are none */
    struct quern_rank_set everyone;
    uint32_t everyones_digest;           /* quern_set_digest */
    uint32_t all_count;                  /* host meetings of all ranks so far */
    uint32_t missing[QUERN_GROUP_WORDS]; /* the ranks of the wait that failed */
    uint32_t exchanges;                  /* so far; its parity selects the half of the mailbox */
    struct quern_spin polls, yields; /* how often a wait looks again before it yields its core, and before it sleeps */
    uint32_t splits;                     /* so far */
    bool is_shrunk;                      /* quern_group_shrink was called */
    uint64_t symmetric_calls;            /* collective calls about symmetric memory so far */
    struct quern_symmetric_ranges *symmetric;  /* the rank's symmetric memory; NULL: none so far */
    size_t eager_bytes;                  /* of the last exchange */
    struct quern_collective_again *again;  /* the last collective: src/ranks/collective/collective.h */
    void *lists;                         /* of the last exchange without a plan, for the next one */
    size_t lists_bytes;
    void *attached;                      /* the transport's data */
    struct quern_transfers *transfers;   /* src/ranks/transfer; NULL: none so far */
    struct quern_vote vote;              /* of the next agreement */
    struct quern_vote heard[];           /* [ranks]: all votes of the last agreement.  128 would be half of a small stack. */
};

/* The number of a rank in texts. */
static inline int quern_told_rank(const struct quern_membership *member, int rank) {
    return member->numbers ? member->numbers[rank] : rank;
}

/* The public handle.  It is never freed, so that a use after destroy is an error and not a crash. */
struct quern_group {
    struct quern_membership *member;     /* atomic; NULL: destroyed */
    uint32_t visitors;                   /* atomic: other threads that abort or read the membership at the moment */
    struct quern_group *next;
};

#endif
