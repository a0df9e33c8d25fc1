/* Cores, gate, ping-pong, lines and the arguments of peers.  Called by every program that measures ranks. */
#define _GNU_SOURCE
#include "ranks/ranks.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/record.h"
#include "ranks/rounds.h"

void cores_bind(int rank, int ranks, int cores) {
    cpu_set_t usable, chosen;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    CPU_ZERO(&chosen);
    for (int core = 0, index = 0; core < CPU_SETSIZE && index < cores; core++) {
        if (!CPU_ISSET(core, &usable)) continue;
        if (ranks > cores || rank == index) CPU_SET(core, &chosen);
        index++;
    }
    if (CPU_COUNT(&chosen) > 0) sched_setaffinity(0, sizeof chosen, &chosen);
}

void gate_pass(struct gate *gate, int ranks) {
    unsigned before = __atomic_load_n(&gate->opened, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&gate->arrived, 1, __ATOMIC_ACQ_REL) == ranks) {
        __atomic_store_n(&gate->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&gate->opened, before + 1, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&gate->opened, __ATOMIC_ACQUIRE) == before) sched_yield();
    }
}

/* ---- ping-pong ---- */

static void await_throw(const struct ball *ball, uint32_t throws) {
    while (__atomic_load_n(&ball->throws, __ATOMIC_ACQUIRE) != throws) spin_pause();
}

void ping_pong(void *context) {
    struct player *player = context;
    uint32_t there = 2 * player->trips++ + 1, back = there + 1;
    if (player->side == 0) {
        __atomic_store_n(&player->ball->throws, there, __ATOMIC_RELEASE);
        await_throw(player->ball, back);
    } else {
        await_throw(player->ball, there);
        __atomic_store_n(&player->ball->throws, back, __ATOMIC_RELEASE);
    }
}

/* ---- lines ---- */

void ranks_begin_record(const char *operation, const char *contender, const char *kind, int ranks) {
    record_begin();
    record_text("operation", operation);
    record_text("contender", contender);
    record_text("kind", kind);
    record_integer("ranks", ranks);
}

void ranks_skip(const char *operation, const char *contender, const char *kind, int ranks, const char *why) {
    ranks_begin_record(operation, contender, kind, ranks);
    record_text("skipped", why);
    record_integer("rounds", 0);
    record_end();
}

/* ---- peers ---- */

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
