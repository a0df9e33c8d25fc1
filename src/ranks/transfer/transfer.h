/* Transfers as the group's handle sees them.  For src/ranks/group. */
#ifndef QUERN_TRANSFER_H
#define QUERN_TRANSFER_H

#include "ranks/membership.h"

/* Fails if transfers of the handle are not destroyed. */
quern_status quern_check_no_transfers(const struct quern_membership *member);

/* The lines of a report about transfers between hosts: by which way their bytes go, where that is not the one of their words. */
void quern_report_transfers(struct quern_text *text, const struct quern_membership *member);

/* Takes back what a carrier has of them, before the end of the group.  QUERN_PEER_LOST: it keeps a message. */
quern_status quern_settle_transfers(struct quern_membership *member);

/* Frees what the handle has for transfers, of which none is left. */
void quern_forget_transfers(struct quern_membership *member);

#endif
