/* Transfers as the group's handle sees them.  For src/ranks/group. */
#ifndef QUERN_TRANSFER_H
#define QUERN_TRANSFER_H

#include "ranks/membership.h"

/* Fails if transfers of the handle are not destroyed. */
quern_status quern_check_no_transfers(const struct quern_membership *member);

/* Frees what the handle has for transfers, of which none is left. */
void quern_forget_transfers(struct quern_membership *member);

#endif
