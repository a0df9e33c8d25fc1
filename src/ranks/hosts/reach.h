/* Opens and closes a rank's span: its way to the ranks of other hosts.  For hosts.c and span.c. */
#ifndef QUERN_REACH_H
#define QUERN_REACH_H

#include "ranks/membership.h"

/* Makes the span of a rank whose roster is complete, without connections.  False: no memory. */
bool quern_open_span(struct quern_membership *member);

/* Says goodbye, so that the others can tell an end from a death, and closes all. */
void quern_free_span(struct quern_membership *member);

#endif
