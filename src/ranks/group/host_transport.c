/* The transport of CPU ranks: threads and processes of one host.  Its barrier is a meeting.  A row of the table in form.c. */
#include "ranks/group/group.h"

#include "ranks/chunks/chunks.h"
#include "ranks/collective/collective.h"
#include "ranks/meeting.h"
#include "ranks/ragged/ragged.h"
#include "ranks/symmetric/symmetric.h"

static bool serves(const struct quern_roster *roster, struct quern_text *why) {
    for (int rank = 0; rank < roster->ranks; rank++) {
        if (roster->peer[rank].device_kind == QUERN_CPU && !roster->peer[rank].is_elsewhere) continue;
        quern_text_add(why, "rank %d is %s", rank, roster->peer[rank].is_elsewhere ? "of another host" : "a GPU");
        return false;
    }
    return true;
}

static quern_status attach(struct quern_membership *const *members, int count) {
    (void)members, (void)count;
    return QUERN_OK;
}

static void detach(struct quern_membership *member) { quern_symmetric_forget(member); }

static quern_status barrier(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream) {
    (void)stream;
    return quern_meet(member, &(struct quern_meeting){QUERN_IN_BARRIER, QUERN_PHASE_MEETING, set, timeout, NULL});
}

const struct quern_transport quern_host_transport = {
    .name = "host memory",
    .serves = serves,
    .attach = attach,
    .detach = detach,
    .barrier = barrier,
    .allocated = &quern_host_memory,
    .registered = &quern_host_registration,
    .ragged = &quern_host_ragged,
    .collective = &quern_host_collective,
    .chunks = &quern_host_chunks,
};
