/*
 * The speaker of a host is at coordinator on its own host, where it gathers, until a lower host has let it in as a follower.
 * Then it has no followers itself, and waits there for the verdict.  Both ends say at each heartbeat that they are there, so that
 * a host that is stopped or cut off is not counted.  Called while a group is shrunk.
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
#include "runtime/status.h"

enum { TICK = 5 };  /* milliseconds between two looks */

/* ---- the wait ---- */

static void interval(struct quern_quorum *quorum) {
    const int64_t now = quern_now();
    if (now - quorum->beaten < quorum->heartbeat.interval) return;
    quorum->beaten = now;
    for (int host = -1; host < quorum->hosts; host++) {
        const int socket = host < 0 ? quorum->socket : quorum->followers[host].socket;
        if (socket >= 0) send(socket, &QUERN_QUORUM_BEAT, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void await(struct quern_quorum *quorum) {
    struct pollfd *polls = quorum->polls;
    int waits = quorum->listener.socket >= 0 ? quern_listener_awaits(&quorum->listener, polls) : 0;
    polls[waits++] = (struct pollfd){.fd = quorum->socket, .events = POLLIN};
    for (int host = 0; host < quorum->hosts; host++) {
        const int follower = quorum->followers[host].socket;
        if (follower >= 0) polls[waits++] = (struct pollfd){.fd = follower, .events = POLLIN};
        if (quorum->connectors[host].socket >= 0) quern_connector_awaits(&quorum->connectors[host], &polls[waits++]);
    }
    poll(polls, (nfds_t)waits, TICK);
}

/* One look at everything. */
static quern_status go_on(struct quern_quorum *quorum) {
    quern_begin_check(&quorum->heartbeat, quern_now());
    quern_find_gone_hosts(quorum);
    quern_listen_for_followers(quorum);
    quern_serve_followers(quorum);
    quern_hear_coordinator(quorum);
    if (quorum->is_decided) return QUERN_OK;
    quern_call_coordinators(quorum);
    interval(quorum);
    const bool decides = quern_is_coordinator(quorum) && (quern_has_all_followers(quorum) || quern_now() >= quorum->deadline);
    return decides ? quern_decide_quorum(quorum) : QUERN_OK;
}

quern_status quern_find_quorum(struct quern_quorum *quorum, struct quern_veto veto, int64_t limit, struct quern_verdict *verdict) {
    const struct quern_membership *member = quorum->member;
    const struct quern_address at = quern_address_any(member->address.version);
    quern_status status = QUERN_OK;
    quorum->reserved = quern_reserve_port(&at, &quorum->port);
    if (quorum->reserved < 0)
        status = quern_fail(member->device, QUERN_SYSTEM_ERROR, "%s: no port for a group: %s", member->label, strerror(errno));
    while (status == QUERN_OK && !quorum->is_decided) {
        status = go_on(quorum);
        if (status == QUERN_OK && !quorum->is_decided) {
            await(quorum);
            status = veto.ask(veto.user);
        }
        if (status == QUERN_OK && !quorum->is_decided && quern_now() > limit)
            status = quern_fail(member->device, QUERN_PEER_TIMEOUT, "%s: no decision from host %d within %g s",
                                member->label, quorum->coordinator, quern_seconds(quern_now() - quorum->began));
    }
    quern_listener_close(&quorum->listener);
    *verdict = quorum->verdict;
    return status;
}

bool quern_quorum_is_broken(const struct quern_quorum *quorum) {
    struct pollfd *polls = quorum->polls;
    int waits = 0;
    polls[waits++] = (struct pollfd){.fd = quorum->socket, .events = POLLRDHUP};
    for (int host = 0; host < quorum->hosts; host++)
        if (quorum->followers[host].socket >= 0)
            polls[waits++] = (struct pollfd){.fd = quorum->followers[host].socket, .events = POLLRDHUP};
    poll(polls, (nfds_t)waits, 0);
    bool is_broken = quorum->is_broken;
    for (int i = 0; i < waits; i++) is_broken |= (polls[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    return is_broken;
}

/* ---- beginning and ending ---- */

static bool make_arrays(struct quern_quorum *quorum) {
    const size_t hosts = (size_t)quorum->hosts, ranks = (size_t)quorum->member->ranks;
    quorum->followers = calloc(hosts, sizeof *quorum->followers);
    quorum->connectors = calloc(hosts, sizeof *quorum->connectors);
    quorum->polls = calloc(2 + 2 * hosts + QUERN_LISTENER_PLACES, sizeof *quorum->polls);
    quorum->lines = calloc(ranks, sizeof *quorum->lines);
    quorum->has_left = calloc(hosts, sizeof *quorum->has_left);
    return quorum->followers && quorum->connectors && quorum->polls && quorum->lines && quorum->has_left;
}

static void free_arrays(struct quern_quorum *quorum) {
    free(quorum->followers);
    free(quorum->connectors);
    free(quorum->polls);
    free(quorum->lines);
    free(quorum->has_left);
    quern_wipe(quorum, sizeof *quorum);
    free(quorum);
}

struct quern_quorum *quern_open_quorum(const struct quern_membership *member, const struct quern_rank_set *living,
                                       int64_t deadline) {
    const struct quern_roster *roster = member->roster;
    struct quern_quorum *quorum = calloc(1, sizeof *quorum);
    if (!quorum) return NULL;
    quorum->member = member;
    quorum->hosts = roster->hosts;
    quorum->own = quorum->coordinator = roster->peer[member->rank].host;
    if (!make_arrays(quorum)) {
        free_arrays(quorum);
        return NULL;
    }
    quern_make_shrink_key(member->span->key, quorum->key);
    memcpy(quorum->living, living->words, sizeof quorum->living);
    quorum->began = quern_now();
    quorum->heartbeat = quern_begin_heartbeat(member->failure_timeout, quorum->began);
    quorum->deadline = deadline;
    quorum->listener = (struct quern_listener){.socket = -1, .key = quorum->key, .strangers = member->segment->strangers};
    quorum->socket = quorum->reserved = -1;
    for (int host = 0; host < quorum->hosts; host++) {
        const int leader = roster->leader_of[host];
        quorum->followers[host].socket = -1;
        quern_connector_begin(&quorum->connectors[host], &roster->peer[leader].address, quorum->key, QUERN_CALL_MEETING,
                              member->rank, leader);
    }
    return quorum;
}

void quern_close_quorum(struct quern_quorum *quorum) {
    if (!quorum) return;
    quern_listener_close(&quorum->listener);
    quern_socket_close(&quorum->socket);
    if (quorum->reserved >= 0) close(quorum->reserved);
    for (int host = 0; host < quorum->hosts; host++) {
        quern_reject_follower(quorum, host);
        quern_connector_end(&quorum->connectors[host]);
    }
    free_arrays(quorum);
}
