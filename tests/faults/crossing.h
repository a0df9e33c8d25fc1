/*
 * Points inside the library at which a rank can be made to die, stop or delay.
 *
 * The linker redirects the library's calls of some functions here (--wrap): system calls by which ranks meet, sleeps, wake-ups,
 * copies, and calls from one of its source files to another.  Before and after each such call the process makes a crossing.  An
 * armed process counts its crossings, and at the chosen one executes its fault.
 */
#ifndef RANKS_CROSSING_H
#define RANKS_CROSSING_H

#include <stdbool.h>

enum crossing_deed {
    CROSSING_NOTHING,
    CROSSING_KILL,   /* SIGKILL */
    CROSSING_STOP,   /* SIGSTOP, until somebody sends SIGCONT */
    CROSSING_DELAY,  /* a twentieth of a second */
    CROSSING_VANISH  /* SIGKILL, and no connection says so: as a host does that loses its power.  Without root as SIGKILL */
};

/* Where a fault has happened. */
struct crossing_place {
    const char *function;  /* NULL: nowhere */
    long call;             /* the number of its call since the process was armed, from 1 */
    bool before;           /* else behind it */
};

/* In words; valid until the next call. */
const char *crossing_name(const struct crossing_place *place);

/* A fault will write its place here, in memory that outlives the process.  Forked processes have the same names of functions. */
void crossing_tell(struct crossing_place *place);

/* Starts counting.  `at` counts from 1; 0: never. */
void crossing_arm(enum crossing_deed deed, long at);

/* The same, but counts only the crossings before calls of one function. */
void crossing_arm_at(enum crossing_deed deed, const char *function, long at);

/* The number of crossings since the process was armed. */
long crossing_count(void);

#endif
