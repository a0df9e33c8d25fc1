/* Handles of transfers.  For transfer.c and wait.c. */
#ifndef QUERN_TRANSFER_HANDLE_H
#define QUERN_TRANSFER_HANDLE_H

#include "ranks/transfer/transfers.h"

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

#endif
