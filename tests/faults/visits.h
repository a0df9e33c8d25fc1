/*
 * Pairs of a point and a fault that a program visits by runs of ranks.  What no run has met, since no rank came to the point, is
 * visited again, several times.  Then it is named, and with --deep it is a failure.
 */
#ifndef FAULTS_VISITS_H
#define FAULTS_VISITS_H

#include "faults/options.h"
#include "faults/points.h"
#include "harness/ranks.h"

enum { VISIT_TRIES = 4, VISIT_KINDS = 2 };

static const double VISIT_LIMIT = 600;  /* seconds until a run counts as a hang */

static struct {
    const char *wanted;   /* a part of the names of runs; NULL: all */
    int passed, failed;
    int tries;            /* that have ended */
    bool met[VISIT_KINDS][QUERN_POINT_COUNT][POINT_FAULTS];  /* kind: of what the ranks do, if a program tells kinds apart */
} visits;

static bool visit_is_due(const struct point_stop *stop, int kind, const char *name) {
    if (visits.wanted) return strstr(name, visits.wanted);
    return !visits.tries || !visits.met[kind][stop->point][stop->fault];
}

/* wrong: why a run has failed; NULL: it has not. */
static void visit_count(const char *wrong) { *(wrong ? &visits.failed : &visits.passed) += 1; }

/* How a run of this program ends well: all return, and the plan explains each status. */
typedef bool visit_explains(const void *plan, quern_status status);

static inline const char *visit_judge(const struct ranks *ranks, struct rank_run *run, const struct point_stop *stop, int kind,
                                      visit_explains *explains) {
    const struct points *points = ranks_shared(run);
    const int victim = points->victim[0] - 1;
    bool may_die[POINT_RANKS] = {false};
    if (victim >= 0 && stop->fault == POINT_KILL) may_die[victim] = true;
    const char *wrong = ranks_wait(run, may_die);
    if (victim >= 0) visits.met[kind][stop->point][stop->fault] = true;
    for (int rank = 0; rank < ranks->count && !wrong; rank++)
        if (!may_die[rank] && !explains(ranks->user, ranks_result(run, rank)->status)) wrong = ranks_result(run, rank)->detail;
    return wrong;
}

/* Runs the ranks, which share a struct points and whose user is a plan that has this stop, if the run is due. */
static inline void visit_run(struct ranks ranks, const struct point_stop *stop, int kind, const char *name,
                             visit_explains *explains) {
    if (!visit_is_due(stop, kind, name)) return;
    ranks.shared_bytes = sizeof(struct points), ranks.limit = VISIT_LIMIT;
    struct rank_run *run = ranks_start(&ranks);
    points_await_end(run, VISIT_LIMIT, stop->fault == POINT_KILL);
    const char *wrong = visit_judge(&ranks, run, stop, kind, explains);
    if (wrong) printf("%s: %s\n", name, wrong);
    visit_count(wrong);
    ranks_close(run);
}

typedef bool visit_is_pair(enum quern_point point, enum point_fault fault);

/* How many pairs must be met, and were not; prints them if asked to. */
static int visit_missing(visit_is_pair *is_pair, const char *const kinds[VISIT_KINDS], bool prints) {
    int missing = 0;
    for (int kind = 0; kind < VISIT_KINDS && kinds[kind]; kind++)
        for (enum quern_point point = 0; point < QUERN_POINT_COUNT; point++)
            for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
                if (visits.met[kind][point][fault] || !is_pair(point, fault)) continue;
                if (prints) printf("no rank met fault %s at point %s%s\n", point_fault_name(fault), point_name(point), kinds[kind]);
                missing++;
            }
    return missing;
}

/* The body of main.  visit_all makes every run that is due.  kinds: words behind the name of a point, NULL behind the last. */
static int visit_pairs(int count, char **words, void (*visit_all)(void), visit_is_pair *is_pair,
                       const char *const kinds[VISIT_KINDS]) {
    const struct options options = options_take(&count, words);
    visits.wanted = count > 1 ? words[1] : NULL;
    visit_all();
    while (++visits.tries < VISIT_TRIES && !visits.wanted && !visits.failed && visit_missing(is_pair, kinds, false)) visit_all();
    const int missing = visits.wanted || visits.failed ? 0 : visit_missing(is_pair, kinds, true);
    if (options.is_deep) visits.failed += missing;
    printf("%d passed, %d failed\n", visits.passed, visits.failed);
    return visits.failed || !visits.passed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
