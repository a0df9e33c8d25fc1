/* Ranks with transfers of GPU memory.  gpu_transfer.h documents the functions. */
#define _GNU_SOURCE
#include "harness/gpu_transfer.h"

enum { ALIGNMENT = 64 };

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
    if (place >= end->arena && place < end->arena + GPU_ARENA) end->used = 0;
    else nccl_release(&end->side, memory);
}

struct transfer_place gpu_end_place(struct gpu_end *end) {
    return (struct transfer_place){end, end->side.stream, make_memory, free_memory, nccl_put, nccl_get, NULL};
}

void gpu_end_open(struct gpu_end *end, struct rank *rank, enum gpu_memory memory, double limit) {
    size_t bytes = GPU_ARENA;
    void *arena;
    *end = (struct gpu_end){.memory = memory};
    nccl_open_gpu(&end->side, rank, rank->ranks - 1 - rank->rank);
    const quern_group_args args = nccl_args(&end->side, limit);
    rank_ok(rank, quern_group_create(&args, 1, &end->side.group));
    rank_ok(rank, quern_symmetric_alloc(&end->side.group, 1, &bytes, &arena));
    end->arena = arena;
}

quern_status gpu_end_close(struct gpu_end *end) {
    rank_ok(end->side.rank, quern_symmetric_free(end->side.group, end->arena, end->side.stream));
    return nccl_close(&end->side);
}
