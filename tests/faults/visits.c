/* Visits pairs of a point and a fault by runs of ranks.  visits.h documents the functions; scenes.c has the table. */
#include "faults/visits.h"

enum { TRIES = 4, MOST_RANKS = 6 };

static const char *wanted;   /* a part of the names of runs; NULL: all */
static int tries;            /* that have ended */
static bool met[QUERN_POINT_COUNT][POINT_FAULTS];
static bool visited[RANK_PROCESSES + 1][MOST_RANKS + 1][STEPS][QUERN_POINT_COUNT];  /* in this try */

_Static_assert((int)STEPS <= (int)POINT_STEPS, "each step must have its counts");

/* ---- for a rank ---- */

quern_status visit_strike(struct rank *rank, quern_group *group, quern_status (*run)(void *user), void (*look)(void *user),
                          void *user) {
    char detail[256] = "";
    rank_line_up(rank);
    points_begin(rank->shared, &visit_plan_of(rank)->points, rank->rank);
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

/* ---- the expected ends ---- */

/* A rank that dies before its place is complete is unknown to the others, so it can only be missing. */
static bool is_unknown_at(enum quern_point point) { return point >= QUERN_POINT_FORM_MADE && point <= QUERN_POINT_FORM_CLAIMED; }

/* A rank that dies here may leave a file that the others have not opened yet: then they miss it in a file of their own. */
static bool may_be_unknown_at(enum quern_point point) {
    return is_unknown_at(point) || point == QUERN_POINT_FORM_SEATED || point == QUERN_POINT_FORM_AWAITING;
}

/* Whether the fault, or the scene's own, explains a status. */
static bool is_explained(const struct visit_plan *plan, quern_status status) {
    static const quern_status by_fault[POINT_FAULTS] = {
        [POINT_OUTSTAY] = QUERN_PEER_TIMEOUT, [POINT_ABORT] = QUERN_GROUP_ABORTED, [POINT_EXPIRE] = QUERN_PEER_TIMEOUT};
    static const quern_status by_habit[] = {[IN_TIME] = QUERN_OK, [LATE] = QUERN_PEER_TIMEOUT, [LEAVES] = QUERN_PEER_LOST,
                                             [SLEEPS] = QUERN_OK};
    const struct point_stop *stop = &plan->points.stop[0];
    const enum habit habit = plan->scene->course.habit;
    if (status == QUERN_OK || status == by_fault[stop->fault] || status == by_habit[habit]) return true;
    const bool is_known = stop->step == SPLIT;  /* in the group that is split */
    if (stop->fault == POINT_KILL && status == QUERN_PEER_LOST && (is_known || !is_unknown_at(stop->point))) return true;
    if (stop->fault == POINT_KILL && status == QUERN_PEER_TIMEOUT && !is_known && may_be_unknown_at(stop->point)) return true;
    return plan->scene->spreads && (stop->fault > POINT_DELAY || habit == LATE) && status == QUERN_PEER_LOST;
}

static const char *judge(struct trial *trial) {
    const struct visit_plan *plan = trial->ranks.user;
    const struct point_stop *stop = &plan->points.stop[0];
    const int victim = ((const struct points *)ranks_shared(trial->run))->victim[0] - 1;
    bool may_die[POINT_RANKS] = {false};
    if (victim >= 0 && stop->fault == POINT_KILL) may_die[victim] = true;
    const char *wrong = ranks_wait(trial->run, may_die);
    if (victim >= 0) met[stop->point][stop->fault] = true;
    for (int rank = 0; rank < trial->ranks.count && !wrong; rank++) {
        const struct rank_result *result = ranks_result(trial->run, rank);
        if (result->end == RANK_RETURNED && !is_explained(plan, result->status)) wrong = "a status that the fault does not explain";
    }
    return wrong || !plan->scene->judge ? wrong : plan->scene->judge(plan, trial->run);
}

/* Tells the others when the victim is dead. */
static void bury(struct trial *trial) {
    const struct visit_plan *plan = trial->ranks.user;
    struct points *points = ranks_shared(trial->run);
    const int victim = __atomic_load_n(&points->victim[0], __ATOMIC_ACQUIRE) - 1;
    siginfo_t end = {.si_pid = 0};
    if (plan->points.stop[0].fault != POINT_KILL || victim < 0 || points->dead[victim]) return;
    const int result = waitid(P_PID, (id_t)ranks_process(trial->run, victim), &end, WEXITED | WNOHANG | WNOWAIT);
    if (result != 0 || end.si_pid) points_bury(points, &plan->points, victim);
}

/* ---- the visits ---- */

static struct visit_plan make_plan(const struct scene *scene, const struct ranks *ranks, struct point_stop stop) {
    struct visit_plan plan = {{.ranks = ranks->count, .stop = {stop}}, scene};
    plan.points.limits_end = is_explained(&plan, QUERN_PEER_TIMEOUT);
    return plan;
}

static struct trial make_trial(const struct visit_plan *plan, struct ranks ranks) {
    const struct point_stop *stop = &plan->points.stop[0];
    struct trial trial = {.ranks = ranks, .watch = bury, .judge = judge};
    trial.ranks.user = plan, trial.ranks.user_bytes = sizeof *plan, trial.ranks.limit = POINT_LIMIT;
    snprintf(trial.name, sizeof trial.name, "%d %s, scene %s, step %s, point %s, arrival %u, rank %d, fault %s", ranks.count,
             rank_kind_name(ranks.kind), plan->scene->name, life_steps[stop->step].name,
             stop->fault ? point_name(stop->point) : "none", stop->arrival, stop->rank, point_fault_name(stop->fault));
    return trial;
}

static bool has_fault(const struct scene *scene, enum point_fault fault) { return !scene->faults || scene->faults >> fault & 1; }

static void visit_point(const struct scene *scene, struct ranks ranks, struct point_stop stop) {
    for (stop.fault = POINT_DELAY; stop.fault <= POINT_EXPIRE; stop.fault++) {
        const struct visit_plan plan = make_plan(scene, &ranks, stop);
        const struct trial trial = make_trial(&plan, ranks);
        const bool has_group = !scene->subjects || stop.step != CREATE;  /* none can be aborted before it exists */
        const bool is_possible = stop.fault == POINT_KILL ? ranks.kind == RANK_PROCESSES : stop.fault != POINT_ABORT || has_group;
        const bool is_due = wanted ? strstr(trial.name, wanted) != NULL : !tries || !met[stop.point][stop.fault];
        if (is_possible && has_fault(scene, stop.fault) && is_due) trial_begin(&trial);
    }
}

/* Points that only a failure reaches, and a wait that the machine makes long: they are visited in one of the odd scenes. */
static bool is_of_failures(enum quern_point point) {
    return (point >= QUERN_POINT_FORM_EXPIRING && point <= QUERN_POINT_FORM_REFUSED) ||
           (point >= QUERN_POINT_MEET_CHECKING && point <= QUERN_POINT_POISON_SET) || point == QUERN_POINT_MEMORY_GIVING_UP ||
           point == QUERN_POINT_CHUNKS_FAILING;
}

/* The points that a run without a fault comes to. */
static void visit_reached(const struct scene *scene, struct ranks ranks) {
    const struct visit_plan plan = make_plan(scene, &ranks, (struct point_stop){.fault = POINT_NOTHING});
    const struct trial trial = make_trial(&plan, ranks);
    struct points first;
    if (runs_are_enough()) return;
    trial_run(&trial, &first, sizeof first);
    for (enum step step = CREATE; step < STEPS; step++)
        for (enum quern_point point = 0; point < QUERN_POINT_COUNT; point++) {
            bool *was_visited = &visited[ranks.kind][ranks.count][step][point];
            const unsigned reached = first.reached[step][point];
            const bool is_again = is_of_failures(point) && *was_visited;
            if (!reached || !(scene->subjects & BIT(step)) || is_again) continue;
            if (is_of_failures(point) != (scene->course.habit != IN_TIME)) continue;
            *was_visited = true;
            struct point_stop stop = {.point = point, .rank = -1, .step = (int)step};
            stop.arrival = ranks.count == 2 || reached < 2 ? 1 : 2;
            if (!scene->victims[0]) visit_point(scene, ranks, stop);
            for (int i = 0; i < 2 && scene->victims[i]; i++) {
                stop.rank = scene->victims[i], stop.arrival = 0;
                visit_point(scene, ranks, stop);
            }
        }
}

static void visit_listed(const struct scene *scene, struct ranks ranks) {
    for (enum quern_point point = scene->first; point <= scene->last; point++)
        for (int i = 0; i < 4 && scene->arrivals[i]; i++)
            visit_point(scene, ranks, (struct point_stop){.point = point, .rank = -1, .arrival = scene->arrivals[i]});
}

static void visit_once(const char *word) {
    memset(visited, 0, sizeof visited);
    for (const struct scene *scene = scenes; scene->word; scene++) {
        struct ranks ranks = scene->ranks;
        if (strcmp(scene->word, word) != 0) continue;
        for (ranks.kind = RANK_THREADS; ranks.kind <= RANK_PROCESSES; ranks.kind++) {
            if (scene->ranks.kind != RANK_BOTH && scene->ranks.kind != ranks.kind) continue;
            ranks.count = scene->least ? scene->least : scene->ranks.count;
            for (; ranks.count <= scene->ranks.count; ranks.count++) (scene->subjects ? visit_reached : visit_listed)(scene, ranks);
        }
    }
    trials_await();
}

/* ---- what must be met ---- */

static bool is_expected(const char *word, enum quern_point point, enum point_fault fault) {
    for (const struct scene *scene = scenes; scene->word; scene++) {
        if (strcmp(scene->word, word) != 0) continue;
        const bool is_listed = point >= scene->first && point <= scene->last && has_fault(scene, fault);
        if (scene->must_meet ? scene->must_meet(point, fault) : is_listed) return true;
    }
    return false;
}

/* How many pairs must be met, and were not; prints them if asked to. */
static int count_missing(const char *word, bool prints) {
    int missing = 0;
    for (enum quern_point point = 0; point < QUERN_POINT_COUNT; point++)
        for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
            if (met[point][fault] || !is_expected(word, point, fault)) continue;
            if (prints) printf("no rank met fault %s at point %s\n", point_fault_name(fault), point_name(point));
            missing++;
        }
    return missing;
}

void visit_all(const char *word, int count, char **words) {
    wanted = count ? words[0] : NULL;
    visit_once(word);
    while (++tries < TRIES && !wanted && !runs.failed && count_missing(word, false)) visit_once(word);
    const int missing = wanted || runs.failed ? 0 : count_missing(word, true);
    if (runs.is_deep) runs.failed += missing;
}
