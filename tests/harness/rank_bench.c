/* A rank and its memory for calls, on any kind of group.  rank_bench.h documents the functions. */
#include "harness/rank_bench.h"

enum { GUARD = 192, GUARD_BYTE = 0xA5 };

const char *const rank_pool_names[POOLS] = {"private", "symmetric"};

void rank_bench_take(struct rank_bench *bench, struct rank *rank, quern_group *group, int64_t pool_bytes) {
    *bench = (struct rank_bench){.rank = rank, .group = group, .count = 1, .pool_bytes = pool_bytes};
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE | QUERN_RAGGED_ALL_TO_ALL | QUERN_QUANTIZE));
    void *symmetric = rank_allocate(rank, bench->group, (size_t)pool_bytes);
    rank_ok(rank, quern_symmetric_alloc(&bench->group, 1, &(size_t){(size_t)pool_bytes}, &bench->workspace));
    bench->pool[POOL_SYMMETRIC] = symmetric;
    bench->pool[POOL_PRIVATE] = zeroed((size_t)pool_bytes);
    for (int pool = 0; pool < POOLS; pool++) {
        bench->image[pool] = bench->pool[pool];
        bench->expected[pool] = zeroed((size_t)pool_bytes);
    }
}

/* Symmetric memory ends with the group. */
static void *allocate(struct rank_bench *bench, bool symmetric) {
    void *memory;
    if (!symmetric) return nccl_allocate(&bench->side, bench->pool_bytes);
    rank_ok(bench->rank, quern_symmetric_alloc(&bench->group, 1, &(size_t){(size_t)bench->pool_bytes}, &memory));
    return memory;
}

static void release(struct rank_bench *bench, void *memory, bool symmetric) {
    if (!symmetric) nccl_release(&bench->side, memory);
}

static void open_on_gpu(struct rank_bench *bench, struct rank *rank, double timeout, int64_t pool_bytes) {
    *bench = (struct rank_bench){.rank = rank, .count = 1, .pool_bytes = pool_bytes};
    nccl_open(&bench->side, rank, timeout);
    if (!rank->operations) rank_ok(rank, quern_prepare(bench->side.device, QUERN_COLLECTIVE));
    bench->group = bench->side.group;
    bench->stream = bench->side.stream;
    bench->workspace = allocate(bench, rank->has_fabric);
    bench->metadata = nccl_allocate(&bench->side, pool_bytes);
    for (int pool = 0; pool < POOLS; pool++) {
        bench->pool[pool] = bench->image[pool] = allocate(bench, rank->has_fabric && pool == POOL_SYMMETRIC);
        bench->expected[pool] = zeroed((size_t)pool_bytes);
    }
}

void rank_bench_open(struct rank_bench *bench, struct rank *rank, double timeout, int64_t pool_bytes) {
    if (rank->on_gpu) open_on_gpu(bench, rank, timeout, pool_bytes);
    else rank_bench_take(bench, rank, rank_group(rank, timeout), pool_bytes);
}

static quern_status close_on_gpu(struct rank_bench *bench) {
    const bool has_fabric = bench->rank->has_fabric;
    for (int pool = 0; pool < POOLS; pool++) release(bench, bench->pool[pool], has_fabric && pool == POOL_SYMMETRIC);
    release(bench, bench->workspace, has_fabric);
    nccl_release(&bench->side, bench->metadata);
    return nccl_close(&bench->side);
}

quern_status rank_bench_destroy(struct rank_bench *bench) {
    const quern_status status = bench->rank->on_gpu ? close_on_gpu(bench) : quern_group_destroy(bench->group);
    if (!bench->rank->on_gpu) free(bench->pool[POOL_PRIVATE]);
    for (int pool = 0; pool < POOLS; pool++) free(bench->expected[pool]);
    return status;
}

void rank_bench_close(struct rank_bench *bench) { rank_ok(bench->rank, rank_bench_destroy(bench)); }

void rank_bench_begin(struct rank *rank, struct rank_bench *bench) { rank_bench_open(bench, rank, RANK_LIMIT, BENCH_POOL); }

void rank_bench_end(struct rank *rank, struct rank_bench *bench) { (void)rank, rank_bench_close(bench); }

/* ---- calls ---- */

void rank_bench_begin_graph(const struct rank_bench *bench) { if (bench->captures) nccl_begin_capture(&bench->side); }

void rank_bench_run_graph(const struct rank_bench *bench) {
    if (!bench->captures) return;
    void *graph = nccl_take_graph(&bench->side);
    nccl_launch_graph(&bench->side, graph);
    nccl_end_graph(&bench->side, graph);
}

/* The GPUs of threads are emulated by one process: the host touches their memory while no kernel of another rank runs. */
void rank_bench_line_up(const struct rank_bench *bench) { if (bench->rank->on_gpu) rank_line_up(bench->rank); }

void rank_bench_wait(const struct rank_bench *bench) {
    if (bench->rank->on_gpu) cuda_ok(&bench->side, stream_synchronize(bench->side.stream));
    if (bench->move) bench->move(bench, NULL, NULL, 0, false);
}

quern_status rank_bench_status(const struct rank_bench *bench, quern_status returned) {
    rank_bench_wait(bench);
    return rank_reaches(bench->rank) && returned == QUERN_OK ? quern_group_status(bench->group) : returned;
}

void rank_bench_wait_for_all(const struct rank_bench *bench) {
    rank_bench_wait(bench);
    rank_bench_line_up(bench);
}

/* ---- contents ---- */

void *rank_bench_image(const struct rank_bench *bench, const void *pointer) {
    for (int pool = 0; pool < POOLS; pool++) {
        const ptrdiff_t at = (const unsigned char *)pointer - bench->pool[pool];
        if (at >= 0 && at < bench->pool_bytes) return bench->image[pool] + at;
    }
    return (void *)(uintptr_t)pointer;
}

void rank_bench_put(const struct rank_bench *bench, const void *pointer, int64_t bytes) {
    if (bench->move) bench->move(bench, (void *)(uintptr_t)pointer, rank_bench_image(bench, pointer), bytes, true);
}

void *rank_bench_seen(const struct rank_bench *bench, const void *pointer, int64_t bytes) {
    void *image = rank_bench_image(bench, pointer);
    if (bench->move) bench->move(bench, (void *)(uintptr_t)pointer, image, bytes, false);
    return image;
}

void rank_bench_write(const struct rank_bench *bench, void *to, const void *from, int64_t bytes) {
    if (bench->move) bench->move(bench, to, (void *)(uintptr_t)from, bytes, true);
    else memcpy(to, from, (size_t)bytes);
}

void rank_bench_show(const struct rank_bench *bench, int64_t bytes) {
    for (int pool = 0; pool < POOLS; pool++) rank_bench_put(bench, bench->pool[pool], bytes);
}

void rank_bench_look(const struct rank_bench *bench, int64_t bytes) {
    for (int pool = 0; pool < POOLS; pool++) rank_bench_seen(bench, bench->pool[pool], bytes);
}

void rank_bench_fill(uint64_t salt, int64_t offset, unsigned char *to, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++) {
        const uint32_t mixed = ((uint32_t)(offset + i) + (uint32_t)salt) * 0x9E3779B1u;
        to[i] = (unsigned char)((mixed ^ mixed >> 15) >> 8);
    }
}

bool rank_bench_is_right(const struct rank_bench *bench, int64_t bytes, char text[80]) {
    rank_bench_look(bench, bytes);
    for (int pool = 0; pool < POOLS; pool++) {
        const unsigned char *has = bench->image[pool], *expected = bench->expected[pool];
        int64_t at = 0;
        if (!memcmp(has, expected, (size_t)bytes)) continue;
        while (has[at] == expected[at]) at++;
        snprintf(text, 80, "byte %lld of the %s pool is %d instead of %d", (long long)at, rank_pool_names[pool], has[at],
                 expected[at]);
        return false;
    }
    return true;
}

void rank_bench_guard(const struct rank_bench *bench, size_t bytes) {
    if (!bench->workspace) rank_check(bench->rank, !bytes, "a workspace of %zu bytes", bytes);
    if (bench->move) return;
    rank_check(bench->rank, (int64_t)bytes + GUARD <= bench->pool_bytes, "a workspace of %zu bytes", bytes);
    memset((char *)bench->workspace + bytes, GUARD_BYTE, GUARD);
}

void rank_bench_check(const struct rank_bench *bench, size_t bytes) {
    const unsigned char *end = (const unsigned char *)bench->workspace + bytes;
    for (int i = 0; i < GUARD && !bench->move; i++)
        rank_check(bench->rank, end[i] == GUARD_BYTE, "byte %d behind the workspace was overwritten", i);
}
