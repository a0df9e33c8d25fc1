/* The GPU's part in transfers of GPU ranks: the events of their starts, and copies.  For src/ranks/transfer. */
#ifndef QUERN_TRANSFER_GPU_H
#define QUERN_TRANSFER_GPU_H

#include "ranks/cuda_rank.h"
#include "ranks/transfer/transfers.h"

/* Of a transfer. */
struct quern_transfer_gpu {
    CUevent ready;     /* recorded on the engine's stream by quern_transfer_start */
    bool is_ready;     /* ... and known to have passed */
    CUevent copied;    /* behind the copies within the rank */
};

/* Of a group handle: streams of high priority for copies; those within the rank may wait for the engine's streams. */
struct quern_transfer_streams {
    CUstream copies, own;
};

/* Makes them for a transfer; nothing for CPU ranks.  quern_free_gpu frees what there is. */
quern_status quern_make_gpu(struct quern_transfer_data *transfer);
void quern_free_gpu(struct quern_transfer_data *transfer);
void quern_free_gpu_streams(struct quern_transfers *all);

/*
 * What the stream has now comes before the transfer.  The engine may destroy the stream afterwards.
 * Errors: QUERN_NOT_SUPPORTED (it is being captured), QUERN_INVALID_ARGUMENT (of another GPU), QUERN_CUDA_ERROR.
 */
quern_status quern_mark_start(struct quern_transfer_data *transfer, void *stream);

/* Whether the engine's stream has come to the start.  An error of the device lets the transfer fail. */
bool quern_gpu_is_ready(struct quern_transfer_data *transfer);

/* A start or a copy within the rank that the device has not come to. */
bool quern_gpu_is_busy(const struct quern_transfer_data *transfer);

/* Lets it fail with the driver's text. */
void quern_fail_on_gpu(struct quern_transfer_data *transfer, CUresult error, const char *what);

/*
 * Within a host, without NCCL, the receiver copies, by the addresses that it has of the sender's memory: any memory of this
 * process, and symmetric memory of others.  Other memory of others is staged.  The first checks that no receiver is to reach memory
 * that was freed; the second says which it is, and the third finds it, or lets the transfer fail.
 */
quern_status quern_check_reach(const struct quern_transfer_data *transfer);
void quern_name_memory(const struct quern_transfer_pair *pair, struct quern_transfer_entry *entries);
bool quern_find_memory(struct quern_transfer_pair *pair, const struct quern_transfer_entry *theirs);

/* Copies, and returns when it is done. */
CUresult quern_copy_by_gpu(const struct quern_transfer_data *transfer, const struct iovec *ours, const struct iovec *theirs,
                           int count);

/* Copies within the rank: begins them, and asks whether they have ended.  They fail with the transfer. */
void quern_copy_own_on_gpu(struct quern_transfer_pair *pair);
bool quern_have_copied_own(struct quern_transfer_pair *pair);

/* The copies that a failed transfer has begun have ended. */
quern_release_pair quern_await_own_copies;

#endif
