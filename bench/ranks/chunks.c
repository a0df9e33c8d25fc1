/*
 * Quantised chunks of two processes beside their parts: the amax, the cast, the gather of the codes, and all of these one after the
 * other, turn by turn.  Each rank has one core and one thread.
 *
 *   quern_bench_chunks [MEBIBYTES [CHUNKS [SECONDS]]]      of bf16 input per rank: 64; 16; 20
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "quern.h"
#include "ranks/ranks.h"
#include "ranks/turns.h"

enum { RANKS = 2, COLUMNS = 1024, SETS = 2 };

/* The buffers of a rank, in sets that the turns cycle through. */
struct rank {
    int rank;
    quern_device *device;
    quern_group *group;
    int64_t rows, chunks;
    char *input[SETS], *codes[SETS], *output[SETS];  /* bf16; a rank's own; those of all, symmetric */
    uint32_t *ready;
    uint32_t value;
    float *amax, scale, scale_inv;
    void *workspace;
    size_t workspace_bytes;
};

static void give_up(const char *what) {
    char detail[256] = "";
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", what, detail);
    exit(EXIT_FAILURE);
}

static void ok(quern_status status, const char *what) {
    if (status != QUERN_OK) give_up(what);
}

/* ---- the activities ---- */

static int64_t elements_of(const struct rank *rank) { return rank->rows * COLUMNS; }

static quern_quantize_args cast_args(struct rank *rank, quern_quantize_tensor *tensor, int set) {
    quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT;
    *tensor = (quern_quantize_tensor){.input = rank->input[set], .output = rank->codes[set], .count = elements_of(rank)};
    args.input_dtype = QUERN_BF16, args.output_dtype = QUERN_E4M3, args.tensors = tensor, args.tensor_count = 1;
    args.amax = rank->amax, args.scale = &rank->scale, args.scale_inv = &rank->scale_inv;
    return args;
}

static void find_amax(void *context, int set) {
    struct rank *rank = context;
    quern_quantize_tensor tensor;
    const quern_quantize_args args = cast_args(rank, &tensor, set);
    ok(quern_quantize_amax(rank->device, &args, NULL, 0, NULL), "the amax");
}

static void cast(void *context, int set) {
    struct rank *rank = context;
    quern_quantize_tensor tensor;
    const quern_quantize_args args = cast_args(rank, &tensor, set);
    ok(quern_quantize_cast(rank->device, &args, NULL), "the cast");
}

static void gather(void *context, int set) {
    struct rank *rank = context;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_E4M3, args.input = rank->codes[set], args.output = rank->output[set], args.count = elements_of(rank);
    ok(quern_all_gather(rank->group, &args, rank->workspace, rank->workspace_bytes, NULL), "the gather");
}

static void run_all(void *context, int set) {
    struct rank *rank = context;
    quern_collective_args largest = QUERN_COLLECTIVE_ARGS_INIT;
    largest.dtype = QUERN_F32, largest.combination = QUERN_COMBINE_MAX, largest.count = 1;
    largest.input = largest.output = rank->amax;
    find_amax(rank, set);
    ok(quern_all_reduce(rank->group, &largest, rank->workspace, rank->workspace_bytes, NULL), "the maximum");
    cast(rank, set);
    gather(rank, set);
}

static void run_chunks(void *context, int set) {
    struct rank *rank = context;
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args.input_dtype = QUERN_BF16, args.output_dtype = QUERN_E4M3, args.input = rank->input[set], args.output = rank->output[set];
    args.ready = rank->ready, args.ready_value = ++rank->value, args.rows = rank->rows, args.columns = COLUMNS;
    args.chunk_rows = (rank->rows + rank->chunks - 1) / rank->chunks;
    args.amax = rank->amax, args.scale = &rank->scale, args.scale_inv = &rank->scale_inv;
    ok(quern_quantize_chunks(rank->group, &args, NULL, 0, NULL), "the chunks");
}

static const struct turn turns[] = {
    {"amax", find_amax}, {"cast", cast}, {"all-gather", gather}, {"chunks", run_chunks},
    {"amax, maximum, cast, all-gather", run_all},
};

enum { AMAX, CAST, GATHER, CHUNKS, ALL, TURNS };

/* ---- a rank ---- */

static void *symmetric(struct rank *rank, size_t bytes) {
    void *memory;
    ok(quern_symmetric_alloc(&rank->group, 1, &bytes, &memory), "symmetric memory");
    memset(memory, 0, bytes);
    return memory;
}

static void *private(size_t bytes) {
    void *memory = aligned_alloc(64, bytes);
    if (!memory) give_up("memory");
    memset(memory, 0, bytes);
    return memory;
}

static void join(struct rank *rank, const char *name) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    ok(quern_device_open(QUERN_CPU, 0, &rank->device), "the device");
    ok(quern_prepare(rank->device, QUERN_QUANTIZE | QUERN_COLLECTIVE), "the kernels");
    ok(quern_set_threads(rank->device, 1, NULL, NULL), "the threads");
    args.rank = rank->rank, args.ranks = RANKS, args.name = name, args.device = rank->device, args.timeout = 20;
    ok(quern_group_create(&args, 1, &rank->group), "the group");
}

/* Numbers of [1, 2), so that each is cast in the usual way. */
static void fill(const struct rank *rank, int set) {
    uint16_t *bits = (uint16_t *)(void *)rank->input[set];
    uint32_t random = 1 + (uint32_t)rank->rank;
    for (int64_t i = 0; i < elements_of(rank); i++) {
        random = random * 1664525 + 1013904223;
        bits[i] = (uint16_t)(0x3F80 | random >> 25 | (random >> 16 & 0x8000));
    }
}

static void allocate(struct rank *rank) {
    const size_t elements = (size_t)elements_of(rank);
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_E4M3, args.count = (int64_t)elements;
    ok(quern_collective_workspace(rank->group, &args, &rank->workspace_bytes), "the workspace");
    rank->workspace = symmetric(rank, rank->workspace_bytes + 64);
    rank->ready = symmetric(rank, RANKS * (size_t)rank->chunks * sizeof *rank->ready);
    rank->amax = symmetric(rank, 64);
    for (int set = 0; set < SETS; set++) {
        rank->input[set] = private(2 * elements);
        rank->codes[set] = private(elements);
        rank->output[set] = symmetric(rank, RANKS * elements);
        fill(rank, set);
    }
}

/* Chunks that give other bits than their parts are not timed. */
static void compare(struct rank *rank) {
    const size_t bytes = RANKS * (size_t)elements_of(rank);
    char *expected = private(bytes);
    run_all(rank, 0);
    memcpy(expected, rank->output[0], bytes);
    ok(quern_barrier(rank->group, NULL, NULL), "a barrier");
    memset(rank->output[0], 0, bytes);
    run_chunks(rank, 0);
    if (memcmp(expected, rank->output[0], bytes)) give_up("the chunks have other bits than their parts");
    free(expected);
}

static void run_rank(struct turns *shared, const char *name, struct rank *rank, double seconds) {
    cores_bind(rank->rank, RANKS, RANKS);
    join(rank, name);
    allocate(rank);
    compare(rank);
    turns_run(shared, rank->rank, RANKS, &(struct turn_list){turns, TURNS, SETS, seconds, rank});
    ok(quern_group_destroy(rank->group), "the end of the group");
    quern_device_close(rank->device);
}

/* ---- the table ---- */

static void print(const struct turns *shared, const struct rank *rank) {
    double of[TURNS];
    for (int i = 0; i < TURNS; i++) of[i] = turns_times(shared, RANKS, i).median;
    const double longer = of[CAST] > of[GATHER] ? of[CAST] : of[GATHER];
    printf("%lld x %d bf16 of each of %d processes, %lld chunks\n\n| | ms |\n|---|---:|\n", (long long)rank->rows, COLUMNS, RANKS,
           (long long)rank->chunks);
    for (int i = 0; i < TURNS; i++) printf("| %s | %.2f |\n", turns[i].name, 1e3 * of[i]);
    printf("\n| chunks, in times of | |\n|---|---:|\n");
    printf("| the longer of cast and all-gather | %.2f |\n", of[CHUNKS] / longer);
    printf("| amax and the longer of cast and all-gather | %.2f |\n", of[CHUNKS] / (of[AMAX] + longer));
    printf("| amax, cast and all-gather | %.2f |\n", of[CHUNKS] / (of[AMAX] + of[CAST] + of[GATHER]));
    printf("| the calls one after the other | %.2f |\n", of[CHUNKS] / of[ALL]);
}

static bool have_ended(const pid_t *processes) {
    bool succeeded = true;
    for (int i = 0; i < RANKS; i++) {
        int status;
        succeeded &= waitpid(processes[i], &status, 0) == processes[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return succeeded;
}

int main(int count, char **words) {
    const double mebibytes = count > 1 ? atof(words[1]) : 64, seconds = count > 3 ? atof(words[3]) : 20;
    struct rank rank = {.rows = (int64_t)(mebibytes * (1 << 20) / 2 / COLUMNS), .chunks = count > 2 ? atoi(words[2]) : 16};
    struct turns *shared = mmap(NULL, turns_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t processes[RANKS];
    char name[64];
    if (rank.rows < 1 || rank.chunks < 1 || seconds <= 0 || shared == MAP_FAILED)
        return fprintf(stderr, "usage: quern_bench_chunks [MEBIBYTES [CHUNKS [SECONDS]]]\n"), EXIT_FAILURE;
    snprintf(name, sizeof name, "chunks.%d", (int)getpid());
    for (rank.rank = 0; rank.rank < RANKS; rank.rank++) {
        processes[rank.rank] = fork();
        if (processes[rank.rank]) continue;
        run_rank(shared, name, &rank, seconds);
        return EXIT_SUCCESS;
    }
    if (!have_ended(processes)) return EXIT_FAILURE;
    print(shared, &rank);
    return EXIT_SUCCESS;
}
