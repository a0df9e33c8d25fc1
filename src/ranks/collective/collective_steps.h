/*
 * Collectives of CPU ranks of several hosts whose data goes in pieces: the steps that all members make together.  For
 * collective_hosts.c and collective_schedules.c.
 *
 * A step has one message each way between the pairs of ranks that have something for each other, then a meeting of the members of
 * each host.  While the messages of a step are under way, a rank works on what the step before has brought.  What the ranks of a
 * host read of each other passes through two windows in each workspace, which the steps use in turns:
 *
 *   begin(t)    the messages of step t leave, from windows that were complete at the meeting of step t - 1 or before
 *   work(t-1)   reads what came before meeting t - 1, and writes results and outputs
 *   stage(t)    writes what others of this host read in work(t)
 *   end(t), meeting t
 *
 * A window that was staged or received in step t is read in work(t) at the latest and sent with message t + 1 at the latest.  It is
 * written again behind meeting t + 1, to which every reader comes after that.
 */
#ifndef QUERN_COLLECTIVE_STEPS_H
#define QUERN_COLLECTIVE_STEPS_H

#include "ranks/collective/collective_call.h"
#include "ranks/hosts/span.h"

struct quern_host_exchange;

/* How the data of a call goes.  All functions are the same on all members but for the rank's own memory. */
struct quern_collective_schedule {
    const char *name;
    int64_t (*slots)(const struct quern_host_exchange *x);    /* of a window */
    int64_t (*steps)(const struct quern_host_exchange *x);

    /*
     * The parts of the message of a step from one place to another, one of which is this rank's: where they lie here.  Returns
     * their number, at most QUERN_STEP_PARTS; 0: there is no message.
     */
    int (*parts)(const struct quern_host_exchange *x, int64_t step, int from, int to, struct iovec *parts);

    quern_status (*stage)(struct quern_host_exchange *x, int64_t step);
    quern_status (*work)(struct quern_host_exchange *x, int64_t step);
};

enum { QUERN_STEP_PARTS = 2 };

/* A rank's part in such a call.  Hosts are numbered in the order of their first members. */
struct quern_host_exchange {
    const struct quern_collective_call *call;
    const struct quern_collective_schedule *schedule;
    struct quern_meeting meeting;
    struct quern_sendrecv sendrecv;          /* of the present step */
    int hosts, host, index;                  /* this rank's host, and its index among the members there */
    int here, fewest;                        /* members of this host; of the host with the fewest */
    int64_t piece, pieces;                   /* elements of a slot; pieces of a share, or of all */
    int64_t share;                           /* elements of a share of an all-reduce */
    int64_t unit, slot_count;                /* bytes of a slot; slots of a window */
    uint16_t *host_of, *index_of;            /* [places] */
    uint16_t *member_at;                     /* [places]: the places by host, ascending */
    uint16_t *first_of, *column_of;          /* [hosts + 1]: where a host begins there; its first column among what comes here */
    uint16_t *number_of;                     /* [hosts of the group]: its number among those with members, and 1; 0: it has none */
    char **window;                           /* [here]: the workspaces of this host's members, at the addresses of this process */
    const char **inputs;                     /* [places]: scratch */
};

static inline int quern_members_of(const struct quern_host_exchange *x, int host) {
    return x->first_of[host + 1] - x->first_of[host];
}
static inline int quern_member_at(const struct quern_host_exchange *x, int host, int index) {
    return x->member_at[x->first_of[host] + index];
}

/* A slot of a workspace in a step. */
static inline char *quern_slot(const struct quern_host_exchange *x, int index, int64_t step, int64_t slot) {
    return x->window[index] + ((step & 1) * x->slot_count + slot) * x->unit;
}
static inline char *quern_own_slot(const struct quern_host_exchange *x, int64_t step, int64_t slot) {
    return quern_slot(x, x->index, step, slot);
}

/* The bytes of both windows, unless many members need more.  Tests lower the number. */
extern int64_t quern_most_workspace;

/* No schedule has more slots for so many members. */
static inline int64_t quern_most_slots(int places) { return 2 * places + 1; }

/* The bytes of storage for the lists, and of workspace for a call with any operation. */
size_t quern_host_exchange_storage(const struct quern_collective_call *call);
size_t quern_host_exchange_workspace(const struct quern_collective_call *call);

/* Divides the members among hosts, of a call that is not refused; then divides the windows, which are the caller's. */
void quern_open_host_exchange(struct quern_host_exchange *x, const struct quern_collective_call *call, void *storage);
void quern_take_schedule(struct quern_host_exchange *x, const struct quern_collective_schedule *schedule);

/* All steps of an exchange whose windows are there.  Errors poison the group. */
quern_status quern_run_steps(struct quern_host_exchange *x);

/* The meeting of the members of this host, if there are several. */
quern_status quern_meet_members_here(const struct quern_collective_call *call, struct quern_meeting meeting,
                                     enum quern_phase phase);

/* Combines the first `count` of x->inputs; copies bytes.  On the threads of the device; then moves the messages of the step. */
quern_status quern_combine_inputs(struct quern_host_exchange *x, int count, char *to, int64_t elements);
quern_status quern_copy_piece(struct quern_host_exchange *x, char *to, const char *from, int64_t bytes);

#endif
