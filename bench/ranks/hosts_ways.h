/*
 * Two hosts whose ranks MPI has launched: their groups, one for each way of data, and how what takes turns is timed.  For hosts_mpi.c,
 * hosts_collectives.c and hosts_progress.c.
 */
#ifndef HOSTS_WAYS_H
#define HOSTS_WAYS_H

#include <mpi.h>
#include <quern.h>

enum { HOSTS_TURNS = 15, HOSTS_MOST = 64 << 20, HOSTS_WORKSPACE = 8 << 20 };

/* A group over one way; over UCX there may be none. */
struct way {
    quern_group *group;
    quern_ragged_plan *plan;
    void *workspace;
    quern_transfer *transfer;
};

extern struct way over_mpi, over_ucx, over_sockets;
extern int hosts_rank;
extern char *hosts_out, *hosts_in;   /* HOSTS_MOST bytes each */

/* Ends all ranks unless the call has succeeded. */
void hosts_ok(quern_status status, const char *what);

/* A group of the two ranks; without hosts: of this machine.  NULL: UCX does not work here. */
enum hosts_way { HOSTS_NONE, HOSTS_SOCKETS, HOSTS_UCX, HOSTS_MPI };
quern_group *hosts_join(enum hosts_way way, int progress);

/* MPI is initialised.  Ends the program if there is no memory or no group. */
void hosts_open(void);
void hosts_close(void);

/* Seconds of a call. */
double hosts_time(void (*what)(void), int times);

/* Sorts. */
double hosts_median(double turns[HOSTS_TURNS]);

/* Print the tables of collectives, and of transfers without calls. */
void compare_collectives(void);
void compare_progress(void);

#endif
