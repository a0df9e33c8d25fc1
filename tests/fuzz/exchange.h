/* Ragged exchanges of a few ranks: metadata that agree, metadata with faults, and what each rank must find in its memory. */
#ifndef FUZZ_EXCHANGE_H
#define FUZZ_EXCHANGE_H

#include <quern.h>
#include <stdbool.h>

enum { MOST_IN_GROUP = 3, MOST_UPDATES = 3, MOST_ENTRIES = MOST_IN_GROUP * (MOST_UPDATES + 1) };

/* One rank's side. */
struct side {
    quern_ragged_all_to_all_args args;
    int64_t numbers[4][MOST_ENTRIES];    /* input_offsets, send_sizes, output_offsets, recv_sizes */
    void *arrays[4];
    unsigned char *memory, *before;      /* input and output, and a copy of both from before the call */
    int64_t bytes, output_start;         /* of memory; the first byte of the output in it */
    bool short_workspace;
};

struct exchange {
    int members[MOST_IN_GROUP], member_count;
    struct side sides[MOST_IN_GROUP];    /* by the index of the member */
    bool is_refused;                     /* a rank's arguments are invalid or contradict another one's */
    bool is_determined[MOST_IN_GROUP];   /* no two slices write one row of this output */
};

/* What the input of the fuzzer spoils. */
enum exchange_fault { NO_FAULT, OF_METADATA, OF_SHAPE, OF_ARGUMENTS };

struct exchange *exchange_make(const int *members, int member_count, enum exchange_fault fault);
void exchange_free(struct exchange *exchange);

/* The side of a rank; NULL if it is no member. */
struct side *exchange_side(struct exchange *exchange, int rank);

/* Ends the process unless the memory of every side is what the exchange, or its refusal, must leave. */
void exchange_check(const struct exchange *exchange, bool has_succeeded);

#endif
