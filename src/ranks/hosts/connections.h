/*
 * One rank's way to the ranks of other hosts: see choice.h.
 *
 * Each rank has two connections to every rank of another host, for calls and for transfers, which only its own thread uses, inside
 * of calls: nothing wakes another thread on the way of a message, and bytes go straight between the caller's memory and the socket.
 */
#ifndef QUERN_CONNECTIONS_H
#define QUERN_CONNECTIONS_H

#include "ranks/membership.h"

struct quern_channel;
struct quern_data_row;
struct quern_messages;

struct quern_span {
    const struct quern_data_row *row;        /* the transport: src/ranks/hosts/rows.h */
    struct quern_messages *messages;         /* of a row of messages; NULL: it is none */
    const char *transport;                         /* the name of the row, or of its carrier ... */
    char why[240];                           /* ... and why not the rows before it; "": there are none */
    struct quern_rank_set here;              /* the ranks of this host */
    unsigned char key[32];                   /* of the group's meeting */
    int *socket;                             /* [ranks]; -1: of this host */
    int *transfers;                          /* likewise, for src/ranks/transfer */
    uint32_t *sent, *received;               /* [ranks]: messages */
    struct quern_channel *channels;          /* [ranks]: of the call */
    uint16_t *order;                         /* [ranks]: likewise */
    struct pollfd *polls;                    /* [ranks] */
    unsigned char *mailboxes;                /* [ranks][QUERN_MAILBOX_BYTES]: the last message of each rank of another host */
    unsigned char *eagers;                   /* [ranks][QUERN_BRIEF_BYTES] */
};

/* Of a rank of another host. */
unsigned char *quern_span_mailbox(const struct quern_membership *member, int rank);
unsigned char *quern_span_eager(const struct quern_membership *member, int rank);

/* The ranks of a set that are of this host. */
struct quern_rank_set quern_local_part(const struct quern_membership *member, const struct quern_rank_set *set);
bool quern_spans_hosts(const struct quern_membership *member, const struct quern_rank_set *set);

/* A message with this tag, which no call has, is the last of a rank that leaves. */
#define QUERN_GOODBYE_TAG 0xffffffffu

/* The head of a message, and the sizes of its parts. */
struct quern_frame {
    uint32_t tag;
    uint32_t number;          /* of the messages of this pair, in this direction */
    uint32_t first, second;   /* bytes of the first two parts ... */
    uint64_t last;            /* ... and of the last one */
};

#endif
