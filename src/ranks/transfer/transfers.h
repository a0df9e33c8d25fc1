/* Transfers of a rank and their pairs: what transfer.c, progress.c and bytes.c share.  Types, and how transfers end. */
#ifndef QUERN_TRANSFERS_H
#define QUERN_TRANSFERS_H

#include <poll.h>

#include "ranks/transfer/transfer_list.h"
#include "ranks/transfer/connection.h"

enum {
    QUERN_TRANSFER_SMALL = 4 << 10,   /* up to so many bytes in a direction travel with the messages in any case */
    QUERN_TRANSFER_EAGER = 64 << 10   /* so many before the other rank has started */
};

/* How far one direction of a pair has come in this round. */
struct quern_cursor {
    int64_t items, all;               /* its items; their bytes */
    int64_t done;                     /* bytes */
    int64_t asked;                    /* bytes for which the receiver has said READY: carrier_path.h */
    int64_t part, within;             /* the next byte: of which part of the pair, and where in it */
    bool is_complete;
};

struct quern_transfer_data;
struct quern_transfer_pair;

/* Takes back what the GPU, a window or a carrier has of a pair whose transfer has failed. */
typedef void quern_release_pair(struct quern_transfer_pair *pair, quern_status status, const char *reason);

/* The part of a transfer with one rank. */
struct quern_transfer_pair {
    struct quern_transfer_data *transfer;
    struct quern_conn *conn;          /* NULL: the rank itself */
    struct quern_transfer_part *parts;
    int64_t count;
    bool is_agreed;                   /* the other rank's list is known and matches */
    uint32_t other;                   /* the instance of its transfer */
    uint64_t other_round;             /* how often it was started */
    uint64_t *addresses;              /* [count], in the other rank's memory */
    struct quern_cursor in, out;
    unsigned char *landing;           /* data that has come before the start */
    int64_t landed;
    int64_t gone_since;               /* the rank is known to have gone; 0: it has not */
    uint32_t other_batch;             /* in which the other rank has started it; 0: alone */
    bool is_said;                     /* the start of this round */
    bool flies;                       /* NCCL has it: nccl_path.h; or the copies within the rank are under way: gpu.h */
    quern_release_pair *release;      /* NULL: there is nothing */
    bool is_told, is_over;            /* the other rank knows that this transfer has failed; has said that its own has */
    bool other_flew;                  /* ... and that it has handed this round to NCCL */
    quern_status status;              /* of the latter ... */
    char reason[QUERN_TRANSFER_REASON];
};

enum quern_transfer_state { QUERN_TRANSFER_IDLE, QUERN_TRANSFER_DEFERRED, QUERN_TRANSFER_STARTED, QUERN_TRANSFER_OVER };

/* A transfer.  Behind the handle of the caller. */
struct quern_transfer_data {
    struct quern_transfer_data *next;
    struct quern_membership *member;
    uint64_t key, round;
    uint32_t instance;
    enum quern_transfer_state state;
    bool is_cancelled;
    uint32_t batch;                   /* in which it was started; 0: alone */
    struct quern_transfer_gpu *gpu;   /* of GPU ranks: gpu.h; else NULL */
    double timeout;
    quern_status status;              /* OVER: with which it has failed ... */
    char reason[QUERN_TRANSFER_REASON];
    int64_t looked;                   /* when the ranks were last looked at */
    struct quern_transfer_part *parts;
    int64_t count;
    struct quern_transfer_pair *pairs;
    int pair_count;
};

/*
 * The n-th transfer of a key that a rank prepares with another one meets the n-th of that one.  What this is of the ones that have
 * not met: the list of another rank, or the news of its end; or a transfer of this rank that was destroyed.
 */
struct quern_early {
    struct quern_early *next;
    int peer;
    uint64_t key, round;
    uint32_t instance, batch;
    bool is_own;                                 /* a destroyed one of this rank; the fields below are not used */
    int64_t count;
    struct quern_transfer_entry *entries;
    bool is_over;
    quern_status status;
    char reason[QUERN_TRANSFER_REASON];
};

/* All of a group handle. */
struct quern_transfers {
    struct quern_membership *member;
    struct quern_conn *conn[QUERN_GROUP_LIMIT];  /* by rank; NULL: none so far */
    struct quern_conn *open[QUERN_GROUP_LIMIT];  /* [conns] */
    struct pollfd polls[QUERN_GROUP_LIMIT];      /* of a sleep */
    int conns;
    struct quern_transfer_data *first;
    struct quern_early *early;                   /* the oldest first */
    int earlies;
    uint32_t instances, batches;
    struct quern_transfer_streams *streams;      /* of GPU ranks: gpu.h; NULL: none so far */
    bool is_batch;
};

/* Lets a transfer fail, unless it has, and tells all its ranks. */
void quern_transfer_fail(struct quern_transfer_data *transfer, quern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Lets it fail since the rank of a pair has ended or left. */
void quern_lose_rank(struct quern_transfer_pair *pair);

/* Ends what a transfer does on its connection, and tells its ranks that it is over.  Then its memory is the caller's. */
void quern_release_pairs(struct quern_transfer_data *transfer, quern_status status, const char *reason);

#endif
