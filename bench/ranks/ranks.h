/*
 * What all programs of ranks do the same way, the library's and the other implementations': they bind ranks to cores, wait outside
 * of what is measured, play ping-pong, and begin their lines.
 */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "ranks/slices.h"

/* What a loop that waits for another core does between two looks. */
static inline void spin_pause(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

/*
 * Binds the calling thread to the first `cores` of the cores that it may use: to one of its own if there are as many cores as
 * ranks, else to all of them, so that the scheduler places the ranks as it would in an overloaded job.
 */
void cores_bind(int rank, int ranks, int cores);

/* ---- a gate: ranks yield at it, so that one that is still busy has a core ---- */

/* In memory that all ranks see, zeroed. */
struct gate {
    _Alignas(128) int arrived;      /* atomic */
    _Alignas(128) unsigned opened;  /* how often; atomic */
};

/* Returns when all ranks have come. */
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

/* A line for what could not be measured, with the reason. */
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
 * Reads OPERATION RANKS CORES SECONDS TURNS [ROWS ROW_BYTES CACHE_BYTES]; ends the program with a message if they are something
 * else, and by a signal after a time that no sound run needs, or when its parent has ended.
 */
struct peer_options peer_start(int count, char **arguments);

/* How many barriers take turns: with two ranks the ping-pong stands beside the program's own. */
int peer_barriers(const struct peer_options *options);

#endif
