#include "ranks/agreement.h"

#include "ranks/meeting.h"
#include "runtime/status.h"

struct quern_verdict quern_make_verdict(quern_status status) {
    struct quern_verdict verdict = {.status = (int32_t)status};
    if (status != QUERN_OK) quern_error_detail(verdict.reason, sizeof verdict.reason);
    return verdict;
}

quern_status quern_agree(struct quern_membership *const *members, int count, enum quern_collective operation,
                         const struct quern_verdict *verdicts, struct quern_verdict *all) {
    struct quern_verdict here[QUERN_RANK_LIMIT];
    const void *payloads[QUERN_RANK_LIMIT];
    if (!all) all = here;
    for (int i = 0; i < count; i++) payloads[i] = &verdicts[i];
    quern_status status = quern_exchange(members, count, operation, payloads, sizeof *verdicts, all);
    if (status != QUERN_OK) return status;
    for (int rank = 0; rank < members[0]->ranks; rank++)
        if (all[rank].status != QUERN_OK)
            return quern_fail(members[0]->device, (quern_status)all[rank].status, "%s: rank %d: %s", members[0]->label, rank,
                              all[rank].reason);
    return QUERN_OK;
}
