/*
 * MPI_Barrier and MPI_Alltoallv, timed like the library's barrier and all-to-all; started by mpirun.  Next to the all-to-all runs
 * the same streaming copy as in the library's program: it shows whether both programs ran under the same conditions.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/stream.h"
#include "ranks/ranks.h"
#include "ranks/rounds.h"
#include "ranks/turns.h"

static void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* Zeroed memory that all ranks see; it is never freed. */
static void *shared_memory(size_t bytes, int rank) {
    void *memory;
    MPI_Win window;
    MPI_Aint size;
    int unit;
    MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_shared_query(window, 0, &size, &unit, &memory);
    if (rank == 0) memset(memory, 0, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    return memory;
}

/* ---- barrier ---- */

static void meet(void *unused) {
    (void)unused;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void measure_barrier(const struct peer_options *options, int rank) {
    struct rounds *rounds = shared_memory(rounds_bytes(options->ranks), rank);
    struct player player = {.ball = shared_memory(sizeof(struct ball), rank), .side = rank};
    const struct contender contenders[] = {{"MPI_Barrier", meet, NULL}, {PING_PONG, ping_pong, &player}};
    int count = peer_barriers(options);
    rounds_run(rounds, rank, options->ranks, contenders, count, options->turns, options->seconds / options->turns);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) rounds_write(rounds, "processes", options->ranks, contenders, count, options->turns);
}

/* ---- all-to-all ---- */

struct exchange {
    const struct slices *slices;
    int rank;
    char *input, *output;
    int counts[MAX_TURN_RANKS], places[MAX_TURN_RANKS];  /* rows */
    MPI_Datatype row;
};

static void exchange_slices(void *context, int set) {
    struct exchange *e = context;
    size_t at = (size_t)set * slices_bytes(e->slices);
    MPI_Alltoallv(e->input + at, e->counts, e->places, e->row, e->output + at, e->counts, e->places, e->row, MPI_COMM_WORLD);
}

static void copy_past_caches(void *context, int set) {
    struct exchange *e = context;
    size_t bytes = slices_bytes(e->slices), at = (size_t)set * bytes;
    stream_past_caches(e->output + at, e->input + at, bytes);
}

static char *private_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("not enough memory");
    return memory;
}

static void prepare(struct exchange *e, int sets) {
    size_t bytes = slices_bytes(e->slices);
    e->input = private_memory((size_t)sets * bytes);
    e->output = private_memory((size_t)sets * bytes);
    memset(e->output, 0, (size_t)sets * bytes);
    for (int set = 0; set < sets; set++) slices_fill(e->slices, e->rank, set, (uint64_t *)(e->input + (size_t)set * bytes));
    for (int peer = 0; peer < e->slices->ranks; peer++) {
        e->counts[peer] = (int)e->slices->rows;
        e->places[peer] = (int)(peer * e->slices->rows);
    }
    MPI_Type_contiguous((int)e->slices->row_bytes, MPI_BYTE, &e->row);
    MPI_Type_commit(&e->row);
}

static void measure_exchange(const struct peer_options *options, int rank) {
    static const struct turn list[] = {{"streaming copy beside MPI", copy_past_caches}, {"MPI_Alltoallv", exchange_slices}};
    enum { COUNT = sizeof list / sizeof *list };
    int sets = slices_sets(&options->slices, options->cache_bytes);
    struct turns *turns = shared_memory(turns_bytes(), rank);
    struct exchange e = {.slices = &options->slices, .rank = rank};
    prepare(&e, sets);
    exchange_slices(&e, 0);
    if (slices_wrong(e.slices, rank, 0, (const uint64_t *)e.output)) fail("MPI_Alltoallv: the output is wrong");
    turns_run(turns, rank, options->ranks, &(struct turn_list){list, COUNT, sets, options->seconds * COUNT, &e});
    for (int i = 0; i < COUNT && rank == 0; i++) {
        struct times times = turns_times(turns, options->ranks, i);
        slices_write(list[i].name, "processes", e.slices, &times);
    }
    MPI_Type_free(&e.row);
}

int main(int count, char **arguments) {
    int rank, ranks;
    MPI_Init(&count, &arguments);
    struct peer_options options = peer_start(count, arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != options.ranks) fail("started with another number of ranks than it is told");
    cores_bind(rank, ranks, options.cores);
    if (strcmp(options.operation, "barrier") == 0)
        measure_barrier(&options, rank);
    else
        measure_exchange(&options, rank);
    MPI_Finalize();
}
