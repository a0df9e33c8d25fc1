/*
 * Calls of quern_quantize_chunks that follow from a seed, their memory in benches, and what the oracle says of them.  Needs no
 * Criterion.
 *
 * Each rank makes the inputs of all members by itself, so that it can compare a chunk as soon as it is ready.
 */
#ifndef HARNESS_CHUNKS_CASE_H
#define HARNESS_CHUNKS_CASE_H

#include "harness/rank_bench.h"

enum { CHUNKS_MAX_MEMBERS = 40, CHUNKS_GUARD = 256 };

struct chunks_case {
    uint64_t seed;
    int ranks;                        /* of the group */
    int members[CHUNKS_MAX_MEMBERS], count;
    bool everyone;                    /* args.members is NULL */
    quern_dtype input, output;
    int64_t rows, columns, chunk_rows, chunks, elements;
    quern_scaling scaling;
    int64_t across, blocks;           /* scales of a row and of a member; 0: one scale for all members */
    quern_rounding rounding;
    int32_t power_of_two;
    double eps;
    int64_t skew, scales_skew;        /* bytes between a line and the output, and the scales of blocks */
    int64_t input_skew;               /* elements between a line and the input */
    bool is_in_order;                 /* args.order is NULL */
    bool has_pointer;                 /* the offset is in memory */
    bool has_scales;                  /* scale and scale_inv are wanted */
    bool is_copied;                   /* the chunks, as they come, to the member's private memory */
    float amax, scale, scale_inv;     /* after the call */
    unsigned char *inputs[CHUNKS_MAX_MEMBERS];
    uint8_t *expected;                /* [count, rows, columns] */
    uint8_t *expected_scales;         /* [count, rows, across] */
};

/* The choices of a case; zero fields are chosen at random. */
struct chunks_choice {
    int ranks;                        /* of the group */
    bool everyone;                    /* take part */
    int64_t largest;                  /* elements; 0: 6,000 */
    int64_t rows, columns, chunk_rows;  /* -1: none */
    quern_dtype input, output;
    quern_scaling scaling;
};

void chunks_case_open(struct chunks_case *c, uint64_t seed, struct chunks_choice choice);
void chunks_case_close(struct chunks_case *c);

/* A rank's position among the members; -1: not a member. */
int chunks_case_place(const struct chunks_case *c, int rank);

/*
 * Where a member's memory is in its pools, with guards around each part: the output, the scales of blocks and the words in
 * symmetric memory; the numbers, the input and copies of the chunks and their scales in private memory.
 */
struct chunks_layout {
    int64_t output, output_bytes, scales, scales_bytes, ready, ready_bytes;
    int64_t numbers, input, input_bytes, copies, copied_scales;
    int64_t bytes;                    /* of either pool */
};
struct chunks_layout chunks_case_layout(const struct chunks_case *c);

/*
 * Of all ranks that the thread drives: fills both pools, the words with others than `value`, or from a second call on with what the
 * first has left there; and what they hold after the call of this value.
 */
void chunks_case_fill(const struct chunks_case *c, struct rank_bench *bench, uint32_t value, bool is_first);
void chunks_case_expect(const struct chunks_case *c, struct rank_bench *bench, uint32_t value);

/* Makes the calls of those of them that are members. */
void chunks_case_call(const struct chunks_case *c, struct rank_bench *bench, uint32_t value);

/* Waits, and compares both pools byte for byte. */
void chunks_case_compare(const struct chunks_case *c, struct rank_bench *bench);

/* The arguments of a member; `order` has room for all chunks.  A call in the bench's workspace and stream. */
enum { CHUNKS_MOST = 1024 };
quern_quantize_chunks_args chunks_case_args(const struct chunks_case *c, const struct rank_bench *bench, uint32_t value,
                                            int order[CHUNKS_MOST]);
quern_status chunks_call(const struct rank_bench *bench, const quern_quantize_chunks_args *args);

/* ---- between CPU ranks, each with a thread that reads chunks as they come ---- */

/* Random cases one after the other: their seeds, their number, and the threads and the pool of a rank (0: one, 128 KiB). */
struct chunks_batch {
    uint64_t first;
    int cases;
    struct chunks_choice choice;
    int threads;
    int64_t pool_bytes;
};

/* A rank_function; its user is a batch. */
quern_status chunks_run_batch(struct rank *rank);

#endif
