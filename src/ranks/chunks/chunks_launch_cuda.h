/* The arguments of the kernels of quantised chunks.  For chunks_cuda.c. */
#ifndef QUERN_CHUNKS_LAUNCH_CUDA_H
#define QUERN_CHUNKS_LAUNCH_CUDA_H

#include "kernels/chunks_problem.h"
#include "ranks/chunks/chunks_call.h"

/* The workspace of a call. */
size_t quern_chunks_state_bytes(const struct quern_chunks_call *call);

/* The largest magnitude of this rank's input; of its tiles there is at least one. */
void quern_chunks_fill_amax(const struct quern_chunks_call *call, struct quern_quantize_batch *batch);

/* Entry and exit, without the stage. */
void quern_chunks_fill_meeting(const struct quern_chunks_call *call, struct quern_chunks_problem *problem);

void quern_chunks_fill_cast(const struct quern_chunks_call *call, struct quern_chunks_cast_problem *problem);

/* How many tiles and parts of tiles the cast has. */
int64_t quern_chunks_parts(const struct quern_chunks_call *call);

#endif
