/*
 * Groups of GPU ranks of several hosts, over NCCL: the stand-in of tests/nccl on emulated GPUs.  The hosts are names at addresses
 * of this machine.  Barriers in stream order, what is refused, and failures of the creation; test_nccl_failures.c has other ones.
 *
 * Runs on: one emulated.
 */
#include <time.h>

#include "harness/device.h"
#include "harness/random.h"
#include "harness/nccl_side.h"

struct board {
    struct {
        _Alignas(64) uint32_t value;
    } of[NCCL_GPUS];
};

static const struct {
    int hosts, ranks;
} shapes[] = {{2, 2}, {2, 3}, {3, 3}, {2, 4}, {4, 4}, {2, 8}};

#define EACH_SHAPE for (size_t i = 0; i < COUNT(shapes); i++), .kind = RANK_BOTH, .count = shapes[i].ranks, .hosts = shapes[i].hosts

#define TWO .kind = RANK_PROCESSES, .count = 2, .hosts = 2

/* ---- barriers ---- */

/* What a rank writes on its stream before a barrier is there for all when their streams are behind it. */
static void meet(struct nccl_side *side, const int *members, int count, uint32_t round) {
    struct board *board = side->rank->shared;
    quern_barrier_args args = BARRIER_ARGS(.members = members, .member_count = count);
    cuda_ok(side, memory_set_async(side->word, (unsigned char)round, 4, side->stream));
    cuda_ok(side, copy_to_host_async(&board->of[side->rank->rank].value, side->word, 4, side->stream));
    rank_ok(side->rank, quern_barrier(side->group, &args, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    for (int i = 0; i < (members ? count : side->rank->ranks); i++) {
        const int peer = members ? members[i] : i;
        const uint32_t seen = __atomic_load_n(&board->of[peer].value, __ATOMIC_RELAXED);
        rank_check(side->rank, seen == round * 0x01010101u, "round %u: rank %d has written %x", round, peer, seen);
    }
    rank_ok(side->rank, quern_barrier(side->group, &args, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
}

static void meet_all(struct nccl_side *side) {
    for (uint32_t round = 1; round <= 6; round++) {
        if (random_below(7, round * 64 + (uint64_t)side->rank->rank, 3) == 0) rank_sleep(2e-3);
        meet(side, NULL, 0, round);
    }
    rank_ok(side->rank, quern_group_status(side->group));
}

TEST_SIDE_FOR(nccl_group, barriers_wait_for_all_ranks, EACH_SHAPE, .nccl = "") { meet_all(side); }
TEST_SIDE(nccl_group, delays_of_nccl_change_nothing, .kind = RANK_PROCESSES, .count = 4, .hosts = 2,
          .nccl = "init:delay=100@2,group:delay=3,run:delay=5@1,linger=50") { meet_all(side); }

TEST_SIDE_FOR(nccl_group, barriers_of_some_ranks, EACH_SHAPE, .nccl = "") {
    for (uint32_t round = 1; round <= 8; round++) {
        int members[NCCL_GPUS], count = 0;
        bool is_member = false;
        for (int other = 0; other < rank->ranks; other++)
            if (random_below(9, round * 64 + (uint64_t)other, 3)) {
                members[count++] = other;
                is_member |= other == rank->rank;
            }
        if (is_member) meet(side, members, count, round);
    }
    nccl_meet(side);
}

/* How often this thread has slept. */
static __thread int naps;

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    naps++;
    errno = clock_nanosleep(CLOCK_REALTIME, 0, wanted, left);
    return errno ? -1 : 0;
}

/* A nap takes longer than NCCL for most groups. */
static void count_naps(struct rank *rank, struct nccl_side *side, bool sleeps) {
    naps = 0;
    for (int i = 0; i < 3; i++) rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
    rank_check(rank, (naps > 0) == sleeps, "%d naps", naps);
    cuda_ok(side, stream_synchronize(side->stream));
}

TEST_SIDE(nccl_group, what_is_ready_soon_is_awaited_without_a_nap, TWO, .nccl = "group:asks=50") { count_naps(rank, side, false); }
TEST_SIDE(nccl_group, what_is_ready_late_is_awaited_in_naps, TWO, .nccl = "group:asks=80") { count_naps(rank, side, true); }

/* More barriers than the watcher has places for, none waited for. */
TEST_SIDE(nccl_group, many_barriers_at_once, TWO, .nccl = "") {
    for (int i = 0; i < 50; i++) rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    rank_ok(rank, quern_group_status(side->group));
}

/* A barrier on another stream comes after the last one. */
TEST_SIDE(nccl_group, two_streams, TWO, .nccl = "run:delay=3") {
    CUstream other;
    cuda_ok(side, stream_create(&other, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 6; i++) rank_ok(rank, quern_barrier(side->group, NULL, i % 2 ? other : side->stream));
    cuda_ok(side, stream_synchronize(other));
    cuda_ok(side, stream_synchronize(side->stream));
    cuda_ok(side, stream_destroy(other));
}

TEST_SIDE(nccl_group, the_report_names_the_way, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "") {
    rank_check_report(rank, side->group, "hosts 0 and 1: NCCL, since GPU memory does not reach from one host to another");
    rank_check_report(rank, side->group, "cuda:1");
    rank_check_report(rank, side->group, "sums of QUERN_ORDER_ANY: in the order of the ranks, since the group goes over NCCL\n");
}

/* ---- what is refused ---- */

TEST_BODY(nccl_group, a_rank_without_nccl, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "") {
    struct nccl_side side;
    if (rank->rank == 1) setenv("QUERN_NCCL", "/nowhere/libnccl.so.2", 1);
    nccl_open_gpu(&side, rank, rank->rank);
    const quern_group_args args = nccl_args(&side, 20);
    rank_refused(rank, quern_group_create(&args, 1, &side.group), QUERN_NOT_SUPPORTED,
                 "rank 1: no NCCL at /nowhere/libnccl.so.2: install libnccl2 or nvidia-nccl-cu13");
}

/* Ranks of one host with one GPU are refused; those of two hosts have each their own, even of the same number. */
TEST_BODY_FOR(nccl_group, one_gpu_for_two_ranks, for (int ranks = 2; ranks <= 3; ranks++), .kind = RANK_PROCESSES, .count = ranks,
              .hosts = 2, .nccl = "") {
    struct nccl_side side;
    nccl_open_gpu(&side, rank, 0);
    quern_group_args args = nccl_args(&side, 20);
    args.share_gpu = 1;
    const quern_status status = quern_group_create(&args, 1, &side.group);
    if (rank->ranks > rank->hosts) {
        rank_refused(rank, status, QUERN_NOT_SUPPORTED, "ranks 0 and 1 use one GPU, and NCCL wants one for each");
        return;
    }
    rank_ok(rank, status);
    meet(&side, NULL, 0, 1);
    rank_ok(rank, nccl_close(&side));
}

TEST_BODY(nccl_group, a_thread_is_one_rank, TWO, .nccl = "") {
    struct nccl_side side;
    nccl_open_gpu(&side, rank, 0);
    quern_group *groups[2];
    for (int without = 0; without < 3; without++) {  /* one of the two, or none, is of one host */
        quern_group_args args[3] = {nccl_args(&side, 20), nccl_args(&side, 20)};
        args[1].rank = 1, args[without].hosts = NULL;
        rank_refused(rank, quern_group_create(args, 2, groups), QUERN_INVALID_ARGUMENT,
                     "count is 2: a thread is one rank of a group of several hosts");
    }
}

TEST_SIDE(nccl_group, no_symmetric_memory_and_no_shrink, .kind = RANK_THREADS, .count = 3, .hosts = 2, .nccl = "") {
    size_t bytes = 4096;
    void *memory;
    rank_refused(rank, quern_symmetric_alloc(&side->group, 1, &bytes, &memory), QUERN_NOT_SUPPORTED,
                 "no symmetric memory between hosts");
    rank_refused(rank, quern_group_shrink(&side->group, 1, &(quern_group *){NULL}), QUERN_NOT_SUPPORTED,
                 "a group of GPUs of several hosts cannot be shrunk");
    meet(side, NULL, 0, 1);
}

/* ---- failures of NCCL while the group is made ---- */

struct failure {
    const char *settings;
    quern_status status;
    const char *detail, *more;
    double limit;
};

static const struct failure failures[] = {
    {"id:fail=2", QUERN_SYSTEM_ERROR, "rank 0: ncclGetUniqueId: unhandled system error", "", 20},
    {"init:fail=2@1", QUERN_SYSTEM_ERROR, "rank 1: ncclCommInitRankConfig: unhandled system error", "", 20},
    {"init:fail=6@2", QUERN_PEER_LOST, "rank 2: ncclCommInitRankConfig: remote process exited", "", 20},
    {"init:hang@1", QUERN_PEER_TIMEOUT, "rank 1 waited", "ncclCommInitRankConfig", 2},
};

TEST_RANKS_FOR(nccl_group, failures_of_creation, for (size_t i = 0; i < COUNT(failures); i++), .kind = RANK_PROCESSES, .count = 3,
               .hosts = 3, .user = &failures[i], .nccl = failures[i].settings) {
    const struct failure *failure = rank->user;
    struct nccl_side side;
    nccl_open_gpu(&side, rank, rank->rank);
    /* The limit that ends is that of the rank whose NCCL hangs. */
    const quern_group_args args = nccl_args(&side, rank->rank == 1 ? failure->limit : RANK_LIMIT);
    rank_line_up(rank);
    rank_refused(rank, quern_group_create(&args, 1, &side.group), failure->status, failure->detail);
    rank_check_detail(rank, failure->more);
    return QUERN_OK;
}

/* ---- processes ---- */

/* A child of fork has the group's handle and none of its threads: its exit waits for nobody. */
TEST_SIDE(nccl_group, a_child_of_fork, TWO, .nccl = "") {
    int end = -1;
    const pid_t child = fork();
    if (child == 0) exit(quern_barrier(side->group, NULL, side->stream) == QUERN_INVALID_ARGUMENT ? 0 : 1);
    for (int i = 0; i < 6000 && waitpid(child, &end, WNOHANG) == 0; i++) rank_sleep(0.01);
    rank_check(rank, WIFEXITED(end) && WEXITSTATUS(end) == 0, "the child has ended with %d", end);
    meet(side, NULL, 0, 1);
}

/* A process that ends with groups ends their watchers first, and none of groups that it has destroyed: the first, then the last. */
TEST_BODY(nccl_group, a_process_that_exits, TWO, .nccl = "") {
    struct nccl_side side[4];
    int end = -1;
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 2; i++) nccl_open(&side[i], rank, 30);
        for (int i = 0; i < 2; i++) {
            rank_ok(rank, nccl_close(&side[i ? 2 : 0]));
            nccl_open(&side[2 + i], rank, 30);
        }
        meet(&side[1], NULL, 0, 1);
        meet(&side[3], NULL, 0, 2);
        exit(7);
    }
    for (int i = 0; i < 6000 && waitpid(child, &end, WNOHANG) == 0; i++) rank_sleep(0.01);
    rank_check(rank, WIFEXITED(end) && WEXITSTATUS(end) == 7, "the child has ended with %d", end);
}

/* A rank that has left in order does not disturb the barriers of the others. */
TEST_SIDE(nccl_group, others_go_on, .kind = RANK_PROCESSES, .count = 3, .hosts = 3, .nccl = "") {
    static const int members[] = {0, 1};
    meet(side, NULL, 0, 1);
    for (uint32_t round = 2; rank->rank != 2 && round < 8; round++) {
        meet(side, members, 2, round);
        rank_sleep(0.3);
    }
}
