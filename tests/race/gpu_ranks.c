/*
 * Barriers, all-to-alls, collectives and quantised chunks of GPU ranks, where one rank's kernel may rely on an order that no signal
 * gives: calls whose outputs are the inputs of the next, by metadata on the host, on the device, and by plans, small and large
 * collectives, and chunks that a second stream reads as they come.
 */
#include <string.h>

#include "race/race.h"
#include "runtime/cuda_driver.h"

enum { RANKS = 3, UPDATES = 2, ENTRIES = RANKS * UPDATES, SLICE = 10, ROW_BYTES = 333, ROWS = ENTRIES * SLICE, ROUNDS = 3 };

enum { PREPARED = QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL | QUERN_COLLECTIVE | QUERN_QUANTIZE };

/* More than fits a slot, and the board that holds as much of each rank. */
enum { LARGE = 45056, BOARD = RANKS * LARGE };

/* A chunk has parts of both blocks of a cast; two chunks share a tile.  The rows of all ranks begin at vectors. */
enum { CHUNK_ROWS = 4, CHUNKS_ROWS = 10, CHUNKS_COLUMNS = 1504, CHUNKS = 3, ELEMENTS = CHUNKS_ROWS * CHUNKS_COLUMNS };
enum { READY = RANKS * ELEMENTS, SCALES = READY + RANKS * CHUNKS * 4, ACROSS = CHUNKS_COLUMNS / 32 };
enum { CHUNKS_BYTES = SCALES + RANKS * CHUNKS_ROWS * ACROSS };

/* The values of calls with one scale; those of calls in blocks come behind. */
enum { WITH_ONE_SCALE = 2 * RANKS };

/* ---- three ranks and their memory ---- */

struct rank {
    quern_device *device;
    CUcontext context;
    CUstream stream, second;                 /* the second one reads chunks */
    CUevent has_read;
    void *boards[2], *workspace;             /* symmetric; a call reads one board and writes the other */
    void *chunks;                            /* symmetric: the codes of all ranks, and the words that say which are ready */
    void *numbers, *state, *amax, *codes;    /* the input of a quantisation, its workspace and result; a chunk that was read, with
                                                its scales behind it */
    int32_t metadata[4][ENTRIES];
    const int32_t *on_device;                /* the same */
    void *copy;                              /* of the board that was written last */
};

static struct rank ranks[RANKS];
static quern_group *groups[RANKS];

/* Makes its context current. */
static void enter(const struct rank *rank) {
    CUcontext popped;
    driver->context_pop(&popped);
    CHECK(!driver->context_push(rank->context));
}

/* On a stream. */
static void copy(void *to, const void *from, size_t bytes, CUstream stream) {
    CHECK(!driver->copy_on_device_async((uintptr_t)to, (uintptr_t)from, bytes, stream));
}

static void open_rank(int rank) {
    struct rank *mine = &ranks[rank];
    OK(quern_device_open(QUERN_CUDA, rank, &mine->device));
    OK(quern_prepare(mine->device, PREPARED));
    CHECK(!driver->context_retain(&mine->context, rank));
    enter(mine);
    CHECK(!driver->stream_create(&mine->stream, CU_STREAM_NON_BLOCKING) &&
          !driver->stream_create(&mine->second, CU_STREAM_NON_BLOCKING) &&
          !driver->event_create(&mine->has_read, CU_EVENT_DISABLE_TIMING));
}

static void open_group(void) {
    quern_group_args args[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        open_rank(rank);
        args[rank] = (quern_group_args)GROUP_ARGS(.rank = rank, .ranks = RANKS, .name = "race_gpu_ranks",
                                                  .device = ranks[rank].device, .timeout = 200);
    }
    OK(quern_group_create(args, RANKS, groups));
}

static void allocate(size_t bytes, size_t offset) {
    size_t sizes[RANKS] = {bytes, bytes, bytes};
    void *parts[RANKS];
    OK(quern_symmetric_alloc(groups, RANKS, sizes, parts));
    for (int rank = 0; rank < RANKS; rank++) memcpy((char *)&ranks[rank] + offset, &parts[rank], sizeof *parts);
}

/* All slices have the same length and fill the outputs. */
static void make_metadata(int rank) {
    struct rank *mine = &ranks[rank];
    for (int entry = 0; entry < ENTRIES; entry++) {
        mine->metadata[0][entry] = entry * SLICE;
        mine->metadata[1][entry] = mine->metadata[3][entry] = SLICE;
        mine->metadata[2][entry] = (rank * UPDATES + entry % UPDATES) * SLICE;
    }
    enter(mine);
    mine->on_device = device_memory(sizeof mine->metadata, mine->metadata);
    mine->copy = device_memory(BOARD, NULL);
}

static quern_ragged_all_to_all_args arguments(int rank, int from, int on_device) {
    const struct rank *mine = &ranks[rank];
    const int32_t *metadata = on_device ? mine->on_device : mine->metadata[0];
    quern_ragged_all_to_all_args args = RAGGED_ALL_TO_ALL_ARGS(.input = mine->boards[from], .output = mine->boards[!from]);
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
    enter(&ranks[rank]);
    copy(ranks[rank].copy, ranks[rank].boards[!from], BOARD, ranks[rank].stream);
}

static void call_all(int from, int on_device, size_t bytes) {
    for (int rank = 0; rank < RANKS; rank++) {
        const quern_ragged_all_to_all_args args = arguments(rank, from, on_device);
        OK(quern_ragged_all_to_all(groups[rank], &args, ranks[rank].workspace, bytes, ranks[rank].stream));
        read_output(rank, from);
    }
}

static void barrier_of(const int *members, int count) {
    quern_barrier_args args = BARRIER_ARGS(.members = members, .member_count = count);
    for (int i = 0; i < count; i++) OK(quern_barrier(groups[members[i]], &args, ranks[members[i]].stream));
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
            OK(calls[call](groups[rank], &args, NULL, 0, ranks[rank].stream));
            read_output(rank, call % 2);
        }
}

/* ---- chunks ---- */

static quern_quantize_chunks_args chunk_arguments(int rank, uint32_t value) {
    const struct rank *mine = &ranks[rank];
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3;
    args.input = mine->numbers, args.output = mine->chunks;
    args.ready = (uint32_t *)(void *)((char *)mine->chunks + READY), args.ready_value = value;
    args.rows = CHUNKS_ROWS, args.columns = CHUNKS_COLUMNS, args.chunk_rows = CHUNK_ROWS;
    args.multiprocessors = 2;
    if (value <= WITH_ONE_SCALE) args.amax = mine->amax;
    else args.scaling = QUERN_SCALING_MX, args.block_scales = (uint8_t *)mine->chunks + SCALES;
    return args;
}

static size_t state_bytes(int rank) {
    const quern_quantize_chunks_args args = chunk_arguments(rank, 1);
    size_t bytes;
    OK(quern_quantize_chunks_workspace(groups[rank], &args, &bytes));
    return bytes;
}

static void make_numbers(int rank) {
    struct rank *mine = &ranks[rank];
    static float numbers[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) numbers[i] = (float)(i % 100 - rank);
    enter(mine);
    mine->numbers = device_memory(sizeof numbers, numbers), mine->state = device_memory(state_bytes(rank), NULL);
    mine->amax = device_memory(sizeof(float), NULL), mine->codes = device_memory(CHUNK_ROWS * (CHUNKS_COLUMNS + ACROSS), NULL);
}

/* Only the word of a chunk orders the read after its casts.  The next casts are ordered after the read by the event. */
static void read_chunks(int rank, uint32_t value) {
    const struct rank *mine = &ranks[rank];
    const quern_quantize_chunks_args args = chunk_arguments(rank, value);
    enter(mine);
    for (int word = 0; word < RANKS * CHUNKS; word++) {
        const int row = word % CHUNKS * CHUNK_ROWS, rows = CHUNKS_ROWS - row < CHUNK_ROWS ? CHUNKS_ROWS - row : CHUNK_ROWS;
        const size_t at = (size_t)(word / CHUNKS * ELEMENTS + row * CHUNKS_COLUMNS);
        OK(quern_chunk_wait(groups[rank], args.ready + word, 1, value, 0, mine->second));
        copy(mine->codes, (const char *)mine->chunks + at, (size_t)rows * CHUNKS_COLUMNS, mine->second);
        if (args.block_scales)
            copy((char *)mine->codes + CHUNK_ROWS * CHUNKS_COLUMNS, args.block_scales + at / 32, (size_t)rows * ACROSS,
                 mine->second);
    }
    CHECK(!driver->event_record(mine->has_read, mine->second));
}

/* One rank reads at a time: ThreadSanitizer has no numbers for the threads of more blocks. */
static void run_chunks(void) {
    for (uint32_t value = 1; value <= 2 * WITH_ONE_SCALE; value++) {
        const struct rank *reader = &ranks[value % RANKS];
        read_chunks((int)value % RANKS, value);
        for (int rank = 0; rank < RANKS; rank++) {
            const quern_quantize_chunks_args args = chunk_arguments(rank, value);
            enter(&ranks[rank]);
            OK(quern_quantize_chunks(groups[rank], &args, ranks[rank].state, state_bytes(rank), ranks[rank].stream));
        }
        CHECK(!driver->stream_wait_event(reader->stream, reader->has_read, 0));
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
                OK(quern_ragged_plan_run(plans[from][rank], ranks[rank].stream));
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
        OK(quern_symmetric_alloc(groups, RANKS, both, workspaces));
        for (int rank = 0; rank < RANKS; rank++) args[rank] = arguments(rank, from, 0);
        OK(quern_ragged_plan_create(groups, RANKS, args, workspaces, sizes, plans[from]));
    }
}

void run_gpu_ranks(void) {
    size_t bytes;
    quern_ragged_plan *plans[2][RANKS];
    open_group();
    allocate(BOARD, offsetof(struct rank, boards[0]));
    allocate(BOARD, offsetof(struct rank, boards[1]));
    allocate(CHUNKS_BYTES, offsetof(struct rank, chunks));
    for (int rank = 0; rank < RANKS; rank++) make_metadata(rank), make_numbers(rank);
    const quern_ragged_all_to_all_args args = arguments(0, 0, 0);
    OK(quern_ragged_all_to_all_workspace(groups[0], &args, &bytes));
    allocate(bytes, offsetof(struct rank, workspace));
    make_plans(bytes, plans);
    run_rounds(bytes, (quern_ragged_plan *const (*)[RANKS])plans);
    run_chunks();
    for (int rank = 0; rank < RANKS; rank++) {
        enter(&ranks[rank]);
        CHECK(!driver->stream_synchronize(ranks[rank].stream) && !driver->stream_synchronize(ranks[rank].second));
        OK(quern_group_status(groups[rank]));
    }
    for (int rank = 0; rank < RANKS; rank++) OK(quern_group_destroy(groups[rank]));
}
