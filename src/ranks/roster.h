/*
 * A group as one process knows it.  For all of src/ranks.
 *
 * Any process of this user can write into the segment, so nothing that lies there is believed.  Whatever a rank acts on is here, in
 * the process's own memory: its ranks, the facts of the other ranks, which are read once, and the signals and mailboxes by which
 * ranks of one process meet.  One roster for each group and process; its ranks share it.
 *
 * A rank lives while its process holds the rank's byte of the segment's file locked.  The system releases the lock when the process
 * ends or calls exec, in any name space.  A large process is missed earlier, when the system begins to end it, where both processes
 * have one /proc.
 *
 * A lock is held by whatever refers to its open file description: descriptors and mappings, and their copies in children.  So each
 * lock has a description of its own, to which one mapping refers that no child inherits, and no descriptor.
 */
#ifndef QUERN_ROSTER_H
#define QUERN_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/process_end.h"
#include "ranks/segment.h"
#include "runtime/device.h"

/* What a process knows of a rank.  The numbers of a rank of another process are what that process says. */
struct quern_peer {
    bool is_here;                /* in this process */
    bool is_elsewhere;           /* on another host: what lies in its place mirrors what its host says */
    uint32_t slot;               /* of its place, if it is of this host */
    int host;                    /* the number of its host */
    struct quern_address address;
    int leader;                  /* the lowest rank of its process */
    struct quern_process process;
    struct quern_process_mark mark;
    int64_t looked;              /* atomic: when its process was looked at, by quern_now; INT64_MAX: it is ending */
    void *lock;                  /* of a rank of this process: the mapping that holds it; NULL: none */
    int32_t device_kind;         /* quern_device_kind */
    int32_t device_ordinal;      /* in its own process */
    unsigned char device_uuid[16];
    int32_t share_gpu;
    int32_t has_fabric;
    uint32_t transports;               /* of data that it allows: bits of src/ranks/hosts/hosts.h */
};

struct quern_roster {
    struct quern_roster *next;
    uint64_t device, inode;      /* of the segment's file */
    int descriptor;              /* of the file; holds no rank's lock */
    struct quern_segment *segment;
    size_t bytes;                /* mapped */
    int users;
    bool is_inherited;           /* this process is a forked child: its parent is the rank */

    int ranks;                   /* 0: no rank of this process has a place yet */
    struct quern_segment_view view;  /* of the segment, by this process's numbers of ranks */
    int here;                    /* ranks of this host */
    uint16_t rank_at[QUERN_RANK_LIMIT];  /* [here]: the rank of each slot */
    uint16_t leader_of[QUERN_GROUP_LIMIT];  /* [hosts]: the lowest rank of each host */
    bool is_complete;            /* the facts of all ranks are known ... */
    int misplaced;               /* ... and this rank has no slot of its own; `ranks`: a slot has no rank; -1: all is well */
    struct quern_process self;
    struct quern_process_mark own_mark;
    unsigned char id[16];        /* of the group */
    bool is_crowded;             /* the ranks had not a core each when they joined */
    int hosts;
    int host_leader;                 /* the lowest rank of this host; 0 in a group of one host */
    struct quern_monitor *monitor; /* atomic; of the leader's process: src/ranks/hosts/hosts.h */
    struct quern_peer peer[QUERN_GROUP_LIMIT];
    /* By slot: */
    quern_signal *pads;          /* [here][pad stride]: the signals between ranks of this process */
    struct quern_signal_line *lines;  /* [here]: their signals for meetings of all ranks */
    unsigned char *mailboxes;    /* [here][2][QUERN_MAILBOX_BYTES]: of the ranks of this process */
    unsigned char *eager_buffers;       /* [here][2][QUERN_EAGER_BYTES]: of a group in one process */
    void **rings;                /* [here][here] from, to: those of transfers between ranks of this process; NULL: none so far */
};

/*
 * The roster of the group whose segment is in an open file; NULL: errno says why.  Every caller releases it.  A new roster owns the
 * descriptor from here on.
 */
struct stat;
struct quern_roster *quern_open_roster(int descriptor, const struct stat *file);
void quern_keep_roster(struct quern_roster *roster, int users);
void quern_release_roster(struct quern_roster *roster);

/*
 * Enters a rank of this process, which has claimed its place: locks its byte and writes its facts.  Fails if the system does, or if
 * the roster is complete or has another number of ranks, because the segment is damaged.  *again: the file's name is gone, since
 * the group was refused meanwhile, and there is no lock.
 */
struct quern_entering {
    const char *name;            /* of the file */
    int rank, ranks, here;       /* here: ranks of this host */
    uint32_t slot;
    const quern_device *device;
    int share_gpu;
    uint32_t transports;
};
quern_status quern_enter_roster(struct quern_roster *roster, const struct quern_entering *entering, bool *again);

/* The place of a rank of this host. */
struct quern_segment_place *quern_place(const struct quern_roster *roster, int rank);

/* Writes on which cores the calling thread may run, and how much of them. */
void quern_write_cores(struct quern_segment_place *place);

/*
 * After all ranks have joined: reads the facts of the other processes' ranks, once for all ranks of this process.  Its own signals
 * begin at the first epoch.  Fails on each of them if the slots of this host are not those of its ranks, one each, since the
 * segment is damaged.
 */
quern_status quern_complete_roster(const quern_device *device, struct quern_roster *roster, uint32_t first_epoch);

/* Whether the roster is of this process, by its number: a child may have been forked without handlers. */
bool quern_is_own_roster(const struct quern_roster *roster);

/* Releases the lock of a rank that leaves. */
void quern_leave_roster(struct quern_roster *roster, int rank);

/* Whether a rank's process holds its lock, and does not end.  True also if this is unknown. */
bool quern_rank_lives(const struct quern_roster *roster, int rank);

/* Whether a rank has ended before it has destroyed its handle; or has done either. */
bool quern_rank_has_ended(const struct quern_roster *roster, int rank);
bool quern_rank_has_gone(const struct quern_roster *roster, int rank);

/*
 * Whether a rank counts as ended since its whole host is lost: silent, or its connection has ended.  Its leader, whose end is the
 * likely reason then; else the rank itself.
 */
bool quern_host_is_lost(const struct quern_roster *roster, int rank);
int quern_lost_rank(const struct quern_roster *roster, int rank);

/* Where rank `from` writes its signals for rank `to`: in the process's own memory if both are of this process. */
quern_signal *quern_signal_between(const struct quern_roster *roster, int from, int to);

/* Where a rank writes its signals for meetings of all ranks: for the ranks of this process; for those of others. */
struct quern_signal_line *quern_own_line(const struct quern_roster *roster, int rank);
struct quern_signal_line *quern_shared_line(const struct quern_roster *roster, int rank);

/* A half of the mailbox of a rank of this process; of any rank, in the segment. */
unsigned char *quern_own_mailbox(const struct quern_roster *roster, int rank, uint32_t half);
unsigned char *quern_shared_mailbox(const struct quern_roster *roster, int rank, uint32_t half);

/* Likewise of an eager message. */
unsigned char *quern_own_eager(const struct quern_roster *roster, int rank, uint32_t half);
unsigned char *quern_shared_eager(const struct quern_roster *roster, int rank, uint32_t half);

/* The ring of transfers between two ranks of this process, of zeros at first; NULL: no memory, or unless `make` none so far. */
void *quern_own_ring(struct quern_roster *roster, int from, int to, size_t bytes, bool make);

/* The byte of the segment's file whose lock lets one rank at a time remove the name: behind those of the ranks. */
enum { QUERN_NAME_BYTE = QUERN_GROUP_LIMIT };

/* Fails with QUERN_PEER_MISMATCH: what lies in the segment was not written by the ranks. */
#define QUERN_BY_FOREIGN_PROCESS "a process that is no rank writes into the group's shared memory"
quern_status quern_fail_damaged(const quern_device *device, const char *what, int rank);

#endif
