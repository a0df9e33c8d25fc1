/* The watcher: tells kernels that wait which ranks have gone, since a GPU cannot ask.  For the ranks of GPUs. */
#ifndef QUERN_WATCH_H
#define QUERN_WATCH_H

#include "ranks/roster.h"

/*
 * From now on a thread of this process looks every QUERN_WATCH_MILLISECONDS which ranks of the group have ended or left, and writes
 * it into the segment, where waiting kernels see it.  One call for each rank of this process; the last quern_unwatch of all groups
 * ends the thread.  False: errno says why there is no thread, or no memory.
 */
enum { QUERN_WATCH_MILLISECONDS = 5 };
bool quern_watch(const struct quern_roster *roster);
void quern_unwatch(const struct quern_roster *roster);

#endif
