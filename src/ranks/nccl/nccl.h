/* NCCL, opened at run time: communicators of a group and of pairs of ranks, their watcher and bounds. */
#ifndef QUERN_RANKS_NCCL_H
#define QUERN_RANKS_NCCL_H

#include <limits.h>
#include <pthread.h>
#include <stddef.h>

#include "ranks/cuda_rank.h"
#include "ranks/membership.h"
#include "ranks/nccl/nccl_functions.h"

/*
 * The communicator of a GPU rank of a group of several hosts, and what is enqueued in it.  Types, for src/ranks/nccl and for the
 * calls that go over NCCL.
 */

struct quern_nccl_rank;
struct quern_nccl_pair;
struct quern_nccl_captures;

/* A collective call that is enqueued as one group of NCCL. */
struct quern_nccl_call {
    enum quern_collective collective;
    const struct quern_rank_set *set;
    double timeout;                /* seconds, from the time at which the stream has come to it */
    CUstream stream;
    ncclResult_t (*add)(const struct quern_nccl_rank *rank, const struct quern_nccl_call *call);  /* between start and end */
    const void *user;
    bool goes_on;                  /* a further group of the last call */
};

/* One that the stream has not finished, or that runs when a graph does. */
struct quern_nccl_operation {
    CUevent begun, ended;          /* NULL in a graph */
    int64_t limit;                 /* nanoseconds */
    int64_t began;                 /* when the watcher has seen `begun`; 0: it has not */
    uint32_t tag, number;          /* of the call, as the report has them: to find those that are behind */
    struct quern_rank_set set;
};

enum { QUERN_NCCL_PENDING = 16 };

struct quern_nccl_rank {
    struct quern_membership *member;
    const struct quern_nccl *nccl;
    pthread_mutex_t lock;
    ncclComm_t comm;               /* NULL: aborted */
    struct quern_nccl_operation operations[QUERN_NCCL_PENDING];
    uint32_t first, next;          /* those that the stream has not finished: [first, next), modulo the number */
    uint32_t calls;                /* of all ranks, so far */
    struct quern_nccl_captures *captures;   /* nccl_captured.c */
    struct quern_nccl_captured *last_captured;  /* the call that goes on */
    CUdeviceptr pad;               /* of a group of this rank alone, in which kernels of the library meet nobody */
    CUdeviceptr words;             /* behind it, [1 + ranks] of 32 bits, 0: what barriers send, and where they receive */
    pthread_t watcher;
    bool is_watched;
    struct quern_nccl_pair *pairs; /* atomic; of transfers: nccl_pair.c */
    struct quern_nccl_rank *next_watched;  /* of this process */
    uint32_t ends;                 /* atomic, a futex: the watcher shall end */
};

static inline struct quern_nccl_rank *quern_nccl_rank_of(const struct quern_membership *member) {
    return quern_cuda_rank_of(member)->nccl;
}

/* Adds a message to a rank and one from it to a group of NCCL; none of 0 bytes. */
static inline ncclResult_t quern_nccl_exchange(const struct quern_nccl_rank *rank, int peer, const char *from, int64_t bytes_out,
                                               char *to, int64_t bytes_in, CUstream stream) {
    ncclResult_t result = ncclSuccess;
    if (bytes_out) result = rank->nccl->send(from, (size_t)bytes_out, ncclUint8, peer, rank->comm, stream);
    if (bytes_in && result == ncclSuccess)
        result = rank->nccl->receive(to, (size_t)bytes_in, ncclUint8, peer, rank->comm, stream);
    return result;
}

/* ---- nccl_barrier.c: the barrier of GPU ranks of several hosts ---- */

quern_status quern_nccl_barrier(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream);

/* ---- nccl_bounds.c ---- */

/* Bounds of a wait for other ranks in NCCL: poison, ranks that have gone, errors of the communicator, the limit. */

/* The wait. */
struct quern_nccl_wait {
    const char *what;                     /* "ncclCommInitRankConfig" */
    const struct quern_rank_set *set;
    int64_t began, limit;                 /* nanoseconds */
    uint32_t tag, number;                 /* of the call: which ranks are behind it */
    bool is_replay;                       /* of a call in a graph, which has no number */
};

/* Nanoseconds; a limit beyond all times is none. */
int64_t quern_nccl_limit(double seconds);

/* Nanoseconds.  A rank that has its part of what runs may leave in order before this one has seen the end. */
enum { QUERN_NCCL_GRACE = 50000000 };

/* Not QUERN_OK: the group is poisoned, by this call or before. */
quern_status quern_nccl_check_gone(const struct quern_membership *member, const struct quern_nccl_wait *wait);
quern_status quern_nccl_check_limit(const struct quern_membership *member, const struct quern_nccl_wait *wait, int64_t now);

/* Both, of an operation that runs. */
quern_status quern_nccl_check_running(const struct quern_membership *member, const struct quern_nccl_wait *wait, int64_t now);

/* Asks NCCL, with the lock held: *is_ready says whether the call in progress has ended. */
quern_status quern_nccl_ask(const struct quern_nccl_rank *rank, const char *what, bool *is_ready);

/* Poisons the group with an error of NCCL. */
quern_status quern_nccl_poison(const struct quern_nccl_rank *rank, ncclResult_t result, const char *what);

/*
 * This rank has agreed to a call and then failed in it, with the thread's detail, and the others wait for its messages: poisons the
 * group, unless it is poisoned already.  Returns the status, with the same detail.
 */
quern_status quern_nccl_fail_inside(const struct quern_membership *member, quern_status status);

/* ncclCommAbort, which returns only when no graph has work of the communicator: while graphs have some, on a thread of its own. */
void quern_nccl_abort_comm(const struct quern_nccl_rank *rank, ncclComm_t comm);

/* Ends the communicator, with the lock held: what runs in it ends too.  Does not wait for graphs that have work of it. */
void quern_nccl_abort(struct quern_nccl_rank *rank);

/* ---- nccl_cache.c ---- */

/*
 * Communicators of two ranks that no group uses at present.  The next group of the same two processes and GPUs goes on with them,
 * since NCCL takes long to make one.  src/ranks/transfer/transfer.h says how both ends agree on which.
 *
 * The process keeps the newest ones, and none of a device that is closed.  Each was made by an id of its own, which both ends know.
 */

/* A rank, whatever its number is in a group: the random number of its process, and its GPU. */
struct quern_nccl_end {
    unsigned char process[16], gpu[16];
};

struct quern_nccl_comm {
    ncclComm_t handle;                   /* NULL: none, or aborted */
    ncclUniqueId id;                     /* by which it was made */
    int rank;                            /* 0 or 1: of this end in it */
    struct quern_nccl_end own, other;
};

enum { QUERN_NCCL_KEPT = 16 };           /* an idle one holds buffers on the GPU */
extern int quern_nccl_most_kept;         /* at most QUERN_NCCL_KEPT; tests lower it */

/* Keeps one that is ready and in which nothing is under way.  Aborts the oldest if there are too many. */
void quern_nccl_keep(const struct quern_nccl *nccl, CUcontext context, const struct quern_nccl_comm *comm);

/* Takes one of these two ends, of this id unless it is NULL, the newest first.  False: there is none. */
bool quern_nccl_take(struct quern_nccl_comm *comm, CUcontext context, const ncclUniqueId *id);

/* ---- nccl_pair.c ---- */

/*
 * The communicator of two ranks, for transfers between them: no third rank is needed to make it, to use it or to end it.  It has a
 * stream of its own, of high priority, so that it waits neither for the engine's kernels nor for another pair.
 *
 * Nothing here waits for the other rank: quern_nccl_ask_pair tells how far NCCL has come.  The rank's watcher ends what hangs when
 * the other rank has gone or the group is poisoned, also while the engine makes no call.
 */

/* A message; both ends have the same list, but for the direction. */
struct quern_nccl_item {
    void *memory;
    size_t bytes;
    bool is_send;
};

enum quern_nccl_phase {
    QUERN_NCCL_NONE,      /* there is no communicator */
    QUERN_NCCL_MAKING,
    QUERN_NCCL_READY,     /* ... and nothing is under way */
    QUERN_NCCL_ENQUEUING,
    QUERN_NCCL_RUNNING,
    QUERN_NCCL_BROKEN     /* aborted; status and reason say why */
};

struct quern_nccl_pair {
    struct quern_nccl_pair *next;        /* of the rank */
    struct quern_nccl_rank *rank;
    int peer;
    pthread_mutex_t lock;                /* NCCL takes one thread at a time in a communicator */
    struct quern_nccl_comm comm;
    enum quern_nccl_phase phase;
    CUstream stream;
    CUstream branch;                     /* for graphs: beside the engine's stream while that is captured.  NULL: none so far */
    CUstream target;                     /* of what is under way: one of these two */
    CUstream origin;                     /* of the latter: the engine's stream */
    struct quern_nccl_captured *captured;  /* the latter; NULL: the former */
    int graphs;                          /* atomic: transfers that graphs have */
    CUevent ended;                       /* recorded behind what is enqueued */
    const struct quern_nccl_item *items; /* what is enqueued: [0, done) of [count) so far */
    int64_t count, done;
    int64_t gone_since;                  /* the watcher has seen that the other rank has gone; 0: it has not */
    quern_status status;
    char reason[232];
};

/* Makes a pair without its communicator.  It lives as long as the rank. */
quern_status quern_nccl_open_pair(struct quern_membership *member, int peer, struct quern_nccl_pair **made);

/* Of NONE: begins to make the communicator by the id that the lower rank has drawn. */
void quern_nccl_make_pair(struct quern_nccl_pair *pair, const ncclUniqueId *id);

/* Of NONE: takes one that an earlier group has left, by this id unless it is NULL.  True: it is READY. */
bool quern_nccl_recall_pair(struct quern_nccl_pair *pair, const ncclUniqueId *id);

/* Of READY: what is enqueued next comes behind this event. */
quern_status quern_nccl_let_pair_wait(struct quern_nccl_pair *pair, CUevent event);

/* Of READY: begins to enqueue a list, which lives until all has ended. */
void quern_nccl_send_pair(struct quern_nccl_pair *pair, const struct quern_nccl_item *items, int64_t count);

/*
 * The same into the graph of a stream, behind this event and beside what else is: it is READY when the graph has the list.  A
 * launch waits for the other rank as long as the timeout.
 */
struct quern_nccl_place {
    CUstream stream;
    CUevent event;
    double timeout;
};
void quern_nccl_capture_pair(struct quern_nccl_pair *pair, const struct quern_nccl_item *items, int64_t count,
                             const struct quern_nccl_place *place);

/* Goes on with what is under way, and returns where it is. */
enum quern_nccl_phase quern_nccl_ask_pair(struct quern_nccl_pair *pair);

/* Aborts the communicator, if there is one, for this reason.  On return it moves nothing any more, and the phase is NONE. */
void quern_nccl_reset_pair(struct quern_nccl_pair *pair, quern_status status, const char *reason);

/* For the watcher, with the rank's context: aborts what can never end. */
void quern_nccl_watch_pairs(struct quern_nccl_rank *rank);

/* Leaves the communicators that can still be used to the next group, aborts the others, and frees the pairs. */
void quern_nccl_end_pairs(struct quern_nccl_rank *rank);

/* ---- nccl_rank.c ---- */

/*
 * The communicator of a GPU rank of a group of several hosts, and the bounds of everything that is done in it.
 *
 * NCCL takes one thread at a time in a communicator, ncclCommAbort included, so every call is made under a lock.  The communicator
 * does not block: the thread that enqueues asks until the call has ended, and sees the poison, the limit and ranks that have gone.
 * What runs on the stream is watched by a thread of the rank, which ends it by ncclCommAbort.
 */

/* Makes the rank's data, without the communicator.  The membership has its quern_cuda_rank.  On failure nothing is kept. */
quern_status quern_nccl_make_rank(struct quern_membership *member);

/*
 * Makes the communicator of all ranks by the id that rank 0 has drawn, and returns when NCCL says that it is ready.  Poisons the
 * group if it does not become so in the group's limit.
 */
quern_status quern_nccl_connect(struct quern_membership *member, const ncclUniqueId *id);

/* Starts the thread that watches what is enqueued. */
quern_status quern_nccl_watch(struct quern_membership *member);

/* Enqueues a call, or captures it into the graph of the stream.  The context is current.  Errors poison the group. */
quern_status quern_nccl_enqueue(struct quern_membership *member, const struct quern_nccl_call *call);

/* Ends the watcher and the communicator, in order if the other ranks come within a second, and frees the data. */
void quern_nccl_free_rank(struct quern_membership *member);

/* ---- nccl_captured.c: operations in graphs ---- */

enum { QUERN_NCCL_CAPTURED = 4096 };     /* calls that graphs may have at once */

struct quern_nccl_captured {
    struct quern_nccl_captures *all;
    struct quern_nccl_pair *pair;        /* of a transfer; NULL: of a call of the group */
    struct quern_nccl_operation operation;
    uint32_t seen;                       /* launches that had begun when the watcher looked last */
    int is_kept;                         /* atomic: by a graph */
};

/* The launches of a call.  Atomic.  Several may run at once, as of two executables of one graph. */
struct quern_nccl_launches {
    uint32_t begun, ended;
};

struct quern_nccl_captures {
    struct quern_nccl_rank *rank;
    struct quern_nccl_launches *launches;  /* [QUERN_NCCL_CAPTURED], in pinned memory */
    CUdeviceptr address;                 /* of these, for kernels */
    bool is_pinned;
    int used;                            /* [0, used) have been kept */
    int kept;                            /* atomic: how many are */
    struct quern_nccl_captured captured[QUERN_NCCL_CAPTURED];
};

/* On failure quern_nccl_free_captures frees what there is. */
quern_status quern_nccl_make_captures(struct quern_nccl_rank *rank);
void quern_nccl_free_captures(struct quern_nccl_rank *rank);

/* How many calls graphs have. */
static inline int quern_nccl_count_captured(const struct quern_nccl_rank *rank) {
    return rank->captures ? __atomic_load_n(&rank->captures->kept, __ATOMIC_ACQUIRE) : 0;
}

/* The graph into which the stream is captured; NULL: it is not. */
quern_status quern_nccl_find_graph(const struct quern_membership *member, CUstream stream, CUgraph *graph);

/* Before a rank agrees to a call on a captured stream.  QUERN_OUT_OF_MEMORY: graphs have as many as can be. */
quern_status quern_nccl_check_capture(const struct quern_membership *member);

/* Before a rank agrees to any call: the stream is of its GPU, and if it is captured, a graph can have the call. */
quern_status quern_nccl_check_stream(struct quern_membership *member, CUstream stream, bool *is_captured);

/*
 * An operation like this one that lives as long as the graph, and all that is made of it.  With the lock of the rank; of a pair
 * with its lock, too.
 */
quern_status quern_nccl_capture(struct quern_nccl_rank *rank, CUgraph graph, struct quern_nccl_pair *pair,
                                const struct quern_nccl_operation *like, struct quern_nccl_captured **captured);

/* Counts a launch, before the operation and behind it. */
quern_status quern_nccl_count_begun(const struct quern_nccl_captured *captured, CUstream stream);
quern_status quern_nccl_count_ended(const struct quern_nccl_captured *captured, CUstream stream);

/* For the watcher, with the lock: bounds those that run.  *any: some do. */
quern_status quern_nccl_look_at_captured(struct quern_nccl_rank *rank, bool *any);

/* Before the end of a group.  QUERN_INVALID_ARGUMENT: graphs still have calls of it. */
quern_status quern_nccl_await_graphs(const struct quern_membership *member);

/* ---- nccl_watch.c: the thread that bounds what a rank has enqueued over NCCL ---- */

quern_status quern_nccl_start_watcher(struct quern_nccl_rank *rank);

/* Joins it, after a last look: what the stream has finished is then known.  Does nothing if it was not started. */
void quern_nccl_stop_watcher(struct quern_nccl_rank *rank);

#endif
