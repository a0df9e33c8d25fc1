/*
 * Streams of the engine that wait for transfers (quern_transfer_wait_on) while no host does: within a host straight and through a
 * bounce buffer, and over NCCL.
 *
 * Runs on: one emulated.
 */
#include "harness/check.h"
#include "harness/gpu_transfer.h"
#include "runtime/device.h"

enum { STAGES = 4, STEPS = 16, BYTES = 5000, TAG = 4, MOST_WAITS = 1024 };

static quern_transfer *prepare(const struct gpu_end *end, uint64_t key, int receive, int peer, void *memory, double timeout) {
    const quern_transfer_item item = transfer_item(receive, peer, TAG, memory, BYTES);
    const quern_transfer_args args = TRANSFER_ARGS(.items = &item, .item_count = 1, .key = key, .timeout = timeout);
    quern_transfer *transfer = NULL;
    rank_ok(end->side.rank, quern_transfer_prepare(end->side.group, &args, &transfer));
    return transfer;
}

static void begin(const struct gpu_end *end, quern_transfer *transfer) {
    rank_ok(end->side.rank, quern_transfer_start(transfer, end->side.stream));
}

static void await(const struct gpu_end *end, quern_transfer *transfer, uint32_t *status) {
    rank_ok(end->side.rank, quern_transfer_wait_on(transfer, end->side.stream, status));
}

static void finish(const struct gpu_end *end) { cuda_ok(&end->side, stream_synchronize(end->side.stream)); }

static void fill(const struct gpu_end *end, void *memory, int value) {
    cuda_ok(&end->side, memory_set_async((uintptr_t)memory, (unsigned char)value, BYTES, end->side.stream));
}

static void check_word(struct gpu_end *end, const uint32_t *memory, uint32_t expected) {
    uint32_t word;
    nccl_get(end, &word, memory, sizeof word);
    rank_check(end->side.rank, word == expected, "the GPU has found %u, and not %u", word, expected);
}

static void let(int *word) { __atomic_store_n(word, 1, __ATOMIC_RELEASE); }

/* ---- the ways between ranks, with threads that move the transfers ---- */

struct way {
    enum rank_kind kind;
    int hosts;
    enum gpu_memory memory;
    bool is_pinned;   /* GPUs do not reach each other */
    const void *row;  /* of a test's table */
};

static void check_ways(rank_body *body, int count, const void *row, uint64_t may_die) {
    static const struct way ways[] = {
        {RANK_THREADS, 0, GPU_PRIVATE, false, 0},    {RANK_PROCESSES, 0, GPU_PRIVATE, false, 0},
        {RANK_PROCESSES, 0, GPU_SYMMETRIC, false, 0}, {RANK_PROCESSES, 0, GPU_PRIVATE, true, 0},
        {RANK_PROCESSES, 2, GPU_PRIVATE, false, 0}};
    for (size_t i = may_die != 0; i < COUNT(ways); i++) {
        struct way way = ways[i];
        way.row = row;
        setenv("QUERN_EMULATOR_WAITS", "1", 1);
        setenv("QUERN_EMULATOR_PEERS", way.is_pinned ? "none" : "all", 1);
        setenv("QUERN_EMULATOR_HOST_POINTERS", way.is_pinned ? "other" : "same", 1);
        check_ranks(.kind = way.kind, .hosts = way.hosts, .count = count, .body = body, .user = &way, .nccl = "", .progress = true,
                    .may_die = may_die);
    }
}

static void open_end(struct rank *rank, struct gpu_end *end) {
    const struct way *way = rank->user;
    gpu_end_open(end, rank, way->memory);
}

static void close_end(struct rank *rank, struct gpu_end *end) {
    finish(end);
    rank_line_up(rank);
    rank_ok(rank, gpu_end_close(end));
}

/* A test whose ranks have an end, in each way. */
#define TEST_WAYS(suite, name, count) \
    static void suite##_##name##_with(struct rank *rank, struct gpu_end *end); \
    static void suite##_##name##_of_rank(struct rank *rank) { \
        struct gpu_end end; \
        open_end(rank, &end); \
        suite##_##name##_with(rank, &end); \
        close_end(rank, &end); \
    } \
    Test(suite, name) { check_ways(suite##_##name##_of_rank, count, NULL, 0); } \
    static void suite##_##name##_with(struct rank *rank, struct gpu_end *end)

/* ---- a pipeline ---- */

struct pipeline {
    int is_let;
    unsigned tickets, ticket[STAGES][STEPS];
};

struct stamp {
    struct pipeline *pipeline;
    int stage, step;
};

static void stamp(void *user) {
    const struct stamp *stamp = user;
    struct pipeline *pipeline = stamp->pipeline;
    pipeline->ticket[stamp->stage][stamp->step] = __atomic_add_fetch(&pipeline->tickets, 1, __ATOMIC_ACQ_REL);
}

struct stage {
    struct gpu_end *end;
    void *in, *out, *last;
    uint32_t *status;  /* [STEPS] */
    quern_transfer *received[STEPS], *sent[STEPS];
    struct stamp stamps[STEPS];
};

static void open_stage(struct stage *stage, struct rank *rank) {
    struct gpu_end *end = stage->end;
    stage->in = end->place.make(end, BYTES), stage->out = end->place.make(end, BYTES);
    stage->last = nccl_allocate(end, STEPS), stage->status = nccl_allocate(end, sizeof(uint32_t[STEPS]));
    cuda_ok(&end->side, memory_set_async((uintptr_t)stage->status, 0xee, sizeof(uint32_t[STEPS]), end->side.stream));
    for (int step = 0; step < STEPS; step++) {
        const uint64_t key = (uint64_t)(rank->rank * STEPS + step);
        stage->stamps[step] = (struct stamp){rank->shared, rank->rank, step};
        if (rank->rank) stage->received[step] = prepare(end, key, 1, rank->rank - 1, stage->in, 0);
        if (rank->rank + 1 < STAGES) stage->sent[step] = prepare(end, key + STEPS, 0, rank->rank + 1, stage->out, 0);
    }
}

/* The memory of a step is that of the one before, whose send the stream awaits. */
static void enqueue_step(struct stage *stage, int step) {
    const struct gpu_end *end = stage->end;
    const CUstream stream = end->side.stream;
    if (stage->received[step]) begin(end, stage->received[step]);
    if (stage->received[step]) await(end, stage->received[step], stage->status + step);
    if (step && stage->sent[step]) await(end, stage->sent[step - 1], NULL);
    nccl_enqueue(&end->side, stream, stamp, &stage->stamps[step]);
    if (stage->received[step])
        cuda_ok(&end->side, copy_on_device_async((uintptr_t)stage->out, (uintptr_t)stage->in, BYTES, stream));
    else
        fill(end, stage->out, step + 1);
    cuda_ok(&end->side, copy_on_device_async((uintptr_t)stage->last + (size_t)step, (uintptr_t)stage->out + BYTES - 1, 1, stream));
    if (stage->sent[step]) begin(end, stage->sent[step]);
}

static void check_steps(struct stage *stage, const struct pipeline *pipeline) {
    struct rank *rank = stage->end->side.rank;
    unsigned char last[STEPS];
    nccl_get(stage->end, last, stage->last, STEPS);
    for (int step = 0; step < STEPS; step++) {
        const unsigned *ticket = pipeline->ticket[rank->rank], ours = ticket[step];
        if (rank->rank) check_word(stage->end, stage->status + step, QUERN_OK);
        rank_check(rank, last[step] == step + 1, "step %d has the data of step %d", step, last[step] - 1);
        rank_check(rank, !step || ours > ticket[step - 1], "step %d is before the one before", step);
        rank_check(rank, ours > (rank->rank ? pipeline->ticket[rank->rank - 1][step] : 0), "step %d is before its data", step);
    }
}

static void close_stage(struct stage *stage) {
    struct rank *rank = stage->end->side.rank;
    for (int step = 0; step < STEPS; step++) {
        if (stage->sent[step]) rank_ok(rank, quern_transfer_wait(stage->sent[step], 0));
        if (stage->received[step]) rank_ok(rank, quern_transfer_wait(stage->received[step], 0));
    }
    rank_line_up(rank);
    for (int step = 0; step < STEPS; step++) {
        rank_ok(rank, quern_transfer_destroy(stage->sent[step]));
        rank_ok(rank, quern_transfer_destroy(stage->received[step]));
    }
    stage->end->place.free(stage->end, stage->in), stage->end->place.free(stage->end, stage->out);
    nccl_release(stage->end, stage->last), nccl_release(stage->end, stage->status);
}

/* Nothing has moved when all hosts have enqueued all: the first stream is held until then. */
TEST_WAYS(transfer_wait_on, a_pipeline_runs_without_its_hosts, STAGES) {
    struct pipeline *pipeline = rank->shared;
    struct stage stage = {.end = end};
    open_stage(&stage, rank);
    if (!rank->rank) gpu_hold(end, end->side.stream, &pipeline->is_let);
    for (int step = 0; step < STEPS; step++) enqueue_step(&stage, step);
    rank_line_up(rank);
    rank_check(rank, !__atomic_load_n(&pipeline->tickets, __ATOMIC_ACQUIRE), "a stream did not wait");
    rank_line_up(rank);
    if (!rank->rank) let(&pipeline->is_let);
    finish(end);
    check_steps(&stage, pipeline);
    close_stage(&stage);
}

/* ---- orders ---- */

/* The start of the transfer with the lower key is behind the wait for the other one, which only this rank knows. */
TEST_WAYS(transfer_wait_on, a_start_behind_a_wait, 2) {
    void *first = end->place.make(end, BYTES), *second = end->place.make(end, BYTES);
    quern_transfer *behind = prepare(end, 1, rank->rank, !rank->rank, first, 0);
    quern_transfer *before = prepare(end, 2, !rank->rank, !rank->rank, second, 0);
    if (rank->rank) {
        fill(end, second, 7);
        begin(end, behind), begin(end, before);
        await(end, behind, NULL);
    } else {
        begin(end, before), await(end, before, NULL);
        cuda_ok(&end->side, copy_on_device_async((uintptr_t)first, (uintptr_t)second, BYTES, end->side.stream));
        begin(end, behind);
    }
    finish(end);
    if (rank->rank) check_word(end, first, 0x07070707);
    rank_ok(rank, quern_transfer_wait(behind, 0));
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(behind)), rank_ok(rank, quern_transfer_destroy(before));
    end->place.free(end, first), end->place.free(end, second);
}

/* The host waits for what its stream starts behind a wait whose limit ends meanwhile. */
TEST_WAYS(transfer_wait_on, a_host_waits_behind_a_stream, 2) {
    char *memory = end->place.make(end, 2 * BYTES);
    quern_transfer *never = prepare(end, 1, rank->rank, !rank->rank, memory, rank->rank ? 0.2 : 0);
    quern_transfer *comes = prepare(end, 2, !rank->rank, !rank->rank, memory + BYTES, 0);
    if (rank->rank) begin(end, never), await(end, never, NULL);
    begin(end, comes);
    rank_ok(rank, quern_transfer_wait(comes, 0));
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(never)), rank_ok(rank, quern_transfer_destroy(comes));
    end->place.free(end, memory);
}

/* ---- failures ---- */

enum how { CANCELS, CANCELS_ITSELF, DESTROYS, ABORTS, NEVER_STARTS, IS_KILLED };

struct failure {
    enum how how;
    quern_status status;
};

static void fail_it(struct gpu_end *end, quern_transfer **transfer, enum how how) {
    struct rank *rank = end->side.rank;
    if (how == CANCELS) rank_ok(rank, quern_transfer_cancel(*transfer, "the test's reason"));
    if (how == ABORTS) rank_ok(rank, quern_group_abort(end->side.group, "the test's reason"));
    if (how == IS_KILLED) kill(getpid(), SIGKILL);
    if (how != DESTROYS) return;
    rank_ok(rank, quern_transfer_destroy(*transfer));
    *transfer = NULL;
}

/* The stream of rank 1 goes on, and finds the status; its host makes no call before, unless it cancels. */
static void fail_while_a_stream_waits(struct rank *rank) {
    struct gpu_end end;
    int32_t done;
    const struct failure *failure = ((const struct way *)rank->user)->row;
    open_end(rank, &end);
    const double limit = rank->rank && failure->how == NEVER_STARTS ? 0.2 : 0;
    uint32_t *status = nccl_allocate(&end, sizeof *status);
    void *memory = end.place.make(&end, BYTES);
    quern_transfer *transfer = prepare(&end, 1, rank->rank, !rank->rank, memory, limit);
    if (rank->rank) {
        cuda_ok(&end.side, memory_set_async((uintptr_t)status, 0, sizeof *status, end.side.stream));
        begin(&end, transfer), await(&end, transfer, status);
    }
    rank_line_up(rank);
    if (!rank->rank) fail_it(&end, &transfer, failure->how);
    if (rank->rank && failure->how == CANCELS_ITSELF) fail_it(&end, &transfer, CANCELS);
    if (rank->rank) {
        finish(&end);
        check_word(&end, status, failure->status);
        rank_status(rank, quern_transfer_test(transfer, &done), failure->status);
        rank_status(rank, quern_transfer_wait_on(transfer, end.side.stream, status), failure->status);
    }
    if (failure->how != IS_KILLED) rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
    end.place.free(&end, memory), nccl_release(&end, status);
    if (failure->how != IS_KILLED && failure->how != ABORTS) close_end(rank, &end);
    else nccl_close(&end.side);
}

Test(transfer_wait_on, a_failure_ends_the_wait_and_the_gpu_learns_of_it) {
    static const struct failure failures[] = {
        {CANCELS, QUERN_GROUP_ABORTED}, {CANCELS_ITSELF, QUERN_GROUP_ABORTED}, {DESTROYS, QUERN_PEER_LOST},
        {ABORTS, QUERN_GROUP_ABORTED},  {NEVER_STARTS, QUERN_PEER_TIMEOUT},    {IS_KILLED, QUERN_PEER_LOST}};
    for (size_t i = 0; i < COUNT(failures); i++)
        check_ways(fail_while_a_stream_waits, 2, &failures[i], failures[i].how == IS_KILLED ? 1 : 0);
}

/* Its end has calls that wait for the GPU: they come later. */
static void come_and_go(const struct gpu_end *end) {
    const quern_group_args args = GROUP_ARGS(.ranks = 1, .device = end->side.device);
    rank_ok(end->side.rank, quern_group_destroy(rank_create(end->side.rank, &args)));
}

/* Of two transfers that never come, the stream has come to the wait for the second one only, whose limit ends. */
TEST_WAYS(transfer_wait_on, the_limit_begins_when_the_stream_comes, 2) {
    CUstream other;
    int is_let = 0;
    uint32_t *status = nccl_allocate(end, 2 * sizeof *status);
    void *memory = end->place.make(end, 2 * BYTES);
    quern_transfer *held = prepare(end, 1, rank->rank, !rank->rank, memory, rank->rank ? 0.2 : 0);
    quern_transfer *never = prepare(end, 2, rank->rank, !rank->rank, (char *)memory + BYTES, rank->rank ? 0.2 : 0);
    cuda_ok(&end->side, stream_create(&other, CU_STREAM_NON_BLOCKING));
    if (rank->rank) {
        begin(end, held);
        gpu_hold(end, end->side.stream, &is_let);
        await(end, held, status);
        come_and_go(end);
        rank_ok(rank, quern_transfer_start(never, other));
        rank_ok(rank, quern_transfer_wait_on(never, other, status + 1));
        cuda_ok(&end->side, stream_synchronize(other));
        check_word(end, status + 1, QUERN_PEER_TIMEOUT);
    }
    rank_line_up(rank);
    if (!rank->rank) begin(end, held);
    rank_ok(rank, quern_transfer_wait(held, RANK_LIMIT));
    let(&is_let);
    finish(end);
    if (rank->rank) check_word(end, status, QUERN_OK);
    rank_line_up(rank);
    rank_ok(rank, quern_transfer_destroy(held)), rank_ok(rank, quern_transfer_destroy(never));
    cuda_ok(&end->side, stream_destroy(other));
    end->place.free(end, memory), nccl_release(end, status);
}

/* ---- a rank alone ---- */

static void refuse(const struct gpu_end *end, quern_transfer *transfer, CUstream stream, void *status, quern_status expected,
                   const char *detail) {
    rank_refused(end->side.rank, quern_transfer_wait_on(transfer, stream, status), expected, detail);
}

static quern_transfer *prepare_own(const struct gpu_end *end, char *memory) {
    const quern_transfer_item items[] = {transfer_item(0, 0, TAG, memory, BYTES), transfer_item(1, 0, TAG, memory + BYTES, BYTES)};
    return transfer_prepare(end->side.rank, end->side.group, 1, items, 2);
}

#define ALONE .kind = RANK_PROCESSES, .count = 1, .nccl = ""

/* Before a start, in a batch, and what the stream or the status must not be; nothing is enqueued by then. */
TEST_GPU_END(transfer_wait_on, refusals, ALONE, .progress = true) {
    quern_device *device;
    CUcontext popped;
    CUstream other;
    int is_let = 0;
    const CUstream stream = end->side.stream;
    char *memory = nccl_allocate(end, 2 * BYTES);
    quern_transfer *transfer = prepare_own(end, memory);
    rank_status(rank, quern_transfer_wait_on(NULL, stream, NULL), QUERN_NULL_POINTER);
    refuse(end, transfer, stream, NULL, QUERN_INVALID_ARGUMENT, "transfer 1 was not started");
    rank_ok(rank, quern_transfer_begin(end->side.group));
    begin(end, transfer);
    refuse(end, transfer, stream, NULL, QUERN_INVALID_ARGUMENT, "is part of an open batch");
    rank_ok(rank, quern_transfer_end(end->side.group));
    rank_ok(rank, quern_transfer_wait(transfer, 0));
    refuse(end, transfer, stream, memory + 1, QUERN_INVALID_ARGUMENT, "status is not at a multiple of 4 bytes");
    refuse(end, transfer, stream, &is_let, QUERN_INVALID_ARGUMENT, "status is no memory that CUDA knows: expected memory of ");
    nccl_begin_capture(&end->side);
    refuse(end, transfer, stream, NULL, QUERN_NOT_SUPPORTED, "the stream is being captured");
    nccl_end_capture(&end->side);
    rank_ok(rank, quern_device_open(QUERN_CUDA, 5, &device));
    cuda_ok(&end->side, context_push(device->context));
    cuda_ok(&end->side, stream_create(&other, CU_STREAM_NON_BLOCKING));
    cuda_ok(&end->side, context_pop(&popped));
    refuse(end, transfer, other, NULL, QUERN_INVALID_ARGUMENT, "the stream is of another context");
    cuda_ok(&end->side, stream_destroy(other));
    quern_device_close(device);
    gpu_hold(end, stream, &is_let);
    for (int i = 0; i < MOST_WAITS; i++) await(end, transfer, NULL);
    refuse(end, transfer, stream, NULL, QUERN_OUT_OF_MEMORY, "streams have 1024 waits before them");
    let(&is_let);
    finish(end);
    await(end, transfer, NULL);
    rank_ok(rank, quern_transfer_destroy(transfer));
    refuse(end, transfer, stream, NULL, QUERN_INVALID_ARGUMENT, "the transfer was destroyed before");
    nccl_release(end, memory);
}

/* The copy is held back at its start; the stream that waits has the bytes, and a status that is there already. */
TEST_GPU_END(transfer_wait_on, copies_within_a_rank, ALONE, .progress = true) {
    CUstream other;
    int is_let = 0;
    char *memory = nccl_allocate(end, 3 * BYTES);
    quern_transfer *transfer = prepare_own(end, memory);
    gpu_hold(end, end->side.stream, &is_let);
    fill(end, memory, 7);
    begin(end, transfer);
    cuda_ok(&end->side, stream_create(&other, CU_STREAM_NON_BLOCKING));
    for (int twice = 0; twice < 2; twice++) {
        rank_ok(rank, quern_transfer_wait_on(transfer, other, (uint32_t *)(memory + 2 * BYTES) + twice));
        cuda_ok(&end->side, copy_on_device_async((uintptr_t)memory + 2 * BYTES + 8, (uintptr_t)memory + BYTES, 4, other));
        let(&is_let);
        cuda_ok(&end->side, stream_synchronize(other));
        check_word(end, (uint32_t *)(memory + 2 * BYTES) + twice, QUERN_OK);
        check_word(end, (uint32_t *)(memory + 2 * BYTES) + 2, 0x07070707);
    }
    rank_ok(rank, quern_transfer_destroy(transfer));
    cuda_ok(&end->side, stream_destroy(other));
    nccl_release(end, memory);
}

TEST_GPU_END(transfer_wait_on, a_group_without_threads, ALONE) {
    char *memory = nccl_allocate(end, 2 * BYTES);
    quern_transfer *transfer = prepare_own(end, memory);
    begin(end, transfer);
    refuse(end, transfer, end->side.stream, NULL, QUERN_NOT_SUPPORTED, "expected progress = 1 in quern_group_args");
    rank_ok(rank, quern_transfer_destroy(transfer));
    nccl_release(end, memory);
}

/* What one of them waits for might be behind the wait. */
TEST_RANKS(transfer_wait_on, a_default_stream_that_ranks_share, .kind = RANK_THREADS, .count = 2, .nccl = "", .progress = true) {
    struct gpu_end end = {0};
    nccl_open_gpu(&end.side, rank, 0);
    quern_group_args args = nccl_args(&end.side, RANK_LIMIT);
    args.share_gpu = 1;
    rank_ok(rank, quern_group_create(&args, 1, &end.side.group));
    quern_transfer *transfer = transfer_prepare(rank, end.side.group, 1, NULL, 0);
    begin(&end, transfer);
    refuse(&end, transfer, NULL, NULL, QUERN_NOT_SUPPORTED, "the stream is the default stream of ");
    await(&end, transfer, NULL);
    rank_ok(rank, quern_transfer_destroy(transfer));
    finish(&end);
    return nccl_close(&end.side);
}

TEST_GROUP(transfer_wait_on, ranks_of_cpus, .kind = RANK_PROCESSES, .count = 1, .progress = true) {
    quern_transfer *transfer = transfer_prepare(rank, group, 1, NULL, 0);
    rank_ok(rank, quern_transfer_start(transfer, NULL));
    rank_refused(rank, quern_transfer_wait_on(transfer, NULL, NULL), QUERN_NOT_SUPPORTED, "expected quern_transfer_wait");
    rank_ok(rank, quern_transfer_destroy(transfer));
}
