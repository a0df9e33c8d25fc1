/* What transfers of GPU ranks have of the GPU: the events of their starts, and copies.  For src/ranks/transfer. */
#ifndef QUERN_TRANSFER_GPU_H
#define QUERN_TRANSFER_GPU_H

#include "ranks/cuda_rank.h"
#include "ranks/transfer/transfers.h"

/* Of a transfer. */
struct quern_transfer_gpu {
    CUevent ready;     /* recorded on the engine's stream by quern_transfer_start */
    CUevent copied;    /* behind the copies within the rank */
};

/* Of a group handle: a stream of high priority for the copies. */
struct quern_transfer_stream {
    CUstream stream;
};

/* Makes them for a transfer; nothing for CPU ranks.  quern_free_gpu frees what there is. */
quern_status quern_make_gpu(struct quern_transfer_data *transfer);
void quern_free_gpu(struct quern_transfer_data *transfer);
void quern_free_gpu_stream(struct quern_transfers *all);

/*
 * What the stream has now comes before the transfer.  The engine may destroy the stream afterwards.
 * Errors: QUERN_NOT_SUPPORTED (it is being captured), QUERN_INVALID_ARGUMENT (of another GPU), QUERN_CUDA_ERROR.
 */
quern_status quern_mark_start(struct quern_transfer_data *transfer, void *stream);

/* Copies within the rank: begins them, and asks whether they have ended.  They fail with the transfer. */
void quern_copy_own_on_gpu(struct quern_transfer_pair *pair);
bool quern_have_copied_own(struct quern_transfer_pair *pair);

/* The copies that a failed transfer has begun have ended. */
void quern_await_own_copies(const struct quern_transfer_data *transfer);

#endif
