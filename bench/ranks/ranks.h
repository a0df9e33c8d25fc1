/* What quern_bench_ranks is asked to measure. */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>

#include "slices.h"
#include "team.h"

struct rank_options {
    const char *device;      /* "cpu", "cuda:N" */
    const char *loops;       /* the PTX of stream.cu */
    const char *only;        /* the one barrier to measure; NULL: all */
    struct team team;
    struct slices slices;
    size_t cache_bytes;      /* which the buffers of an all-to-all exceed */
    double seconds;          /* of a barrier, in all its turns; of an activity of an all-to-all */
    int turns;               /* of each barrier */
};

/* On a CPU, with the ranks of the team. */
void measure_barriers(const struct rank_options *options);
void measure_exchange(const struct rank_options *options);

/* On one GPU, whose ranks this thread drives.  On an emulated one they only check that it works. */
void measure_barriers_on_gpu(const struct rank_options *options);
void measure_exchange_on_gpu(const struct rank_options *options);

/* Checks the yardsticks and the counts; 0 when all are right, after "N passed, N failed". */
int ranks_self_test(void);

#endif
