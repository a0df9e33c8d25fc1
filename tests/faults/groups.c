/*
 * The scenes of groups of one host: a rank takes the steps of its course, in threads and processes.  In some a rank comes late or
 * leaves, so that the others fail at points that only failures reach.  However it ends: the status is the same on all ranks of the
 * group; either all ranks have a group or none; no rank completes a step before all have entered it; nothing is written but what
 * was sent; and the ranks that live meet again under the same name.
 */
#include <sys/stat.h>

#include "faults/visits.h"

enum { MOST_RANKS = 3 };

/* What the ranks and the test share. */
struct shared {
    struct points points;
    int entered[MOST_RANKS][STEPS], completed[MOST_RANKS][STEPS];
    int failed_in[MOST_RANKS];                   /* 1 + the step */
    quern_status poison[MOST_RANKS];             /* what the group says after a failure; 0: there was none, or no group */
    char reason[MOST_RANKS][RANK_TEXT_BYTES];
};

/* ---- a rank ---- */

static bool is_odd(const struct life *life, enum step step) {
    return life->course->habit != IN_TIME && life->course->odd == step && life->rank->rank == life->rank->ranks - 1;
}

static bool leaves(const struct life *life, enum step step) { return is_odd(life, step) && life->course->habit == LEAVES; }

/* No rank may leave a collective step before all have entered it. */
static void check_entered(const struct life *life, enum step step) {
    const struct shared *shared = life->rank->shared;
    for (int rank = 0; rank < life->rank->ranks && !(LIFE_LOCAL & BIT(step)); rank++)
        rank_check(life->rank, __atomic_load_n(&shared->entered[rank][step], __ATOMIC_ACQUIRE),
                   "the %s is complete, and rank %d has not entered it", life_steps[step].name, rank);
}

/* The last rank comes when another sleeps: so all points of the wait are reached in every run. */
static quern_status take(struct life *life, enum step step) {
    struct shared *shared = life->rank->shared;
    const int rank = life->rank->rank;
    points_enter_step(step);
    if (leaves(life, step)) return QUERN_GROUP_ABORTED;  /* not the library's: the rank goes to its end */
    if (is_odd(life, step)) points_be_late();
    else if (!(LIFE_LOCAL & BIT(step)) && rank == life->rank->ranks - 1) points_wait_for_sleepers();
    if (LIFE_OUTPUTS & BIT(step)) life_check_untouched(life);
    __atomic_store_n(&shared->entered[rank][step], 1, __ATOMIC_RELEASE);
    const quern_status status = life_steps[step].take(life);
    if (status != QUERN_OK) return status;
    check_entered(life, step);
    shared->completed[rank][step] = 1;
    if (LIFE_OUTPUTS & BIT(step)) life_use_buffers(life);
    return QUERN_OK;
}

/* Stores what the group says, which must be what the call has said. */
static void note_failure(struct life *life, enum step step, quern_status status) {
    struct shared *shared = life->rank->shared;
    const int rank = life->rank->rank;
    char detail[RANK_TEXT_BYTES];
    shared->failed_in[rank] = 1 + (int)step;
    if (leaves(life, step)) return;
    const bool has_group = life_check_poison(life, step, status);
    if (step == PART_BARRIER) return;
    quern_error_detail(detail, sizeof detail);
    const char *reason = strstr(detail, ": ");
    shared->poison[rank] = has_group ? status : QUERN_OK;
    snprintf(shared->reason[rank], sizeof shared->reason[rank], "%s", reason ? reason : "");
}

/* The ranks that live form another group under the same name. */
static void meet_again(struct rank *rank) {
    const struct points *points = rank->shared;
    quern_group_args args = rank_group_args(rank, POINT_LIMIT);
    args.rank = args.ranks = 0;
    for (int other = 0; other < rank->ranks; other++) {
        const bool is_alive = !__atomic_load_n(&points->dead[other], __ATOMIC_ACQUIRE);
        args.rank += is_alive && other < rank->rank;
        args.ranks += is_alive;
    }
    quern_group *group = rank_create(rank, &args);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_ok(rank, quern_group_destroy(group));
}

quern_status live_in_group(struct rank *rank) {
    const struct visit_plan *plan = visit_plan_of(rank);
    struct shared *shared = rank->shared;
    const int *completed = shared->completed[rank->rank];
    struct life life;
    quern_status status = QUERN_OK;
    life_open(&life, rank, &plan->scene->course, POINT_LIMIT);
    points_begin(&shared->points, &plan->points, rank->rank);
    struct points_aborter *aborter = points_start_aborter();
    enum step step = CREATE;
    for (; step < DESTROY && status == QUERN_OK; step++) {
        if (!(life.course->steps & BIT(step))) continue;
        status = take(&life, step);
        if (status != QUERN_OK) note_failure(&life, step, status);
        points_offer(life.part ? life.part : life.group);
    }
    const bool has_left = status != QUERN_OK && leaves(&life, step - 1);
    take(&life, DESTROY);
    points_end(status != QUERN_OK);
    points_stop_aborter(aborter);
    const bool is_complete = completed[EXCHANGE] || completed[RUN_PLAN] || completed[GATHER] || completed[REDUCE];
    life_check_buffers(&life, is_complete, is_complete);
    life_close(&life);
    meet_again(rank);
    return has_left ? QUERN_OK : status;
}

/* ---- the expected ends ---- */

/* Whether a reason has the words of its status. */
static bool is_said(quern_status status, const char *reason) {
    static const struct {
        quern_status status;
        const char *words;
    } sayings[] = {{QUERN_PEER_TIMEOUT, " waited "}, {QUERN_PEER_TIMEOUT, " makes no progress"}, {QUERN_PEER_LOST, " has ended"},
                   {QUERN_PEER_LOST, " has destroyed its group"}, {QUERN_GROUP_ABORTED, " has aborted the group"}};
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++)
        if (sayings[i].status == status && strstr(reason, sayings[i].words)) return true;
    return false;
}

/* If the second rank dies behind its place, the first waits in the same file and must find it dead. */
static bool is_noticed(const struct visit_plan *plan, const struct rank_run *run) {
    const struct point_stop *stop = &plan->points.stop[0];
    if (stop->fault != POINT_KILL || stop->point != QUERN_POINT_FORM_SEATED || stop->step != CREATE) return true;
    if (stop->arrival < 2) return true;
    for (int rank = 0; rank < plan->points.ranks; rank++)
        if (ranks_result(run, rank)->end == RANK_RETURNED && ranks_result(run, rank)->status == QUERN_PEER_LOST) return true;
    return false;
}

/*
 * What a failed split says of ranks has their numbers in the group that is split, and there is one that dies or does not come.  A
 * rank that is known in a group that is not complete has ended while that was formed.
 */
static bool is_named(const struct visit_plan *plan, const struct shared *shared, int rank) {
    const struct point_stop *stop = &plan->points.stop[0];
    const char *reason = shared->reason[rank];
    const bool is_forming = stop->step == CREATE && stop->point > QUERN_POINT_FORM_SEATED && stop->point < QUERN_POINT_FORM_READY;
    char name[32];
    if (shared->failed_in[rank] == 1 + (int)CREATE && stop->fault == POINT_KILL && is_forming)
        return strstr(reason, " has ended while the group was formed");
    if (shared->failed_in[rank] != 1 + (int)SPLIT || (stop->fault != POINT_KILL && stop->fault != POINT_OUTSTAY)) return true;
    snprintf(name, sizeof name, "rank %d%s", shared->points.victim[0] - 1, stop->fault == POINT_KILL ? " (process " : "");
    return strstr(reason, name) || (stop->fault == POINT_OUTSTAY && !strstr(reason, " for rank "));
}

static const char *compare_ranks(const struct visit_plan *plan, const struct rank_run *run) {
    const struct shared *shared = ranks_shared(run);
    int all = -1, poisoned = -1;
    for (int rank = 0; rank < plan->points.ranks; rank++) {
        if (ranks_result(run, rank)->end != RANK_RETURNED) continue;
        for (enum step step = CREATE; step <= SPLIT; step += SPLIT - CREATE) {
            if (!(plan->scene->course.steps & BIT(step)) || (step == SPLIT && !shared->completed[rank][CREATE])) continue;
            if (all >= 0 && shared->completed[all][step] != shared->completed[rank][step])
                return "a group that some ranks have, and some do not";
        }
        all = rank;
        const quern_status status = ranks_result(run, rank)->status;
        if (*shared->reason[rank] && !is_said(status, shared->reason[rank])) return "a reason that does not say the status";
        if (*shared->reason[rank] && !is_named(plan, shared, rank)) return "a reason that does not name the rank";
        if (shared->poison[rank] == QUERN_OK) continue;
        if (poisoned >= 0 && shared->poison[rank] != shared->poison[poisoned]) return "ranks with different statuses";
        if (poisoned >= 0 && strcmp(shared->reason[rank], shared->reason[poisoned]) != 0) return "ranks with different reasons";
        poisoned = rank;
    }
    return is_noticed(plan, run) ? NULL : "a death that nobody has noticed";
}

const char *judge_group(const struct visit_plan *plan, const struct rank_run *run) {
    char path[128];
    struct stat file;
    const char *wrong = compare_ranks(plan, run);
    rank_meeting_place(path, sizeof path, ranks_name(run));
    return wrong || lstat(path, &file) != 0 ? wrong : "the name is still there";
}
