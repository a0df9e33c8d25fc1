/* What the programs of the other implementations are asked for: the options that they share, and their time limit. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>

#include "slices.h"

struct peer_options {
    const char *operation;
    int ranks, cores;
    struct slices slices;
    size_t cache_bytes;
    double seconds;  /* of a barrier, in all its turns; of an activity of an all-to-all */
    int turns;       /* of each barrier */
};

/*
 * OPERATION RANKS CORES SECONDS TURNS [ROWS ROW_BYTES CACHE_BYTES]; ends the program with a message if it is something else, and
 * by a signal when it has run for a time that no sound run needs, or when who started it has gone.
 */
struct peer_options peer_start(int count, char **arguments);

/* How many barriers take turns: with two ranks the ping-pong stands beside the program's own. */
int peer_barriers(const struct peer_options *options);

#endif
