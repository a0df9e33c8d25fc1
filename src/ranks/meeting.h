/* Meetings on the host: the barrier of CPU ranks, and how all ranks exchange messages and agree. */
#ifndef QUERN_MEETING_H
#define QUERN_MEETING_H

#include "ranks/membership.h"

/* One meeting of some ranks.  Each rank announces itself to all, then awaits all. */
struct quern_meeting {
    enum quern_collective operation;
    enum quern_phase phase;
    const struct quern_rank_set *set;
    double timeout;
    const struct quern_rank_set *called;  /* the members by which the call is known; NULL: the set */
};

/* A thread that drives several ranks announces all of them before it awaits. */
void quern_announce(struct quern_membership *member, const struct quern_meeting *meeting);

/*
 * Returns when all members of the set have announced themselves.  Their writes before that are then visible.
 * Errors poison the group: QUERN_PEER_TIMEOUT, QUERN_PEER_LOST, QUERN_PEER_MISMATCH.  A poisoned group returns its own status.
 */
quern_status quern_await(struct quern_membership *member, const struct quern_meeting *meeting);

quern_status quern_meet(struct quern_membership *member, const struct quern_meeting *meeting);  /* both */

/*
 * Both; in a meeting of all ranks of one host each tells some words beside its signal, which the others find there when they have
 * met.  They stay until the rank comes to the meeting after the next.
 */
quern_status quern_meet_telling(struct quern_membership *member, const struct quern_meeting *meeting,
                                const uint64_t told[QUERN_TOLD_WORDS]);

/*
 * Gathers `bytes` bytes of every rank of the group on every rank: all[rank * bytes].  payloads[i] is the message of members[i].
 * Any number of bytes.  Collective over the whole group, on the host.  all may be NULL for 0 bytes: then the ranks only meet.
 */
quern_status quern_exchange(struct quern_membership *const *members, int count, enum quern_collective operation,
                            const void *const *payloads, size_t bytes, void *all);

#endif
