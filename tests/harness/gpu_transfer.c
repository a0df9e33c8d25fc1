/* Ranks with transfers of GPU memory.  gpu_transfer.h documents the functions. */
#define _GNU_SOURCE
#include "harness/gpu_transfer.h"

#include <dlfcn.h>

enum { ALIGNMENT = 64 };

void *gpu_end_allocate(struct gpu_end *end, int64_t bytes) {
    CUdeviceptr memory;
    cuda_ok(&end->side, memory_allocate(&memory, (size_t)bytes));
    return (void *)(uintptr_t)memory;
}

void gpu_end_release(struct gpu_end *end, void *memory) { cuda_ok(&end->side, memory_free((uintptr_t)memory)); }

static void *make_memory(void *user, int64_t bytes) {
    struct gpu_end *end = user;
    const bool is_symmetric = end->memory == GPU_SYMMETRIC || (end->memory == GPU_MIXED && end->made++ % 2);
    if (!is_symmetric) return gpu_end_allocate(end, bytes);
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
    else gpu_end_release(end, memory);
}

void gpu_end_put(struct gpu_end *end, void *to, const void *from, int64_t bytes) {
    cuda_ok(&end->side, copy_to_device_async((uintptr_t)to, from, (size_t)bytes, end->side.stream));
}

void gpu_end_get(struct gpu_end *end, void *to, const void *from, int64_t bytes) {
    CUstream stream;
    cuda_ok(&end->side, stream_create(&stream, CU_STREAM_NON_BLOCKING));
    cuda_ok(&end->side, copy_to_host_async(to, (uintptr_t)from, (size_t)bytes, stream));
    cuda_ok(&end->side, stream_synchronize(stream));
    cuda_ok(&end->side, stream_destroy(stream));
}

static void put(void *user, void *to, const void *from, int64_t bytes) { gpu_end_put(user, to, from, bytes); }

static void get(void *user, void *to, const void *from, int64_t bytes) { gpu_end_get(user, to, from, bytes); }

struct transfer_place gpu_end_place(struct gpu_end *end) {
    return (struct transfer_place){end, end->side.stream, make_memory, free_memory, put, get};
}

void gpu_end_call(const struct gpu_end *end, CUstream stream, void (*function)(void *user), void *user) {
    int (*call)(CUstream, void (*)(void *), void *);
    *(void **)&call = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuLaunchHostFunc");
    nccl_check(&end->side, call(stream, function, user), "cuLaunchHostFunc");
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
