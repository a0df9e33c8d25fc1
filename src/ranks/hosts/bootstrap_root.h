/* The place of meeting, which rank 0 holds: see bootstrap.h.  For hosts.c. */
#ifndef QUERN_PLACE_H
#define QUERN_PLACE_H

#include "ranks/hosts/bootstrap.h"

struct quern_bootstrap_root;

/* NULL: no memory. */
struct quern_bootstrap_root *quern_open_bootstrap_root(const struct quern_bootstrap *bootstrap);
void quern_close_bootstrap_root(struct quern_bootstrap_root *place);

/*
 * Serves those who have come, while the ranks of this host still meet.  Fails if those cannot all come, since other hosts have
 * brought more ranks than this one leaves them.
 */
quern_status quern_serve_bootstrap_root(struct quern_bootstrap_root *place);

/*
 * Awaits all hosts and tells them the verdict.  With a status that is not QUERN_OK, which has its reason in the detail of the
 * thread, this host does not take part, and the others hear why; so do those who come later, until the limit.
 */
quern_status quern_hold_bootstrap_root(struct quern_bootstrap_root *place, quern_status status);

#endif
