/*
 * One ragged all-to-all of three ranks, which a test changes by hand: a mistake, other memory, or none.  Every slice has two rows,
 * and all are sent in order.
 */
#ifndef HARNESS_ONE_EXCHANGE_H
#define HARNESS_ONE_EXCHANGE_H

#include "harness/one_call.h"
#include "harness/ragged_case.h"

enum { MEMBERS = ONE_RANKS, UPDATES = 2, ENTRIES = MEMBERS * UPDATES, SLICE = 2, ROWS = ENTRIES * SLICE, ROW_BYTES = 4,
       EXCHANGED = ROWS * ROW_BYTES, OUTPUT_AT = 4096 /* of a pool */ };

/* How a call is made: GPUs may have its metadata and its input elsewhere. */
struct exchange_form {
    bool in_place, metadata_on_device, short_way;   /* the short way does not look for overlaps */
};

struct one_exchange {
    struct rank_bench *bench;
    struct rank *rank;
    quern_ragged_all_to_all_args args;
    int64_t input_offsets[ENTRIES], send_sizes[ENTRIES], output_offsets[ENTRIES], recv_sizes[ENTRIES];
    unsigned char *output;      /* as the host sees it, with as much space behind it as it has, for a mistake */
    struct exchange_form form;
    void *workspace, *stream;
    size_t workspace_bytes;
    void *freed;                /* symmetric memory that this rank has freed */
};

/* In the bench's private memory, of GPUs that reach each other with the output in symmetric memory, and its workspace. */
extern const struct one_kind exchange_kind;
extern const struct exchange_form exchange_usual;
void exchange_make(struct one_exchange *one, struct rank_bench *bench);
quern_status exchange_call(const struct one_exchange *one);  /* alone */
quern_status exchange_run(struct one_exchange *one);
quern_status exchange_plan(struct one_exchange *one, quern_ragged_plan **plan);

/* What has come, and that nothing has. */
void exchange_check(const struct one_exchange *one);
void exchange_check_unwritten(const struct one_exchange *one, const char *what);

/* Makes it, runs it and checks what has come. */
void exchange_rightly(struct one_exchange *one, struct rank_bench *bench);

#define EXCHANGE_MISTAKE(name, change)                                                    \
    static void name(void *given) {                                                       \
        struct one_exchange *call = given;                                                \
        quern_ragged_all_to_all_args *args = &call->args;                                 \
        (void)args;                                                                       \
        change;                                                                           \
    }

/* Faults of the metadata, of which all ranks get the same status and words. */
enum { EXCHANGE_FAULTS = 22 };
extern const struct mistake exchange_faults[EXCHANGE_FAULTS];

#endif
