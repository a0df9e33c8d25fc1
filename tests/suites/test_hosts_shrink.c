/*
 * The living ranks of several hosts form a new group, after ranks, leaders and hosts have ended, again and again.  A set that is no
 * quorum gets a status.  test_hosts_shrink_ends.c has what ends meanwhile, test_hosts_shrink_rejected.c what is said falsely, and
 * test_hosts_network.c pulls cables.
 *
 * Runs on: ranks.
 */
#include <arpa/inet.h>
#include <sys/syscall.h>

#include "harness/check.h"
#include "harness/shrink_case.h"
#include "ranks/group/group.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"

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
    quern_group *group = shrink_case_group(rank, scene->limit);
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
    return shrink_case_run(rank, group, ((1u << rank->ranks) - 1) & ~gone);
}

static void check_scene(enum rank_kind kind, struct shape shape, enum way_out way, double limit) {
    const struct scene scene = {shape, way, limit};
    const char *wrong = ranks_run(&(struct ranks){.kind = kind, .count = shape.ranks, .hosts = shape.hosts, .user = &scene,
                                                  .function = go_or_shrink, .may_die = way == KILLED ? shape.gone : 0});
    check(!wrong, "%d hosts of %d ranks without %#x: %s", shape.hosts, shape.ranks, shape.gone, wrong);
}

Test(hosts_shrink, a_group_of_which_all_live) {
    static const struct shape shapes[] = {{2, 2, 0}, {2, 4, 0}, {3, 5, 0}, {4, 9, 0}};
    for (size_t i = 0; i < COUNT(shapes); i++) check_scene(RANK_BOTH, shapes[i], LEAVES, RANK_LIMIT);
}

/* A rank; leaders; whole hosts, the first and the last; all but a majority; half of the ranks with rank 0. */
Test(hosts_shrink, without_those_that_were_killed) {
    static const struct shape shapes[] = {{2, 4, 8},    {2, 4, 4},    {2, 4, 1},   {3, 3, 1},   {3, 3, 4},    {3, 6, 3},
                                          {3, 6, 0x30}, {3, 6, 0x15}, {2, 4, 0xc}, {2, 4, 0xa}, {4, 8, 0x43}, {4, 9, 0x0f}};
    for (size_t i = 0; i < COUNT(shapes); i++) check_scene(RANK_PROCESSES, shapes[i], KILLED, RANK_LIMIT);
}

Test(hosts_shrink, without_those_that_have_left) {
    static const struct shape shapes[] = {{2, 4, 2}, {3, 5, 0x14}, {4, 8, 0x81}, {3, 6, 3}};
    for (size_t i = 0; i < COUNT(shapes); i++) check_scene(RANK_BOTH, shapes[i], LEAVES, RANK_LIMIT);
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

static struct sockaddr_in own;  /* where the connections of this process begin; 0: where the system lets them */

/* This takes the place of the C library's. */
int connect(int socket, const struct sockaddr *to, socklen_t bytes) {
    if (own.sin_family) bind(socket, (const struct sockaddr *)&own, sizeof own);
    return (int)syscall(SYS_connect, socket, to, bytes);
}

/* Of three hosts: the lowest rank that lives is of the one that gathers, which is reached where it listens, or of the last one. */
static const struct lowest {
    const char *hosts;
    unsigned gone;
    const char *place;
} lowest[] = {{"aabbcc", 1, NULL}, {"abcabc", 3, "127.0.0.99"}};

/* The others reach it where the connection between both hosts ends, also if the old group knew it elsewhere. */
TEST_RANKS(hosts_shrink, finds_the_lowest_rank, .kind = RANK_PROCESSES, .count = 6, .hosts = 3, .may_die = 3, RANKS_EACH(lowest)) {
    const struct lowest *row = rank->user;
    const char host[] = {row->hosts[rank->rank], 0};
    char expected[QUERN_ADDRESS_TEXT], got[QUERN_ADDRESS_TEXT];
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    rank_hosts_args(&args)->host = host;
    quern_group *group = rank_create(rank, &args), *new;
    const struct quern_membership *member = rank_member_of(rank, group);
    const int first = __builtin_ctz(~row->gone);
    quern_address_write(&member->roster->peer[0].address, false, expected);
    rank_check(rank, quern_address_read("192.0.2.1:4711", &member->roster->peer[first].address), "no address");
    rank_line_up(rank);
    if (row->gone >> rank->rank & 1) raise(SIGKILL);
    own = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000 + (unsigned)*host)};
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    const struct quern_decision *decision = quern_place(member->roster, rank->rank)->decision;  /* of the speaker of a host */
    quern_address_write(&decision[!decision->round].place, false, got);
    rank_check(rank, rank->rank != first || !strcmp(got, row->place ? row->place : expected), "rank %d is at %s", first, got);
    shrink_case_check(rank, new, 0x3f & ~row->gone);
    rank_ok(rank, quern_group_destroy(group));
    shrink_case_use(rank, new);
    return QUERN_OK;
}

/* ---- again and again ---- */

/* The highest rank of each group is killed when the others have left a barrier, until one host is left, and then a rank of it. */
TEST_BODY(hosts_shrink, again_and_again, .kind = RANK_PROCESSES, .count = 6, .hosts = 3, .may_die = 0x3c) {
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
        rank_refused(rank, quern_group_shrink(&group, 1, &(quern_group *){NULL}), QUERN_INVALID_ARGUMENT, "was shrunk before");
        rank_ok(rank, quern_group_destroy(group));
        group = new;
    }
    shrink_case_use(rank, group);
}

/* ---- many ranks, and what the new group does not have of the old one ---- */

/* The engine's carrier has all old ranks, so the new group does not go over it, and says so. */
TEST_RANKS(hosts_shrink, without_the_carrier, .kind = RANK_PROCESSES, .count = 4, .hosts = 2,
           .carrier = &(struct carrier_choice){.borrows = true}) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *new = NULL;
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    rank_check_report(rank, new, "stand-in: the group is what is left of another one");
    rank_ok(rank, quern_group_destroy(group));
    shrink_case_use(rank, new);
    return QUERN_OK;
}

/* Sets of more than two words. */
TEST_RANKS_FOR(hosts_shrink, many_ranks, quern_most_over_sockets = 66;, .kind = RANK_THREADS, .count = 66, .hosts = 2) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *new = NULL;
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    if (rank->rank % 3 == 1) return quern_group_destroy(group);
    rank_ok(rank, quern_group_shrink(&group, 1, &new));
    rank_check(rank, quern_group_size(new) == rank->ranks - (rank->ranks + 1) / 3, "%d ranks", quern_group_size(new));
    rank_check(rank, quern_group_rank(new) == rank->rank - (rank->rank + 1) / 3, "rank %d is %d", rank->rank,
               quern_group_rank(new));
    rank_ok(rank, quern_group_destroy(group));
    for (int i = 0; i < 5; i++) rank_ok(rank, quern_barrier(new, NULL, NULL));
    return quern_group_destroy(new);
}
