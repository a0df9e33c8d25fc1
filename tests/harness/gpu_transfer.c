/* Ranks with transfers of GPU memory.  gpu_transfer.h documents the functions. */
#include "harness/gpu_transfer.h"

#include "ranks/transfer/transfer.h"

enum { ALIGNMENT = 64, PAIR_BYTES = 5000 };

static void *make_memory(void *user, int64_t bytes) {
    struct gpu_end *end = user;
    const bool is_symmetric = end->memory == GPU_SYMMETRIC || (end->memory == GPU_MIXED && end->made++ % 2);
    if (!is_symmetric) return nccl_allocate(&end->side, bytes);
    void *memory = end->arena + end->used;
    end->used += ((size_t)bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    rank_check(end->side.rank, end->used <= GPU_ARENA, "the arena is full");
    return memory;
}

/* The arena is used again when it is empty. */
static void free_memory(void *user, void *memory) {
    struct gpu_end *end = user;
    const char *place = memory;
    if (end->arena && place >= end->arena && place < end->arena + GPU_ARENA) end->used = 0;
    else nccl_release(&end->side, memory);
}

void gpu_end_open(struct gpu_end *end, struct rank *rank, enum gpu_memory memory) {
    *end = (struct gpu_end){.memory = memory};
    nccl_open_gpu(&end->side, rank, rank->ranks - 1 - rank->rank);
    const quern_group_args args = nccl_args(&end->side, RANK_LIMIT);
    rank_ok(rank, quern_group_create(&args, 1, &end->side.group));
    if (memory != GPU_PRIVATE)
        rank_ok(rank, quern_symmetric_alloc(&end->side.group, 1, &(size_t){GPU_ARENA}, (void **)&end->arena));
    end->place = (struct transfer_place){end, end->side.stream, make_memory, free_memory, nccl_put, nccl_get, NULL};
}

quern_status gpu_end_close(struct gpu_end *end) {
    if (end->arena) rank_ok(end->side.rank, quern_symmetric_free(end->side.group, end->arena, end->side.stream));
    return nccl_close(&end->side);
}

void gpu_end_begin(struct rank *rank, struct gpu_end *end) { gpu_end_open(end, rank, GPU_PRIVATE); }
void gpu_end_end(struct rank *rank, struct gpu_end *end) { rank_ok(rank, gpu_end_close(end)); }

void gpu_pair_begin(struct rank *rank, struct gpu_pair *gpu) {
    gpu_end_open(&gpu->end, rank, GPU_PRIVATE);
    transfer_pair_open(&gpu->pair, rank, gpu->end.side.group, &gpu->end.place, !rank->rank, PAIR_BYTES);
}

void gpu_pair_end(struct rank *rank, struct gpu_pair *gpu) {
    transfer_pair_close(&gpu->pair);
    rank_ok(rank, gpu_end_close(&gpu->end));
}

static void nap(void *user) { (void)user, rank_sleep(3e-3); }

void gpu_delay(void *user) {
    const struct gpu_end *end = user;
    nccl_enqueue(&end->side, end->side.stream, nap, NULL);
}

static void await_word(void *word) { while (!__atomic_load_n((int *)word, __ATOMIC_ACQUIRE)) rank_sleep(1e-3); }

void gpu_hold(const struct gpu_end *end, CUstream stream, int *word) { nccl_enqueue(&end->side, stream, await_word, word); }

void gpu_say(struct quern_conn *conn, struct quern_transfer_frame frame) {
    static unsigned char payload[1 << 16];
    memset(payload, 1, sizeof payload);
    if (frame.bytes <= sizeof payload) {
        quern_conn_say(conn, frame, payload, frame.bytes);
        return;
    }
    frame.order = conn->sent++;
    quern_write_digest(&frame, sizeof frame);
    if (!quern_conn_reserve(conn, sizeof frame)) abort();
    memcpy(conn->queue + conn->end, &frame, sizeof frame);
    conn->end += sizeof frame;
}

long gpu_urgent_streams(const struct gpu_end *end) {
    int least = 0, greatest = 0;
    long (*count)(int);
    cuda_ok(&end->side, stream_priorities(&least, &greatest));
    rank_check(end->side.rank, greatest < least, "the highest priority is %d, the lowest %d", greatest, least);
    *(void **)&count = nccl_symbol("quern_emulator_streams");
    return count(greatest);
}
