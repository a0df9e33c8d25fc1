/*
 * The transport of GPU ranks of several hosts: they meet and are watched over sockets, and their work goes over NCCL.  A row of the
 * table in form.c.
 *
 * One communicator has all ranks, those of one host too: between these NCCL takes the memory of the GPUs by itself.
 */
#include "ranks/group/group.h"

#include <stdlib.h>

#include "ranks/agreement.h"
#include "ranks/chunks/chunks.h"
#include "ranks/collective/collective.h"
#include "ranks/cuda_rank.h"
#include "ranks/gpu_room.h"
#include "ranks/local_ranks.h"
#include "ranks/meeting.h"
#include "ranks/poison.h"
#include "ranks/nccl/nccl.h"
#include "ranks/ragged/ragged.h"
#include "ranks/symmetric/symmetric.h"
#include "runtime/log.h"
#include "runtime/status.h"

/* Judged by the roster alone, so that every rank gets the same answer. */
static bool serves(const struct quern_roster *roster, struct quern_text *why) {
    for (int rank = 0; rank < roster->ranks; rank++) {
        if (roster->peer[rank].device_kind != QUERN_CUDA) {
            quern_text_add(why, "rank %d is a CPU", rank);
            return false;
        }
        for (int other = 0; other < rank; other++) {
            if (roster->peer[rank].host != roster->peer[other].host || !quern_cuda_same_gpu(roster, rank, other)) continue;
            quern_text_add(why, "ranks %d and %d use one GPU, and NCCL wants one for each", other, rank);
            return false;
        }
    }
    if (roster->hosts == 1) quern_text_add(why, "all ranks are of one host");
    return roster->hosts > 1;
}

/* ---- attaching ---- */

static void detach(struct quern_membership *member) {
    if (!quern_cuda_rank_of(member)) return;
    quern_symmetric_forget(member);
    quern_nccl_free_rank(member);
    quern_leave_local_rank(quern_cuda_rank_of(member));
    quern_cuda_free_rank(member);
    quern_symmetric_sweep();
}

/* The steps that a rank can take alone.  Rank 0 draws the id last, since NCCL then listens for the others. */
static quern_status prepare(struct quern_membership *member, ncclUniqueId *id) {
    const struct quern_nccl *nccl;
    quern_status status = quern_nccl_open(&nccl);
    if (status == QUERN_OK) status = quern_cuda_make_rank(member);
    if (status != QUERN_OK) return status;
    quern_enter_local_rank(quern_cuda_rank_of(member), member);
    status = quern_nccl_make_rank(member);
    if (status != QUERN_OK || member->rank) return status;
    const ncclResult_t result = nccl->unique_id(id);
    return result == ncclSuccess ? QUERN_OK : quern_nccl_fail(member->device, result, "ncclGetUniqueId", NULL);
}

static quern_status hand_out(struct quern_membership *member, ncclUniqueId *id) {
    ncclUniqueId *all = malloc((size_t)member->ranks * sizeof *all);
    if (!all) return quern_poison(member, QUERN_OUT_OF_MEMORY, "rank %d has no memory for a group", member->rank);
    const void *payload = id;
    quern_status status = quern_exchange(&member, 1, QUERN_IN_CREATE, &payload, sizeof *id, all);
    *id = all[0];
    free(all);
    return status;
}

/* Nothing may be enqueued before the communicators of all ranks are ready, so the ranks meet once more. */
static quern_status attach(struct quern_membership *const *members, int count) {
    struct quern_membership *member = members[0];
    ncclUniqueId id = {{0}};
    quern_status status = quern_agree_at(members, count, QUERN_IN_CREATE, 0, prepare(member, &id));
    if (status == QUERN_OK) status = hand_out(member, &id);
    if (status == QUERN_OK) status = quern_nccl_connect(member, &id);
    if (status == QUERN_OK) status = quern_agree_at(members, count, QUERN_IN_CREATE, 0, quern_nccl_watch(member));
    if (status != QUERN_OK) detach(member);
    else quern_log(member->device, QUERN_LOG_INFO, "%s: NCCL %d", member->label, quern_nccl_version());
    return status;
}

static quern_status settle(const struct quern_membership *member) {
    const quern_status status = quern_cuda_settle(member, quern_cuda_is_unmarked(quern_cuda_rank_of(member)));
    return status == QUERN_INVALID_ARGUMENT ? status : quern_nccl_await_graphs(member);
}

/* ---- memory ---- */

static quern_status refuse_memory(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part) {
    (void)pointer, (void)part;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "the group goes over NCCL, which has no symmetric memory between hosts: "
                      "expected memory of the GPU's own");
}

static const struct quern_symmetric_kind no_memory = {.describe = refuse_memory};
static const struct quern_symmetric_kind no_registration = {.is_registration = true, .describe = refuse_memory};

const struct quern_transport quern_nccl_transport = {
    .name = "NCCL",
    .serves = serves,
    .attach = attach,
    .detach = detach,
    .look = quern_cuda_look,
    .settle = settle,
    .barrier = quern_nccl_barrier,
    .allocated = &no_memory,
    .registered = &no_registration,
    .ragged = &quern_nccl_ragged,
    .collective = &quern_nccl_collective,
    .chunks = &quern_nccl_chunks,
};
