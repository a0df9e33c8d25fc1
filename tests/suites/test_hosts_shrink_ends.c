/*
 * Groups of several hosts that are shrunk while ranks end, stop, or come late.
 *
 * Runs on: ranks.
 */
#include "harness/device.h"
#include "harness/random.h"
#include "harness/shrink_case.h"
#include "os/clock.h"
#include "ranks/group/group.h"
#include "ranks/handles.h"

/* ---- those that end or stop in the middle ---- */

/* What one rank does in place of a shrink: it speaks for its host, and then this happens. */
enum fate { IN_THE_CALL, AFTER_THE_DECISION, IN_THE_MEETING, BEFORE_THE_LAST_MEETING, STOPPED };

struct plan {
    int subject;
    enum fate fate;
    int asks;            /* IN_THE_CALL, STOPPED: so many looks, of 5 ms at most, before it does; STOPPED, 0: before the call */
    double limit;
    int late;            /* this rank comes some seconds later; -1: none does */
};

struct look {
    const struct plan *plan;
    int asks;
    int signal;
};

static quern_status end_here(const void *user) {
    struct look *look = (struct look *)user;
    if (look->asks++ >= look->plan->asks) raise(look->signal);
    return QUERN_OK;
}

static quern_status never(UNUSED const void *user) { return QUERN_OK; }

/* What the ranks share: how many have ended well, and how many have begun the last meeting. */
struct progress {
    unsigned ended, sealing;  /* atomic */
};

static struct progress *progress;

quern_status __real_quern_complete_quorum(const struct quern_membership *member, struct quern_membership **formed);

quern_status __wrap_quern_complete_quorum(const struct quern_membership *member, struct quern_membership **formed) {
    if (progress) __atomic_add_fetch(&progress->sealing, 1, __ATOMIC_ACQ_REL);
    return __real_quern_complete_quorum(member, formed);
}

/* A rank that is lost earlier is only left out. */
static void await_the_last_meeting(const struct rank *rank) {
    while (__atomic_load_n(&progress->sealing, __ATOMIC_ACQUIRE) < (unsigned)rank->ranks - 1) rank_sleep(1e-3);
}

static void meet_the_fate(struct rank *rank, quern_group *group) {
    const struct plan *plan = rank->user;
    struct look look = {plan, 0, plan->fate == STOPPED ? SIGSTOP : SIGKILL};
    struct quern_membership *member, *formed;
    struct quern_rank_set own = {.count = 0};
    struct quern_decision decision;
    const bool in_the_call = plan->fate == IN_THE_CALL || plan->fate == STOPPED;
    const int64_t limit = quern_now() + (int64_t)(plan->limit * 1e9);
    rank_ok(rank, quern_member_of(group, &member));
    quern_set_add(&own, rank->rank);
    quern_group_abort(group, "it is being shrunk");
    if (plan->fate == STOPPED && !plan->asks) raise(SIGSTOP);
    struct quern_quorum *quorum = quern_open_quorum(member, &own, limit);
    rank_check(rank, quorum, "no memory");
    rank_ok(rank, quern_find_quorum(quorum, (struct quern_veto){in_the_call ? end_here : never, &look, NULL}, limit, &decision));
    if (in_the_call || plan->fate == AFTER_THE_DECISION) raise(SIGKILL);
    look.asks = plan->asks;
    rank_ok(rank, quern_join_quorum(member, &decision, plan->limit,
                                    (struct quern_veto){plan->fate == IN_THE_MEETING ? end_here : never, &look, NULL}, &formed));
    if (plan->fate == BEFORE_THE_LAST_MEETING) await_the_last_meeting(rank);
    raise(SIGKILL);
}

static void lose_the_subject(struct rank *rank) {
    const struct plan *plan = rank->user;
    quern_group *group = shrink_case_group(rank, plan->limit), *new = NULL;
    progress = rank->shared;
    rank_line_up(rank);
    if (rank->rank == plan->subject) meet_the_fate(rank, group);
    if (rank->rank == plan->late) rank_sleep(SHRINK_SHORT * 0.9);
    const unsigned living = ((1u << rank->ranks) - 1) & ~(1u << plan->subject);
    if (plan->fate == BEFORE_THE_LAST_MEETING) {
        rank_refused(rank, quern_group_shrink(&group, 1, &new), QUERN_PEER_LOST, "cannot know whether others go on");
        rank_check(rank, !new, "a handle was written");
        rank_ok(rank, quern_group_destroy(group));
    } else {
        shrink_case_run(rank, group, living);
    }
    __atomic_add_fetch(&progress->ended, 1, __ATOMIC_ACQ_REL);
}

static void check_plan(int ranks, struct plan plan) {
    bool may_die[8] = {false};
    may_die[plan.subject] = true;
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = ranks, .hosts = ranks, .user = &plan,
                                                       .body = lose_the_subject, .watches_heartbeat = plan.fate == STOPPED,
                                                       .shared_bytes = sizeof(struct progress)});
    const struct progress *made = ranks_shared(run);
    for (int i = 0; plan.fate == STOPPED && i < 60000 && __atomic_load_n(&made->ended, __ATOMIC_ACQUIRE) < (unsigned)ranks - 1; i++)
        rank_sleep(0.01);
    if (plan.fate == STOPPED) kill(ranks_process(run, plan.subject), SIGKILL);
    const char *wrong = ranks_wait(run, may_die);
    check(!wrong, "rank %d of %d, fate %d: %s", plan.subject, ranks, (int)plan.fate, wrong);
    ranks_close(run);
}

/* The one that gathers and a follower; at the first look, and when the hosts have found each other. */
Test(hosts_shrink_ends, without_one_that_ends_in_the_roll_call) {
    for (int subject = 0; subject < 3; subject++) {
        check_plan(3, (struct plan){subject, IN_THE_CALL, 0, RANK_LIMIT, -1});
        check_plan(4, (struct plan){subject, IN_THE_CALL, 3, RANK_LIMIT, -1});
    }
}

Test(hosts_shrink_ends, without_one_that_ends_after_the_decision) {
    for (int subject = 0; subject < 3; subject++) check_plan(3, (struct plan){subject, AFTER_THE_DECISION, 0, RANK_LIMIT, -1});
}

Test(hosts_shrink_ends, without_one_that_ends_while_they_meet) {
    for (int subject = 0; subject < 3; subject++) check_plan(4, (struct plan){subject, IN_THE_MEETING, 0, RANK_LIMIT, -1});
}

Test(hosts_shrink_ends, says_so_if_one_ends_before_the_last_meeting) {
    for (int subject = 0; subject < 3; subject++) check_plan(3, (struct plan){subject, BEFORE_THE_LAST_MEETING, 0, RANK_LIMIT, -1});
}

/*
 * A host that is stopped is silent: it is not counted, even if it was a follower when the last one comes, but awaited until the
 * limit.
 */
Test(hosts_shrink_ends, without_one_that_is_stopped) {
    for (int subject = 0; subject < 2; subject++) check_plan(3, (struct plan){subject, STOPPED, 0, SHRINK_SHORT, -1});
    check_plan(4, (struct plan){1, STOPPED, 60, SHRINK_SHORT, 3});
}

/* ---- ranks that are killed at any moment, speakers and others of their hosts ---- */

enum { CROWD = 6, ROUNDS = 25 };

struct doom {
    unsigned victims;       /* a bit mask: less than half */
    double after[CROWD];    /* seconds from the begin of the shrink */
};

struct outcome {
    quern_status status;
    int ranks;
    char name[64];          /* what all ranks call the last group */
};

/* Shrinks until only those are left whom nobody kills, or until it is told that it cannot go on. */
static quern_status outlive(struct rank *rank) {
    const struct doom *doom = rank->user;
    struct outcome *outcome = (struct outcome *)rank->shared + rank->rank;
    const int living = rank->ranks - __builtin_popcount(doom->victims);
    quern_group *group = rank_group(rank, RANK_LIMIT), *new;
    rank_line_up(rank);
    if (doom->victims >> rank->rank & 1) shrink_case_die_after(doom->after[rank->rank]);
    do {
        new = NULL;
        outcome->status = quern_group_shrink(&group, 1, &new);
        rank_check(rank, (outcome->status == QUERN_OK) == (new != NULL), "%s and a handle", quern_status_string(outcome->status));
        rank_check(rank, outcome->status == QUERN_OK || outcome->status == QUERN_PEER_LOST, "%s",
                   quern_status_string(outcome->status));
        if (!new) {
            char detail[256];
            quern_error_detail(detail, sizeof detail);
            rank_check(rank, strstr(detail, "cannot know whether") || strstr(detail, " are required"), "%s", detail);
        }
        rank_ok(rank, quern_group_destroy(group));
        group = new;
        while (group && quern_group_size(group) > living && quern_barrier(group, NULL, NULL) == QUERN_OK) continue;
    } while (group && quern_group_size(group) > living);
    if (!group) return QUERN_OK;
    struct quern_membership *member = rank_member_of(rank, group);
    for (int i = 0; i < 10; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    outcome->ranks = quern_group_size(group);
    snprintf(outcome->name, sizeof outcome->name, "%.*s", (int)strcspn(member->label, ","), member->label);
    return quern_group_destroy(group);
}

/* Those that go on are of one group, and are all of it. */
static void judge(int round, const struct outcome *outcomes) {
    const struct outcome *first = NULL;
    int going = 0;
    for (int rank = 0; rank < CROWD; rank++) {
        if (!outcomes[rank].ranks) continue;
        if (!first) first = &outcomes[rank];
        going++;
        check(strcmp(first->name, outcomes[rank].name) == 0, "round %d: two groups: %s and %s", round, first->name,
              outcomes[rank].name);
    }
    check(!first || going == first->ranks, "round %d: %d ranks go on in a group of %d", round, going, first ? first->ranks : 0);
}

static void outlive_round(int round) {
    struct doom doom = {0};
    bool killed[CROWD];
    for (int rank = 0; rank < CROWD; rank++) {
        killed[rank] = __builtin_popcount(doom.victims) < 2 && random_uniform((uint64_t)round, (uint64_t)rank) < 0.5;
        doom.victims |= (unsigned)killed[rank] << rank;
        doom.after[rank] = 0.06 * random_uniform((uint64_t)round, (uint64_t)(CROWD + rank));
    }
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = CROWD, .hosts = 2 + round % 3,
                                                       .function = outlive, .user = &doom,
                                                       .shared_bytes = CROWD * sizeof(struct outcome)});
    const char *wrong = ranks_wait(run, killed);
    check(!wrong, "round %d: %s", round, wrong);
    judge(round, ranks_shared(run));
    ranks_close(run);
}

Test(hosts_shrink_ends, while_others_are_killed) {
    for (int round = 0; round < shrink_case_rounds((int)test_size(ROUNDS, 8)); round++) outlive_round(round);
}

/* ---- a host that comes late ---- */

TEST_BODY(hosts_shrink_ends, without_a_host_that_comes_too_late, .kind = RANK_PROCESSES, .count = 5, .hosts = 3) {
    unsigned *ended = rank->shared;
    quern_group *group = shrink_case_group(rank, SHRINK_SHORT);
    rank_line_up(rank);
    if (rank->rank != rank->ranks - 1) {
        shrink_case_run(rank, group, (1u << (rank->ranks - 1)) - 1);
        __atomic_add_fetch(ended, 1, __ATOMIC_ACQ_REL);
        return;
    }
    while (__atomic_load_n(ended, __ATOMIC_ACQUIRE) < (unsigned)rank->ranks - 1) rank_sleep(0.01);
    shrink_case_run(rank, group, 1u << rank->rank);
}

/* A rank of the second host does not come: its host awaits it until the limit, and the first host that one. */
TEST_RANKS(hosts_shrink_ends, without_a_rank_that_comes_too_late, .kind = RANK_PROCESSES, .count = 4, .hosts = 2) {
    unsigned *ended = rank->shared;
    quern_group *group = shrink_case_group(rank, SHRINK_SHORT), *new = NULL;
    rank_line_up(rank);
    if (rank->rank != 3) {
        shrink_case_run(rank, group, 7);
        __atomic_add_fetch(ended, 1, __ATOMIC_ACQ_REL);
        return QUERN_OK;
    }
    while (__atomic_load_n(ended, __ATOMIC_ACQUIRE) < 3) rank_sleep(0.01);
    rank_refused(rank, quern_group_shrink(&group, 1, &new), QUERN_PEER_TIMEOUT, "without this one, which came too late");
    return quern_group_destroy(group);
}
