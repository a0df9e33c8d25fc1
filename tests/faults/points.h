/*
 * Stops at the points of src/ranks/points.h.  A plan names points and what happens to the rank that comes to each: it is delayed,
 * held, killed, its group is aborted, or its limit ends.  Ranks are threads or processes; what they and the test share is
 * struct points, at the start of the memory that tests/harness/ranks.h shares.
 *
 * The library's clock is the test's (--wrap=quern_now): a limit ends because the test says so, not because the machine is slow.
 */
#ifndef FAULTS_POINTS_H
#define FAULTS_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#define QUERN_WITH_POINTS
#include "ranks/points.h"

#include "quern.h"

enum { POINT_RANKS = 6, POINT_STEPS = 19, POINT_STOPS = 2 };

/* The limit of groups whose waits only the test ends. */
static const double POINT_LIMIT = 600;

enum point_fault {
    POINT_NOTHING,  /* only counted */
    POINT_DELAY,    /* some milliseconds */
    POINT_OUTSTAY,  /* held beyond the limits of the others, until they have ended */
    POINT_KILL,     /* SIGKILL: processes only */
    POINT_ABORT,    /* held until another rank has aborted the group */
    POINT_EXPIRE,   /* its own limit ends, again and again, until its step ends */
    POINT_HOLD,     /* held until points_release */
    POINT_FAULTS
};

/* What happens at a point.  Once: to the first rank that it fits. */
struct point_stop {
    enum point_fault fault;
    enum quern_point point;
    int rank;          /* -1: any */
    int step;          /* -1: any; else the step that this rank is in */
    unsigned arrival;  /* of all ranks at this point in this step, from 1; 0: any */
};

struct point_plan {
    int ranks;
    bool limits_end;   /* once a rank has failed or died the clocks are fast; else no limit ends but by a fault or points_be_late */
    struct point_stop stop[POINT_STOPS];
};

/* Shared by the ranks and the test; zero at first; all atomic. */
struct points {
    int victim[POINT_STOPS];       /* 1 + the rank that has come to the stop */
    int released[POINT_STOPS];
    int step[POINT_RANKS];         /* the step that a rank is in */
    int ended[POINT_RANKS];        /* it has ended all its steps, or failed */
    int dead[POINT_RANKS];         /* it was killed, and the test has seen it */
    int64_t ahead[POINT_RANKS];    /* of a rank's clock, in nanoseconds */
    int jumps[POINT_RANKS];        /* 1: at each look its clock is a limit further */
    int64_t fast_since;            /* not 0: since this time all clocks are fast */
    quern_group *offered[POINT_RANKS];  /* the group that another rank's fault may abort; an address in the rank's process */
    int disarmed;
    unsigned reached[POINT_STEPS][QUERN_POINT_COUNT];
};

const char *point_name(enum quern_point point);
const char *point_fault_name(enum point_fault fault);

/* ---- for a rank ---- */

/* From here on this thread is that rank. */
void points_begin(struct points *points, const struct point_plan *plan, int rank);

/* The rank enters a step.  The clocks no longer jump. */
void points_enter_step(int step);

/* Waits until every other rank sleeps in this step, is held, or has ended: then this rank is the last to come. */
void points_wait_for_sleepers(void);

/* Waits until ranks have come so often to a point in this step, or none will, since a rank is stopped, held or has ended. */
void points_wait_for(enum quern_point point, unsigned times);

/* Hurries all clocks and waits until every other rank has ended, is dead, or is held: then this rank is late. */
void points_be_late(void);

/* The thread that aborts the rank's offered group if the plan wants that of it. */
struct points_aborter;
struct points_aborter *points_start_aborter(void);
void points_stop_aborter(struct points_aborter *aborter);
void points_offer(quern_group *group);

/*
 * The rank has ended.  Waits until all have, then disarms the plan and lets the clocks go as they should.  After a failure the
 * clocks may be fast until then: others may wait for this rank in vain.
 */
void points_end(bool failed);

/* ---- for the test ---- */

void points_release(struct points *points, int stop);
void points_end_limit(struct points *points, int rank);  /* whatever the rank waits for: its limit has ended */
void points_hurry(struct points *points);                /* makes all clocks fast: limits end after a tenth of a second */
void points_bury(struct points *points, const struct point_plan *plan, int rank);  /* says that a rank is dead */

#endif
