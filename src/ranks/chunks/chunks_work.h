/*
 * The work of a rank on the threads of a CPU: the amax of its input, and the cast that sends chunk after chunk to all members.  For
 * chunks_host.c.
 *
 * A thread casts a piece in steps into this rank's output, and copies each from there to the outputs of the other members while it
 * is in the cache.  The pieces of all chunks are one list in the order of the chunks, so no thread waits for another one.  The one
 * that completes the last piece of a chunk writes the ready words:
 *
 *   thread    copies of a piece;  fence, if they stream;  left[chunk] -= 1, acquire and release
 *             if left[chunk] is 0: ready[place][chunk] of each member = ready_value, release
 *
 * So whoever reads a word with acquire order sees what all threads have written of the chunk.  Checked by tests/model/chunks.pml.
 */
#ifndef QUERN_CHUNKS_WORK_H
#define QUERN_CHUNKS_WORK_H

#include "ranks/chunks/chunks_call.h"

struct quern_chunks_work {
    const struct quern_chunks_call *call;
    char *output[QUERN_RANK_LIMIT];       /* [places]: this rank's part of the output of each member */
    uint32_t *ready[QUERN_RANK_LIMIT];    /* [places]: its words of each member */
    float scale;
    uint32_t offset;                      /* of the random numbers */
    int64_t pieces;                       /* of each chunk; the last chunk may have empty ones */
    bool is_streaming;                    /* copies past the caches */
    bool is_stopped;                      /* atomic: a thread has seen that the group is poisoned */
    uint32_t left[QUERN_MOST_CHUNKS];     /* atomic; [chunks]: pieces that are not complete */
};

/* The largest magnitude of this rank's input. */
float quern_chunks_find_amax(const struct quern_chunks_call *call);

/* Casts and sends all chunks.  The rows of outputs and words are filled in.  False: the group has been poisoned meanwhile. */
bool quern_chunks_send(struct quern_chunks_work *work);

#endif
