/* From public group handles to memberships, and checks that calls on groups share.  For all public functions on groups. */
#ifndef QUERN_HANDLES_H
#define QUERN_HANDLES_H

#include "ranks/membership.h"

/* Makes a membership's handle valid and returns it. */
quern_group *quern_publish_handle(struct quern_membership *member);

/* Removes a handle from the list of all and returns it; NULL: none is left.  Only at dlclose: without the lock. */
quern_group *quern_drop_handle(void);

/* Takes the membership out of its handle and waits until no other thread reads it.  NULL: it was destroyed before. */
struct quern_membership *quern_take_member(quern_group *group);

/*
 * The membership behind a handle that its own thread may be destroying.  It stays valid until the visit ends.  NULL: the group was
 * destroyed, and no visit has begun.
 */
struct quern_membership *quern_begin_visit(const quern_group *group);
void quern_end_visit(const quern_group *group);

/* Fails because a handle is NULL, was destroyed, or is a forked child's copy. */
quern_status quern_fail_no_group(const quern_group *group);

/* Fails if a handle is a forked child's copy. */
quern_status quern_check_creator(const quern_group *group);

/* The membership behind a handle.  Fails for NULL and for a destroyed handle. */
quern_status quern_member_of(const quern_group *group, struct quern_membership **member);

/* The memberships behind the handles of a collective call: of one group, each rank once.  The first fails if it is poisoned. */
quern_status quern_members_of(quern_group *const *groups, int count, struct quern_membership *members[QUERN_RANK_LIMIT]);
quern_status quern_members_even_poisoned(quern_group *const *groups, int count,
                                         struct quern_membership *members[QUERN_RANK_LIMIT]);

/* The members argument of a call (NULL: all ranks): ascending ranks of the group, with the calling rank. */
quern_status quern_check_members(const struct quern_membership *member, const int *members, int count, struct quern_rank_set *set);

/* The ranks of a set in ascending order, and the place of the calling rank.  Returns how many there are. */
int quern_number_places(const struct quern_membership *member, const struct quern_rank_set *set, uint16_t *rank_at, int *place);

/* The timeout of a call, which must not be negative or NaN; 0: the group's. */
quern_status quern_check_timeout(const struct quern_membership *member, double timeout, double *limit);

/* Returns the status of a barrier or all-to-all.  After the first that has succeeded, the waits have their steady limit. */
static inline quern_status quern_end_call(struct quern_membership *member, quern_status status) {
    if (status == QUERN_OK) __atomic_store(&member->timeout, &member->steady_timeout, __ATOMIC_RELAXED);
    return status;
}

#endif
