/*
 * Reads the private memory of other processes' ranks, which copies once.  For collective_host.c and collective_rounds.c.
 *
 * A rank finds out whether it can read another one in the first call that needs it, and says so in the traits of later ones: all
 * members read only if all can.  A process is known by its random number, which is read together with the data: a process that was
 * replaced by another program, or whose number another one has got, has not the same there.
 */
#ifndef QUERN_COLLECTIVE_READ_H
#define QUERN_COLLECTIVE_READ_H

#include "os/text.h"
#include "ranks/collective/collective_record.h"

enum { QUERN_LEAST_READ = 4096 };        /* bytes: of less a system call takes longer than two copies */

enum quern_sight_state { QUERN_NOT_SEEN, QUERN_SEEN, QUERN_UNSEEN };

/*
 * Notes which thread of a member is in this call, since the first thread of its process may have ended; and tries once whether it
 * can be read, as it tells.
 */
void quern_collective_look_at(const struct quern_collective_call *call, int place, const struct quern_sight *told, bool tries);

/* Whether this rank can read the members of other processes, as far as it knows. */
bool quern_collective_sees(const struct quern_collective_call *call);

/* Whether the system lets other processes read the ends of this memory. */
bool quern_collective_is_readable(const void *memory, int64_t bytes);

struct quern_read {
    int rank;
    char *to;
    uintptr_t from;                      /* in the process of the rank */
    int64_t bytes;
};

/*
 * Reads on the threads of the device.  Fails, which poisons the group, if a process ends, is replaced or refuses, or if not all of
 * the memory is there.
 */
quern_status quern_collective_read(const struct quern_collective_call *call, const struct quern_read *reads, int count);

/* Appends which ranks of other processes are read, and why the others are not; for any thread. */
void quern_report_sight(struct quern_text *text, const struct quern_membership *member);

#endif
