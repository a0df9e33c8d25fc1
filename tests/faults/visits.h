/*
 * Ranks that are struck at the points of src/ranks/points.h.  A scene is what the ranks of some runs do, and the points at which
 * one of them is struck with each fault.  However it ends: every rank returns, with a status that the fault explains.
 */
#ifndef FAULTS_VISITS_H
#define FAULTS_VISITS_H

#include "faults/life.h"
#include "faults/points.h"
#include "faults/runs.h"

struct visit_plan {
    struct point_plan points;
    const struct scene *scene;
};

struct scene {
    const char *word;           /* of the program that visits it; NULL: behind the last scene */
    const char *name;
    struct ranks ranks;         /* kind: that of all, or RANK_BOTH */
    int least;                  /* runs of so many ranks up to their count; 0: of their count */
    enum quern_point first, last;  /* the points, in step 0, for each of ... */
    unsigned arrivals[4];       /* ... these arrivals, until 0 */
    unsigned subjects;          /* bits of steps, whose points are those that a first run without a fault comes to; 0: as above */
    int victims[2];             /* the ranks that are struck there; 0: the first or second that comes */
    unsigned faults;            /* bits of enum point_fault; 0: all */
    bool spreads;               /* a rank that fails ends its part in what the others do */
    struct course course;
    const char *(*judge)(const struct visit_plan *plan, const struct rank_run *run);  /* how it ends beside that; NULL: no matter */
    bool (*must_meet)(enum quern_point point, enum point_fault fault);  /* NULL: those of first to last */
};

extern const struct scene scenes[];

/* Visits all scenes of a program whose names contain the first word, or all; those that no run has met are tried again. */
void visit_all(const char *word, int count, char **words);

static inline const struct visit_plan *visit_plan_of(const struct rank *rank) { return rank->user; }

/* Runs a rank's part while the plan strikes, and then looks at what it has left.  Returns the first error, which has a reason. */
quern_status visit_strike(struct rank *rank, quern_group *group, quern_status (*run)(void *user), void (*look)(void *user),
                          void *user);

/* ---- what the ranks of the scenes do ---- */

rank_function live_in_group, split_hosts, transfer_lists, exchange_slices, transfer_windows, reduce_over_nccl,
    record_over_nccl, share_a_fabric;
const char *judge_group(const struct visit_plan *plan, const struct rank_run *run);

#endif
