/* Ragged all-to-all between GPU ranks that one thread drives: what arrives where, what stays, and what becomes of mistakes. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "harness/gpu_ragged.h"
#include "harness/random.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

TestSuite(ragged_cuda, .timeout = 400);

enum { POOL = 1 << 20, WORKSPACE = 1 << 20 };

static void run_case(struct gpu_ragged *bench, uint64_t seed, struct ragged_choice choice, bool in_place, enum gpu_metadata where) {
    struct ragged_case c;
    choice.ranks = bench->group->ranks;
    choice.everyone |= where == METADATA_IN_PLAN;
    ragged_case_open(&c, seed, choice);
    gpu_ragged_place(&c, in_place);
    gpu_ragged_run(bench, &c, where);
    ragged_case_close(&c);
}

/* ---- random metadata ---- */

static void run_random(int ranks, int devices, int cases, enum gpu_metadata where) {
    struct gpu_group group;
    struct gpu_ragged bench;
    gpu_group_open(&group, .ranks = ranks, .machine.devices = devices, .first_epoch = 0xFFFFFFF0);
    gpu_ragged_open(&bench, &group, POOL, WORKSPACE);
    for (int i = 0; i < cases; i++) {
        bench.multiprocessors = i % 3;
        run_case(&bench, (uint64_t)(1000 * ranks + i), (struct ragged_choice){.ranks = ranks}, i % 4 == 3, where);
    }
    gpu_ragged_close(&bench);
    gpu_group_close(&group);
}

Test(ragged_cuda, random_metadata_on_the_host) { run_random(3, 0, (int)test_size(300, 40), METADATA_ON_HOST); }
