/* Gathers, reductions and broadcasts of a few ranks: arguments that agree, arguments with faults, and what each rank must find. */
#ifndef FUZZ_REDUCTION_H
#define FUZZ_REDUCTION_H

#include <quern.h>
#include <stdbool.h>

#include "exchange.h"

enum reduction_call { ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, BROADCAST, REDUCTION_CALLS };

/* One rank's side.  Its memory is private, or a part of the symmetric memory that the rank brings. */
struct reduction_side {
    quern_collective_args args;
    int64_t input_bytes, output_bytes;
    bool input_is_symmetric, output_is_symmetric, in_place;
    unsigned char *input, *output;       /* private copies: of the input, and of the output from before and after the call */
    bool without_output;
};

struct reduction {
    enum reduction_call call;
    int members[MOST_IN_GROUP], member_count;
    quern_dtype dtype;                   /* of all, unless one is spoilt, like count */
    int64_t count;
    int64_t stride;                      /* of the inputs of a reduce-scatter */
    struct reduction_side sides[MOST_IN_GROUP];  /* by the index of the member */
    bool is_refused;                     /* a rank's arguments are invalid or contradict another one's */
};

/* What the input of the fuzzer spoils. */
enum reduction_fault { NO_SPOILT_TERM, OF_TERMS, OF_TERM_ARGUMENTS };

struct reduction *reduction_make(const int *members, int member_count, enum reduction_fault fault);
void reduction_free(struct reduction *reduction);

/* Collective over all ranks: symmetric memory for a rank, and its call if it is a member. */
quern_status reduction_run(struct reduction *reduction, int rank, quern_group *group);

/* Ends the process unless every output is what the call, or its refusal, must leave. */
void reduction_check(const struct reduction *reduction, bool has_succeeded);

#endif
