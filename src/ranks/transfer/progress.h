/* Control messages of transfers: sends and receives them, and advances the data.  For transfer.c. */
#ifndef QUERN_TRANSFER_PROGRESS_H
#define QUERN_TRANSFER_PROGRESS_H

#include "ranks/transfer/transfers.h"

/* The connection to a rank, which is opened if need be.  NULL: fails with the reason as the thread's detail. */
struct quern_conn *quern_conn_to(struct quern_transfers *all, int peer, quern_status *status);

/* Opens conns to the ranks that have spoken first. */
void quern_find_speakers(struct quern_transfers *all);

/* Tells the rank of a pair of the list, and hears what that one has said before. */
bool quern_say_eager(struct quern_transfer_pair *pair);
void quern_hear_early(struct quern_transfers *all, struct quern_transfer_pair *pair);
void quern_free_early(struct quern_transfers *all);

/* Notes that a transfer is destroyed before the other rank's list of its turn has come. */
void quern_keep_turn(struct quern_transfers *all, struct quern_transfer_pair *pair);

/* Tells the rank that the round has begun. */
void quern_say_start(struct quern_transfer_pair *pair);

/* Sends and hears on all conns of the handle, and goes on with its transfers.  True: something has moved. */
bool quern_pass_transfers(struct quern_transfers *all);

/* A GPU or a carrier is at work, whose end nobody tells: the rank has to look again soon. */
bool quern_transfers_are_busy(const struct quern_transfers *all);

#endif
