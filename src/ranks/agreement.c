/* Exchanges votes.  Called while a group, symmetric memory or plans are made, after each step that may fail on one rank. */
#include "ranks/agreement.h"

#include "ranks/describe.h"
#include "ranks/meeting.h"
#include "runtime/status.h"

void quern_cast_vote(struct quern_membership *member, quern_status status, uint64_t value) {
    member->vote = (struct quern_vote){.status = (int32_t)status, .value = value};
    if (status != QUERN_OK) quern_error_detail(member->vote.reason, sizeof member->vote.reason);
}

quern_status quern_agree(struct quern_membership *const *members, int count, enum quern_collective operation) {
    struct quern_vote *all = members[0]->heard;
    const void *payloads[QUERN_RANK_LIMIT];
    for (int i = 0; i < count; i++) payloads[i] = &members[i]->vote;
    quern_status status = quern_exchange(members, count, operation, payloads, sizeof *all, all);
    if (status != QUERN_OK) return status;
    for (int rank = 0; rank < members[0]->ranks; rank++) {
        char reason[sizeof all[rank].reason];
        if (all[rank].status == QUERN_OK) continue;
        quern_copy_text(reason, all[rank].reason, sizeof reason);
        return quern_fail(members[0]->device, quern_told_status((uint32_t)all[rank].status), "%s: rank %d: %s",
                          members[0]->label, quern_told_rank(members[0], rank), reason);
    }
    return QUERN_OK;
}

quern_status quern_agree_at(struct quern_membership *const *members, int count, enum quern_collective operation, int at,
                            quern_status status) {
    for (int i = 0; i < count; i++) quern_cast_vote(members[i], i == at ? status : QUERN_OK, 0);
    return quern_agree(members, count, operation);
}
