/*
 * The survivors meet as the ranks of any group of several hosts do, at an address of the lowest one, under a name and a key that
 * are of this decision alone.  So nobody of another round or another set can be among them.  Called by shrink.c.
 */
#include "ranks/group/group.h"

#include <string.h>

#include "os/sha256.h"
#include "ranks/agreement.h"
#include "ranks/hosts/hosts.h"
#include "runtime/status.h"

/* ---- the decision, from the speaker of a host to its other ranks ---- */

/* All have come to the next round before the turn of this one comes again. */
static struct quern_decision *place_of_decision(const struct quern_membership *member, int speaker, uint32_t round) {
    return &quern_place(member->roster, speaker)->decision[round % 2];
}

/* All but the round.  A rank that is late may read while the speaker writes. */
static void copy_decision(struct quern_decision *to, const struct quern_decision *from) {
    quern_copy_atomically(&to->status, &from->status, sizeof *to - offsetof(struct quern_decision, status));
}

void quern_publish_decision(const struct quern_membership *member, uint32_t round, const struct quern_decision *decision) {
    struct quern_decision *place = place_of_decision(member, member->rank, round);
    __atomic_store_n(&place->round, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);  /* who reads a byte of this decision finds no earlier round after it */
    copy_decision(place, decision);
    __atomic_store_n(&place->round, round, __ATOMIC_RELEASE);
}

bool quern_read_decision(const struct quern_membership *member, int speaker, uint32_t round, struct quern_decision *decision) {
    const struct quern_decision *place = place_of_decision(member, speaker, round);
    if (__atomic_load_n(&place->round, __ATOMIC_ACQUIRE) != round) return false;
    copy_decision(decision, place);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&place->round, __ATOMIC_RELAXED) == round;
}

/* ---- the new group ---- */

static bool is_of(const struct quern_decision *decision, int rank) { return decision->living[rank / 32] >> rank % 32 & 1; }

/* The ranks keep their order.  Returns how many are of a host. */
static int number_ranks(const struct quern_membership *member, const struct quern_decision *decision, quern_group_args *args) {
    const int host = member->roster->peer[member->rank].host;
    int here = 0;
    args->rank = args->ranks = 0;
    for (int rank = 0; rank < member->ranks; rank++) {
        if (!is_of(decision, rank)) continue;
        args->rank += rank < member->rank;
        args->ranks++;
        here += member->roster->peer[rank].host == host;
    }
    return here;
}

/* The segment may be damaged. */
static quern_status check_decision(const struct quern_membership *member, const struct quern_decision *decision) {
    for (int rank = member->ranks; rank < QUERN_GROUP_LIMIT; rank++)
        if (is_of(decision, rank)) return quern_fail_damaged(member->device, "the decision about the ranks that continue", rank);
    if (!is_of(decision, member->rank) || !quern_is_quorum(decision->living, member->ranks) ||
        (decision->place.version != 4 && decision->place.version != 6) || !decision->place.port)
        return quern_fail_damaged(member->device, "the decision about the ranks that continue", member->rank);
    return QUERN_OK;
}

/* The engine's own way may have those that have ended among its ranks. */
static void note_transport(const struct quern_membership *member, struct quern_membership *formed) {
    if (!formed->net || !(member->transports & QUERN_TRANSPORT_CARRIER)) return;
    struct quern_text why = quern_text_begin(formed->net->why, sizeof formed->net->why);
    quern_text_add(&why, "%s: the group is what is left of another one, whose ranks it has", member->carrier_name);
}

quern_status quern_join_quorum(const struct quern_membership *member, const struct quern_decision *decision, double limit,
                               struct quern_veto veto, struct quern_membership **formed) {
    char name[64], host[16], at[QUERN_ADDRESS_TEXT];
    unsigned char key[QUERN_DIGEST_BYTES];
    quern_group_args args = quern_inherit_group(member);
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    quern_status status = check_decision(member, decision);
    if (status != QUERN_OK) return status;
    struct quern_text text = quern_text_begin(name, sizeof name);
    quern_text_add(&text, QUERN_SHRINK);
    quern_add_number(&text, decision->number);
    text = quern_text_begin(host, sizeof host);
    quern_text_add(&text, "host%d", member->roster->peer[member->rank].host);
    quern_address_write(&decision->place, true, at);
    quern_make_shrink_key(member->net->key, key);
    args.first_timeout = limit;
    args.hosts = &hosts;
    hosts.host_ranks = number_ranks(member, decision, &args);
    hosts.meet = at;
    hosts.host = host;
    hosts.secret = key;
    hosts.secret_bytes = sizeof key;
    hosts.transports = member->transports & QUERN_TRANSPORT_UCX ? "ucx,sockets" : "sockets";
    hosts.failure_timeout = member->failure_timeout * 1e-6;
    status = quern_form_group(&args, 1, name, veto, formed);
    quern_wipe(key, sizeof key);
    if (status == QUERN_OK) note_transport(member, *formed);
    return status;
}

quern_status quern_complete_quorum(const struct quern_membership *member, struct quern_membership **formed) {
    quern_cast_vote(*formed, QUERN_OK, 0);
    quern_status status = quern_agree(formed, 1, QUERN_IN_CREATE);
    if (status != QUERN_OK) {
        char reason[256];
        quern_error_detail(reason, sizeof reason);
        (*formed)->transport->detach(*formed);
        quern_drop_members(formed, 1);
        return quern_fail(member->device, status,
                          "%s: the last meeting of the shrink failed, so this rank cannot know whether others go "
                          "on: end it, or begin a new attempt with all: %s", member->label, reason);
    }
    (*formed)->timeout = (*formed)->first_timeout = member->first_timeout;
    return QUERN_OK;
}
