/* The ranks of a run as processes: the same program once for each. */
#ifndef PROCESSES_H
#define PROCESSES_H

/* The ranks to start, and options that each gets besides --rank; NULL-terminated. */
struct recruits {
    int first, count;
    const char *const *options;
};

/*
 * Starts this program for each rank with its own arguments after those of the recruits, waits for all, and returns the status to
 * exit with: 0 when every rank succeeded.  SIGINT and SIGTERM are passed on.  Once a rank has failed, the others have `seconds` to
 * notice.
 */
int processes_run(const struct recruits *recruits, double seconds, int argc, char **argv);

#endif
