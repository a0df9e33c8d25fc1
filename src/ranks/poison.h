/* Poison ends a group for all its ranks at once.  For every wait and every call on a group. */
#ifndef QUERN_POISON_H
#define QUERN_POISON_H

#include "os/text.h"
#include "ranks/membership.h"

/* QUERN_OK, or fails with the status and the detail of the poison.  Cheap. */
quern_status quern_check_poison(const struct quern_membership *member);

/*
 * Poisons the group unless it is poisoned already, wakes every waiting rank, logs the report, and fails as quern_check_poison does.
 * Only for the thread that owns the membership.
 */
quern_status quern_poison(const struct quern_membership *member, quern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The same for a rank of a larger number of ranks than the group has: QUERN_PEER_MISMATCH.  The segment has no part for this rank,
 * so nothing but the poison is written.
 */
quern_status quern_poison_by_outsider(const struct quern_membership *member);

/* Poisons the group with QUERN_GROUP_ABORTED; for any thread. */
void quern_poison_by_abort(const struct quern_membership *member);

/* Appends a line about the poison, if there is any; for any thread. */
void quern_report_poison(struct quern_text *text, const struct quern_membership *member);

#endif
