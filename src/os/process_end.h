/* Whether a process is ending, as /proc shows it: before its memory is freed and its core file is written.  For the roster. */
#ifndef QUERN_PROCESS_END_H
#define QUERN_PROCESS_END_H

#include <stdbool.h>
#include <stdint.h>

/* A process as one /proc numbers it.  Two mounts of /proc, as containers have them, may give one number to two processes. */
struct quern_process_mark {
    uint64_t mount;    /* of /proc; 0: the process has none */
    uint64_t started;  /* ticks since the machine was started */
    int32_t number;
};

struct quern_process_mark quern_own_process_mark(void);

/* Whether a process with the caller's /proc no longer runs its program.  False also if this is unknown. */
bool quern_process_is_ending(const struct quern_process_mark *own, const struct quern_process_mark *process);

#endif
