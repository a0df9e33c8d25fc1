/*
 * What a rank can do with a group, step by step, with buffers whose bytes tell who has sent them to whom: for programs that strike
 * ranks at points or calls.
 */
#ifndef FAULTS_LIFE_H
#define FAULTS_LIFE_H

#include "harness/ranks.h"

/* Rows of a slice; a byte of the output at first. */
enum { LIFE_RANKS = 4, LIFE_ROWS = 10, LIFE_UNTOUCHED = 0xee };

enum step { CREATE, BARRIER, SOME_BARRIER, SPLIT, PART_BARRIER, ALLOCATE_MORE, USE, USED_BARRIER, ALLOCATE, EXCHANGE, CREATE_PLAN,
            RUN_PLAN, LOOK, GATHER, REDUCE, CHUNKS, FREE, LAST_BARRIER, DESTROY, STEPS };

#define BIT(step) (1u << (step))

enum habit { IN_TIME, LATE, LEAVES, SLEEPS };  /* of the last rank, in one step */

struct course {
    unsigned steps;             /* bits */
    size_t row_bytes;           /* of the exchanges */
    enum step odd;              /* the step in which the last rank has ... */
    enum habit habit;           /* ... this habit */
    bool keeps_order;           /* of the ranks, in a split */
};

struct life {
    struct rank *rank;
    const struct course *course;
    double timeout;             /* the group's */
    quern_group *group, *part;
    quern_ragged_plan *plan;
    char *memory, *workspace;   /* symmetric */
    size_t workspace_bytes;
    unsigned char *input, *output;   /* with a guard on each side */
    struct rank_exchange exchange;   /* of a slice from every rank to every rank */
};

extern const struct life_step {
    const char *name;
    quern_status (*take)(struct life *life);
} life_steps[STEPS];

/* Steps that no rank waits in, and those whose result is in the output. */
enum { LIFE_LOCAL = BIT(FREE) | BIT(DESTROY), LIFE_OUTPUTS = BIT(EXCHANGE) | BIT(RUN_PLAN) | BIT(GATHER) | BIT(REDUCE) };

/* The buffers, if the course has memory.  The group is a step's. */
void life_open(struct life *life, struct rank *rank, const struct course *course, double timeout);
void life_close(struct life *life);

/* The group of a step, if there is one, has this status, and so has every later call; NULL: there is none. */
quern_group *life_check_poison(struct life *life, enum step step, quern_status status);

size_t life_bytes(const struct life *life);  /* of each buffer */
bool life_is_filled(const unsigned char *bytes, size_t count, unsigned char value);

/* Before a rank has entered the exchange, no other may write its output. */
void life_check_untouched(const struct life *life);

/* When the call has returned, the output is complete and the input may change: it is overwritten. */
void life_use_buffers(struct life *life);

/* When all ranks have ended: what is complete is what was sent, other rows are that or as they were, and nothing is beside them. */
void life_check_buffers(const struct life *life, bool is_complete, bool is_used);

#endif
