/*
 * Random ragged all-to-alls.  Every rank makes the whole case from its seed, including the data of all other ranks, so it can
 * compute its expected result alone.
 */
#ifndef HARNESS_RAGGED_CASE_H
#define HARNESS_RAGGED_CASE_H

#include "harness/rank_bench.h"

enum { RAGGED_MAX_MEMBERS = 64 };

struct ragged_buffer {
    enum rank_pool pool;
    int64_t offset, rows;
};

struct ragged_case_member {
    int rank;
    struct ragged_buffer input, output;
    int64_t *input_offsets, *send_sizes, *output_offsets, *recv_sizes;  /* [members, updates] */
};

struct ragged_case {
    uint64_t seed;
    int count;                                            /* of members */
    struct ragged_case_member members[RAGGED_MAX_MEMBERS];
    int64_t updates, row_bytes;
    bool is_int64, check_overlap, metadata_on_device;
    int multiprocessors;
    int64_t pool_bytes;                                   /* of either pool, the part that the case uses */
};

/* The choices of a case; zero fields are chosen at random. */
struct ragged_choice {
    int ranks;                        /* of the group */
    bool everyone;                    /* take part */
    int64_t updates;                  /* -1: none */
    int64_t row_bytes;
    int64_t largest;                  /* rows of a slice */
    bool is_private, is_symmetric;    /* all buffers */
    bool in_place, not_in_place;
    bool shares_thread;               /* as GPUs that reach each other need it: outputs at the same place of symmetric memory */
};

void ragged_case_open(struct ragged_case *c, uint64_t seed, struct ragged_choice choice);
void ragged_case_close(struct ragged_case *c);

/* Places the buffers of all members anew, after a change of their sizes. */
void ragged_case_arrange(struct ragged_case *c, struct ragged_choice choice);

/*
 * Of all ranks that the thread drives: fills both pools with their contents before `call` (counted by the caller), and computes
 * the expected contents after it, or after one more.
 */
void ragged_case_fill(const struct ragged_case *c, struct rank_bench *bench, uint64_t call);
void ragged_case_expect(const struct ragged_case *c, struct rank_bench *bench, uint64_t call);

/* Makes the calls of those of them that are members; *bytes: of the workspace of the last one. */
void ragged_case_call(const struct ragged_case *c, struct rank_bench *bench, size_t *bytes);

/* Waits, and compares both pools byte for byte: outputs, unwritten rows, inputs, and everything around them. */
void ragged_case_compare(const struct ragged_case *c, struct rank_bench *bench, const char *when);

/* Plans of all ranks that the thread drives, and a run of each. */
void ragged_case_make_plans(const struct ragged_case *c, struct rank_bench *bench, quern_ragged_plan **plans, size_t *bytes);
void ragged_case_run_plans(struct rank_bench *bench, quern_ragged_plan *const *plans);

/* The arguments for a member; they refer to `storage`. */
struct ragged_arguments {
    quern_ragged_all_to_all_args args;
    int members[RAGGED_MAX_MEMBERS];
    int32_t *narrow;  /* the four arrays as int32 */
};

void ragged_arguments_open(struct ragged_arguments *arguments, const struct ragged_case *c, const struct rank_bench *bench,
                           int place);
void ragged_arguments_close(struct ragged_arguments *arguments);

/* A call in the bench's workspace and stream. */
quern_status ragged_call(const struct rank_bench *bench, const quern_ragged_all_to_all_args *args, size_t workspace_bytes);

/* Fills, calls, compares; a thread whose rank is not a member does nothing. */
void ragged_case_run(const struct ragged_case *c, struct rank_bench *bench);

/* A plan of the case, run `runs` times with different data each time; collective over the group. */
void ragged_case_plan(const struct ragged_case *c, struct rank_bench *bench, int runs);

/* Random cases one after the other: their seeds, their number, and the threads and the pool of a rank (0: one, 2.5 MiB). */
struct ragged_batch {
    uint64_t first;
    int cases;
    bool is_plan, metadata_on_device;
    struct ragged_choice choice;
    int threads;
    int64_t pool_bytes;
    bool captures;           /* as that of the bench */
};

void ragged_run_cases(struct rank_bench *bench, const struct ragged_batch *batch);

/* A rank_function; its user is a batch. */
quern_status ragged_run_batch(struct rank *rank);

#endif
