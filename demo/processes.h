/* The ranks of a run as processes: the same program once for each. */
#ifndef PROCESSES_H
#define PROCESSES_H

/*
 * Starts this program `ranks` times with its own arguments, --rank and --group, waits for all, and returns the status to exit with:
 * 0 when every rank succeeded.  SIGINT and SIGTERM are passed on.  Once a rank has failed, the others have `seconds` to notice.
 */
int processes_run(int ranks, double seconds, int argc, char **argv);

#endif
