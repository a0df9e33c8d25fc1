/*
 * Groups of several hosts that are split: colours that net hosts and colours that do not, children of children, and ranks that end
 * while the others split.
 *
 * Runs on: ranks.
 */
#include "harness/check.h"
#include "harness/hosts_case.h"
#include "harness/random.h"
#include "ranks/handles.h"

/* The ranks of the parent that are in a child, in the child's order: by key, then by rank. */
static int list_child(const int *colours, const int *keys, int ranks, int colour, int list[QUERN_MAX_RANKS]) {
    int count = 0;
    for (int rank = 0; rank < ranks; rank++) {
        if (colours[rank] != colour) continue;
        int at = count++;
        for (; at > 0 && keys[list[at - 1]] > keys[rank]; at--) list[at] = list[at - 1];
        list[at] = rank;
    }
    return count;
}

/* Each rank of the child has written before any of them is behind the barrier. */
static void meet_child(struct rank *rank, quern_group *child, const int *list, int count, int64_t value) {
    struct hosts_board *board = rank->shared;
    __atomic_store_n(&board->of[rank->rank].value, value, __ATOMIC_RELAXED);
    rank_ok(rank, quern_barrier(child, NULL, NULL));
    for (int i = 0; i < count; i++) {
        const int64_t seen = __atomic_load_n(&board->of[list[i]].value, __ATOMIC_RELAXED);
        rank_check(rank, seen == value, "rank %d has written %lld, not %lld", list[i], (long long)seen, (long long)value);
    }
    rank_ok(rank, quern_barrier(child, NULL, NULL));
}

/* One row of four bytes to every rank of the child. */
static void exchange_in_child(struct rank *rank, quern_group *child, int count) {
    int32_t input[QUERN_MAX_RANKS], output[QUERN_MAX_RANKS];
    const int mine = quern_group_rank(child);
    struct rank_exchange exchange;
    for (int i = 0; i < count; i++) input[i] = 1000 * mine + i;
    rank_exchange_args(&(struct rank){.rank = mine, .ranks = count}, &exchange, input, output, 1, sizeof *input);
    rank_exchange_once(rank, child, &exchange.args);
    for (int i = 0; i < count; i++) rank_check(rank, output[i] == 1000 * i + mine, "rank %d sent %d", i, output[i]);
}

static void split_and_meet(struct rank *rank, quern_group *group, const int *colours, const int *keys, int64_t value) {
    quern_group *child = group;
    int list[QUERN_MAX_RANKS];
    rank_ok(rank, quern_group_split(&group, 1, &colours[rank->rank], &keys[rank->rank], &child));
    rank_check(rank, !child == (colours[rank->rank] < 0), "colour %d has got %p", colours[rank->rank], (void *)child);
    if (child) {
        const int count = list_child(colours, keys, rank->ranks, colours[rank->rank], list), mine = quern_group_rank(child);
        rank_check(rank, quern_group_size(child) == count && mine >= 0 && mine < count && list[mine] == rank->rank,
                   "is rank %d of %d", mine, quern_group_size(child));
        meet_child(rank, child, list, count, value);
        exchange_in_child(rank, child, count);
        meet_child(rank, child, list, count, value + 1);
    }
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (child) rank_ok(rank, quern_group_destroy(child));
}

static quern_status split_at_random(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    int colours[QUERN_MAX_RANKS], keys[QUERN_MAX_RANKS];
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    const int files = count_entries("/proc/self/fd");
    for (int round = 0; round < 12; round++) {
        for (int other = 0; other < rank->ranks; other++) {
            const uint64_t at = (uint64_t)(round * 64 + other);
            colours[other] = round == 0   ? rank_host(rank, other)           /* none nets hosts */
                             : round == 1 ? 0
                             : round == 2 ? other % 2
                             : round == 3 ? -1
                                          : (int)random_below(41, at, 4) - 1;
            keys[other] = round == 1 ? -other : (int)random_below(42, at, 3);
        }
        split_and_meet(rank, group, colours, keys, 10 * round + 1);
        if (rank->kind == RANK_PROCESSES && !rank->transports)  /* UCX closes its own when it likes */
            rank_check(rank, count_entries("/proc/self/fd") == files, "%d descriptors, before %d",
                       count_entries("/proc/self/fd"), files);
    }
    rank_line_up(rank);  /* the connection to a host that has left is closed */
    return quern_group_destroy(group);
}

Test(hosts_split, colours) {
    static const struct hosts_shape shapes[] = {{2, 2}, {2, 4}, {2, 5}, {3, 6}, {4, 8}};
    check_shapes(shapes, COUNT(shapes), split_at_random, NULL);
}

static uint32_t failure_timeout_of(const quern_group *group) {
    const uint32_t failure_timeout = quern_begin_visit(group)->failure_timeout;
    quern_end_visit(group);
    return failure_timeout;
}

/* A child that nets hosts is split again; the parent and the child's child are used in turns. */
TEST_RANKS(hosts_split, children_of_children, .kind = RANK_BOTH, .count = 6, .hosts = 2) {
    quern_group *group = rank_group(rank, RANK_LIMIT), *child, *grandchild;
    rank_ok(rank, quern_group_split(&group, 1, &(int){rank->rank % 2}, &(int){0}, &child));
    rank_ok(rank, quern_group_split(&child, 1, &(int){0}, &(int){-rank->rank}, &grandchild));
    rank_check(rank, failure_timeout_of(grandchild) == failure_timeout_of(group), "a silence of %u us",
               failure_timeout_of(grandchild));
    rank_check(rank, quern_group_size(child) == 3 && quern_group_size(grandchild) == 3, "%d and %d ranks", quern_group_size(child),
               quern_group_size(grandchild));
    rank_check(rank, quern_group_rank(grandchild) == 2 - rank->rank / 2, "rank %d", quern_group_rank(grandchild));
    for (int round = 0; round < 10; round++) {
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_ok(rank, quern_barrier(grandchild, NULL, NULL));
        rank_ok(rank, quern_barrier(child, NULL, NULL));
    }
    rank_check_report(rank, grandchild, "host 1 at 127.0.0.");
    rank_ok(rank, quern_barrier(grandchild, NULL, NULL));
    rank_ok(rank, quern_group_destroy(child));     /* its child lives on */
    rank_ok(rank, quern_barrier(grandchild, NULL, NULL));
    rank_ok(rank, quern_group_destroy(group));
    rank_ok(rank, quern_barrier(grandchild, NULL, NULL));
    return quern_group_destroy(grandchild);
}

/* ---- ranks that end ---- */

TEST_RANKS_FOR(hosts_split, a_rank_that_ends, for (int by = 0; by < 4; by++), .kind = RANK_PROCESSES, .count = 4, .hosts = 2,
               .user = &by, .may_die = 1 << by) {
    const int *by = rank->user;
    quern_group *group = rank_group_met(rank, RANK_LIMIT), *child;
    if (rank->rank == *by) {
        rank_sleep(0.2);
        raise(SIGKILL);
    }
    rank_status(rank, quern_group_split(&group, 1, &(int){rank->rank % 2}, &(int){0}, &child), QUERN_PEER_LOST);
    return quern_group_destroy(group);
}

/* A rank whose call is another one; and one that does not come. */
TEST_GROUP(hosts_split, other_calls, .kind = RANK_BOTH, .count = 4, .hosts = 2, .met = true) {
    quern_group *child;
    if (rank->rank == 3) rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_MISMATCH);
    else rank_status(rank, quern_group_split(&group, 1, &(int){0}, &(int){0}, &child), QUERN_PEER_MISMATCH);
    rank_check_detail(rank, "quern_group_split");
}

TEST_RANKS(hosts_split, absent_ranks, .kind = RANK_BOTH, .count = 4, .hosts = 2) {
    quern_group *group = rank_group_met(rank, rank->rank == 2 ? 1 : RANK_LIMIT), *child;  /* rank 2 waits for rank 3 in memory */
    if (rank->rank != 3) rank_status(rank, quern_group_split(&group, 1, &(int){0}, &(int){0}, &child), QUERN_PEER_TIMEOUT);
    if (rank->rank != 3) rank_check_detail(rank, "rank 3");
    rank_line_up(rank);
    return quern_group_destroy(group);
}
