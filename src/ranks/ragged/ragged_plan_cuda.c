/*
 * Plans of GPU ranks: the metadata is exchanged and checked once, on the host, and the list of copies is written to the workspace.
 * A run is then an entry, the copies and an exit.  Called by the public functions on plans.
 */
#include "ranks/ragged/ragged.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/agreement.h"
#include "ranks/barrier_cuda.h"
#include "ranks/cuda_launch.h"
#include "runtime/status.h"

struct plan {
    struct quern_ragged_call call;
    struct quern_ragged_launch launch;
    quern_group *group;
    bool unmarked;                                      /* the end of a run has no event */
};

/* The creation of plans, by all ranks of one thread. */
struct creation {
    struct quern_ragged_gathering gathering;
    struct plan *plans[QUERN_RANK_LIMIT];               /* of calls[i] */
};

/* ---- the work ---- */

/* In the order of the kernel without a plan: peer after peer, beginning with the next place. */
static void list_work(const struct quern_ragged_call *call, const struct quern_ragged_problem *problem,
                      struct quern_ragged_work *work) {
    for (int turn = 1; turn <= call->places; turn++) {
        const int place = (call->place + turn) % call->places;
        for (int64_t entry = place * call->updates; entry < (place + 1) * call->updates; entry++) {
            const int64_t bytes = quern_ragged_metadata(call, call->send_sizes, entry) * call->row_bytes;
            if (!bytes) continue;
            work->slice[work->count++] = (struct quern_ragged_slice){
                .begin = work->bytes,
                .bytes = (uint64_t)bytes,
                .from = problem->input + quern_ragged_metadata(call, call->input_offsets, entry) * call->row_bytes,
                /* Unsigned, since the offset may be too large; the receiver reports that. */
                .to = (char *)((uintptr_t)problem->output[place] +
                               (uint64_t)quern_ragged_metadata(call, call->output_offsets, entry) * (uint64_t)call->row_bytes),
            };
            work->bytes += (uint64_t)bytes;
        }
    }
}

static quern_status store_work(struct plan *plan, const struct quern_ragged_work *work) {
    const quern_device *device = plan->call.member->device;
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, device->context);
    if (error == CUDA_SUCCESS)
        error = quern_cuda_write(&visit, (CUdeviceptr)(uintptr_t)plan->launch.problem.work, work,
                                 sizeof *work + work->count * sizeof *work->slice);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, "writing a plan");
}

static quern_status prepare(struct plan *plan, const struct quern_ragged_call *call) {
    struct quern_ragged_layout layout;
    struct quern_ragged_work *work = calloc(1, sizeof *work + (size_t)quern_ragged_entries(call) * sizeof *work->slice);
    if (!work) return quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for a plan");
    *plan = (struct plan){.call = *call, .launch = {.member = call->member, .ready = call->ready}, .group = call->member->handle};
    quern_ragged_lay_out(call, &layout);
    quern_ragged_describe(call, &layout, QUERN_IN_PLAN_RUN, &plan->launch.problem);
    plan->launch.problem.planned = 1;
    if (call->in_place) {
        plan->launch.staged = (CUdeviceptr)(uintptr_t)call->input;
        plan->launch.staged_bytes = (size_t)(call->input_rows * call->row_bytes);
    }
    list_work(call, &plan->launch.problem, work);
    plan->launch.blocks = quern_cuda_blocks(call->multiprocessors, (int64_t)work->bytes);
    quern_status status = store_work(plan, work);
    free(work);
    return status;
}

/* ---- creation ---- */

/* Checks that need no other rank. */
static quern_status begin(struct quern_ragged_gathering *gathering, int i) {
    struct creation *creation = (struct creation *)gathering;  /* its first member */
    struct quern_ragged_call *call = &gathering->calls[i];
    quern_status status = quern_ragged_check_cuda(call);
    if (status != QUERN_OK) return status;
    creation->plans[i] = malloc(sizeof *creation->plans[i]);
    return creation->plans[i] ? QUERN_OK : quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for a plan");
}

/* Checks with the metadata of all ranks, then makes the plan. */
static quern_status finish(struct quern_ragged_gathering *gathering, int i) {
    const struct creation *creation = (const struct creation *)gathering;
    quern_status status = quern_ragged_check_gathered(gathering, &gathering->calls[i]);
    return status == QUERN_OK ? prepare(creation->plans[i], &gathering->calls[i]) : status;
}

/* The first step of a thread without memory: its peers must not wait for it. */
static quern_status refuse(const struct quern_ragged_call *calls, int count) {
    struct quern_membership *members[QUERN_RANK_LIMIT];
    quern_status status = quern_fail(calls->member->device, QUERN_OUT_OF_MEMORY, "no memory to create plans");
    for (int i = 0; i < count; i++) {
        members[i] = calls[i].member;
        quern_cast_vote(members[i], status, 0);
    }
    return quern_agree(members, count, QUERN_IN_PLAN_CREATE);
}

quern_status quern_cuda_plan_create(struct quern_ragged_call *calls, int count, void **states) {
    struct creation *creation = calloc(1, sizeof *creation);
    if (!creation) return refuse(calls, count);
    quern_ragged_begin_gathering(&creation->gathering, calls, count, QUERN_IN_PLAN_CREATE, true);
    quern_status status = quern_ragged_step(&creation->gathering, begin);
    if (status == QUERN_OK) status = quern_ragged_gather(&creation->gathering);
    if (status == QUERN_OK) status = quern_ragged_step(&creation->gathering, finish);
    for (int i = 0; i < count; i++) {
        if (status == QUERN_OK) states[i] = creation->plans[i];
        else free(creation->plans[i]);
    }
    quern_ragged_end_gathering(&creation->gathering);
    free(creation);
    return status;
}

/* ---- runs ---- */

static quern_status run(struct plan *plan, CUstream stream) {
    struct quern_membership *member = plan->launch.member;
    struct quern_cuda_entry entry;
    quern_status status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    quern_cuda_report(member, plan->launch.problem.links.tag | QUERN_PHASE_ENTRY << 16);
    status = quern_ragged_launch(&plan->launch, &entry, stream);
    quern_status left = quern_cuda_leave(member, stream, &entry);
    plan->unmarked |= entry.capturing || left != QUERN_OK;
    return status == QUERN_OK ? left : status;
}

quern_status quern_cuda_plan_run(void *state, void *stream) {
    struct plan *plan = state;
    const struct quern_ragged_call *call = &plan->call;
    const char *gone = quern_ragged_find_freed(call);
    quern_status status = gone ? quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                                            "the plan's %s is in symmetric memory that was freed", gone)
                               : quern_ragged_check_room(call);
    if (status == QUERN_OK) return run(plan, stream);
    quern_status told = quern_cuda_refuse(call->member, &call->set, QUERN_IN_PLAN_RUN, call->timeout, stream);
    return told == QUERN_OK ? status : told;
}

quern_status quern_cuda_plan_destroy(void *state) {
    struct plan *plan = state;
    const struct quern_membership *member = __atomic_load_n(&plan->group->member, __ATOMIC_ACQUIRE);
    quern_status status = member ? quern_cuda_settle(member, plan->unmarked) : QUERN_OK;
    if (status != QUERN_INVALID_ARGUMENT) free(plan);
    return status;
}
