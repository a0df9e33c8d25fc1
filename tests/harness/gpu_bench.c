/* The memory of GPU ranks that one thread drives.  gpu_bench.h documents the functions. */
#include "harness/gpu_bench.h"


static const struct test_device *device_of(const struct rank_bench *bench) {
    return &bench->all->group->device[bench->rank->rank];
}

static void move(const struct rank_bench *bench, void *on_device, void *on_host, int64_t bytes, bool to_device) {
    const struct test_device *device = device_of(bench);
    device_use(device);
    if (bytes && to_device) CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)on_device, on_host, (size_t)bytes, device->stream));
    if (bytes && !to_device) CUDA(cuMemcpyDtoHAsync_v2(on_host, (uintptr_t)on_device, (size_t)bytes, device->stream));
    device_synchronize(device);
}

static unsigned char *on_device(const struct test_device *device, size_t bytes) {
    cuda_pointer pointer;
    device_use(device);
    CUDA(cuMemAlloc_v2(&pointer, bytes));
    return (unsigned char *)(uintptr_t)pointer;
}

void gpu_bench_open(struct gpu_bench *bench, struct gpu_group *group, size_t pool_bytes, size_t workspace_bytes) {
    size_t pools[MOST_GPU_RANKS], workspaces[MOST_GPU_RANKS];
    void *symmetric[MOST_GPU_RANKS];
    *bench = (struct gpu_bench){.group = group, .pool_bytes = pool_bytes, .workspace_bytes = workspace_bytes};
    for (int rank = 0; rank < group->ranks; rank++) pools[rank] = pool_bytes, workspaces[rank] = workspace_bytes;
    check_ok(quern_symmetric_alloc(group->group, group->ranks, pools, symmetric));
    if (workspace_bytes) check_ok(quern_symmetric_alloc(group->group, group->ranks, workspaces, bench->workspace));
    for (int rank = 0; rank < group->ranks; rank++) {
        struct rank_bench *one = &bench->of[rank];
        bench->rank[rank] = (struct rank){.rank = rank, .ranks = group->ranks, .shares_thread = true};
        *one = (struct rank_bench){.rank = &bench->rank[rank], .group = group->group[rank], .count = rank ? 1 : group->ranks,
                                   .pool_bytes = (int64_t)pool_bytes, .workspace = bench->workspace[rank],
                                   .stream = group->device[rank].stream, .move = move,
                                   .reductions = cuda_reductions, .all = bench};
        one->pool[POOL_SYMMETRIC] = symmetric[rank];
        one->pool[POOL_PRIVATE] = on_device(&group->device[rank], pool_bytes);
        if (workspace_bytes) one->metadata = (char *)on_device(&group->device[rank], workspace_bytes);
        for (int pool = 0; pool < POOLS; pool++) {
            one->image[pool] = zeroed(pool_bytes);
            one->expected[pool] = zeroed(pool_bytes);
        }
    }
}

void gpu_bench_close(struct gpu_bench *bench) {
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        const struct rank_bench *one = &bench->of[rank];
        device_use(&bench->group->device[rank]);
        CUDA(cuMemFree_v2((uintptr_t)one->pool[POOL_PRIVATE]));
        if (one->metadata) CUDA(cuMemFree_v2((uintptr_t)one->metadata));
        for (int pool = 0; pool < POOLS; pool++) {
            free(one->image[pool]);
            free(one->expected[pool]);
        }
    }
}

void gpu_bench_begin(struct gpu_bench *bench, struct gpu_group *group, struct gpu_group_options options) {
    const bool is_ragged = !options.prepared || options.prepared & QUERN_RAGGED_ALL_TO_ALL;
    gpu_group_open_with(group, options);
    gpu_bench_open(bench, group, options.pool ? options.pool : 1 << 20,
                   options.workspace || !is_ragged ? options.workspace : 1 << 20);
}

void gpu_bench_close_all(struct gpu_bench *bench) {
    gpu_bench_close(bench);
    gpu_group_close(bench->group);
}

void gpu_bench_renew(struct gpu_bench *bench) {
    gpu_bench_close(bench);
    gpu_group_destroy(bench->group);
    gpu_group_create(bench->group, 0, 0);
    gpu_bench_open(bench, bench->group, bench->pool_bytes, bench->workspace_bytes);
}
