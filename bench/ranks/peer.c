#define _POSIX_C_SOURCE 200809L
#include "peer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "rounds.h"

enum { LIMIT_SECONDS = 120 };

static double number(const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end != text && !*end && value > 0) return value;
    fprintf(stderr, "'%s' is no positive number\n", text);
    exit(2);
}

struct peer_options peer_start(int count, char **arguments) {
    if (count != 6 && count != 9) {
        fprintf(stderr, "Usage: %s OPERATION RANKS CORES SECONDS TURNS [ROWS ROW_BYTES CACHE_BYTES]\n", arguments[0]);
        exit(2);
    }
    alarm(LIMIT_SECONDS);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct peer_options options = {
        .operation = arguments[1],
        .ranks = (int)number(arguments[2]),
        .cores = (int)number(arguments[3]),
        .seconds = number(arguments[4]),
        .turns = (int)number(arguments[5]),
    };
    if (count == 9) {
        options.slices = (struct slices){options.ranks, 1, (int64_t)number(arguments[6]), (int64_t)number(arguments[7])};
        options.cache_bytes = (size_t)number(arguments[8]);
    }
    if (options.turns <= MAX_ROUND_TURNS) return options;
    fprintf(stderr, "%d turns are more than the %d provided for\n", options.turns, MAX_ROUND_TURNS);
    exit(2);
}

int peer_barriers(const struct peer_options *options) {
    return options->ranks == 2 ? 2 : 1;
}
