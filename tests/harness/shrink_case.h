/* What the suites of shrinking groups of several hosts share: a group that is shrunk, and one that is left and works. */
#ifndef HARNESS_SHRINK_CASE_H
#define HARNESS_SHRINK_CASE_H

#include "harness/ranks.h"

/*
 * Seconds, which end where a host cannot be known to have ended; the ranks of a host that awaits one of them in vain come half of
 * it before the others cease to await them.
 */
static const double SHRINK_SHORT = 8;

/* So many rounds of a test at random, or QUERN_TEST_SHRINKS. */
int shrink_case_rounds(int usual);

/* Kills this process after so many seconds. */
void shrink_case_die_after(double seconds);

/* The group of all ranks with a limit of its shrink: that of its creation may be much longer. */
quern_group *shrink_case_group(struct rank *rank, double limit);

/* The group has these ranks of the old one, a bit mask, in their order. */
void shrink_case_check(struct rank *rank, const quern_group *group, unsigned living);

/* Barriers, exchanges and transfers of a group, which it destroys. */
void shrink_case_use(struct rank *rank, quern_group *group);

/* Shrinks: a quorum of these has a group that works, others learn why they have none.  Destroys all groups. */
quern_status shrink_case_run(struct rank *rank, quern_group *group, unsigned living);

#endif
