/* The public barrier, and the transport of CPU ranks, whose barrier is a meeting. */
#include "runtime/arguments.h"
#include "ranks/group.h"
#include "ranks/ragged/ragged_all_to_all.h"
#include "runtime/status.h"
#include "ranks/symmetric/symmetric.h"

size_t quern_barrier_bytes(int ranks) {
    if (ranks >= 1 && ranks <= QUERN_RANK_LIMIT) return (size_t)quern_device_pad_bytes((uint32_t)ranks);
    quern_note("ranks is %d: expected 1 to %d", ranks, QUERN_RANK_LIMIT);
    return 0;
}

quern_status quern_barrier(quern_group *group, const quern_barrier_args *args, void *stream) {
    static const quern_barrier_args everyone = QUERN_BARRIER_ARGS_INIT;
    struct quern_membership *member;
    struct quern_rank_set set;
    double timeout;
    quern_status status = quern_member_of(group, &member);
    if (status != QUERN_OK) return status;
    status = quern_check_poison(member);
    if (status == QUERN_OK && !args && !stream)  /* what is called most often has nothing to check */
        return member->transport->barrier(member, &member->everyone, member->timeout, NULL);
    if (!args) args = &everyone;
    if (status == QUERN_OK) status = quern_check_struct(member->device, "quern_barrier_args", args, sizeof *args);
    if (status == QUERN_OK) status = quern_check_members(member, args->members, args->member_count, &set);
    if (status == QUERN_OK) status = quern_check_timeout(member, args->timeout, &timeout);
    if (status == QUERN_OK) status = quern_check_stream(member->device, stream);
    return status == QUERN_OK ? member->transport->barrier(member, &set, timeout, stream) : status;
}

/* ---- threads and processes of one host ---- */

static bool host_serves(const struct quern_segment *segment, struct quern_text *why) {
    for (uint32_t rank = 0; rank < segment->ranks; rank++) {
        if (segment->rank[rank].device_kind == QUERN_CPU) continue;
        quern_text_add(why, "rank %u is a GPU", rank);
        return false;
    }
    return true;
}

static quern_status host_attach(struct quern_membership *const *members, int count) {
    (void)members, (void)count;
    return QUERN_OK;
}

static void host_detach(struct quern_membership *member) { quern_symmetric_forget(member); }

static quern_status host_barrier(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream) {
    (void)stream;
    return quern_meet(member, &(struct quern_meeting){QUERN_IN_BARRIER, QUERN_PHASE_MEETING, set, timeout});
}

const struct quern_transport quern_host_transport = {
    .name = "host memory",
    .serves = host_serves,
    .attach = host_attach,
    .detach = host_detach,
    .barrier = host_barrier,
    .allocated = &quern_host_memory,
    .registered = &quern_host_registration,
    .ragged = &quern_host_ragged,
};
