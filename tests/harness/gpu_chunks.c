/* Runs quantised chunks on GPU ranks and compares their memory.  gpu_chunks.h documents the functions. */
#include "harness/gpu_chunks.h"

#include "harness/check.h"
#include "harness/random.h"

enum { RUBBISH = 0x5a, RESULTS_BYTES = 64, WORKSPACE_BYTES = 8192 };

static unsigned char *allocate(size_t bytes) {
    cuda_pointer memory;
    CUDA(cuMemAlloc_v2(&memory, bytes));
    return (unsigned char *)(uintptr_t)memory;
}

void gpu_chunks_open(struct gpu_chunks *bench, struct gpu_group *group, size_t pool_bytes) {
    size_t bytes[GPU_CHUNKS_MOST];
    void *symmetric[GPU_CHUNKS_MOST];
    *bench = (struct gpu_chunks){.group = group, .pool_bytes = pool_bytes};
    for (int rank = 0; rank < group->ranks; rank++) bytes[rank] = pool_bytes;
    check_ok(quern_symmetric_alloc(group->group, group->ranks, bytes, symmetric));
    for (int rank = 0; rank < group->ranks; rank++) {
        device_use(&group->device[rank]);
        bench->symmetric[rank] = symmetric[rank];
        bench->input[rank] = allocate(pool_bytes);
        bench->seen[rank] = allocate(pool_bytes);
        bench->results[rank] = allocate(RESULTS_BYTES);
        bench->workspace[rank] = allocate(WORKSPACE_BYTES);
        CUDA(cuStreamCreate(&bench->second[rank], 1));
    }
}

void gpu_chunks_close(struct gpu_chunks *bench) {
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        unsigned char *const all[] = {bench->input[rank], bench->seen[rank], bench->results[rank], bench->workspace[rank]};
        device_use(&bench->group->device[rank]);
        CUDA(cuStreamSynchronize(bench->second[rank]));
        CUDA(cuStreamDestroy_v2(bench->second[rank]));
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) CUDA(cuMemFree_v2((uintptr_t)all[i]));
    }
}

void gpu_chunks_synchronize(const struct gpu_chunks *bench) {
    gpu_group_synchronize(bench->group);
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        device_use(&bench->group->device[rank]);
        CUDA(cuStreamSynchronize(bench->second[rank]));
    }
}

/* ---- memory ---- */

static void put(const struct gpu_chunks *bench, int rank, unsigned char *to, const void *from, size_t bytes) {
    device_use(&bench->group->device[rank]);
    if (bytes) CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)to, from, bytes, bench->group->device[rank].stream));
}

static unsigned char *seen(const struct gpu_chunks *bench, int rank, const unsigned char *from, size_t bytes) {
    unsigned char *copy = malloc(bytes + 1);
    check(copy, "no memory");
    device_use(&bench->group->device[rank]);
    if (bytes) CUDA(cuMemcpyDtoHAsync_v2(copy, (uintptr_t)from, bytes, bench->group->device[rank].stream));
    device_synchronize(&bench->group->device[rank]);
    return copy;
}

static size_t input_bytes(const struct chunks_case *c) { return (size_t)c->elements * quern_dtype_bytes(c->input); }

/* Where a rank's input begins. */
static unsigned char *input_of(const struct gpu_chunks *bench, const struct chunks_case *c, int rank) {
    return bench->input[rank] + (size_t)c->input_skew * quern_dtype_bytes(c->input);
}

/* amax, scale, scale_inv and the offset of a rank, in its results. */
enum { AMAX, SCALE = 8, INVERSE = 16, OFFSET = 24 };

void gpu_chunks_fill(struct gpu_chunks *bench, const struct chunks_case *c) {
    const struct chunks_layout layout = chunks_case_layout(c);
    check((size_t)layout.bytes <= bench->pool_bytes && input_bytes(c) + 128 <= bench->pool_bytes, "a case of %lld bytes",
          (long long)layout.bytes);
    unsigned char *image = malloc(bench->pool_bytes), *results = malloc(RESULTS_BYTES), *rubbish = malloc(WORKSPACE_BYTES);
    check(image && results && rubbish, "no memory");
    memset(rubbish, RUBBISH, WORKSPACE_BYTES);
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        const int place = chunks_case_place(c, rank);
        const uint64_t offset = place < 0 ? 0 : chunks_case_offset(c, place);
        memset(image, RUBBISH, bench->pool_bytes);
        memset(image + layout.ready, 0, (size_t)layout.ready_bytes);
        memset(results, RUBBISH, RESULTS_BYTES);
        memcpy(results + OFFSET, &offset, sizeof offset);
        put(bench, rank, bench->symmetric[rank], image, bench->pool_bytes);
        put(bench, rank, bench->seen[rank], image, bench->pool_bytes);
        put(bench, rank, bench->results[rank], results, RESULTS_BYTES);
        put(bench, rank, bench->workspace[rank], rubbish, WORKSPACE_BYTES);
        if (place >= 0) put(bench, rank, input_of(bench, c, rank), c->inputs[place], input_bytes(c));
        gpu_group_synchronize(bench->group);
    }
    free(image), free(results), free(rubbish);
}

/* ---- calls ---- */

quern_quantize_chunks_args gpu_chunks_arguments(const struct gpu_chunks *bench, const struct chunks_case *c, int rank,
                                                uint32_t value, int *order) {
    const struct chunks_layout layout = chunks_case_layout(c);
    const int place = chunks_case_place(c, rank);
    quern_quantize_chunks_args args = chunks_case_args(c, place);
    unsigned char *results = bench->results[rank];
    args.input = input_of(bench, c, rank);
    args.output = bench->symmetric[rank] + layout.output;
    args.ready = (uint32_t *)(void *)(bench->symmetric[rank] + layout.ready);
    args.ready_value = value;
    args.amax = (float *)(void *)(results + AMAX);
    if (c->has_scales) args.scale = (float *)(void *)(results + SCALE), args.scale_inv = (float *)(void *)(results + INVERSE);
    if (c->has_pointer) args.offset_pointer = (const uint64_t *)(void *)(results + OFFSET);
    args.multiprocessors = (int)random_below(c->seed, 5000 + (uint64_t)rank, 4);
    chunks_case_order(c, place, order);
    if (!c->is_in_order) args.order = order;
    return args;
}

quern_status gpu_chunks_call(const struct gpu_chunks *bench, int rank, const quern_quantize_chunks_args *args) {
    return quern_quantize_chunks(bench->group->group[rank], args, bench->workspace[rank], WORKSPACE_BYTES,
                                 bench->group->device[rank].stream);
}

void gpu_chunks_enqueue(const struct gpu_chunks *bench, const struct chunks_case *c, uint32_t value) {
    int order[1024];
    for (int place = 0; place < c->count; place++) {
        const int rank = c->members[place];
        const quern_quantize_chunks_args args = gpu_chunks_arguments(bench, c, rank, value, order);
        size_t bytes = 0;
        check_ok(quern_quantize_chunks_workspace(bench->group->group[rank], &args, &bytes));
        check(bytes > 0 && bytes <= WORKSPACE_BYTES, "a workspace of %zu bytes", bytes);
        device_use(&bench->group->device[rank]);
        check_ok(gpu_chunks_call(bench, rank, &args));
    }
}

/* ---- the second stream ---- */

static void poll_chunk(const struct gpu_chunks *bench, const struct chunks_case *c, int rank, int64_t word, uint32_t value) {
    const struct chunks_layout layout = chunks_case_layout(c);
    const int64_t place = word / c->chunks, first = word % c->chunks * c->chunk_rows;
    const int64_t rows = c->rows - first < c->chunk_rows ? c->rows - first : c->chunk_rows;
    const int64_t at = layout.output + place * c->elements + first * c->columns;
    const uint32_t *ready = (const uint32_t *)(void *)(bench->symmetric[rank] + layout.ready);
    check_ok(quern_chunk_wait(bench->group->group[rank], ready + word, 1, value, 0, bench->second[rank]));
    if (rows * c->columns > 0)
        CUDA(cuMemcpyDtoDAsync_v2((uintptr_t)bench->seen[rank] + (uint64_t)at, (uintptr_t)bench->symmetric[rank] + (uint64_t)at,
                                  (size_t)(rows * c->columns), bench->second[rank]));
}

void gpu_chunks_poll(const struct gpu_chunks *bench, const struct chunks_case *c, uint32_t value) {
    const int64_t words = c->count * c->chunks;
    for (int place = 0; place < c->count; place++) {
        const int rank = c->members[place];
        const int64_t first = words ? random_below(c->seed, 6000 + (uint64_t)rank, words) : 0;
        device_use(&bench->group->device[rank]);
        for (int64_t i = 0; i < words; i++) poll_chunk(bench, c, rank, (first + i) % words, value);
    }
}

/* ---- results ---- */

static void compare_pool(const struct gpu_chunks *bench, const struct chunks_case *c, int rank, const char *what,
                         const unsigned char *pool, uint32_t word) {
    const struct chunks_layout layout = chunks_case_layout(c);
    unsigned char *has = seen(bench, rank, pool, bench->pool_bytes), *expected = malloc(bench->pool_bytes);
    check(expected, "no memory");
    memset(expected, RUBBISH, bench->pool_bytes);
    const bool is_member = chunks_case_place(c, rank) >= 0;
    memset(expected + layout.ready, 0, (size_t)layout.ready_bytes);
    if (is_member) memcpy(expected + layout.output, c->expected, (size_t)layout.output_bytes);
    for (int64_t i = 0; is_member && i < layout.ready_bytes / 4; i++) memcpy(expected + layout.ready + 4 * i, &word, 4);
    for (size_t i = 0; memcmp(has, expected, bench->pool_bytes) && i < bench->pool_bytes; i++)
        check(has[i] == expected[i],
              "case %llu, dtypes %d and %d, %lld x %lld in chunks of %lld, %d members: "
              "byte %lld of rank %d's %s is %d instead of %d (output at %lld, words at %lld)",
              (unsigned long long)c->seed, (int)c->input, (int)c->output, (long long)c->rows, (long long)c->columns,
              (long long)c->chunk_rows, c->count, (long long)i, rank, what, has[i], expected[i], (long long)layout.output,
              (long long)layout.ready);
    free(has), free(expected);
}

static void compare_results(const struct gpu_chunks *bench, const struct chunks_case *c, int rank) {
    unsigned char *has = seen(bench, rank, bench->results[rank], RESULTS_BYTES), expected[24];
    memset(expected, RUBBISH, sizeof expected);
    memcpy(expected + AMAX, &c->amax, 4);
    if (c->has_scales) memcpy(expected + SCALE, &c->scale, 4), memcpy(expected + INVERSE, &c->scale_inv, 4);
    check(chunks_case_place(c, rank) < 0 || memcmp(has, expected, sizeof expected) == 0,
          "case %llu: amax, scale and scale_inv of rank %d differ", (unsigned long long)c->seed, rank);
    free(has);
}

void gpu_chunks_compare(const struct gpu_chunks *bench, const struct chunks_case *c, uint32_t value, bool polled) {
    gpu_chunks_synchronize(bench);
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        check_ok(quern_group_status(bench->group->group[rank]));
        compare_pool(bench, c, rank, "symmetric memory", bench->symmetric[rank], value);
        compare_results(bench, c, rank);
        if (polled) compare_pool(bench, c, rank, "copies of ready chunks", bench->seen[rank], 0);
    }
}

void gpu_chunks_run(struct gpu_chunks *bench, const struct chunks_case *c, uint32_t value, bool polled) {
    gpu_chunks_fill(bench, c);
    if (polled) gpu_chunks_poll(bench, c, value);
    gpu_chunks_enqueue(bench, c, value);
    gpu_chunks_compare(bench, c, value, polled);
}
