/*
 * A wire: the frames between this rank and another one, over two lanes within a host, over a connection between hosts.  It knows no
 * transfers: it hands over what comes, and sends what it is given.  For talk.c and bytes.c.
 */
#ifndef QUERN_WIRE_H
#define QUERN_WIRE_H

#include "ranks/transfer/lane.h"
#include "ranks/transfer/words.h"

enum { QUERN_WIRE_PIECE = 64 << 10, QUERN_WIRE_PARTS = 32 };
enum quern_access { QUERN_ACCESS_UNKNOWN, QUERN_ACCESS_NO, QUERN_ACCESS_YES };

struct quern_link;
struct quern_carry;
struct quern_stage;

struct quern_wire {
    struct quern_membership *member;
    int peer, socket;               /* -1: the rank is of this host */
    bool is_elsewhere;              /* of another host */
    struct quern_lane_end in, out;
    enum quern_access reads, is_read;  /* whether this rank can copy from the memory of the other one; and back */
    int32_t pid;                    /* of the other process, as it says */
    struct quern_link *link;        /* of GPU ranks over NCCL, where the data goes: link.h; else NULL */
    struct quern_carry *carry;      /* of CPU ranks over a carrier, likewise: carry.h; else NULL */
    struct quern_stage *stage;      /* of GPU ranks of two processes, for data that is not reached: stage.h; else NULL */
    quern_status status;            /* why nothing is heard any more: the rank has left, or what came is damaged */
    bool is_mute;                   /* the other end takes nothing; what it has said before can still be heard */

    unsigned char *queue;           /* what is to be sent: [begin, end) of [room] */
    size_t begin, end, room;
    struct quern_transfer_frame data;  /* a message of data on its way, behind which the queue waits */
    struct iovec parts[1 + QUERN_WIRE_PARTS];
    int first, count;
    void *sending;                  /* whose data that is; NULL: none */
    uint32_t sent;

    struct quern_transfer_frame head;  /* what comes */
    size_t headed;                  /* bytes of it */
    uint64_t left;                  /* of its payload */
    void *sink;                     /* whose data that is; NULL: it is dropped or collected */
    unsigned char *payload;         /* collected */
    uint32_t heard, ends;           /* frames; those that were ends */
};

/* Opens the wire to a rank.  NULL: fails with the reason as the thread's detail. */
struct quern_wire *quern_open_wire(struct quern_membership *member, int peer, quern_status *status);
void quern_close_wire(struct quern_wire *wire);

/* Makes room in the queue for so many bytes more, so that no later call needs memory. */
bool quern_wire_reserve(struct quern_wire *wire, size_t bytes);

/* Enters a message into the queue.  Without memory for it, the wire ends. */
void quern_wire_say(struct quern_wire *wire, struct quern_transfer_frame frame, const void *payload, size_t bytes);

/* Whether a message of data can begin: nothing else waits. */
static inline bool quern_wire_is_idle(const struct quern_wire *wire) {
    return wire->status == QUERN_OK && !wire->is_mute && !wire->count && wire->begin == wire->end;
}

/* The most bytes of data that a message can have now. */
size_t quern_wire_data_room(const struct quern_wire *wire);

/* Begins a message of data from wire->parts[1 .. count), whose memory stays as it is until wire->sending is NULL. */
void quern_wire_send_data(struct quern_wire *wire, struct quern_transfer_frame frame, int count, void *sending);

/* Copies what is left of a message of data, since its memory is needed.  Without memory for it, the wire ends. */
void quern_wire_detach_data(struct quern_wire *wire);

/* Sends what goes at once.  True: something has moved. */
bool quern_wire_flush(struct quern_wire *wire);

/*
 * Takes what has come: heads, and the payloads that are none of data.  Returns a whole message, or the head of one with data; NULL:
 * nothing more.  After the head of data the caller takes the payload by quern_wire_take, until wire->left is 0.
 */
const struct quern_transfer_frame *quern_wire_hear(struct quern_wire *wire, bool *moved);
ssize_t quern_wire_take(struct quern_wire *wire, const struct iovec *parts, int count);
void quern_wire_drop(struct quern_wire *wire, bool *moved);

/* The wire ends, since what came is no message of a rank. */
void quern_wire_damaged(struct quern_wire *wire);

#endif
