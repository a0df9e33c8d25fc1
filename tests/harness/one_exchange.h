/*
 * One ragged all-to-all of three ranks, which a test changes by hand: a mistake, other memory, or none.  Every slice has two rows,
 * and all are sent in order.
 */
#ifndef HARNESS_ONE_EXCHANGE_H
#define HARNESS_ONE_EXCHANGE_H

#include "harness/ragged_case.h"

enum { MEMBERS = 3, UPDATES = 2, ENTRIES = MEMBERS * UPDATES, SLICE = 2, ROWS = ENTRIES * SLICE, ROW_BYTES = 4,
       EXCHANGED = ROWS * ROW_BYTES, OUTPUT_AT = 4096 /* of a pool */ };

struct one_exchange {
    struct rank_bench *bench;
    struct rank *rank;
    quern_ragged_all_to_all_args args;
    int64_t input_offsets[ENTRIES], send_sizes[ENTRIES], output_offsets[ENTRIES], recv_sizes[ENTRIES];
    unsigned char *output;      /* with as much space behind it as it has, for a mistake */
    void *workspace, *stream;
    size_t workspace_bytes;
    void *freed;                /* symmetric memory that this rank has freed */
};

/* In the bench's private memory and its workspace; exchange_set does not ask how many bytes of that it needs. */
void exchange_set(struct one_exchange *one, struct rank_bench *bench);
void exchange_make(struct one_exchange *one, struct rank_bench *bench);
quern_status exchange_run(struct one_exchange *one);
quern_status exchange_plan(struct one_exchange *one, quern_ragged_plan **plan);
quern_status exchange_run_plan(struct one_exchange *one, quern_ragged_plan *plan);

/* What has come, and that nothing has. */
void exchange_check(const struct one_exchange *one);
void exchange_check_unwritten(const struct one_exchange *one, const char *what);

/* Makes it, runs it and checks what has come. */
void exchange_rightly(struct one_exchange *one, struct rank_bench *bench);

struct exchange_mistake {
    int rank;                   /* the rank that makes it; -1: all */
    void (*make)(struct one_exchange *one);
    quern_status status;        /* of all; of that rank, if it refuses its arguments */
    const char *words;
};

#define EXCHANGE_MISTAKE(name, change)                                                    \
    static void name(struct one_exchange *call) {                                         \
        quern_ragged_all_to_all_args *args = &call->args;                                 \
        (void)args;                                                                       \
        change;                                                                           \
    }

/* Faults of the metadata, of which all ranks get the same status and words. */
enum { EXCHANGE_FAULTS = 22 };
extern const struct exchange_mistake exchange_faults[EXCHANGE_FAULTS];

#endif
