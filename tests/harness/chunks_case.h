/*
 * Calls of quern_quantize_chunks that follow from a seed, and what the oracle says of them.  Needs no Criterion.
 *
 * Each rank makes the inputs of all members by itself, so that it can compare a chunk as soon as it is ready.
 */
#ifndef HARNESS_CHUNKS_CASE_H
#define HARNESS_CHUNKS_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

enum { CHUNKS_MAX_MEMBERS = 40, CHUNKS_GUARD = 256 };

struct chunks_case {
    uint64_t seed;
    int ranks;                        /* of the group */
    int members[CHUNKS_MAX_MEMBERS], count;
    bool everyone;                    /* args.members is NULL */
    quern_dtype input, output;
    int64_t rows, columns, chunk_rows, chunks, elements;
    quern_rounding rounding;
    int32_t power_of_two;
    double eps;
    int64_t skew;                     /* bytes between a line and the output */
    int64_t input_skew;               /* elements between a line and the input */
    bool is_in_order;                 /* args.order is NULL */
    bool has_pointer;                 /* the offset is in memory */
    bool has_scales;                  /* scale and scale_inv are wanted */
    float amax, scale, scale_inv;     /* after the call */
    unsigned char *inputs[CHUNKS_MAX_MEMBERS];
    uint8_t *expected;                /* [count, rows, columns] */
};

/* The choices of a case; zero fields are chosen at random. */
struct chunks_choice {
    int ranks;                        /* of the group */
    bool everyone;                    /* take part */
    int64_t largest;                  /* elements; 0: 6,000 */
    int64_t rows, columns, chunk_rows;  /* -1: none */
    quern_dtype input, output;
};

/* False: no memory. */
bool chunks_case_open(struct chunks_case *c, uint64_t seed, struct chunks_choice choice);
void chunks_case_close(struct chunks_case *c);

/* A rank's position among the members; -1: not a member. */
int chunks_case_place(const struct chunks_case *c, int rank);

uint64_t chunks_case_offset(const struct chunks_case *c, int place);

/* The order in which a member sends its chunks: [chunks]. */
void chunks_case_order(const struct chunks_case *c, int place, int *order);

/*
 * A member's memory of the case: guards around the output and around the words, all in symmetric memory of this many bytes, and the
 * offsets in it.
 */
struct chunks_layout {
    int64_t output, output_bytes, ready, ready_bytes, bytes;
};
struct chunks_layout chunks_case_layout(const struct chunks_case *c);

/* The numbers of a member's call; it has no pointers but the members. */
quern_quantize_chunks_args chunks_case_args(const struct chunks_case *c, int place);

#endif
