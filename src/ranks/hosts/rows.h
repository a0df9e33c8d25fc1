/*
 * The ways that data may take between hosts: the rows under sendrecv.c.  A row moves the parts of a channel; what a message says,
 * who is waited for and for how long is the business of sendrecv.c.
 *
 * Control stays on sockets with every row: meeting, liveness, poison.  A group begins with the row of sockets, and goes over to
 * another one when all ranks have agreed (src/ranks/hosts/choice.h).
 */
#ifndef QUERN_ROWS_H
#define QUERN_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

struct quern_membership;
struct quern_span;
struct quern_sendrecv;
struct quern_channel;
struct quern_frame;

enum quern_outcome {
    QUERN_STUCK,    /* nothing has moved */
    QUERN_MOVED,
    QUERN_ENDED,    /* the other rank has ended or left */
    QUERN_FAILED,   /* sendrecv->why says why */
    QUERN_DAMAGED   /* what has come is no message of this rank */
};

struct quern_data_row {
    const char *name;
    bool merges;    /* parts that follow each other in memory may be one; else both ends have parts of the same sizes */

    /* Begin and go on to send what a channel has; to receive its head; to receive the parts of which the head has told. */
    enum quern_outcome (*send)(struct quern_sendrecv *sendrecv, struct quern_channel *channel);
    enum quern_outcome (*receive_head)(struct quern_sendrecv *sendrecv, struct quern_channel *channel);
    enum quern_outcome (*receive)(struct quern_sendrecv *sendrecv, struct quern_channel *channel);

    /* Lets others run for a while: nothing has moved for some time. */
    void (*rest)(struct quern_sendrecv *sendrecv);

    /*
     * What the pair's connection says while data goes another way; NULL: data goes there.  ENDED: the rank has ended, or *last is
     * its goodbye; MOVED: *last is the head of a barrier; STUCK: nothing.
     */
    enum quern_outcome (*look)(const struct quern_sendrecv *sendrecv, int rank, struct quern_frame *last);

    /*
     * The call has failed: nothing more is begun, and what is under way is taken back as far as that goes at once; NULL: there is
     * none.
     */
    void (*abandon)(struct quern_sendrecv *sendrecv);

    /* Takes the memory of callers back, within a second; and ends the row for a rank.  NULL: nothing is to be done. */
    quern_status (*settle)(struct quern_membership *member);
    void (*close)(struct quern_span *span, bool has_failed);  /* has_failed: the group is poisoned */
};

#endif
