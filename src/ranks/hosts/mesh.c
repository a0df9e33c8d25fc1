/*
 * Of each pair of ranks the higher one calls and the lower one opens its listener.  Called while a group is created, by every rank
 * at the same time.
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

struct work {
    const struct quern_mesh *mesh;
    struct quern_connector *connectors;  /* [connecting]; those that are done have kind 0 */
    int connecting, missing;     /* connections that are not there */
    bool full;                 /* no memory to enter a socket */
    int shortage;              /* the error by which the system makes no connections; 0: it does */
    int64_t ended;             /* since when a connection that was there has ended; 0: none has */
};

int quern_host_leader(const struct quern_roster *roster, int host) { return roster->leader_of[host]; }

static bool is_leader(const struct quern_roster *roster, int rank) {
    return quern_host_leader(roster, roster->peer[rank].host) == rank;
}

/* Whether this rank needs a connection of a kind to another one. */
static bool is_wanted(const struct quern_mesh *mesh, uint32_t kind, int rank) {
    const struct quern_roster *roster = mesh->member->roster;
    if (kind < QUERN_CALL_DATA || rank < 0 || rank >= roster->ranks || !roster->peer[rank].is_elsewhere) return false;
    return kind != QUERN_CALL_CONTROL || (mesh->control && is_leader(roster, rank));
}

static int *slot_of(const struct quern_mesh *mesh, uint32_t kind, int rank) {
    struct quern_net *net = mesh->member->net;
    int *const slots[] = {[QUERN_CALL_DATA] = net->socket, [QUERN_CALL_CONTROL] = mesh->control,
                          [QUERN_CALL_TRANSFERS] = net->transfers};
    return &slots[kind][rank];
}

static void enter(struct work *work, uint32_t kind, int rank, int socket) {
    *slot_of(work->mesh, kind, rank) = socket;
    work->missing--;
    if (quern_socket_own(socket)) return;
    close(socket);
    *slot_of(work->mesh, kind, rank) = -1;
    work->full = true;
}

/* A caller knows the key of this meeting.  Still it may be a second call, of a rank that has given up its first. */
static void serve_listener(struct work *work) {
    struct quern_hello hello;
    for (int socket; (socket = quern_listener_serve(work->mesh->listener, &hello)) >= 0;) {
        const struct quern_membership *member = work->mesh->member;
        const bool fits = is_wanted(work->mesh, hello.kind, hello.from) && hello.from > member->rank && hello.to == member->rank;
        if (!fits) {
            close(socket);
            continue;
        }
        int *slot = slot_of(work->mesh, hello.kind, hello.from);
        if (*slot >= 0) {
            quern_socket_close(slot);
            work->missing++;
        }
        enter(work, hello.kind, hello.from, socket);
    }
}

static void go_on_connecting(struct work *work) {
    for (int i = 0; i < work->connecting; i++) {
        struct quern_connector *connector = &work->connectors[i];
        const int socket = connector->kind ? quern_connector_go(connector) : -1;
        if (connector->shortage) work->shortage = connector->shortage;
        if (socket < 0) continue;
        enter(work, connector->kind, connector->to, socket);
        connector->kind = 0;
    }
}

static void await(const struct work *work, struct pollfd *polls) {
    int count = quern_listener_awaits(work->mesh->listener, polls);
    for (int i = 0; i < work->connecting; i++)
        if (work->connectors[i].kind) quern_connector_awaits(&work->connectors[i], &polls[count++]);
    poll(polls, (nfds_t)count, TICK);
}

static bool is_missing(const struct quern_mesh *mesh, int rank) {
    for (uint32_t kind = QUERN_CALL_DATA; kind <= QUERN_CALL_TRANSFERS; kind++)
        if (is_wanted(mesh, kind, rank) && *slot_of(mesh, kind, rank) < 0) return true;
    return false;
}

/* Why the last call of a lower rank has failed. */
static const char *why_not(const struct work *work, int rank) {
    for (int i = 0; i < work->connecting; i++)
        if (work->connectors[i].kind && work->connectors[i].to == rank) return work->connectors[i].why;
    return "";
}

static void list_missing(const struct work *work, struct quern_text *text) {
    const struct quern_mesh *mesh = work->mesh;
    int listed = 0, more = 0;
    for (int rank = 0; rank < mesh->member->ranks; rank++) {
        if (!is_missing(mesh, rank)) continue;
        if (listed == 2 && ++more) continue;
        quern_text_add(text, "%srank %d (", listed++ ? ", " : "", quern_told_rank(mesh->member, rank));
        quern_describe_place(text, mesh->member->roster, rank);
        quern_text_add(text, ")%s%s", rank < mesh->member->rank ? ": " : "", rank < mesh->member->rank ? why_not(work, rank) : "");
    }
    if (more) quern_text_add(text, " and %d more", more);
}

static quern_status expire(const struct work *work) {
    const struct quern_mesh *mesh = work->mesh;
    char missing[160];
    struct quern_text text = quern_text_begin(missing, sizeof missing);
    list_missing(work, &text);
    return quern_fail(mesh->member->device, QUERN_PEER_TIMEOUT, "quern_group_create: rank %d waited %g s for connections with %s",
                      quern_told_rank(mesh->member, mesh->member->rank), quern_seconds(quern_now() - mesh->began), missing);
}

/* ---- ranks that end meanwhile ---- */

static bool has_ended(int socket) {
    char byte;
    const ssize_t read = socket < 0 ? 1 : recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return read == 0 || (read < 0 && errno != EAGAIN && errno != EINTR);
}

static int find_ended(const struct quern_mesh *mesh) {
    for (int rank = 0; rank < mesh->member->ranks; rank++)
        for (uint32_t kind = QUERN_CALL_DATA; kind <= QUERN_CALL_TRANSFERS; kind++)
            if (is_wanted(mesh, kind, rank) && has_ended(*slot_of(mesh, kind, rank))) return rank;
    return -1;
}

/* A rank may have given up a call that this one has answered, and calls again: as soon as it gets a core. */
static quern_status look_for_ends(struct work *work) {
    static const int64_t GRACE = 5000000000;  /* nanoseconds */
    const struct quern_membership *member = work->mesh->member;
    const int rank = find_ended(work->mesh);
    char place[100], missing[100];
    struct quern_text text = quern_text_begin(place, sizeof place);
    if (rank < 0) work->ended = 0;
    else if (!work->ended) work->ended = quern_now();
    if (!work->ended || quern_now() - work->ended < GRACE) return QUERN_OK;
    quern_describe_place(&text, member->roster, rank);
    text = quern_text_begin(missing, sizeof missing);
    list_missing(work, &text);  /* for one of them it may have given up */
    return quern_fail(member->device, QUERN_PEER_LOST, "quern_group_create: rank %d (%s) has ended, or has given up, while rank %d "
                      "waited for connections with %s", quern_told_rank(member, rank), place,
                      quern_told_rank(member, member->rank), missing);
}

static void plan(struct work *work) {
    const struct quern_mesh *mesh = work->mesh;
    const struct quern_membership *member = mesh->member;
    for (int rank = 0; rank < member->ranks; rank++)
        for (uint32_t kind = QUERN_CALL_DATA; kind <= QUERN_CALL_TRANSFERS; kind++) {
            if (!is_wanted(mesh, kind, rank)) continue;
            work->missing++;
            if (rank < member->rank)
                quern_connector_begin(&work->connectors[work->connecting++], &member->roster->peer[rank].address,
                                      mesh->listener->key, kind, member->rank, rank);
        }
}

static quern_status connect_all(struct work *work, struct pollfd *polls) {
    const struct quern_mesh *mesh = work->mesh;
    quern_status status = QUERN_OK;
    while (work->missing && status == QUERN_OK) {
        serve_listener(work);
        go_on_connecting(work);
        if (!work->missing) break;
        if (work->full) return quern_fail(mesh->member->device, QUERN_OUT_OF_MEMORY, "no memory for connections");
        if (mesh->listener->shortage) return quern_fail_short(mesh->member, "letting ranks in", mesh->listener->shortage);
        if (work->shortage) return quern_fail_short(mesh->member, "connecting with ranks", work->shortage);
        await(work, polls);
        status = quern_check_poison(mesh->member);
        if (status == QUERN_OK && mesh->veto.ask) status = mesh->veto.ask(mesh->veto.user);
        if (status == QUERN_OK) status = look_for_ends(work);
        if (status == QUERN_OK && quern_now() > mesh->deadline) status = expire(work);
    }
    return status;
}

quern_status quern_make_mesh(const struct quern_mesh *mesh) {
    const size_t most = QUERN_LISTENER_CALLS * (size_t)mesh->member->ranks;
    struct work work = {.mesh = mesh, .connectors = calloc(most, sizeof *work.connectors)};
    struct pollfd *polls = calloc(most + (size_t)mesh->listener->places + 1, sizeof *polls);
    quern_status status = work.connectors && polls ? QUERN_OK
                                              : quern_fail(mesh->member->device, QUERN_OUT_OF_MEMORY, "no memory for connections");
    if (status == QUERN_OK) plan(&work);
    if (status == QUERN_OK) status = connect_all(&work, polls);
    for (int i = 0; i < work.connecting; i++)
        if (work.connectors[i].kind) quern_connector_end(&work.connectors[i]);
    free(work.connectors);
    free(polls);
    return status;
}
