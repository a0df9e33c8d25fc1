/* Moves the bytes of transfers.  For progress.c and transfer.c. */
#ifndef QUERN_TRANSFER_BYTES_H
#define QUERN_TRANSFER_BYTES_H

#include "ranks/transfer/transfers.h"

/* Begins a round: both directions at their first byte, with the data that has come before. */
void quern_begin_cursors(struct quern_transfer_pair *pair);

/* The head of data has come on the connection: where it goes; and takes what there is of it. */
void quern_begin_data(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head);
void quern_take_data(struct quern_conn *conn, bool *moved);

/* Goes on with a pair of a started transfer.  True: something has moved. */
bool quern_advance_pair(struct quern_transfer_pair *pair);

#endif
