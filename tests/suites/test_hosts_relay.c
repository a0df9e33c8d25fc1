/*
 * Groups of many CPU ranks of several hosts, whose messages go over one connection for each pair of hosts: barriers, exchanges,
 * splits, transfers, ranks that do not come, deaths, counts, and frames that no rank has sent.  The hosts are names at addresses of
 * this machine.  Groups of few ranks go the same way here, since the tests lower the number from which on groups do.
 *
 * Runs on: ranks.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/check.h"
#include "harness/device.h"
#include "harness/ragged_case.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "ranks/handles.h"
#include "ranks/hosts/connections.h"
#include "ranks/hosts/frames.h"
#include "ranks/hosts/relay.h"
#include "ranks/hosts/streams.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct board {
    struct {
        _Alignas(64) int64_t value;
    } of[MOST_RUN_RANKS];
    int64_t counts[4];
};

static const struct {
    int hosts, ranks;
} shapes[] = {{2, 2}, {2, 4}, {3, 5}, {4, 9}};

static void relay_all(void) { quern_most_direct = 0; }

static void check_shapes(rank_function *function, const void *user) {
    relay_all();
    for (size_t kind = 0; kind < COUNT(rank_kinds); kind++)
        for (size_t i = 0; i < COUNT(shapes); i++)
            check_ranks(.kind = rank_kinds[kind], .count = shapes[i].ranks, .hosts = shapes[i].hosts, .function = function,
                        .user = user, .shared_bytes = sizeof(struct board), .limit = 120);
}

/* ---- small groups ---- */

/* No rank is in the next round before all have written in this one. */
static void meet_members(struct rank *rank, quern_group *group, const int *members, int count, int64_t round) {
    struct board *board = rank->shared;
    quern_barrier_args args = QUERN_BARRIER_ARGS_INIT;
    args.members = members;
    args.member_count = count;
    __atomic_store_n(&board->of[rank->rank].value, round, __ATOMIC_RELAXED);
    rank_ok(rank, quern_barrier(group, &args, NULL));
    for (int i = 0; i < (members ? count : rank->ranks); i++) {
        const int peer = members ? members[i] : i;
        const int64_t seen = __atomic_load_n(&board->of[peer].value, __ATOMIC_RELAXED);
        rank_check(rank, seen == round, "round %lld: rank %d has written %lld", (long long)round, peer, (long long)seen);
    }
    rank_ok(rank, quern_barrier(group, &args, NULL));
}

static quern_status meet_all_and_some(struct rank *rank) {
    quern_group *group = rank_group(rank, 30);
    for (int64_t round = 1; round <= 40; round++) {
        int members[MOST_RUN_RANKS], count = 0;
        bool is_member = false;
        for (int other = 0; other < rank->ranks; other++)
            if (random_below(9, (uint64_t)(round * 64 + other), 3)) {
                members[count++] = other;
                is_member |= other == rank->rank;
            }
        meet_members(rank, group, NULL, 0, 2 * round);
        if (is_member) meet_members(rank, group, members, count, 2 * round + 1);
    }
    return quern_group_destroy(group);
}

Test(relay, barriers_of_all_and_some_ranks, .timeout = 600) { check_shapes(meet_all_and_some, NULL); }

Test(relay, random_exchanges, .timeout = 600) {
    check_shapes(ragged_run_batch, &(struct ragged_batch){.first = 61000, .cases = (int)test_size(15, 5)});
}

Test(relay, random_exchanges_of_small_slices, .timeout = 600) {
    check_shapes(ragged_run_batch, &(struct ragged_batch){.first = 62000, .cases = (int)test_size(15, 5),
                                            .choice = {.everyone = true, .largest = 3, .row_bytes = 12, .updates = 1}});
}

Test(relay, random_plans, .timeout = 600) {
    check_shapes(ragged_run_batch,
                 &(struct ragged_batch){.first = 63000, .cases = (int)test_size(6, 3), .is_plan = true, .choice.everyone = true});
}

/* ---- large groups: threads of this process ---- */

static const struct {
    int hosts, ranks;
} large[] = {{2, 65}, {2, 129}, {2, 256}, {4, 512}};

static void check_large(rank_function *function, const void *user) {
    for (size_t i = 0; i < COUNT(large); i++) {
        const struct ranks ranks = {.kind = RANK_THREADS, .count = large[i].ranks, .hosts = large[i].hosts, .function = function,
                                    .user = user, .shared_bytes = sizeof(struct board), .limit = 280};
        const char *wrong = ranks_run(&ranks);
        if (wrong) cr_assert_fail("%d ranks of %d hosts: %s", large[i].ranks, large[i].hosts, wrong);
    }
}

/* Every slice has the number of its pair, so that one that goes astray is seen. */
static void exchange_all(struct rank *rank, quern_group *group, int seed) {
    enum { MOST = 4 };  /* rows of a slice */
    const int ranks = rank->ranks;
    int32_t *numbers = malloc(4 * (size_t)ranks * sizeof *numbers), *from = numbers, *ones = from + ranks, *to = ones + ranks,
            *gets = to + ranks;
    int64_t *input = malloc((size_t)ranks * MOST * sizeof *input), *output = malloc((size_t)ranks * MOST * sizeof *output);
    rank_check(rank, numbers && input && output, "no memory");
    for (int peer = 0; peer < ranks; peer++) {
        from[peer] = peer * MOST;
        ones[peer] = (rank->rank * 7 + peer * 3 + seed) % (MOST + 1);
        gets[peer] = (peer * 7 + rank->rank * 3 + seed) % (MOST + 1);
        to[peer] = rank->rank * MOST;
        for (int row = 0; row < MOST; row++) {
            input[peer * MOST + row] = ((int64_t)rank->rank << 32) + peer * 16 + row;
            output[peer * MOST + row] = -1;
        }
    }
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    size_t bytes;
    void *workspace;
    args.input = input, args.output = output, args.input_rows = args.output_rows = ranks * MOST, args.row_bytes = sizeof *input;
    args.input_offsets = from, args.send_sizes = ones, args.output_offsets = to, args.recv_sizes = gets;
    args.updates = 1;
    rank_ok(rank, quern_ragged_all_to_all_workspace(group, &args, &bytes));
    rank_ok(rank, quern_symmetric_alloc(&group, 1, &bytes, &workspace));
    rank_ok(rank, quern_ragged_all_to_all(group, &args, workspace, bytes, NULL));
    for (int peer = 0; peer < ranks; peer++)
        for (int row = 0; row < MOST; row++) {
            const int64_t expected = row < gets[peer] ? ((int64_t)peer << 32) + rank->rank * 16 + row : -1;
            rank_check(rank, output[peer * MOST + row] == expected, "row %d of rank %d is %#llx: expected %#llx", row, peer,
                       (unsigned long long)output[peer * MOST + row], (unsigned long long)expected);
        }
    rank_ok(rank, quern_symmetric_free(group, workspace, NULL));
    free(input);
    free(output);
    free(numbers);
}

static quern_status live_a_life(struct rank *rank) {
    quern_group *group = rank_group(rank, 120), *part;
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_check(rank, quern_group_size(group) == rank->ranks, "%d ranks", quern_group_size(group));
    meet_members(rank, group, NULL, 0, 1);
    exchange_all(rank, group, 1);
    const int colour = rank->rank % 3, key = -rank->rank;
    rank_ok(rank, quern_group_split(&group, 1, &colour, &key, &part));
    rank_check(rank, quern_group_rank(part) == (rank->ranks - 1 - rank->rank) / 3, "rank %d of the part", quern_group_rank(part));
    rank_ok(rank, quern_barrier(part, NULL, NULL));
    rank_ok(rank, quern_group_destroy(part));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

Test(relay, large_groups_live, .timeout = 900) { check_large(live_a_life, NULL); }
