/* The collective calls that a rank in a thread makes, each with a check of what it must deliver when all ranks agree. */
#ifndef FUZZ_RANK_CALLS_H
#define FUZZ_RANK_CALLS_H

#include <pthread.h>

#include "exchange.h"
#include "reduction.h"

enum { MOST_STEPS = 4, REGISTERED = 64 };

/* What a rank does in a step. */
enum deed { AGREES, IS_ABSENT, ABORTS, DESTROYS, MAKES_OTHER_CALL };

struct rank;

struct step;

enum rank_call { BARRIER, ALLOC, REGISTER, SPLIT, EXCHANGE, PLAN, REDUCTION, RANK_CALLS };

/* The calls, each with the local calls around it: make returns the first status that is not QUERN_OK. */
extern const struct rank_call_row {
    const char *name;
    quern_status (*make)(struct rank *rank, const struct step *step);
} rank_calls[RANK_CALLS];

/* One call of all ranks, chosen before their threads start. */
struct step {
    enum rank_call call, other_call;
    enum deed deeds[MOST_IN_GROUP];
    int members[MOST_IN_GROUP], member_count;   /* of a barrier, an exchange or a reduction */
    int listed_count[MOST_IN_GROUP];            /* so many of the members each rank names */
    size_t bytes[MOST_IN_GROUP];                /* of symmetric memory */
    int colours[MOST_IN_GROUP], keys[MOST_IN_GROUP];
    struct exchange *exchange;                  /* for an exchange or a plan */
    struct reduction *reduction;                /* for a collective */
};

struct meeting;

struct rank {
    struct meeting *meeting;
    int rank;
    pthread_t thread;
    quern_group *group;                         /* NULL: not created, or destroyed */
    unsigned char *registered[MOST_STEPS];      /* [REGISTERED] each */
    struct outcome {
        quern_status status;
        size_t detail;                          /* characters */
        double seconds;
    } created, outcomes[MOST_STEPS];
};

bool step_has_member(const struct step *step, int rank);

struct meeting {
    char name[64];
    int ranks, step_count;
    double limit;                               /* seconds */
    uint32_t first_epoch;
    bool is_orderly;                            /* all ranks make the same calls, so that all contents are determined */
    int create_rank[MOST_IN_GROUP], create_ranks[MOST_IN_GROUP];
    bool stays_away[MOST_IN_GROUP];             /* never creates its handle */
    struct step steps[MOST_STEPS];
    struct rank rank[MOST_IN_GROUP];
};

#endif
