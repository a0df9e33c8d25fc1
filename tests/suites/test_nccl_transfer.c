/*
 * Transfers between GPU ranks over NCCL: the stand-in of tests/nccl on emulated GPUs.  The hosts are names at addresses of this
 * machine.  Random lists against what they must have, and each way in which a transfer, NCCL or a rank can end: always a status on
 * both ends, never a hang, and the group and the other pairs go on.
 *
 * Runs on: one emulated.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#include "harness/check.h"
#include "harness/device.h"
#include "harness/nccl_side.h"
#include "harness/random.h"
#include "harness/transfer_case.h"
#include "runtime/device.h"

struct board {
    unsigned word[NCCL_GPUS];
    double ended;
};

static void check_on(int hosts, int ranks, enum rank_kind kind, rank_function *function, const void *user, const char *settings) {
    nccl_set_machine(settings);
    check_ranks(.kind = kind, .count = ranks, .hosts = hosts, .function = function, .user = user,
                .shared_bytes = sizeof(struct board));
}

/* The stream comes late to the copy now and then: what starts too early sends old bytes. */
static void nap(void *user) { (void)user, rank_sleep(2e-3); }

static void delay_stream(const struct nccl_side *side) { nccl_enqueue(side, side->stream, nap, NULL); }
static void delay_between(void *user) { delay_stream(user); }

/* ---- random lists ---- */

static const struct {
    int hosts, ranks;
} shapes[] = {{2, 2}, {2, 3}, {3, 3}, {2, 4}, {2, 8}};

/* The GPUs are in another order than the ranks. */
static quern_status run_lists(struct rank *rank) {
    struct nccl_side side;
    nccl_open_gpu(&side, rank, rank->ranks - 1 - rank->rank);
    const quern_group_args args = nccl_args(&side, RANK_LIMIT);
    rank_ok(rank, quern_group_create(&args, 1, &side.group));
    const struct transfer_place place = {&side, side.stream, nccl_allocate, nccl_release, nccl_put, nccl_get, delay_between};
    transfer_run_choices(rank, side.group, 2, &place);
    rank_line_up(rank);
    rank_check(rank, nccl_ask("quern_standin_unmatched") == 0, "messages that nobody has received");
    rank_line_up(rank);
    const quern_status status = nccl_close(&side);
    rank_line_up(rank);  /* of all threads */
    rank_check(rank, nccl_ask("quern_standin_communicators") == 0, "%ld communicators are left",
               nccl_ask("quern_standin_communicators"));
    return status;
}

Test(nccl_transfer, random_lists) {
    for (size_t i = 0; i < COUNT(shapes); i++) check_on(shapes[i].hosts, shapes[i].ranks, RANK_BOTH, run_lists, NULL, "");
}

Test(nccl_transfer, delays_of_nccl_change_nothing) {
    check_on(2, 3, RANK_PROCESSES, run_lists, NULL, "init:delay=100~2@1,group:delay=3,run:delay=5@0,linger=50");
}

/* ---- a pair ---- */

enum { KEY = 7, TAG = 4, BYTES = 5000 };

/* Rank 0 sends to rank 1, or both to each other. */
struct ends {
    struct nccl_side side;
    void *out, *in;
    unsigned char shadow[BYTES];
};

static void allocate(struct ends *ends) {
    ends->out = nccl_allocate(&ends->side, BYTES);
    ends->in = nccl_allocate(&ends->side, BYTES);
}

static void release(struct ends *ends) {
    nccl_release(&ends->side, ends->out);
    nccl_release(&ends->side, ends->in);
}

static void open_ends(struct rank *rank, struct ends *ends) {
    nccl_begin(rank, &ends->side);
    allocate(ends);
}

static quern_status close_ends(struct ends *ends) {
    release(ends);
    return nccl_close(&ends->side);
}

static void end_ends(struct rank *rank, struct ends *ends) { rank_ok(rank, close_ends(ends)); }
#define TEST_ENDS(...) TEST_WITH(struct ends, ends, open_ends, end_ends, __VA_ARGS__)

/* Several ends of one side. */
static void open_all_ends(struct rank *rank, struct ends *ends, int count) {
    open_ends(rank, &ends[0]);
    for (int i = 1; i < count; i++) {
        ends[i].side = ends[0].side;
        allocate(&ends[i]);
    }
}

static quern_status close_all_ends(struct ends *ends, int count) {
    for (int i = 1; i < count; i++) release(&ends[i]);
    return close_ends(&ends[0]);
}

static quern_transfer *prepare(struct ends *ends, uint64_t key, int peer, int64_t bytes) {
    const quern_transfer_item items[] = {transfer_item(1, peer, TAG, ends->in, bytes),
                                         transfer_item(0, peer, TAG, ends->out, bytes)};
    return transfer_prepare(ends->side.rank, ends->side.group, key, items, 2);
}

static void fill(struct ends *ends, int value) {
    cuda_ok(&ends->side, memory_set_async((uintptr_t)ends->out, (unsigned char)value, BYTES, ends->side.stream));
}

static void check_came(struct ends *ends, int value) {
    nccl_get(&ends->side, ends->shadow, ends->in, BYTES);
    for (int i = 0; i < BYTES; i++)
        rank_check(ends->side.rank, ends->shadow[i] == value, "byte %d is %d instead of %d", i, ends->shadow[i], value);
}

/* One round with a rank proves that both still work together. */
static void exchange_with(struct ends *ends, uint64_t key, int peer, int round) {
    quern_transfer *transfer = prepare(ends, key, peer, BYTES);
    fill(ends, 16 * round + ends->side.rank->rank);
    rank_ok(ends->side.rank, quern_transfer_start(transfer, ends->side.stream));
    rank_ok(ends->side.rank, quern_transfer_wait(transfer, 0));
    check_came(ends, 16 * round + peer);
    rank_ok(ends->side.rank, quern_transfer_destroy(transfer));
}

static quern_status start_and_wait(struct ends *ends, quern_transfer *transfer, double timeout) {
    const quern_status status = quern_transfer_start(transfer, ends->side.stream);
    return status == QUERN_OK ? quern_transfer_wait(transfer, timeout) : status;
}

/* ---- lists ---- */

TEST_ENDS(nccl_transfer, empty_lists_and_items, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    quern_transfer *none = transfer_prepare(rank, ends->side.group, 1, NULL, 0);
    quern_transfer *empty = prepare(ends, 2, !rank->rank, 0);
    for (int round = 0; round < 3; round++) {
        rank_ok(rank, start_and_wait(ends, none, 0));
        rank_ok(rank, start_and_wait(ends, empty, 0));
    }
    rank_check(rank, nccl_ask("quern_standin_operations") == 0, "NCCL has %ld operations", nccl_ask("quern_standin_operations"));
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(none));
    rank_ok(rank, quern_transfer_destroy(empty));
}

/* More than a group of NCCL takes: 2,049 messages, the last one alone. */
TEST_RANKS(nccl_transfer, more_than_a_group_takes, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    enum { MANY = 2049, EACH = 8 };
    struct nccl_side side;
    static quern_transfer_item items[MANY];
    static unsigned char bytes[MANY * EACH];
    nccl_open(&side, rank, 60);
    unsigned char *memory = nccl_allocate(&side, MANY * EACH);
    for (int i = 0; i < MANY; i++) {
        const int at = rank->rank ? MANY - 1 - i : i;  /* in opposite orders */
        items[i] = transfer_item(rank->rank, !rank->rank, (uint64_t)at * 3, memory + at * EACH, EACH);
    }
    for (int i = 0; i < MANY * EACH; i++) bytes[i] = rank->rank ? 0 : (unsigned char)(i / EACH * 7 + i);
    nccl_put(&side, memory, bytes, MANY * EACH);
    quern_transfer *transfer = transfer_prepare(rank, side.group, KEY, items, MANY);
    rank_ok(rank, quern_transfer_start(transfer, side.stream));
    rank_ok(rank, quern_transfer_wait(transfer, 0));
    nccl_get(&side, bytes, memory, MANY * EACH);
    for (int i = 0; i < MANY * EACH; i++)
        rank_check(rank, bytes[i] == (unsigned char)(i / EACH * 7 + i), "byte %d is %d", i, bytes[i]);
    rank_check(rank, nccl_ask("quern_standin_operations") == MANY, "NCCL has %ld operations", nccl_ask("quern_standin_operations"));
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
    nccl_release(&side, memory);
    return nccl_close(&side);
}

/* Two windows on one base: sends may overlap each other.  And copies within the rank beside them. */
TEST_ENDS(nccl_transfer, two_windows_on_one_base, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    const int peer = !rank->rank;
    char *out = ends->out, *in = ends->in;
    const quern_transfer_item items[] = {
        transfer_item(0, peer, 1, out, 3000), transfer_item(0, peer, 2, out + 1000, 1000), transfer_item(1, peer, 2, in, 1000),
        transfer_item(1, rank->rank, 1, in + 4000, 1000), transfer_item(0, rank->rank, 1, out + 500, 1000),
        transfer_item(1, peer, 1, in + 1000, 3000),
    };
    quern_transfer *transfer = transfer_prepare(rank, ends->side.group, KEY, items, 6);
    for (int round = 1; round <= 3; round++) {
        delay_stream(&ends->side);
        fill(ends, round * 16 + rank->rank);
        rank_ok(rank, start_and_wait(ends, transfer, 0));
        nccl_get(&ends->side, ends->shadow, ends->in, BYTES);
        for (int i = 0; i < BYTES; i++)
            rank_check(rank, ends->shadow[i] == round * 16 + (i < 4000 ? peer : rank->rank), "byte %d is %d", i, ends->shadow[i]);
    }
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* A destroy waits for the copies within the rank, which wait for the engine's stream. */
TEST_ENDS(nccl_transfer, a_destroy_waits_for_own_copies, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    const quern_transfer_item items[] = {transfer_item(1, rank->rank, 1, ends->in, BYTES),
                                         transfer_item(0, rank->rank, 1, ends->out, BYTES)};
    quern_transfer *transfer = transfer_prepare(rank, ends->side.group, KEY, items, 2);
    fill(ends, 3);
    rank_ok(rank, start_and_wait(ends, transfer, 0));
    delay_stream(&ends->side);
    fill(ends, 5);
    rank_ok(rank, quern_transfer_start(transfer, ends->side.stream));
    rank_ok(rank, quern_transfer_destroy(transfer));
    check_came(ends, 5);  /* nothing is written later */
}

/* Each rank starts two lists of each of the others in an order of its own: no order is a deadlock. */
TEST_RANKS(nccl_transfer, any_order_of_starts, .kind = RANK_PROCESSES, .count = 3, .hosts = 3, .nccl = "") {
    struct ends ends[4];
    quern_transfer *transfer[4] = {NULL};
    open_all_ends(rank, ends, 4);
    const int peers[] = {(rank->rank + 1) % 3, (rank->rank + 2) % 3};
    for (int i = 0; i < 4; i++)
        transfer[i] = prepare(&ends[i], (uint64_t)(i % 2 * 10 + rank->rank + peers[i / 2]), peers[i / 2], BYTES);
    for (int round = 1; round <= 4; round++) {
        for (int i = 0; i < 4; i++) {
            const int at = (i * (rank->rank % 2 ? 3 : 1) + rank->rank + round) % 4;
            fill(&ends[at], round * 16 + at % 2 * 8 + rank->rank);
            rank_ok(rank, quern_transfer_start(transfer[at], ends[at].side.stream));
        }
        for (int i = 0; i < 4; i++) {
            rank_ok(rank, quern_transfer_wait(transfer[i], 0));
            check_came(&ends[i], round * 16 + i % 2 * 8 + peers[i / 2]);
        }
    }
    rank_line_up(rank);
    for (int i = 0; i < 4; i++) rank_ok(rank, quern_transfer_destroy(transfer[i]));
    return close_all_ends(ends, 4);
}

/* What begins together on both ends is one group of NCCL, both directions in it. */
TEST_RANKS(nccl_transfer, a_batch_is_one_group, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    enum { LISTS = 3 };
    struct ends ends[LISTS];
    quern_transfer *transfer[LISTS];
    open_all_ends(rank, ends, LISTS);
    for (int i = 0; i < LISTS; i++) transfer[i] = prepare(&ends[i], 20 + (uint64_t)i, !rank->rank, BYTES);
    for (int round = 1; round <= 4; round++) {
        const long before = nccl_ask("quern_standin_groups");
        rank_ok(rank, quern_transfer_begin(ends[0].side.group));
        for (int i = 0; i < LISTS; i++) {
            const int at = rank->rank ? LISTS - 1 - i : i;
            fill(&ends[at], round * 16 + at * 2 + rank->rank);
            rank_ok(rank, quern_transfer_start(transfer[at], ends[at].side.stream));
        }
        rank_ok(rank, quern_transfer_end(ends[0].side.group));
        for (int i = 0; i < LISTS; i++) {
            rank_ok(rank, quern_transfer_wait(transfer[i], 0));
            check_came(&ends[i], round * 16 + i * 2 + !rank->rank);
        }
        rank_check(rank, nccl_ask("quern_standin_groups") == before + 1, "round %d took %ld groups", round,
                   nccl_ask("quern_standin_groups") - before);
    }
    rank_line_up(rank);
    for (int i = 0; i < LISTS; i++) rank_ok(rank, quern_transfer_destroy(transfer[i]));
    return close_all_ends(ends, LISTS);
}

/* The engine destroys its stream between the start and the wait. */
TEST_ENDS(nccl_transfer, a_stream_that_the_engine_destroys, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    quern_transfer *transfer = prepare(ends, KEY, !rank->rank, BYTES);
    for (int round = 1; round <= 3; round++) {
        const CUstream kept = ends->side.stream;
        cuda_ok(&ends->side, stream_create(&ends->side.stream, CU_STREAM_NON_BLOCKING));
        delay_stream(&ends->side);
        fill(ends, round * 16 + rank->rank);
        rank_ok(rank, quern_transfer_start(transfer, ends->side.stream));
        cuda_ok(&ends->side, stream_destroy(ends->side.stream));
        ends->side.stream = kept;
        rank_ok(rank, quern_transfer_wait(transfer, 0));
        check_came(ends, round * 16 + !rank->rank);
    }
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

TEST_ENDS(nccl_transfer, a_capture_is_refused, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    quern_transfer *transfer = prepare(ends, KEY, !rank->rank, BYTES);
    nccl_begin_capture(&ends->side);
    rank_refused(rank, quern_transfer_start(transfer, ends->side.stream), QUERN_NOT_SUPPORTED, "the stream is being captured");
    nccl_end_capture(&ends->side);
    fill(ends, 5 + rank->rank);
    rank_ok(rank, start_and_wait(ends, transfer, 0));
    check_came(ends, 5 + !rank->rank);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* A stream of another GPU. */
TEST_RANKS(nccl_transfer, a_stream_of_another_gpu, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .nccl = "") {
    struct ends ends;
    quern_device *other;
    CUcontext popped;
    CUstream stream;
    open_ends(rank, &ends);
    rank_ok(rank, quern_device_open(QUERN_CUDA, 5, &other));
    cuda_ok(&ends.side, context_push(other->context));
    cuda_ok(&ends.side, stream_create(&stream, CU_STREAM_NON_BLOCKING));
    cuda_ok(&ends.side, context_pop(&popped));
    quern_transfer *transfer = prepare(&ends, KEY, !rank->rank, BYTES);
    rank_refused(rank, quern_transfer_start(transfer, stream), QUERN_INVALID_ARGUMENT, "the stream is of another context");
    cuda_ok(&ends.side, stream_destroy(stream));
    quern_device_close(other);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
    return close_ends(&ends);
}

/* ---- ranks that differ ---- */

static quern_status differ(struct rank *rank) {
    struct ends ends;
    open_ends(rank, &ends);
    quern_transfer *transfer = prepare(&ends, KEY, !rank->rank, rank->rank ? 100 : 104);
    const long before = nccl_ask("quern_standin_operations");
    rank_status(rank, start_and_wait(&ends, transfer, 0), QUERN_PEER_MISMATCH);
    rank_check_detail(rank, "rank 0 sends 104 bytes with tag 4, and rank 1 expects 100");
    rank_ok(rank, quern_transfer_destroy(transfer));
    rank_check(rank, nccl_ask("quern_standin_operations") == before, "something was enqueued");
    exchange_with(&ends, KEY, !rank->rank, 1);
    rank_line_up(rank);
    return close_ends(&ends);
}

Test(nccl_transfer, lists_that_differ) { check_on(2, 2, RANK_PROCESSES, differ, NULL, ""); }

/* ---- ends of transfers ---- */

struct ending {
    const char *how;
    quern_status status;
    const char *detail;
};

/* Rank 1 ends its transfer; rank 0 has started it. */
static quern_status end_before_start(struct rank *rank) {
    const struct ending *ending = rank->user;
    struct ends ends;
    open_ends(rank, &ends);
    exchange_with(&ends, 99, !rank->rank, 1);
    quern_transfer *transfer = prepare(&ends, KEY, !rank->rank, BYTES);
    rank_line_up(rank);
    if (rank->rank == 1) {
        rank_sleep(0.05);
        if (!strcmp(ending->how, "cancel")) rank_ok(rank, quern_transfer_cancel(transfer, "the test's reason"));
        if (!strcmp(ending->how, "cancel")) rank_status(rank, quern_transfer_cancel(transfer, "twice"), QUERN_INVALID_ARGUMENT);
    } else {
        const double began = rank_now();
        rank_refused(rank, start_and_wait(&ends, transfer, strcmp(ending->how, "late") ? 0 : 0.3), ending->status, ending->detail);
        rank_check(rank, rank_now() - began < RANK_SOON, "after %g s", rank_now() - began);
    }
    if (!strcmp(ending->how, "late")) rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
    rank_line_up(rank);
    exchange_with(&ends, KEY, !rank->rank, 2);
    rank_ok(rank, quern_group_status(ends.side.group));
    rank_line_up(rank);
    return close_ends(&ends);
}

Test(nccl_transfer, ends_before_the_start) {
    static const struct ending endings[] = {
        {"cancel", QUERN_GROUP_ABORTED, "rank 1 has cancelled the transfer: the test's reason"},
        {"destroy", QUERN_PEER_LOST, "rank 1 has destroyed its transfer"},
        {"late", QUERN_PEER_TIMEOUT, "which has not started it"},
    };
    for (size_t i = 0; i < COUNT(endings); i++) check_on(2, 2, RANK_PROCESSES, end_before_start, &endings[i], "");
}

/* A transfer that NCCL never ends, at either rank, is cancelled by rank 1, or both wait until the limit. */
static quern_status end_in_flight(struct rank *rank) {
    const struct ending *ending = rank->user;
    struct ends ends;
    open_ends(rank, &ends);
    exchange_with(&ends, 99, !rank->rank, 1);
    quern_transfer *transfer = prepare(&ends, KEY, !rank->rank, BYTES);
    rank_line_up(rank);
    const double began = rank_now();
    rank_ok(rank, quern_transfer_start(transfer, ends.side.stream));
    if (rank->rank == 1 && strcmp(ending->how, "late")) {
        for (int32_t done = 0; rank_now() < began + 1.5;) rank_ok(rank, quern_transfer_test(transfer, &done));
        if (!strcmp(ending->how, "cancel")) rank_ok(rank, quern_transfer_cancel(transfer, "the test's reason"));
        fill(&ends, 200);  /* the memory is the rank's again */
    } else {
        rank_refused(rank, quern_transfer_wait(transfer, strcmp(ending->how, "late") ? 0 : 3), ending->status, ending->detail);
        rank_check(rank, rank_now() - began < RANK_SOON, "after %g s", rank_now() - began);
    }
    rank_ok(rank, quern_transfer_destroy(transfer));
    rank_line_up(rank);
    for (int round = 2; round < 4; round++) exchange_with(&ends, KEY, !rank->rank, round);  /* by a new communicator */
    rank_ok(rank, quern_group_status(ends.side.group));
    rank_line_up(rank);
    return close_ends(&ends);
}

/* The second group of the first communicator of the pair, behind that of the group. */
Test(nccl_transfer, ends_in_flight) {
    static const struct ending endings[] = {
        {"cancel", QUERN_GROUP_ABORTED, "rank 1 has cancelled the transfer: the test's reason"},
        {"destroy", QUERN_PEER_LOST, "rank 1 has destroyed its transfer"},
        {"late", QUERN_PEER_TIMEOUT, "waited "},
    };
    static const char *const settings[] = {"run:hang~2@0#2!2", "run:hang~2@1#2!2", "group:hang~2@0#2!2", "group:hang~2@1#2!2"};
    for (size_t i = 0; i < COUNT(endings); i++)
        for (size_t j = 0; j < COUNT(settings); j++)
            check_on(2, 2, RANK_PROCESSES, end_in_flight, &endings[i], settings[j]);
}

/* Rank 0 has enqueued and cancels before rank 1, which sleeps, has: rank 1 hears all of it at once. */
TEST_ENDS(nccl_transfer, an_end_of_a_flight_that_the_other_has_not_begun, .kind = RANK_PROCESSES, .count = 2, .hosts = 2,
           .nccl = "") {
    int32_t done;
    exchange_with(ends, 99, !rank->rank, 1);
    quern_transfer *transfer = prepare(ends, KEY, !rank->rank, BYTES);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_start(transfer, ends->side.stream));
    const double began = rank_now();
    while (rank->rank == 0 && rank_now() < began + 0.1) rank_ok(rank, quern_transfer_test(transfer, &done));
    if (rank->rank == 0) {
        rank_ok(rank, quern_transfer_cancel(transfer, "the test's reason"));
    } else {
        rank_sleep(0.5);
        rank_status(rank, quern_transfer_wait(transfer, 0), QUERN_GROUP_ABORTED);
        rank_check_detail(rank, "rank 0 has cancelled the transfer: the test's reason");
    }
    rank_check(rank, rank_now() - began < RANK_SOON, "after %g s", rank_now() - began);
    rank_ok(rank, quern_transfer_destroy(transfer));
    exchange_with(ends, KEY, !rank->rank, 2);
    rank_line_up(rank);
}

/* A communicator that never becomes ready is given up with the first transfer that expires; the next one makes another. */
static quern_status expire_in_init(struct rank *rank) {
    struct ends ends;
    open_ends(rank, &ends);
    quern_transfer *transfer = prepare(&ends, KEY, !rank->rank, BYTES);
    rank_refused(rank, start_and_wait(&ends, transfer, 3), QUERN_PEER_TIMEOUT, "waited ");
    rank_ok(rank, quern_transfer_destroy(transfer));
    rank_line_up(rank);
    for (int round = 1; round < 3; round++) exchange_with(&ends, KEY, !rank->rank, round);
    rank_line_up(rank);
    return close_ends(&ends);
}

Test(nccl_transfer, a_communicator_that_never_is_ready) {
    check_on(2, 2, RANK_PROCESSES, expire_in_init, NULL, "init:hang!2@0");
    check_on(2, 2, RANK_PROCESSES, expire_in_init, NULL, "init:hang!2@1");
}

/* Rank 0 never gets its data, and the pair of ranks 1 and 2 does not notice. */
static quern_status fail_beside_others(struct rank *rank) {
    const struct ending *ending = rank->user;
    struct ends ends[2];
    open_all_ends(rank, ends, 2);
    quern_transfer *transfer = rank->rank < 2 ? prepare(&ends[0], KEY, !rank->rank, BYTES) : NULL;
    quern_status status = transfer ? quern_transfer_start(transfer, ends[0].side.stream) : QUERN_OK;
    if (rank->rank > 0)
        for (int round = 1; round < 4; round++) exchange_with(&ends[1], 50, 3 - rank->rank, round);
    if (transfer) {
        const double began = rank_now();
        if (status == QUERN_OK) status = quern_transfer_wait(transfer, RANK_LIMIT);
        rank_refused(rank, status, ending->status, ending->detail);
        rank_check(rank, rank_now() - began < RANK_SOON, "after %g s", rank_now() - began);
        rank_ok(rank, quern_transfer_destroy(transfer));
    }
    rank_ok(rank, quern_group_status(ends[0].side.group));
    rank_line_up(rank);
    return close_all_ends(ends, 2);
}

/* Of the pair of ranks 0 and 1 alone: on rank 0. */
Test(nccl_transfer, failures_of_nccl) {
    static const struct {
        const char *settings;
        struct ending ending;
    } rows[] = {
        {"id:fail=2#2", {"", QUERN_SYSTEM_ERROR, "ncclGetUniqueId: unhandled system error"}},
        {"init:fail=2~2%0", {"", QUERN_SYSTEM_ERROR, "ncclCommInitRankConfig: unhandled system error"}},
        {"group:fail=1~2%0", {"", QUERN_CUDA_ERROR, "ncclGroupEnd: unhandled cuda error"}},
        {"run:fail=6~2%0", {"", QUERN_PEER_LOST, "a transfer over NCCL: remote process exited"}},
        {"run:fail=3~2%0", {"", QUERN_CUDA_ERROR, "a transfer over NCCL: internal error"}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) check_on(3, 3, RANK_PROCESSES, fail_beside_others, &rows[i].ending, rows[i].settings);
}

/* ---- ends of ranks ---- */

/* Rank 1 ends at a stage, and rank 0 waits for its transfer with it. */
struct stage {
    const char *how, *when, *settings;
    quern_status status;
    const char *detail;
};

static quern_status end_of_rank_1(struct rank *rank) {
    const struct stage *stage = rank->user;
    struct ends ends;
    struct board *board = rank->shared;
    open_ends(rank, &ends);
    quern_transfer *transfer = strcmp(stage->when, "unprepared") || !rank->rank ? prepare(&ends, KEY, !rank->rank, BYTES) : NULL;
    rank_line_up(rank);
    if (rank->rank == 1) {
        const double until = rank_now() + 0.3;
        int32_t done = 0;
        if (!strcmp(stage->when, "started")) rank_ok(rank, quern_transfer_start(transfer, ends.side.stream));
        while (rank_now() < until && !strcmp(stage->when, "started")) rank_ok(rank, quern_transfer_test(transfer, &done));
        board->ended = rank_now();
        if (!strcmp(stage->how, "kill")) kill(getpid(), SIGKILL);
        if (!strcmp(stage->how, "abort")) rank_ok(rank, quern_group_abort(ends.side.group, "the test's reason"));
        if (!strcmp(stage->how, "abort")) rank_line_up(rank);  /* else the other rank may hear of the destroy first */
        rank_ok(rank, quern_transfer_destroy(transfer));
        return close_ends(&ends);
    }
    rank_refused(rank, start_and_wait(&ends, transfer, 0), stage->status, stage->detail);
    if (!strcmp(stage->how, "abort")) rank_line_up(rank);
    rank_check(rank, board->ended > 0 && rank_now() - board->ended < RANK_SOON, "%g s after the end", rank_now() - board->ended);
    rank_ok(rank, quern_transfer_destroy(transfer));
    const double began = rank_now();
    const quern_status status = close_ends(&ends);
    rank_check(rank, rank_now() - began < RANK_SOON, "the group took %g s to end", rank_now() - began);
    return status;
}

static void check_stage(rank_function *function, const struct stage *stage) {
    const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = function,
                                                  .user = stage, .nccl = stage->settings,
                                                  .may_die = strcmp(stage->how, "kill") ? 0 : 1 << 1});
    check(!wrong, "%s %s with \"%s\": %s", stage->how, stage->when, stage->settings, wrong);
}

Test(nccl_transfer, ends_of_ranks) {
    static const struct stage stages[] = {
        {"kill", "unprepared", "", QUERN_PEER_LOST, "rank 1 (process"},
        {"kill", "prepared", "", QUERN_PEER_LOST, "rank 1 (process"},
        {"kill", "started", "init:hang!2@0", QUERN_PEER_LOST, "rank 1 (process"},
        {"kill", "started", "init:hang!2@1", QUERN_PEER_LOST, "rank 1 (process"},
        {"kill", "started", "group:hang~2@1", QUERN_PEER_LOST, "rank 1 (process"},
        {"kill", "started", "run:hang~2@1", QUERN_PEER_LOST, "rank 1 (process"},
        {"kill", "started", "run:hang~2@0", QUERN_PEER_LOST, "rank 1 (process"},
        {"abort", "prepared", "", QUERN_GROUP_ABORTED, "the test's reason"},
        {"abort", "started", "run:hang~2@1", QUERN_GROUP_ABORTED, "the test's reason"},
        {"leave", "unprepared", "", QUERN_PEER_LOST, "rank 1 (process"},
        {"leave", "started", "run:hang~2@0", QUERN_PEER_LOST, "rank 1 has destroyed its transfer"},
    };
    for (size_t i = 0; i < COUNT(stages); i++) check_stage(end_of_rank_1, &stages[i]);
}

/* Rank 0 waits for its whole GPU, where NCCL waits for rank 1: nobody is in a call of the library. */
static quern_status wait_for_gpu(struct rank *rank) {
    struct ends ends;
    struct board *board = rank->shared;
    int32_t done = 0;
    open_ends(rank, &ends);
    quern_transfer *transfer = prepare(&ends, KEY, !rank->rank, BYTES);
    rank_ok(rank, quern_transfer_start(transfer, ends.side.stream));
    while (nccl_ask("quern_standin_groups") == 0 || (rank->rank && !__atomic_load_n(&board->word[0], __ATOMIC_ACQUIRE)))
        rank_ok(rank, quern_transfer_test(transfer, &done));
    const double until = rank_now() + 0.2;               /* the group has become an operation of the stream */
    while (rank_now() < until) rank_ok(rank, quern_transfer_test(transfer, &done));
    rank_check(rank, !done, "the transfer is complete");
    __atomic_store_n(&board->word[rank->rank], 1, __ATOMIC_RELEASE);
    if (rank->rank == 1) {
        board->ended = rank_now();
        kill(getpid(), SIGKILL);
    }
    cuda_ok(&ends.side, context_synchronize());
    rank_check(rank, board->ended > 0 && rank_now() - board->ended < RANK_SOON, "%g s after the end", rank_now() - board->ended);
    rank_refused(rank, quern_transfer_wait(transfer, 0), QUERN_PEER_LOST, "rank 1 (process");
    rank_ok(rank, quern_transfer_destroy(transfer));
    return close_ends(&ends);
}

Test(nccl_transfer, the_watcher_ends_what_hangs) {
    check_stage(wait_for_gpu, &(struct stage){"kill", "started", "run:hang~2@1", QUERN_PEER_LOST, ""});
}

/* ---- ends that cross ---- */

/* Either rank cancels or destroys at any time, alone or in a batch; the other one always hears of it, and the next one works. */
static quern_status end_at_random(struct rank *rank) {
    struct ends ends[2];
    open_all_ends(rank, ends, 2);
    for (uint64_t turn = 0; turn < 60; turn++) {
        const bool batch = random_below(3, turn * 8, 2), ends_it = (int)random_below(3, turn * 8 + 1, 2) == rank->rank;
        const int64_t way = random_below(3, turn * 8 + 2, 2), delay = random_below(3, turn * 8 + 3, 4) * 60;
        quern_transfer *transfer[2] = {prepare(&ends[0], 1, !rank->rank, BYTES), prepare(&ends[1], 2, !rank->rank, BYTES)};
        if (batch) rank_ok(rank, quern_transfer_begin(ends[0].side.group));
        for (int i = 0; i < 2; i++) fill(&ends[i], (int)(turn * 4) % 240 + i * 2 + rank->rank);
        for (int i = 0; i < 2; i++) {
            const quern_status status = quern_transfer_start(transfer[i], ends[i].side.stream);
            rank_check(rank, status == QUERN_OK || status == QUERN_GROUP_ABORTED || status == QUERN_PEER_LOST, "%d", status);
        }
        if (batch) rank_ok(rank, quern_transfer_end(ends[0].side.group));
        if (ends_it) {
            rank_sleep((double)delay * 1e-6);
            if (way) quern_transfer_cancel(transfer[0], NULL);
            else rank_ok(rank, quern_transfer_destroy(transfer[0]));
        }
        for (int i = 0; i < 2; i++) {
            if (ends_it && !i) continue;
            const quern_status status = quern_transfer_wait(transfer[i], RANK_SOON);
            const bool may_fail = i == 0 || batch;
            rank_check(rank, status == QUERN_OK || (may_fail && (status == QUERN_GROUP_ABORTED || status == QUERN_PEER_LOST)),
                       "turn %d, transfer %d: %s", (int)turn, i, quern_status_string(status));
            if (status == QUERN_OK) check_came(&ends[i], (int)(turn * 4) % 240 + i * 2 + !rank->rank);
        }
        for (int i = 0; i < 2; i++)
            if (!(ends_it && !i && !way)) rank_ok(rank, quern_transfer_destroy(transfer[i]));
        if (turn % 10 == 9) exchange_with(&ends[0], 9, !rank->rank, 1);
        rank_line_up(rank);
    }
    rank_ok(rank, quern_group_status(ends[0].side.group));
    rank_line_up(rank);
    return close_all_ends(ends, 2);
}

Test(nccl_transfer, ends_that_cross) {
    for (size_t kind = 0; kind < COUNT(rank_kinds); kind++) check_on(2, 2, rank_kinds[kind], end_at_random, NULL, "");
    check_on(2, 2, RANK_PROCESSES, end_at_random, NULL, "group:delay=1,run:delay=1,init:delay=5");
}
