/*
 * Groups of GPU ranks of several hosts whose GPUs have one NVLink fabric: they reach each other's memory by fabric handles.  The
 * hosts are names at addresses of this machine, and the emulator says which processes are of one clique.
 *
 * Runs on: one emulated.
 */
#include "harness/chunks_case.h"
#include "harness/collective_case.h"
#include "harness/cuda.h"
#include "harness/device.h"
#include "harness/gpu_transfer.h"
#include "harness/ragged_case.h"
#include "harness/random.h"
#include "ranks/membership.h"
#include "ranks/transfer/transfer.h"

#define FABRIC .nccl = "", .fabric = "one"

/* ---- barriers ---- */

TEST_SIDE(fabric, barriers, .kind = RANK_BOTH, .count = 4, .hosts = 2, FABRIC) {
    for (int i = 0; i < 20; i++) rank_ok(rank, quern_barrier(side->group, NULL, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    rank_ok(rank, quern_group_status(side->group));
    rank_check_report(rank, side->group, "hosts 0 and 1: GPU memory over a fabric\n");
}

/* ---- random calls ---- */

static const struct {
    int hosts, ranks;
} shapes[] = {{2, 2}, {2, 3}, {2, 4}, {4, 4}, {2, 8}};

static void run_shapes(enum rank_kind kind, rank_function *function, const void *user) {
    for (size_t i = 0; i < COUNT(shapes); i++)
        check_ranks(.kind = kind, .hosts = shapes[i].hosts, .count = shapes[i].ranks, .function = function, .user = user, FABRIC);
}

#define EXCHANGES(...) run_shapes(RANK_PROCESSES, ragged_run_batch, &(struct ragged_batch){__VA_ARGS__})

Test(fabric, random_collectives) {
    run_shapes(RANK_BOTH, collective_run_batch, &(struct collective_batch){.first = 3000, .cases = (int)test_size(40, 12)});
}

Test(fabric, random_exchanges) { EXCHANGES(.first = 4000, .cases = (int)test_size(8, 3)); }
Test(fabric, random_plans) { EXCHANGES(.first = 6000, .cases = (int)test_size(6, 2), .is_plan = true); }
Test(fabric, random_exchanges_with_metadata_on_the_device) {
    EXCHANGES(.first = 5000, .cases = (int)test_size(8, 3), .metadata_on_device = true);
}

/* ---- quantised chunks ---- */

static void run_chunks(struct rank_bench *bench, uint64_t seed) {
    const uint32_t value = (uint32_t)random_bits(seed, 9) | 1;
    struct chunks_case c CLOSED_BY(chunks_case_close);
    chunks_case_open(&c, seed, (struct chunks_choice){.ranks = bench->rank->ranks});
    chunks_case_fill(&c, bench, value, true);
    chunks_case_expect(&c, bench, value);
    rank_line_up(bench->rank);
    const bool is_member = chunks_case_place(&c, bench->rank->rank) >= 0;
    if (is_member) chunks_case_call(&c, bench, value);
    rank_bench_wait_for_all(bench);
    if (is_member) chunks_case_compare(&c, bench);
    rank_line_up(bench->rank);
}

TEST_BODY_FOR(fabric, random_chunks, for (size_t i = 0; i < COUNT(shapes); i++), .kind = RANK_PROCESSES, .hosts = shapes[i].hosts,
              .count = shapes[i].ranks, .operations = QUERN_BARRIER | QUERN_QUANTIZE | QUERN_COLLECTIVE, FABRIC) {
    struct rank_bench bench;
    rank_bench_open(&bench, rank, RANK_LIMIT, 1 << 18);
    for (int i = 0; i < (int)test_size(12, 5); i++) run_chunks(&bench, 7000 + (uint64_t)i);
    rank_bench_close(&bench);
}

/* ---- symmetric memory ---- */

static CUdeviceptr peer_of(struct nccl_side *side, const void *pointer, int rank) {
    void *peer;
    rank_ok(side->rank, quern_symmetric_peer(side->group, pointer, rank, &peer));
    return (uintptr_t)peer;
}

/* The word of rank `from` in a part. */
static CUdeviceptr word_of(struct nccl_side *side, const void *pointer, int rank, int from) {
    return peer_of(side, pointer, rank) + 4 * (CUdeviceptr)from;
}

static uint32_t word_at(struct nccl_side *side, CUdeviceptr place) {
    uint32_t word;
    cuda_ok(side, copy_to_host_async(&word, place, 4, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    return word;
}

/* Each rank writes a word into each part, and reads those of all others in all parts. */
static void check_reach(struct nccl_side *side, const void *pointer) {
    const int ranks = side->rank->ranks;
    for (int to = 0; to < ranks; to++)
        cuda_ok(side, memory_set_async(word_of(side, pointer, to, side->rank->rank), (unsigned char)(side->rank->rank + 1), 4,
                                       side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    rank_line_up(side->rank);
    for (int at = 0; at < ranks; at++)
        for (int from = 0; from < ranks; from++) {
            const uint32_t seen = word_at(side, word_of(side, pointer, at, from));
            rank_check(side->rank, seen == 0x01010101u * (uint32_t)(from + 1), "rank %d has written %x for rank %d", from,
                       seen, at);
        }
    rank_line_up(side->rank);
}

TEST_SIDE(fabric, every_rank_reaches_every_part, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, FABRIC) {
    size_t bytes = 4096 + 100000 * (size_t)rank->rank;
    void *mine;
    rank_ok(rank, quern_symmetric_alloc(&side->group, 1, &bytes, &mine));
    check_reach(side, mine);
    rank_refused(rank, quern_symmetric_peer(side->group, (char *)mine + 4096, 0, &(void *){NULL}), QUERN_INVALID_ARGUMENT,
                 rank->rank ? "the part of rank 0 has 4096 bytes" : "not in symmetric memory");
    rank_refused(rank, quern_symmetric_multicast(side->group, mine, &(void *){NULL}), QUERN_NOT_SUPPORTED, "no multicast");
    quern_device_view view = QUERN_DEVICE_VIEW_INIT;
    rank_ok(rank, quern_symmetric_view(side->group, (char *)mine + 8, &view));
    for (int peer = 0; peer < 4; peer++)
        rank_check(rank, (uintptr_t)view.peer[peer] == peer_of(side, mine, peer) + 8, "the view has another place of rank %d",
                   peer);
    rank_ok(rank, quern_symmetric_free(side->group, mine, side->stream));
    rank_status(rank, quern_symmetric_free(side->group, mine, side->stream), QUERN_INVALID_ARGUMENT);
}

/* A part that its owner has freed is there as long as another rank has it. */
TEST_SIDE(fabric, owners_free_before_the_others, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, FABRIC) {
    for (int owner = 0; owner < 4; owner++) {
        size_t bytes = 4096;
        void *mine, *later;
        rank_ok(rank, quern_symmetric_alloc(&side->group, 1, &bytes, &mine));
        const CUdeviceptr there = word_of(side, mine, owner, rank->rank);
        if (rank->rank == owner) rank_ok(rank, quern_symmetric_free(side->group, mine, side->stream));
        rank_ok(rank, quern_symmetric_alloc(&side->group, 1, &bytes, &later));
        if (rank->rank != owner) {
            cuda_ok(side, memory_set_async(there, 7, 4, side->stream));
            rank_check(rank, word_at(side, there) == 0x07070707, "the part of rank %d is another one", owner);
            rank_ok(rank, quern_symmetric_free(side->group, mine, side->stream));
        }
        check_reach(side, later);
        rank_ok(rank, quern_symmetric_free(side->group, later, side->stream));
    }
}

/* ---- multicast ---- */

/* All devices have multicast, and each group asks for it. */
static void open_with_multicast(struct rank_bench *bench, struct rank *rank, int64_t pool_bytes) {
    setenv("QUERN_EMULATOR_MULTICAST", "1", 1);
    rank_bench_open(bench, rank, RANK_LIMIT, pool_bytes);
}

/* Small calls go by the pads' multicast address, large ones by that of their memory. */
TEST_BODY_FOR(fabric, collectives_with_multicast, for (int ranks = 2; ranks <= 4; ranks++), .kind = RANK_PROCESSES, .hosts = 2,
              .count = ranks, .wants_multicast = true, FABRIC) {
    const struct collective_batch batch = {.first = 9000, .cases = (int)test_size(40, 16)};
    struct rank_bench bench;
    open_with_multicast(&bench, rank, 5 << 19);
    rank_ok(rank, quern_symmetric_multicast(bench.group, bench.pool[POOL_SYMMETRIC], &(void *){NULL}));
    rank_check_report(rank, bench.group,
                      rank->ranks > 2 ? "sums of QUERN_ORDER_ANY: by the switch, in memory with a multicast address\n"
                                      : "sums of QUERN_ORDER_ANY: in the order of the ranks, since the switch adds for more");
    collective_run_cases(&bench, &batch);
    rank_line_up(rank);
    rank_bench_close(&bench);
    rank_check(rank, !cuda_bindings(), "%ld parts are bound behind the group's end", cuda_bindings());
}

/* A part is unbound when all ranks have freed it and have told so in the next allocation; each tells four at a time. */
TEST_BODY(fabric, bound_memory_ends_with_the_next_allocations, .kind = RANK_PROCESSES, .hosts = 2, .count = 4,
          .wants_multicast = true, FABRIC) {
    enum { PARTS = 9 };
    struct rank_bench bench;
    void *parts[PARTS], *later;
    open_with_multicast(&bench, rank, 4096);
    const long before = cuda_bindings();
    for (int i = 0; i < PARTS; i++) rank_ok(rank, quern_symmetric_alloc(&bench.group, 1, &(size_t){64}, &parts[i]));
    rank_check(rank, cuda_bindings() == before + PARTS, "%ld parts are bound", cuda_bindings() - before);
    for (int i = 0; i < PARTS; i++)
        if (rank->rank || i) rank_ok(rank, quern_symmetric_free(bench.group, parts[i], bench.stream));
    cuda_ok(&bench.side, stream_synchronize(bench.stream));
    rank_line_up(rank);
    rank_check(rank, cuda_bindings() == before + PARTS, "%ld parts are bound before others are told", cuda_bindings() - before);
    for (int told = 4, calls = 1; told < PARTS + 4; told += 4, calls++) {  /* rank 0 has not freed the first one */
        const int left = told < PARTS - 1 ? PARTS - told : 1;
        rank_ok(rank, quern_symmetric_alloc(&bench.group, 1, &(size_t){64}, &later));
        rank_check(rank, cuda_bindings() == before + left + calls, "%ld parts are bound after call %d", cuda_bindings() - before,
                   calls);
    }
    rank_line_up(rank);
    rank_bench_close(&bench);
    rank_check(rank, !cuda_bindings(), "%ld parts are bound behind the group's end", cuda_bindings());
}

/* ---- registration ---- */

TEST_SIDE(fabric, registered_memory, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, FABRIC) {
    char *memory = nccl_map(side, 4096, CU_MEM_HANDLE_TYPE_FABRIC);
    void *part = memory + 64 * rank->rank;
    rank_ok(rank, quern_symmetric_register(&side->group, 1, &part, &(size_t){1024}));
    check_reach(side, part);
    rank_ok(rank, quern_symmetric_unregister(side->group, part, side->stream));
    nccl_unmap(side, memory);
}

/* The memory of one rank is wrong: all get the reason, and the group stays. */
TEST_SIDE(fabric, what_cannot_be_registered, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, FABRIC) {
    void *right = nccl_map(side, 4096, CU_MEM_HANDLE_TYPE_FABRIC);
    const struct {
        void *memory;
        const char *words;
    } rows[] = {{nccl_map(side, 4096, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                 "rank 3: the memory was made without a fabric handle, so that other hosts cannot reach it"},
                {nccl_allocate(side, 4096), "rank 3: the memory is not of cuMemCreate, so that other hosts"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        void *part = rank->rank == 3 ? rows[i].memory : right;
        rank_refused(rank, quern_symmetric_register(&side->group, 1, &part, &(size_t){1024}), QUERN_NOT_SUPPORTED, rows[i].words);
    }
    nccl_meet(side);
    nccl_release(side, rows[1].memory);
    nccl_unmap(side, rows[0].memory);
    nccl_unmap(side, right);
}

/* ---- transfers ---- */

/* Between hosts all memory goes through a bounce buffer of the sender's GPU. */
static quern_status run_lists(struct rank *rank) {
    struct gpu_end end;
    gpu_end_open(&end, rank, *(const enum gpu_memory *)rank->user);
    end.place.between = gpu_delay;
    transfer_run_choices(rank, end.side.group, 2, &end.place);
    const struct quern_transfers *all = rank_member_of(rank, end.side.group)->transfers;
    bool bounces = false;
    for (int i = 0; i < all->conns; i++) bounces |= all->open[i]->is_elsewhere && all->open[i]->bounce->in;
    rank_check(rank, bounces, "nothing has come through a bounce buffer");
    rank_check_report(rank, end.side.group, "transfers between hosts: through 8 MiB of GPU memory over a fabric");
    rank_line_up(rank);
    return gpu_end_close(&end);
}

Test(fabric, random_lists) {
    static const enum gpu_memory memories[] = {GPU_PRIVATE, GPU_SYMMETRIC, GPU_MIXED};
    for (size_t i = 0; i < COUNT(memories); i++) run_shapes(RANK_BOTH, run_lists, &memories[i]);
}

/* ---- graphs ---- */

/* Each replay adds what all ranks have. */
TEST_SIDE(fabric, a_captured_sum_is_replayed, .kind = RANK_PROCESSES, .count = 4, .hosts = 2,
          .operations = QUERN_BARRIER | QUERN_COLLECTIVE, FABRIC) {
    const float one = 1;
    float sum;
    void *word = (void *)(uintptr_t)side->word;
    const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = 1, .input = word, .output = word);
    nccl_put(side, word, &one, sizeof one);
    nccl_begin_capture(side);
    rank_ok(rank, quern_all_reduce(side->group, &args, NULL, 0, side->stream));
    void *graph = nccl_take_graph(side);
    for (int i = 0; i < 3; i++) nccl_launch_graph(side, graph);
    cuda_ok(side, stream_synchronize(side->stream));
    nccl_end_graph(side, graph);
    nccl_get(side, &sum, word, sizeof sum);
    rank_check(rank, sum == 64, "three sums of 4 ranks are %g", (double)sum);
    rank_ok(rank, quern_group_status(side->group));
}

/* ---- groups of groups ---- */

TEST_SIDE(fabric, no_shrink, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, FABRIC) {
    rank_refused(rank, quern_group_shrink(&side->group, 1, &(quern_group *){NULL}), QUERN_NOT_SUPPORTED,
                 "a group of GPUs of several hosts cannot be shrunk");
    nccl_meet(side);
}

/* The ranks with even numbers, which are of two hosts, and the others. */
TEST_SIDE(fabric, a_split, .kind = RANK_PROCESSES, .count = 6, .hosts = 2, FABRIC) {
    quern_group *half;
    rank_ok(rank, quern_group_split(&side->group, 1, &(int){rank->rank % 2}, &(int){rank->rank}, &half));
    rank_check_report(rank, half, "GPU memory over a fabric");
    rank_ok(rank, quern_barrier(half, NULL, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
    rank_ok(rank, quern_group_destroy(half));
}
