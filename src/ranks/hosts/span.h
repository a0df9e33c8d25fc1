/*
 * One rank's connections to the ranks of other hosts, and the meetings over them.
 *
 * Each rank has a connection to every rank of another host, which only its own thread uses, inside of calls: nothing wakes another
 * thread on the way of a message, and bytes go straight between the caller's memory and the socket.  Both sides of a pair make the
 * same calls in the same order, so a message needs no address: its head says which meeting it is of, and must be the expected one.
 */
#ifndef QUERN_SPAN_H
#define QUERN_SPAN_H

#include <sys/uio.h>

#include "ranks/meeting.h"
#include "ranks/membership.h"

struct quern_span {
    struct quern_rank_set here;              /* the ranks of this host */
    int socket[QUERN_RANK_LIMIT];            /* -1: of this host */
    uint32_t sent[QUERN_RANK_LIMIT], received[QUERN_RANK_LIMIT];  /* messages */
    unsigned char *mailboxes;                /* [ranks][QUERN_MAILBOX_BYTES]: the last message of each rank of another host */
    unsigned char *briefs;                   /* [ranks][QUERN_BRIEF_BYTES] */
};

/* Of a rank of another host. */
unsigned char *quern_span_mailbox(const struct quern_membership *member, int rank);
unsigned char *quern_span_brief(const struct quern_membership *member, int rank);

/* A span without connections; NULL: no memory. */
struct quern_span *quern_make_span(const struct quern_membership *member);

/* Says goodbye, so that the others can tell an end from a death, and closes all. */
void quern_free_span(struct quern_membership *member);

/* The ranks of a set that are of this host. */
struct quern_rank_set quern_local_part(const struct quern_membership *member, const struct quern_rank_set *set);
bool quern_spans_hosts(const struct quern_membership *member, const struct quern_rank_set *set);

/* ---- messages ---- */

/* A message with this tag, which no call has, is the last of a rank that leaves. */
#define QUERN_GOODBYE_TAG 0xffffffffu

/* The head of a message, and the sizes of its parts. */
struct quern_frame {
    uint32_t tag;
    uint32_t number;          /* of the messages of this pair, in this direction */
    uint32_t first, second;   /* bytes of the first two parts ... */
    uint64_t last;            /* ... and of the last one */
};

/* One peer's part of a trade. */
struct quern_lane {
    int rank;
    struct quern_frame out_head, in_head;
    struct iovec *out, *in;   /* what is left to move; used up */
    int outs, ins;
    size_t in_heading;        /* bytes of the head that have come */
    uint64_t skipped;         /* bytes behind the parts that are read and dropped */
    struct iovec few_out[4], few_in[3];  /* for messages of few parts */
};

/*
 * A trade: one message to and one from each of some ranks of other hosts, all at once, so that both directions of all pairs move
 * and none waits for another.
 */
struct quern_trade {
    struct quern_membership *member;
    uint32_t tag;
    double timeout;
    int64_t began, ended;     /* since when a rank is known to have ended; 0: none has */
    int count, open;          /* lanes; those that are not done */
    struct quern_lane *lane;  /* [count] */

    /* A head has come: says where its parts go (lane->in, ins, skipped).  False: the sizes are not those of a rank's message. */
    bool (*place)(void *user, struct quern_lane *lane);
    void *user;
};

/* A lane for each rank of a set that is of another host.  The caller fills in the parts, and then begins. */
void quern_trade_open(struct quern_trade *trade, struct quern_membership *member, const struct quern_meeting *meeting,
                      const struct quern_rank_set *set, struct quern_lane *lanes);

/* Adds a part to what a lane sends: the first, second and last ones in this order. */
void quern_lane_add(struct quern_lane *lane, const void *data, size_t bytes);

/* Moves what can be moved at once; and until all is moved.  Errors poison the group, as those of quern_await. */
quern_status quern_trade_begin(struct quern_trade *trade);
quern_status quern_trade_end(struct quern_trade *trade);

/* ---- meetings ---- */

/* The barrier: within hosts, between one rank of each host, within hosts. */
quern_status quern_span_meet(struct quern_membership *member, const struct quern_meeting *meeting);

/*
 * A meeting in which each rank sends a message to each rank of another host.  The ranks of this host meet in its memory at the same
 * time.  The trade is open, and its parts are there.
 */
quern_status quern_span_trade(struct quern_trade *trade, const struct quern_meeting *meeting);

/* The control of a group of several hosts. */
extern const struct quern_control quern_span_control;

#endif
