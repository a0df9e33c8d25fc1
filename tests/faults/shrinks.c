/*
 * Three ranks shrink their group, and one of them is killed, delayed or stopped at every crossing of the call, or cannot open
 * files.  However it ends: every rank returns within the limits, all ranks that get a group have the same one, and it works if its
 * ranks live; the ranks without a fault have a group, unless the one that is stopped has joined it without completing it.
 * With --part K/N every N-th crossing is visited, from the K-th on.
 */
#include "faults/crossing.h"

#include <sys/resource.h>

#include "faults/runs.h"
#include "ranks/handles.h"

enum { RANKS = 3, MOST_CROSSINGS = 5000 };

struct plan {
    int subject;            /* the rank with the fault */
    enum crossing_deed deed;
    const char *function;   /* NULL: the crossings of all */
    long at;
    bool has_no_files;
    double limit;
};

/* What a rank has after the call. */
struct outcome {
    bool has_returned;
    quern_status status;
    int ranks;
    unsigned char id[16];   /* of the new group */
    char detail[256];
    double seconds;
};

struct shared {
    struct crossing_place place;
    struct outcome outcome[RANKS];
};

static void arm(const struct plan *plan) {
    if (plan->has_no_files) {
        struct rlimit files;
        if (getrlimit(RLIMIT_NOFILE, &files)) raise(SIGABRT);
        files.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    crossing_arm_at(plan->deed, plan->function, plan->at);
}

/* A rank without files keeps its old group until the others have returned: they must not need the end of it. */
static void await_others(const struct plan *plan, const struct shared *shared) {
    for (int rank = 0; rank < RANKS && plan->has_no_files; rank++)
        while (!__atomic_load_n(&shared->outcome[rank].has_returned, __ATOMIC_ACQUIRE)) rank_sleep(1e-3);
}

static quern_status shrink(struct rank *rank) {
    const struct plan *plan = rank->user;
    struct shared *shared = rank->shared;
    struct outcome *outcome = &shared->outcome[rank->rank];
    quern_group *group = rank_group(rank, RANK_LIMIT), *new = NULL;
    struct quern_membership *member = rank_member_of(rank, group);
    member->first_timeout = plan->limit;
    crossing_tell(&shared->place);
    rank_line_up(rank);
    if (rank->rank == plan->subject) arm(plan);
    const double began = rank_now();
    outcome->status = quern_group_shrink(&group, 1, &new);
    outcome->seconds = rank_now() - began;
    crossing_arm(CROSSING_NOTHING, 0);
    quern_error_detail(outcome->detail, sizeof outcome->detail);
    if (new) {
        rank_ok(rank, quern_member_of(new, &member));
        memcpy(outcome->id, member->roster->id, sizeof outcome->id);
        outcome->ranks = quern_group_size(new);
    }
    __atomic_store_n(&outcome->has_returned, true, __ATOMIC_RELEASE);
    if (!new) {
        await_others(plan, shared);
        return quern_group_destroy(group);
    }
    const quern_status met = quern_barrier(new, NULL, NULL);
    rank_check(rank, met == QUERN_OK || met == QUERN_PEER_LOST || met == QUERN_PEER_TIMEOUT, "%s", quern_status_string(met));
    if (met == QUERN_PEER_LOST) outcome->ranks = -outcome->ranks;  /* one of them has ended since */
    rank_ok(rank, quern_group_destroy(group));
    return quern_group_destroy(new);
}

/* ---- what may be ---- */

/* Ranks without a fault that a busy machine has kept away until the short limit beside a stopped rank was over. */
static int count_late(const struct plan *plan, const struct shared *shared) {
    int late = 0;
    for (int rank = 0; rank < RANKS; rank++)
        late += plan->deed == CROSSING_STOP && rank != plan->subject && shared->outcome[rank].status == QUERN_PEER_TIMEOUT;
    return late;
}

static const char *find_wrong(const struct plan *plan, const struct shared *shared) {
    static char wrong[600];
    const struct outcome *first = NULL;
    const bool has_happened = shared->place.function || plan->has_no_files;
    const int late = count_late(plan, shared);
    const double most = 2 * plan->limit + RANK_SOON + (plan->deed == CROSSING_STOP ? 3 * plan->limit : 0);
    for (int rank = 0; rank < RANKS; rank++) {
        const struct outcome *outcome = &shared->outcome[rank];
        const bool may_fail = has_happened && (rank == plan->subject || plan->deed == CROSSING_STOP);
        if (!outcome->has_returned && !(rank == plan->subject && plan->deed == CROSSING_KILL)) return "a rank has not returned";
        if (!outcome->has_returned) continue;
        snprintf(wrong, sizeof wrong, "rank %d: %s after %g s: %s", rank, quern_status_string(outcome->status), outcome->seconds,
                 outcome->detail);
        if (outcome->status != QUERN_OK && !may_fail) return wrong;
        if (plan->has_no_files && (rank == plan->subject) != (outcome->status == QUERN_SYSTEM_ERROR)) return wrong;
        if (outcome->seconds > most) return wrong;
        if (outcome->status != QUERN_OK) continue;
        if (abs(outcome->ranks) < RANKS - 1 - late) return "a group is too small";
        if (!first) first = outcome;
        if (memcmp(first->id, outcome->id, sizeof first->id) || abs(first->ranks) != abs(outcome->ranks))
            return "two ranks have different groups";
    }
    return NULL;
}

static const char *judge(struct trial *trial) {
    static char text[700];
    const struct plan *plan = trial->ranks.user;
    const struct shared *shared = ranks_shared(trial->run);
    bool may_die[RANKS] = {false};
    may_die[plan->subject] = plan->deed == CROSSING_KILL;
    const char *wrong = ranks_wait(trial->run, may_die);
    if (!wrong) wrong = find_wrong(plan, shared);
    snprintf(text, sizeof text, "%s: %s", crossing_name(&shared->place), wrong ? wrong : "");
    return wrong ? text : NULL;
}

/* A stopped rank goes on when the others have returned; they may have before it stops. */
static void release(struct trial *trial) {
    const struct plan *plan = trial->ranks.user;
    const struct shared *shared = ranks_shared(trial->run);
    int returned = 0;
    for (int rank = 0; rank < RANKS; rank++)
        returned += rank != plan->subject && __atomic_load_n(&shared->outcome[rank].has_returned, __ATOMIC_ACQUIRE);
    if (returned == RANKS - 1 && plan->deed == CROSSING_STOP) kill(ranks_process(trial->run, plan->subject), SIGCONT);
}

/* Returns whether the fault has happened. */
static bool run(const struct plan *plan) {
    static const char *const deeds[] = {"nothing", "killed", "stopped", "delayed"};
    struct trial trial = {.watch = release, .judge = judge};
    struct shared shared;
    trial.ranks = (struct ranks){.kind = RANK_PROCESSES, .count = RANKS, .function = shrink, .user = plan,
                                 .user_bytes = sizeof *plan, .shared_bytes = sizeof shared};
    snprintf(trial.name, sizeof trial.name, "rank %d %s%s", plan->subject, deeds[plan->deed],
             plan->has_no_files ? ", without files" : "");
    trial_run(&trial, &shared, sizeof shared);
    return shared.place.function;
}

/* ---- all of them ---- */

/* At each crossing until a call has none so high.  How many it has depends on the time: sleeps are crossings, too. */
static void run_each(int subject, enum crossing_deed deed, double limit) {
    const long first = runs.part + 1;
    long at = first;
    while (at < MOST_CROSSINGS && !runs_are_enough() &&
           run(&(struct plan){.subject = subject, .deed = deed, .at = at, .limit = limit})) at += runs.parts;
    if (at == first || at >= MOST_CROSSINGS) runs_count("the last crossing", "there is none, or it is beyond all");
}

void run_shrinks(UNUSED const char *word, UNUSED int count, UNUSED char **words) {
    for (int subject = 0; subject < RANKS; subject++) {
        run_each(subject, CROSSING_KILL, RANK_LIMIT);
        run_each(subject, CROSSING_DELAY, RANK_LIMIT);
        run_each(subject, CROSSING_STOP, 0.3);
        /* The others are in the file by then. */
        run(&(struct plan){.subject = subject, .deed = CROSSING_DELAY, .function = "shm_open", .at = 1, .has_no_files = true,
                           .limit = 2});
    }
}
