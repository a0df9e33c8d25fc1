/* Compares the lists of two ranks.  For progress.c. */
#ifndef QUERN_TRANSFER_AGREE_H
#define QUERN_TRANSFER_AGREE_H

#include "ranks/transfer/transfers.h"

/* Whether another rank's list has what this one's has.  If not, the transfer fails with the first difference: the same on both. */
bool quern_agree_on_lists(struct quern_transfer_pair *pair, const struct quern_transfer_entry *theirs, int64_t count);

/* A transfer without any item with a rank whose list has some with this one fails. */
void quern_refuse_list(struct quern_transfer_data *transfer, int peer, const struct quern_transfer_entry *theirs, int64_t count);

#endif
