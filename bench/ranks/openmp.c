/* The barrier of the compiler's OpenMP library (libgomp with gcc), timed like all others. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranks/ranks.h"
#include "ranks/rounds.h"

static void meet(void *unused) {
    (void)unused;
#pragma omp barrier
}

static void run_rank(struct rounds *rounds, const struct peer_options *options, struct ball *ball, int rank) {
    struct player player = {.ball = ball, .side = rank};
    const struct contender contenders[] = {{"libgomp", meet, NULL}, {PING_PONG, ping_pong, &player}};
    cores_bind(rank, options->ranks, options->cores);
    rounds_run(rounds, rank, options->ranks, contenders, peer_barriers(options), options->turns, options->seconds / options->turns);
}

int main(int count, char **arguments) {
    struct peer_options options = peer_start(count, arguments);
    struct rounds *rounds = calloc(1, rounds_bytes(options.ranks));
    static struct ball ball;
    int started = 0;
    if (!rounds) return EXIT_FAILURE;
    omp_set_dynamic(0);
#pragma omp parallel num_threads(options.ranks)
    {
#pragma omp single
        started = omp_get_num_threads();
        if (started == options.ranks) run_rank(rounds, &options, &ball, omp_get_thread_num());
    }
    const struct contender names[] = {{.name = "libgomp"}, {.name = PING_PONG}};
    if (started == options.ranks)
        rounds_write(rounds, "threads", options.ranks, names, peer_barriers(&options), options.turns);
    else
        ranks_skip("barrier", "libgomp", "threads", options.ranks, "OpenMP did not start as many threads");
    free(rounds);
    return EXIT_SUCCESS;
}
