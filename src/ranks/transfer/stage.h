/*
 * The way of data between GPU ranks of two processes that the receiver cannot reach: memory that is not symmetric.  What both have
 * prepared and started is said on their wire, as for all transfers.  The sender copies a piece into a free half of its window, and
 * the receiver copies it out:
 *
 *   receiver:  LISTENING   it needs the sender's window, and has a socket for its descriptor
 *   sender:    WINDOW      the descriptor is sent
 *   sender:    STAGED      a half has a piece: which bytes of the stream of which transfer
 *   receiver:  TAKEN       the half is free again: the piece is copied, or its transfer is over here
 *
 * A half belongs to a piece from the beginning of the sender's copy to TAKEN, whatever becomes of the transfer meanwhile.  Only the
 * sender's memory needs this: items in symmetric memory go straight, also beside others in one list.  One stage for each wire, with
 * both directions.  Checked by tests/model/stage.pml.
 */
#ifndef QUERN_STAGE_H
#define QUERN_STAGE_H

#include "ranks/transfer/transfers.h"
#include "ranks/transfer/window.h"

enum { QUERN_STAGE_HALVES = 2, QUERN_STAGE_BYTES = QUERN_WINDOW_BYTES / QUERN_STAGE_HALVES };

/* A half of this rank's window. */
struct quern_stage_half {
    enum { QUERN_HALF_FREE, QUERN_HALF_FILLING, QUERN_HALF_STAGED } state;
    struct quern_transfer_pair *pair;     /* NULL: its transfer is over */
    struct quern_transfer_staged piece;
    CUevent filled;                       /* NULL: none so far */
};

/* What the other rank has staged, and this one has not taken. */
struct quern_stage_arrival {
    struct quern_transfer_pair *pair;
    struct quern_transfer_staged piece;
    uint64_t done;                        /* bytes copied */
};

struct quern_stage {
    struct quern_window *out, *in;        /* NULL: not made so far; not open */
    uint64_t asked;                       /* LISTENING that is not answered; 0: none */
    bool is_shown;                        /* WINDOW was said */
    struct quern_stage_half half[QUERN_STAGE_HALVES];
    int listener;                         /* -1: this rank does not wait for a descriptor */
    uint64_t number;                      /* which it has asked for */
    bool has_come;                        /* WINDOW was heard; it is not open */
    struct quern_stage_arrival arrival[QUERN_STAGE_HALVES];  /* [arrivals], the oldest first */
    int arrivals;
};

/* Makes that of a wire. */
quern_status quern_open_stage(struct quern_wire *wire);
void quern_free_stage(struct quern_wire *wire);

/* A word about it has come; `pair` is the one that it means, or NULL. */
void quern_stage_hears(struct quern_wire *wire, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head);

/*
 * The receiver of a pair: where the next bytes are, of at most *most, which becomes their number.  *window is their address in the
 * sender's window; 0: they are in memory that is reached.  False: there are none yet, or the transfer has failed.
 */
bool quern_find_staged(struct quern_transfer_pair *pair, size_t *most, CUdeviceptr *window);

/* So many of them are copied. */
void quern_have_taken(struct quern_transfer_pair *pair, size_t bytes);

/* The sender of a pair stages the next piece, if a half is free.  True: something has moved. */
bool quern_stage_piece(struct quern_transfer_pair *pair);

/* Whether the receiver has taken all of a round. */
bool quern_is_all_taken(struct quern_transfer_pair *pair);

/* Says what has been filled.  True: something has moved. */
bool quern_advance_stage(struct quern_wire *wire);

/* A copy is under way, of whose end nobody tells, so the rank has to look again soon. */
bool quern_stage_is_busy(const struct quern_stage *stage);

/* On return no copy reads the memory of the pair's sends any more, and the other rank gets its halves back. */
quern_release_pair quern_take_from_stage;

#endif
