/*
 * The way of the data of two GPU ranks over NCCL.  What both have prepared and started is said on their connection, as for CPU
 * ranks, and only then does NCCL see it, on both ends in the same order:
 *
 *   lower rank: CONNECT    when a list of both has been agreed on and there is no communicator: a new one, or one that an earlier
 *                          group has left here
 *   upper rank: FORGOTTEN  the latter, and it has none of this id: the lower one aborts its end, and says CONNECT again
 *   both:       CONNECTED  when NCCL says that it is ready
 *   lower rank: GO         when both have started the transfers of its payload: both enqueue these, in its order, as one flight
 *   either:     BREAK      it has aborted the communicator: NCCL has failed, or a rank ends a transfer that cannot complete
 *
 * The communicator has a generation, which the lower rank counts, so that an end that has lost it and one that has not agree.
 */
#ifndef QUERN_NCCL_PATH_H
#define QUERN_NCCL_PATH_H

#include "ranks/nccl/nccl_pair.h"
#include "ranks/transfer/transfers.h"

struct quern_nccl_path {
    struct quern_nccl_pair *nccl;
    uint32_t generation;                  /* of the communicator, or of the last one; 0: there was none */
    bool is_said, is_heard;               /* CONNECTED, of this generation */
    bool is_forgotten;                    /* the last one was FORGOTTEN: the next follows at once */
    bool says_batch, is_batching;         /* this rank; the other one: is in the middle of the starts of a batch */
    struct quern_transfer_pair *flight[QUERN_TRANSFER_MOST_GO];  /* [flying], in the order of the GO */
    int flying;
    struct quern_nccl_item *items;        /* of the flight */
    int64_t room;
    struct quern_nccl_order *waiting;     /* the upper rank's, the oldest first: heard while a flight is under way */
};

/* A GO. */
struct quern_nccl_order {
    struct quern_nccl_order *next;
    int count;
    struct quern_transfer_go *list;
};

/* Makes the link of a connection. */
quern_status quern_open_nccl_path(struct quern_conn *conn);
void quern_free_nccl_path(struct quern_nccl_path *path);

/* A word about it has come. */
void quern_nccl_path_hears(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head);

/* Goes on.  True: something has moved. */
bool quern_advance_nccl_path(struct quern_transfers *all, struct quern_conn *conn);

/* NCCL or a stream is at work, so the rank has to look again soon. */
bool quern_nccl_path_is_busy(const struct quern_nccl_path *path);

/* The other rank was told that the transfer of a pair has failed.  On return NCCL does not touch its memory any more. */
quern_release_pair quern_take_from_nccl;

#endif
