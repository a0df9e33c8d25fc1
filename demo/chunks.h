/*
 * The rows of all ranks in 8 bits, gathered in chunks by quern_quantize_chunks: a matrix product begins with a chunk while the next
 * ones are cast and on their way.
 */
#ifndef CHUNKS_H
#define CHUNKS_H

#include "fp8.h"
#include "ranks.h"

struct caller;
struct thread_pool;

#define CHUNK_OPERATIONS (QUERN_QUANTIZE | QUERN_COLLECTIVE)

struct chunks {
    struct rank *rank;
    struct thread_pool *pool;
    struct caller *caller;              /* makes the call: it ends with the last chunk */
    quern_dtype dtype;
    int64_t rows, chunk_rows, columns;  /* rows: this rank's in the current gather */
    struct mirrored input;              /* [rows, columns] in fp32 */
    struct mirrored bytes;              /* [ranks, rows, columns] */
    struct mirrored ready;              /* [ranks, chunks] */
    struct mirrored amax, scale_inv, workspace;
    struct device_memory side;          /* another stream, on which chunks are waited for and downloaded */
    uint32_t ready_value;
    float table[FP8_VALUES];
    bool succeeded;
    double seconds;                     /* of the call */
};

/* Collective.  For up to `rows` rows on each rank.  On failure, here as below, false after a message on stderr. */
bool chunks_create(struct chunks *chunks, struct rank *rank, struct thread_pool *pool, struct caller *caller, quern_dtype dtype,
                   int64_t rows, int64_t columns);
void chunks_free(struct chunks *chunks);

/* Collective.  Begins to gather values [rows, columns], of which it makes a copy; chunks_end must follow. */
void chunks_begin(struct chunks *chunks, const float *values, int64_t rows);
bool chunks_end(struct chunks *chunks);

/* The chunks of a rank's rows: the same number for each rank. */
int64_t chunks_count(const struct chunks *chunks);

/* Some rows among those of all ranks. */
struct row_range {
    int64_t first, count;
};

/* Waits for a chunk of a rank.  This rank's own first chunk is taken first: the scale comes with it. */
bool chunks_take(struct chunks *chunks, int rank, int64_t chunk, struct row_range *rows);

/* Widens rows that have come to fp32: out [count, columns]. */
void chunks_widen(const struct chunks *chunks, struct row_range rows, float *out);

#endif
