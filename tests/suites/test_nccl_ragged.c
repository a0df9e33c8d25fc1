/*
 * Ragged all-to-alls of GPU ranks of several hosts, over the stand-in for NCCL: random cases against the oracle, how many messages
 * go, and what happens if metadata is wrong or NCCL fails.
 *
 * Runs on: one emulated.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#include "harness/check.h"
#include "harness/device.h"
#include "harness/nccl_side.h"
#include "harness/ragged_case.h"

enum { POOL = 5 << 19 };

static void check_on(int hosts, int ranks, rank_function *function, const void *user, const char *settings) {
    nccl_set_machine(settings);
    check_ranks(.kind = RANK_PROCESSES, .count = ranks, .hosts = hosts, .function = function, .user = user, .shared_bytes = 64);
}

static const struct {
    int hosts, ranks;
} shapes[] = {{2, 2}, {2, 3}, {3, 3}, {2, 4}, {4, 4}, {2, 8}};

static void check_shapes(rank_function *function, const void *user) {
    for (size_t i = 0; i < COUNT(shapes); i++) check_on(shapes[i].hosts, shapes[i].ranks, function, user, "");
}

/* ---- random cases ---- */

enum way { CALLED, CALLED_WITH_METADATA_ON_DEVICE, PLANNED };

struct batch {
    enum way way;
    uint64_t first;
    int cases;
    struct ragged_choice choice;
};

/* The emulator's device memory can be read and written by the host while nothing runs. */
static void open_bench(struct rank_bench *bench, struct nccl_side *side) {
    *bench = (struct rank_bench){.rank = side->rank, .group = side->group, .pool_bytes = POOL};
    for (int pool = 0; pool < POOLS; pool++) {
        CUdeviceptr memory;
        cuda_ok(side, memory_allocate(&memory, POOL));
        bench->pool[pool] = (unsigned char *)(uintptr_t)memory;
        bench->expected[pool] = calloc(1, POOL);
    }
}

static void close_bench(struct rank_bench *bench, struct nccl_side *side) {
    for (int pool = 0; pool < POOLS; pool++) {
        cuda_ok(side, memory_free((uintptr_t)bench->pool[pool]));
        free(bench->expected[pool]);
    }
}

/* The four arrays in device memory; what is to be freed. */
static CUdeviceptr move_metadata(struct nccl_side *side, const struct ragged_case *c, quern_ragged_all_to_all_args *args) {
    const void **arrays[] = {&args->input_offsets, &args->send_sizes, &args->output_offsets, &args->recv_sizes};
    const size_t bytes = (size_t)(c->count * c->updates) * (c->is_int64 ? 8 : 4);
    CUdeviceptr memory;
    cuda_ok(side, memory_allocate(&memory, 4 * bytes + 1));
    for (size_t i = 0; i < COUNT(arrays) && bytes; i++) {
        cuda_ok(side, copy_to_device_async(memory + i * bytes, *arrays[i], bytes, side->stream));
        *arrays[i] = (const void *)(uintptr_t)(memory + i * bytes);
    }
    args->metadata_on_device = 1;
    return memory;
}

static void call(struct nccl_side *side, const struct ragged_case *c, quern_ragged_all_to_all_args args, bool on_device) {
    CUdeviceptr memory = on_device ? move_metadata(side, c, &args) : 0;
    size_t bytes = 1;
    rank_ok(side->rank, quern_ragged_all_to_all_workspace(side->group, &args, &bytes));
    rank_check(side->rank, bytes == 0, "%zu bytes of workspace", bytes);
    rank_ok(side->rank, quern_ragged_all_to_all(side->group, &args, NULL, 0, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    if (on_device) cuda_ok(side, memory_free(memory));
}

static void run_case(struct nccl_side *side, struct rank_bench *bench, const struct ragged_case *c, enum way way) {
    struct ragged_arguments arguments CLOSED_BY(ragged_arguments_close);
    const int place = ragged_case_place(c, side->rank->rank);
    quern_ragged_plan *plan = NULL;
    void *workspace = NULL;
    size_t bytes = 0;
    ragged_arguments_open(&arguments, c, bench, place);
    if (way == PLANNED) rank_ok(side->rank, quern_ragged_plan_create(&side->group, 1, &arguments.args, &workspace, &bytes, &plan));
    for (int run = 0; run < (way == PLANNED ? 3 : 1); run++) {
        ragged_case_fill(c, bench, place, (uint64_t)run);
        if (way == PLANNED) rank_ok(side->rank, quern_ragged_plan_run(plan, side->stream));
        else call(side, c, arguments.args, way == CALLED_WITH_METADATA_ON_DEVICE);
        cuda_ok(side, stream_synchronize(side->stream));
        ragged_case_compare(c, bench, way == PLANNED ? "planned" : "called");
    }
    if (plan) rank_ok(side->rank, quern_ragged_plan_destroy(plan));
}

static quern_status run_batch(struct rank *rank) {
    const struct batch *batch = rank->user;
    struct nccl_side side;
    struct rank_bench bench;
    nccl_open(&side, rank, 30);
    open_bench(&bench, &side);
    for (int i = 0; i < batch->cases; i++) {
        struct ragged_case c CLOSED_BY(ragged_case_close);
        struct ragged_choice choice = batch->choice;
        choice.ranks = rank->ranks;
        choice.everyone = choice.not_in_place = true;
        ragged_case_open(&c, batch->first + (uint64_t)i, choice);
        run_case(&side, &bench, &c, batch->way);
    }
    rank_ok(rank, quern_group_status(side.group));
    close_bench(&bench, &side);
    return nccl_close(&side);
}

Test(nccl_ragged, random_calls) { check_shapes(run_batch, &(struct batch){CALLED, 61000, (int)test_size(8, 4), {0}}); }

Test(nccl_ragged, random_calls_with_metadata_on_the_device) {
    check_shapes(run_batch, &(struct batch){CALLED_WITH_METADATA_ON_DEVICE, 62000, (int)test_size(6, 3), {0}});
}

Test(nccl_ragged, random_plans) { check_shapes(run_batch, &(struct batch){PLANNED, 63000, (int)test_size(6, 3), {0}}); }

Test(nccl_ragged, delays_of_nccl_change_nothing) {
    check_on(2, 4, run_batch, &(struct batch){PLANNED, 64000, 2, {0}}, "group:delay=3,run:delay=5@1,linger=50");
}

/* ---- the number of messages ---- */

enum { UPDATES = 32, MANY = 3000, ROW = 4 };

/* Each rank sends `updates` rows to each; they lie `stride` rows apart in the output. */
struct stripes {
    int updates, stride;
    long messages;           /* to and from each other rank */
};

static quern_status send_stripes(struct rank *rank) {
    const struct stripes *stripes = rank->user;
    const int ranks = rank->ranks, entries = ranks * stripes->updates, rows = entries * stripes->stride;
    struct nccl_side side;
    CUdeviceptr input, output;
    quern_ragged_plan *plan;
    void *workspace = NULL;
    size_t none = 0;
    nccl_open(&side, rank, 60);
    cuda_ok(&side, memory_allocate(&input, (size_t)entries * ROW));
    cuda_ok(&side, memory_allocate(&output, (size_t)rows * ROW));
    int32_t *from = malloc(sizeof *from * (size_t)entries), *ones = malloc(sizeof *ones * (size_t)entries),
            *to = malloc(sizeof *to * (size_t)entries);
    for (int entry = 0; entry < entries; entry++) {
        const int update = entry % stripes->updates;
        from[entry] = entry, ones[entry] = 1, to[entry] = (rank->rank * stripes->updates + update) * stripes->stride;
        ((uint32_t *)(uintptr_t)input)[entry] = (uint32_t)(rank->rank << 24 | entry);
    }
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = (void *)(uintptr_t)input, args.output = (void *)(uintptr_t)output;
    args.input_rows = entries, args.output_rows = rows, args.row_bytes = ROW, args.updates = stripes->updates;
    args.input_offsets = from, args.output_offsets = to;
    args.send_sizes = args.recv_sizes = ones;
    rank_ok(rank, quern_ragged_plan_create(&side.group, 1, &args, &workspace, &none, &plan));
    const long before = nccl_ask("quern_standin_operations");
    rank_ok(rank, quern_ragged_plan_run(plan, side.stream));
    cuda_ok(&side, stream_synchronize(side.stream));
    const long operations = nccl_ask("quern_standin_operations") - before;
    rank_check(rank, operations == 2 * stripes->messages * (ranks - 1), "%ld operations", operations);
    for (int sender = 0; sender < ranks; sender++)
        for (int update = 0; update < stripes->updates; update++) {
            const uint32_t has = ((uint32_t *)(uintptr_t)output)[(sender * stripes->updates + update) * stripes->stride];
            const uint32_t expected = (uint32_t)(sender << 24 | (rank->rank * stripes->updates + update));
            rank_check(rank, has == expected, "update %d of rank %d is %x instead of %x", update, sender, has, expected);
        }
    rank_ok(rank, quern_ragged_plan_destroy(plan));
    cuda_ok(&side, memory_free(input));
    cuda_ok(&side, memory_free(output));
    free(from), free(ones), free(to);
    return nccl_close(&side);
}

Test(nccl_ragged, updates_that_follow_each_other_are_one_message) {
    check_on(2, 3, send_stripes, &(struct stripes){UPDATES, 1, 1}, "");
}

Test(nccl_ragged, updates_with_gaps_are_messages) { check_on(2, 3, send_stripes, &(struct stripes){UPDATES, 2, UPDATES}, ""); }

/* More than one group of NCCL holds: both ends divide them alike, or the stand-in ends the program. */
Test(nccl_ragged, many_messages) { check_on(2, 2, send_stripes, &(struct stripes){MANY, 2, MANY}, ""); }

/* ---- mistakes ---- */

/* One row from each to each. */
struct rows {
    CUdeviceptr input, output;
    int32_t at[NCCL_GPUS], sizes[NCCL_GPUS], received[NCCL_GPUS], to[NCCL_GPUS];
    quern_ragged_all_to_all_args args;
};

static void open_rows(struct rows *rows, struct nccl_side *side) {
    const int ranks = side->rank->ranks;
    *rows = (struct rows){.args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT};
    cuda_ok(side, memory_allocate(&rows->input, 8 * NCCL_GPUS));
    cuda_ok(side, memory_allocate(&rows->output, 8 * NCCL_GPUS));
    memset((void *)(uintptr_t)rows->input, side->rank->rank + 1, 8 * NCCL_GPUS);
    memset((void *)(uintptr_t)rows->output, 0xee, 8 * NCCL_GPUS);
    for (int peer = 0; peer < ranks; peer++)
        rows->at[peer] = peer, rows->sizes[peer] = rows->received[peer] = 1, rows->to[peer] = side->rank->rank;
    rows->args.input = (void *)(uintptr_t)rows->input, rows->args.output = (void *)(uintptr_t)rows->output;
    rows->args.input_rows = rows->args.output_rows = ranks, rows->args.row_bytes = 8;
    rows->args.input_offsets = rows->at, rows->args.send_sizes = rows->sizes;
    rows->args.output_offsets = rows->to, rows->args.recv_sizes = rows->received;
}

static void check_rows(const struct rows *rows, struct nccl_side *side, bool written) {
    const unsigned char *output = (const unsigned char *)(uintptr_t)rows->output;
    for (int i = 0; i < 8 * side->rank->ranks; i++)
        rank_check(side->rank, output[i] == (written ? i / 8 + 1 : 0xee), "byte %d is %d", i, output[i]);
}

static void close_rows(struct rows *rows, struct nccl_side *side) {
    cuda_ok(side, memory_free(rows->input));
    cuda_ok(side, memory_free(rows->output));
}

struct mistake {
    const char *name;
    quern_status status;
    const char *detail;
};

static const struct mistake mistakes[] = {
    {"size", QUERN_PEER_MISMATCH, "rank 1"},
    {"beyond", QUERN_INVALID_SHAPE, "rank 1"},
    {"updates", QUERN_PEER_MISMATCH, "updates"},
    {"negative", QUERN_INVALID_SHAPE, "rank 1"},
    {"place", QUERN_NOT_SUPPORTED, "args.output overlaps args.input"},
    {"null", QUERN_NULL_POINTER, "args.input is NULL"},
};

/* Every rank gets the error of rank 1, nothing is written, and the group can be used. */
TEST_RANKS(nccl_ragged, mistakes_reach_every_rank, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, RANKS_EACH(mistakes),
           .nccl = "") {
    const struct mistake *mistake = rank->user;
    struct nccl_side side;
    struct rows rows;
    quern_ragged_plan *plan;
    void *workspace = NULL;
    size_t none = 0;
    nccl_open(&side, rank, 20);
    open_rows(&rows, &side);
    const struct rows right = rows;
    if (rank->rank == 1) {
        if (!strcmp(mistake->name, "size")) rows.received[0] = 0;
        if (!strcmp(mistake->name, "beyond")) rows.at[2] = rank->ranks;
        if (!strcmp(mistake->name, "updates")) rows.args.updates = 0;
        if (!strcmp(mistake->name, "negative")) rows.sizes[0] = -1;
        if (!strcmp(mistake->name, "place")) rows.args.output = (void *)(uintptr_t)rows.input;
        if (!strcmp(mistake->name, "null")) rows.args.input = NULL;
    }
    rank_refused(rank, quern_ragged_all_to_all(side.group, &rows.args, NULL, 0, side.stream), mistake->status, mistake->detail);
    rank_status(rank, quern_ragged_plan_create(&side.group, 1, &rows.args, &workspace, &none, &plan), mistake->status);
    cuda_ok(&side, stream_synchronize(side.stream));
    check_rows(&rows, &side, false);
    memcpy(rows.at, right.at, sizeof right.at), memcpy(rows.sizes, right.sizes, sizeof right.sizes);
    memcpy(rows.received, right.received, sizeof right.received);
    rows.args.updates = 1, rows.args.input = right.args.input, rows.args.output = right.args.output;
    rank_ok(rank, quern_ragged_all_to_all(side.group, &rows.args, NULL, 0, side.stream));
    cuda_ok(&side, stream_synchronize(side.stream));
    check_rows(&rows, &side, true);
    close_rows(&rows, &side);
    return nccl_close(&side);
}

/* Some ranks in a plan, which all create. */
TEST_RANKS(nccl_ragged, some_ranks_in_a_plan, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "") {
    static const int members[] = {0, 2};
    struct nccl_side side;
    struct rows rows;
    quern_ragged_plan *plan;
    void *workspace = NULL;
    size_t none = 0;
    const bool is_member = rank->rank != 1;
    const int alone[] = {rank->rank};
    nccl_open(&side, rank, 20);
    open_rows(&rows, &side);
    rows.args.members = is_member ? members : alone;
    rows.args.member_count = is_member ? 2 : 1;
    for (int place = 0; place < 2; place++) rows.to[place] = rank->rank / 2;
    rank_status(rank, quern_ragged_all_to_all(side.group, &rows.args, NULL, 0, side.stream), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "takes some of its ranks in a plan only");
    rank_ok(rank, quern_ragged_plan_create(&side.group, 1, &rows.args, &workspace, &none, &plan));
    rank_ok(rank, quern_ragged_plan_run(plan, side.stream));
    cuda_ok(&side, stream_synchronize(side.stream));
    const unsigned char *output = (const unsigned char *)(uintptr_t)rows.output;
    for (int i = 0; i < (is_member ? 16 : 8); i++) {
        const int expected = is_member ? (i / 8) * 2 + 1 : 2;
        rank_check(rank, output[i] == expected, "byte %d is %d instead of %d", i, output[i], expected);
    }
    rank_ok(rank, quern_ragged_plan_destroy(plan));
    rank_ok(rank, quern_barrier(side.group, NULL, side.stream));
    close_rows(&rows, &side);
    return nccl_close(&side);
}

/* ---- failures ---- */

struct expected {
    quern_status status;
    const char *details[3];
    double limit;
    bool kills;               /* rank 1 ends its process */
};

static quern_status fail_in_exchange(struct rank *rank) {
    const struct expected *expected = rank->user;
    struct nccl_side side;
    struct rows rows;
    nccl_open(&side, rank, expected->limit);
    open_rows(&rows, &side);
    rows.args.timeout = expected->limit;
    rank_line_up(rank);
    const double began = rank_now();
    if (rank->rank == 1 && expected->kills) kill(getpid(), SIGKILL);
    quern_status status = quern_ragged_all_to_all(side.group, &rows.args, NULL, 0, side.stream);
    if (status == QUERN_OK) status = nccl_await_status(&side, 40);
    rank_status(rank, status, expected->status);
    for (size_t i = 0; i < COUNT(expected->details) && expected->details[i]; i++) rank_check_detail(rank, expected->details[i]);
    rank_check(rank, rank_now() - began < RANK_SOON, "after %g s", rank_now() - began);
    cuda_ok(&side, stream_synchronize(side.stream));
    close_rows(&rows, &side);
    return nccl_close(&side);
}

Test(nccl_ragged, failures_of_nccl) {
    static const struct {
        const char *settings;
        struct expected expected;
    } rows[] = {
        {"run:hang@1", {QUERN_PEER_TIMEOUT, {"waited", "an operation of NCCL"}, 4, false}},
        {"run:fail=6@2", {QUERN_PEER_LOST, {"rank 2: an operation of NCCL: remote process exited"}, 30, false}},
        {"group:fail=3@0", {QUERN_CUDA_ERROR, {"rank 0: ncclGroupEnd: internal error"}, 30, false}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) check_on(2, 3, fail_in_exchange, &rows[i].expected, rows[i].settings);
}

Test(nccl_ragged, a_process_that_is_killed) {
    static const struct expected lost = {QUERN_PEER_LOST, {"rank 1 (process"}, 30, .kills = true};
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 3, .function = fail_in_exchange, .user = &lost, .nccl = "",
                .may_die = 1 << 1);
}
