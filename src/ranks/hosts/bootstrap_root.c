/*
 * The place of meeting: collects the facts of all hosts and hands them out, or the reason why there is no group.  Called by rank 0
 * while a group is created.
 *
 * Nothing is decided before all ranks are there, so nothing is remembered of a connection that has ended.
 */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/poison.h"
#include "runtime/status.h"

enum { TICK = 20 };  /* milliseconds between two looks at the poison */

/* Nanoseconds: in which a host whose limit has ended says why it has not come; to tell a host the decision. */
static const int64_t GRACE = 1000000000, TELLING = 2000000000;

/* A host at the place.  The HMAC comes behind the facts of its ranks. */
struct follower {
    int socket;
    unsigned char session[QUERN_DIGEST_BYTES];
    bool is_told, is_entered;
    size_t done;              /* bytes read */
    struct quern_host_card card;
    struct quern_fact facts[QUERN_RANK_LIMIT + 1];
};

struct quern_bootstrap_root {
    struct quern_bootstrap bootstrap;
    struct follower *followers[QUERN_GROUP_LIMIT];
    int count, come;              /* followers; ranks of other hosts that are here, or were told, whether they fit or not */
    struct quern_host_answer decision;
    struct quern_fact facts[QUERN_GROUP_LIMIT];  /* of all ranks */
    bool is_there[QUERN_GROUP_LIMIT];
    int there;
    struct pollfd *polls;         /* [1 + places of the listener + QUERN_GROUP_LIMIT] */
    uint16_t follower_of[QUERN_GROUP_LIMIT];  /* of each rank: the follower that has brought it, and 1; 0: this host */
    int32_t host_of[QUERN_GROUP_LIMIT + 1];  /* of each such number */
};

_Static_assert(offsetof(struct follower, facts) == offsetof(struct follower, card) + sizeof(struct quern_host_card), "no gap");
_Static_assert(sizeof(struct quern_fact) >= QUERN_DIGEST_BYTES, "room for the seal");

static void say(struct quern_bootstrap_root *place, quern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct quern_bootstrap_root *place, quern_status status, const char *format, ...) {
    struct quern_text text = quern_text_begin(place->decision.reason, sizeof place->decision.reason);
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
    place->decision.status = status;
}

static bool has_failed(const struct quern_bootstrap_root *place) { return place->decision.status != QUERN_OK; }

/* ---- what hosts bring ---- */

static bool fits_group(struct quern_bootstrap_root *place, const struct quern_host_card *card) {
    const struct quern_membership *member = place->bootstrap.member;
    if (card->ranks != (uint32_t)member->ranks)
        say(place, QUERN_PEER_MISMATCH, "the group is being formed with %d ranks, and a host expects %u", member->ranks,
            card->ranks);
    else if (card->first_epoch != member->first_epoch)
        say(place, QUERN_PEER_MISMATCH, "the group's first_epoch is %u, and that of a host is %u", member->first_epoch,
            card->first_epoch);
    else if (place->come + member->here > member->ranks)
        say(place, QUERN_PEER_MISMATCH, "host_ranks of rank 0 is %d, and other hosts have brought %d of the group's %d ranks",
            member->here, place->come, member->ranks);
    return !has_failed(place);
}

static bool fits_rank(struct quern_bootstrap_root *place, const struct quern_fact *fact) {
    const struct quern_membership *member = place->bootstrap.member;
    const int rank = fact->rank;
    const bool known = rank >= 0 && rank < member->ranks;
    if (known && fact->failure_timeout != member->failure_timeout)
        say(place, QUERN_PEER_MISMATCH, "failure_timeout of rank %d is %g s, and that of rank 0 is %g s", rank,
            fact->failure_timeout * 1e-6, member->failure_timeout * 1e-6);
    else if (known && place->is_there[rank])
        say(place, QUERN_INVALID_ARGUMENT, "rank %d is on two hosts", rank);
    else if (!known || fact->device_kind != (int32_t)member->device->kind || !fact->address.version)
        say(place, QUERN_PEER_MISMATCH, "a host brings rank %d, which is no %s rank of this group", rank,
            member->device->kind == QUERN_CPU ? "CPU" : "GPU");
    return !has_failed(place);
}

/* True: all ranks of the host are there. */
static bool enter(struct quern_bootstrap_root *place, const struct quern_host_card *card, const struct quern_fact *facts) {
    if (!fits_group(place, card)) return false;
    for (int i = 0; i < card->count; i++) {
        if (!fits_rank(place, &facts[i])) return false;
        place->facts[facts[i].rank] = facts[i];
        place->is_there[facts[i].rank] = true;
        place->there++;
    }
    return true;
}

/* The first host that does not take part or does not fit gives the decision. */
static void take(struct quern_bootstrap_root *place, struct follower *follower) {
    char reason[sizeof follower->card.reason];
    place->come += follower->card.count;
    if (has_failed(place)) return;
    quern_copy_text(reason, follower->card.reason, sizeof reason);
    if (follower->card.status != QUERN_OK) say(place, quern_told_status(follower->card.status), "%s", reason);
    else follower->is_entered = enter(place, &follower->card, follower->facts);
}

/* ---- followers ---- */

static size_t card_bytes(const struct follower *follower) {
    const bool has_card = follower->done >= sizeof follower->card;
    return sizeof follower->card + (has_card ? (size_t)follower->card.count * sizeof *follower->facts + QUERN_DIGEST_BYTES : 0);
}

static bool is_whole(const struct follower *follower) {
    return follower->done > sizeof follower->card && follower->done == card_bytes(follower);
}

static bool is_signed(const struct follower *follower) {
    unsigned char hmac[QUERN_DIGEST_BYTES];
    quern_sign_card(follower->session, &follower->card, follower->facts, hmac);
    return quern_same_digest(hmac, (const unsigned char *)&follower->facts[follower->card.count]);
}

static void dismiss(struct quern_bootstrap_root *place, int at) {
    struct follower *follower = place->followers[at];
    for (int i = 0; follower->is_entered && i < follower->card.count; i++) {
        place->is_there[follower->facts[i].rank] = false;
        place->there--;
    }
    if (is_whole(follower) && !follower->is_told) place->come -= follower->card.count;
    close(follower->socket);
    quern_wipe(follower->session, sizeof follower->session);
    free(follower);
    place->followers[at] = place->followers[--place->count];
}

/* It calls again. */
static bool forget_damaged(const struct quern_bootstrap_root *place, struct follower *follower) {
    __atomic_add_fetch(&place->bootstrap.listener->rejections[QUERN_REJECTED_DAMAGED], 1, __ATOMIC_RELAXED);
    follower->done = 0;
    return false;
}

/* Reads what has come from a follower.  False: it has hung up, or talks nonsense. */
static bool hear(struct quern_bootstrap_root *place, struct follower *follower) {
    for (;;) {
        const bool whole = is_whole(follower);
        const size_t end = card_bytes(follower);
        char spare, *to = (char *)&follower->card + follower->done;
        const ssize_t read = recv(follower->socket, whole ? &spare : to, whole ? 1 : end - follower->done, MSG_DONTWAIT);
        if (read < 0) return errno == EAGAIN || errno == EINTR;
        if (read == 0 || whole) return false;  /* a follower waits in failure timeout when it has said all */
        follower->done += (size_t)read;
        if (follower->done == sizeof follower->card && (follower->card.count < 1 ||
                                                        follower->card.count > QUERN_RANK_LIMIT)) return false;
        if (!is_whole(follower)) continue;
        if (!is_signed(follower)) return forget_damaged(place, follower);
        take(place, follower);
    }
}

/* A host comes.  Its connection has proved that it knows the secret. */
static void welcome(struct quern_bootstrap_root *place, int socket) {
    struct follower *follower = place->count < QUERN_GROUP_LIMIT ? calloc(1, sizeof *follower) : NULL;
    if (!follower) {
        close(socket);
        return;
    }
    follower->socket = socket;
    memcpy(follower->session, place->bootstrap.listener->session, sizeof follower->session);
    place->followers[place->count++] = follower;
}

static void serve_listener(struct quern_bootstrap_root *place) {
    struct quern_listener *listener = place->bootstrap.listener;
    struct quern_hello hello;
    char reason[256];
    for (int socket; (socket = quern_listener_serve(listener, &hello)) >= 0;) {
        if (hello.kind == QUERN_CALL_MEETING) welcome(place, socket);
        else close(socket);
    }
    if (!listener->shortage || has_failed(place)) return;
    const quern_status status = quern_fail_short(place->bootstrap.member, "letting hosts in", listener->shortage);
    quern_error_detail(reason, sizeof reason);
    say(place, status, "rank 0: %s", reason);
}

/* ---- the decision ---- */

static void tell(const struct quern_bootstrap_root *place, struct follower *follower,
                 const unsigned char digest[QUERN_DIGEST_BYTES]) {
    const int64_t soon = quern_now() + TELLING, deadline = place->bootstrap.deadline > soon ? place->bootstrap.deadline : soon;
    const int ranks = has_failed(place) ? 0 : place->bootstrap.member->ranks;
    unsigned char hmac[QUERN_DIGEST_BYTES];
    quern_sign_decision(follower->session, digest, hmac);
    follower->is_told = true;
    if (quern_send_all(follower->socket, &place->decision, sizeof place->decision, deadline) &&
        quern_send_all(follower->socket, place->facts, (size_t)ranks * sizeof *place->facts, deadline))
        quern_send_all(follower->socket, hmac, sizeof hmac, deadline);
}

/* The followers that have said all. */
static void tell_followers(struct quern_bootstrap_root *place) {
    unsigned char digest[QUERN_DIGEST_BYTES];
    quern_digest_decision(&place->decision, place->facts, has_failed(place) ? 0 : place->bootstrap.member->ranks, digest);
    for (int i = 0; i < place->count; i++)
        if (is_whole(place->followers[i]) && !place->followers[i]->is_told) tell(place, place->followers[i], digest);
}

static void serve(struct quern_bootstrap_root *place, int milliseconds) {
    struct pollfd *polls = place->polls;
    int count = quern_listener_awaits(place->bootstrap.listener, polls);
    for (int i = 0; i < place->count; i++) polls[count++] = (struct pollfd){.fd = place->followers[i]->socket, .events = POLLIN};
    poll(polls, (nfds_t)count, milliseconds);
    serve_listener(place);
    for (int i = 0; i < place->count;)
        if (hear(place, place->followers[i])) i++;
        else dismiss(place, i);
    if (has_failed(place)) tell_followers(place);
}

/* Ranks of this host that are still to come hear of a failure when they have: none is awaited if too many came elsewhere. */
quern_status quern_serve_bootstrap_root(struct quern_bootstrap_root *place) {
    const struct quern_membership *member = place->bootstrap.member;
    serve(place, 0);
    return place->come + member->here > member->ranks ? quern_take_decision(member, &place->decision, NULL) : QUERN_OK;
}

/* ---- the meeting ---- */

static void name_missing(struct quern_bootstrap_root *place) {
    char missing[100], at[QUERN_ADDRESS_TEXT];
    struct quern_text text = quern_text_begin(missing, sizeof missing);
    int listed = 0, more = 0;
    for (int rank = 0; rank < place->bootstrap.member->ranks; rank++) {
        if (place->is_there[rank]) continue;
        if (listed < 4) quern_text_add(&text, "%s rank %d", listed++ ? "," : "", quern_told_rank(place->bootstrap.member, rank));
        else more++;
    }
    if (more) quern_text_add(&text, " and %d more", more);
    quern_address_write(&place->bootstrap.place, true, at);
    say(place, QUERN_PEER_TIMEOUT, "waited %g s at %s for%s, whose hosts did not come",
        quern_seconds(quern_now() - place->bootstrap.began), at, missing);
    text = (struct quern_text){place->decision.reason, sizeof place->decision.reason, strlen(place->decision.reason)};
    quern_describe_rejections(&text, "; connections that were none of the group's: ", place->bootstrap.listener->rejections);
}

/* Hosts are numbered by their lowest rank. */
static void number_hosts(struct quern_bootstrap_root *place) {
    int hosts = 0;
    for (int i = 0; i < place->count; i++)
        for (int k = 0; k < place->followers[i]->card.count && place->followers[i]->is_entered; k++)
            place->follower_of[place->followers[i]->facts[k].rank] = (uint16_t)(i + 1);
    for (int i = 0; i <= place->count; i++) place->host_of[i] = -1;
    for (int rank = 0; rank < place->bootstrap.member->ranks; rank++) {
        int32_t *host = &place->host_of[place->follower_of[rank]];
        if (*host < 0) *host = hosts++;
        place->facts[rank].host = *host;
    }
    place->decision.hosts = hosts;
}

/* The facts of this host, or the reason why it does not take part. */
static void begin(struct quern_bootstrap_root *place, quern_status status) {
    struct quern_host_card card;
    struct quern_fact own[QUERN_RANK_LIMIT];
    if (has_failed(place)) return;
    quern_write_card(place->bootstrap.member, status, &card, own);
    if (status == QUERN_OK) enter(place, &card, own);
    else say(place, status, "%s", card.reason);
}

static void look_beside(struct quern_bootstrap_root *place) {
    char reason[sizeof place->decision.reason];
    const quern_status status = quern_look_beside(&place->bootstrap);
    if (status == QUERN_OK) return;
    quern_error_detail(reason, sizeof reason);
    say(place, status, "%s", reason);
}

static void await_hosts(struct quern_bootstrap_root *place) {
    while (!has_failed(place) && place->there < place->bootstrap.member->ranks) {
        serve(place, TICK);
        if (has_failed(place)) break;
        look_beside(place);
        if (!has_failed(place) && place->there < place->bootstrap.member->ranks && quern_now() > place->bootstrap.deadline + GRACE)
            name_missing(place);
    }
}

/*
 * Hosts that are still to come hear the reason, too, and do not wait for a place that is closed.  If a rank has ended or the time
 * is up, others know it or will.
 */
static void tell_later_ones(struct quern_bootstrap_root *place) {
    const struct quern_membership *member = place->bootstrap.member;
    const bool is_last = place->decision.status == QUERN_PEER_LOST || place->decision.status == QUERN_PEER_TIMEOUT;
    tell_followers(place);
    while (!is_last && place->come + member->here < member->ranks && quern_now() < place->bootstrap.deadline) serve(place, TICK);
}

quern_status quern_hold_bootstrap_root(struct quern_bootstrap_root *place, quern_status status) {
    const struct quern_membership *member = place->bootstrap.member;
    const bool is_own = status != QUERN_OK && !has_failed(place);
    char reason[256];
    quern_error_detail(reason, sizeof reason);
    begin(place, status);
    await_hosts(place);
    for (int kind = 0; kind < QUERN_REJECTIONS; kind++)
        place->decision.rejections[kind] = __atomic_load_n(&place->bootstrap.listener->rejections[kind], __ATOMIC_RELAXED);
    if (getrandom(place->decision.number, sizeof place->decision.number, 0) < 0)
        say(place, QUERN_SYSTEM_ERROR, "no random numbers: %s", strerror(errno));
    if (!has_failed(place)) {
        number_hosts(place);
        tell_followers(place);
        return quern_take_decision(member, &place->decision, place->facts);
    }
    if (!is_own) {
        status = quern_take_decision(member, &place->decision, NULL);
        quern_error_detail(reason, sizeof reason);
    }
    if (member->roster) quern_poison(member, status, "%s", reason);  /* the ranks of this host need not wait for the others */
    tell_later_ones(place);
    return quern_fail(member->device, status, "%s", reason);
}

struct quern_bootstrap_root *quern_open_bootstrap_root(const struct quern_bootstrap *bootstrap) {
    struct quern_bootstrap_root *place = calloc(1, sizeof *place);
    if (place) place->polls = calloc(1 + (size_t)bootstrap->listener->places + QUERN_GROUP_LIMIT, sizeof *place->polls);
    if (!place || !place->polls) {
        free(place);
        return NULL;
    }
    place->bootstrap = *bootstrap;
    return place;
}

void quern_close_bootstrap_root(struct quern_bootstrap_root *place) {
    if (!place) return;
    while (place->count) dismiss(place, 0);
    free(place->polls);
    free(place);
}
