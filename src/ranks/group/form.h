/* Forms a group and makes its handles valid.  For the public functions on groups. */
#ifndef QUERN_FORM_H
#define QUERN_FORM_H

#include "ranks/rendezvous.h"

/*
 * Makes the memberships of a thread's ranks and lets them meet the others; then chooses the transport and attaches to it; both.
 * On failure nothing is kept, and poison tells the ranks that got further.
 */
quern_status quern_join_group(const quern_group_args *args, int count, const char *name, struct quern_veto veto,
                              struct quern_membership **members);
quern_status quern_attach_group(struct quern_membership **members, int count);
quern_status quern_form_group(const quern_group_args *args, int count, const char *name, struct quern_veto veto,
                              struct quern_membership **members);

/* Appends a random number, for the names of groups that are made of another: its roster's id, for instance. */
void quern_add_number(struct quern_text *text, const unsigned char number[16]);

/* Makes the handles valid.  NULL stays NULL. */
void quern_publish_group(struct quern_membership *const *members, int count, quern_group **groups);

/* Leaves a group from whose transport the rank is detached, and frees the membership. */
void quern_leave_group(struct quern_membership *member);

/* Frees memberships that have no public handle yet.  The first NULL ends the array. */
void quern_drop_members(struct quern_membership **members, int count);

#endif
