/* Handles of transfers.  For transfer.c and wait.c. */
#ifndef QUERN_TRANSFER_HANDLE_H
#define QUERN_TRANSFER_HANDLE_H

#include "ranks/transfer/transfers.h"
#include "runtime/look.h"

struct quern_transfer {
    struct quern_transfer_data *data;    /* atomic; NULL: destroyed */
    quern_group *group;
    struct quern_transfer *next;
};

/* The transfer behind a handle.  Fails for NULL, for a destroyed handle, and in a forked child. */
quern_status quern_transfer_of(quern_transfer *handle, struct quern_transfer_data **data);

/* Fails with the reason if it has failed. */
quern_status quern_transfer_status(struct quern_transfer_data *transfer);

/* Lets it fail if the group is poisoned. */
quern_status quern_transfer_poisoned(struct quern_transfer_data *transfer);

/* Shows what a transfer sends (receive 0) or receives (1) to those who look. */
void quern_show_transfer(const struct quern_transfer_data *transfer, int32_t receive, struct quern_tensor_taker *taker);

#endif
