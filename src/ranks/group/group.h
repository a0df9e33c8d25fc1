/* Creating, splitting and shrinking groups, and the table of their transports. */
#ifndef QUERN_RANKS_GROUP_H
#define QUERN_RANKS_GROUP_H

#include "ranks/hosts/hosts.h"
#include "ranks/membership.h"
#include "ranks/rendezvous.h"

/* ---- cuda_transport.c: the transports of GPUs that reach each other's memory, for the table in form.c ---- */

extern const struct quern_transport quern_cuda_transport, quern_pinned_transport, quern_fabric_transport;

/* ---- form.c: forms a group and makes its handles valid ---- */

/*
 * Makes the memberships of a thread's ranks and lets them meet the others; then chooses the transport and attaches to it; both.
 * On failure nothing is kept, and poison tells the ranks that got further.
 */
quern_status quern_join_group(const quern_group_args *args, int count, const char *name, struct quern_veto veto,
                              struct quern_membership **members);
quern_status quern_attach_group(struct quern_membership **members, int count);
quern_status quern_form_group(const quern_group_args *args, int count, const char *name, struct quern_veto veto,
                              struct quern_membership **members);

/* The arguments of a group that is made of another one: those that it inherits. */
quern_group_args quern_inherit_group(const struct quern_membership *member);

/* Appends a random number, for the names of groups that are made of another: its roster's id, for instance. */
void quern_add_number(struct quern_text *text, const unsigned char number[16]);

/* Makes the handles valid.  NULL stays NULL. */
void quern_publish_group(struct quern_membership *const *members, int count, quern_group **groups);

/* Leaves a group from whose transport the rank is detached, and frees the membership. */
void quern_leave_group(struct quern_membership *member);

/* Frees memberships that have no public handle yet.  The first NULL ends the array. */
void quern_drop_members(struct quern_membership **members, int count);

/* ---- host_transport.c: the transport of threads and processes of one host, for the table in group.c ---- */

extern const struct quern_transport quern_host_transport;

/* ---- hosts_transport.c: the transport of CPU ranks of several hosts, for the table in form.c ---- */

extern const struct quern_transport quern_hosts_transport;

/* ---- nccl_transport.c: the transport of GPU ranks of several hosts: see nccl_transport.c ---- */

extern const struct quern_transport quern_nccl_transport;

/* ---- peer_probe.c: whether the GPUs of a group really reach each other's memory ---- */

/* The bytes of a pad and of what the probe uses behind it; zeroed. */
size_t quern_probed_pad_bytes(int ranks);

/*
 * Collective: each rank writes a word behind every other rank's pad and reads it back, and finds the words of the others behind its
 * own.  QUERN_NOT_SUPPORTED names the GPUs between which a word was lost.
 */
quern_status quern_probe_peers(struct quern_membership *const *members, int count);

/* ---- shrink_hosts.c: the part of a shrink that is about ranks of several hosts ---- */

/*
 * For the other ranks of a host: the decision of a round, by the rank that speaks for it.  The second is false: there is none yet.
 */
void quern_publish_decision(const struct quern_membership *member, uint32_t round, const struct quern_decision *decision);
bool quern_read_decision(const struct quern_membership *member, int speaker, uint32_t round, struct quern_decision *decision);

/*
 * Forms the group of the decision's ranks, up to the last meeting.  Until that has begun, a rank that fails may try again.  The
 * limit is in seconds; the veto is asked while ranks are awaited.
 */
quern_status quern_join_quorum(const struct quern_membership *member, const struct quern_decision *decision, double limit,
                               struct quern_veto veto, struct quern_membership **formed);

/*
 * The last meeting.  Who has completed it knows that no other rank of the group will be of another one.  After a failure, here too,
 * nothing is kept.
 */
quern_status quern_complete_quorum(const struct quern_membership *member, struct quern_membership **formed);

/* ---- split_hosts.c: the part of a split that is about ranks of several hosts ---- */

struct quern_split_wish {
    int32_t colour, key;
};

/* The ranks of a colour, by their numbers in the group that is split, in the order of their new ones: by key, then by number. */
struct quern_colour {
    int value, ranks;
    const uint16_t *numbers;
};
struct quern_colour quern_list_colour(const struct quern_split_wish *wishes, int all, int value, uint16_t *numbers);
int quern_place_in_colour(const struct quern_colour *colour, int rank);

/*
 * Forms the group of a rank's colour.  Collective over the parent; a thread has one rank, a CPU.  The veto is asked while ranks are
 * awaited.  A rank without a colour attends.
 */
quern_status quern_split_hosts(struct quern_membership *member, const struct quern_colour *colour, struct quern_veto veto,
                               struct quern_membership **formed);
quern_status quern_attend_split(struct quern_membership *member);

#endif
