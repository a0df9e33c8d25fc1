/*
 * The part of a ragged all-to-all between ranks of several hosts: over their connections.  For ragged_host.c.
 *
 * Entry and vote are exchanges: what a rank says to all goes with its message to each.  After the vote the slices follow, straight
 * from the sender's input, or its staging if it works in place, into the receiver's output.  Without ranks of other hosts these
 * functions are the meetings in the host's memory alone.
 */
#ifndef QUERN_RAGGED_HOSTS_H
#define QUERN_RAGGED_HOSTS_H

#include "ranks/hosts/span.h"
#include "ranks/meeting.h"
#include "ranks/ragged/ragged_eager.h"
#include "ranks/ragged/ragged_exchange.h"

/*
 * The entry: the record's terms and, if it is ready, the notices for each receiver; before them the eager message, if there is
 * one (NULL: none).  An eager message that does not offer the long protocol goes without terms.
 */
quern_status quern_ragged_enter(struct quern_ragged_call *call, const struct quern_ragged_exchange *exchange,
                                const struct quern_meeting *meeting, const struct quern_ragged_eager *eager);

/* The vote: the verdict and the reason in it. */
quern_status quern_ragged_vote(const struct quern_ragged_call *call, const struct quern_meeting *meeting);

/* The meetings of a host's members while they copy, and when they have. */
quern_status quern_ragged_meet_here(const struct quern_ragged_call *call, struct quern_meeting meeting, enum quern_phase phase);

/* The slices: begun before those of this host are copied, and ended after it. */
struct quern_ragged_shipment {
    struct quern_sendrecv sendrecv;
    const struct quern_ragged_exchange *exchange;
    bool is_needed;
};
quern_status quern_ragged_ship(struct quern_ragged_shipment *shipment, const struct quern_ragged_exchange *exchange,
                               const struct quern_meeting *meeting);
quern_status quern_ragged_ship_rest(struct quern_ragged_shipment *shipment);
void quern_ragged_abandon(struct quern_ragged_shipment *shipment);  /* the call fails between the two */

#endif
