/* Barriers, and exchanges that end with a rank, of groups of several hosts.  hosts_case.h documents the functions. */
#include "harness/hosts_case.h"

#include "harness/check.h"

void check_shapes(const struct hosts_shape *shapes, size_t count, rank_function *function, const void *user) {
    for (size_t i = 0; i < count; i++)
        check_ranks(.kind = RANK_BOTH, .count = shapes[i].ranks, .hosts = shapes[i].hosts, .function = function, .user = user);
}

void meet_members(struct rank *rank, quern_group *group, const int *members, int count, int64_t round) {
    struct hosts_board *board = rank->shared;
    quern_barrier_args args = BARRIER_ARGS(.members = members, .member_count = count);
    __atomic_store_n(&board->of[rank->rank].value, round, __ATOMIC_RELAXED);
    rank_ok(rank, quern_barrier(group, &args, NULL));
    for (int i = 0; i < (members ? count : rank->ranks); i++) {
        const int peer = members ? members[i] : i;
        const int64_t seen = __atomic_load_n(&board->of[peer].value, __ATOMIC_RELAXED);
        rank_check(rank, seen == round, "round %lld: rank %d has written %lld", (long long)round, peer, (long long)seen);
    }
    rank_ok(rank, quern_barrier(group, &args, NULL));
}

/* ---- a rank that ends ---- */

quern_status exchange_until_the_last_ends(struct rank *rank, quern_group *group) {
    enum { LARGE = 300000, SMALL = 100 };
    unsigned *ready = rank->shared;
    const int ranks = rank->ranks;
    struct rank_exchange exchange;
    unsigned char *input = calloc((size_t)ranks, LARGE), *output = calloc((size_t)ranks, LARGE);
    char lost[40];
    rank_check(rank, input && output && ranks <= CARRIER_RANKS, "no memory");
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, input, output, LARGE, 1));
    __atomic_add_fetch(ready, 1, __ATOMIC_ACQ_REL);
    quern_status status = QUERN_OK;
    for (int round = 0; status == QUERN_OK; round++) {
        rank_exchange_set(rank, &exchange, round % 2 ? SMALL : LARGE);
        status = rank_exchange_run(group, &exchange);
    }
    rank_status(rank, status, QUERN_PEER_LOST);
    snprintf(lost, sizeof lost, "rank %d (process ", ranks - 1);
    rank_check_detail(rank, lost);
    rank_check_detail(rank, rank->user);
    status = quern_group_destroy(group);
    if (status != QUERN_OK) return status;
    memset(input, 1, (size_t)ranks * LARGE);
    memset(output, 1, (size_t)ranks * LARGE);
    free(input);
    free(output);
    return QUERN_OK;
}

void end_ranks(struct ranks ranks, unsigned mask, int signal) {
    bool may_die[32] = {false};
    ranks.kind = RANK_PROCESSES, ranks.watches_heartbeat = signal == SIGSTOP;
    struct rank_run *run = ranks_start(&ranks);
    const unsigned *ready = ranks_shared(run);
    ranks_await_count(run, ready, (unsigned)ranks.count);
    check(__atomic_load_n(ready, __ATOMIC_ACQUIRE) == (unsigned)ranks.count, "%u of %d ranks are ready", *ready, ranks.count);
    rank_sleep(0.05);
    for (int rank = 0; rank < ranks.count; rank++) {
        may_die[rank] = mask >> rank & 1;
        if (may_die[rank]) kill(ranks_process(run, rank), signal);
    }
    ranks_await_ends(run, may_die);  /* those that are stopped are killed when the others have ended */
    for (int rank = 0; rank < ranks.count; rank++)
        if (may_die[rank]) kill(ranks_process(run, rank), SIGKILL);
    const char *wrong = ranks_wait(run, may_die);
    check(!wrong, "%s", wrong);
    ranks_close(run);
}

void end_the_last(int ranks, rank_function *function, const struct carrier_choice *carrier, int signal) {
    end_ranks((struct ranks){.count = ranks, .hosts = ranks, .function = function, .carrier = carrier,
                             .user = signal == SIGKILL ? "has ended" : "its host is silent"}, 1u << (ranks - 1), signal);
}
