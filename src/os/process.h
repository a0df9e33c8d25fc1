/* The identity of a process, and whether it still runs.  For src/ranks. */
#ifndef QUERN_PROCESS_H
#define QUERN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* A process.  A later process with the same number differs in its start time. */
struct quern_process {
    int32_t pid;
    uint64_t start_time;  /* in the kernel's ticks; 0: unknown */
    uint64_t namespace;   /* of its pid; 0: unknown */
};

/* The calling process.  Ask again after a fork. */
struct quern_process quern_this_process(void);

/* False also if this is unknown: a pid has no meaning in another namespace. */
bool quern_process_has_ended(struct quern_process process);

bool quern_same_process(struct quern_process a, struct quern_process b);

#endif
