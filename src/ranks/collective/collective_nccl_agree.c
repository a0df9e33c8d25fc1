/*
 * Compares the arguments of the members of a collective over NCCL.  Each writes a notice into its eager message
 * (src/ranks/segment.h), where the members of its host read it, and sends it to each member of another host.  All read the
 * notices of all, and come to the same result.  The members of a host then meet once more: after that nobody reads these notices.
 */
#include "ranks/collective/collective.h"

#include <string.h>

#include "ranks/describe.h"
#include "ranks/hosts/hosts.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/status.h"

struct notice {
    uint64_t digest;                     /* of all below; that of the head is unused */
    struct quern_collective_head head;
    char reason[256];                    /* why the rank refuses its arguments */
};

_Static_assert(sizeof(struct notice) <= QUERN_EAGER_BYTES, "a notice fits an eager message");

static void *notice_at(const struct quern_membership *member, int rank) {
    return member->roster->peer[rank].is_elsewhere
               ? (void *)quern_span_eager(member, rank)
               : (void *)quern_shared_eager(member->roster, rank, quern_collective_half(member));
}

static void write_notice(const struct quern_collective_call *call) {
    struct notice notice = {0};
    quern_collective_fill_head(call, 0, &notice.head);
    if (call->refused != QUERN_OK) quern_error_detail(notice.reason, sizeof notice.reason);
    quern_write_digest(&notice, sizeof notice);
    memcpy(notice_at(call->member, call->member->rank), &notice, sizeof notice);
}

static bool place_notice(void *user, struct quern_channel *channel) {
    const struct quern_collective_call *call = user;
    channel->in = channel->few_in;
    channel->few_in[channel->ins++] = (struct iovec){notice_at(call->member, channel->rank), sizeof(struct notice)};
    return !channel->in_head.first && !channel->in_head.second && channel->in_head.last == sizeof(struct notice);
}

static quern_status bring_notices(struct quern_collective_call *call, const struct quern_meeting *meeting) {
    const struct quern_membership *member = call->member;
    struct quern_channel *channels = member->span->channels;
    struct quern_sendrecv sendrecv;
    quern_sendrecv_open(&sendrecv, call->member, meeting, meeting->set, channels, member->span->order);
    sendrecv.place = place_notice;
    sendrecv.user = call;
    for (int i = 0; i < sendrecv.count; i++) {
        channels[i].out_head.last = sizeof(struct notice);
        quern_channel_add(&channels[i], notice_at(member, member->rank), sizeof(struct notice));
    }
    return quern_span_sendrecv(&sendrecv, meeting);
}

/* ---- reading ---- */

static quern_status read_notice(const struct quern_collective_call *call, int place, struct notice *notice) {
    const int rank = call->rank_at[place];
    memcpy(notice, notice_at(call->member, rank), sizeof *notice);
    if (quern_has_digest(notice, sizeof *notice) && quern_is_status((quern_status)notice->head.refused)) return QUERN_OK;
    return quern_poison(call->member, QUERN_PEER_MISMATCH, "rank %d read a damaged notice of rank %d: " QUERN_BY_STRANGER,
                        call->member->rank, rank);
}

static quern_status report_refusal(const struct quern_collective_call *call, const struct notice *notice, int place) {
    char reason[sizeof notice->reason];
    if (call->refused != QUERN_OK) return call->refused;  /* its own detail is set */
    quern_copy_text(reason, notice->reason, sizeof reason);
    return quern_fail(call->member->device, (quern_status)notice->head.refused, "%s: rank %d: %s", call->member->label,
                      call->rank_at[place], reason);
}

/* *result: the error of the call.  Refusals come first, since the arguments of who refuses say nothing. */
static quern_status compare_notices(const struct quern_collective_call *call, quern_status *result) {
    struct notice first, notice;
    quern_status status = QUERN_OK;
    *result = QUERN_OK;
    for (int place = 0; place < call->places && *result == QUERN_OK; place++) {
        status = read_notice(call, place, &notice);
        if (status != QUERN_OK) return status;
        if (notice.head.refused) *result = report_refusal(call, &notice, place);
    }
    for (int place = 0; place < call->places && *result == QUERN_OK; place++) {
        status = read_notice(call, place, &notice);
        if (status != QUERN_OK) return status;
        if (!place) first = notice;
        *result = quern_collective_compare_heads(call, &first.head, &notice.head, place);
    }
    return QUERN_OK;
}

quern_status quern_nccl_agree_on_call(struct quern_collective_call *call) {
    const struct quern_meeting meeting = {.operation = call->form->operation, .phase = QUERN_PHASE_ENTRY, .set = &call->set,
                                          .timeout = call->timeout};
    quern_status result = QUERN_OK;
    write_notice(call);
    QUERN_POINT(NCCL_NOTICED);
    quern_status status = bring_notices(call, &meeting);
    QUERN_POINT(NCCL_TOLD);
    if (status == QUERN_OK) status = compare_notices(call, &result);
    if (status == QUERN_OK) status = quern_meet_members_here(call, meeting, QUERN_PHASE_EXIT);
    QUERN_POINT(NCCL_AGREED);
    return status == QUERN_OK ? result : status;
}
