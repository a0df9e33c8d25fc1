/* The library's side: its CPU ranks, whose failures end the team with the library's reason, and the arguments of its all-to-all. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "quern.h"
#include "slices.h"

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

/* The exchange of one rank's slices, with the metadata in the host's memory. */
quern_ragged_all_to_all_args library_exchange(const struct slices *slices, const struct slice_metadata *metadata, const void *input,
                                              void *output);

#endif
