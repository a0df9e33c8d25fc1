/*
 * Quantised chunks of GPU ranks of several hosts.  The members compare their arguments on the host before anything is enqueued.
 * With one scale the amaxes go over NCCL first.  Then, for each chunk in this rank's order:
 *
 *   cast      into this rank's own output, by the kernel of the ranks of one host, which also writes this rank's own word
 *   messages  one group of NCCL: this chunk to all members, and the one that each of them sends next
 *   signal    a kernel writes the words of the chunks that have come
 *
 * If the group ends meanwhile, the watcher may end messages that are under way: the signal sees the poison, which is there before,
 * and says that no further chunk comes.  No other rank gets a chunk that is not whole, since what ends messages also ends those
 * behind them.
 */
#include "ranks/chunks/chunks.h"

#include <stdlib.h>

#include "os/integers.h"
#include "ranks/barrier_cuda.h"
#include "ranks/nccl/nccl.h"
#include "ranks/segment.h"
#include "runtime/status.h"

_Static_assert((int)QUERN_CHUNKS_PLACES == (int)QUERN_GROUP_LIMIT, "a signal has a chunk of each member");

/* A call that all members have agreed to. */
struct agreed {
    const struct quern_chunks_call *call;
    const uint16_t *orders;              /* [places, chunks] */
    struct quern_cuda_entry *entry;
    CUstream stream;
    struct quern_chunks_problem problem; /* of the beginning and the signals */
    bool goes_on;                        /* something was enqueued over NCCL before */
};

/* ---- the workspace: that of the kernels, and the amaxes of all places ---- */

static size_t workspace_bytes(const struct quern_chunks_call *call) {
    return quern_chunks_state_bytes(call) + (size_t)call->places * sizeof(uint32_t);
}

static struct quern_chunks_state *state_of(const struct quern_chunks_call *call) { return call->workspace; }

static uint32_t *amaxes_of(const struct quern_chunks_call *call) {
    return (uint32_t *)(void *)((char *)call->workspace + quern_chunks_state_bytes(call));
}

/* ---- messages ---- */

typedef ncclResult_t add_to_group(const struct quern_nccl_rank *rank, const struct quern_nccl_call *group);

static quern_status enqueue(struct agreed *agreed, add_to_group *add, const void *user) {
    const struct quern_chunks_call *call = agreed->call;
    const struct quern_nccl_call group = {QUERN_IN_QUANTIZE_CHUNKS, &call->set, call->timeout, agreed->stream, add, user,
                                          agreed->goes_on};
    agreed->goes_on = true;
    return quern_nccl_enqueue(call->member, &group);
}

/* The bits of amaxes have their order. */
static ncclResult_t add_amax_of_all(const struct quern_nccl_rank *rank, const struct quern_nccl_call *group) {
    const struct quern_chunks_call *call = group->user;
    float *amax = &state_of(call)->amax;
    return rank->nccl->all_reduce(amax, amax, 1, ncclUint32, ncclMax, rank->comm, group->stream);
}

static ncclResult_t add_amaxes(const struct quern_nccl_rank *rank, const struct quern_nccl_call *group) {
    const struct quern_chunks_call *call = group->user;
    ncclResult_t result = ncclSuccess;
    for (int place = 0; place < call->places && result == ncclSuccess; place++)
        if (place != call->place)
            result = quern_nccl_exchange(rank, call->rank_at[place], (const char *)&state_of(call)->amax, sizeof(uint32_t),
                                         (char *)&amaxes_of(call)[place], sizeof(uint32_t), group->stream);
    return result;
}

/* The i-th chunk of each member. */
struct turn {
    const struct agreed *agreed;
    int64_t number;
};

static int64_t chunk_of(const struct turn *turn, int place) {
    return turn->agreed->orders[place * turn->agreed->call->chunks + turn->number];
}

/* The bytes of a chunk in memory with so many for a row, behind those of a place. */
static struct quern_chunk bytes_of(const struct quern_chunks_call *call, int64_t chunk, int64_t row_bytes) {
    const int64_t each = quern_smaller(call->args.chunk_rows, call->args.rows), first = chunk * each;
    return (struct quern_chunk){first * row_bytes, quern_smaller(first + each, call->args.rows) * row_bytes};
}

static ncclResult_t exchange(const struct turn *turn, const struct quern_nccl_rank *rank, CUstream stream, int place, void *memory,
                             int64_t row_bytes) {
    const struct quern_chunks_call *call = turn->agreed->call;
    const struct quern_chunk out = bytes_of(call, chunk_of(turn, call->place), row_bytes);
    const struct quern_chunk in = bytes_of(call, chunk_of(turn, place), row_bytes);
    const int64_t each = call->args.rows * row_bytes;
    return quern_nccl_exchange(rank, call->rank_at[place], (char *)memory + call->place * each + out.first, out.end - out.first,
                               (char *)memory + place * each + in.first, in.end - in.first, stream);
}

static ncclResult_t add_chunks(const struct quern_nccl_rank *rank, const struct quern_nccl_call *group) {
    const struct turn *turn = group->user;
    const struct quern_chunks_call *call = turn->agreed->call;
    ncclResult_t result = ncclSuccess;
    for (int place = 0; place < call->places && result == ncclSuccess; place++) {
        if (place == call->place) continue;
        result = exchange(turn, rank, group->stream, place, call->args.output, call->args.columns);
        if (call->in_blocks && result == ncclSuccess)
            result = exchange(turn, rank, group->stream, place, call->args.block_scales, call->across);
    }
    return result;
}

/* ---- kernels ---- */

static quern_status launched(const struct quern_chunks_call *call, CUresult error, const char *what) {
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(call->member, error, what);
}

static quern_status meet_nobody(struct agreed *agreed, enum quern_chunks_stage stage) {
    const struct quern_chunks_call *call = agreed->call;
    const CUresult error = quern_chunks_launch_meeting(call, agreed->entry, agreed->stream, &agreed->problem, stage);
    return launched(call, error, call->meeting->kernel->name);
}

static quern_status find_amax(struct agreed *agreed) {
    const struct quern_chunks_call *call = agreed->call;
    if (call->in_blocks) return QUERN_OK;
    quern_status status = launched(call, quern_chunks_launch_amax(call, agreed->entry, agreed->stream), call->amax->kernel->name);
    if (status != QUERN_OK || call->places == 1) return status;
    return enqueue(agreed, call->places == call->member->ranks ? add_amax_of_all : add_amaxes, call);
}

static quern_status begin(struct agreed *agreed) {
    const struct quern_chunks_call *call = agreed->call;
    CUresult error = quern_cuda_stay(call->member, agreed->entry);
    if (error == CUDA_SUCCESS)
        error = agreed->entry->visit.cuda->memory_set_async((CUdeviceptr)(uintptr_t)call->workspace, 0, call->workspace_bytes,
                                                            agreed->stream);
    quern_status status = launched(call, error, "cuMemsetD8Async");
    if (status == QUERN_OK) status = find_amax(agreed);
    return status == QUERN_OK ? meet_nobody(agreed, QUERN_CHUNKS_BEGIN) : status;
}

static quern_status cast(const struct agreed *agreed, int64_t chunk) {
    const struct quern_chunks_call *call = agreed->call;
    struct quern_chunks_cast_problem problem;
    quern_chunks_fill_own_cast(call, chunk, &problem);
    const CUresult error =
        quern_chunks_launch_cast(call, agreed->entry, agreed->stream, &problem, quern_chunks_parts_of(call, chunk));
    return launched(call, error, call->cast->kernel->name);
}

/* This rank's own word is written by its cast. */
static quern_status send_chunk(struct agreed *agreed, int64_t number) {
    const struct quern_chunks_call *call = agreed->call;
    const struct turn turn = {agreed, number};
    quern_status status = cast(agreed, call->order[number]);
    if (status != QUERN_OK || call->places == 1) return status;
    if (call->elements) status = enqueue(agreed, add_chunks, &turn);
    if (status != QUERN_OK) return status;
    for (int place = 0; place < call->places; place++)
        agreed->problem.chunk_of[place] = place == call->place ? QUERN_MOST_CHUNKS : (uint16_t)chunk_of(&turn, place);
    return meet_nobody(agreed, QUERN_CHUNKS_SIGNAL);
}

/* ---- a call ---- */

static quern_status enqueue_all(struct agreed *agreed) {
    const struct quern_chunks_call *call = agreed->call;
    quern_chunks_fill_results(call, &agreed->problem);
    agreed->problem.amaxes = call->in_blocks ? NULL : amaxes_of(call);
    quern_cuda_link_alone(call->member, &call->set, QUERN_IN_QUANTIZE_CHUNKS, call->timeout, quern_nccl_rank_of(call->member)->pad,
                          &agreed->problem.links);
    quern_status status = begin(agreed);
    for (int64_t i = 0; i < call->chunks && status == QUERN_OK; i++) status = send_chunk(agreed, i);
    return status;
}

/* After a failure the group is poisoned, and a last signal says that no further chunk comes. */
static quern_status launch(const struct quern_chunks_call *call, const uint16_t *orders, CUstream stream) {
    struct quern_membership *member = call->member;
    struct quern_cuda_entry entry;
    struct agreed agreed = {.call = call, .orders = orders, .entry = &entry, .stream = stream};
    quern_status status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return quern_nccl_fail_inside(member, status);
    status = enqueue_all(&agreed);
    if (status != QUERN_OK) {
        status = quern_nccl_fail_inside(member, status);
        quern_chunks_launch_meeting(call, &entry, stream, &agreed.problem, QUERN_CHUNKS_SIGNAL);
    }
    const quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}

static quern_status run(struct quern_chunks_call *call, void *stream) {
    uint16_t *orders = NULL;
    if (call->refused == QUERN_OK) call->refused = quern_nccl_check_stream(call->member, stream, &call->is_captured);
    if (call->refused == QUERN_OK) {
        orders = malloc((size_t)(call->places * call->chunks + 1) * sizeof *orders);
        if (!orders) call->refused = quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for the orders of chunks");
    }
    quern_status status = quern_nccl_agree_on_chunks(call, orders);
    if (status == QUERN_OK) status = launch(call, orders, stream);
    free(orders);
    return status;
}

/* ---- waits for chunks ---- */

static quern_status wait(struct quern_membership *member, const uint32_t *ready, int64_t count, uint32_t value, double timeout,
                         void *stream) {
    struct quern_chunks_problem problem = {.stage = QUERN_CHUNKS_WAIT};
    quern_cuda_link_alone(member, &member->everyone, QUERN_IN_CHUNK_WAIT, timeout, quern_nccl_rank_of(member)->pad, &problem.links);
    return quern_chunks_launch_wait(member, &problem, ready, count, value, stream);
}

const struct quern_chunks_transport quern_nccl_chunks = {
    .any_memory = true,
    .workspace_bytes = workspace_bytes,
    .check = quern_chunks_check_on_gpu,
    .run = run,
    .wait = wait,
};
