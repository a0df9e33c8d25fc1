/*
 * The ragged all-to-all of GPU ranks of several hosts.  The metadata of all ranks is gathered and checked on the host, before
 * anything is enqueued; then the slices go as sends and receives of NCCL, those of the rank itself as copies.
 *
 * A plan gathers once.  A call without one meets on the host each time, and if its metadata is in the memory of the GPU waits for
 * the stream first, to bring it to the host.
 *
 * Both ends make the same list of messages of a pair: slices that follow each other in the input and in the output are one message.
 * A group of NCCL has the messages of all pairs whose numbers are in one batch, so both ends split their lists alike.
 */
#include "ranks/ragged/ragged.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/agreement.h"
#include "ranks/cuda_launch.h"
#include "ranks/nccl/nccl.h"
#include "ranks/poison.h"
#include "runtime/status.h"

/* Bytes to or from a member; its number among those of the pair, in this direction. */
struct message {
    char *at;
    size_t bytes;
    int peer;                    /* a rank */
    bool is_send;
    int64_t number;
};

/* Bytes from the rank to itself. */
struct own_copy {
    CUdeviceptr from, to;
    size_t bytes;
};

struct plan {
    struct quern_ragged_call call;
    quern_group *group;
    enum quern_collective operation;
    int64_t batch, batches;     /* messages of a pair and direction in one group; groups */
    struct message *messages;
    int64_t count;
    struct own_copy *copies;
    int64_t copy_count;
};

static size_t workspace_bytes(const struct quern_ragged_call *call) { return (void)call, 0; }

/* ---- the list of messages ---- */

/* In unsigned numbers, since an empty buffer may be NULL. */
static char *at_row(const void *buffer, int64_t row, int64_t row_bytes) {
    return (char *)((uintptr_t)buffer + (uint64_t)row * (uint64_t)row_bytes);
}

static char *input_at(const struct quern_ragged_call *call, const struct quern_ragged_notice *slice) {
    return at_row(call->input, slice->source, call->row_bytes);
}

static char *output_at(const struct quern_ragged_call *call, const struct quern_ragged_notice *slice) {
    return at_row(call->output, slice->output_offset, call->row_bytes);
}

/* Whether a slice follows the one before in the sender's input and in the receiver's output, which has not been checked. */
static bool follows(const struct quern_ragged_notice *before, const struct quern_ragged_notice *slice) {
    return before && before->source + before->size == slice->source &&
           (uint64_t)before->output_offset + (uint64_t)before->size == (uint64_t)slice->output_offset;
}

static void add_messages(struct plan *plan, const struct quern_ragged_notice *slices, int peer, bool is_send) {
    const struct quern_ragged_call *call = &plan->call;
    const struct quern_ragged_notice *before = NULL;
    int64_t number = 0;
    for (int64_t update = 0; update < call->updates; update++) {
        const struct quern_ragged_notice *slice = &slices[update];
        const size_t bytes = (size_t)slice->size * (size_t)call->row_bytes;
        char *at = is_send ? input_at(call, slice) : output_at(call, slice);
        if (!bytes) continue;
        if (follows(before, slice)) plan->messages[plan->count - 1].bytes += bytes;
        else plan->messages[plan->count++] = (struct message){at, bytes, peer, is_send, number++};
        before = slice;
    }
    const int64_t batches = (number + plan->batch - 1) / plan->batch;
    if (batches > plan->batches) plan->batches = batches;
}

static void add_copies(struct plan *plan, const struct quern_ragged_notice *slices) {
    const struct quern_ragged_call *call = &plan->call;
    for (int64_t update = 0; update < call->updates; update++) {
        const struct quern_ragged_notice *slice = &slices[update];
        const size_t bytes = (size_t)slice->size * (size_t)call->row_bytes;
        const struct own_copy copy = {(uintptr_t)input_at(call, slice), (uintptr_t)output_at(call, slice), bytes};
        if (bytes) plan->copies[plan->copy_count++] = copy;
    }
}

/* The slices that this rank sends, as its peers have gathered them. */
static void write_sends(const struct quern_ragged_call *call, int place, struct quern_ragged_notice *slices) {
    for (int64_t update = 0; update < call->updates; update++) {
        const int64_t entry = place * call->updates + update;
        slices[update] = (struct quern_ragged_notice){quern_ragged_metadata(call, call->output_offsets, entry),
                                                      quern_ragged_metadata(call, call->send_sizes, entry),
                                                      quern_ragged_metadata(call, call->input_offsets, entry)};
    }
}

static void list_messages(struct plan *plan, const struct quern_ragged_gathering *gathering, struct quern_ragged_notice *slices) {
    const struct quern_ragged_call *call = &plan->call;
    for (int place = 0; place < call->places; place++) {
        write_sends(call, place, slices);
        if (place == call->place) {
            add_copies(plan, slices);
            continue;
        }
        add_messages(plan, slices, call->rank_at[place], true);
        add_messages(plan, quern_ragged_offers_of(gathering, call, place), call->rank_at[place], false);
    }
}

static void free_plan(struct plan *plan) {
    if (!plan) return;
    free(plan->messages);
    free(plan->copies);
    free(plan);
}

static quern_status make_plan(const struct quern_ragged_gathering *gathering, const struct quern_ragged_call *call,
                              struct plan **made) {
    const size_t entries = (size_t)quern_ragged_entries(call), updates = (size_t)call->updates;
    struct plan *plan = *made = calloc(1, sizeof *plan);
    struct quern_ragged_notice *slices = malloc(updates * sizeof *slices + 1);
    if (plan) {
        plan->call = *call;
        plan->group = call->member->handle;
        plan->operation = gathering->operation == QUERN_IN_PLAN_CREATE ? QUERN_IN_PLAN_RUN : gathering->operation;
        plan->batch = QUERN_NCCL_GROUP_OPERATIONS / 2 / call->places;
        plan->batches = 1;  /* also of a rank without messages: all count the same calls */
        plan->messages = malloc(2 * entries * sizeof *plan->messages + 1);
        plan->copies = malloc(updates * sizeof *plan->copies + 1);
    }
    const bool has_memory = plan && slices && plan->messages && plan->copies;
    if (has_memory) list_messages(plan, gathering, slices);
    free(slices);
    if (has_memory) return QUERN_OK;
    return quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for a plan of %zu slices", entries);
}

/* ---- running ---- */

struct batch {
    const struct plan *plan;
    int64_t number;
};

static ncclResult_t add_batch(const struct quern_nccl_rank *rank, const struct quern_nccl_call *call) {
    const struct batch *batch = call->user;
    const struct plan *plan = batch->plan;
    ncclResult_t result = ncclSuccess;
    for (int64_t i = 0; i < plan->count && result == ncclSuccess; i++) {
        const struct message *m = &plan->messages[i];
        if (m->number / plan->batch != batch->number) continue;
        result = m->is_send ? rank->nccl->send(m->at, m->bytes, ncclUint8, m->peer, rank->comm, call->stream)
                            : rank->nccl->receive(m->at, m->bytes, ncclUint8, m->peer, rank->comm, call->stream);
    }
    return result;
}

static quern_status enqueue_copies(const struct plan *plan, CUstream stream) {
    const struct quern_membership *member = plan->call.member;
    for (int64_t i = 0; i < plan->copy_count; i++) {
        const struct own_copy *copy = &plan->copies[i];
        const CUresult error = quern_cuda_rank_of(member)->cuda->copy_on_device_async(copy->to, copy->from, copy->bytes, stream);
        if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuMemcpyDtoDAsync");
    }
    return QUERN_OK;
}

static quern_status enqueue(const struct plan *plan, CUstream stream) {
    quern_status status = enqueue_copies(plan, stream);
    for (int64_t number = 0; number < plan->batches && status == QUERN_OK; number++) {
        const struct batch batch = {plan, number};
        const struct quern_nccl_call call = {plan->operation, &plan->call.set, plan->call.timeout, stream, add_batch, &batch,
                                             number > 0};
        status = quern_nccl_enqueue(plan->call.member, &call);
    }
    return status;
}

static quern_status run_plan(const struct plan *plan, CUstream stream) {
    struct quern_membership *member = plan->call.member;
    struct quern_cuda_entry entry;
    quern_status status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    if (entry.capturing) status = quern_nccl_check_capture(member);
    if (status == QUERN_OK) {
        const CUresult error = quern_cuda_stay(member, &entry);
        status = error == CUDA_SUCCESS ? enqueue(plan, stream) : quern_cuda_rank_fail(member, error, "cuCtxPushCurrent");
    }
    const quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}

/* ---- making plans ---- */

struct creation {
    struct quern_ragged_gathering gathering;
    struct plan *plan;
};

/* Receives would overwrite what is still to be sent. */
static quern_status begin(struct quern_ragged_gathering *gathering, int i) {
    const struct quern_ragged_call *call = &gathering->calls[i];
    if (call->refused != QUERN_OK) return call->refused;
    if (!call->in_place) return QUERN_OK;
    return quern_fail(call->member->device, QUERN_NOT_SUPPORTED, "args.output overlaps args.input: a group of several hosts goes "
                      "over NCCL, which needs them apart");
}

static quern_status finish(struct quern_ragged_gathering *gathering, int i) {
    struct creation *creation = (struct creation *)gathering;  /* its first member */
    const struct quern_ragged_call *call = &gathering->calls[i];
    quern_status status = quern_ragged_check_gathered(gathering, call);
    return status == QUERN_OK ? make_plan(gathering, call, &creation->plan) : status;
}

/* A thread has one rank of such a group. */
static quern_status create(struct quern_ragged_call *call, enum quern_collective operation, struct plan **plan) {
    struct creation *creation = calloc(1, sizeof *creation);
    if (!creation)
        return quern_poison(call->member, QUERN_OUT_OF_MEMORY, "rank %d has no memory for an exchange", call->member->rank);
    quern_ragged_begin_gathering(&creation->gathering, call, 1, operation, false);
    quern_status status = quern_ragged_step(&creation->gathering, begin);
    if (status == QUERN_OK) status = quern_ragged_gather(&creation->gathering);
    if (status == QUERN_OK) status = quern_ragged_step(&creation->gathering, finish);
    if (status == QUERN_OK) *plan = creation->plan;
    else free_plan(creation->plan);
    quern_ragged_end_gathering(&creation->gathering);
    free(creation);
    return status;
}

static quern_status plan_create(struct quern_ragged_call *calls, int count, void **states) {
    (void)count;
    struct plan *plan;
    quern_status status = create(calls, QUERN_IN_PLAN_CREATE, &plan);
    if (status == QUERN_OK) states[0] = plan;
    return status;
}

static quern_status plan_run(void *state, void *stream) { return run_plan(state, stream); }

static quern_status plan_destroy(void *state) {
    struct plan *plan = state;
    const struct quern_membership *member = __atomic_load_n(&plan->group->member, __ATOMIC_ACQUIRE);
    quern_status status = member ? quern_cuda_settle(member, false) : QUERN_OK;
    if (status != QUERN_INVALID_ARGUMENT) free_plan(plan);
    return status;
}

/* ---- a call without a plan ---- */

/* The four arrays, one behind the other in `storage`. */
static quern_status bring_metadata(struct quern_ragged_call *call, char *storage, struct quern_cuda_entry *entry, CUstream stream) {
    const void **arrays[] = {&call->input_offsets, &call->send_sizes, &call->output_offsets, &call->recv_sizes};
    const size_t bytes = (size_t)quern_ragged_entries(call) * (call->metadata_is_int64 ? 8 : 4);
    const struct quern_cuda *cuda = quern_cuda_rank_of(call->member)->cuda;
    CUresult error = quern_cuda_stay(call->member, entry);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && error == CUDA_SUCCESS; i++) {
        if (bytes) error = cuda->copy_to_host_async(storage + i * bytes, (uintptr_t)*arrays[i], bytes, stream);
        *arrays[i] = storage + i * bytes;
    }
    if (error == CUDA_SUCCESS) error = cuda->stream_synchronize(stream);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(call->member, error, "cuMemcpyDtoHAsync of the metadata");
}

/* The stream is not captured, and the metadata lies on the host then. */
static quern_status enter(struct quern_ragged_call *call, char *storage, CUstream stream) {
    struct quern_membership *member = call->member;
    struct quern_cuda_entry entry;
    quern_status status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    if (entry.capturing)
        status = quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: the stream is being captured: over NCCL a call reads its "
                            "metadata on the host, which a replay cannot do: expected a plan", member->label);
    else if (call->metadata_on_device) status = bring_metadata(call, storage, &entry, stream);
    const quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}

static quern_status run(struct quern_ragged_call *call, void *stream) {
    struct plan *plan = NULL;
    char *storage = NULL;
    if (call->set.count < call->member->ranks)
        return quern_fail(call->member->device, QUERN_NOT_SUPPORTED,
                          "%s: args.members are %d of %d ranks: a group of several hosts "
                          "takes some of its ranks in a plan only", call->member->label, call->set.count, call->member->ranks);
    if (call->refused == QUERN_OK) {
        storage = malloc(4 * (size_t)quern_ragged_entries(call) * sizeof(int64_t) + 1);
        call->refused = storage ? enter(call, storage, stream)
                                : quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for metadata");
    }
    quern_status status = create(call, QUERN_IN_RAGGED_ALL_TO_ALL, &plan);
    if (status == QUERN_OK) status = run_plan(plan, stream);
    free_plan(plan);
    free(storage);
    return status;
}

const struct quern_ragged_transport quern_nccl_ragged = {
    .workspace_bytes = workspace_bytes,
    .run = run,
    .plan_create = plan_create,
    .plan_run = plan_run,
    .plan_destroy = plan_destroy,
};
