/* One call of quern_quantize_chunks by each of three ranks, which a test changes by hand. */
#ifndef HARNESS_ONE_CHUNKS_H
#define HARNESS_ONE_CHUNKS_H

#include "harness/one_call.h"

enum { CHUNKS_ROWS = 40, CHUNKS_COLUMNS = 50, CHUNK_ROWS = 7, CHUNKS = 6, CHUNK_WORDS = ONE_RANKS * CHUNKS,
       CHUNKS_BYTES = 1 << 19, CHUNKS_UNTOUCHED = 0x77, CHUNKS_VALUE = 900, CHUNKS_BEFORE = 800 };
enum { CHUNKS_ACROSS = 2 };  /* blocks of a row */

/* What a suite chooses of a call: whether all ranks take part without a list, and QUERN_SCALING_MX.  NULL: neither. */
struct one_chunks_form {
    bool everyone, in_blocks;
};

/*
 * CHUNKS_BYTES of outputs, the second half of them for the scales of blocks, and as many of words are in symmetric memory, the
 * input and the numbers in private memory.
 */
struct one_chunks {
    struct rank_bench *bench;
    quern_quantize_chunks_args args;
    void *workspace, *stream;
    size_t workspace_bytes;
    int order[CHUNKS];
};
extern const struct one_kind one_chunks_kind;

void one_chunks_make(struct one_chunks *one, struct rank_bench *bench);
quern_status one_chunks_call(const struct one_chunks *one);
void one_chunks_check(const struct one_chunks *one);

/* Makes one with blocks of it. */
void one_chunks_scale_blocks(struct one_chunks *one);

/* The rank's words, as the host sees them. */
uint32_t *one_chunks_words(const struct one_chunks *one);

/* Words and outputs hold what they held: the words `word`, but for the first one, which a mistake may have set. */
void one_chunks_check_nothing_came(const struct one_chunks *one, uint32_t word, const char *when);

#endif
