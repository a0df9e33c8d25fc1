/* Making and freeing symmetric memory.  For the transports. */
#ifndef QUERN_SYMMETRIC_H
#define QUERN_SYMMETRIC_H

#include "ranks/membership.h"

/* quern_symmetric_alloc for memberships.  `operation` is the call that reports name. */
quern_status quern_symmetric_allocate(struct quern_membership *const *members, int count, enum quern_collective operation,
                                      const size_t *bytes, void **pointers);

/* Frees all symmetric memory of a membership.  Its work on the device has completed. */
void quern_symmetric_forget(struct quern_membership *member);

#endif
