/*
 * Random collectives.  Every rank makes the whole case from its seed, including the inputs of all other ranks, so it can compute
 * its expected result alone.
 */
#ifndef HARNESS_COLLECTIVE_CASE_H
#define HARNESS_COLLECTIVE_CASE_H

#include "harness/rank_bench.h"
#include "oracle/collective.h"

enum { COLLECTIVE_MAX_MEMBERS = 64 };

/* The public function, and its name. */
typedef quern_status collective_function(quern_group *, const quern_collective_args *, void *, size_t, void *);
extern collective_function *const collective_functions[COLLECTIVE_OPERATIONS];
extern const char *const collective_names[COLLECTIVE_OPERATIONS];

struct collective_buffer {
    enum rank_pool pool;
    int64_t offset, bytes;
};

struct collective_case_member {
    int rank;
    struct collective_buffer input, output;
};

struct collective_case {
    uint64_t seed;
    enum collective_operation operation;
    int count;                                            /* of members */
    struct collective_case_member members[COLLECTIVE_MAX_MEMBERS];
    quern_dtype dtype;
    quern_combination combination;
    quern_order order;
    int64_t elements;                                     /* count of the arguments */
    int64_t stride;                                       /* elements from one place of an input to the next; 0: elements */
    int parts;                                            /* of the columns of a reduce-scatter: as many calls; 0: one */
    int root;                                             /* a rank */
    int multiprocessors;
    int64_t pool_bytes;                                   /* of either pool, the part that the case uses */
};

/* The choices of a case; zero fields are chosen at random. */
struct collective_choice {
    int ranks;                        /* of the group */
    bool everyone;                    /* take part */
    int operation;                    /* enum collective_operation and 1 */
    quern_dtype dtype;
    quern_combination combination;
    int order;                        /* enum quern_order and 1 */
    int64_t elements;                 /* -1: none */
    int64_t largest;                  /* elements of a case that chooses them; 0: 3,000 */
    bool is_private, is_symmetric;    /* all buffers */
    bool is_aligned;                  /* all buffers, to 64 bytes */
    bool in_place, not_in_place;
    bool shares_thread;               /* as GPUs that reach each other need it: symmetric buffers at the same place on all ranks */
    int64_t least, most;              /* bytes of all elements; no most: as above */
};

void collective_case_open(struct collective_case *c, uint64_t seed, struct collective_choice choice);

/* Element i of a rank's input. */
uint64_t collective_case_bits(const struct collective_case *c, int rank, int64_t i);

/* Of all ranks that the thread drives: fills both pools; computes their contents after the call, or one more. */
void collective_case_fill(const struct collective_case *c, struct rank_bench *bench);
void collective_case_expect(const struct collective_case *c, struct rank_bench *bench);

/* Makes the calls of those of them that are members; *bytes: of the workspace of the last one. */
void collective_case_call(const struct collective_case *c, struct rank_bench *bench, size_t *bytes);

/* Waits, and compares both pools byte for byte: outputs, inputs, and everything around them. */
void collective_case_compare(const struct collective_case *c, struct rank_bench *bench);

/* The arguments of a member; `members` has room for all. */
quern_collective_args collective_case_args(const struct collective_case *c, const struct rank_bench *bench, int place,
                                           int members[COLLECTIVE_MAX_MEMBERS]);

/* A call in the bench's workspace and stream. */
quern_status collective_call(const struct rank_bench *bench, enum collective_operation operation,
                             const quern_collective_args *args, size_t workspace_bytes);

/* Fills, calls, compares; a thread whose rank is not a member does nothing. */
void collective_case_run(const struct collective_case *c, struct rank_bench *bench);

/* Random cases one after the other: their seeds, their number, and the threads and the pool of a rank (0: one, 2.5 MiB). */
struct collective_batch {
    uint64_t first;
    int cases;
    struct collective_choice choice;
    int threads;
    int64_t pool_bytes;
    bool captures;           /* as that of the bench */
};

void collective_run_cases(struct rank_bench *bench, const struct collective_batch *batch);

/* A rank_function; its user is a batch. */
quern_status collective_run_batch(struct rank *rank);

#endif
