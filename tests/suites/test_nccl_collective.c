/*
 * Gathers and broadcasts of GPU ranks of several hosts, over the stand-in for NCCL: byte for byte, what is refused, and what
 * happens if NCCL fails or a rank ends.  Reductions: test_nccl_reduce.c.
 *
 * Runs on: one emulated.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "harness/check.h"
#include "harness/nccl_side.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MOST = 3000, GUARD = 64, ROOM = MOST * NCCL_GPUS + 2 * GUARD };

static void check_on(int hosts, int ranks, rank_function *function, const void *user, const char *settings) {
    nccl_set_machine(settings);
    check_ranks(.kind = RANK_PROCESSES, .count = ranks, .hosts = hosts, .function = function, .user = user, .shared_bytes = 64);
}

static unsigned char byte_of(int rank, int64_t round, int64_t at) {
    return (unsigned char)(rank * 37 + round * 11 + at + at / 251);
}

/* The emulator's device memory can be read and written by the host while nothing runs. */
struct memory {
    unsigned char *input, *output;
};

static void open_memory(struct memory *memory, struct nccl_side *side) {
    CUdeviceptr input, output;
    nccl_open(side, side->rank, 30);
    rank_ok(side->rank, quern_prepare(side->device, QUERN_COLLECTIVE));
    cuda_ok(side, memory_allocate(&input, ROOM));
    cuda_ok(side, memory_allocate(&output, ROOM));
    *memory = (struct memory){(unsigned char *)(uintptr_t)input, (unsigned char *)(uintptr_t)output};
}

static void fill(const struct memory *memory, int rank, int64_t round) {
    for (int64_t i = 0; i < ROOM; i++) memory->input[i] = byte_of(rank, round, i);
    memset(memory->output, 0xee, ROOM);
}

static quern_status close_memory(const struct memory *memory, struct nccl_side *side) {
    cuda_ok(side, memory_free((uintptr_t)memory->input));
    cuda_ok(side, memory_free((uintptr_t)memory->output));
    return nccl_close(side);
}

/* ---- the bytes ---- */

static void check_output(struct nccl_side *side, const unsigned char *output, int64_t bytes, int first, int64_t round) {
    for (int64_t i = 0; i < bytes; i++) {
        const unsigned char expected = byte_of(first + (int)(i / MOST), round, i % MOST);
        rank_check(side->rank, output[i] == expected, "round %lld: byte %lld is %d instead of %d", (long long)round, (long long)i,
                   output[i], expected);
    }
}

/* A piece of MOST bytes, in the dtype of the round. */
static quern_status gather_and_cast(struct rank *rank) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_BF16, QUERN_INT64};
    struct nccl_side side = {.rank = rank};
    struct memory memory;
    open_memory(&memory, &side);
    for (int round = 0; round < 12; round++) {
        quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
        const bool gathers = round % 2, in_place = round / 2 % 2;
        args.dtype = dtypes[round % 3], args.root = round % rank->ranks;
        args.count = MOST / (round % 3 == 0 ? 4 : round % 3 == 1 ? 2 : 8);
        fill(&memory, rank->rank, round);
        args.output = memory.output + GUARD;
        args.input = !in_place ? memory.input : (unsigned char *)args.output + (gathers ? rank->rank * MOST : 0);
        if (in_place) memcpy((void *)(uintptr_t)args.input, memory.input, MOST);
        rank_ok(rank, (gathers ? quern_all_gather : quern_broadcast)(side.group, &args, NULL, 0, side.stream));
        cuda_ok(&side, stream_synchronize(side.stream));
        check_output(&side, args.output, gathers ? rank->ranks * MOST : MOST, gathers ? 0 : args.root, round);
        for (int i = 0; i < GUARD; i++) rank_check(rank, memory.output[i] == 0xee, "byte %d before the output was written", i);
        rank_check(rank, memory.output[GUARD + (gathers ? rank->ranks : 1) * MOST] == 0xee, "a byte behind the output was written");
        args.count = 0;
        rank_ok(rank, quern_all_gather(side.group, &args, NULL, 0, side.stream));
    }
    return close_memory(&memory, &side);
}

Test(nccl_collective, gathers_and_broadcasts) {
    static const int shapes[][2] = {{2, 2}, {2, 3}, {3, 3}, {2, 4}, {4, 4}};
    for (size_t i = 0; i < COUNT(shapes); i++) check_on(shapes[i][0], shapes[i][1], gather_and_cast, NULL, "");
}

Test(nccl_collective, delays_of_nccl_change_nothing) {
    check_on(2, 4, gather_and_cast, NULL, "group:delay=3,run:delay=5@1,linger=50");
}

/* ---- what is refused ---- */

struct refusal {
    const char *name;
    quern_status status, own;   /* of all; of rank 1 */
    const char *detail;
};

/* All get the error, nothing is written, and the group stays usable. */
static quern_status refuse(struct rank *rank) {
    const struct refusal *refusal = rank->user;
    struct nccl_side side = {.rank = rank};
    struct memory memory;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    open_memory(&memory, &side);
    fill(&memory, rank->rank, 0);
    args.dtype = QUERN_F32, args.count = MOST / 4, args.input = memory.input, args.output = memory.output;
    const bool casts = !strcmp(refusal->name, "root");
    quern_collective_args wrong = args;
    if (rank->rank == 1 && !strcmp(refusal->name, "count")) wrong.count = 4;
    if (rank->rank == 1 && !strcmp(refusal->name, "dtype")) wrong.dtype = QUERN_INT32;
    if (rank->rank == 1 && !strcmp(refusal->name, "null")) wrong.output = NULL;
    if (rank->rank == 1 && casts) wrong.root = 2;
    rank_status(rank, (casts ? quern_broadcast : quern_all_gather)(side.group, &wrong, NULL, 0, side.stream),
                rank->rank == 1 ? refusal->own : refusal->status);
    rank_check_detail(rank, refusal->detail);
    cuda_ok(&side, stream_synchronize(side.stream));
    for (int i = 0; i < ROOM; i++) rank_check(rank, memory.output[i] == 0xee, "byte %d was written", i);
    rank_ok(rank, quern_all_gather(side.group, &args, NULL, 0, side.stream));
    cuda_ok(&side, stream_synchronize(side.stream));
    check_output(&side, memory.output, rank->ranks * MOST, 0, 0);
    return close_memory(&memory, &side);
}

Test(nccl_collective, refusals_reach_every_rank) {
    static const struct refusal refusals[] = {
        {"count", QUERN_PEER_MISMATCH, QUERN_PEER_MISMATCH, "args.count is 750 on rank 0 and 4 on rank 1"},
        {"dtype", QUERN_PEER_MISMATCH, QUERN_PEER_MISMATCH, "args.dtype is f32 on rank 0 and int32 on rank 1"},
        {"root", QUERN_PEER_MISMATCH, QUERN_PEER_MISMATCH, "args.root is 0 on rank 0 and 2 on rank 1"},
        {"null", QUERN_NULL_POINTER, QUERN_NULL_POINTER, "args.output is NULL"},
    };
    for (size_t i = 0; i < COUNT(refusals); i++) check_on(2, 3, refuse, &refusals[i], "");
}

/* ---- failures ---- */

struct expected {
    quern_status status;
    const char *detail;
    double limit;
    bool kills;               /* rank 1 ends its process */
};

static quern_status fail_in_gather(struct rank *rank) {
    const struct expected *expected = rank->user;
    struct nccl_side side = {.rank = rank};
    struct memory memory;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    open_memory(&memory, &side);
    args.dtype = QUERN_F32, args.count = MOST / 4, args.input = memory.input, args.output = memory.output;
    args.timeout = expected->limit;
    rank_line_up(rank);
    if (rank->rank == 1 && expected->kills) kill(getpid(), SIGKILL);
    quern_status status = quern_all_gather(side.group, &args, NULL, 0, side.stream);
    if (status == QUERN_OK) status = nccl_await_status(&side, RANK_SOON);
    rank_status(rank, status, expected->status);
    rank_check_detail(rank, expected->detail);
    cuda_ok(&side, stream_synchronize(side.stream));
    return close_memory(&memory, &side);
}

Test(nccl_collective, failures_of_nccl) {
    static const struct {
        const char *settings;
        struct expected expected;
    } rows[] = {
        {"run:hang@1", {QUERN_PEER_TIMEOUT, "an operation of NCCL", 4, false}},
        {"run:fail=6@2", {QUERN_PEER_LOST, "rank 2: an operation of NCCL: remote process exited", 30, false}},
        {"group:fail=3@0", {QUERN_CUDA_ERROR, "rank 0: ncclGroupEnd: internal error", 30, false}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) check_on(2, 3, fail_in_gather, &rows[i].expected, rows[i].settings);
}

Test(nccl_collective, a_process_that_is_killed) {
    static const struct expected lost = {QUERN_PEER_LOST, "rank 1 (process", 30, .kills = true};
    nccl_set_machine("");
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = 3, .hosts = 3, .function = fail_in_gather,
                                                       .user = &lost, .shared_bytes = 64});
    const char *wrong = ranks_wait(run, (bool[]){false, true, false});
    check(!wrong, "%s", wrong);
    ranks_close(run);
}
