/*
 * Gathers and hands out the facts of all ranks.  Called by the leader of each host while a group is created.
 *
 * A host that has lost its connection calls again until its limit, and brings its facts again.  Nothing is decided before all ranks
 * are there, so at the place of meeting nothing is remembered of a connection that has ended.
 */
#define _GNU_SOURCE
#include "ranks/hosts/bootstrap.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/hosts/connector.h"
#include "ranks/hosts/facts.h"
#include "ranks/poison.h"
#include "runtime/status.h"

enum { TICK = 20 };  /* milliseconds between two looks at the poison */

/* What a host says first.  Then come the facts of its ranks. */
struct card {
    uint32_t ranks, first_epoch;
    int32_t count;            /* of its ranks */
};

/* What a host hears.  If all is well, the facts of all ranks follow. */
struct verdict {
    uint32_t status;          /* quern_status */
    int32_t hosts;
    uint32_t strangers[QUERN_STRANGERS];
    unsigned char number[32]; /* of this meeting: random */
    char reason[200];
};

/* A host at the place of meeting. */
struct guest {
    int socket;
    size_t done;              /* bytes read */
    struct card card;
    struct quern_fact facts[QUERN_RANK_LIMIT];
};

struct place {
    const struct quern_bootstrap *bootstrap;
    struct guest *guests[QUERN_GROUP_LIMIT];
    int count;
    struct verdict verdict;
    bool is_over;                 /* nobody is awaited any more */
    struct quern_fact facts[QUERN_GROUP_LIMIT];  /* of all ranks */
    bool is_there[QUERN_GROUP_LIMIT];
    int there;
    struct pollfd *polls;         /* [1 + places of the listener + QUERN_GROUP_LIMIT] */
    uint16_t guest_of[QUERN_GROUP_LIMIT];  /* of each rank: the guest that has brought it, and 1; 0: this host */
    int32_t host_of[QUERN_GROUP_LIMIT + 1];  /* of each such number */
};

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

static void publish(const struct quern_membership *member, const struct verdict *verdict, struct quern_fact *facts) {
    struct quern_roll roll = {.hosts = verdict->hosts, .strangers = verdict->strangers, .facts = facts};
    memcpy(roll.number, verdict->number, sizeof roll.number);
    quern_publish_roll(member, &roll);
}

/* Why nobody is awaited any more. */
static quern_status look(const struct quern_bootstrap *bootstrap) {
    quern_status status = quern_check_poison(bootstrap->member);
    return status == QUERN_OK && bootstrap->veto.ask ? bootstrap->veto.ask(bootstrap->veto.user) : status;
}

/* ---- the place of meeting ---- */

static void say(struct verdict *verdict, quern_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(struct verdict *verdict, quern_status status, const char *format, ...) {
    struct quern_text text = quern_text_begin(verdict->reason, sizeof verdict->reason);
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
    verdict->status = status;
}

/* Whether these facts may belong to ranks of the group.  If not, the meeting ends for all. */
static bool are_sound(struct place *place, const struct card *card, const struct quern_fact *facts) {
    const struct quern_membership *member = place->bootstrap->member;
    if (card->ranks != (uint32_t)member->ranks) {
        say(&place->verdict, QUERN_PEER_MISMATCH, "the group is being formed with %d ranks, and a host expects %u", member->ranks,
            card->ranks);
        return false;
    }
    if (card->first_epoch != member->first_epoch) {
        say(&place->verdict, QUERN_PEER_MISMATCH, "the group's first_epoch is %u, and that of a host is %u", member->first_epoch,
            card->first_epoch);
        return false;
    }
    for (int i = 0; i < card->count; i++) {
        const int rank = facts[i].rank;
        const bool known = rank >= 0 && rank < member->ranks;
        const bool fits = facts[i].device_kind == (int32_t)member->device->kind;
        const bool is_alike = facts[i].silence == member->silence;
        if (known && !place->is_there[rank] && fits && is_alike && facts[i].address.version) continue;
        if (known && !is_alike)
            say(&place->verdict, QUERN_PEER_MISMATCH, "silence of rank %d is %g s, and that of rank 0 is %g s", rank,
                facts[i].silence * 1e-6, member->silence * 1e-6);
        else if (known && place->is_there[rank])
            say(&place->verdict, QUERN_INVALID_ARGUMENT, "rank %d is on two hosts", rank);
        else
            say(&place->verdict, QUERN_PEER_MISMATCH, "a host brings rank %d, which is no %s rank of this group", rank,
                member->device->kind == QUERN_CPU ? "CPU" : "GPU");
        return false;
    }
    return true;
}

static bool enter(struct place *place, const struct card *card, const struct quern_fact *facts) {
    if (!are_sound(place, card, facts)) return false;
    for (int i = 0; i < card->count; i++) {
        const int rank = facts[i].rank;
        if (place->is_there[rank]) {
            say(&place->verdict, QUERN_PEER_MISMATCH, "a host brings rank %d twice", rank);
            return false;
        }
        place->facts[rank] = facts[i];
        place->is_there[rank] = true;
        place->there++;
    }
    return true;
}

/* If a rank of this host does not fit, the other hosts are awaited: they would hear nothing from a place that is closed. */
static void enter_own(struct place *place, const struct card *card, const struct quern_fact *facts) {
    if (enter(place, card, facts)) return;
    for (int i = 0; i < card->count; i++) place->is_there[facts[i].rank] = true;
    place->there = card->count;
}

static void dismiss(struct place *place, int at) {
    struct guest *guest = place->guests[at];
    const bool is_whole = guest->done == sizeof guest->card + (size_t)guest->card.count * sizeof *guest->facts;
    for (int i = 0; is_whole && i < guest->card.count; i++) {
        place->is_there[guest->facts[i].rank] = false;
        place->there--;
    }
    close(guest->socket);
    free(guest);
    place->guests[at] = place->guests[--place->count];
}

/* Reads what has come from a guest.  False: it has hung up, or talks nonsense; or the verdict has been found. */
static bool hear(struct place *place, struct guest *guest) {
    for (;;) {
        const bool has_card = guest->done >= sizeof guest->card;
        if (has_card && (guest->card.count < 1 || guest->card.count > QUERN_RANK_LIMIT)) return false;
        const size_t end = sizeof guest->card + (has_card ? (size_t)guest->card.count * sizeof(struct quern_fact) : 0);
        char spare, *to = has_card ? (char *)guest->facts + (guest->done - sizeof guest->card) : (char *)&guest->card + guest->done;
        const bool is_whole = has_card && guest->done == end;
        const ssize_t read = recv(guest->socket, is_whole ? &spare : to, is_whole ? 1 : end - guest->done, MSG_DONTWAIT);
        if (read < 0) return errno == EAGAIN || errno == EINTR;
        if (read == 0 || is_whole) return false;  /* a guest waits in silence when it has said all */
        guest->done += (size_t)read;
        if (guest->done != end || !has_card) continue;
        if (enter(place, &guest->card, guest->facts)) continue;
        guest->card.count = 0;  /* nothing of it is entered */
        place->is_over = true;
        return false;
    }
}

/* A host comes.  Its connection has proved that it knows the secret. */
static void welcome(struct place *place, int socket) {
    struct guest *guest = place->count < QUERN_GROUP_LIMIT ? calloc(1, sizeof *guest) : NULL;
    if (!guest) {
        close(socket);
        return;
    }
    guest->socket = socket;
    place->guests[place->count++] = guest;
}

static void serve_listener(struct place *place) {
    struct quern_hello hello;
    for (int socket; (socket = quern_listener_serve(place->bootstrap->listener, &hello)) >= 0;) {
        if (hello.kind == QUERN_CALL_MEETING) welcome(place, socket);
        else close(socket);
    }
}

static void await_guests(struct place *place) {
    struct pollfd *polls = place->polls;
    int count = quern_listener_awaits(place->bootstrap->listener, polls);
    for (int i = 0; i < place->count; i++) polls[count++] = (struct pollfd){.fd = place->guests[i]->socket, .events = POLLIN};
    poll(polls, (nfds_t)count, TICK);
    serve_listener(place);
    for (int i = 0; i < place->count;)
        if (hear(place, place->guests[i])) i++;
        else if (!place->is_over) dismiss(place, i);
        else return;
}

static void name_missing(struct place *place) {
    char missing[120], at[QUERN_ADDRESS_TEXT];
    struct quern_text text = quern_text_begin(missing, sizeof missing);
    int listed = 0, more = 0;
    for (int rank = 0; rank < place->bootstrap->member->ranks; rank++) {
        if (place->is_there[rank]) continue;
        if (listed < 8) quern_text_add(&text, "%s rank %d", listed++ ? "," : "", quern_told_rank(place->bootstrap->member, rank));
        else more++;
    }
    if (more) quern_text_add(&text, " and %d more", more);
    quern_address_write(&place->bootstrap->place, true, at);
    say(&place->verdict, QUERN_PEER_TIMEOUT, "waited %g s at %s for%s, whose hosts did not come",
        (double)(quern_now() - place->bootstrap->began) * 1e-9, at, missing);
}

/* Hosts are numbered by their lowest rank. */
static void number_hosts(struct place *place) {
    int hosts = 0;
    for (int i = 0; i < place->count; i++)
        for (int k = 0; k < place->guests[i]->card.count; k++)
            place->guest_of[place->guests[i]->facts[k].rank] = (uint16_t)(i + 1);
    for (int i = 0; i <= place->count; i++) place->host_of[i] = -1;
    for (int rank = 0; rank < place->bootstrap->member->ranks; rank++) {
        int32_t *host = &place->host_of[place->guest_of[rank]];
        if (*host < 0) *host = hosts++;
        place->facts[rank].host = *host;
    }
    place->verdict.hosts = hosts;
}

static void tell_guests(struct place *place) {
    const int64_t soon = quern_now() + 2000000000, deadline = place->bootstrap->deadline > soon ? place->bootstrap->deadline : soon;
    const size_t bytes = (size_t)place->bootstrap->member->ranks * sizeof(struct quern_fact);
    for (int i = 0; i < place->count; i++) {
        const int socket = place->guests[i]->socket;
        if (quern_send_all(socket, &place->verdict, sizeof place->verdict, deadline) && place->verdict.status == QUERN_OK)
            quern_send_all(socket, place->facts, bytes, deadline);
    }
}

static quern_status fail_with(const struct quern_bootstrap *bootstrap, const struct verdict *verdict) {
    char reason[sizeof verdict->reason];
    quern_copy_text(reason, verdict->reason, sizeof reason);
    return quern_fail(bootstrap->member->device, quern_told_status(verdict->status), "quern_group_create: %s", reason);
}

static quern_status hold_place(struct place *place) {
    const struct quern_bootstrap *bootstrap = place->bootstrap;
    struct quern_fact own[QUERN_RANK_LIMIT];
    struct card card = {(uint32_t)bootstrap->member->ranks, bootstrap->member->first_epoch,
                        quern_read_own_facts(bootstrap->member, own)};
    quern_status status = QUERN_OK;
    enter_own(place, &card, own);
    while (!place->is_over && place->there < bootstrap->member->ranks) {
        await_guests(place);
        status = look(bootstrap);
        if (status != QUERN_OK) {
            char reason[sizeof place->verdict.reason];
            quern_error_detail(reason, sizeof reason);
            say(&place->verdict, status, "%s", reason);
            place->is_over = true;
        } else if (!place->is_over && place->there < bootstrap->member->ranks && quern_now() > bootstrap->deadline) {
            if (place->verdict.status == QUERN_OK) name_missing(place);
            place->is_over = true;
        }
    }
    for (int kind = 0; kind < QUERN_STRANGERS; kind++)
        place->verdict.strangers[kind] = __atomic_load_n(&bootstrap->listener->strangers[kind], __ATOMIC_RELAXED);
    if (getrandom(place->verdict.number, sizeof place->verdict.number, 0) < 0)
        say(&place->verdict, QUERN_SYSTEM_ERROR, "no random numbers: %s", strerror(errno));
    if (place->verdict.status == QUERN_OK) number_hosts(place);
    tell_guests(place);
    if (place->verdict.status != QUERN_OK) return status == QUERN_OK ? fail_with(bootstrap, &place->verdict) : status;
    publish(bootstrap->member, &place->verdict, place->facts);
    return QUERN_OK;
}

/* ---- going to the place ---- */

/* Reads the verdict once it comes; polls the poison meanwhile.  False: the connection has ended. */
static bool hear_verdict(const struct quern_bootstrap *bootstrap, int socket, struct verdict *verdict, struct quern_fact *facts) {
    if (!quern_receive_all(socket, verdict, sizeof *verdict, bootstrap->deadline + 1000000000)) return false;
    if (verdict->status != QUERN_OK) return true;
    if (verdict->hosts < 1 || verdict->hosts > bootstrap->member->ranks) return false;
    const size_t bytes = (size_t)bootstrap->member->ranks * sizeof *facts;
    if (!quern_receive_all(socket, facts, bytes, bootstrap->deadline + 1000000000)) return false;
    for (int rank = 0; rank < bootstrap->member->ranks; rank++)
        if (facts[rank].rank != rank || facts[rank].host < 0 || facts[rank].host >= verdict->hosts) return false;
    return true;
}

static quern_status fail_late(const struct quern_bootstrap *bootstrap, const char *why) {
    char at[QUERN_ADDRESS_TEXT];
    quern_address_write(&bootstrap->place, true, at);
    return quern_fail(bootstrap->member->device, QUERN_PEER_TIMEOUT,
                      "quern_group_create waited %g s for the host of rank 0 at %s: %s",
                      (double)(quern_now() - bootstrap->began) * 1e-9, at, why);
}

static int call(const struct quern_bootstrap *bootstrap, struct quern_connector *connector, quern_status *status) {
    for (;;) {
        const int socket = quern_connector_go(connector);
        struct pollfd ready;
        if (socket >= 0) return socket;
        *status = look(bootstrap);
        if (*status == QUERN_OK && quern_now() > bootstrap->deadline) *status = fail_late(bootstrap, connector->why);
        if (*status != QUERN_OK) return -1;
        quern_connector_awaits(connector, &ready);
        poll(&ready, 1, TICK);
    }
}

static quern_status go_to_place(const struct quern_bootstrap *bootstrap) {
    struct quern_fact own[QUERN_RANK_LIMIT], *facts = calloc((size_t)bootstrap->member->ranks, sizeof *facts);
    if (!facts) return quern_fail(bootstrap->member->device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    const struct card card = {(uint32_t)bootstrap->member->ranks, bootstrap->member->first_epoch,
                              quern_read_own_facts(bootstrap->member, own)};
    struct verdict verdict;
    struct quern_connector connector;
    quern_status status = QUERN_OK;
    quern_connector_begin(&connector, &bootstrap->place, bootstrap->key, QUERN_CALL_MEETING, bootstrap->member->rank, 0);
    for (bool heard = false; !heard;) {
        const int socket = call(bootstrap, &connector, &status);
        if (socket < 0) break;
        heard = quern_send_all(socket, &card, sizeof card, bootstrap->deadline) &&
                quern_send_all(socket, own, (size_t)card.count * sizeof *own, bootstrap->deadline) &&
                hear_verdict(bootstrap, socket, &verdict, facts);
        close(socket);
        if (!heard && quern_now() > bootstrap->deadline) {
            status = fail_late(bootstrap, "it has not said that all have come");
            break;
        }
        connector.again = quern_now() + 20000000;
    }
    quern_connector_end(&connector);
    if (status == QUERN_OK && verdict.status != QUERN_OK) status = fail_with(bootstrap, &verdict);
    if (status == QUERN_OK) publish(bootstrap->member, &verdict, facts);
    free(facts);
    return status;
}

quern_status quern_bootstrap_hosts(const struct quern_bootstrap *bootstrap) {
    if (!bootstrap->listener) return go_to_place(bootstrap);
    struct place *place = calloc(1, sizeof *place);
    struct pollfd *polls = calloc(1 + (size_t)bootstrap->listener->places + QUERN_GROUP_LIMIT, sizeof *polls);
    if (!place || !polls) {
        free(place);
        free(polls);
        return quern_fail(bootstrap->member->device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    }
    place->bootstrap = bootstrap;
    place->polls = polls;
    quern_status status = hold_place(place);
    while (place->count) dismiss(place, 0);
    free(polls);
    free(place);
    return status;
}
