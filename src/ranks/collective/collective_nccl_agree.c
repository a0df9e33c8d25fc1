/*
 * Compares the arguments of the members of a collective over NCCL.  Each writes a notice into its eager message
 * (src/ranks/segment.h), where the members of its host read it, and sends it to each member of another host.  All read the
 * notices of all, and come to the same result.  The members of a host then meet once more: after that nobody reads these notices.
 */
#include "ranks/collective/collective.h"

#include "ranks/hosts/hosts.h"
#include "ranks/points.h"

struct notice {
    struct quern_collective_head head;
    char reason[QUERN_REASON_BYTES];     /* why the rank refuses its arguments */
};

_Static_assert(sizeof(struct notice) <= QUERN_EAGER_BYTES, "a notice fits an eager message");

void *quern_nccl_notice_at(const struct quern_membership *member, int rank) {
    return member->roster->peer[rank].is_elsewhere
               ? (void *)quern_net_eager(member, rank)
               : (void *)quern_shared_eager(member->roster, rank, quern_collective_half(member));
}

static void write_notice(const struct quern_collective_call *call) {
    struct quern_collective_head head;
    quern_collective_fill_head(call, 0, &head);
    quern_write_record(&quern_collective_terms, &head, quern_nccl_notice_at(call->member, call->member->rank));
}

struct notices {
    const struct quern_membership *member;
    size_t bytes;
};

static bool place_notice(void *user, struct quern_channel *channel) {
    const struct notices *notices = user;
    channel->in = channel->few_in;
    channel->few_in[channel->ins++] = (struct iovec){quern_nccl_notice_at(notices->member, channel->rank), notices->bytes};
    return !channel->in_head.first && !channel->in_head.second && channel->in_head.last == notices->bytes;
}

quern_status quern_nccl_bring_notices(struct quern_membership *member, const struct quern_meeting *meeting, size_t bytes) {
    struct quern_channel *channels = member->net->channels;
    struct notices notices = {member, bytes};
    struct quern_sendrecv sendrecv;
    quern_sendrecv_open(&sendrecv, member, meeting, meeting->set, channels, member->net->order);
    sendrecv.place = place_notice;
    sendrecv.user = &notices;
    for (int i = 0; i < sendrecv.count; i++) {
        channels[i].out_head.last = bytes;
        quern_channel_add(&channels[i], quern_nccl_notice_at(member, member->rank), bytes);
    }
    return quern_net_sendrecv(&sendrecv, meeting);
}

/* *result: the error of the call. */
static quern_status compare_notices(const struct quern_collective_call *call, quern_status *result) {
    struct quern_reading reading = {.terms = &quern_collective_terms, .member = call->member, .rank_at = call->rank_at};
    struct quern_collective_head head;
    for (int place = 0; place < call->places; place++) {
        quern_status status = quern_read_record(&reading, place, quern_nccl_notice_at(call->member, call->rank_at[place]), &head);
        if (status != QUERN_OK) return status;
    }
    *result = quern_judge_records(&reading, call->refused, true);
    return QUERN_OK;
}

quern_status quern_nccl_agree_on_call(struct quern_collective_call *call) {
    const struct quern_meeting meeting = {.operation = call->form->operation, .phase = QUERN_PHASE_ENTRY, .set = &call->set,
                                          .timeout = call->timeout};
    quern_status result = QUERN_OK;
    write_notice(call);
    QUERN_POINT(NCCL_NOTICED);
    quern_status status = quern_nccl_bring_notices(call->member, &meeting, sizeof(struct notice));
    QUERN_POINT(NCCL_TOLD);
    if (status == QUERN_OK) status = compare_notices(call, &result);
    if (status == QUERN_OK) status = quern_meet_members_here(call->member, meeting, QUERN_PHASE_EXIT);
    QUERN_POINT(NCCL_AGREED);
    return status == QUERN_OK ? result : status;
}
