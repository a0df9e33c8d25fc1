/*
 * Sends the facts of a host to the host of rank 0, and receives those of all ranks.  Called by the leader of each host but
 * that of rank 0 while a group is created: bootstrap_root.c has the other side.
 *
 * A host that has lost its connection calls again until its limit, and brings its facts again.
 */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/poison.h"
#include "runtime/status.h"

enum { TICK = 20 };  /* milliseconds between two looks at the poison */

/* Nanoseconds: to say why this host does not take part, also after the limit; beyond the limit, which the place has, too. */
static const int64_t TELLING = 1000000000, GRACE = 2000000000;

/* ---- moving bytes ---- */

static bool await(int socket, short events, int64_t deadline) {
    const int64_t left = deadline - quern_now();
    struct pollfd ready = {.fd = socket, .events = events};
    errno = ETIMEDOUT;
    if (left <= 0) return false;
    return poll(&ready, 1, left < 100000000 ? (int)(left / 1000000) + 1 : 100) >= 0 || errno == EINTR;
}

static bool move_all(int socket, char *data, size_t bytes, int64_t deadline, bool out) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t moved = out ? send(socket, data + done, bytes - done, MSG_NOSIGNAL | MSG_DONTWAIT)
                                  : recv(socket, data + done, bytes - done, MSG_DONTWAIT);
        if (moved > 0) {
            done += (size_t)moved;
            continue;
        }
        if (moved == 0) errno = 0;
        if (moved == 0 || (errno != EAGAIN && errno != EINTR)) return false;
        if (!await(socket, out ? POLLOUT : POLLIN, deadline)) return false;
    }
    return true;
}

bool quern_send_all(int socket, const void *data, size_t bytes, int64_t deadline) {
    return move_all(socket, (char *)data, bytes, deadline, true);
}

bool quern_receive_all(int socket, void *data, size_t bytes, int64_t deadline) {
    return move_all(socket, data, bytes, deadline, false);
}

/* ---- signatures ---- */

void quern_sign_card(const unsigned char session[QUERN_DIGEST_BYTES], const struct quern_host_card *card,
                     const struct quern_fact *facts, unsigned char hmac[QUERN_DIGEST_BYTES]) {
    const struct quern_part parts[] = {{"card", 4}, {card, sizeof *card}, {facts, (size_t)card->count * sizeof *facts}};
    quern_hmac(session, QUERN_DIGEST_BYTES, parts, 3, hmac);
}

void quern_sign_decision(const unsigned char session[QUERN_DIGEST_BYTES], const unsigned char digest[QUERN_DIGEST_BYTES],
                        unsigned char hmac[QUERN_DIGEST_BYTES]) {
    const struct quern_part parts[] = {{"tell", 4}, {digest, QUERN_DIGEST_BYTES}};
    quern_hmac(session, QUERN_DIGEST_BYTES, parts, 2, hmac);
}

/* Made once for all hosts, since the facts of many ranks are long. */
void quern_digest_decision(const struct quern_host_answer *decision, const struct quern_fact *facts, int ranks,
                          unsigned char digest[QUERN_DIGEST_BYTES]) {
    struct quern_sha256 hash;
    quern_sha256_begin(&hash);
    quern_sha256_add(&hash, decision, sizeof *decision);
    quern_sha256_add(&hash, facts, (size_t)ranks * sizeof *facts);
    quern_sha256_end(&hash, digest);
}

/* ---- what both sides know ---- */

void quern_write_card(const struct quern_membership *member, quern_status status, struct quern_host_card *card,
                      struct quern_fact facts[QUERN_RANK_LIMIT]) {
    char reason[256];
    memset(card, 0, sizeof *card);
    card->ranks = (uint32_t)member->ranks;
    card->first_epoch = member->first_epoch;
    card->status = status;
    memset(facts, 0, QUERN_RANK_LIMIT * sizeof *facts);
    if (status == QUERN_OK) {
        card->count = quern_read_own_facts(member, facts);
        return;
    }
    card->count = member->roster ? member->here : 1;  /* for all of the host, of which some may have left by now */
    quern_error_detail(reason, sizeof reason);
    struct quern_text text = quern_text_begin(card->reason, sizeof card->reason);
    /* Such a text speaks of this host. */
    if (strncmp(reason, "quern_group_create", 18) == 0) quern_text_add(&text, "rank %d: ", quern_told_rank(member, member->rank));
    quern_text_add(&text, "%s", reason);
}

quern_status quern_take_decision(const struct quern_membership *member, const struct quern_host_answer *decision,
                                struct quern_fact *facts) {
    char reason[sizeof decision->reason];
    struct quern_roll roll = {.hosts = decision->hosts, .rejections = decision->rejections, .facts = facts};
    memcpy(roll.number, decision->number, sizeof roll.number);
    if (decision->status == QUERN_OK) {
        quern_publish_roll(member, &roll);
        return QUERN_OK;
    }
    quern_copy_text(reason, decision->reason, sizeof reason);
    return quern_fail(member->device, quern_told_status(decision->status), "quern_group_create: %s", reason);
}

quern_status quern_look_beside(const struct quern_bootstrap *bootstrap) {
    quern_status status = bootstrap->member->roster ? quern_check_poison(bootstrap->member) : QUERN_OK;
    return status == QUERN_OK && bootstrap->veto.ask ? bootstrap->veto.ask(bootstrap->veto.user) : status;
}

/* ---- a visit ---- */

struct visit {
    const struct quern_bootstrap *bootstrap;
    bool takes_part;                      /* else this host comes to say why not, and looks at nothing beside */
    bool ends_here;                       /* the visit was ended by what has happened on this host */
    int64_t deadline;
    bool is_short;                        /* one attempt: the place may have been left */
    struct quern_connector connector;
    struct quern_host_card card;
    struct quern_fact own[QUERN_RANK_LIMIT];
    struct quern_host_answer decision;
    unsigned char session[QUERN_DIGEST_BYTES], hmac[QUERN_DIGEST_BYTES];
    struct quern_fact *facts;             /* [ranks] */
};

static quern_status fail_late(const struct visit *visit, const char *why) {
    const struct quern_bootstrap *bootstrap = visit->bootstrap;
    char at[QUERN_ADDRESS_TEXT];
    quern_address_write(&bootstrap->place, true, at);
    return quern_fail(bootstrap->member->device, QUERN_PEER_TIMEOUT,
                      "quern_group_create waited %g s for the host of rank 0 at %s: %s",
                      quern_seconds(quern_now() - bootstrap->began), at, why);
}

static quern_status look(struct visit *visit, int64_t deadline, const char *why) {
    quern_status status = visit->takes_part ? quern_look_beside(visit->bootstrap) : QUERN_OK;
    visit->ends_here = status != QUERN_OK;
    return status == QUERN_OK && quern_now() > deadline ? fail_late(visit, why) : status;
}

/* The socket, or -1. */
static int call(struct visit *visit, quern_status *status) {
    struct quern_connector *connector = &visit->connector;
    for (;;) {
        const int socket = quern_connector_go(connector);
        struct pollfd ready;
        if (socket >= 0) return socket;
        *status = look(visit, visit->deadline, connector->why);
        if (*status == QUERN_OK && connector->shortage) {
            visit->ends_here = true;
            *status = quern_fail_short(visit->bootstrap->member, "going to the place of meeting", connector->shortage);
        }
        if (*status == QUERN_OK && visit->is_short && connector->failures) *status = fail_late(visit, connector->why);
        if (*status != QUERN_OK) return -1;
        quern_connector_awaits(connector, &ready);
        poll(&ready, 1, TICK);
    }
}

/* False with QUERN_OK: the connection has ended. */
static bool hear(struct visit *visit, int socket, void *data, size_t bytes, quern_status *status) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t read = recv(socket, (char *)data + done, bytes - done, MSG_DONTWAIT);
        if (read > 0) {
            done += (size_t)read;
            continue;
        }
        if (read == 0 || (errno != EAGAIN && errno != EINTR)) return false;
        *status = look(visit, visit->deadline + GRACE, "it has not said that all have come");
        if (*status != QUERN_OK) return false;
        poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, TICK);
    }
    return true;
}

static bool are_sound(const struct visit *visit) {
    const int ranks = visit->bootstrap->member->ranks, hosts = visit->decision.hosts;
    if (visit->decision.status != QUERN_OK) return true;
    for (int rank = 0; rank < ranks; rank++)
        if (visit->facts[rank].rank != rank || visit->facts[rank].host < 0 || visit->facts[rank].host >= hosts) return false;
    return hosts >= 1 && hosts <= ranks;
}

/* The same as if it were the decision: the other hosts go on without this one. */
static quern_status check_hmac(const struct visit *visit, int ranks) {
    unsigned char digest[QUERN_DIGEST_BYTES], hmac[QUERN_DIGEST_BYTES];
    quern_digest_decision(&visit->decision, visit->facts, ranks, digest);
    quern_sign_decision(visit->session, digest, hmac);
    if (quern_same_digest(hmac, visit->hmac) && are_sound(visit)) return QUERN_OK;
    return quern_fail(visit->bootstrap->member->device, QUERN_PEER_MISMATCH, "quern_group_create: what the host of rank 0 has said "
                      "at the place of meeting was damaged on its way");
}

/* False with QUERN_OK: the connection has ended. */
static bool hear_decision(struct visit *visit, int socket, quern_status *status) {
    if (!hear(visit, socket, &visit->decision, sizeof visit->decision, status)) return false;
    const int ranks = visit->decision.status == QUERN_OK ? visit->bootstrap->member->ranks : 0;
    if (!hear(visit, socket, visit->facts, (size_t)ranks * sizeof *visit->facts, status)) return false;
    if (!hear(visit, socket, visit->hmac, sizeof visit->hmac, status)) return false;
    *status = check_hmac(visit, ranks);
    return *status == QUERN_OK;
}

static bool say_card(struct visit *visit, int socket) {
    unsigned char hmac[QUERN_DIGEST_BYTES];
    quern_handshake_session(&visit->connector.handshake, visit->session);
    quern_sign_card(visit->session, &visit->card, visit->own, hmac);
    return quern_send_all(socket, &visit->card, sizeof visit->card, visit->deadline) &&
           quern_send_all(socket, visit->own, (size_t)visit->card.count * sizeof *visit->own, visit->deadline) &&
           quern_send_all(socket, hmac, sizeof hmac, visit->deadline);
}

/* Returns QUERN_OK when a decision was heard, whatever it says. */
static quern_status pay(struct visit *visit) {
    const struct quern_bootstrap *bootstrap = visit->bootstrap;
    quern_status status = QUERN_OK;
    quern_connector_begin(&visit->connector, &bootstrap->place, bootstrap->key, QUERN_CALL_MEETING, bootstrap->member->rank, 0);
    for (bool heard = false; !heard && status == QUERN_OK;) {
        const int socket = call(visit, &status);
        if (socket < 0) break;
        heard = say_card(visit, socket) && hear_decision(visit, socket, &status);
        close(socket);
        visit->connector.again = quern_now() + 20000000;
    }
    quern_connector_end(&visit->connector);
    return status;
}

/* Says why this host does not take part.  A rank that has ended has been missed by others, too, who do not wait for this one. */
static void tell(struct visit *visit, quern_status status) {
    const int64_t soon = quern_now() + TELLING;
    visit->takes_part = false;
    visit->is_short = status == QUERN_PEER_LOST;
    if (visit->is_short || visit->deadline < soon) visit->deadline = soon;
    pay(visit);
}

static quern_status go(struct visit *visit, quern_status status) {
    const struct quern_membership *member = visit->bootstrap->member;
    char reason[256];
    visit->takes_part = status == QUERN_OK;
    quern_write_card(member, status, &visit->card, visit->own);
    if (visit->takes_part) status = pay(visit);
    if (visit->takes_part && status == QUERN_OK) return quern_take_decision(member, &visit->decision, visit->facts);
    if (visit->takes_part && !visit->ends_here) return status;
    quern_error_detail(reason, sizeof reason);
    quern_write_card(member, status, &visit->card, visit->own);
    tell(visit, status);
    return quern_fail(member->device, status, "%s", reason);
}

quern_status quern_bootstrap(const struct quern_bootstrap *bootstrap, quern_status status) {
    struct visit *visit = calloc(1, sizeof *visit);
    if (visit) visit->facts = calloc((size_t)bootstrap->member->ranks, sizeof *visit->facts);
    if (!visit || !visit->facts) {
        free(visit);
        return quern_fail(bootstrap->member->device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    }
    visit->bootstrap = bootstrap;
    visit->deadline = bootstrap->deadline;
    status = go(visit, status);
    quern_wipe(visit->session, sizeof visit->session);
    free(visit->facts);
    free(visit);
    return status;
}
