/* The ranks of a measurement: threads of one process, or processes, each on its cores; all are ended at the time limit. */
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
    int cores;     /* number of the machine's cores that the ranks share */
    double limit;  /* seconds */
};

extern const char *const team_kind_names[];  /* "threads", "processes" */

/* Zeroed memory that all ranks share, threads or processes; NULL if there is not enough. */
void *team_memory(size_t bytes);
void team_release(void *memory, size_t bytes);

/*
 * Runs body(context, rank) for every rank at once and returns NULL, or the reason for a failure: a rank failed, its process
 * ended, or the limit has passed.  Threads too run in a process of their own, so that all ranks can be ended from outside; their
 * results must be in team_memory.  The caller must have no threads.
 */
const char *team_run(const struct team *team, void (*body)(void *context, int rank), void *context);

/* Ends the calling rank and with it all others: team_run returns the text. */
_Noreturn void team_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The kind and number of ranks in the options; ends the program if they are invalid. */
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

/* A unique name for a group; call it before the ranks start. */
void library_name(char name[LIBRARY_NAME_BYTES]);

struct library_rank *library_join(const char *name, int rank, int ranks, int threads, unsigned operations);
void library_leave(struct library_rank *member);

/* The threads of each rank's device when the ranks share the cores. */
int library_threads(int ranks, int cores);

_Noreturn void library_fail(const char *call);

/* The limit of every wait. */
#define LIBRARY_SECONDS 20.0

#endif
