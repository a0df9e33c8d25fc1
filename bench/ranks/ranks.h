/*
 * The code that all programs of ranks share, the library's and those of the other implementations: they bind ranks to cores, wait
 * outside of the measured time, play ping-pong, and begin their lines.
 */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "ranks/slices.h"

/* Relaxes the CPU in a loop that waits for another core. */
static inline void spin_pause(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

/*
 * Binds the calling thread to the first `cores` of its allowed cores: to a single one if there are as many cores as ranks, else
 * to all of them, so that the scheduler places the ranks as in an overloaded job.
 */
void cores_bind(int rank, int ranks, int cores);

/* ---- a gate: waiting ranks yield, so that a rank that is still busy has a core ---- */

/* In memory that all ranks see, zeroed. */
struct gate {
    _Alignas(128) int arrived;      /* atomic */
    _Alignas(128) unsigned opened;  /* how often; atomic */
};

/* Returns once all ranks have arrived. */
void gate_pass(struct gate *gate, int ranks);

/* ---- ping-pong: a cache line goes from one rank to another and back; every barrier of two ranks is compared with it ---- */

#define PING_PONG "ping-pong"

struct ball {
    _Alignas(128) uint32_t throws;  /* atomic */
};

/* One of the two ranks. */
struct player {
    struct ball *ball;
    int side;         /* 0 throws first, 1 throws back */
    uint32_t trips;   /* so far, there and back */
};

/* One round trip. */
void ping_pong(void *player);

/* ---- lines ---- */

/* kind: "threads", "processes", "on one GPU". */
void ranks_begin_record(const char *operation, const char *contender, const char *kind, int ranks);

/* A line for a case that could not be measured, with the reason. */
void ranks_skip(const char *operation, const char *contender, const char *kind, int ranks, const char *why);

/* ---- the programs of the other implementations ---- */

struct peer_options {
    const char *operation;
    int ranks, cores;
    struct slices slices;
    size_t cache_bytes;
    double seconds;  /* of a barrier, in all its turns; of an activity of an all-to-all */
    int turns;       /* of each barrier */
};

/*
 * Reads OPERATION RANKS CORES SECONDS TURNS [ROWS ROW_BYTES CACHE_BYTES]; ends the program with a message if they are invalid,
 * and by a signal after a time that no working run needs, or when its parent has ended.
 */
struct peer_options peer_start(int count, char **arguments);

/* The number of barriers that take turns: with two ranks the ping-pong joins the program's own. */
int peer_barriers(const struct peer_options *options);

#endif
