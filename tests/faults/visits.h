/*
 * Pairs of a point and a fault that a program visits by runs of ranks.  What no run has met, since no rank came to the point, is
 * visited again, several times.  Then it is named, and with --deep it is a failure.  A program has a table of scenes, or its own
 * way to visit all.
 *
 *   PROGRAM [--deep]    all
 *   PROGRAM TEXT        those whose names, as a failure prints them, contain the text
 *
 * The last line is `N passed, N failed`.
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

typedef bool visit_is_pair(int kind, enum quern_point point, enum point_fault fault);

/* How many pairs must be met, and were not; prints them if asked to. */
static int visit_missing(visit_is_pair *is_pair, const char *const kinds[VISIT_KINDS], bool prints) {
    int missing = 0;
    for (int kind = 0; kind < VISIT_KINDS && kinds[kind]; kind++)
        for (enum quern_point point = 0; point < QUERN_POINT_COUNT; point++)
            for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
                if (visits.met[kind][point][fault] || !is_pair(kind, point, fault)) continue;
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

/* ---- scenes ---- */

/* What the ranks of some runs do, and the points at which one of them is struck. */
struct visit_scene {
    const char *name;
    struct ranks ranks;       /* kind: that of all, or RANK_BOTH */
    enum quern_point first, last;
    unsigned arrivals[4];     /* until 0 */
    unsigned faults;          /* bits of enum point_fault; 0: all */
    int kind;                 /* of visits.met */
    bool spreads;             /* a rank that fails ends its part in what the others do */
    bool is_late;             /* rank 1 stays away, so that a limit ends */
};

struct visit_plan {
    struct point_plan points;
    const struct visit_scene *scene;
};

static inline const struct visit_scene *visit_scene_of(const struct rank *rank) {
    return ((const struct visit_plan *)rank->user)->scene;
}

/* Runs a rank's part while the plan strikes, and then looks at what it has left.  Returns the first error, which has a reason. */
static inline quern_status visit_strike(struct rank *rank, quern_group *group, quern_status (*run)(void *user),
                                        void (*look)(void *user), void *user) {
    char detail[256] = "";
    rank_line_up(rank);
    points_begin(rank->shared, &((const struct visit_plan *)rank->user)->points, rank->rank);
    points_enter_step(0);
    points_offer(group);
    struct points_aborter *aborter = points_start_aborter();
    const quern_status status = run(user);
    if (status != QUERN_OK) quern_error_detail(detail, sizeof detail);
    rank_check(rank, status == QUERN_OK || *detail, "%s without a reason", quern_status_string(status));
    if (look) look(user);
    points_end(status != QUERN_OK);
    points_stop_aborter(aborter);
    return status;
}

static inline bool visit_is_explained(const void *user, quern_status status) {
    static const quern_status by_fault[POINT_FAULTS] = {
        [POINT_OUTSTAY] = QUERN_PEER_TIMEOUT, [POINT_KILL] = QUERN_PEER_LOST, [POINT_ABORT] = QUERN_GROUP_ABORTED,
        [POINT_EXPIRE] = QUERN_PEER_TIMEOUT};
    const struct visit_plan *plan = user;
    const enum point_fault fault = plan->points.stop[0].fault;
    const bool is_late = plan->scene->is_late, is_left = (plan->scene->spreads && fault > POINT_DELAY) || is_late;
    return status == QUERN_OK || status == by_fault[fault] || (is_left && status == QUERN_PEER_LOST) ||
           (is_late && status == QUERN_PEER_TIMEOUT);
}

static inline bool visit_has(const struct visit_scene *scene, enum quern_point point, enum point_fault fault) {
    return point >= scene->first && point <= scene->last && (!scene->faults || scene->faults >> fault & 1);
}

static inline void visit_point(const struct visit_scene *scene, enum rank_kind kind, enum quern_point point, unsigned arrival) {
    for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
        const struct visit_plan plan = {{scene->ranks.count, {{fault, point, -1, 0, arrival}}}, scene};
        struct ranks ranks = scene->ranks;
        char name[160];
        if ((fault == POINT_KILL && kind == RANK_THREADS) || !visit_has(scene, point, fault)) continue;
        snprintf(name, sizeof name, "%s, %s, point %s, arrival %u, fault %s", rank_kind_name(kind), scene->name, point_name(point),
                 arrival, point_fault_name(fault));
        ranks.kind = kind, ranks.user = &plan;
        visit_run(ranks, &plan.points.stop[0], scene->kind, name, visit_is_explained);
    }
}

/* The table of a program that has one, and how many it has. */
static const struct visit_scene *visit_scenes;
static size_t visit_scene_count;

static inline void visit_all_scenes(void) {
    for (const struct visit_scene *scene = visit_scenes; scene < visit_scenes + visit_scene_count; scene++)
        for (enum rank_kind kind = RANK_THREADS; kind <= RANK_PROCESSES; kind++)
            for (enum quern_point point = scene->first; point <= scene->last; point++)
                for (int i = 0; i < 4 && scene->arrivals[i]; i++)
                    if (scene->ranks.kind == RANK_BOTH || scene->ranks.kind == kind)
                        visit_point(scene, kind, point, scene->arrivals[i]);
}

static inline bool visit_is_in_scenes(int kind, enum quern_point point, enum point_fault fault) {
    bool is_there = false;
    for (size_t i = 0; i < visit_scene_count; i++)
        is_there |= visit_scenes[i].kind == kind && visit_has(&visit_scenes[i], point, fault);
    return is_there;
}

#define VISIT_SCENES(count, words, scenes, ...) \
    (visit_scenes = (scenes), visit_scene_count = sizeof(scenes) / sizeof *(scenes), \
     visit_pairs(count, words, visit_all_scenes, visit_is_in_scenes, (const char *const[VISIT_KINDS]){__VA_ARGS__}))

#endif
