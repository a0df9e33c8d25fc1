/*
 * The communicator of two ranks, for transfers between them: no third rank is needed to make it, to use it or to end it.  It has a
 * stream of its own, of high priority, so that it waits neither for the engine's kernels nor for another pair.
 *
 * Nothing here waits for the other rank: quern_nccl_ask_pair tells how far NCCL has come.  The rank's watcher ends what hangs when
 * the other rank has gone or the group is poisoned, also while the engine makes no call.
 */
#ifndef QUERN_NCCL_PAIR_H
#define QUERN_NCCL_PAIR_H

#include "ranks/nccl/nccl_cache.h"
#include "ranks/nccl/nccl_state.h"

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

/* Goes on with what is under way, and returns where it is. */
enum quern_nccl_phase quern_nccl_ask_pair(struct quern_nccl_pair *pair);

/* Aborts the communicator, if there is one.  On return it moves nothing any more, and the phase is NONE. */
void quern_nccl_reset_pair(struct quern_nccl_pair *pair);

/* For the watcher, with the rank's context: aborts what can never end. */
void quern_nccl_watch_pairs(struct quern_nccl_rank *rank);

/* Leaves the communicators that can still be used to the next group, aborts the others, and frees the pairs. */
void quern_nccl_end_pairs(struct quern_nccl_rank *rank);

#endif
