/* The kernels of the collectives.  For collective.c. */
#ifndef QUERN_COLLECTIVE_SELECT_H
#define QUERN_COLLECTIVE_SELECT_H

#include "ranks/collective/collective_call.h"

/* Fills in the kernels of a call, whose form and dtype are known. */
quern_status quern_collective_select(struct quern_collective_call *call);

/* The kernel that moves bytes, for whoever sends something to all members itself. */
quern_status quern_collective_select_move(quern_device *device, const struct quern_ready_kernel **chosen);

#endif
