/*
 * Places inside the library at which a rank can be made to die, stop or dawdle.
 *
 * The linker sends the library's calls of some functions through here (--wrap): system calls by which ranks meet, sleeps, wake-ups,
 * copies, and steps of its own from one source file to another.  Before and after each such call the process makes a crossing.  An
 * armed process counts its crossings, and at the chosen one does to itself what it was armed with.
 */
#ifndef RANKS_CROSSING_H
#define RANKS_CROSSING_H

enum crossing_deed {
    CROSSING_NOTHING,
    CROSSING_KILL,   /* SIGKILL */
    CROSSING_STOP,   /* SIGSTOP, until somebody sends SIGCONT */
    CROSSING_DELAY   /* a twentieth of a second */
};

/* From now on this process counts.  `at` counts from 1; 0: at none. */
void crossing_arm(enum crossing_deed deed, long at);

/* The same, but counts only what happens before calls of one function. */
void crossing_arm_at(enum crossing_deed deed, const char *function, long at);

/* The crossings since it was armed. */
long crossing_count(void);

#endif
