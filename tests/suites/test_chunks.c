/*
 * Quantised chunks between CPU ranks, threads and processes: the bits of every result, that a chunk is complete when its word says
 * so, and that a mistake of one rank is reported to all ranks, writes nothing and leaves the group usable.
 *
 * Runs on: cpu; kernels of quantize, collective.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "harness/chunks_ranks.h"
#include "harness/device.h"
#include "harness/random.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- random cases ---- */

static void check_batch(enum rank_kind kind, int ranks, struct chunks_batch batch) {
    check_ranks(.kind = kind, .count = ranks, .function = chunks_run_batch, .user = &batch, .limit = 300);
}

Test(chunks, random_cases_of_threads, .timeout = 600) {
    for (int ranks = 1; ranks <= 5; ranks++)
        check_batch(RANK_THREADS, ranks, (struct chunks_batch){.first = (uint64_t)ranks * 1000, .cases = (int)test_size(100, 20)});
}

Test(chunks, random_cases_of_processes, .timeout = 600) {
    for (int ranks = 1; ranks <= 5; ranks++)
        check_batch(RANK_PROCESSES, ranks, (struct chunks_batch){.first = (uint64_t)ranks * 1000, .cases = (int)test_size(100, 20)});
}
