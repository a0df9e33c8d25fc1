/*
 * Two ranks that send each other an item: what the suites of transfers have in common, whatever the memory and the way between the
 * ranks; and how one of them ends the transfer, its group or itself.
 */
#ifndef HARNESS_TRANSFER_PAIR_H
#define HARNESS_TRANSFER_PAIR_H

#include "harness/transfer_case.h"

/* A rank's end.  The bytes of a round are told by the sender, the round and their place. */
struct transfer_pair {
    struct rank *rank;
    quern_group *group;
    const struct transfer_place *place;
    int peer;
    int64_t bytes;
    void *out, *in;
    quern_transfer *transfer;    /* NULL: none is prepared */
    int *held;                   /* the word for which the stream of a rank waits; NULL: for none */
};

/* Takes memory of the place (NULL: the host's), and gives it back, after it has destroyed a transfer that is prepared. */
void transfer_pair_open(struct transfer_pair *pair, struct rank *rank, quern_group *group, const struct transfer_place *place,
                        int peer, int64_t bytes);
void transfer_pair_close(struct transfer_pair *pair);

void transfer_pair_prepare(struct transfer_pair *pair, uint64_t key);
void transfer_pair_destroy(struct transfer_pair *pair);

/* What is sent, on the place's stream; what is to be received is rubbish then. */
void transfer_pair_fill(const struct transfer_pair *pair, int round);
void transfer_pair_compare(const struct transfer_pair *pair, int round);

/* Starts and waits: the first error. */
quern_status transfer_run(quern_transfer *transfer, void *stream, double timeout);
quern_status transfer_pair_run(const struct transfer_pair *pair, double timeout);

/* One round by the transfer that is prepared; and by one of this key, which is destroyed: both ranks still work together. */
void transfer_pair_round(const struct transfer_pair *pair, int round);
void transfer_pair_exchange(struct transfer_pair *pair, uint64_t key, int round);

/* The transfer fails with this, within the limit (0: the group's), and from then on always. */
void transfer_fails(struct rank *rank, quern_transfer *transfer, void *stream, double timeout, quern_status expected,
                            const char *detail);

/* ---- ends ---- */

enum transfer_how { TRANSFER_CANCELS, TRANSFER_DESTROYS, TRANSFER_IS_LATE, TRANSFER_ABORTS, TRANSFER_LEAVES, TRANSFER_IS_KILLED };
enum transfer_stage { TRANSFER_UNPREPARED, TRANSFER_PREPARED, TRANSFER_STARTED };

struct transfer_ending {
    enum transfer_how how;
    enum transfer_stage own, other;  /* how far the rank `by` that ends it, and the other one, have come */
    double meanwhile;                /* seconds that the latter waits before; until it expires, if that one is late */
};

/*
 * Rank `by` ends a transfer of a pair that has prepared none, and the other one gets the status and who has done it.  One that
 * leaves has no transfer then, and has to destroy its group at once.  All others line up, and work together again if the group is
 * left.  A stream that is held goes on when both know of the end; the round before was 1, and nothing has come since.
 */
void transfer_pair_end(struct transfer_pair *pair, int by, const struct transfer_ending *ending);

#endif
