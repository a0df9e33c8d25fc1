/* The ranks of a measurement: threads of one process, or processes, each on its cores, all gone when the time limit has passed. */
#ifndef TEAM_H
#define TEAM_H

#include <stddef.h>

#include "harness/bench.h"
#include "quern.h"
#include "ranks/slices.h"

enum team_kind { TEAM_THREADS, TEAM_PROCESSES };

struct team {
    enum team_kind kind;
    int ranks;
    int cores;     /* how many of the machine's the ranks share */
    double limit;  /* seconds */
};

extern const char *const team_kind_names[];  /* "threads", "processes" */

/* Zeroed memory that all ranks share, whatever they are; NULL when there is not enough. */
void *team_memory(size_t bytes);
void team_release(void *memory, size_t bytes);

/*
 * Runs body(context, rank) for every rank at once and returns NULL, or why it came to nothing: a rank failed, its process ended,
 * or the limit has passed.  Threads too run in a process of their own, so that all ranks can be ended from outside; what they are
 * to leave behind must be in team_memory.  The caller must have no threads.
 */
const char *team_run(const struct team *team, void (*body)(void *context, int rank), void *context);

/* Ends the calling rank and with it all others: team_run returns the text. */
_Noreturn void team_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the options ask of ranks; ends the program if they ask for something else. */
struct rank_options {
    const struct options *all;
    struct team team;
    struct slices slices;
    bool gpu;
};

struct rank_options rank_options_of(const struct options *options);

/* ---- the library: CPU ranks, whose failures end the team with the library's reason ---- */

enum { LIBRARY_NAME_BYTES = 64 };

struct library_rank {
    quern_device *device;
    quern_group *group;
};

/* A name for a group that no other one has; before the ranks start. */
void library_name(char name[LIBRARY_NAME_BYTES]);

struct library_rank *library_join(const char *name, int rank, int ranks, int threads, unsigned operations);
void library_leave(struct library_rank *member);

/* The threads of each rank's device when the ranks share the cores. */
int library_threads(int ranks, int cores);

_Noreturn void library_fail(const char *call);

/* The limit of every wait. */
#define LIBRARY_SECONDS 20.0

#endif
