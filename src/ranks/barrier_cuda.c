/* The barrier of GPU ranks: one launch.  The ragged all-to-all uses its link and report. */
#include "ranks/barrier_cuda.h"

#include "os/clock.h"
#include "ranks/cuda_launch.h"
#include "ranks/poison.h"
#include "runtime/dispatch.h"
#include "runtime/status.h"

const struct quern_operation quern_barrier_operation = {.table = quern_barrier_kernels, .only_gpus = true, .counts_resident = true};

static uint64_t nanoseconds(double seconds) {
    return seconds < 9e9 ? (uint64_t)(seconds * 1e9) : UINT64_MAX / 2;
}

/* A kernel that a display's watchdog ends takes the context with it.  An entry has two waits. */
static const double WATCHED_LIMIT = 2;

static double limit_of_kernels(const quern_device *device, double timeout) {
    return device->has_watchdog && timeout > WATCHED_LIMIT ? WATCHED_LIMIT : timeout;
}

static bool is_everyone(const struct quern_membership *member, const struct quern_rank_set *set) {
    return set->count == member->ranks;
}

/* What a kernel reaches in the segment, and how long it waits. */
static void link_to_segment(const struct quern_membership *member, const struct quern_rank_set *set,
                            enum quern_collective collective, double timeout, struct quern_links *links) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    const struct quern_segment *segment = member->segment;
    const struct quern_segment_rank *mine = &segment->rank[member->rank];
    const struct quern_segment_place *place = quern_place(member->roster, member->rank);
#define IN_SEGMENT(field) ((void *)(uintptr_t)(rank->segment + (uint64_t)((const char *)&(field) - (const char *)segment)))
    *links = (struct quern_links){
        .poison = IN_SEGMENT(segment->poison),
        .gone = IN_SEGMENT(segment->gone),
        .error = IN_SEGMENT(place->error),
        .reported_tag = IN_SEGMENT(mine->tag),
        .reported_wait = IN_SEGMENT(mine->asleep_in_meeting),
        .timeout = nanoseconds(limit_of_kernels(member->device, timeout)),
        .tag = quern_make_tag(collective, QUERN_PHASE_NONE, quern_members_digest(set->words)),
    };
#undef IN_SEGMENT
}

void quern_cuda_link(const struct quern_membership *member, const struct quern_rank_set *set, enum quern_collective collective,
                     double timeout, struct quern_links *links) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    link_to_segment(member, set, collective, timeout, links);
    links->multicast_pad = is_everyone(member, set) ? (char *)(uintptr_t)rank->multicast_pad : NULL;
    links->rank = (uint32_t)member->rank, links->ranks = (uint32_t)member->ranks;
    for (int word = 0; word < QUERN_RANK_WORDS; word++) links->members[word] = set->words[word];
    for (int peer = 0; peer < member->ranks; peer++) links->pad[peer] = (char *)(uintptr_t)rank->pad[peer];
}

void quern_cuda_link_alone(const struct quern_membership *member, const struct quern_rank_set *set,
                           enum quern_collective collective, double timeout, uint64_t pad, struct quern_links *links) {
    link_to_segment(member, set, collective, timeout, links);
    links->ranks = 1, links->members[0] = 1, links->pad[0] = (char *)(uintptr_t)pad;
}

void quern_cuda_report(struct quern_membership *member, uint32_t tag) {
    struct quern_segment_rank *mine = &member->segment->rank[member->rank];
    __atomic_store_n(&mine->tag, tag, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->meetings, mine->meetings + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->since, quern_now(), __ATOMIC_RELAXED);
}

static quern_status launch(struct quern_membership *member, struct quern_cuda_entry *entry, const struct quern_ready_kernel *ready,
                           const struct quern_barrier_problem *problem, CUstream stream) {
    quern_cuda_report(member, problem->links.tag | problem->phase << 16);
    CUresult error = quern_cuda_launch(member, entry, ready, 1, stream, problem);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, ready->kernel->name);
}

static quern_status meet(struct quern_membership *member, const struct quern_barrier_problem *problem, CUstream stream) {
    const struct quern_ready_kernel *ready;
    struct quern_cuda_entry entry;
    quern_status status = quern_select(member->device, QUERN_BARRIER, NULL, &ready);
    if (status == QUERN_OK) status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    if (!entry.capturing || !problem->dissents) status = launch(member, &entry, ready, problem, stream);
    quern_status left = quern_cuda_leave(member, stream, &entry);
    return status == QUERN_OK ? left : status;
}

quern_status quern_cuda_barrier(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream) {
    struct quern_barrier_problem problem = {.phase = QUERN_PHASE_MEETING};
    quern_status status = quern_check_poison(member);
    if (status != QUERN_OK) return status;
    quern_cuda_link(member, set, QUERN_IN_BARRIER, timeout, &problem.links);
    return meet(member, &problem, stream);
}

quern_status quern_cuda_refuse(struct quern_membership *member, const struct quern_rank_set *set, enum quern_collective collective,
                               double timeout, void *stream) {
    struct quern_barrier_problem problem = {.phase = QUERN_PHASE_ENTRY, .dissents = 1};
    quern_cuda_link(member, set, collective, timeout, &problem.links);
    return meet(member, &problem, stream);
}
