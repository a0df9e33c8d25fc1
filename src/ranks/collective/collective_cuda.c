/* The collectives of GPU ranks of one host: the checks for GPUs only, and the launches.  A row of the cuda transports. */
#include "ranks/collective/collective.h"

#include "ranks/barrier_cuda.h"
#include "ranks/cuda_launch.h"
#include "runtime/status.h"

/* The slots are behind the pads. */
static size_t workspace_bytes(const struct quern_collective_call *call) {
    (void)call;
    return 0;
}

static const struct quern_ready_kernel *kernel_of(const struct quern_collective_call *call) {
    return call->form->reduces ? call->combine : call->move;
}

/* ---- checks ---- */

static quern_status check_reached(const struct quern_collective_call *call, const char *name, enum quern_symmetric_state state,
                                  int64_t bytes) {
    if (state == QUERN_MEMORY_SYMMETRIC) return QUERN_OK;
    return quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                      "%s is not symmetric memory of this group: expected %lld bytes within one quern_symmetric_alloc, at the same "
                      "place on every member, for more than %lld bytes to each", name, (long long)bytes,
                      (long long)quern_slot_bytes((uint32_t)call->member->ranks));
}

static quern_status check(const struct quern_collective_call *call) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(call->member);
    const bool is_large = !quern_collective_fits_slots(call);
    quern_status status = QUERN_OK;
    if (is_large && call->form->reduces) status = check_reached(call, "args.input", call->input_state, call->input_bytes);
    if (status == QUERN_OK && is_large && !call->form->scatters)
        status = check_reached(call, "args.output", call->output_state, call->output_bytes);
    return status == QUERN_OK ? quern_gpu_room_check(call->member, rank->room, kernel_of(call)) : status;
}

/* ---- launches ---- */

/* The members read the root's output; it gets the root's input first. */
static CUresult stage(const struct quern_collective_call *call, struct quern_cuda_entry *entry, CUstream stream) {
    if (!call->form->has_root || call->place != call->root_place || call->in_place) return CUDA_SUCCESS;
    CUresult error = quern_cuda_stay(call->member, entry);
    if (error != CUDA_SUCCESS) return error;
    return entry->visit.cuda->copy_on_device_async((CUdeviceptr)(uintptr_t)call->output, (CUdeviceptr)(uintptr_t)call->input,
                                                   (size_t)call->piece_bytes, stream);
}

static unsigned blocks_of(const struct quern_collective_call *call, const struct quern_collective_problem *problem) {
    const uint32_t more = problem->sources > problem->destinations ? problem->sources : problem->destinations;
    const uint32_t streams = problem->multicast_source ? 1 : more;  /* what the switch adds is loaded once and stored once */
    return quern_cuda_blocks(call->multiprocessors, (int64_t)(problem->bytes * streams));
}

static quern_status launch_large(const struct quern_collective_call *call, struct quern_collective_problem *problem,
                                 struct quern_cuda_entry *entry, CUstream stream) {
    const struct quern_membership *member = call->member;
    const struct quern_ready_kernel *ready = kernel_of(call);
    CUresult error = stage(call, entry, stream);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuMemcpyDtoDAsync");
    problem->stage = QUERN_COLLECTIVE_ENTRY;
    error = quern_cuda_launch(member, entry, ready, 1, stream, problem);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, ready->kernel->name);
    problem->stage = QUERN_COLLECTIVE_PASS;
    error = quern_cuda_launch_behind(member, entry, ready, blocks_of(call, problem), stream, problem);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail_between(member, entry, ready, error, "a collective", "pass");
}

static quern_status launch(const struct quern_collective_call *call, struct quern_cuda_entry *entry, CUstream stream) {
    struct quern_collective_problem problem;
    quern_collective_fill_problem(call, &problem);
    quern_cuda_report(call->member, problem.links.tag | QUERN_PHASE_ENTRY << 16);
    if (!quern_collective_fits_slots(call)) return launch_large(call, &problem, entry, stream);
    problem.stage = QUERN_COLLECTIVE_ONE_SHOT;
    const struct quern_ready_kernel *ready = kernel_of(call);
    CUresult error = quern_cuda_launch(call->member, entry, ready, 1, stream, &problem);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(call->member, error, ready->kernel->name);
}

static quern_status run(struct quern_collective_call *call, void *stream) {
    struct quern_membership *member = call->member;
    struct quern_cuda_entry entry;
    if (call->refused != QUERN_OK) {
        quern_status told = quern_cuda_refuse(member, &call->set, call->form->operation, call->timeout, stream);
        return told == QUERN_OK ? call->refused : told;
    }
    quern_status status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    status = launch(call, &entry, stream);
    quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}

const struct quern_collective_transport quern_cuda_collective = {
    .workspace_bytes = workspace_bytes,
    .check = check,
    .run = run,
};
