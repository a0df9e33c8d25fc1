/*
 * The living ranks of several hosts form a new group: after ranks, leaders and hosts have ended, while further ones end, with hosts that
 * come late, are stopped or know another key.  A set that is no quorum gets a status.  test_hosts_network.c pulls cables.
 *
 * Runs on: ranks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness/check.h"
#include "harness/ragged_case.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "harness/transfer_case.h"
#include "harness/ways.h"
#include "os/clock.h"
#include "ranks/group/shrink_hosts.h"
#include "ranks/handles.h"
#include "ranks/hosts/bootstrap.h"
#include "ranks/hosts/connections.h"
#include "ranks/hosts/connector.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/*
 * Seconds, which end where a host cannot be known to have ended; the ranks of a host that awaits one of them in vain come half of
 * it before the others cease to await them.
 */
static const double SHORT = 8;

static int64_t never_ends(void) { return quern_now() + (int64_t)(RANK_LIMIT * 1e9); }

/* The group with a limit of its shrink: that of its creation may be much longer. */
static quern_group *group_to_shrink(struct rank *rank, double limit) {
    struct quern_membership *member;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_ok(rank, quern_member_of(group, &member));
    member->first_timeout = limit;
    return group;
}

static bool is_quorum(unsigned living, int ranks) {
    const int twice = 2 * __builtin_popcount(living);
    return twice > ranks || (twice == ranks && living & 1);
}

/* ---- the new group works: numbers, barriers, exchanges, transfers ---- */

static void use_group(struct rank *rank, quern_group *group) {
    struct rank as_new = *rank;
    struct ragged_bench bench;
    as_new.rank = quern_group_rank(group);
    as_new.ranks = quern_group_size(group);
    for (int i = 0; i < 10; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    ragged_bench_take(&bench, &as_new, group, 5 << 19);
    for (uint64_t i = 0; i < 3; i++) {
        struct ragged_case c;
        ragged_case_open(&c, 81000 + i, (struct ragged_choice){.ranks = as_new.ranks});
        ragged_case_run(&c, &bench);
        ragged_case_close(&c);
    }
    transfer_run_case(&as_new, group, 82000, &(struct transfer_choice){.lists = 1, .items = 12, .largest = 9000, .rounds = 2});
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    ragged_bench_close(&bench);
}

static void expect_numbers(struct rank *rank, const quern_group *group, unsigned living) {
    rank_check(rank, quern_group_size(group) == __builtin_popcount(living), "the group has %d ranks: expected those of %#x",
               quern_group_size(group), living);
    rank_check(rank, quern_group_rank(group) == __builtin_popcount(living & ((1u << rank->rank) - 1)), "rank %d of %#x is %d",
               rank->rank, living, quern_group_rank(group));
}

/* Shrinks: a quorum of these has a group that works, others learn why they have none. */
static quern_status shrink_to(struct rank *rank, quern_group *group, unsigned living) {
    quern_group *new = NULL;
    char counts[64];
    if (!is_quorum(living, rank->ranks)) {
        rank_status(rank, quern_group_shrink(&group, 1, &new), QUERN_PEER_LOST);
        snprintf(counts, sizeof counts, "%d of the %d ranks have answered within", __builtin_popcount(living), rank->ranks);
        rank_check_detail(rank, counts);
        snprintf(counts, sizeof counts, "to go on takes %d", rank->ranks / 2 + 1);
        rank_check_detail(rank, counts);
        rank_check(rank, !new, "a handle was written");
        return quern_group_destroy(group);
    }
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    expect_numbers(rank, new, living);
    rank_ok(rank, quern_group_destroy(group));
    use_group(rank, new);
    return QUERN_OK;
}

/* ---- who has gone before ---- */

struct shape {
    int hosts, ranks;
    unsigned gone;       /* a bit mask */
};

enum way_out { KILLED, LEAVES };

struct scene {
    struct shape shape;
    enum way_out way;
    double limit;
};

static quern_status go_or_shrink(struct rank *rank) {
    const struct scene *scene = rank->user;
    quern_group *group = group_to_shrink(rank, scene->limit);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);  /* none has gone before all have left the barrier */
    const unsigned gone = scene->shape.gone;
    if (gone >> rank->rank & 1) {
        if (scene->way == KILLED) raise(SIGKILL);
        return quern_group_destroy(group);
    }
    quern_status status = QUERN_OK;
    for (int i = 0; i < 5 && gone && status == QUERN_OK; i++) status = quern_barrier(group, NULL, NULL);
    rank_check(rank, !gone || status == QUERN_PEER_LOST || status == QUERN_GROUP_ABORTED, "%s", quern_status_string(status));
    const double began = rank_now();
    status = shrink_to(rank, group, ((1u << rank->ranks) - 1) & ~gone);
    rank_check(rank, scene->limit < RANK_LIMIT || rank_now() - began < RANK_SOON, "it took %g s", rank_now() - began);
    return status;
}

static void check_scene(enum rank_kind kind, struct shape shape, enum way_out way, double limit) {
    const struct scene scene = {shape, way, limit};
    bool killed[32];
    for (int rank = 0; rank < 32; rank++) killed[rank] = way == KILLED && shape.gone >> rank & 1;
    struct rank_run *run = ranks_start(&(struct ranks){.kind = kind, .count = shape.ranks, .hosts = shape.hosts, .user = &scene,
                                                       .function = go_or_shrink});
    const char *wrong = ranks_wait(run, killed);
    check(!wrong, "%d hosts of %d ranks without %#x: %s", shape.hosts, shape.ranks, shape.gone, wrong);
    ranks_close(run);
}

TEST_BOTH_WAYS(hosts_shrink, a_group_of_which_all_live) {
    static const struct shape shapes[] = {{2, 2, 0}, {2, 4, 0}, {3, 5, 0}, {4, 9, 0}};
    for (size_t kind = 0; kind < COUNT(rank_kinds); kind++)
        for (size_t i = 0; i < COUNT(shapes); i++) check_scene(rank_kinds[kind], shapes[i], LEAVES, RANK_LIMIT);
}

/* A rank; leaders; whole hosts, the first and the last; all but a majority; half of the ranks with rank 0. */
Test(hosts_shrink, without_those_that_were_killed) {
    static const struct shape shapes[] = {{2, 4, 8},    {2, 4, 4},    {2, 4, 1},   {3, 3, 1},   {3, 3, 4},    {3, 6, 3},
                                          {3, 6, 0x30}, {3, 6, 0x15}, {2, 4, 0xc}, {2, 4, 0xa}, {4, 8, 0x43}, {4, 9, 0x0f}};
    for (size_t i = 0; i < COUNT(shapes); i++) check_scene(RANK_PROCESSES, shapes[i], KILLED, RANK_LIMIT);
}

/* With relays nobody knows of a host whose leader has ended whether other ranks of it live: it has until the limit. */
Test(hosts_shrink, without_those_that_were_killed_relayed) {
    static const struct shape shapes[] = {{2, 4, 8}, {2, 4, 4}, {3, 6, 1}};
    quern_most_direct = 0;
    for (size_t i = 0; i < COUNT(shapes); i++) check_scene(RANK_PROCESSES, shapes[i], KILLED, RANK_LIMIT);
    check_scene(RANK_PROCESSES, (struct shape){3, 6, 0x30}, KILLED, SHORT);
}

/* A whole host leaves only where each rank is heard by itself: a host whose leader has left is no longer watched. */
static void check_leaving(bool whole_host) {
    static const struct shape shapes[] = {{2, 4, 2}, {3, 5, 0x14}, {4, 8, 0x81}, {3, 6, 3}};
    for (size_t kind = 0; kind < COUNT(rank_kinds); kind++)
        for (size_t i = 0; i < COUNT(shapes) - !whole_host; i++) check_scene(rank_kinds[kind], shapes[i], LEAVES, RANK_LIMIT);
}

Test(hosts_shrink, without_those_that_have_left) { check_leaving(true); }

Test(hosts_shrink, without_those_that_have_left_relayed) {
    quern_most_direct = 0;
    check_leaving(false);
}

Test(hosts_shrink, needs_a_quorum) {
    static const struct shape shapes[] = {{2, 2, 1}, {2, 4, 3}, {3, 3, 5}, {3, 6, 0x2b}, {4, 8, 0x0f}};
    for (size_t i = 0; i < COUNT(shapes); i++) check_scene(RANK_PROCESSES, shapes[i], KILLED, RANK_LIMIT);
}

Test(hosts_shrink, knows_a_quorum) {
    static const struct {
        uint32_t living;
        int ranks;
        bool is_quorum;
    } sets[] = {{1, 1, true}, {1, 2, true}, {2, 2, false}, {3, 4, true}, {6, 4, false}, {7, 4, true}, {0xe, 4, true}, {3, 5, false},
                {7, 5, true}, {0x1c, 5, true}, {0, 3, false}};
    for (size_t i = 0; i < COUNT(sets); i++) {
        const uint32_t words[QUERN_GROUP_WORDS] = {sets[i].living};
        check(quern_is_quorum(words, sets[i].ranks) == sets[i].is_quorum, "%#x of %d", sets[i].living, sets[i].ranks);
    }
}

/* The lowest rank that lives is of another host than that which gathers: ranks 0 and 3 are of one, and rank 0 is killed. */
static quern_status be_interleaved(struct rank *rank) {
    quern_group *group = NULL;
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.host = rank->rank % 3 ? "b" : "a";
    rank_ok(rank, quern_group_create(&args, 1, &group));
    rank_line_up(rank);
    if (rank->rank == 0) raise(SIGKILL);
    return shrink_to(rank, group, 0xe);
}

TEST_BOTH_WAYS(hosts_shrink, with_interleaved_hosts) {
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .function = be_interleaved});
    const char *wrong = ranks_wait(run, (const bool[]){true, false, false, false});
    check(!wrong, "%s", wrong);
    ranks_close(run);
}

/* ---- again and again ---- */

/* The highest rank of each group is killed when the others have left a barrier, until one host is left, and then a rank of it. */
static quern_status shrink_by_one(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *new;
    unsigned *met = rank->shared;  /* [ranks of the group]: how many have */
    for (int ranks = rank->ranks; ranks > 2; ranks--) {
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_check(rank, quern_group_size(group) == ranks, "%d ranks: expected %d", quern_group_size(group), ranks);
        __atomic_add_fetch(&met[ranks], 1, __ATOMIC_ACQ_REL);
        if (quern_group_rank(group) == ranks - 1) {
            while (__atomic_load_n(&met[ranks], __ATOMIC_ACQUIRE) < (unsigned)ranks) rank_sleep(1e-3);
            raise(SIGKILL);
        }
        quern_status status = QUERN_OK;
        while (status == QUERN_OK) status = quern_barrier(group, NULL, NULL);
        rank_ok(rank, quern_group_shrink(&group, 1, &new));
        rank_status(rank, quern_group_shrink(&group, 1, &(quern_group *){NULL}), QUERN_INVALID_ARGUMENT);
        rank_check_detail(rank, "was shrunk before");
        rank_ok(rank, quern_group_destroy(group));
        group = new;
    }
    use_group(rank, group);
    return QUERN_OK;
}

TEST_BOTH_WAYS(hosts_shrink, again_and_again) {
    const bool killed[] = {false, false, true, true, true, true};
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = 6, .hosts = 3, .function = shrink_by_one,
                                                       .shared_bytes = 64});
    const char *wrong = ranks_wait(run, killed);
    check(!wrong, "%s", wrong);
    ranks_close(run);
}

/* ---- those that end or stop in the middle ---- */

/* What one rank does in place of a shrink: it speaks for its host, and then this happens. */
enum fate { IN_THE_CALL, AFTER_THE_VERDICT, IN_THE_MEETING, BEFORE_THE_LAST_MEETING, STOPPED };

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

static quern_status never(const void *user) {
    (void)user;
    return QUERN_OK;
}

static void meet_the_fate(struct rank *rank, quern_group *group) {
    const struct plan *plan = rank->user;
    struct look look = {plan, 0, plan->fate == STOPPED ? SIGSTOP : SIGKILL};
    struct quern_membership *member, *formed;
    struct quern_rank_set own = {.count = 0};
    struct quern_verdict verdict;
    const bool in_the_call = plan->fate == IN_THE_CALL || plan->fate == STOPPED;
    const int64_t limit = quern_now() + (int64_t)(plan->limit * 1e9);
    rank_ok(rank, quern_member_of(group, &member));
    quern_set_add(&own, rank->rank);
    quern_group_abort(group, "it is being shrunk");
    if (plan->fate == STOPPED && !plan->asks) raise(SIGSTOP);
    struct quern_quorum *quorum = quern_open_quorum(member, &own, limit);
    rank_check(rank, quorum, "no memory");
    rank_ok(rank, quern_find_quorum(quorum, (struct quern_veto){in_the_call ? end_here : never, &look}, limit, &verdict));
    if (in_the_call || plan->fate == AFTER_THE_VERDICT) raise(SIGKILL);
    look.asks = plan->asks;
    rank_ok(rank, quern_join_quorum(member, &verdict, plan->limit,
                                    (struct quern_veto){plan->fate == IN_THE_MEETING ? end_here : never, &look}, &formed));
    raise(SIGKILL);
}

static quern_status lose_the_subject(struct rank *rank) {
    const struct plan *plan = rank->user;
    unsigned *ended = rank->shared;
    quern_group *group = group_to_shrink(rank, plan->limit), *new = NULL;
    rank_line_up(rank);
    if (rank->rank == plan->subject) meet_the_fate(rank, group);
    if (rank->rank == plan->late) rank_sleep(SHORT * 0.9);
    const unsigned living = ((1u << rank->ranks) - 1) & ~(1u << plan->subject);
    if (plan->fate == BEFORE_THE_LAST_MEETING) {
        rank_status(rank, quern_group_shrink(&group, 1, &new), QUERN_PEER_LOST);
        rank_check_detail(rank, "cannot know whether others go on");
        rank_check(rank, !new, "a handle was written");
        rank_ok(rank, quern_group_destroy(group));
    } else {
        shrink_to(rank, group, living);
    }
    __atomic_add_fetch(ended, 1, __ATOMIC_ACQ_REL);
    return QUERN_OK;
}

static void check_plan(int ranks, struct plan plan) {
    bool may_die[8] = {false};
    may_die[plan.subject] = true;
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = ranks, .hosts = ranks, .user = &plan,
                                                       .function = lose_the_subject, .watches_silence = plan.fate == STOPPED,
                                                       .shared_bytes = 64});
    unsigned *ended = ranks_shared(run);
    for (int i = 0; plan.fate == STOPPED && i < 60000 && __atomic_load_n(ended, __ATOMIC_ACQUIRE) < (unsigned)ranks - 1; i++)
        rank_sleep(0.01);
    if (plan.fate == STOPPED) kill(ranks_process(run, plan.subject), SIGKILL);
    const char *wrong = ranks_wait(run, may_die);
    check(!wrong, "rank %d of %d, fate %d: %s", plan.subject, ranks, (int)plan.fate, wrong);
    ranks_close(run);
}

/* The one that gathers and a guest; at the first look, and when the hosts have found each other. */
Test(hosts_shrink, without_one_that_ends_in_the_roll_call) {
    for (int subject = 0; subject < 3; subject++) {
        check_plan(3, (struct plan){subject, IN_THE_CALL, 0, RANK_LIMIT, -1});
        check_plan(4, (struct plan){subject, IN_THE_CALL, 3, RANK_LIMIT, -1});
    }
}

Test(hosts_shrink, without_one_that_ends_after_the_verdict) {
    for (int subject = 0; subject < 3; subject++) check_plan(3, (struct plan){subject, AFTER_THE_VERDICT, 0, RANK_LIMIT, -1});
}

Test(hosts_shrink, without_one_that_ends_while_they_meet) {
    for (int subject = 0; subject < 3; subject++) check_plan(4, (struct plan){subject, IN_THE_MEETING, 0, RANK_LIMIT, -1});
}

Test(hosts_shrink, says_so_if_one_ends_before_the_last_meeting) {
    for (int subject = 0; subject < 3; subject++) check_plan(3, (struct plan){subject, BEFORE_THE_LAST_MEETING, 0, RANK_LIMIT, -1});
}

/*
 * A host that is stopped is silent: it is not counted, even if it was a guest when the last one comes, but awaited until the limit.
 */
Test(hosts_shrink, without_one_that_is_stopped) {
    for (int subject = 0; subject < 2; subject++) check_plan(3, (struct plan){subject, STOPPED, 0, SHORT, -1});
    check_plan(4, (struct plan){1, STOPPED, 60, SHORT, 3});
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

static void arm(double after) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {0, (long)(after * 1e9) + 1}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL)) raise(SIGKILL);
}

/* Shrinks until only those are left whom nobody kills, or until it is told that it cannot go on. */
static quern_status outlive(struct rank *rank) {
    const struct doom *doom = rank->user;
    struct outcome *outcome = (struct outcome *)rank->shared + rank->rank;
    const int living = rank->ranks - __builtin_popcount(doom->victims);
    struct quern_membership *member;
    quern_group *group = rank_group(rank, RANK_LIMIT), *new;
    rank_line_up(rank);
    if (doom->victims >> rank->rank & 1) arm(doom->after[rank->rank]);
    do {
        new = NULL;
        outcome->status = quern_group_shrink(&group, 1, &new);
        rank_check(rank, (outcome->status == QUERN_OK) == (new != NULL), "%s and a handle", quern_status_string(outcome->status));
        rank_check(rank, outcome->status == QUERN_OK || outcome->status == QUERN_PEER_LOST, "%s",
                   quern_status_string(outcome->status));
        if (!new) {
            char detail[256];
            quern_error_detail(detail, sizeof detail);
            rank_check(rank, strstr(detail, "cannot know whether") || strstr(detail, "to go on takes"), "%s", detail);
        }
        rank_ok(rank, quern_group_destroy(group));
        group = new;
        while (group && quern_group_size(group) > living && quern_barrier(group, NULL, NULL) == QUERN_OK) continue;
    } while (group && quern_group_size(group) > living);
    if (!group) return QUERN_OK;
    rank_ok(rank, quern_member_of(group, &member));
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

/* QUERN_TEST_SHRINKS sets the number of rounds. */
Test(hosts_shrink, while_others_are_killed) {
    const char *wanted = getenv("QUERN_TEST_SHRINKS");
    const int rounds = wanted ? atoi(wanted) : ROUNDS;
    for (int round = 0; round < rounds; round++) outlive_round(round);
}

/* ---- a host that comes late ---- */

static quern_status come_late(struct rank *rank) {
    unsigned *ended = rank->shared;
    quern_group *group = group_to_shrink(rank, SHORT);
    rank_line_up(rank);
    if (rank->rank != rank->ranks - 1) {
        shrink_to(rank, group, (1u << (rank->ranks - 1)) - 1);
        __atomic_add_fetch(ended, 1, __ATOMIC_ACQ_REL);
        return QUERN_OK;
    }
    while (__atomic_load_n(ended, __ATOMIC_ACQUIRE) < (unsigned)rank->ranks - 1) rank_sleep(0.01);
    const double began = rank_now();
    shrink_to(rank, group, 1u << rank->rank);
    rank_check(rank, rank_now() - began < RANK_SOON, "it took %g s", rank_now() - began);
    return QUERN_OK;
}

Test(hosts_shrink, without_a_host_that_comes_too_late) {
    check_ranks(.kind = RANK_PROCESSES, .count = 5, .hosts = 3, .function = come_late, .shared_bytes = 64);
}

/* A rank of the second host does not come: its host awaits it until the limit, and the first host that one. */
static quern_status miss_a_rank(struct rank *rank) {
    unsigned *ended = rank->shared;
    quern_group *group = group_to_shrink(rank, SHORT), *new = NULL;
    rank_line_up(rank);
    if (rank->rank != 3) {
        shrink_to(rank, group, 7);
        __atomic_add_fetch(ended, 1, __ATOMIC_ACQ_REL);
        return QUERN_OK;
    }
    while (__atomic_load_n(ended, __ATOMIC_ACQUIRE) < 3) rank_sleep(0.01);
    rank_status(rank, quern_group_shrink(&group, 1, &new), QUERN_PEER_TIMEOUT);
    rank_check_detail(rank, "without this one, which came too late");
    return quern_group_destroy(group);
}

TEST_BOTH_WAYS(hosts_shrink, without_a_rank_that_comes_too_late) {
    check_ranks(.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .function = miss_a_rank, .shared_bytes = 64);
}

/* ---- strangers ---- */

/* -1: it has another key. */
static int call_rank(const struct quern_membership *member, int to, const unsigned char *key, enum quern_call_kind kind, int from) {
    struct quern_connector connector;
    quern_connector_begin(&connector, &member->roster->peer[to].address, key, kind, from, to);
    for (int socket; !connector.is_unknown;) {
        struct pollfd ready;
        if ((socket = quern_connector_go(&connector)) >= 0) return socket;
        quern_connector_awaits(&connector, &ready);
        poll(&ready, 1, 5);
    }
    quern_connector_end(&connector);
    return -1;
}

/* The listener is there by now. */
static void prove_falsely(struct rank *rank, const struct quern_membership *member, const unsigned char *key) {
    struct sockaddr_storage name;
    struct quern_handshake handshake;
    struct quern_answer answer;
    const socklen_t bytes = quern_address_out(&member->roster->peer[0].address, &name);
    const int one = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    rank_check(rank, one >= 0 && connect(one, (struct sockaddr *)&name, bytes) == 0, "nobody listens");
    rank_check(rank, quern_handshake_call(&handshake, one, key, QUERN_CALL_MEETING, 1, 0), "no random numbers");
    const bool said = send(one, &handshake.hello, sizeof handshake.hello, MSG_NOSIGNAL) == sizeof handshake.hello &&
                      recv(one, &answer, sizeof answer, MSG_WAITALL) == sizeof answer &&
                      send(one, handshake.proof, sizeof handshake.proof, MSG_NOSIGNAL) == sizeof handshake.proof;
    rank_check(rank, said && recv(one, &answer, 1, 0) <= 0, "a false proof was let in");
    close(one);
}

/* It hangs up, and says no more than that it is there. */
static void await_end(struct rank *rank, int socket) {
    char answer[64];
    for (ssize_t read = 1; read > 0;) {
        struct pollfd ready = {.fd = socket, .events = POLLIN};
        rank_check(rank, poll(&ready, 1, 20000) == 1, "nonsense was let in");
        read = recv(socket, answer, sizeof answer, MSG_DONTWAIT);
        for (ssize_t i = 0; i < read; i++) rank_check(rank, answer[i] == 'b', "nonsense got a verdict");
    }
    close(socket);
}

/* The key is right, the ranks are of another host, or none. */
static void bring_nonsense(struct rank *rank, const struct quern_membership *member, int ranks, uint32_t port, uint32_t living) {
    struct {
        uint32_t ranks, port;
        int64_t patience;
        uint32_t living[QUERN_GROUP_WORDS];
    } card = {(uint32_t)ranks, port, 1000000000, {living}};
    unsigned char key[QUERN_DIGEST_BYTES];
    quern_make_shrink_key(member->span->key, key);
    const int socket = call_rank(member, 0, key, QUERN_CALL_MEETING, rank->rank);
    rank_check(rank, quern_send_all(socket, &card, sizeof card, never_ends()), "it has hung up at once");
    await_end(rank, socket);
}

/* No speaker of another host says this, though it knows the key. */
static void call_strangely(struct rank *rank, const struct quern_membership *member, enum quern_call_kind kind, int from) {
    unsigned char key[QUERN_DIGEST_BYTES];
    quern_make_shrink_key(member->span->key, key);
    await_end(rank, call_rank(member, 0, key, kind, from));
}

/* Another key is that of an earlier shrink, of a group that had another meeting, or of no group at all. */
static quern_status disturb(struct rank *rank) {
    struct quern_membership *member;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    unsigned char stale[QUERN_DIGEST_BYTES] = {1};
    rank_ok(rank, quern_member_of(group, &member));
    rank_line_up(rank);
    if (rank->rank == 1) {
        rank_check(rank, call_rank(member, 0, stale, QUERN_CALL_MEETING, rank->rank) < 0, "another key was let in");
        prove_falsely(rank, member, stale);
        bring_nonsense(rank, member, rank->ranks, 4711, 5);
        bring_nonsense(rank, member, rank->ranks, 4711, 0);
        bring_nonsense(rank, member, rank->ranks + 1, 4711, 2);
        bring_nonsense(rank, member, rank->ranks, 0, 2);
        bring_nonsense(rank, member, rank->ranks, 1 << 16, 2);
        call_strangely(rank, member, QUERN_CALL_DATA, 1);
        call_strangely(rank, member, QUERN_CALL_MEETING, -1);
        call_strangely(rank, member, QUERN_CALL_MEETING, rank->ranks);
        call_strangely(rank, member, QUERN_CALL_MEETING, 0);
    }
    quern_group *new = NULL;
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    expect_numbers(rank, new, (1u << rank->ranks) - 1);
    char report[4096];
    quern_group_report(group, report, sizeof report);
    rank_check(rank, rank->rank || strstr(report, "1 another secret, name or job"), "%s", report);
    rank_ok(rank, quern_group_destroy(group));
    use_group(rank, new);
    return QUERN_OK;
}

Test(hosts_shrink, strangers_are_turned_away_and_counted) {
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 3, .function = disturb);
}

/* Another program has the port of the first host by now, and keeps it: that host is a guest of another one, and of the new group. */
static quern_status lose_the_port(struct rank *rank) {
    struct quern_membership *member;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_ok(rank, quern_member_of(group, &member));
    struct quern_listener other = {.socket = -1, .key = member->span->key, .strangers = (uint32_t[QUERN_STRANGERS]){0}};
    if (rank->rank == 0)
        rank_check(rank, quern_listener_open(&other, &member->roster->peer[0].address, 3), "no port");
    rank_line_up(rank);
    quern_group *new = NULL;
    struct quern_rank_set all = member->everyone, own = {.count = 0};
    quern_set_add(&own, rank->rank);
    struct quern_verdict verdict;
    struct quern_quorum *quorum = quern_open_quorum(member, &own, never_ends());
    rank_check(rank, quorum, "no memory");
    rank_ok(rank, quern_find_quorum(quorum, (struct quern_veto){never, NULL}, never_ends(), &verdict));
    rank_check(rank, verdict.status == QUERN_OK && memcmp(verdict.living, all.words, sizeof verdict.living) == 0, "%s", verdict.reason);
    rank_line_up(rank);
    quern_close_quorum(quorum);
    rank_line_up(rank);
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    rank_ok(rank, quern_group_destroy(group));
    use_group(rank, new);
    quern_listener_close(&other);
    return QUERN_OK;
}

Test(hosts_shrink, with_a_host_whose_port_is_taken) {
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 3, .function = lose_the_port);
}

/*
 * One that had no port for a while, and one that listened before it was a guest.  The ranks of this test go on one after the other.
 */
enum step { IS_GUEST = 1, PORT_IS_FREE, KNOCKED };

struct borrowed_port {
    struct quern_listener listener;
    unsigned *step;
};

static quern_status give_back(const void *user) {
    struct borrowed_port *port = (struct borrowed_port *)user;
    const unsigned step = __atomic_load_n(port->step, __ATOMIC_ACQUIRE);
    if (step == IS_GUEST) {
        quern_listener_close(&port->listener);
        __atomic_store_n(port->step, PORT_IS_FREE, __ATOMIC_RELEASE);
    }
    return step == KNOCKED ? QUERN_GROUP_ABORTED : QUERN_OK;
}

static void be_a_guest(struct rank *rank, const struct quern_membership *member) {
    uint32_t strangers[QUERN_STRANGERS] = {0};
    struct borrowed_port port = {{.socket = -1, .key = member->span->key, .strangers = strangers}, rank->shared};
    struct quern_rank_set own = {.count = 0};
    struct quern_verdict verdict;
    quern_set_add(&own, rank->rank);
    if (rank->rank == 0) rank_check(rank, quern_listener_open(&port.listener, &member->roster->peer[0].address, 2), "no port");
    rank_line_up(rank);
    struct quern_quorum *quorum = quern_open_quorum(member, &own, never_ends());
    rank_check(rank, quorum, "no memory");
    rank_status(rank, quern_find_quorum(quorum, (struct quern_veto){give_back, &port}, never_ends(), &verdict),
                QUERN_GROUP_ABORTED);
    quern_close_quorum(quorum);
}

/* Nobody is let in while the other rank is a guest here, and it listens as soon as it is none. */
static void be_a_home(struct rank *rank, const struct quern_membership *member) {
    unsigned *step = rank->shared;
    unsigned char key[QUERN_DIGEST_BYTES];
    uint32_t strangers[QUERN_STRANGERS] = {0};
    struct quern_listener listener = {.socket = -1, .key = key, .strangers = strangers};
    struct quern_connector connector;
    struct quern_hello hello;
    const int other = 1 - rank->rank;
    int guest;
    char card;
    quern_make_shrink_key(member->span->key, key);
    rank_check(rank, quern_listener_open(&listener, &member->roster->peer[rank->rank].address, 2), "no port");
    rank_line_up(rank);
    while ((guest = quern_listener_serve(&listener, &hello)) < 0) rank_sleep(1e-3);
    rank_check(rank, quern_receive_all(guest, &card, 1, never_ends()), "the guest brings no card");
    __atomic_store_n(step, IS_GUEST, __ATOMIC_RELEASE);
    while (__atomic_load_n(step, __ATOMIC_ACQUIRE) != PORT_IS_FREE) rank_sleep(1e-3);
    quern_connector_begin(&connector, &member->roster->peer[other].address, key, QUERN_CALL_MEETING, rank->rank, other);
    for (int i = 0; i < 200; i++) {
        rank_check(rank, quern_connector_go(&connector) < 0, "a guest lets others in");
        rank_check(rank, send(guest, "b", 1, MSG_NOSIGNAL) == 1, "the guest has hung up");
        rank_sleep(2e-3);
    }
    quern_connector_end(&connector);
    quern_listener_close(&listener);
    close(guest);
    close(call_rank(member, other, key, QUERN_CALL_MEETING, rank->rank));
    __atomic_store_n(step, KNOCKED, __ATOMIC_RELEASE);
}

static quern_status knock_at_a_guest(struct rank *rank) {
    const int *guest = rank->user;
    struct quern_membership *member;
    quern_group *group = rank_group(rank, RANK_LIMIT), *new = NULL;
    rank_ok(rank, quern_member_of(group, &member));
    (rank->rank == *guest ? be_a_guest : be_a_home)(rank, member);
    rank_line_up(rank);
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    rank_ok(rank, quern_group_destroy(group));
    return quern_group_destroy(new);
}

Test(hosts_shrink, a_guest_lets_nobody_in) {
    for (int guest = 0; guest < 2; guest++)
        check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = knock_at_a_guest, .user = &guest, .shared_bytes = 64);
}

/* ---- a home that talks nonsense ---- */

/* Lets one guest in at the place of rank 0, says this to it, and waits until it hangs up. */
static void mislead(struct rank *rank, struct quern_listener *listener, const void *words, size_t bytes) {
    struct quern_hello hello;
    struct pollfd *polls = calloc(1 + QUERN_LISTENER_PLACES, sizeof *polls);
    char said[4096];
    int guest = -1;
    while ((guest = quern_listener_serve(listener, &hello)) < 0) poll(polls, (nfds_t)quern_listener_awaits(listener, polls), 20);
    free(polls);
    rank_check(rank, quern_send_all(guest, words, bytes, never_ends()), "the guest has hung up at once");
    while (recv(guest, said, sizeof said, MSG_DONTWAIT) != 0) {  /* a reset is no end that is seen here: it has read all */
        if (errno != EAGAIN && errno != EINTR) break;
        send(guest, "b", 1, MSG_NOSIGNAL | MSG_DONTWAIT);  /* so it is not for silence that it hangs up */
        rank_sleep(1e-3);
    }
    close(guest);
}

/* A word that is none; verdicts without the guest, with ranks that the group has not, without a place, without a quorum. */
static void mislead_a_guest(struct rank *rank, const struct quern_membership *member) {
    unsigned char key[QUERN_DIGEST_BYTES];
    uint32_t strangers[QUERN_STRANGERS] = {0};
    struct quern_listener listener = {.socket = -1, .key = key, .strangers = strangers};
    const struct {
        uint32_t living;
        bool has_place, has_port;
    } verdicts[] = {{1, true, true}, {0xb, true, true}, {3, false, false}, {3, true, false}, {2, true, true}};
    quern_make_shrink_key(member->span->key, key);
    rank_check(rank, quern_listener_open(&listener, &member->roster->peer[0].address, 2), "no port");
    mislead(rank, &listener, "bbx", 3);
    for (size_t i = 0; i < COUNT(verdicts); i++) {
        struct {
            char spare[7], word;
            struct quern_verdict verdict;
        } said = {.word = 'd', .verdict = {.status = QUERN_OK, .living = {verdicts[i].living}}};
        if (verdicts[i].has_place) said.verdict.place = member->roster->peer[0].address;
        if (!verdicts[i].has_port) said.verdict.place.port = 0;
        mislead(rank, &listener, &said.word, 1 + sizeof said.verdict);
    }
    quern_listener_close(&listener);
}

static quern_status be_misled(struct rank *rank) {
    struct quern_membership *member;
    quern_group *group = rank_group(rank, RANK_LIMIT), *new = NULL;
    rank_ok(rank, quern_member_of(group, &member));
    rank_line_up(rank);
    if (rank->rank == 0) mislead_a_guest(rank, member);
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    expect_numbers(rank, new, 3);
    rank_ok(rank, quern_group_destroy(group));
    use_group(rank, new);
    return QUERN_OK;
}

Test(hosts_shrink, a_verdict_that_is_none) {
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = be_misled);
}

/* What lies in the segment may be no verdict: no group is formed with it.  And the roll call has a limit of its own. */
static quern_status end_the_call(struct rank *rank) {
    struct quern_membership *member, *formed = NULL;
    quern_group *group = rank_group(rank, RANK_LIMIT), *new = NULL;
    struct quern_verdict verdict = {.status = QUERN_OK};
    struct quern_rank_set own = {.count = 0};
    rank_ok(rank, quern_member_of(group, &member));
    rank_line_up(rank);
    if (rank->rank == 0) {
        const struct quern_address place = member->roster->peer[0].address;
        /* Without this rank; too few; with a rank that the group has not; places that are none. */
        struct quern_verdict bad[] = {{.living = {6}, .place = place}, {.living = {1}, .place = place},
                                      {.living = {3, 0, 0, 1}, .place = place}, {.living = {3}}, {.living = {3}, .place = place}, {.living = {3}, .place = place}};
        bad[4].place.port = 0;
        bad[5].place.version = 5;
        for (size_t i = 0; i < COUNT(bad); i++) {
            rank_status(rank, quern_join_quorum(member, &bad[i], 5, (struct quern_veto){never, NULL}, &formed), QUERN_PEER_MISMATCH);
            rank_check_detail(rank, "the verdict about who goes on of rank ");
        }
        quern_set_add(&own, 0);
        struct quern_quorum *quorum = quern_open_quorum(member, &own, never_ends());
        rank_check(rank, quorum, "no memory");
        rank_status(rank, quern_find_quorum(quorum, (struct quern_veto){never, NULL}, quern_now() + 200000000, &verdict),
                    QUERN_PEER_TIMEOUT);
        rank_check_detail(rank, "has not said within");
        quern_close_quorum(quorum);
    }
    rank_line_up(rank);
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    rank_ok(rank, quern_group_destroy(group));
    return quern_group_destroy(new);
}

Test(hosts_shrink, a_call_that_ends_without_a_verdict) {
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 3, .function = end_the_call);
}

/* ---- many ranks, and what the new group has of the old one ---- */

/* The engine's carrier has all old ranks, so the new group does not go over it, and says so. */
static quern_status leave_the_carrier(struct rank *rank) {
    char report[4096];
    quern_group *group = rank_group(rank, RANK_LIMIT), *new = NULL;
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    quern_group_report(new, report, sizeof report);
    rank_check(rank, strstr(report, "stand-in: the group is what is left of another one"), "%s", report);
    rank_ok(rank, quern_group_destroy(group));
    use_group(rank, new);
    return QUERN_OK;
}

Test(hosts_shrink, without_the_carrier) {
    check_ranks(.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .function = leave_the_carrier,
                .carrier = &(struct carrier_choice){.borrows = true});
}

static quern_status shrink_many(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *new = NULL;
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    if (rank->rank % 3 == 1) return quern_group_destroy(group);
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    rank_check(rank, quern_group_size(new) == rank->ranks - (rank->ranks + 1) / 3, "%d ranks", quern_group_size(new));
    rank_check(rank, quern_group_rank(new) == rank->rank - (rank->rank + 1) / 3, "rank %d is %d", rank->rank, quern_group_rank(new));
    rank_ok(rank, quern_group_destroy(group));
    for (int i = 0; i < 5; i++) rank_ok(rank, quern_barrier(new, NULL, NULL));
    return quern_group_destroy(new);
}

/* Sets of more than two words, and of more than three. */
Test(hosts_shrink, many_ranks) {
    check_ranks(.kind = RANK_THREADS, .count = 66, .hosts = 2, .function = shrink_many);
    check_ranks(.kind = RANK_THREADS, .count = 97, .hosts = 4, .function = shrink_many);
}

static quern_status look_at_limits(struct rank *rank) {
    struct quern_membership *member;
    quern_group *group = NULL, *new = NULL;
    quern_group_args args = rank_group_args(rank, 5);
    args.first_timeout = 29;
    args.silence = 33.3;
    rank_ok(rank, quern_group_create(&args, 1, &group));
    rank_line_up(rank);  /* a shrink ends a creation that another rank has not left yet */
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    rank_ok(rank, quern_member_of(new, &member));
    rank_check(rank, member->timeout == 29, "%g s at first", member->timeout);
    rank_check(rank, member->silence == 33300000, "a silence of %u us", member->silence);
    rank_ok(rank, quern_barrier(new, NULL, NULL));
    rank_check(rank, member->timeout == 5, "%g s after the first call", member->timeout);
    rank_line_up(rank);
    rank_ok(rank, quern_group_destroy(group));
    return quern_group_destroy(new);
}

Test(hosts_shrink, keeps_the_limits) {
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 2, .function = look_at_limits);
}
