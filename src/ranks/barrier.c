/* The public barrier: checks the arguments, then calls the transport of the group. */
#include "../generated/arguments.h"
#include "kernels/collective.h"
#include "ranks/handles.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"
#include "runtime/arguments.h"
#include "runtime/status.h"

size_t quern_barrier_bytes(int ranks) {
    if (ranks >= 1 && ranks <= QUERN_RANK_LIMIT) return (size_t)quern_device_pad_bytes((uint32_t)ranks);
    quern_note("ranks is %d: expected 1 to %d", ranks, QUERN_RANK_LIMIT);
    return 0;
}

static const struct quern_view view = {.name = "barrier", QUERN_ARGUMENTS(quern_barrier_args)};

static quern_status run(quern_group *group, const quern_barrier_args *args, void *stream, struct quern_look *look) {
    static const quern_barrier_args everyone = QUERN_BARRIER_ARGS_INIT;
    struct quern_membership *member;
    struct quern_rank_set set;
    double timeout;
    quern_status status = quern_member_of(group, &member);
    if (status != QUERN_OK) return status;
    quern_look_at_member(look, member);
    status = quern_check_poison(member);
    if (status == QUERN_OK && !args && !stream) {  /* the most frequent call has nothing to check */
        quern_show_call(look, &everyone, member);
        return quern_end_call(member, member->transport->barrier(member, &member->everyone, member->timeout, NULL));
    }
    if (!args) args = &everyone;
    if (status == QUERN_OK) status = quern_check_struct(member->device, "quern_barrier_args", args, sizeof *args);
    if (status == QUERN_OK) status = quern_check_members(member, args->members, args->member_count, &set);
    if (status == QUERN_OK) status = quern_check_timeout(member, args->timeout, &timeout);
    if (status == QUERN_OK) status = quern_check_stream(member->device, stream);
    if (status != QUERN_OK) return status;
    quern_show_call(look, args, member);
    return quern_end_call(member, member->transport->barrier(member, &set, timeout, stream));
}

quern_status quern_barrier(quern_group *group, const quern_barrier_args *args, void *stream) {
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, stream);
    return quern_end_look(&look, run(group, args, stream, &look));
}
