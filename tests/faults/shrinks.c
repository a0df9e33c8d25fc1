/*
 * Three ranks shrink their group, and one of them is killed, delayed or stopped at every crossing of the call, or cannot open
 * files.  However it ends: every rank returns within the limits, all ranks that get a group have the same one, and it works if its
 * ranks live; the ranks without a fault have a group, unless the one that is stopped has joined it without completing it.
 *
 *   shrinks               every crossing
 *   shrinks --part K/N    every N-th, from the K-th on
 *
 * The last line is `N passed, N failed`.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "faults/crossing.h"
#include "faults/options.h"
#include "harness/ranks.h"
#include "ranks/handles.h"

enum { RANKS = 3, MOST_CROSSINGS = 5000, MOST_FAILURES = 5 };

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
    int rank, ranks;
    unsigned char id[16];   /* of the new group */
    char detail[256];
    double seconds;
};

struct shared {
    struct crossing_place place;
    struct outcome outcome[RANKS];
};

static int passed, failed;
static struct options options;

static void arm(const struct plan *plan) {
    if (plan->has_no_files) {
        struct rlimit files;
        if (getrlimit(RLIMIT_NOFILE, &files)) raise(SIGABRT);
        files.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (plan->function)
        crossing_arm_at(plan->deed, plan->function, plan->at);
    else
        crossing_arm(plan->deed, plan->at);
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
    struct quern_membership *member;
    rank_ok(rank, quern_member_of(group, &member));
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
        outcome->rank = quern_group_rank(new), outcome->ranks = quern_group_size(new);
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

static const char *judge(const struct plan *plan, const struct shared *shared) {
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

static void describe(const struct plan *plan, const struct crossing_place *place) {
    static const char *const names[] = {"nothing", "killed", "stopped", "delayed"};
    printf("rank %d %s %s call %ld of %s%s: ", plan->subject, names[plan->deed], place->before ? "before" : "after", place->call,
           place->function ? place->function : "nothing", plan->has_no_files ? ", without files" : "");
}

/* A stopped rank goes on when the others have returned; they may have before it stops. */
static void release(struct rank_run *run, const struct plan *plan) {
    const struct shared *shared = ranks_shared(run);
    for (double began = rank_now(); rank_now() - began < RANK_SOON; rank_sleep(1e-3)) {
        int returned = 0;
        for (int rank = 0; rank < RANKS; rank++)
            returned += rank != plan->subject && __atomic_load_n(&shared->outcome[rank].has_returned, __ATOMIC_ACQUIRE);
        if (returned == RANKS - 1 || ranks_have_ended(run)) break;
    }
    for (double began = rank_now(); !ranks_have_ended(run) && rank_now() - began < RANK_SOON; rank_sleep(1e-3))
        kill(ranks_process(run, plan->subject), SIGCONT);
}

/* Returns whether the fault has happened. */
static bool run(const struct plan *plan) {
    bool may_die[RANKS] = {false};
    may_die[plan->subject] = plan->deed == CROSSING_KILL;
    struct rank_run *ranks = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = RANKS, .function = shrink, .user = plan,
                                                         .shared_bytes = sizeof(struct shared)});
    const struct shared *shared = ranks_shared(ranks);
    if (plan->deed == CROSSING_STOP) release(ranks, plan);
    const char *wrong = ranks_wait(ranks, may_die);
    if (!wrong) wrong = judge(plan, shared);
    const bool has_happened = shared->place.function;
    if (wrong) {
        describe(plan, &shared->place);
        printf("%s\n", wrong);
    }
    *(wrong ? &failed : &passed) += 1;
    ranks_close(ranks);
    return has_happened;
}

/* ---- all of them ---- */

/* At each crossing until a call has none so high.  How many it has depends on the time: sleeps are crossings, too. */
static void run_all(struct plan plan) {
    const long first = options.part + 1;
    plan.at = first;
    while (plan.at < MOST_CROSSINGS && failed < MOST_FAILURES && run(&plan)) plan.at += options.parts;
    if (plan.at == first || plan.at >= MOST_CROSSINGS) {
        describe(&plan, &(struct crossing_place){0});
        printf("no end before crossing %ld\n", plan.at);
        failed++;
    }
}

int main(int count, char **words) {
    options = options_take(&count, words);
    for (int subject = 0; subject < RANKS; subject++) {
        run_all((struct plan){.subject = subject, .deed = CROSSING_KILL, .limit = RANK_LIMIT});
        run_all((struct plan){.subject = subject, .deed = CROSSING_DELAY, .limit = RANK_LIMIT});
        run_all((struct plan){.subject = subject, .deed = CROSSING_STOP, .limit = 0.3});
        /* The others are in the file by then. */
        run(&(struct plan){.subject = subject, .deed = CROSSING_DELAY, .function = "shm_open", .at = 1, .has_no_files = true,
                           .limit = 2});
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
