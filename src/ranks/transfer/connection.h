/*
 * The connection of two ranks for transfers: frames over two rings within a host, over a socket between hosts.  It knows no
 * transfers: it queues frames to send, and hands over those that arrive.  For progress.c and bytes.c.
 */
#ifndef QUERN_TRANSFER_CONNECTION_H
#define QUERN_TRANSFER_CONNECTION_H

#include "ranks/transfer/ring.h"
#include "ranks/transfer/words.h"

enum { QUERN_CONN_PIECE = 64 << 10, QUERN_CONN_PARTS = 32 };
enum quern_access { QUERN_ACCESS_UNKNOWN, QUERN_ACCESS_NO, QUERN_ACCESS_YES };

struct quern_nccl_path;
struct quern_carrier_path;
struct quern_bounce_path;

struct quern_conn {
    struct quern_membership *member;
    int peer, socket;               /* -1: the rank is of this host */
    bool is_elsewhere;              /* of another host */
    struct quern_ring_end in, out;
    enum quern_access reads, is_read;  /* whether this rank can copy from the memory of the other one; and back */
    int32_t pid;                    /* of the other process, as it says */
    struct quern_nccl_path *nccl;        /* of GPU ranks over NCCL, where the data goes: nccl_path.h; else NULL */
    struct quern_carrier_path *carrier;      /* of CPU ranks over a carrier, likewise: carrier_path.h; else NULL */
    struct quern_bounce_path *bounce;      /* of GPU ranks of two processes, for data that is not reached: bounce_path.h; else
                                              NULL */
    quern_status status;            /* why nothing is heard any more: the rank has left, or what came is damaged */
    bool is_mute;                   /* the other end takes nothing; what it has said before can still be heard */

    unsigned char *queue;           /* what is to be sent: [begin, end) of [room] */
    size_t begin, end, room;
    struct quern_transfer_frame data;  /* a message of data on its way, behind which the queue waits */
    struct iovec parts[1 + QUERN_CONN_PARTS];
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

/* Opens the connection to a rank.  NULL: fails with the reason as the thread's detail. */
struct quern_conn *quern_open_conn(struct quern_membership *member, int peer, quern_status *status);
void quern_close_conn(struct quern_conn *conn);

/* Makes room in the queue for so many bytes more, so that no later call needs memory. */
bool quern_conn_reserve(struct quern_conn *conn, size_t bytes);

/* Enters a message into the queue.  Without memory for it, the connection ends. */
void quern_conn_say(struct quern_conn *conn, struct quern_transfer_frame frame, const void *payload, size_t bytes);

/* Whether a message of data can begin: nothing else waits. */
static inline bool quern_conn_is_idle(const struct quern_conn *conn) {
    return conn->status == QUERN_OK && !conn->is_mute && !conn->count && conn->begin == conn->end;
}

/* The most bytes of data that a message can have now. */
size_t quern_conn_data_room(const struct quern_conn *conn);

/* Begins a message of data from conn->parts[1 .. count), whose memory stays as it is until conn->sending is NULL. */
void quern_conn_send_data(struct quern_conn *conn, struct quern_transfer_frame frame, int count, void *sending);

/* Copies what is left of a message of data, since its memory is needed.  Without memory for it, the connection ends. */
void quern_conn_detach_data(struct quern_conn *conn);

/* Sends what goes at once.  True: something has moved. */
bool quern_conn_flush(struct quern_conn *conn);

/*
 * Takes what has come: heads, and the payloads that are none of data.  Returns a whole message, or the head of one with data; NULL:
 * nothing more.  After the head of data the caller takes the payload by quern_conn_take, until conn->left is 0.
 */
const struct quern_transfer_frame *quern_conn_hear(struct quern_conn *conn, bool *moved);
ssize_t quern_conn_take(struct quern_conn *conn, const struct iovec *parts, int count);
void quern_conn_drop(struct quern_conn *conn, bool *moved);

/* The connection ends, since what came is no message of a rank. */
void quern_conn_damaged(struct quern_conn *conn);

#endif
