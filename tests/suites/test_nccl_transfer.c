/*
 * Transfers between GPU ranks over NCCL: the stand-in of tests/nccl on emulated GPUs.  The hosts are names at addresses of this
 * machine.  Random lists against what they must have, and each way in which a transfer, NCCL or a rank can end: always a status on
 * both ends, never a hang, and the group and the other pairs go on.
 *
 * Runs on: one emulated.
 */
#include "harness/device.h"
#include "harness/gpu_transfer.h"
#include "harness/random.h"
#include "ranks/transfer/transfer.h"
#include "runtime/device.h"

enum { KEY = 7, BYTES = 5000, MOST_PAIRS = 4 };

/* ---- random lists ---- */

static quern_status run_lists(struct rank *rank) {
    struct gpu_end end;
    gpu_end_open(&end, rank, GPU_PRIVATE);
    end.place.between = gpu_delay;
    transfer_run_choices(rank, end.side.group, 2, &end.place);
    rank_line_up(rank);
    rank_check(rank, nccl_ask("quern_standin_unmatched") == 0, "messages that nobody has received");
    rank_line_up(rank);
    const quern_status status = gpu_end_close(&end);
    rank_line_up(rank);  /* of all threads */
    rank_check(rank, nccl_ask("quern_standin_communicators") == 0, "%ld communicators are left",
               nccl_ask("quern_standin_communicators"));
    return status;
}

Test(nccl_transfer, random_lists) {
    static const int shapes[][2] = {{2, 2}, {2, 3}, {3, 3}, {2, 4}, {2, 8}};
    for (size_t i = 0; i < COUNT(shapes); i++)
        check_ranks(.kind = RANK_BOTH, .hosts = shapes[i][0], .count = shapes[i][1], .function = run_lists, .nccl = "");
}

Test(nccl_transfer, delays_of_nccl_change_nothing) {
    check_ranks(.kind = RANK_PROCESSES, .hosts = 2, .count = 3, .function = run_lists,
                .nccl = "init:delay=100~2@1,group:delay=3,run:delay=5@0,linger=50");
}

/* ---- several pairs of a rank ---- */

static void open_pairs(struct rank *rank, struct gpu_end *end, struct transfer_pair *pairs, const int *peers, int count) {
    gpu_end_open(end, rank, GPU_PRIVATE);
    for (int i = 0; i < count; i++) transfer_pair_open(&pairs[i], rank, end->side.group, &end->place, peers[i], BYTES);
}

static quern_status close_pairs(struct gpu_end *end, struct transfer_pair *pairs, int count) {
    rank_line_up(end->side.rank);
    for (int i = 0; i < count; i++) transfer_pair_close(&pairs[i]);
    return gpu_end_close(end);
}

/* ---- lists ---- */

#define TWO_HOSTS .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = ""

TEST_GPU_PAIR(nccl_transfer, empty_lists_and_items, TWO_HOSTS) {
    quern_transfer *none = transfer_prepare(rank, gpu->end.side.group, 1, NULL, 0);
    gpu->pair.bytes = 0;
    transfer_pair_prepare(&gpu->pair, 2);
    for (int round = 0; round < 3; round++) {
        rank_ok(rank, transfer_run(none, gpu->end.side.stream, 0));
        rank_ok(rank, transfer_pair_run(&gpu->pair, 0));
    }
    rank_check(rank, nccl_ask("quern_standin_operations") == 0, "NCCL has %ld operations", nccl_ask("quern_standin_operations"));
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(none));
}

/* The stream of the two ranks beside the two that each rank has. */
TEST_GPU_PAIR(nccl_transfer, the_stream_has_the_highest_priority, TWO_HOSTS) {
    transfer_pair_prepare(&gpu->pair, 2);
    const long streams = gpu_urgent_streams(&gpu->end);
    rank_check(rank, streams == 3, "%ld streams, and not 3", streams);
}

/* More than a group of NCCL takes: 2,049 messages, the last one alone. */
TEST_SIDE(nccl_transfer, more_than_a_group_takes, TWO_HOSTS) {
    enum { MANY = 2049, EACH = 8 };
    static quern_transfer_item items[MANY];
    static unsigned char bytes[MANY * EACH];
    unsigned char *memory = nccl_allocate(side, MANY * EACH);
    for (int i = 0; i < MANY; i++) {
        const int at = rank->rank ? MANY - 1 - i : i;  /* in opposite orders */
        items[i] = transfer_item(rank->rank, !rank->rank, (uint64_t)at * 3, memory + at * EACH, EACH);
    }
    for (int i = 0; i < MANY * EACH; i++) bytes[i] = rank->rank ? 0 : (unsigned char)(i / EACH * 7 + i);
    nccl_put(side, memory, bytes, MANY * EACH);
    quern_transfer *transfer = transfer_prepare(rank, side->group, KEY, items, MANY);
    rank_ok(rank, transfer_run(transfer, side->stream, 0));
    nccl_get(side, bytes, memory, MANY * EACH);
    for (int i = 0; i < MANY * EACH; i++)
        rank_check(rank, bytes[i] == (unsigned char)(i / EACH * 7 + i), "byte %d is %d", i, bytes[i]);
    rank_check(rank, nccl_ask("quern_standin_operations") == MANY, "NCCL has %ld operations", nccl_ask("quern_standin_operations"));
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
    nccl_release(side, memory);
}

/* Two windows on one base: sends may overlap each other.  And copies within the rank beside them. */
/* A communicator of a pair has 4 channels; that of all ranks as many as NCCL wants, 32 here. */
TEST_GPU_PAIR(nccl_transfer, channels_of_a_pair, TWO_HOSTS) {
    transfer_pair_prepare(&gpu->pair, 2);
    rank_ok(rank, transfer_pair_run(&gpu->pair, 0));
    const long channels = nccl_ask("quern_standin_channels");
    rank_check(rank, channels == 32 + 4, "%ld channels, and not 36", channels);
}

TEST_GPU_PAIR(nccl_transfer, two_windows_on_one_base, TWO_HOSTS) {
    const int peer = !rank->rank;
    char *out = gpu->pair.out, *in = gpu->pair.in;
    unsigned char bytes[BYTES];
    const quern_transfer_item items[] = {
        transfer_item(0, peer, 1, out, 3000), transfer_item(0, peer, 2, out + 1000, 1000), transfer_item(1, peer, 2, in, 1000),
        transfer_item(1, rank->rank, 1, in + 4000, 1000), transfer_item(0, rank->rank, 1, out + 500, 1000),
        transfer_item(1, peer, 1, in + 1000, 3000),
    };
    quern_transfer *transfer = transfer_prepare(rank, gpu->end.side.group, KEY, items, 6);
    for (int round = 1; round <= 3; round++) {
        gpu_delay(&gpu->end);
        memset(bytes, round * 16 + rank->rank, BYTES);
        nccl_put(&gpu->end, out, bytes, BYTES);
        rank_ok(rank, transfer_run(transfer, gpu->end.side.stream, 0));
        nccl_get(&gpu->end, bytes, in, BYTES);
        for (int i = 0; i < BYTES; i++)
            rank_check(rank, bytes[i] == round * 16 + (i < 4000 ? peer : rank->rank), "byte %d is %d", i, bytes[i]);
    }
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* A destroy waits for the copies within the rank, which wait for the engine's stream. */
TEST_GPU_PAIR(nccl_transfer, a_destroy_waits_for_own_copies, TWO_HOSTS) {
    gpu->pair.peer = rank->rank;
    transfer_pair_prepare(&gpu->pair, KEY);
    transfer_pair_round(&gpu->pair, 1);
    gpu_delay(&gpu->end);
    transfer_pair_fill(&gpu->pair, 2);
    rank_ok(rank, quern_transfer_start(gpu->pair.transfer, gpu->end.side.stream));
    transfer_pair_destroy(&gpu->pair);
    transfer_pair_compare(&gpu->pair, 2);  /* nothing is written later */
}

/* Each rank starts two lists of each of the others in an order of its own: no order is a deadlock. */
TEST_RANKS(nccl_transfer, any_order_of_starts, .kind = RANK_PROCESSES, .count = 3, .hosts = 3, .nccl = "") {
    struct gpu_end end;
    struct transfer_pair pairs[MOST_PAIRS];
    const int left = (rank->rank + 1) % 3, right = (rank->rank + 2) % 3;
    open_pairs(rank, &end, pairs, (const int[]){left, left, right, right}, 4);
    for (int i = 0; i < 4; i++) transfer_pair_prepare(&pairs[i], (uint64_t)(i % 2 * 10 + rank->rank + pairs[i].peer));
    for (int round = 1; round <= 4; round++) {
        for (int i = 0; i < 4; i++) {
            const int at = (i * (rank->rank % 2 ? 3 : 1) + rank->rank + round) % 4;
            transfer_pair_fill(&pairs[at], 2 * round + at % 2);
            rank_ok(rank, quern_transfer_start(pairs[at].transfer, end.side.stream));
        }
        for (int i = 0; i < 4; i++) {
            rank_ok(rank, quern_transfer_wait(pairs[i].transfer, 0));
            transfer_pair_compare(&pairs[i], 2 * round + i % 2);
        }
    }
    return close_pairs(&end, pairs, 4);
}

/* What begins together on both ends is one group of NCCL, both directions in it. */
static quern_status run_batch(struct rank *rank) {
    enum { LISTS = 3 };
    struct gpu_end end;
    struct transfer_pair pairs[LISTS];
    open_pairs(rank, &end, pairs, (const int[]){!rank->rank, !rank->rank, !rank->rank}, LISTS);
    for (int i = 0; i < LISTS; i++) transfer_pair_prepare(&pairs[i], 20 + (uint64_t)i);
    for (int round = 1; round <= 4; round++) {
        const long before = nccl_ask("quern_standin_groups");
        rank_ok(rank, quern_transfer_begin(end.side.group));
        for (int i = 0; i < LISTS; i++) {
            const int at = rank->rank ? LISTS - 1 - i : i;
            transfer_pair_fill(&pairs[at], round * 4 + at);
            rank_ok(rank, quern_transfer_start(pairs[at].transfer, end.side.stream));
        }
        rank_ok(rank, quern_transfer_end(end.side.group));
        for (int i = 0; i < LISTS; i++) {
            rank_ok(rank, quern_transfer_wait(pairs[i].transfer, 0));
            transfer_pair_compare(&pairs[i], round * 4 + i);
        }
        rank_check(rank, nccl_ask("quern_standin_groups") == before + 1, "round %d took %ld groups", round,
                   nccl_ask("quern_standin_groups") - before);
    }
    return close_pairs(&end, pairs, LISTS);
}

Test(nccl_transfer, a_batch_is_one_group) {
    check_ranks(.function = run_batch, TWO_HOSTS);
    check_ranks(.function = run_batch, TWO_HOSTS, .progress = true);
}

/* The engine destroys its stream between the start and the wait. */
TEST_GPU_PAIR(nccl_transfer, a_stream_that_the_engine_destroys, TWO_HOSTS) {
    transfer_pair_prepare(&gpu->pair, KEY);
    for (int round = 1; round <= 3; round++) {
        const CUstream kept = gpu->end.side.stream;
        cuda_ok(&gpu->end.side, stream_create(&gpu->end.side.stream, CU_STREAM_NON_BLOCKING));
        gpu_delay(&gpu->end);
        transfer_pair_fill(&gpu->pair, round);
        rank_ok(rank, quern_transfer_start(gpu->pair.transfer, gpu->end.side.stream));
        cuda_ok(&gpu->end.side, stream_destroy(gpu->end.side.stream));
        gpu->end.side.stream = kept;
        rank_ok(rank, quern_transfer_wait(gpu->pair.transfer, 0));
        transfer_pair_compare(&gpu->pair, round);
    }
    rank_line_up(rank);
}

/* A stream of another GPU. */
TEST_GPU_PAIR(nccl_transfer, a_stream_of_another_gpu, TWO_HOSTS) {
    quern_device *other;
    CUcontext popped;
    CUstream stream;
    rank_ok(rank, quern_device_open(QUERN_CUDA, 5, &other));
    cuda_ok(&gpu->end.side, context_push(other->context));
    cuda_ok(&gpu->end.side, stream_create(&stream, CU_STREAM_NON_BLOCKING));
    cuda_ok(&gpu->end.side, context_pop(&popped));
    transfer_pair_prepare(&gpu->pair, KEY);
    rank_status(rank, quern_transfer_start(gpu->pair.transfer, stream), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "the stream is of another context");
    cuda_ok(&gpu->end.side, stream_destroy(stream));
    quern_device_close(other);
    rank_line_up(rank);
}

TEST_GPU_PAIR(nccl_transfer, lists_that_differ, TWO_HOSTS) {
    gpu->pair.bytes = rank->rank ? 100 : 104;
    transfer_pair_prepare(&gpu->pair, KEY);
    const long before = nccl_ask("quern_standin_operations");
    rank_refused(rank, transfer_pair_run(&gpu->pair, 0), QUERN_PEER_MISMATCH,
                 "rank 0 sends 104 bytes with tag 4, and rank 1 expects 100");
    transfer_pair_destroy(&gpu->pair);
    rank_check(rank, nccl_ask("quern_standin_operations") == before, "something was enqueued");
    gpu->pair.bytes = BYTES;
    transfer_pair_exchange(&gpu->pair, KEY, 1);
    rank_line_up(rank);
}

/* ---- words that no rank says ---- */

static const struct strange {
    int speaker;
    struct quern_transfer_frame frame;
} strange[] = {
    {1, {.word = QUERN_WORD_CONNECT, .bytes = sizeof(ncclUniqueId)}},         /* the lower rank makes communicators */
    {0, {.word = QUERN_WORD_CONNECT}},                                        /* without one */
    {0, {.word = QUERN_WORD_FORGOTTEN}},                                      /* those of the other rank */
    {0, {.word = QUERN_WORD_BREAK}},                                          /* without a reason */
    {0, {.word = QUERN_WORD_DATA}},                                           /* in host memory */
    {1, {.word = QUERN_WORD_GO, .bytes = sizeof(struct quern_transfer_go)}},  /* the lower rank orders */
    {0, {.word = QUERN_WORD_GO}},                                             /* nothing */
    {0, {.word = QUERN_WORD_GO, .bytes = sizeof(struct quern_transfer_go) + 1}},
    {0, {.word = QUERN_WORD_GO, .bytes = UINT64_MAX / sizeof(struct quern_transfer_go) * sizeof(struct quern_transfer_go)}},
    {0, {.word = QUERN_WORD_CONNECT, .bytes = sizeof(ncclUniqueId) - 1}},
    {0, {.word = QUERN_WORD_CONNECT, .bytes = UINT64_MAX}},
    {0, {.word = QUERN_WORD_BREAK, .bytes = QUERN_TRANSFER_REASON - 1}},
    {0, {.word = QUERN_WORD_BREAK, .bytes = UINT64_MAX}},
    {0, {.word = QUERN_WORD_END, .bytes = UINT64_MAX}},
    {0, {.word = QUERN_WORD_BUFFER, .bytes = sizeof(CUmemFabricHandle)}},     /* of another path */
};

TEST_GPU_PAIR(nccl_transfer, strange_words, TWO_HOSTS, RANKS_EACH(strange)) {
    const struct strange *said = rank->user;
    struct quern_transfer_frame frame = said->frame;
    transfer_pair_exchange(&gpu->pair, 99, 1);
    transfer_pair_prepare(&gpu->pair, KEY);
    rank_line_up(rank);
    struct quern_conn *conn = rank_member_of(rank, gpu->pair.group)->transfers->conn[!rank->rank];
    frame.number = conn->nccl->generation;
    if (rank->rank == said->speaker) gpu_say(conn, frame);
    rank_refused(rank, transfer_pair_run(&gpu->pair, 0), QUERN_PEER_MISMATCH, "is damaged");
    rank_line_up(rank);
}

static quern_status start(const struct gpu_pair *gpu) {
    return quern_transfer_start(gpu->pair.transfer, gpu->end.side.stream);
}

/* The lower rank orders what both have started, twice in one list. */
TEST_GPU_PAIR(nccl_transfer, an_order_names_a_transfer_once, TWO_HOSTS) {
    transfer_pair_exchange(&gpu->pair, 99, 1);
    transfer_pair_prepare(&gpu->pair, KEY);
    struct quern_transfers *all = rank_member_of(rank, gpu->pair.group)->transfers;
    struct quern_conn *conn = all->conn[!rank->rank];
    const struct quern_transfer_data *transfer = all->first;
    uint32_t *instances = rank->shared;
    while (transfer->key != KEY) transfer = transfer->next;
    instances[rank->rank] = transfer->instance;
    if (rank->rank == 0) rank_ok(rank, start(gpu));  /* it hears nothing of the other one's */
    rank_line_up(rank);
    if (rank->rank == 1) rank_ok(rank, start(gpu));
    rank_line_up(rank);
    const struct quern_transfer_go go = {KEY, transfer->round, instances[0], instances[1]}, twice[] = {go, go};
    const struct quern_transfer_frame frame = {.word = QUERN_WORD_GO, .number = conn->nccl->generation};
    if (rank->rank == 0) quern_conn_say(conn, frame, twice, sizeof twice);
    rank_refused(rank, quern_transfer_wait(gpu->pair.transfer, 0), QUERN_PEER_MISMATCH, "is damaged");
    rank_line_up(rank);
}

/* ---- ends ---- */

struct scene {
    struct transfer_ending ending;  /* by rank 1 */
    const char *settings;
    bool is_second;                 /* a transfer of the pair before */
};

static quern_status end_a_pair(struct rank *rank) {
    const struct scene *scene = rank->user;
    struct gpu_pair gpu;
    gpu_pair_begin(rank, &gpu);
    if (scene->is_second) transfer_pair_exchange(&gpu.pair, 99, 1);
    transfer_pair_end(&gpu.pair, 1, &scene->ending);
    transfer_pair_close(&gpu.pair);
    return gpu_end_close(&gpu.end);
}

static void check_scene(rank_function *function, const struct scene *scene) {
    const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = function,
                                                  .user = scene, .nccl = scene->settings,
                                                  .may_die = scene->ending.how == TRANSFER_IS_KILLED ? 1 << 1 : 0});
    check(!wrong, "ending %d at %d with \"%s\": %s", scene->ending.how, scene->ending.own, scene->settings, wrong);
}

/* A test of a table of scenes. */
#define TEST_ENDS(suite, name, ...) \
    Test(suite, name) { \
        static const struct scene scenes[] = {__VA_ARGS__}; \
        for (size_t i = 0; i < COUNT(scenes); i++) check_scene(end_a_pair, &scenes[i]); \
    }

TEST_ENDS(nccl_transfer, ends_before_the_start,
    {{TRANSFER_CANCELS, TRANSFER_PREPARED, TRANSFER_STARTED, 0.05}, "", true},
    {{TRANSFER_DESTROYS, TRANSFER_PREPARED, TRANSFER_STARTED, 0.05}, "", true},
    {{TRANSFER_IS_LATE, TRANSFER_PREPARED, TRANSFER_STARTED, 0.3}, "", true})

/* A transfer that NCCL never ends, at either rank.  The second group of the first communicator of the pair, behind the group's. */
Test(nccl_transfer, ends_in_flight) {
    static const char *const settings[] = {"run:hang~2@0#2!2", "run:hang~2@1#2!2", "group:hang~2@0#2!2", "group:hang~2@1#2!2"};
    for (enum transfer_how how = TRANSFER_CANCELS; how <= TRANSFER_IS_LATE; how++)
        for (size_t i = 0; i < COUNT(settings); i++) {
            const double meanwhile = how == TRANSFER_IS_LATE ? 3 : 1.5;
            check_scene(end_a_pair, &(struct scene){{how, TRANSFER_STARTED, TRANSFER_STARTED, meanwhile}, settings[i], true});
        }
}

/* It is given up with the first transfer that expires; the next one makes another. */
TEST_ENDS(nccl_transfer, a_communicator_that_never_is_ready,
    {{TRANSFER_IS_LATE, TRANSFER_STARTED, TRANSFER_STARTED, 3}, "init:hang!2@0", false},
    {{TRANSFER_IS_LATE, TRANSFER_STARTED, TRANSFER_STARTED, 3}, "init:hang!2@1", false})

/* Rank 1 ends, and rank 0 waits for its transfer with it. */
TEST_ENDS(nccl_transfer, ends_of_ranks,
    {{TRANSFER_IS_KILLED, TRANSFER_UNPREPARED, TRANSFER_STARTED, 0}, "", false},
    {{TRANSFER_IS_KILLED, TRANSFER_PREPARED, TRANSFER_STARTED, 0}, "", false},
    {{TRANSFER_IS_KILLED, TRANSFER_STARTED, TRANSFER_STARTED, 0.3}, "init:hang!2@0", false},
    {{TRANSFER_IS_KILLED, TRANSFER_STARTED, TRANSFER_STARTED, 0.3}, "init:hang!2@1", false},
    {{TRANSFER_IS_KILLED, TRANSFER_STARTED, TRANSFER_STARTED, 0.3}, "group:hang~2@1", false},
    {{TRANSFER_IS_KILLED, TRANSFER_STARTED, TRANSFER_STARTED, 0.3}, "run:hang~2@1", false},
    {{TRANSFER_IS_KILLED, TRANSFER_STARTED, TRANSFER_STARTED, 0.3}, "run:hang~2@0", false},
    {{TRANSFER_ABORTS, TRANSFER_PREPARED, TRANSFER_STARTED, 0}, "", false},
    {{TRANSFER_ABORTS, TRANSFER_STARTED, TRANSFER_STARTED, 0.3}, "run:hang~2@1", false},
    {{TRANSFER_LEAVES, TRANSFER_UNPREPARED, TRANSFER_STARTED, 0}, "", false},
    {{TRANSFER_LEAVES, TRANSFER_STARTED, TRANSFER_STARTED, 0.3}, "run:hang~2@0", false})

/* Rank 0 has enqueued and cancels before rank 1, which sleeps, has: rank 1 hears all of it at once. */
TEST_GPU_PAIR(nccl_transfer, an_end_of_a_flight_that_the_other_has_not_begun, TWO_HOSTS) {
    quern_transfer **transfer = &gpu->pair.transfer;
    int32_t done;
    transfer_pair_exchange(&gpu->pair, 99, 1);
    transfer_pair_prepare(&gpu->pair, KEY);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_start(*transfer, gpu->end.side.stream));
    const double began = rank_now();
    while (rank->rank == 0 && rank_now() < began + 0.1) rank_ok(rank, quern_transfer_test(*transfer, &done));
    if (rank->rank == 0) {
        rank_ok(rank, quern_transfer_cancel(*transfer, "the test's reason"));
    } else {
        rank_sleep(0.5);
        rank_status(rank, quern_transfer_wait(*transfer, 0), QUERN_GROUP_ABORTED);
        rank_check_detail(rank, "rank 0 has cancelled the transfer: the test's reason");
    }
    transfer_pair_destroy(&gpu->pair);
    transfer_pair_exchange(&gpu->pair, KEY, 2);
    rank_line_up(rank);
}

/* Rank 0 waits for its whole GPU, where NCCL waits for rank 1: nobody is in a call of the library. */
static quern_status wait_for_gpu(struct rank *rank) {
    struct gpu_pair gpu;
    unsigned *is_in_flight = rank->shared;
    int32_t done = 0;
    gpu_pair_begin(rank, &gpu);
    transfer_pair_prepare(&gpu.pair, KEY);
    rank_ok(rank, quern_transfer_start(gpu.pair.transfer, gpu.end.side.stream));
    while (nccl_ask("quern_standin_groups") == 0 || (rank->rank && !__atomic_load_n(is_in_flight, __ATOMIC_ACQUIRE)))
        rank_ok(rank, quern_transfer_test(gpu.pair.transfer, &done));
    const double until = rank_now() + 0.2;               /* the group has become an operation of the stream */
    while (rank_now() < until) rank_ok(rank, quern_transfer_test(gpu.pair.transfer, &done));
    rank_check(rank, !done, "the transfer is complete");
    __atomic_store_n(is_in_flight, 1, __ATOMIC_RELEASE);
    if (rank->rank == 1) kill(getpid(), SIGKILL);
    cuda_ok(&gpu.end.side, context_synchronize());
    rank_refused(rank, quern_transfer_wait(gpu.pair.transfer, 0), QUERN_PEER_LOST, "rank 1 (process");
    transfer_pair_close(&gpu.pair);
    return gpu_end_close(&gpu.end);
}

Test(nccl_transfer, the_watcher_ends_what_hangs) {
    check_scene(wait_for_gpu, &(struct scene){.ending.how = TRANSFER_IS_KILLED, .settings = "run:hang~2@1"});
}

/* ---- failures of NCCL ---- */

struct failure {
    const char *settings;
    quern_status status;
    const char *detail;
};

static const struct failure failures[] = {
    {"id:fail=2#2", QUERN_SYSTEM_ERROR, "ncclGetUniqueId: unhandled system error"},
    {"init:fail=2~2%0", QUERN_SYSTEM_ERROR, "ncclCommInitRankConfig: unhandled system error"},
    {"group:fail=1~2%0", QUERN_CUDA_ERROR, "ncclGroupEnd: unhandled cuda error"},
    {"run:fail=6~2%0", QUERN_PEER_LOST, "a transfer over NCCL: remote process exited"},
    {"run:fail=3~2%0", QUERN_CUDA_ERROR, "a transfer over NCCL: internal error"},
};

/* Rank 0 never gets its data, and the pair of ranks 1 and 2 does not notice.  Of the pair of ranks 0 and 1 alone: on rank 0. */
TEST_RANKS_FOR(nccl_transfer, failures_of_nccl, for (size_t i = 0; i < COUNT(failures); i++), .kind = RANK_PROCESSES, .count = 3,
               .hosts = 3, .user = &failures[i], .nccl = failures[i].settings) {
    const struct failure *failure = rank->user;
    struct gpu_end end;
    struct transfer_pair pairs[2];
    open_pairs(rank, &end, pairs, (const int[]){!rank->rank, 3 - rank->rank}, 2);
    if (rank->rank < 2) transfer_pair_prepare(&pairs[0], KEY);
    quern_status status = rank->rank < 2 ? quern_transfer_start(pairs[0].transfer, end.side.stream) : QUERN_OK;
    for (int round = 1; rank->rank > 0 && round < 4; round++) transfer_pair_exchange(&pairs[1], 50, round);
    if (rank->rank < 2 && status == QUERN_OK) status = quern_transfer_wait(pairs[0].transfer, RANK_LIMIT);
    if (rank->rank < 2) rank_refused(rank, status, failure->status, failure->detail);
    transfer_pair_destroy(&pairs[0]);
    rank_ok(rank, quern_group_status(end.side.group));
    return close_pairs(&end, pairs, 2);
}

/* ---- ends that cross ---- */

/* Either rank cancels or destroys at any time, alone or in a batch; the other one always hears of it, and the next one works. */
static void end_at_random(struct rank *rank, struct gpu_end *end, struct transfer_pair pairs[2], uint64_t turn) {
    const bool batch = random_below(3, turn * 8, 2), ends_it = (int)random_below(3, turn * 8 + 1, 2) == rank->rank;
    const int64_t cancels = random_below(3, turn * 8 + 2, 2), delay = random_below(3, turn * 8 + 3, 4) * 60;
    for (int i = 0; i < 2; i++) transfer_pair_prepare(&pairs[i], 1 + (uint64_t)i);
    if (batch) rank_ok(rank, quern_transfer_begin(end->side.group));
    for (int i = 0; i < 2; i++) transfer_pair_fill(&pairs[i], (int)turn * 2 + i);
    for (int i = 0; i < 2; i++) {
        const quern_status status = quern_transfer_start(pairs[i].transfer, end->side.stream);
        rank_check(rank, status == QUERN_OK || status == QUERN_GROUP_ABORTED || status == QUERN_PEER_LOST, "%d", status);
    }
    if (batch) rank_ok(rank, quern_transfer_end(end->side.group));
    if (ends_it) rank_sleep((double)delay * 1e-6);
    if (ends_it && cancels) quern_transfer_cancel(pairs[0].transfer, NULL);
    if (ends_it && !cancels) transfer_pair_destroy(&pairs[0]);
    for (int i = ends_it; i < 2; i++) {
        const quern_status status = quern_transfer_wait(pairs[i].transfer, RANK_SOON);
        const bool may_fail = i == 0 || batch;
        rank_check(rank, status == QUERN_OK || (may_fail && (status == QUERN_GROUP_ABORTED || status == QUERN_PEER_LOST)),
                   "turn %d, transfer %d: %s", (int)turn, i, quern_status_string(status));
        if (status == QUERN_OK) transfer_pair_compare(&pairs[i], (int)turn * 2 + i);
    }
    for (int i = 0; i < 2; i++) transfer_pair_destroy(&pairs[i]);
    if (turn % 10 == 9) transfer_pair_exchange(&pairs[0], 9, 1);
    rank_line_up(rank);
}

static quern_status end_often(struct rank *rank) {
    struct gpu_end end;
    struct transfer_pair pairs[2];
    open_pairs(rank, &end, pairs, (const int[]){!rank->rank, !rank->rank}, 2);
    for (uint64_t turn = 0; turn < 60; turn++) end_at_random(rank, &end, pairs, turn);
    rank_ok(rank, quern_group_status(end.side.group));
    return close_pairs(&end, pairs, 2);
}

Test(nccl_transfer, ends_that_cross) {
    check_ranks(.kind = RANK_BOTH, .count = 2, .hosts = 2, .function = end_often, .nccl = "");
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = end_often,
                .nccl = "group:delay=1,run:delay=1,init:delay=5");
}
