/*
 * Every pair of a point of windows (src/ranks/points.h) and a fault, between two emulated GPUs of two processes.
 *
 * Both ranks send each other items of memory that is not symmetric, of less than a piece and of several, three times.  However it
 * ends: every rank returns, with a status that the fault explains; what a rank has completed is what was sent; nothing is written
 * beside it; and what a rank sends is never changed.
 *
 * The memory of an emulated GPU is memory of the host, so the checks read it there.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <string.h>

#include "faults/mutual.h"
#include "faults/private_shm.h"
#include "faults/visits.h"
#include "harness/nccl_side.h"
#include "ranks/transfer/transfer.h"

enum { RANKS = 2, SMALL = 70000, LARGE = 2 * QUERN_BOUNCE_BYTES + 1000 };

static quern_status live(struct rank *rank) {
    struct nccl_side gpu;
    nccl_open_gpu(&gpu, rank, rank->rank);
    const quern_group_args args = nccl_args(&gpu, POINT_LIMIT);
    rank_ok(rank, quern_group_create(&args, 1, &gpu.group));
    struct mutual side = {.rank = rank, .group = gpu.group, .stream = gpu.stream, .bytes = {SMALL, LARGE}};
    for (int list = 0; list < MUTUAL_LISTS; list++) {
        side.out[list] = memset(nccl_allocate(&gpu, LARGE + MUTUAL_GUARD), 0xee, LARGE + MUTUAL_GUARD);
        side.in[list] = memset(nccl_allocate(&gpu, LARGE + MUTUAL_GUARD), 0xee, LARGE + MUTUAL_GUARD);
    }
    const quern_status status = visit_strike(rank, gpu.group, mutual_run, mutual_end, &side);
    rank_ok(rank, nccl_close(&gpu));
    return status;
}

static const struct visit_scene scenes[] = {
    {"windows", {.kind = RANK_PROCESSES, .count = RANKS, .function = live, .nccl = ""}, .spreads = true,
     .first = QUERN_POINT_STAGE_LISTENING, .last = QUERN_POINT_STAGE_TAKEN, .arrivals = {1, 2}},
};

int main(int count, char **words) {
    private_shm_enter(NULL);
    return VISIT_SCENES(count, words, scenes, "");
}
