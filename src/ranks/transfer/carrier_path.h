/*
 * The way of the data of two CPU ranks of two hosts by messages of a carrier of the engine, or of UCX.  What both have prepared and
 * started is said on their connection, as over sockets, and so is each message before it is sent:
 *
 *   receiver:  READY   it has begun to receive a message: its number, and of which bytes of which transfer
 *   sender:            sends that message ...
 *              NONE    ... or it never comes, since its transfer is over here
 *
 * So each message finds its receive, and each receive ends: with its message, or cancelled after NONE, which every carrier can, as
 * nothing has met it.  The messages of a direction are numbered, and a tag is a number, of those that exchanges do not have.
 *
 * The carrier gets memory of the library alone, also one that borrows: MPI cannot cancel a send, and a transfer that is cancelled
 * gives its memory back at once.  Checked by tests/model/carry.pml.
 */
#ifndef QUERN_CARRIER_PATH_H
#define QUERN_CARRIER_PATH_H

#include "ranks/hosts/messages.h"
#include "ranks/transfer/transfers.h"

enum {
    QUERN_CARRIER_SLOTS = 16,            /* messages of a direction that are under way at once */
    QUERN_CARRIER_PIECE = 256 << 10      /* bytes of a message, unless the carrier takes less */
};

/* A message under way. */
struct quern_carrier_slot {
    bool is_busy;                      /* the carrier has it */
    bool is_none;                      /* of a receive: its message never comes */
    uint64_t request;
    size_t bytes;
    struct quern_transfer_pair *pair;  /* of a receive: whose bytes; NULL: nobody's any more */
    unsigned char *buffer;             /* [piece]; NULL: not needed so far */
};

/* Those of a direction: a ring, from the oldest message to the next one. */
struct quern_carrier_line {
    struct quern_carrier_slot slot[QUERN_CARRIER_SLOTS];
    uint32_t next, oldest;
};

/* A READY that is not answered. */
struct quern_carrier_order {
    struct quern_transfer_pair *pair;  /* NULL: its transfer is over */
    size_t bytes;
};

struct quern_carrier_path {
    struct quern_messages *messages;
    size_t piece;
    struct quern_carrier_line in, out;
    struct quern_carrier_order order[QUERN_CARRIER_SLOTS];  /* [out.next, ordered) */
    uint32_t ordered;
    bool is_over;                      /* nothing is begun or tested any more */
    int64_t failed_at;
    char reason[120];                  /* with which the carrier has failed; "": it has not */
};

/* Makes that of a connection. */
quern_status quern_open_carrier_path(struct quern_conn *conn);
void quern_free_carrier_path(struct quern_conn *conn);

/* Whether the bytes of a direction of a pair go by messages of a carrier. */
static inline bool quern_is_carried(const struct quern_transfer_pair *pair, const struct quern_cursor *cursor) {
    return pair->conn->carrier && cursor->all > QUERN_TRANSFER_SMALL;
}

/* A word about it has come; `pair` is the one that it means, or NULL. */
void quern_carrier_path_hears(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head);

/* The receiver of a pair begins as many messages as there is room for.  True: it has begun one. */
bool quern_ask_for_bytes(struct quern_transfer_pair *pair);

/* Goes on with what is under way, and answers.  True: something has moved. */
bool quern_advance_carrier_path(struct quern_conn *conn);

/* Something is under way, of whose end nobody tells, so the rank has to look again soon. */
bool quern_carrier_path_is_busy(const struct quern_carrier_path *path);

/* Fails a transfer that needs the carrier, which has failed. */
void quern_check_carrier_path(struct quern_transfer_pair *pair);

/* The other rank was told that the transfer of a pair has failed.  On return nothing is copied from or into its memory any more. */
quern_release_pair quern_take_from_carrier;

/*
 * Takes the library's memory back from the carrier, within a second; no transfer is left.  A carrier that does not borrow is left
 * alone after a failure, as in exchanges.  QUERN_PEER_LOST: it keeps a message.
 */
quern_status quern_settle_carrier_path(struct quern_transfers *all, bool is_poisoned);

#endif
