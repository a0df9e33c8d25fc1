/*
 * The launch of the ragged all-to-all of GPU ranks: lays out the workspace and fills in the arguments of the kernel.  Called for
 * calls (ragged_cuda.c) and for plans (ragged_plan_cuda.c).
 */
#include "ranks/ragged/ragged.h"

#include "os/integers.h"
#include "ranks/barrier_cuda.h"
#include "ranks/cuda_launch.h"
#include "ranks/poison.h"
#include "runtime/status.h"

/* ---- the workspace ---- */

static bool append(struct quern_ragged_layout *layout, size_t *part, size_t count, size_t bytes_each) {
    size_t bytes;
    *part = layout->bytes;
    return !__builtin_mul_overflow(count, bytes_each, &bytes) && !__builtin_add_overflow(bytes, 255, &bytes) &&
           !__builtin_add_overflow(layout->bytes, bytes / 256 * 256, &layout->bytes);
}

static size_t power_of_two(size_t count) {
    size_t power = 1;
    while (power < count) power *= 2;
    return power;
}

bool quern_ragged_lay_out(const struct quern_ragged_call *call, struct quern_ragged_layout *layout) {
    *layout = (struct quern_ragged_layout){0};
    if (call->updates > INT32_MAX / call->member->ranks) return false;
    size_t entries = (size_t)call->member->ranks * (size_t)call->updates;
    size_t staged = call->in_place ? (size_t)call->input_rows : 0;
    return append(layout, &layout->header, 1, sizeof(struct quern_ragged_header) + entries * sizeof(struct quern_ragged_offer)) &&
           append(layout, &layout->work, 1, sizeof(struct quern_ragged_work) + entries * sizeof(struct quern_ragged_slice)) &&
           append(layout, &layout->metadata, 4 * entries, sizeof(int64_t)) &&
           append(layout, &layout->receipts, power_of_two(entries), sizeof(struct quern_ragged_receipt)) &&
           append(layout, &layout->staging, staged, (size_t)call->row_bytes);
}

/* ---- checks for GPUs only ---- */

/* Peers read the beginning of each other's workspace at the same place, so all parts must be large enough. */
static quern_status check_workspace(const struct quern_ragged_call *call) {
    const struct quern_symmetric_location *place = &call->workspace_place;
    int64_t needed = (int64_t)sizeof(struct quern_ragged_header) +
                     quern_ragged_entries(call) * (int64_t)sizeof(struct quern_ragged_offer);
    for (int i = 0; i < call->places; i++) {
        int rank = call->rank_at[i];
        if (place->peer_bytes[rank] - place->offset >= needed) continue;
        return quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                          "workspace begins %lld bytes into an allocation of which rank "
                          "%d has %lld: expected %lld more, since all ranks have it at the same place", (long long)place->offset,
                          rank, (long long)place->peer_bytes[rank], (long long)needed);
    }
    return QUERN_OK;
}

/* An output of no rows may be private.  A symmetric one tells this rank the places of the other outputs. */
static quern_status place_output(struct quern_ragged_call *call) {
    if (call->output_state == QUERN_MEMORY_SYMMETRIC) return QUERN_OK;
    if (call->output_rows && call->row_bytes)
        return quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                          "args.output is not symmetric memory of this group: expected "
                          "%lld bytes within one quern_symmetric_alloc, at the same place on every rank",
                          (long long)(call->output_rows * call->row_bytes));
    if (call->output) call->output_state = quern_symmetric_find(call->member, call->output, 0, &call->output_place);
    return QUERN_OK;
}

quern_status quern_ragged_check_room(const struct quern_ragged_call *call) {
    return quern_gpu_room_check(call->member, quern_cuda_rank_of(call->member)->room, call->ready);
}

quern_status quern_ragged_check_cuda(struct quern_ragged_call *call) {
    quern_status status = call->refused;
    if (status == QUERN_OK) status = place_output(call);
    if (status == QUERN_OK) status = check_workspace(call);
    return status == QUERN_OK ? quern_ragged_check_room(call) : status;
}

/* ---- the arguments of the kernel ---- */

/* The address of a place in another rank's part; NULL: that rank has no part. */
static char *at_peer(const struct quern_symmetric_location *place, int rank) {
    return place->peer[rank] ? (char *)place->peer[rank] + place->offset : NULL;
}

void quern_ragged_describe(const struct quern_ragged_call *call, const struct quern_ragged_layout *layout,
                           enum quern_collective collective, struct quern_ragged_problem *problem) {
    char *workspace = call->workspace;
    bool has_output = call->output_state == QUERN_MEMORY_SYMMETRIC;
    *problem = (struct quern_ragged_problem){
        .work = (struct quern_ragged_work *)(workspace + layout->work),
        .place = call->place,
        .places = call->places,
        .input = call->in_place ? workspace + layout->staging : call->input,
        .input_rows = call->input_rows,
        .output_rows = call->output_rows,
        .row_bytes = call->row_bytes,
        .updates = (int32_t)call->updates,
        .metadata_is_int64 = call->metadata_is_int64,
        .workspace_id = call->workspace_place.id,
        .workspace_offset = call->workspace_place.offset,
        .output_id = has_output ? call->output_place.id : 0,
        .output_offset = has_output ? call->output_place.offset : 0,
        .receipts = call->check_overlap ? (struct quern_ragged_receipt *)(workspace + layout->receipts) : NULL,
    };
    for (int place = 0; place < call->places; place++) {
        int rank = call->rank_at[place];
        problem->rank_at[place] = (unsigned char)rank;
        problem->header[place] = (struct quern_ragged_header *)at_peer(&call->workspace_place, rank);
        problem->output[place] = has_output ? at_peer(&call->output_place, rank) : NULL;
    }
    quern_cuda_link(call->member, &call->set, collective, call->timeout, &problem->links);
}

/* ---- launching ---- */

static CUresult stage(const struct quern_ragged_launch *launch, struct quern_cuda_entry *entry, CUstream stream) {
    if (!launch->staged_bytes) return CUDA_SUCCESS;
    CUresult error = quern_cuda_stay(launch->member, entry);
    if (error != CUDA_SUCCESS) return error;
    return entry->visit.cuda->copy_on_device_async((CUdeviceptr)(uintptr_t)launch->problem.input, launch->staged,
                                                   launch->staged_bytes, stream);
}

quern_status quern_ragged_launch(struct quern_ragged_launch *launch, struct quern_cuda_entry *entry, CUstream stream) {
    const struct quern_membership *member = launch->member;
    CUresult error = stage(launch, entry, stream);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuMemcpyDtoDAsync");
    launch->problem.stage = QUERN_RAGGED_ENTRY;
    error = quern_cuda_launch(member, entry, launch->ready, 1, stream, &launch->problem);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, launch->ready->kernel->name);
    launch->problem.stage = QUERN_RAGGED_COPY;
    error = quern_cuda_launch(member, entry, launch->ready, launch->blocks, stream, &launch->problem);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail_between(member, entry, launch->ready, error, "an exchange", "copy");
}
