/*
 * Ranks of different hosts that find different errors at the same time: all ranks of all hosts get one status and one text.
 *
 * Runs on: ranks.
 */
#include "harness/device.h"
#include "harness/ranks.h"

enum { MOST = 8, ROUNDS = 64, TEXT = 256 };

struct board {
    struct {
        int status;
        char text[TEXT];
    } said[ROUNDS][MOST];
};

/* The words behind the label, which names the rank whose call it is. */
static void write_down(struct rank *rank, int round, quern_status status) {
    struct board *board = rank->shared;
    char detail[TEXT];
    quern_error_detail(detail, sizeof detail);
    const char *words = strstr(detail, ": ");
    snprintf(board->said[round][rank->rank].text, TEXT, "%s", words ? words : detail);
    board->said[round][rank->rank].status = (int)status;
}

/* All have written; each compares its own with that of rank 0. */
static void compare(struct rank *rank, int round) {
    struct board *board = rank->shared;
    rank_line_up(rank);
    const bool same = board->said[round][rank->rank].status == board->said[round][0].status &&
                      strcmp(board->said[round][rank->rank].text, board->said[round][0].text) == 0;
    rank_check(rank, same, "round %d%s (%d), and rank 0%s (%d)", round, board->said[round][rank->rank].text,
               board->said[round][rank->rank].status, board->said[round][0].text, board->said[round][0].status);
    rank_line_up(rank);  /* before rank 0 writes again */
}

enum trouble { ABORT, OTHER_CALL, OTHER_MEMBERS, BARRIER };

/* Of host 0, of the others that have odd numbers, of the rest. */
static const enum trouble troubles[][3] = {
    {ABORT, ABORT, ABORT},        {OTHER_CALL, BARRIER, BARRIER}, {BARRIER, OTHER_CALL, BARRIER},
    {OTHER_CALL, BARRIER, ABORT}, {OTHER_MEMBERS, ABORT, ABORT},  {ABORT, OTHER_CALL, ABORT},
};

static quern_status make_trouble(struct rank *rank, quern_group *group, int round, enum trouble trouble) {
    char reason[32];
    void *memory;
    quern_barrier_args some = BARRIER_ARGS(.members = (const int[]){0, rank->ranks - 1}, .member_count = 2);
    snprintf(reason, sizeof reason, "rank %d of round %d", rank->rank, round);
    if (trouble == OTHER_CALL) return quern_symmetric_alloc(&group, 1, &(size_t){64}, &memory);
    if (trouble == OTHER_MEMBERS) return quern_barrier(group, &some, NULL);
    if (trouble == ABORT) quern_group_abort(group, reason);
    return quern_barrier(group, NULL, NULL);
}

static void disagree(struct rank *rank) {
    const int rounds = *(const int *)rank->user;
    for (int round = 0; round < rounds; round++) {
        quern_group_args args = rank_group_args(rank, RANK_LIMIT);
        args.job = (uint64_t)round + 1;
        quern_group *group = rank_create(rank, &args);
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        const int host = rank_host(rank, rank->rank);
        const enum trouble trouble = troubles[(size_t)round % COUNT(troubles)][host == 0 ? 0 : host % 2 ? 1 : 2];
        const bool is_lowest = rank->rank == 0 || rank_host(rank, rank->rank - 1) != host;
        rank_line_up(rank);
        quern_status status = is_lowest ? make_trouble(rank, group, round, trouble) : quern_barrier(group, NULL, NULL);
        rank_check(rank, status >= QUERN_PEER_TIMEOUT, "round %d: %s", round, quern_status_string(status));
        write_down(rank, round, status);
        compare(rank, round);
        rank_status(rank, quern_barrier(group, NULL, NULL), status);   /* it stays so */
        write_down(rank, round, status);
        compare(rank, round);
        rank_ok(rank, quern_group_destroy(group));
    }
}

static void check_shape(int hosts, int ranks) {
    const int rounds = (int)test_size(40, 10);
    check_ranks(.kind = RANK_BOTH, .hosts = hosts, .count = ranks, .body = disagree, .user = &rounds,
                .shared_bytes = sizeof(struct board));
}

Test(hosts_dissent, two_hosts) {
    check_shape(2, 2);
    check_shape(2, 4);
}

Test(hosts_dissent, more_hosts) {
    check_shape(3, 3);
    check_shape(4, 8);
}
