/*
 * Transfers between GPU ranks of one host: the receiver copies from the sender's memory.  Random lists, and the ends of transfers
 * and ranks.  Failures that are not of the GPU are the same code as for CPU ranks: test_transfer_ends.c.  Memory that the receiver
 * does not reach: test_transfer_staged.c.
 *
 * Runs on: one emulated.
 */
#include "harness/cuda.h"
#include "harness/gpu_group.h"
#include "harness/gpu_transfer.h"
#include "harness/looking.h"

enum { BYTES = 5000, TAG = 4 };

/* ---- random lists ---- */

static quern_status run_lists(struct rank *rank) {
    const enum gpu_memory *memory = rank->user;
    struct gpu_end end;
    gpu_end_open(&end, rank, *memory);
    end.place.between = gpu_delay;
    transfer_run_choices(rank, end.side.group, 2, &end.place);
    return gpu_end_close(&end);
}

/* Threads reach all memory of each other. */
Test(transfer_cuda, random_lists) {
    static const int counts[] = {2, 3, 5, 8};
    static const enum gpu_memory others[] = {GPU_PRIVATE, GPU_MIXED};
    for (size_t i = 0; i < COUNT(counts); i++)
        check_ranks(.kind = RANK_BOTH, .count = counts[i], .function = run_lists, .nccl = "",
                    .user = &(enum gpu_memory){GPU_SYMMETRIC});
    check_ranks(.kind = RANK_THREADS, .count = 2, .function = run_lists, .nccl = "", RANKS_EACH(others));
}

/* Two streams, for copies between ranks and within the rank. */
TEST_GPU_END(transfer_cuda, streams_have_the_highest_priority, .kind = RANK_PROCESSES, .count = 2, .nccl = "") {
    rank_check(rank, gpu_urgent_streams(end) == 0, "%ld streams before a transfer", gpu_urgent_streams(end));
    quern_transfer *transfer = transfer_prepare(rank, end->side.group, 1, NULL, 0);
    rank_check(rank, gpu_urgent_streams(end) == 2, "%ld streams, and not 2", gpu_urgent_streams(end));
    rank_ok(rank, quern_transfer_destroy(transfer));
}

/* ---- memory that is gone ---- */

static quern_transfer *prepare(struct gpu_end *ends, uint64_t key, void *memory) {
    return transfer_prepare_one(ends->side.rank, ends->side.group, key, TAG, memory, BYTES);
}

static void refuse_freed_memory(struct gpu_end *ends, void *memory) {
    const quern_transfer_item item = transfer_item(0, 0, TAG, memory, BYTES);
    const quern_transfer_args args = TRANSFER_ARGS(.items = &item, .item_count = 1);
    quern_transfer *transfer;
    rank_status(ends->side.rank, quern_transfer_prepare(ends->side.group, &args, &transfer), QUERN_INVALID_ARGUMENT);
    rank_check_detail(ends->side.rank, "args.items[0].memory is in symmetric memory that rank 1 has freed");
}

/* What the sender has freed is refused; the receiver has no address of symmetric memory that it has freed. */
TEST_RANKS(transfer_cuda, memory_that_the_receiver_has_freed, .kind = RANK_PROCESSES, .count = 2, .nccl = "") {
    struct gpu_end ends;
    struct transfer_pair pair;
    gpu_end_open(&ends, rank, GPU_SYMMETRIC);
    void *memory = rank_allocate(rank, ends.side.group, BYTES);
    if (rank->rank) rank_ok(rank, quern_symmetric_free(ends.side.group, memory, ends.side.stream));
    if (rank->rank) refuse_freed_memory(&ends, memory);
    quern_transfer *transfer = prepare(&ends, 1, rank->rank ? ends.arena : memory);
    rank_status(rank, transfer_run(transfer, ends.side.stream, 0), QUERN_PEER_MISMATCH);
    rank_check_detail(rank, "what rank 0 sends with tag 4 is in symmetric memory that rank 1 does not have");
    rank_ok(rank, quern_transfer_destroy(transfer));
    if (!rank->rank) rank_ok(rank, quern_symmetric_free(ends.side.group, memory, ends.side.stream));
    transfer_pair_open(&pair, rank, ends.side.group, &ends.place, !rank->rank, BYTES);
    transfer_pair_exchange(&pair, 1, 1);
    transfer_pair_close(&pair);
    return gpu_end_close(&ends);
}

/* ---- ends ---- */

/* The engine's stream of rank 0 does not come to the start before the end. */
static quern_status end_before_ready(struct rank *rank) {
    const struct transfer_ending *ending = rank->user;
    struct gpu_end end;
    struct transfer_pair pair;
    int is_over = 0;
    gpu_end_open(&end, rank, GPU_SYMMETRIC);
    transfer_pair_open(&pair, rank, end.side.group, &end.place, !rank->rank, BYTES);
    transfer_pair_exchange(&pair, 1, 1);
    pair.held = &is_over;
    if (rank->rank == 0) gpu_hold(&end, end.side.stream, &is_over);
    transfer_pair_end(&pair, 0, ending);
    transfer_pair_close(&pair);
    return ending->how == TRANSFER_IS_KILLED ? nccl_close(&end.side) : gpu_end_close(&end);
}

Test(transfer_cuda, ends_before_the_stream_comes) {
    static const struct transfer_ending endings[] = {
        {TRANSFER_CANCELS, TRANSFER_STARTED, TRANSFER_STARTED, 0.2},
        {TRANSFER_DESTROYS, TRANSFER_STARTED, TRANSFER_STARTED, 0.2},
        {TRANSFER_IS_LATE, TRANSFER_STARTED, TRANSFER_STARTED, 0.3},
    };
    check_ranks(.kind = RANK_BOTH, .count = 2, .function = end_before_ready, .nccl = "", RANKS_EACH(endings));
}

Test(transfer_cuda, a_process_that_is_killed) {
    static const struct transfer_ending killed = {TRANSFER_IS_KILLED, TRANSFER_STARTED, TRANSFER_STARTED, 0.2};
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .function = end_before_ready, .user = &killed, .nccl = "", .may_die = 1 << 0);
}

/* ---- dumps ---- */

typedef char dump_folder[512];

static void begin_dump(const struct gpu_end *ends) {
    struct rank *rank = ends->side.rank;
    quern_dump_args args = DUMP_ARGS(.folder = ((const dump_folder *)rank->user)[rank->rank]);
    rank_ok(rank, quern_dump_at(ends->side.device, &args));
    rank_ok(rank, quern_step(ends->side.device, 0));
}

/* The dump reads what has come while a stream of the engine, for which the default stream would wait, does not end. */
static quern_status dump_beside_a_stream(struct rank *rank) {
    struct gpu_end ends;
    CUstream other;
    int is_over = 0;
    gpu_end_open(&ends, rank, GPU_SYMMETRIC);
    quern_transfer *transfer = prepare(&ends, 1, ends.arena);
    cuda_ok(&ends.side, memory_set_async((uintptr_t)ends.arena, rank->rank ? 0 : 7, BYTES, ends.side.stream));
    begin_dump(&ends);
    rank_ok(rank, quern_transfer_start(transfer, ends.side.stream));
    cuda_ok(&ends.side, stream_create(&other, 0));
    gpu_hold(&ends, other, &is_over);
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
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .function = dump_beside_a_stream, .user = folders, .nccl = "");
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
        quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = 2, .key = 3);
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
