/*
 * Messages between a rank and ranks of other hosts.  Both sides of a pair make the same calls in the same order, so a message needs
 * no address: its head says which meeting it is of, and must be the expected one.
 */
#ifndef QUERN_SENDRECV_H
#define QUERN_SENDRECV_H

#include <sys/uio.h>

#include "ranks/hosts/connections.h"
#include "ranks/meeting.h"

/* One peer's part of a sendrecv. */
struct quern_channel {
    int rank;
    struct quern_frame out_head, in_head;
    struct iovec *out, *in;   /* what is left to move; used up */
    int outs, ins;
    size_t in_heading;        /* bytes of the head that have come */
    uint64_t skipped;         /* bytes behind the parts that are read and dropped */
    int sending, receiving;   /* messages under way, of rows of messages */
    struct iovec few_out[4], few_in[3];  /* for messages of few parts */
};

/*
 * A sendrecv: one message to and one from each of some ranks of other hosts, all at once, so that both directions of all pairs move
 * and none waits for another.
 */
struct quern_sendrecv {
    struct quern_membership *member;
    const struct quern_data_row *row;
    uint32_t tag;
    double timeout;
    int64_t began, ended;     /* since when a rank is known to have ended; 0: none has */
    int count, open;          /* channels; those that are not done */
    struct quern_channel *channel;  /* [count] */
    uint16_t *order;          /* [open]: of those that are not done */

    /* A head has come: says where its parts go (channel->in, ins, skipped).  False: the sizes are not those of a rank's message. */
    bool (*place)(void *user, struct quern_channel *channel);
    void *user;
    int rests;                /* so far */
    char why[120];            /* with which the row has failed */
};

/* A channel for each rank of a set that is of another host.  The caller fills in the parts, and then begins. */
void quern_sendrecv_open(struct quern_sendrecv *sendrecv, struct quern_membership *member, const struct quern_meeting *meeting,
                      const struct quern_rank_set *set, struct quern_channel *channels, uint16_t *order);

/* Adds a part to what a channel sends: the first, second and last ones in this order. */
void quern_channel_add(struct quern_channel *channel, const void *data, size_t bytes);

/* The channel has one direction: nothing is sent; nothing comes. */
void quern_channel_only_receives(struct quern_sendrecv *sendrecv, struct quern_channel *channel);
void quern_channel_only_sends(struct quern_channel *channel);

/*
 * Moves what can be moved at once, at first and between other work; and until all is moved.  Errors poison the group, as those of
 * quern_await.
 */
quern_status quern_sendrecv_begin(struct quern_sendrecv *sendrecv);
quern_status quern_sendrecv_end(struct quern_sendrecv *sendrecv);

/* The call fails between the two. */
void quern_sendrecv_abandon(struct quern_sendrecv *sendrecv);

#endif
