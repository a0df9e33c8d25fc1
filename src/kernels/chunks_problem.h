/*
 * The parameters of the kernels of quantised chunks.  Included by the host code of src/ranks/chunks/ and by the CUDA kernels, so
 * that both agree on the layout; a kernel takes one of the problems by value.
 *
 * A call is four launches, one after the other in the stream, or three without the first, if blocks have scales of their own:
 *
 *   amax     the kernel of a quantisation: the largest magnitude of this rank's input
 *   entry    one block meets the members.  Each has written its amax and its terms into their slots before (collective_problem.h),
 *            and writes nothing into another rank's memory before it has met all
 *   cast     any number of blocks: a kernel with one scale, or one with a scale for each block of a row.  The last warp to finish a
 *            chunk stores ready_value into the words of all members
 *   exit     one block waits until all words of this rank are ready_value
 *
 * Over NCCL no kernel meets the members.  Behind the amaxes, which NCCL has exchanged, comes the beginning; then for each chunk in
 * this rank's order its cast into this rank's own output, the messages of NCCL, and a signal:
 *
 *   begin    one block: what the entry does behind its meeting
 *   signal   one block writes ready_value into the words of the chunks that have come
 *
 * No meeting follows the exit.  A rank's words and output are complete when it passes, and the members write there again behind the
 * entry of a later call, to which this rank comes after the work that is before that call in its stream.
 */
#ifndef QUERN_CHUNKS_PROBLEM_H
#define QUERN_CHUNKS_PROBLEM_H

#include "kernels/collective_problem.h"
#include "kernels/quantize_problem.h"

/*
 * What all members must agree on, and what each tells the others.  It takes the place of struct quern_collective_terms in a slot.
 */
struct quern_chunks_terms {
    uint32_t members[QUERN_RANK_WORDS];
    int64_t rows, columns, chunk_rows;
    uint64_t output_id, ready_id, scales_id;  /* struct quern_symmetric_place; 0: the call has no such memory */
    int64_t output_offset, ready_offset, scales_offset;
    int32_t input_dtype, output_dtype;
    uint32_t ready_value;
    float eps;
    int32_t power_of_two, rounding, scaling;  /* eps and power_of_two are 0 with QUERN_SCALING_MX */
    float amax;                          /* of this rank's input */
    uint32_t told;                       /* 1 + the index of a word that is ready_value or its complement already; 0: none */
};

/* The workspace.  It is filled with zeros before the first launch. */
struct quern_chunks_state {
    struct quern_quantize_state largest; /* of the kernel that finds the amax */
    float amax;                          /* of this rank's input */
    float scale;                         /* of all inputs */
    uint32_t entered;                    /* 1: the entry has succeeded */
    uint32_t unused;
    uint32_t finished[];                 /* [chunks]: the parts of tiles that are cast */
};

/* ---- entry, exit and the wait for chunks ---- */

enum quern_chunks_stage { QUERN_CHUNKS_ENTRY, QUERN_CHUNKS_EXIT, QUERN_CHUNKS_WAIT, QUERN_CHUNKS_BEGIN, QUERN_CHUNKS_SIGNAL };

/* The members of a group of several hosts, at most. */
enum { QUERN_CHUNKS_PLACES = 512 };

struct quern_chunks_problem {
    struct quern_links links;
    struct quern_chunks_terms terms;     /* entry: without those that the device knows */
    uint32_t stage;                      /* enum quern_chunks_stage */
    uint32_t places;
    int32_t rank;                        /* this rank, in the errors of a wait and a beginning */
    unsigned char rank_at[QUERN_RANK_LIMIT];  /* place -> rank; entry and exit */
    struct quern_chunks_state *state;
    uint32_t *ready;                     /* this rank's: [places, chunks]; a wait: [words] */
    uint32_t words, chunks;
    uint32_t ready_value;
    float *amax, *scale, *scale_inv;     /* the results; with QUERN_SCALING_MX there are none, else the last two may be NULL */
    const uint32_t *amaxes;              /* begin: [places], bits that others have sent, beside that of the state; NULL: none */
    uint16_t chunk_of[QUERN_CHUNKS_PLACES];  /* signal: by place, what has come; or QUERN_MOST_CHUNKS */
};

/* ---- cast ---- */

/* What a cast writes: this rank's part of the output, or of its scales, in the memory of each member. */
struct quern_chunks_target {
    char *multicast;                     /* reaches all destinations at once; NULL: not mapped, or not all ranks take part */
    char *destination[QUERN_RANK_LIMIT]; /* by place, in an order that begins with this rank's */
    uint32_t alignment;                  /* 16, 4 or 1: whatever is stored at once begins at a multiple of it */
};

/* Units are elements, or blocks if these have scales of their own. */
struct quern_chunks_cast_problem {
    const struct quern_chunks_state *state;
    uint32_t *finished;                  /* that of the state */
    const char *input;
    int64_t units, chunk_units;          /* of the whole input; of each chunk but the last */
    int64_t columns, across;             /* with blocks: elements and blocks of a row */
    const uint64_t *offset_pointer;      /* as in struct quern_quantize_batch, as the next three */
    uint32_t seed[2], offset;
    int32_t stochastic;
    uint32_t chunks, places, ready_value;
    struct quern_chunks_target output, scales;  /* without blocks no scales */
    uint32_t *ready[QUERN_RANK_LIMIT];   /* [chunks], by place like the destinations */
    uint16_t order[QUERN_MOST_CHUNKS];
};

/* The tiles of a chunk: those of the whole input, so that random numbers and vectors are the same, and at least one. */
struct quern_chunk_tiles {
    int64_t first, end;                  /* units */
    uint32_t tile, count;                /* the first tile, and how many */
};

/* The units of a tile. */
enum { QUERN_CHUNK_TILE = QUERN_LIST_TILE, QUERN_CHUNK_TILE_BLOCKS = QUERN_QUANTIZE_TILE_BLOCKS };

QUERN_QUANTIZE_INLINE struct quern_chunk_tiles quern_chunk_tiles_at(int64_t units, int64_t chunk_units, int64_t tile_units,
                                                                    int64_t chunk) {
    const int64_t first = chunk * chunk_units, rest = units - first;
    const int64_t end = first + (rest < chunk_units ? rest : chunk_units), tile = first / tile_units;
    const int64_t count = (end + tile_units - 1) / tile_units - tile;
    struct quern_chunk_tiles tiles;
    tiles.first = first, tiles.end = end, tiles.tile = (uint32_t)tile, tiles.count = count > 0 ? (uint32_t)count : 1;
    return tiles;
}

#endif
