/*
 * The roll call of hosts whose group is shrunk.  One rank of each host speaks for it.  It listens where the leader of its host was
 * reached when the old group was made, and calls the lower hosts there: the lowest host that answers gathers who lives.  When every
 * host has come or has ended, or the limit has, it tells all the verdict.  A set of ranks goes on if it is a quorum.
 *
 * Whatever happens here, no two groups go on: that is so since each needs all ranks of its quorum (src/ranks/group/shrink.c).  For
 * shrink_hosts.c.
 */
#ifndef QUERN_QUORUM_H
#define QUERN_QUORUM_H

#include "ranks/hosts/quorum_mask.h"
#include "ranks/rendezvous.h"

struct quern_quorum;

/* Begins for a host, of which these ranks live; others are awaited until `deadline`.  NULL: no memory. */
struct quern_quorum *quern_open_quorum(const struct quern_membership *member, const struct quern_rank_set *living,
                                       int64_t deadline);

/*
 * Waits for the verdict, which may be an error for all; its round is left to the caller.  Fails with the veto's status, with
 * QUERN_PEER_TIMEOUT at the limit, or without random numbers.
 */
quern_status quern_find_quorum(struct quern_quorum *quorum, struct quern_veto veto, int64_t limit, struct quern_verdict *verdict);

/*
 * Whether a host of the verdict has hung up since: it is in another round, or has ended.  All stay connected until their group is
 * made.
 */
bool quern_quorum_is_broken(const struct quern_quorum *quorum);

void quern_close_quorum(struct quern_quorum *quorum);

#endif
