/*
 * The transport between GPU ranks of two processes that the receiver cannot reach: memory that is not symmetric.  What both have
 * prepared and started is said on their connection, as for all transfers.  The sender copies a piece into a free half of its
 * window, and the receiver copies it out:
 *
 *   receiver:  LISTENING   it needs the sender's window, and has a socket for its descriptor
 *   sender:    WINDOW      the descriptor is sent
 *   sender:    STAGED      a half has a piece: which bytes of the stream of which transfer
 *   receiver:  TAKEN       the half is free again: the piece is copied, or its transfer is over here
 *
 * A half belongs to a piece from the beginning of the sender's copy to TAKEN, whatever becomes of the transfer meanwhile.  Only
 * the sender's memory needs this: items in symmetric memory go straight, also beside others in one list.  One stage for each
 * connection, with both directions.  Checked by tests/model/stage.pml.
 */
#ifndef QUERN_BOUNCE_PATH_H
#define QUERN_BOUNCE_PATH_H

#include "ranks/transfer/transfers.h"
#include "ranks/transfer/bounce_buffer.h"

enum { QUERN_BOUNCE_HALVES = 2, QUERN_BOUNCE_BYTES = QUERN_BOUNCE_BUFFER_BYTES / QUERN_BOUNCE_HALVES };

/* A half of this rank's window. */
struct quern_bounce_half {
    enum { QUERN_HALF_FREE, QUERN_HALF_FILLING, QUERN_HALF_STAGED } state;
    struct quern_transfer_pair *pair;     /* NULL: its transfer is over */
    struct quern_transfer_staged piece;
    CUevent filled;                       /* NULL: none so far */
};

/* Pieces that the other rank has written and this one has not taken. */
struct quern_bounce_arrival {
    struct quern_transfer_pair *pair;
    struct quern_transfer_staged piece;
    uint64_t done;                        /* bytes copied */
};

struct quern_bounce_path {
    struct quern_bounce_buffer *out, *in;        /* NULL: not made so far; not open */
    uint64_t asked;                       /* LISTENING that is not answered; 0: none */
    bool is_shown;                        /* WINDOW was said */
    struct quern_bounce_half half[QUERN_BOUNCE_HALVES];
    int listener;                         /* -1: this rank does not wait for a descriptor */
    uint64_t number;                      /* which it has asked for */
    bool has_come;                        /* WINDOW was heard; it is not open */
    struct quern_bounce_arrival arrival[QUERN_BOUNCE_HALVES];  /* [arrivals], the oldest first */
    int arrivals;
};

/* Makes that of a connection. */
quern_status quern_open_bounce_path(struct quern_conn *conn);
void quern_free_bounce_path(struct quern_conn *conn);

/* A word about it has come; `pair` is the one that it means, or NULL. */
void quern_bounce_path_hears(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head);

/*
 * The receiver of a pair: where the next bytes are, of at most *most, which becomes their number.  *window is their address in the
 * sender's window; 0: they are in memory that is reached.  False: there are none yet, or the transfer has failed.
 */
bool quern_find_staged(struct quern_transfer_pair *pair, size_t *most, CUdeviceptr *window);

/* So many of them are copied. */
void quern_have_taken(struct quern_transfer_pair *pair, size_t bytes);

/* The sender of a pair stages the next piece, if a half is free.  True: something has moved. */
bool quern_bounce_piece(struct quern_transfer_pair *pair);

/* Whether the receiver has taken all of a round. */
bool quern_is_all_taken(struct quern_transfer_pair *pair);

/* Says what has been filled.  True: something has moved. */
bool quern_advance_bounce_path(struct quern_conn *conn);

/* A copy is under way, of whose end nobody tells, so the rank has to look again soon. */
bool quern_bounce_path_is_busy(const struct quern_bounce_path *path);

/* On return no copy reads the memory of the pair's sends any more, and the other rank gets its halves back. */
quern_release_pair quern_take_from_bounce;

#endif
