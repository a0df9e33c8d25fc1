/*
 * Transfers between CPU ranks of several hosts, which are names at addresses of this machine: random lists, transfers beside
 * exchanges, and hosts that end.  test_transfer_ends.c has all other failures, also between hosts.
 *
 * Runs on: ranks.
 */
#include "harness/device.h"
#include "harness/hosts_case.h"
#include "harness/ragged_case.h"
#include "harness/transfer_pair.h"

Test(hosts_transfer, random_lists) {
    static const struct hosts_shape shapes[] = {{2, 2}, {2, 4}, {3, 3}, {3, 5}, {2, 8}};
    check_shapes(shapes, COUNT(shapes), transfer_run_lists, &(int){(int)test_size(3, 2)});
}

/* More than the buffers of the system hold, both ways.  A carrier has a window instead. */
Test(hosts_transfer, both_directions_move_at_once) {
    const struct transfer_choice choice = {.lists = 2, .items = 6, .largest = carrier_of_environment() ? 2 << 20 : 12 << 20,
                                           .rounds = 2};
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = transfer_run_one, .user = &choice);
}

/* ---- beside exchanges ---- */

/* A transfer is under way while random exchanges of the same group run; on one host (hosts 0) too. */
TEST_RANKS_FOR(hosts_transfer, beside_exchanges, for (int hosts = 0; hosts <= 3; hosts += 1 + (hosts == 0)), .kind = RANK_BOTH,
               .count = 5, .hosts = hosts) {
    enum { BYTES = 300000 };
    struct rank_bench bench CLOSED_BY(rank_bench_close);
    rank_bench_open(&bench, rank, RANK_LIMIT, 5 << 19);
    quern_group *group = bench.group;
    const int to = (rank->rank + 1) % rank->ranks, from = (rank->rank + rank->ranks - 1) % rank->ranks;
    SCOPED unsigned char *out = zeroed(BYTES), *in = zeroed(BYTES);
    const quern_transfer_item items[] = {transfer_item(0, to, 4, out, BYTES), transfer_item(1, from, 4, in, BYTES)};
    quern_transfer *transfer = transfer_prepare(rank, group, 1, items, 2);
    for (int round = 0; round < 12; round++) {
        int32_t done;
        memset(out, round * 16 + rank->rank, BYTES);
        rank_ok(rank, quern_transfer_start(transfer, NULL));
        ragged_run_cases(&bench, &(struct ragged_batch){.first = 7000 + (uint64_t)round, .cases = 1});
        rank_ok(rank, quern_transfer_test(transfer, &done));
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_ok(rank, quern_transfer_wait(transfer, 0));
        for (int i = 0; i < BYTES; i++)
            rank_check(rank, in[i] == (unsigned char)(round * 16 + from), "round %d: byte %d is %d", round, i, in[i]);
    }
    rank_ok(rank, quern_transfer_destroy(transfer));
    return QUERN_OK;
}

/* ---- hosts that end ---- */

/* Rank 0 sends to rank 1 of the other host again and again. */
static void send_until_the_end(struct rank *rank, quern_group *group) {
    char memory[5000] = "";
    quern_transfer *transfer = transfer_prepare_one(rank, group, 1, 4, memory, sizeof memory);
    quern_status status = QUERN_OK;
    __atomic_add_fetch((unsigned *)rank->shared, 1, __ATOMIC_ACQ_REL);
    while (status == QUERN_OK) status = transfer_run(transfer, NULL, 0);
    rank_refused(rank, status, QUERN_PEER_LOST, "rank 1 (process ");
    rank_check_detail(rank, " on host ");
    rank_ok(rank, quern_group_status(group));
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* The process of rank 1 gets a signal.  One that is stopped is killed when rank 0 has ended. */
static void end_by(int signal) {
    end_ranks((struct ranks){.count = 2, .hosts = 2, .in_group = send_until_the_end}, 1 << 1, signal);
}

Test(hosts_transfer, a_process_that_is_killed) { end_by(SIGKILL); }

Test(hosts_transfer, a_host_that_is_stopped) { end_by(SIGSTOP); }

/* ---- a rank that does not come ---- */

/* Ranks 0 and 1 are of one host, 2 and 3 of the other.  Rank 3 takes nothing while all the others send to it and exchange much. */
TEST_GROUP(hosts_transfer, a_rank_that_does_not_come_holds_up_nobody, .kind = RANK_BOTH, .count = 4, .hosts = 2,
           .shared_bytes = sizeof(struct hosts_board)) {
    enum { BYTES = 1 << 20 };
    struct hosts_board *board = rank->shared;
    SCOPED unsigned char *memory = zeroed(3 * BYTES);
    for (int i = 0; i < 3 * BYTES; i++) memory[i] = (unsigned char)(rank->rank == 3 ? 0 : i * 13 + rank->rank);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    quern_transfer_args list = QUERN_TRANSFER_ARGS_INIT;
    quern_transfer_item items[3];
    for (int i = 0; i < 3; i++)
        items[i] = (quern_transfer_item){.receive = rank->rank == 3, .peer = rank->rank == 3 ? i : 3, .tag = 1,
                                         .memory = memory + (rank->rank == 3 ? i * BYTES : 0), .bytes = BYTES};
    list.items = items, list.item_count = rank->rank == 3 ? 3 : 1, list.key = 7;
    quern_transfer *transfer;
    rank_ok(rank, quern_transfer_prepare(group, &list, &transfer));
    if (rank->rank < 3) {
        rank_ok(rank, quern_transfer_start(transfer, NULL));
        quern_barrier_args some = BARRIER_ARGS(.members = (const int[]){0, 1, 2}, .member_count = 3);
        for (int round = 0; round < 200; round++) rank_ok(rank, quern_barrier(group, &some, NULL));
        __atomic_add_fetch(&board->counts[0], 1, __ATOMIC_ACQ_REL);
    } else {
        for (int i = 0; i < 60000 && __atomic_load_n(&board->counts[0], __ATOMIC_ACQUIRE) < 3; i++) rank_sleep(0.01);
        rank_check(rank, board->counts[0] == 3, "the others wait for a rank that is not of their call");
        rank_ok(rank, quern_transfer_start(transfer, NULL));
    }
    rank_ok(rank, quern_transfer_wait(transfer, 0));
    for (int i = 0; rank->rank == 3 && i < 3 * BYTES; i++)
        rank_check(rank, memory[i] == (unsigned char)(i % BYTES * 13 + i / BYTES), "byte %d is %d", i, memory[i]);
    rank_ok(rank, quern_transfer_destroy(transfer));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
}
