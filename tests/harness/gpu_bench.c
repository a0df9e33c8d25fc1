/* The memory of GPU ranks that one thread drives.  gpu_bench.h documents the functions. */
#include "harness/gpu_bench.h"

#include <stdlib.h>
#include <string.h>

#include "harness/check.h"

static cuda_pointer on_device(const struct gpu_group *group, int rank, size_t bytes) {
    cuda_pointer pointer;
    device_use(&group->device[rank]);
    CUDA(cuMemAlloc_v2(&pointer, bytes));
    return pointer;
}

void gpu_bench_open(struct gpu_bench *bench, struct gpu_group *group, size_t pool_bytes, size_t workspace_bytes) {
    size_t pools[MOST_GPU_RANKS], workspaces[MOST_GPU_RANKS];
    void *symmetric[MOST_GPU_RANKS];
    *bench = (struct gpu_bench){.group = group, .pool_bytes = pool_bytes, .workspace_bytes = workspace_bytes};
    for (int rank = 0; rank < group->ranks; rank++) pools[rank] = pool_bytes, workspaces[rank] = workspace_bytes;
    check_ok(quern_symmetric_alloc(group->group, group->ranks, pools, symmetric));
    if (workspace_bytes) check_ok(quern_symmetric_alloc(group->group, group->ranks, workspaces, bench->workspace));
    for (int rank = 0; rank < group->ranks; rank++) {
        bench->pool[rank][POOL_SYMMETRIC] = symmetric[rank];
        bench->pool[rank][POOL_PRIVATE] = (unsigned char *)(uintptr_t)on_device(group, rank, pool_bytes);
        if (workspace_bytes) bench->metadata[rank] = on_device(group, rank, workspace_bytes);
        for (int pool = 0; pool < POOLS; pool++) bench->expected[rank][pool] = rank_bench_clear((int64_t)pool_bytes);
    }
}

void gpu_bench_close(struct gpu_bench *bench) {
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        device_use(&bench->group->device[rank]);
        CUDA(cuMemFree_v2((uintptr_t)bench->pool[rank][POOL_PRIVATE]));
        if (bench->workspace_bytes) CUDA(cuMemFree_v2(bench->metadata[rank]));
        for (int pool = 0; pool < POOLS; pool++) free(bench->expected[rank][pool]);
    }
}

void gpu_bench_close_all(struct gpu_bench *bench) {
    gpu_bench_close(bench);
    gpu_group_close(bench->group);
}

void gpu_bench_write(const struct gpu_bench *bench, int rank, int pool, size_t bytes) {
    const struct test_device *device = &bench->group->device[rank];
    device_use(device);
    CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)bench->pool[rank][pool], bench->expected[rank][pool], bytes, device->stream));
}

void gpu_bench_compare(const struct gpu_bench *bench, int rank, size_t bytes, const char *when) {
    const struct test_device *device = &bench->group->device[rank];
    unsigned char *has = rank_bench_clear((int64_t)bytes);
    device_use(device);
    for (int pool = 0; pool < POOLS; pool++) {
        const unsigned char *expected = bench->expected[rank][pool];
        CUDA(cuMemcpyDtoHAsync_v2(has, (uintptr_t)bench->pool[rank][pool], bytes, device->stream));
        device_synchronize(device);
        for (size_t i = 0; memcmp(has, expected, bytes) && i < bytes; i++)
            check(has[i] == expected[i], "%s: byte %zu of rank %d's %s pool is %d instead of %d", when, i, rank,
                  rank_pool_names[pool], has[i], expected[i]);
    }
    free(has);
}
