/*
 * The transport of CPU ranks of several hosts: shared memory within a host, and between hosts the way that choice.c chooses.  A row
 * of the table in form.c.
 */
#include "ranks/group/group.h"

#include "ranks/collective/collective.h"
#include "ranks/hosts/hosts.h"
#include "ranks/ragged/ragged.h"
#include "ranks/symmetric/symmetric.h"

static bool serves(const struct quern_roster *roster, struct quern_text *why) {
    for (int rank = 0; rank < roster->ranks; rank++) {
        if (roster->peer[rank].device_kind == QUERN_CPU) continue;
        quern_text_add(why, "rank %d is a GPU", rank);
        return false;
    }
    if (roster->hosts == 1) quern_text_add(why, "all ranks are of one host");
    return roster->hosts > 1;
}

/* A thread is one rank of a group of several hosts. */
static quern_status attach(struct quern_membership *const *members, int count) {
    (void)count;
    return quern_choose_transport(members[0]);
}

static void detach(struct quern_membership *member) { quern_symmetric_forget(member); }

static quern_status barrier(struct quern_membership *member, const struct quern_rank_set *set, double timeout, void *stream) {
    (void)stream;
    return quern_net_meet(member, &(struct quern_meeting){.operation = QUERN_IN_BARRIER, .phase = QUERN_PHASE_MEETING, .set = set,
                                                           .timeout = timeout});
}

const struct quern_transport quern_hosts_transport = {
    .name = "sockets",
    .serves = serves,
    .attach = attach,
    .detach = detach,
    .barrier = barrier,
    .allocated = &quern_host_memory,
    .registered = &quern_host_registration,
    .ragged = &quern_host_ragged,
    .collective = &quern_hosts_collective,
};
