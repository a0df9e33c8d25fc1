/* The schedules of collectives over several hosts: which piece goes where in which step.  For collective_hosts.c. */
#ifndef QUERN_COLLECTIVE_SCHEDULES_H
#define QUERN_COLLECTIVE_SCHEDULES_H

#include "ranks/collective/collective_steps.h"

/*
 * The schedule with which the busiest host sends the fewest bytes, the same on all members.  The members are divided among hosts
 * already.
 */
const struct quern_collective_schedule *quern_choose_schedule(const struct quern_host_exchange *x);

#endif
