/*
 * Transfers between GPU ranks of one host: the receiver copies from the sender's memory.  Random lists, and the ends of transfers
 * and ranks.  Failures that are not of the GPU are the same code as for CPU ranks: test_transfer_ends.c.  Memory that the receiver
 * does not reach: test_transfer_staged.c.
 *
 * Runs on: one emulated.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#include "harness/check.h"
#include "harness/cuda.h"
#include "harness/device.h"
#include "harness/gpu_group.h"
#include "harness/gpu_transfer.h"
#include "harness/looking.h"

/* What starts before its stream has come there sends old bytes. */
static void nap(void *user) { (void)user, rank_sleep(5e-3); }

/* Processes of their own are stopped by the machine's locks of the emulator now and then, so limits are generous. */
static void check_on(int ranks, enum rank_kind kind, rank_function *function, const void *user) {
    nccl_set_machine("");
    check_ranks(.kind = kind, .count = ranks, .function = function, .user = user, .shared_bytes = 4096);
}

/* ---- random lists ---- */

static void delay_stream(void *user) {
    const struct gpu_end *end = user;
    nccl_enqueue(&end->side, end->side.stream, nap, NULL);
}

static quern_status run_lists(struct rank *rank) {
    struct gpu_end ends;
    gpu_end_open(&ends, rank, GPU_SYMMETRIC, RANK_LIMIT);
    struct transfer_place place = gpu_end_place(&ends);
    place.between = delay_stream;
    transfer_run_choices(rank, ends.side.group, 2, &place);
    return gpu_end_close(&ends);
}

Test(transfer_cuda, random_lists) {
    static const int counts[] = {2, 3, 5, 8};
    for (size_t i = 0; i < COUNT(counts); i++)
        check_ranks(.kind = RANK_BOTH, .count = counts[i], .function = run_lists, .nccl = "");
}

/* ---- memory ---- */

enum { BYTES = 5000, TAG = 4 };

static quern_transfer *prepare(struct gpu_end *ends, uint64_t key, void *memory, int64_t bytes) {
    const struct rank *rank = ends->side.rank;
    const quern_transfer_item item = transfer_item(rank->rank, !rank->rank, TAG, memory, bytes);
    return transfer_prepare(ends->side.rank, ends->side.group, key, &item, 1);
}

static void fill(struct gpu_end *ends, void *memory, int value) {
    cuda_ok(&ends->side, memory_set_async((uintptr_t)memory, (unsigned char)value, BYTES, ends->side.stream));
}

static void check_came(struct gpu_end *ends, const void *memory, int value) {
    unsigned char came[BYTES];
    nccl_get(ends, came, memory, BYTES);
    for (int i = 0; i < BYTES; i++) rank_check(ends->side.rank, came[i] == value, "byte %d is %d instead of %d", i, came[i], value);
}

static void hand_over(struct gpu_end *ends, uint64_t key, void *memory, int value) {
    struct rank *rank = ends->side.rank;
    quern_transfer *transfer = prepare(ends, key, memory, BYTES);
    fill(ends, memory, rank->rank ? 0 : value);
    rank_ok(rank, quern_transfer_start(transfer, ends->side.stream));
    rank_ok(rank, quern_transfer_wait(transfer, 0));
    if (rank->rank) check_came(ends, memory, value);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* Any memory, on either side. */
TEST_RANKS(transfer_cuda, memory_of_its_own, .kind = RANK_BOTH, .count = 2, .nccl = "") {
    struct gpu_end ends;
    gpu_end_open(&ends, rank, GPU_SYMMETRIC, RANK_LIMIT);
    void *memory = nccl_allocate(&ends, BYTES);
    hand_over(&ends, 1, memory, 7);
    hand_over(&ends, 2, rank->rank ? memory : ends.arena + 1000, 9);
    hand_over(&ends, 3, rank->rank ? ends.arena + 1000 : memory, 11);
    nccl_release(&ends, memory);
    return gpu_end_close(&ends);
}

static void refuse_freed_memory(struct gpu_end *ends, void *memory) {
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    const quern_transfer_item item = transfer_item(0, 0, TAG, memory, BYTES);
    quern_transfer *transfer;
    args.items = &item, args.item_count = 1;
    rank_status(ends->side.rank, quern_transfer_prepare(ends->side.group, &args, &transfer), QUERN_INVALID_ARGUMENT);
    rank_check_detail(ends->side.rank, "args.items[0].memory is in symmetric memory that rank 1 has freed");
}

/* What the sender has freed is refused; the receiver has no address of symmetric memory that it has freed. */
TEST_RANKS(transfer_cuda, memory_that_the_receiver_has_freed, .kind = RANK_PROCESSES, .count = 2, .nccl = "") {
    struct gpu_end ends;
    size_t bytes = BYTES;
    void *memory;
    gpu_end_open(&ends, rank, GPU_SYMMETRIC, RANK_LIMIT);
    rank_ok(rank, quern_symmetric_alloc(&ends.side.group, 1, &bytes, &memory));
    if (rank->rank) rank_ok(rank, quern_symmetric_free(ends.side.group, memory, ends.side.stream));
    if (rank->rank) refuse_freed_memory(&ends, memory);
    quern_transfer *transfer = prepare(&ends, 1, rank->rank ? ends.arena : memory, BYTES);
    quern_status status = quern_transfer_start(transfer, ends.side.stream);
    if (status == QUERN_OK) status = quern_transfer_wait(transfer, 0);
    rank_status(rank, status, QUERN_PEER_MISMATCH);
    rank_check_detail(rank, "what rank 0 sends with tag 4 is in symmetric memory that rank 1 does not have");
    rank_ok(rank, quern_transfer_destroy(transfer));
    if (!rank->rank) rank_ok(rank, quern_symmetric_free(ends.side.group, memory, ends.side.stream));
    hand_over(&ends, 1, ends.arena, 9);
    return gpu_end_close(&ends);
}

/* ---- ends ---- */

struct ending {
    const char *how;
    quern_status status;
    const char *detail;
};

/* The engine's stream of rank 0 does not come to the start before the end. */
static void hold(void *user) {
    while (!__atomic_load_n((int *)user, __ATOMIC_ACQUIRE)) rank_sleep(1e-3);
}

static quern_status end_before_ready(struct rank *rank) {
    const struct ending *ending = rank->user;
    struct gpu_end ends;
    int is_over = 0;
    gpu_end_open(&ends, rank, GPU_SYMMETRIC, RANK_LIMIT);
    hand_over(&ends, 1, ends.arena, 3);
    quern_transfer *transfer = prepare(&ends, 2, ends.arena, BYTES);
    rank_line_up(rank);
    const double began = rank_now();
    if (rank->rank == 0) {
        nccl_enqueue(&ends.side, ends.side.stream, hold, &is_over);
        rank_ok(rank, quern_transfer_start(transfer, ends.side.stream));
        rank_sleep(0.2);
        if (!strcmp(ending->how, "cancel")) rank_ok(rank, quern_transfer_cancel(transfer, "the test's reason"));
        if (!strcmp(ending->how, "kill")) kill(getpid(), SIGKILL);
        if (!strcmp(ending->how, "late")) rank_line_up(rank);
    } else {
        rank_ok(rank, quern_transfer_start(transfer, ends.side.stream));
        rank_refused(rank, quern_transfer_wait(transfer, strcmp(ending->how, "late") ? 0 : 0.3), ending->status, ending->detail);
        rank_check(rank, rank_now() - began < RANK_SOON, "after %g s", rank_now() - began);
        check_came(&ends, ends.arena, 3);  /* nothing was written */
        if (!strcmp(ending->how, "late")) rank_line_up(rank);
    }
    rank_ok(rank, quern_transfer_destroy(transfer));
    rank_check(rank, rank_now() - began < RANK_SOON, "destroyed after %g s", rank_now() - began);
    if (!strcmp(ending->how, "kill")) return nccl_close(&ends.side);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    cuda_ok(&ends.side, stream_synchronize(ends.side.stream));
    rank_line_up(rank);
    hand_over(&ends, 2, ends.arena, 5);
    return gpu_end_close(&ends);
}

Test(transfer_cuda, ends_before_the_stream_comes) {
    static const struct ending endings[] = {
        {"cancel", QUERN_GROUP_ABORTED, "rank 0 has cancelled the transfer: the test's reason"},
        {"destroy", QUERN_PEER_LOST, "rank 0 has destroyed its transfer"},
        {"late", QUERN_PEER_TIMEOUT, "rank 0 (process"},
    };
    for (size_t kind = 0; kind < COUNT(rank_kinds); kind++)
        for (size_t i = 0; i < COUNT(endings); i++) check_on(2, rank_kinds[kind], end_before_ready, &endings[i]);
}

Test(transfer_cuda, a_process_that_is_killed) {
    static const struct ending killed = {"kill", QUERN_PEER_LOST, "rank 0 (process"};
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .function = end_before_ready, .user = &killed, .nccl = "", .may_die = 1 << 0);
}

/* ---- dumps ---- */

typedef char dump_folder[512];

static void begin_dump(const struct gpu_end *ends) {
    struct rank *rank = ends->side.rank;
    quern_dump_args args = QUERN_DUMP_ARGS_INIT;
    args.folder = ((const dump_folder *)rank->user)[rank->rank];
    rank_ok(rank, quern_dump_at(ends->side.device, &args));
    rank_ok(rank, quern_step(ends->side.device, 0));
}

/* The dump reads what has come while a stream of the engine, for which the default stream would wait, does not end. */
static quern_status dump_beside_a_stream(struct rank *rank) {
    struct gpu_end ends;
    CUstream other;
    int is_over = 0;
    gpu_end_open(&ends, rank, GPU_SYMMETRIC, RANK_LIMIT);
    quern_transfer *transfer = prepare(&ends, 1, ends.arena, BYTES);
    fill(&ends, ends.arena, rank->rank ? 0 : 7);
    begin_dump(&ends);
    rank_ok(rank, quern_transfer_start(transfer, ends.side.stream));
    cuda_ok(&ends.side, stream_create(&other, 0));
    nccl_enqueue(&ends.side, other, hold, &is_over);
    rank_ok(rank, quern_transfer_wait(transfer, 0));
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    cuda_ok(&ends.side, stream_synchronize(other));
    cuda_ok(&ends.side, stream_destroy(other));
    rank_ok(rank, quern_step(ends.side.device, 1));
    rank_ok(rank, quern_transfer_destroy(transfer));
    return gpu_end_close(&ends);
}

Test(transfer_cuda, a_dump_waits_for_no_other_stream) {
    dump_folder folders[2];
    char path[600];
    for (int rank = 0; rank < 2; rank++) strcpy(folders[rank], make_folder());
    check_on(2, RANK_PROCESSES, dump_beside_a_stream, folders);
    snprintf(path, sizeof path, "%s/000001.transfer_wait.out.safetensors", folders[1]);
    const char *came = read_tensor(path, "received.0", "U8", "[5000]", NULL);
    for (int i = 0; i < BYTES; i++) check(came[i] == 7, "byte %d is %d", i, came[i]);
    for (int rank = 0; rank < 2; rank++) drop_folder(folders[rank]);
}

/* ---- one thread ---- */

/* A ring of GPUs that one thread drives: it asks all in turn, since a wait for one would keep the others from answering. */
Test(transfer_cuda, one_thread_drives_all_ranks) {
    enum { RANKS = 3, ROUNDS = 3 };
    CUdeviceptr out[RANKS], in[RANKS];
    quern_transfer *transfer[RANKS];
    const struct quern_cuda *cuda;
    OPEN_GROUP(group, .ranks = RANKS);
    check_ok(quern_cuda_open(&cuda));
    for (int rank = 0; rank < RANKS; rank++) {
        device_use(&group.device[rank]);
        check(!cuda->memory_allocate(&out[rank], BYTES) && !cuda->memory_allocate(&in[rank], BYTES), "no memory");
        const quern_transfer_item items[] = {
            transfer_item(0, (rank + 1) % RANKS, TAG, (void *)(uintptr_t)out[rank], BYTES),
            transfer_item(1, (rank + RANKS - 1) % RANKS, TAG, (void *)(uintptr_t)in[rank], BYTES)};
        quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
        args.items = items, args.item_count = 2, args.key = 3;
        check_ok(quern_transfer_prepare(group.group[rank], &args, &transfer[rank]));
    }
    for (int round = 1; round <= ROUNDS; round++) {
        for (int rank = 0; rank < RANKS; rank++) {
            device_use(&group.device[rank]);
            cuda->memory_set_async(out[rank], (unsigned char)(round * 16 + rank), BYTES, group.device[rank].stream);
            check_ok(quern_transfer_start(transfer[rank], group.device[rank].stream));
        }
        for (int left = RANKS; left > 0;) {
            left = 0;
            for (int rank = 0; rank < RANKS; rank++) {
                int32_t done;
                check_ok(quern_transfer_test(transfer[rank], &done));
                left += !done;
            }
        }
        for (int rank = 0; rank < RANKS; rank++) {
            unsigned char came[BYTES];
            device_use(&group.device[rank]);
            cuda->copy_to_host_async(came, in[rank], BYTES, group.device[rank].stream);
            cuda->stream_synchronize(group.device[rank].stream);
            for (int i = 0; i < BYTES; i++)
                check(came[i] == round * 16 + (rank + RANKS - 1) % RANKS, "rank %d: byte %d is %d", rank, i, came[i]);
        }
    }
    for (int rank = 0; rank < RANKS; rank++) {
        check_ok(quern_transfer_destroy(transfer[rank]));
        device_use(&group.device[rank]);
        cuda->memory_free(out[rank]), cuda->memory_free(in[rank]);
    }
}
