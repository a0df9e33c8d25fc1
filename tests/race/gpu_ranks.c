/*
 * Barriers, all-to-alls, collectives and quantised chunks of GPU ranks on the emulator, under ThreadSanitizer, which reports where
 * one rank's kernel relies on an order that no signal gives, even when the result happens to be right.  A plain program, as race.c
 * is; results are checked elsewhere.
 *
 *   race_gpu_ranks        calls whose outputs are the inputs of the next, by metadata on the host, on the device, and by plans,
 *                         small and large collectives, and chunks that a second stream reads as they come
 *
 * QUERN_TEST_PACK names a pack whose kernels are used instead of the library's.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quern.h"

enum { RANKS = 3, UPDATES = 2, ENTRIES = RANKS * UPDATES, SLICE = 10, ROW_BYTES = 333, ROWS = ENTRIES * SLICE, ROUNDS = 3 };

enum { PREPARED = QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL | QUERN_COLLECTIVE | QUERN_QUANTIZE };

/* More than fits a slot, and the board that holds as much of each rank. */
enum { LARGE = 45056, BOARD = RANKS * LARGE };

/* A chunk has parts of both blocks of a cast; two chunks share a tile.  The rows of all ranks begin at vectors. */
enum { CHUNK_ROWS = 4, CHUNKS_ROWS = 10, CHUNKS_COLUMNS = 1504, CHUNKS = 3, ELEMENTS = CHUNKS_ROWS * CHUNKS_COLUMNS };
enum { READY = RANKS * ELEMENTS, CHUNKS_BYTES = READY + RANKS * CHUNKS * 4 };

typedef unsigned long long pointer;

static struct {
    int (*alloc)(pointer *p, size_t bytes);
    int (*to_device)(pointer to, const void *from, size_t bytes);
    int (*copy)(pointer to, pointer from, size_t bytes, void *stream);
    int (*set_context)(void *context);
    int (*retain)(void **context, int device);
    int (*make_stream)(void **stream, unsigned flags);
    int (*synchronize)(void *stream);
    int (*make_event)(void **event, unsigned flags);
    int (*record)(void *event, void *stream);
    int (*await)(void *stream, void *event, unsigned flags);
} driver;

static void fail(const char *what) {
    char detail[1024];
    quern_error_detail(detail, sizeof detail);
    printf("race_gpu_ranks: %s: %s\n", what, detail);
    exit(EXIT_FAILURE);
}

static void find(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    if (!address) fail(name);
    memcpy(function, &address, sizeof address);
}

static void open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) fail(dlerror());
    find(library, "cuMemAlloc_v2", &driver.alloc);
    find(library, "cuMemcpyHtoD_v2", &driver.to_device);
    find(library, "cuMemcpyDtoDAsync_v2", &driver.copy);
    find(library, "cuCtxSetCurrent", &driver.set_context);
    find(library, "cuDevicePrimaryCtxRetain", &driver.retain);
    find(library, "cuStreamCreate", &driver.make_stream);
    find(library, "cuStreamSynchronize", &driver.synchronize);
    find(library, "cuEventCreate", &driver.make_event);
    find(library, "cuEventRecord", &driver.record);
    find(library, "cuStreamWaitEvent", &driver.await);
}

static void ok(quern_status status, const char *what) {
    if (status != QUERN_OK) fail(what);
}

/* ---- three ranks and their memory ---- */

struct rank {
    quern_device *device;
    void *context, *stream;
    void *second, *has_read;                 /* a stream that reads chunks, and an event */
    void *boards[2], *workspace;             /* symmetric; a call reads one board and writes the other */
    void *chunks;                            /* symmetric: the codes of all ranks, and the words that say which are ready */
    pointer numbers, state, amax, codes;     /* the input of a quantisation, its workspace and result; a chunk that was read */
    int32_t metadata[4][ENTRIES];
    const int32_t *on_device;                /* the same */
    pointer copy;                            /* of the board that was written last */
};

static struct rank ranks[RANKS];
static quern_group *groups[RANKS];

static void open_rank(int rank) {
    struct rank *mine = &ranks[rank];
    ok(quern_device_open(QUERN_CUDA, rank, &mine->device), "quern_device_open");
    ok(quern_prepare(mine->device, PREPARED), "quern_prepare");
    if (driver.retain(&mine->context, rank) || driver.set_context(mine->context) || driver.make_stream(&mine->stream, 1) ||
        driver.make_stream(&mine->second, 1) || driver.make_event(&mine->has_read, 2))
        fail("no stream");
}

static void open_group(void) {
    quern_group_args args[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        open_rank(rank);
        args[rank] = (quern_group_args)QUERN_GROUP_ARGS_INIT;
        args[rank].rank = rank, args[rank].ranks = RANKS;
        args[rank].name = "race_gpu_ranks", args[rank].device = ranks[rank].device;
        args[rank].timeout = 200;
    }
    ok(quern_group_create(args, RANKS, groups), "quern_group_create");
}

static void allocate(size_t bytes, size_t offset) {
    size_t sizes[RANKS] = {bytes, bytes, bytes};
    void *parts[RANKS];
    ok(quern_symmetric_alloc(groups, RANKS, sizes, parts), "quern_symmetric_alloc");
    for (int rank = 0; rank < RANKS; rank++) memcpy((char *)&ranks[rank] + offset, &parts[rank], sizeof *parts);
}

/* All slices have the same length and fill the outputs. */
static void make_metadata(int rank) {
    struct rank *mine = &ranks[rank];
    pointer p;
    for (int entry = 0; entry < ENTRIES; entry++) {
        mine->metadata[0][entry] = entry * SLICE;
        mine->metadata[1][entry] = mine->metadata[3][entry] = SLICE;
        mine->metadata[2][entry] = (rank * UPDATES + entry % UPDATES) * SLICE;
    }
    driver.set_context(mine->context);
    if (driver.alloc(&p, sizeof mine->metadata) || driver.to_device(p, mine->metadata, sizeof mine->metadata)) fail("no memory");
    mine->on_device = (const int32_t *)(size_t)p;
    if (driver.alloc(&mine->copy, BOARD)) fail("no memory");
}

static quern_ragged_all_to_all_args arguments(int rank, int from, int on_device) {
    const struct rank *mine = &ranks[rank];
    const int32_t *metadata = on_device ? mine->on_device : mine->metadata[0];
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = mine->boards[from], args.output = mine->boards[!from];
    args.input_rows = args.output_rows = ROWS, args.row_bytes = ROW_BYTES, args.updates = UPDATES;
    args.input_offsets = metadata, args.send_sizes = metadata + ENTRIES;
    args.output_offsets = metadata + 2 * ENTRIES, args.recv_sizes = metadata + 3 * ENTRIES;
    args.metadata_on_device = on_device, args.check_overlap = 1;
    args.multiprocessors = 2;
    return args;
}

/* ---- the work of the ranks ---- */

/* Only the exit barrier of the call that wrote this data orders the read after the other ranks' writes. */
static void read_output(int rank, int from) {
    driver.set_context(ranks[rank].context);
    if (driver.copy(ranks[rank].copy, (pointer)(size_t)ranks[rank].boards[!from], BOARD, ranks[rank].stream))
        fail("no copy");
}

static void call_all(int from, int on_device, size_t bytes) {
    for (int rank = 0; rank < RANKS; rank++) {
        const quern_ragged_all_to_all_args args = arguments(rank, from, on_device);
        ok(quern_ragged_all_to_all(groups[rank], &args, ranks[rank].workspace, bytes, ranks[rank].stream),
           "quern_ragged_all_to_all");
        read_output(rank, from);
    }
}

static void barrier_of(const int *members, int count) {
    quern_barrier_args args = QUERN_BARRIER_ARGS_INIT;
    args.members = members, args.member_count = count;
    for (int i = 0; i < count; i++) ok(quern_barrier(groups[members[i]], &args, ranks[members[i]].stream), "quern_barrier");
}

/* Each operation, whose output is the next one's input. */
static void collect(int64_t bytes) {
    static quern_status (*const calls[])(quern_group *, const quern_collective_args *, void *, size_t, void *) = {
        quern_all_gather, quern_reduce_scatter, quern_all_reduce, quern_broadcast};
    for (int call = 0; call < 4; call++)
        for (int rank = 0; rank < RANKS; rank++) {
            quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
            args.dtype = QUERN_F32, args.count = bytes / 4, args.root = 1, args.multiprocessors = 2;
            args.input = ranks[rank].boards[call % 2], args.output = ranks[rank].boards[!(call % 2)];
            ok(calls[call](groups[rank], &args, NULL, 0, ranks[rank].stream), "a collective");
            read_output(rank, call % 2);
        }
}

/* ---- chunks ---- */

static quern_quantize_chunks_args chunk_arguments(int rank, uint32_t value) {
    const struct rank *mine = &ranks[rank];
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3;
    args.input = (const void *)(size_t)mine->numbers, args.output = mine->chunks;
    args.ready = (uint32_t *)(void *)((char *)mine->chunks + READY), args.ready_value = value;
    args.rows = CHUNKS_ROWS, args.columns = CHUNKS_COLUMNS, args.chunk_rows = CHUNK_ROWS;
    args.amax = (float *)(size_t)mine->amax;
    args.multiprocessors = 2;
    return args;
}

static size_t state_bytes(int rank) {
    const quern_quantize_chunks_args args = chunk_arguments(rank, 1);
    size_t bytes;
    ok(quern_quantize_chunks_workspace(groups[rank], &args, &bytes), "quern_quantize_chunks_workspace");
    return bytes;
}

static void make_numbers(int rank) {
    struct rank *mine = &ranks[rank];
    static float numbers[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) numbers[i] = (float)(i % 100 - rank);
    driver.set_context(mine->context);
    if (driver.alloc(&mine->numbers, sizeof numbers) || driver.to_device(mine->numbers, numbers, sizeof numbers) ||
        driver.alloc(&mine->state, state_bytes(rank)) || driver.alloc(&mine->amax, sizeof(float)) ||
        driver.alloc(&mine->codes, CHUNK_ROWS * CHUNKS_COLUMNS))
        fail("no memory");
}

/* Only the word of a chunk orders the read after its casts.  The next casts are ordered after the read by the event. */
static void read_chunks(int rank, uint32_t value) {
    const struct rank *mine = &ranks[rank];
    const quern_quantize_chunks_args args = chunk_arguments(rank, value);
    driver.set_context(mine->context);
    for (int word = 0; word < RANKS * CHUNKS; word++) {
        const int row = word % CHUNKS * CHUNK_ROWS, rows = CHUNKS_ROWS - row < CHUNK_ROWS ? CHUNKS_ROWS - row : CHUNK_ROWS;
        const size_t at = (size_t)(word / CHUNKS * ELEMENTS + row * CHUNKS_COLUMNS);
        ok(quern_chunk_wait(groups[rank], args.ready + word, 1, value, 0, mine->second), "quern_chunk_wait");
        if (driver.copy(mine->codes, (pointer)(size_t)mine->chunks + at, (size_t)rows * CHUNKS_COLUMNS, mine->second))
            fail("no copy");
    }
    if (driver.record(mine->has_read, mine->second)) fail("no event");
}

/* One rank reads at a time: ThreadSanitizer has no numbers for the threads of more blocks. */
static void run_chunks(void) {
    for (uint32_t value = 1; value <= 2 * RANKS; value++) {
        const struct rank *reader = &ranks[value % RANKS];
        read_chunks((int)value % RANKS, value);
        for (int rank = 0; rank < RANKS; rank++) {
            const quern_quantize_chunks_args args = chunk_arguments(rank, value);
            driver.set_context(ranks[rank].context);
            ok(quern_quantize_chunks(groups[rank], &args, (void *)(size_t)ranks[rank].state, state_bytes(rank), ranks[rank].stream),
               "quern_quantize_chunks");
        }
        if (driver.await(reader->stream, reader->has_read, 0)) fail("no order");
    }
}

/* ---- all of it ---- */

static void run_rounds(size_t bytes, quern_ragged_plan *const (*plans)[RANKS]) {
    static const int all[] = {0, 1, 2}, some[] = {0, 2};
    call_all(1, 0, bytes);  /* once: copying the metadata from the host orders all earlier calls before it */
    for (int round = 0; round < ROUNDS; round++) {
        call_all(0, 1, bytes);
        call_all(1, 1, bytes);
        barrier_of(some, 2);
        for (int from = 0; from < 2; from++)
            for (int rank = 0; rank < RANKS; rank++) {
                ok(quern_ragged_plan_run(plans[from][rank], ranks[rank].stream), "quern_ragged_plan_run");
                read_output(rank, from);
            }
        barrier_of(all, 3);
        for (int again = 0; again < 3; again++) collect(512);
        collect(LARGE);
    }
}

static void make_plans(size_t bytes, quern_ragged_plan *(*plans)[RANKS]) {
    for (int from = 0; from < 2; from++) {
        quern_ragged_all_to_all_args args[RANKS];
        size_t sizes[RANKS] = {bytes, bytes, bytes}, both[RANKS] = {2 * bytes, 2 * bytes, 2 * bytes};
        void *workspaces[RANKS];
        ok(quern_symmetric_alloc(groups, RANKS, both, workspaces), "quern_symmetric_alloc");
        for (int rank = 0; rank < RANKS; rank++) args[rank] = arguments(rank, from, 0);
        ok(quern_ragged_plan_create(groups, RANKS, args, workspaces, sizes, plans[from]), "quern_ragged_plan_create");
    }
}

int main(void) {
    size_t bytes;
    quern_ragged_plan *plans[2][RANKS];
    const char *pack = getenv("QUERN_TEST_PACK");
    if (pack) ok(quern_load_pack(pack), "quern_load_pack");
    open_driver();
    open_group();
    allocate(BOARD, offsetof(struct rank, boards[0]));
    allocate(BOARD, offsetof(struct rank, boards[1]));
    allocate(CHUNKS_BYTES, offsetof(struct rank, chunks));
    for (int rank = 0; rank < RANKS; rank++) make_metadata(rank), make_numbers(rank);
    const quern_ragged_all_to_all_args args = arguments(0, 0, 0);
    ok(quern_ragged_all_to_all_workspace(groups[0], &args, &bytes), "quern_ragged_all_to_all_workspace");
    allocate(bytes, offsetof(struct rank, workspace));
    make_plans(bytes, plans);
    run_rounds(bytes, (quern_ragged_plan *const (*)[RANKS])plans);
    run_chunks();
    for (int rank = 0; rank < RANKS; rank++) {
        driver.set_context(ranks[rank].context);
        if (driver.synchronize(ranks[rank].stream) || driver.synchronize(ranks[rank].second)) fail("a kernel failed");
        ok(quern_group_status(groups[rank]), "quern_group_status");
    }
    for (int rank = 0; rank < RANKS; rank++) ok(quern_group_destroy(groups[rank]), "quern_group_destroy");
    printf("1 passed, 0 failed\n");
    return EXIT_SUCCESS;
}
