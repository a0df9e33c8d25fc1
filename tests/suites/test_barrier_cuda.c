/*
 * Barriers of GPU ranks that one thread drives: one GPU per rank, and many ranks on one GPU.
 *
 * Copies prove that a barrier holds: before it, each rank's stream writes a number into every rank's memory; after it each rank's
 * stream reads its own memory, which must hold all the numbers.
 *
 * Runs on: every emulated, gpu; kernels of barrier, ragged_all_to_all.
 */
#include <fnmatch.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/cuda.h"
#include "harness/gpu_group.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "ranks/segment.h"
#include "runtime/device.h"

/* Seconds: a limit that must end.  All kernels that come begin within it. */
static const double LATE = 1.5;

/* ---- what ranks write and read ---- */

enum { MOST_ROUNDS = 256 };

/* The value that a rank read in each round, for each writer. */
typedef uint32_t history[MOST_ROUNDS][MOST_GPU_RANKS];

struct board {
    struct gpu_group *group;
    uint32_t *slots[MOST_GPU_RANKS];                             /* [writer] in each rank's memory */
    uint32_t (*value)[MOST_ROUNDS];                              /* [rank][round]: what it wrote */
    cuda_pointer seen[MOST_GPU_RANKS];                           /* a history in each rank's memory: host copies would wait */
    uint64_t members[MOST_ROUNDS];
    int rounds;
};

static void board_open(struct board *board, struct gpu_group *group) {
    size_t bytes[MOST_GPU_RANKS];
    for (int rank = 0; rank < group->ranks; rank++) bytes[rank] = MOST_GPU_RANKS * sizeof(uint32_t);
    *board = (struct board){.group = group};
    board->value = zeroed((size_t)group->ranks * sizeof *board->value);
    check_ok(quern_symmetric_alloc(group->group, group->ranks, bytes, (void **)board->slots));
    for (int rank = 0; rank < group->ranks; rank++) {
        device_use(&group->device[rank]);
        CUDA(cuMemAlloc_v2(&board->seen[rank], sizeof(history)));
    }
}

static void board_close(struct board *board) {
    free(board->value);
    for (int rank = 0; rank < board->group->ranks; rank++) CUDA(cuMemFree_v2(board->seen[rank]));
}

static bool takes_part(const struct board *board, int round, int rank) {
    return !~board->members[round] || board->members[round] >> rank & 1;
}

/* One rank's part of a round: writes to the members, barrier, reads, and a second barrier before the next writes. */
static void enqueue_share(struct board *board, int round, int rank) {
    const struct gpu_group *group = board->group;
    void *stream = group->device[rank].stream;
    int list[64];
    quern_barrier_args args = QUERN_BARRIER_ARGS_INIT;
    for (int peer = 0; peer < group->ranks && ~board->members[round]; peer++)
        if (takes_part(board, round, peer)) list[args.member_count++] = peer;
    if (~board->members[round]) args.members = list;
    board->value[rank][round] = (uint32_t)random_bits((uint64_t)round, (uint64_t)rank) | 1;
    device_use(&group->device[rank]);
    for (int peer = 0; peer < group->ranks; peer++) {
        void *there;
        if (!takes_part(board, round, peer)) continue;
        check_ok(quern_symmetric_peer(group->group[rank], board->slots[rank] + rank, peer, &there));
        CUDA(cuMemcpyHtoDAsync_v2((cuda_pointer)there, &board->value[rank][round], sizeof(uint32_t), stream));
    }
    check_ok(quern_barrier(group->group[rank], &args, stream));
    CUDA(cuMemcpyDtoDAsync_v2(board->seen[rank] + (size_t)round * sizeof(uint32_t[MOST_GPU_RANKS]),
                              (cuda_pointer)board->slots[rank], (size_t)group->ranks * sizeof(uint32_t), stream));
    check_ok(quern_barrier(group->group[rank], &args, stream));
}

static void enqueue_round(struct board *board, uint64_t members) {
    int round = board->rounds++;
    check(round < MOST_ROUNDS, "too many rounds");
    board->members[round] = members;
    for (int rank = 0; rank < board->group->ranks; rank++)
        if (takes_part(board, round, rank)) enqueue_share(board, round, rank);
}

static void check_history(const struct board *board, int rank, history seen) {
    for (int round = 0; round < board->rounds; round++)
        for (int writer = 0; writer < board->group->ranks; writer++) {
            if (!takes_part(board, round, rank) || !takes_part(board, round, writer)) continue;
            check(seen[round][writer] == board->value[writer][round],
                  "%d ranks, round %d: rank %d passed the barrier before rank %d had come",
                  board->group->ranks, round, rank, writer);
        }
}

static void check_board(const struct board *board) {
    static history seen;
    gpu_group_expect(board->group, QUERN_OK, NULL);
    for (int rank = 0; rank < board->group->ranks; rank++) {
        const struct test_device *device = &board->group->device[rank];
        device_use(device);
        CUDA(cuMemcpyDtoHAsync_v2(seen, board->seen[rank], (size_t)board->rounds * sizeof *seen, device->stream));
        device_synchronize(device);
        check_history(board, rank, seen);
    }
}

static void run_rounds(struct gpu_group *group, int rounds, bool subsets) {
    struct board board CLOSED_BY(board_close);
    board_open(&board, group);
    for (int round = 0; round < rounds; round++) {
        uint64_t some = random_bits(77, (uint64_t)(round * 1000 + group->ranks)) & ((1ull << group->ranks % 64) - 1);
        enqueue_round(&board, subsets && round % 4 && some ? some : ~0ull);
    }
    check_board(&board);
}

/* ---- all ranks arrive ---- */

Test(barrier_cuda, any_number_of_ranks_meets) {
    static const int few[] = {1, 2, 3, 4, 8};
    for (size_t i = 0; i < COUNT(few); i++) {
        OPEN_GROUP(group, .ranks = few[i], .machine.devices = 8);
        run_rounds(&group, 20, false);
    }
}

/*
 * Of the barrier alone: a GPU of compute capability 7.5 has no room for the blocks of so many all-to-alls.  It has 32 queues, and
 * more ranks share two.
 */
static void run_crowd(int ranks) {
    OPEN_GROUP(group, .ranks = ranks, .machine = {.devices = 1 + (ranks > 32), .multiprocessors = 8}, .timeout = 200,
               .prepared = QUERN_BARRIER);
    run_rounds(&group, ranks < 64 ? 2 : 1, false);
}

Test(barrier_cuda, ranks_31_share_a_gpu) { run_crowd(31); }
Test(barrier_cuda, ranks_32_share_a_gpu) { run_crowd(32); }
Test(barrier_cuda, ranks_33_share_gpus) { run_crowd(33); }
Test(barrier_cuda, ranks_64_share_gpus) { run_crowd(64); }

/* Without copies, which would take minutes. */
Test(barrier_cuda, as_many_ranks_as_a_group_can_have) {
    OPEN_GROUP(group, .ranks = MOST_GPU_RANKS, .machine = {.devices = 4, .multiprocessors = 8}, .timeout = 200,
               .prepared = QUERN_BARRIER);
    gpu_group_barrier(&group, ~0ull);
    gpu_group_expect(&group, QUERN_OK, NULL);
}

Test(barrier_cuda, subsets_need_no_group_of_their_own) {
    OPEN_GROUP(group, .ranks = 5);
    run_rounds(&group, 100, true);
}

Test(barrier_cuda, a_subset_does_not_wait_for_the_others) {
    OPEN_GROUP(group, .ranks = 4);
    struct board board CLOSED_BY(board_close);
    board_open(&board, &group);
    for (int round = 0; round < 10; round++) enqueue_round(&board, 5);
    check_board(&board);  /* ranks 1 and 3 have made no call */
    for (int round = 0; round < 10; round++) enqueue_round(&board, ~0ull);
    check_board(&board);
}

Test(barrier_cuda, counters_wrap_around) {
    OPEN_GROUP(group, .ranks = 3, .first_epoch = 0xFFFFFFF0);
    run_rounds(&group, 40, true);
}

/* Without a second barrier in the round, the first rank through one barrier reaches the next while others still wait in it. */
Test(barrier_cuda, a_rank_may_be_a_phase_ahead) {
    OPEN_GROUP(group, .ranks = 4, .first_epoch = 0xFFFFFFF0);
    for (int round = 0; round < 500; round++) gpu_group_barrier(&group, round % 3 == 2 ? 7 : ~0ull);
    gpu_group_expect(&group, QUERN_OK, NULL);
}

Test(barrier_cuda, the_signals_go_by_multicast) {
    OPEN_GROUP(group, .ranks = 4, .first_epoch = 0xFFFFFFF0, .machine.multicast = true);
    run_rounds(&group, 60, true);
}

Test(barrier_cuda, a_captured_barrier_is_replayed) {
    struct gpu_replay replay;
    OPEN_GROUP(group, .ranks = 4, .first_epoch = 0xFFFFFFF0);
    struct board board CLOSED_BY(board_close);
    board_open(&board, &group);
    gpu_group_begin_capture(&group);
    enqueue_round(&board, ~0ull);
    enqueue_round(&board, 6);
    gpu_group_end_capture(&group, &replay);
    gpu_group_replay(&group, &replay, 100);
    gpu_group_close_replay(&group, &replay);
    check_board(&board);
    enqueue_round(&board, ~0ull);  /* the counters continue from where the replays left them */
    check_board(&board);
}

/* ---- missing ranks ---- */

/* Every rank is told the same: its own name, then words with * in the place of numbers that differ from run to run. */
static void expect_poison(const struct gpu_group *group, quern_status status, const char *words) {
    for (int rank = 0; rank < group->ranks; rank++) {
        char pattern[512];
        double before = rank_now();
        check_status(quern_barrier(group->group[rank], NULL, group->device[rank].stream), status);
        check_status(quern_group_status(group->group[rank]), status);
        snprintf(pattern, sizeof pattern, "group *, rank %d: %s", rank, words);
        check(!fnmatch(pattern, error_detail(), 0), "rank %d is told \"%s\": expected \"%s\"", rank, error_detail(), pattern);
        check(rank_now() - before < RANK_SOON, "a call on a poisoned group took %g s", rank_now() - before);
    }
    gpu_group_synchronize(group);
}

/* A rank never counts itself. */
static void expect_missing(const struct gpu_group *group, uint64_t expected) {
    for (int rank = 0; rank < group->ranks; rank++) {
        uint64_t mask = 0;
        check_ok(quern_group_missing(group->group[rank], &mask, 1));
        check(mask == (expected & ~((uint64_t)1 << rank)), "rank %d: ranks %#llx are missing", rank, (unsigned long long)mask);
    }
}

/* All kernels end, long before their limits. */
static void expect_soon(const struct gpu_group *group) {
    const double before = rank_now();
    gpu_group_synchronize(group);
    check(rank_now() - before < RANK_SOON, "the kernels have ended after %g s", rank_now() - before);
}

/* The process, its contexts and its devices remain usable. */
static void expect_health(struct gpu_group *group) {
    gpu_group_synchronize(group);
    gpu_group_destroy(group);
    gpu_group_create(group, 0, 0);
    run_rounds(group, 3, false);
}

/* Calls barriers on the first `ranks` GPUs but those of the mask.  Returns the seconds until they end, by the first GPU's clock. */
static double time_barriers(struct gpu_group *group, int ranks, uint64_t missing, int calls) {
    void *event[2];
    float milliseconds;
    device_use(&group->device[0]);
    for (int i = 0; i < 2; i++) CUDA(cuEventCreate(&event[i], 0));
    CUDA(cuEventRecord(event[0], group->device[0].stream));
    for (int call = 0; call < calls; call++)
        for (int rank = 0; rank < ranks; rank++)
            if (!(missing >> rank & 1)) check_ok(quern_barrier(group->group[rank], NULL, group->device[rank].stream));
    device_use(&group->device[0]);
    CUDA(cuEventRecord(event[1], group->device[0].stream));
    gpu_group_synchronize(group);
    device_use(&group->device[0]);
    CUDA(cuEventElapsedTime(&milliseconds, event[0], event[1]));
    for (int i = 0; i < 2; i++) CUDA(cuEventDestroy_v2(event[i]));
    return 1e-3 * milliseconds;
}

static void run_expiry(bool multicast) {
    OPEN_GROUP(group, .ranks = 4, .timeout = LATE, .first_epoch = 40, .machine = {.multicast = multicast, .virtual_clock = true});
    gpu_group_barrier(&group, ~0ull);
    const double took = time_barriers(&group, 4, 1 << 1 | 1 << 3, 1);
    check(took >= LATE && took < 10 * LATE, "the wait of %g s took %g s", LATE, took);
    expect_poison(&group, QUERN_PEER_TIMEOUT, "quern_barrier: rank [02] waited * s on its GPU for rank 1 (process *, last "
                  "epoch 41, expected 42, last in quern_barrier), rank 3 (last epoch 41)");
    expect_missing(&group, 1 << 1 | 1 << 3);
    double waited = strtod(strstr(error_detail(), " waited ") + strlen(" waited "), NULL);
    check(waited >= LATE && waited < took + 1e-5, "the record says that it waited %g s, and it took %g", waited, took);
    expect_health(&group);
}

Test(barrier_cuda, a_missing_rank_is_named) { run_expiry(false); }
Test(barrier_cuda, a_missing_rank_is_named_with_multicast) { run_expiry(true); }

/* One thread drives the ranks that are left, whose kernels have given up. */
static void run_shrink(bool multicast) {
    struct gpu_group smaller;
    OPEN_GROUP(group, .ranks = 4, .timeout = LATE, .machine = {.multicast = multicast, .virtual_clock = true});
    gpu_group_barrier(&group, ~0ull);
    for (int rank = 0; rank < 4; rank += 2) check_ok(quern_barrier(group.group[rank], NULL, group.device[rank].stream));
    gpu_group_synchronize(&group);
    for (int rank = 1; rank < 4; rank += 2) gpu_group_leave(&group, rank);
    quern_group *living[] = {group.group[0], group.group[2]};
    smaller = group;
    smaller.ranks = 2;
    smaller.device[1] = group.device[2];
    check_ok(quern_group_shrink(living, 2, smaller.group));
    for (int rank = 0; rank < 2; rank++)
        check(quern_group_rank(smaller.group[rank]) == rank && quern_group_size(smaller.group[rank]) == 2, "rank %d of %d",
              quern_group_rank(smaller.group[rank]), quern_group_size(smaller.group[rank]));
    gpu_group_destroy(&group);
    run_rounds(&smaller, 3, false);
    gpu_group_destroy(&smaller);
    for (int rank = 0; rank < 4; rank++) group.group[rank] = NULL;
}

Test(barrier_cuda, living_ranks_form_a_group) { run_shrink(false); }
Test(barrier_cuda, living_ranks_form_a_group_with_multicast) { run_shrink(true); }

Test(barrier_cuda, a_call_has_a_limit_of_its_own) {
    quern_barrier_args args = BARRIER_ARGS(.timeout = 0.2);
    OPEN_GROUP(group, .ranks = 2, .timeout = RANK_LIMIT, .machine.virtual_clock = true);
    check_ok(quern_barrier(group.group[0], &args, group.device[0].stream));
    gpu_group_synchronize(&group);
    expect_poison(&group, QUERN_PEER_TIMEOUT, "quern_barrier: rank 0 waited * s on its GPU for rank 1 (process *, last epoch 0, "
                  "expected 1, last in no call)");
}

/* When the wait expires, the calls already in the stream must fail at once, without waiting for a time limit each. */
Test(barrier_cuda, what_follows_a_failure_ends_at_once) {
    OPEN_GROUP(group, .ranks = 3, .timeout = LATE, .machine.virtual_clock = true);
    const double took = time_barriers(&group, 2, 0, 20);
    check(took < 10 * LATE, "20 barriers of %g s took %g s", LATE, took);
    expect_poison(&group, QUERN_PEER_TIMEOUT, "quern_barrier: rank [01] waited * s on its GPU for rank 2 (process *, last epoch 0, "
                  "expected 1, last in no call)");
}

/* Only the kernel of the last rank has given up when the first rank asks. */
Test(barrier_cuda, the_kernel_that_gave_up_is_found) {
    OPEN_GROUP(group, .ranks = 2, .timeout = 0.2, .machine.virtual_clock = true);
    check_ok(quern_barrier(group.group[1], NULL, group.device[1].stream));
    gpu_group_synchronize(&group);
    expect_poison(&group, QUERN_PEER_TIMEOUT, "quern_barrier: rank 1 waited * s on its GPU for rank 0 (*");
}

static void run_other_members(bool multicast) {
    static const int some[] = {0, 1};
    quern_barrier_args args = BARRIER_ARGS(.members = some, .member_count = 2);
    OPEN_GROUP(group, .ranks = 3, .timeout = RANK_LIMIT, .machine.multicast = multicast);
    gpu_group_barrier(&group, ~0ull);
    check_ok(quern_barrier(group.group[0], &args, group.device[0].stream));
    check_ok(quern_barrier(group.group[1], NULL, group.device[1].stream));
    check_ok(quern_barrier(group.group[2], NULL, group.device[2].stream));
    expect_soon(&group);
    expect_poison(&group, QUERN_PEER_MISMATCH, "quern_barrier on the GPU of rank ? met another call of rank ? (process *, "
                  "last epoch *, expected *, last in quern_barrier): the ranks must make the same calls in the same "
                  "order, with the same members");
    expect_missing(&group, 0);
    expect_health(&group);
}

Test(barrier_cuda, other_members_are_another_call) { run_other_members(false); }
Test(barrier_cuda, other_members_are_another_call_with_multicast) { run_other_members(true); }

/* Two ranks meet in different calls, and each also waits for a rank that makes no call: it does not wait for that one's limit. */
Test(barrier_cuda, another_call_ends_the_other_waits_of_a_rank) {
    static const int members[2][3] = {{0, 1, 2}, {0, 1, 3}};
    OPEN_GROUP(group, .ranks = 4, .timeout = RANK_LIMIT);
    for (int rank = 0; rank < 2; rank++) {
        quern_barrier_args args = BARRIER_ARGS(.members = members[rank], .member_count = 3);
        check_ok(quern_barrier(group.group[rank], &args, group.device[rank].stream));
    }
    expect_soon(&group);
    expect_poison(&group, QUERN_PEER_MISMATCH, "quern_barrier on the GPU of rank [01] met another call of rank [01] (*");
}

/* ---- parts of a group whose ranks one thread drives ---- */

/* The thread forms the groups of all colours of its ranks; a negative colour has none. */
Test(barrier_cuda, a_thread_splits_its_ranks_by_colour) {
    static const int colours[] = {7, 2, -1, 7, 2, 7}, keys[] = {0, 1, 0, -1, 0, 5};
    static const struct {
        int rank, size;
    } expected[] = {{1, 3}, {1, 2}, {-1, -1}, {0, 3}, {0, 2}, {2, 3}};
    quern_group *parts[6];
    OPEN_GROUP(group, .ranks = 6, .machine.devices = 3);
    check_ok(quern_group_split(group.group, 6, colours, keys, parts));
    for (int rank = 0; rank < 6; rank++) {
        check(!parts[rank] == (colours[rank] < 0), "rank %d has the part %p", rank, (void *)parts[rank]);
        check(quern_group_rank(parts[rank]) == expected[rank].rank && quern_group_size(parts[rank]) == expected[rank].size,
              "rank %d is rank %d of %d", rank, quern_group_rank(parts[rank]), quern_group_size(parts[rank]));
    }
    for (int rank = 0; rank < 6; rank++)
        if (parts[rank]) check_ok(quern_barrier(parts[rank], NULL, group.device[rank].stream));
    gpu_group_synchronize(&group);
    for (int rank = 0; rank < 6; rank++) {
        if (parts[rank]) check_ok(quern_group_status(parts[rank]));
        check_ok(quern_group_destroy(parts[rank]));
    }
}

/* ---- abort and report, while the thread that drives the GPUs waits for them ---- */

struct watcher {
    const struct gpu_group *group;
    char report[4096];
};

static void *watch(void *user) {
    struct watcher *watcher = user;
    for (double end = rank_now() + RANK_SOON / 2; rank_now() < end && !strstr(watcher->report, "waits in quern_barrier");) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        quern_group_report(watcher->group->group[0], watcher->report, sizeof watcher->report);
    }
    quern_group_abort(watcher->group->group[0], NULL);
    return NULL;
}

Test(barrier_cuda, abort_ends_a_wait) {
    OPEN_GROUP(group, .ranks = 3, .timeout = RANK_LIMIT);
    struct watcher watcher = {.group = &group};
    pthread_t thread;
    check(pthread_create(&thread, NULL, watch, &watcher) == 0, "no thread");
    for (int rank = 0; rank < 2; rank++) check_ok(quern_barrier(group.group[rank], NULL, group.device[rank].stream));
    expect_soon(&group);
    pthread_join(thread, NULL);
    check(!fnmatch("rank 0: process *, cuda:0, * in quern_barrier, epoch *\n"
                   "rank 1: process *, cuda:?, * in quern_barrier, epoch *\n"
                   "rank 2: process *, cuda:?, last in quern_group_create (exchange), epoch *\n", watcher.report, 0),
          "the report says \"%s\"", watcher.report);
    const double waited = strtod(strstr(watcher.report, ", for ") + strlen(", for "), NULL);
    check(waited > 0 && waited < RANK_SOON, "the report says that a rank has waited %g s", waited);
    unsigned long epoch[3];
    const char *at = watcher.report;
    for (int rank = 0; rank < 3; rank++, at++) epoch[rank] = strtoul((at = strstr(at, "epoch ")) + strlen("epoch "), NULL, 10);
    check(epoch[0] == epoch[2] + 1 && epoch[1] == epoch[0], "the report says \"%s\"", watcher.report);
    expect_poison(&group, QUERN_GROUP_ABORTED, "rank 0 has aborted the group");
    expect_health(&group);
}

/* ---- ranks that are taken ---- */

/* One handle of the next group is created by one thread, the other handles by another. */
static quern_group_args next_args(const struct gpu_group *group, int rank) {
    return (quern_group_args)GROUP_ARGS(.rank = rank, .ranks = 3, .name = "half", .device = group->device[rank].quern,
                                        .timeout = RANK_LIMIT);
}

struct waiting {
    struct gpu_group *group;
    quern_status status;
    char detail[512];
};

static void *wait_as_rank_1(void *user) {
    struct waiting *waiting = user;
    quern_group *group = NULL;
    quern_group_args args = next_args(waiting->group, 1);
    waiting->status = quern_group_create(&args, 1, &group);
    quern_error_detail(waiting->detail, sizeof waiting->detail);
    return NULL;
}

static bool name_exists(const char *path) {
    struct stat file;
    return stat(path, &file) == 0;
}

/* A thread gets rank 0 but not rank 1, which the thread has already: no rank waits for a group that cannot become complete. */
Test(barrier_cuda, places_are_taken_together_or_not_at_all) {
    OPEN_GROUP(group, .ranks = 3);
    struct waiting waiting = {.group = &group};
    pthread_t thread;
    double before = rank_now();
    pthread_create(&thread, NULL, wait_as_rank_1, &waiting);
    char path[96];
    rank_meeting_place(path, sizeof path, "half");
    struct quern_segment *segment = ranks_find_forming(path, 1);
    check(segment, "rank 1 does not come");
    munmap(segment, sizeof *segment);
    quern_group *handles[2] = {NULL, NULL};
    quern_group_args args[2] = {next_args(&group, 0), next_args(&group, 1)};
    check_status(quern_group_create(args, 2, handles), QUERN_INVALID_ARGUMENT);
    check(strstr(error_detail(), "rank 1 of group half has been taken by process"), "the detail is \"%s\"", error_detail());
    pthread_join(thread, NULL);
    check(rank_now() - before < RANK_SOON, "rank 1 waited %g s", rank_now() - before);
    check(waiting.status == QUERN_INVALID_ARGUMENT && strstr(waiting.detail, "rank 1 of group half has been taken"),
          "rank 1 ended with \"%s\"", waiting.detail);
    check(!handles[0] && !handles[1] && !name_exists(path), "something is left");
}

/* ---- the ranks of one call ---- */

enum { PAIR = 2, LINE_BYTES = 512 };

/* Other tests may run at the same time. */
static char pair_name[32], pair_path[96];

/* Two ranks of one group, on devices that are prepared. */
static void pair_args(const struct gpu_group *group, quern_group_args *args) {
    snprintf(pair_name, sizeof pair_name, "pair.%d", (int)getpid());
    rank_meeting_place(pair_path, sizeof pair_path, pair_name);
    for (int rank = 0; rank < PAIR; rank++) {
        args[rank] = next_args(group, rank);
        args[rank].ranks = PAIR;
        args[rank].name = pair_name;
        args[rank].first_epoch = 7;
        args[rank].share_gpu = group->devices < PAIR;
    }
}

static void keep_line(void *user, UNUSED quern_log_level level, const char *line) { snprintf(user, LINE_BYTES, "%s", line); }

/* The log names the device of the rank that errs. */
static void refuse_pair(const quern_group_args *args, int rank, quern_status status, const char *text) {
    quern_group *handles[PAIR] = {(quern_group *)8, (quern_group *)16};
    char line[LINE_BYTES] = "", expected[LINE_BYTES];
    quern_set_log(keep_line, line, QUERN_LOG_ERROR);
    check_status(quern_group_create(args, PAIR, handles), status);
    quern_set_log(NULL, NULL, QUERN_LOG_ERROR);
    check(!strcmp(error_detail(), text), "the detail is \"%s\": expected \"%s\"", error_detail(), text);
    snprintf(expected, sizeof expected, "[%s] %s: %s", args[rank].device->label, quern_status_string(status), text);
    check(!strcmp(expected, line), "the log is \"%s\": expected \"%s\"", line, expected);
    check(handles[0] == (quern_group *)8 && handles[1] == (quern_group *)16, "a refused call wrote a handle: %s", text);
    check(!name_exists(pair_path), "a refused call left a name: %s", text);
}

static void create_pair(const quern_group_args *args) {
    quern_group *handles[PAIR];
    check_ok(quern_group_create(args, PAIR, handles));
    for (int rank = 0; rank < PAIR; rank++) check_ok(quern_group_destroy(handles[rank]));
}

static void other_name(quern_group_args *args) { args[1].name = "other"; }
static void name_of_one(quern_group_args *args) { args[0].ranks = args[1].ranks = 1, args[1].rank = 0, args[0].name = NULL; }
static void other_ranks(quern_group_args *args) { args[1].ranks = 3; }
static void other_job(quern_group_args *args) { args[0].job = 1; }
static void other_timeout(quern_group_args *args) { args[1].timeout = 31; }
static void other_first(quern_group_args *args) { args[1].first_timeout = 31; }
static void other_epoch(quern_group_args *args) { args[1].first_epoch = 8; }
static void one_rank(quern_group_args *args) { args[0].rank = 1; }
static void one_rank_no_name(quern_group_args *args) { name_of_one(args), args[1].name = NULL; }

Test(barrier_cuda, the_ranks_of_one_call_are_of_one_group) {
    static const char differ[] = "args[1] differs from args[0] in name, job, ranks, time limits or first_epoch: expected one group";
    static const struct {
        void (*make)(quern_group_args *args);
        const char *text;
    } mistakes[] = {
        {other_name, differ}, {name_of_one, differ}, {other_ranks, differ}, {other_job, differ}, {other_timeout, differ},
        {other_first, differ}, {other_epoch, differ}, {one_rank, "args[0] and args[1] both are rank 1"},
        {one_rank_no_name, "args[0] and args[1] both are rank 0"},
    };
    OPEN_GROUP(group, .ranks = PAIR);
    quern_group_args args[PAIR];
    for (size_t i = 0; i < 2 * COUNT(mistakes); i++) {
        pair_args(&group, args);
        mistakes[i / 2].make(args);
        const quern_group_args first = args[0];
        if (i % 2) args[0] = args[1], args[1] = first;  /* the larger of two values stands first, or last */
        refuse_pair(args, 1, QUERN_INVALID_ARGUMENT, mistakes[i / 2].text);
    }
    OPEN_CPU(cpu);
    for (int rank = 0; rank < PAIR; rank++) {
        pair_args(&group, args);
        args[rank].device = cpu;
        refuse_pair(args, rank, QUERN_INVALID_ARGUMENT, "count is 2: a thread is one CPU rank");
    }
    pair_args(&group, args);
    create_pair(args);
}

Test(barrier_cuda, each_device_of_a_call_must_be_prepared) {
    OPEN_GROUP(group, .ranks = PAIR);
    quern_group_args args[PAIR];
    for (int rank = 0; rank < PAIR; rank++) {
        char text[160];
        OPEN_ON(device, QUERN_CUDA, group.device[rank].ordinal);
        pair_args(&group, args);
        args[rank].device = device;
        snprintf(text, sizeof text, "%s has no barrier ready: call quern_prepare with QUERN_BARRIER first", device->label);
        refuse_pair(args, rank, QUERN_NOT_PREPARED, text);
        check_ok(quern_prepare(device, QUERN_ADAM));
        refuse_pair(args, rank, QUERN_NOT_PREPARED, text);
        check_ok(quern_prepare(device, QUERN_BARRIER));
        create_pair(args);
    }
}

/* A blocking launch of one rank would wait for that of the next, which the same thread makes later. */
Test(barrier_cuda, launches_that_block_need_a_thread_for_each_gpu) {
    static const char *const unset[] = {"0", ""}, *const set[] = {"1", "2", "yes", "00"};
    OPEN_GROUP(group, .ranks = PAIR);
    quern_group_args args[PAIR];
    pair_args(&group, args);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        setenv("CUDA_LAUNCH_BLOCKING", set[i], 1);
        refuse_pair(args, 0, QUERN_NOT_SUPPORTED, "CUDA_LAUNCH_BLOCKING is set: one thread cannot drive 2 GPUs whose kernels wait "
                    "for each other; unset it, or drive each GPU by a thread of its own");
    }
    quern_group_args alone = args[0];
    quern_group *handle;
    alone.ranks = 1;
    check_ok(quern_group_create(&alone, 1, &handle));
    check_ok(quern_group_destroy(handle));
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
        setenv("CUDA_LAUNCH_BLOCKING", unset[i], 1);
        create_pair(args);
    }
    unsetenv("CUDA_LAUNCH_BLOCKING");
}
