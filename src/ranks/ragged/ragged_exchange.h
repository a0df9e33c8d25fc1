/*
 * One rank's part in a ragged all-to-all on CPUs: which rank copies which slice, and how.
 *
 *   deliver   The sender copies into the receiver's output: it is symmetric, or both ranks are of one process.
 *   fetch     Else the receiver copies from the sender's input, if that is symmetric.
 *   stream    Else the sender lays its slices end to end and passes them through a ring of two windows in its workspace: while the
 *             receivers fetch one, it fills the other.
 *
 * A sender whose output overlaps its input first copies all slices that it sends into its workspace, and sends from there.
 *
 * A rank writes notices of its slices into its own workspace, where the receivers read them.  So no rank writes into memory whose
 * size only another rank knows.  What another process has written is copied once, and the copy is checked: a sender writes within
 * the part of the receiver that it has mapped, and a receiver within its own output.
 */
#ifndef QUERN_RAGGED_EXCHANGE_H
#define QUERN_RAGGED_EXCHANGE_H

#include <sys/uio.h>

#include "ranks/ragged/ragged_check.h"
#include "ranks/ragged/ragged_copies.h"

/* Memory of a rank as other ranks find it: by pointer in its own process, by (id, offset) in others if it is symmetric. */
struct quern_ragged_location {
    uint64_t id;
    int64_t offset;
    const void *pointer;
    int32_t state;  /* enum quern_symmetric_state */
    int32_t unused;
};

/* The terms of a rank before the entry. */
struct quern_ragged_terms {
    uint64_t digest;                      /* of all below: ranks act on it, so it must be what the rank has written */
    int64_t is_ready;                     /* 0: there is only a verdict */
    uint64_t members[2];                  /* of up to 128 ranks: a bit for each; of more: a digest of the set */
    int64_t updates, row_bytes;
    struct quern_ragged_location output;
    struct quern_ragged_location outbox;  /* its notices: [places, updates] */
    struct quern_ragged_location source;  /* its input, its staging or its ring */
    int64_t source_bytes;
    int64_t window;                       /* of the stream, in bytes: the source is a ring of two; 0: no stream */
};

/* Its words before the vote. */
struct quern_ragged_verdict {
    uint64_t digest;
    int64_t rounds;                       /* the number of windows of its stream */
    struct quern_slice_report report;
};

/* A rank's record of its call, in its mailbox. */
struct quern_ragged_record {
    struct quern_ragged_terms terms;
    _Alignas(64) struct quern_ragged_verdict verdict;  /* a line of its own: all that a plan's run writes */
    char reason[600];                     /* for QUERN_SLICE_ARGUMENTS */
};

_Static_assert(sizeof(struct quern_ragged_record) <= QUERN_MAILBOX_BYTES, "a record must fit a mailbox");

/* A record without a stream, a report or terms. */
void quern_ragged_clear_record(struct quern_ragged_record *record);

/* Slices that pass through a ring; `begin` is their offset in the stream.  The pointer on the ring's side is NULL. */
struct quern_ragged_stream {
    struct quern_copy *slices;
    int64_t count;
    char *ring;
    int64_t window, rounds;
};

struct quern_ragged_exchange {
    struct quern_ragged_call *call;
    quern_ragged_all_to_all_cpu_kernel *kernel;
    struct quern_ragged_terms *terms;                            /* [places]: of every member, read once */
    int astray;                                                  /* a member whose output is out of reach; -1: none */
    char *staging;                                               /* this rank's */
    struct quern_ragged_notice *outbox, *inbox;                  /* [places, updates] */
    struct quern_copy_list direct;                               /* deliveries and fetches */
    struct quern_ragged_stream outgoing, incoming[QUERN_RANK_LIMIT];  /* incoming: by the slot of the sender */
    struct quern_copy *incoming_slices;                          /* [places, updates] */
    int64_t streamed_in;                                         /* bytes in all the incoming streams */
    struct iovec *shipped_out, *shipped_in;                      /* [places, updates + 1]: what goes to other hosts and comes */
    bool is_streaming;                                           /* copies go past the caches */
    struct quern_copy_list pieces;                               /* scratch: the pieces of streams that are in a window */
};

/* The bytes of workspace for a call. */
size_t quern_ragged_exchange_workspace(const struct quern_ragged_call *call);

/* The bytes of storage for lists.  It is not in the workspace, which other processes can write. */
size_t quern_ragged_exchange_storage(const struct quern_ragged_call *call);

/* Begins an exchange: for a call that is not refused. */
void quern_ragged_exchange_open(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call, void *storage);

/*
 * Writes the record as far as the entry needs it, and the notices.  A fault of the metadata goes into its report.  Not QUERN_OK:
 * the arguments are refused, and the detail is set.
 */
quern_status quern_ragged_exchange_announce(struct quern_ragged_exchange *exchange, struct quern_ragged_record *record);

/* After the entry, if all records are ready: checks the terms and lists the copies.  Returns as above. */
quern_status quern_ragged_exchange_prepare(struct quern_ragged_exchange *exchange, struct quern_ragged_record *record);

/* Copies window `round` of the outgoing stream into the workspace.  In place there is one window with all slices. */
void quern_ragged_exchange_stage(struct quern_ragged_exchange *exchange, int64_t round);

/* Makes the direct copies. */
void quern_ragged_exchange_copy(const struct quern_ragged_exchange *exchange);

/* Copies window `round` of all incoming streams. */
void quern_ragged_exchange_fetch(struct quern_ragged_exchange *exchange, int64_t round);

#endif
