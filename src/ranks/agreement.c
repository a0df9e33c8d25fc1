/* Exchanges votes.  Called while a group, symmetric memory or plans are made, after each step that may fail on one rank. */
#include "ranks/agreement.h"

#include "ranks/describe.h"
#include "ranks/meeting.h"
#include "runtime/status.h"

struct quern_vote quern_make_vote(quern_status status) {
    struct quern_vote vote = {.status = (int32_t)status};
    if (status != QUERN_OK) quern_error_detail(vote.reason, sizeof vote.reason);
    return vote;
}

quern_status quern_agree(struct quern_membership *const *members, int count, enum quern_collective operation,
                         const struct quern_vote *votes, struct quern_vote *all) {
    struct quern_vote here[QUERN_RANK_LIMIT];
    const void *payloads[QUERN_RANK_LIMIT];
    if (!all) all = here;
    for (int i = 0; i < count; i++) payloads[i] = &votes[i];
    quern_status status = quern_exchange(members, count, operation, payloads, sizeof *votes, all);
    if (status != QUERN_OK) return status;
    for (int rank = 0; rank < members[0]->ranks; rank++) {
        char reason[sizeof all[rank].reason];
        if (all[rank].status == QUERN_OK) continue;
        quern_copy_text(reason, all[rank].reason, sizeof reason);
        return quern_fail(members[0]->device, quern_told_status((uint32_t)all[rank].status), "%s: rank %d: %s",
                          members[0]->label, rank, reason);
    }
    return QUERN_OK;
}
