/*
 * The steps by which a group over several hosts is created: the host's own segment, the bootstrap of all ranks at a place of
 * meeting or by an all-gather of the engine, the connections, and a first meeting of all.  Called when such a group is created or
 * split.
 */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/futex.h"
#include "ranks/describe.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/log.h"
#include "runtime/status.h"

struct creation {
    const quern_group_args *args;
    struct quern_veto veto;
    struct quern_membership *member;
    struct quern_address at;                     /* of the meeting; with an all-gather, where this rank listens */
    struct quern_bootstrap_root *place;                   /* of the meeting, held by rank 0 */
    struct quern_roll roll;                      /* with an all-gather */
    quern_status ready;                          /* QUERN_OK, or why this rank cannot take part ... */
    char reason[256];                            /* ... */
    unsigned char key[QUERN_DIGEST_BYTES], meeting_key[QUERN_DIGEST_BYTES];
    uint32_t rejections[QUERN_REJECTIONS];         /* at the place of meeting */
    struct quern_listener meeting, own;              /* the place's, of rank 0; this rank's */
    int64_t began, deadline;
    int control[QUERN_GROUP_LIMIT];
};

static const int64_t SLICE = 20000000;     /* nanoseconds between two looks at the poison */
static const int64_t MOMENT = 2000000000;  /* behind the limit, for a rank that waits for its leader: the leader's error is more
                                              specific */

/* ---- listeners ---- */

static quern_status fail_at(const struct creation *creation, const struct quern_address *at, const char *what) {
    const int reason = errno;
    char where[QUERN_ADDRESS_TEXT];
    quern_address_write(at, at->port, where);
    if (reason == EADDRINUSE && !at->port) what = "no port is free, of QUERN_PORTS or of the system, at";
    return quern_fail(creation->member->device, QUERN_SYSTEM_ERROR, "%s %s: %s", what, where, strerror(reason));
}

/* Whether what listens at the place is one of this library's listeners. */
static bool is_place_of_others(const struct creation *creation) {
    struct quern_connector connector;
    int socket;
    quern_connector_begin(&connector, &creation->at, creation->key, QUERN_CALL_MEETING, 0, 0);
    while ((socket = quern_connector_go(&connector)) < 0 && !connector.failures) {
        struct pollfd ready;
        quern_connector_awaits(&connector, &ready);
        poll(&ready, 1, (int)(SLICE / 1000000));
    }
    if (socket >= 0) close(socket);
    return socket >= 0 || connector.has_answered;
}

static bool listen_at_place(struct creation *creation) {
    return quern_listener_open(&creation->meeting, &creation->at, creation->member->ranks);
}

/* The ranks of a former attempt, or another group, may still meet there: they soon have done so.  Another program stays. */
static quern_status open_place(struct creation *creation) {
    creation->meeting.key = creation->key;
    creation->meeting.rejections = creation->rejections;
    bool is_others = true;
    while (!listen_at_place(creation)) {
        if (errno != EADDRINUSE || !is_others || quern_now() > creation->deadline)
            return fail_at(creation, &creation->at, is_others ? "listening at" : "another program listens at");
        is_others = is_place_of_others(creation);
        if (is_others) nanosleep(&(struct timespec){.tv_nsec = SLICE}, NULL);
    }
    return QUERN_OK;
}

/* All addresses of the machine, or those of IPv4 where the system has no others. */
static bool open_anywhere(struct quern_listener *listener, int ranks) {
    const struct quern_address six = quern_address_any(6), four = quern_address_any(4);
    return quern_listener_open(listener, &six, ranks) || quern_listener_open(listener, &four, ranks);
}

static quern_status open_own(struct creation *creation) {
    const bool anywhere = !creation->args->hosts->meet;
    if (anywhere) creation->at = quern_address_any(4);
    const int ranks = creation->member->ranks;
    if (!(anywhere ? open_anywhere(&creation->own, ranks) : quern_listener_open(&creation->own, &creation->at, ranks)))
        return fail_at(creation, &creation->at, "listening at");
    creation->member->address = creation->own.address;
    return QUERN_OK;
}

static quern_status open_listener(struct creation *creation) {
    struct quern_address here;
    if (creation->args->hosts->all_gather) return open_own(creation);
    if (!quern_address_towards(&creation->at, &here)) return fail_at(creation, &creation->at, "looking for a way to");
    if (!quern_listener_open(&creation->own, &here, creation->member->ranks)) return fail_at(creation, &here, "listening at");
    creation->member->address = creation->own.address;
    return QUERN_OK;
}

static struct quern_bootstrap bootstrap_of(struct creation *creation) {
    return (struct quern_bootstrap){creation->member, creation->at, creation->key, creation->began, creation->deadline,
                                    &creation->meeting, creation->veto};
}

/* A place can be held by a rank that does not take part, which tells the others there. */
static quern_status begin_place(struct creation *creation) {
    const struct quern_bootstrap bootstrap = bootstrap_of(creation);
    quern_status status = open_place(creation);
    if (status != QUERN_OK) return status;
    creation->place = quern_open_bootstrap_root(&bootstrap);
    return creation->place ? QUERN_OK : quern_fail(creation->member->device, QUERN_OUT_OF_MEMORY, "no memory for a group");
}

/* ---- the bootstrap ---- */

/* Whether a rank is of this host, while no others are known.  It may have given up by now. */
static bool is_of_host(const struct quern_membership *member, int rank) {
    const uint32_t state = __atomic_load_n(&member->segment->rank[rank].state, __ATOMIC_ACQUIRE);
    return state == QUERN_RANK_JOINED || state == QUERN_RANK_LEFT;
}

static int find_speaker(const struct quern_membership *member) {
    int rank = 0;
    while (!is_of_host(member, rank)) rank++;
    return rank;
}

/* A rank that is ready has its address in the segment; one that is not poisons the group. */
static quern_status await_own(struct creation *creation) {
    const struct quern_bootstrap bootstrap = bootstrap_of(creation);
    const struct quern_membership *member = creation->member;
    quern_status status = quern_look_beside(&bootstrap);
    for (int rank = 0; rank < member->ranks && status == QUERN_OK; rank++) {
        const struct quern_segment_rank *place = &member->segment->rank[rank];
        if (__atomic_load_n(&place->state, __ATOMIC_ACQUIRE) != QUERN_RANK_JOINED) continue;
        while (status == QUERN_OK && !__atomic_load_n(&place->address.version, __ATOMIC_ACQUIRE)) {
            if (!quern_rank_lives(member->roster, rank))
                status = quern_fail(member->device, QUERN_PEER_LOST, "rank %d (process %d) has ended while the group was formed",
                                    quern_told_rank(member, rank), place->process.pid);
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            if (status == QUERN_OK) status = quern_look_beside(&bootstrap);
        }
    }
    return status;
}

/* The next group can have the port, and the connections with this one the descriptors. */
static void end_place(struct creation *creation) {
    quern_close_bootstrap_root(creation->place);
    creation->place = NULL;
    quern_listener_close(&creation->meeting);
}

/* Rank 0 holds the place, and goes nowhere. */
static quern_status meet_at_place(struct creation *creation, quern_status status) {
    const struct quern_bootstrap bootstrap = bootstrap_of(creation);
    if (creation->member->rank != 0) return quern_bootstrap(&bootstrap, status);
    if (creation->place) status = quern_hold_bootstrap_root(creation->place, status);
    end_place(creation);
    return status;
}

static quern_status call_roll(struct creation *creation) {
    struct quern_segment *segment = creation->member->segment;
    quern_status status = QUERN_OK;
    if (creation->args->hosts->all_gather) quern_publish_roll(creation->member, &creation->roll);
    else status = meet_at_place(creation, await_own(creation));
    if (status != QUERN_OK) return status;
    __atomic_store_n(&segment->met, 1, __ATOMIC_SEQ_CST);
    quern_futex_wake(&segment->met);
    return QUERN_OK;
}

/* The leader writes the facts of all ranks into the segment, or poisons it. */
static quern_status await_roll(const struct creation *creation, int leader) {
    const struct quern_membership *member = creation->member;
    uint32_t *met = &member->segment->met;
    quern_status status = QUERN_OK;
    while (status == QUERN_OK && !__atomic_load_n(met, __ATOMIC_ACQUIRE)) {
        quern_futex_wait(met, 0, SLICE);
        status = quern_check_poison(member);
        if (status == QUERN_OK && !quern_rank_lives(member->roster, leader))
            status = quern_fail(member->device, QUERN_PEER_LOST,
                                "rank %d (process %d), which spoke for this host, has ended while the group was formed",
                                quern_told_rank(member, leader), member->segment->rank[leader].process.pid);
        if (status == QUERN_OK && quern_now() > creation->deadline + 2 * MOMENT)
            status = quern_fail(member->device, QUERN_PEER_TIMEOUT,
                                "quern_group_create waited %g s for rank %d, which speaks for this host",
                                quern_seconds(quern_now() - creation->began), quern_told_rank(member, leader));
    }
    return status;
}

/* ---- the connections ---- */

static quern_status start_monitor(struct creation *creation) {
    struct quern_membership *member = creation->member;
    if (quern_start_monitor(member, creation->control)) {
        for (int rank = 0; rank < member->ranks; rank++) creation->control[rank] = -1;
        return QUERN_OK;
    }
    return quern_fail(member->device, QUERN_SYSTEM_ERROR, "starting the thread that watches other hosts: %s", strerror(errno));
}

static quern_status connect_hosts(struct creation *creation) {
    struct quern_membership *member = creation->member;
    const bool speaks = member->roster->host_leader == member->rank;
    QUERN_POINT(HOSTS_CONNECTING);
    quern_make_meeting_key(creation->key, member->segment->meeting, creation->meeting_key);
    creation->own.key = creation->meeting_key;
    creation->own.rejections = member->segment->rejections;
    if (!quern_open_net(member)) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    memcpy(member->net->key, creation->meeting_key, sizeof member->net->key);
    const struct quern_mesh mesh = {member, &creation->own, creation->began, creation->deadline,
                                    speaks ? creation->control : NULL, creation->veto};
    quern_status status = quern_make_mesh(&mesh);
    return status == QUERN_OK && speaks ? start_monitor(creation) : status;
}

/* All have their connections, or none returns with a group. */
static quern_status meet_all(const struct creation *creation) {
    struct quern_membership *member = creation->member;
    const double left = (double)(creation->deadline + MOMENT - quern_now()) * 1e-9;
    const struct quern_meeting meeting = {.operation = QUERN_IN_CREATE, .phase = QUERN_PHASE_MEETING, .set = &member->everyone,
                                          .timeout = left > 0.5 ? left : 0.5};
    return quern_net_meet(member, &meeting);
}

/* ---- creation ---- */

static quern_status tell_host(const struct creation *creation, quern_status status) {
    char reason[256];
    quern_error_detail(reason, sizeof reason);
    return quern_poison(creation->member, status, "%s", reason);
}

static quern_status join_hosts(struct creation *creation) {
    struct quern_membership *member = creation->member;
    const int speaker = find_speaker(member);
    quern_status status = speaker == member->rank ? call_roll(creation) : await_roll(creation, speaker);
    if (status != QUERN_OK) return tell_host(creation, status);
    status = quern_seat_members(&member, 1);
    if (status != QUERN_OK) return tell_host(creation, status);
    if (member->roster->hosts == 1) {
        member->control = NULL;
        return QUERN_OK;
    }
    status = connect_hosts(creation);
    if (status == QUERN_OK) return meet_all(creation);
    status = tell_host(creation, status);
    quern_tell_failure(member, creation->control);
    return status;
}

static void log_rejections(const struct creation *creation) {
    uint32_t all = 0;
    for (int kind = 0; kind < QUERN_REJECTIONS; kind++) all += __atomic_load_n(&creation->rejections[kind], __ATOMIC_RELAXED);
    if (all)
        quern_log(creation->member->device, QUERN_LOG_INFO, "%s: %u connections at the place of meeting were none of the group's",
                  creation->member->label, all);
}

/* While the ranks of this host meet, rank 0 already lets other hosts in. */
static quern_status look_at_place(const void *user) {
    const struct creation *creation = user;
    quern_status status = creation->veto.ask ? creation->veto.ask(creation->veto.user) : QUERN_OK;
    return status == QUERN_OK && creation->place ? quern_serve_bootstrap_root(creation->place) : status;
}

/* The number of the host's name in shared memory comes behind that of the group. */
static quern_status meet_here(const struct creation *creation, const char *name) {
    const char *host = creation->args->hosts->host;
    struct quern_membership *member = creation->member;
    char called[256];
    struct quern_text text = quern_text_begin(called, sizeof called);
    quern_text_add(&text, "%s%s%s", name, host ? "@" : "", host ? host : "");
    const struct quern_veto veto = {look_at_place, creation, creation->veto.numbers};
    return quern_rendezvous(called, creation->args->job, veto, &member, 1);
}

static quern_status gather(struct creation *creation, quern_status ready) {
    const quern_hosts_args *hosts = creation->args->hosts;
    const struct quern_gathering gathering = {creation->member, hosts->all_gather, hosts->all_gather_user, creation->key,
                                              &creation->own};
    quern_status status = quern_gather_roll(&gathering, ready, &creation->roll);
    return status == QUERN_OK || !creation->member->roster ? status : tell_host(creation, status);
}

/* ---- ranks that cannot take part ---- */

/* The first reason counts. */
static void note_ready(struct creation *creation, quern_status status) {
    if (status == QUERN_OK || creation->ready != QUERN_OK) return;
    creation->ready = status;
    quern_error_detail(creation->reason, sizeof creation->reason);
}

static quern_status not_ready(const struct creation *creation) {
    return quern_fail(creation->member->device, creation->ready, "%s", creation->reason);
}

/* Opens what must be there before the host has met: segment, listener and the connection to the bootstrap root, or the root. */
enum { OPENED_FIRST = 3 };

static quern_status check_ports(const struct creation *creation) {
    struct quern_ports ports;
    if (quern_listener_ports(&ports)) return QUERN_OK;
    return quern_fail(creation->member->device, QUERN_INVALID_ARGUMENT, "QUERN_PORTS is \"%s\": expected FIRST-LAST, two ports "
                      "from 1 to 65535 in ascending order", getenv("QUERN_PORTS"));
}

static void get_ready(struct creation *creation) {
    struct quern_membership *member = creation->member;
    const quern_hosts_args *hosts = creation->args->hosts;
    note_ready(creation, quern_check_transports(member));
    note_ready(creation, check_ports(creation));
    if (creation->ready == QUERN_OK)
        note_ready(creation, quern_check_descriptors(member, quern_connections_needed(member) + OPENED_FIRST));
    if (creation->ready == QUERN_OK) note_ready(creation, open_listener(creation));
    if (hosts->meet && !hosts->all_gather && member->rank == 0) note_ready(creation, begin_place(creation));
}

/*
 * Now it is known which ranks are of this process, and none of them has made a connection.  The other ranks of the host hear of one
 * that is not ready here, those of other hosts by the one that speaks for the host.
 */
static quern_status say_ready(struct creation *creation) {
    struct quern_membership *member = creation->member;
    struct quern_address *address = &member->segment->rank[member->rank].address;
    note_ready(creation, quern_check_descriptors(member, quern_connections_needed(member)));
    if (creation->ready != QUERN_OK && creation->args->hosts->all_gather) return not_ready(creation);
    if (creation->ready != QUERN_OK)
        return quern_poison(member, creation->ready, "rank %d: %s", quern_told_rank(member, member->rank), creation->reason);
    memcpy(address->ip, member->address.ip, sizeof address->ip);
    address->port = member->address.port;
    __atomic_store_n(&address->version, member->address.version, __ATOMIC_RELEASE);
    return QUERN_OK;
}

/*
 * What keeps one rank from the meeting would keep all others waiting, so each comes, whatever has failed.  Only one whose place
 * another process has taken is not missed.
 */
static quern_status create(struct creation *creation, const char *name) {
    get_ready(creation);
    quern_status status = meet_here(creation, name);
    if (status == QUERN_OK) status = say_ready(creation);
    else if (creation->ready != QUERN_OK) status = not_ready(creation);
    if (creation->args->hosts->all_gather) status = gather(creation, status);
    else if (!creation->member->roster && status != QUERN_INVALID_ARGUMENT) return meet_at_place(creation, status);
    const bool has_joined = creation->member->roster && (status == QUERN_OK || !creation->args->hosts->all_gather);
    return has_joined ? join_hosts(creation) : status;
}

quern_status quern_meet_hosts(const quern_group_args *args, const char *name, struct quern_veto veto,
                              struct quern_membership *member) {
    const quern_hosts_args *hosts = args->hosts;
    struct creation *creation = calloc(1, sizeof *creation);
    struct quern_fact *facts = hosts->all_gather ? calloc((size_t)args->ranks, sizeof *facts) : NULL;
    if (!creation || (hosts->all_gather && !facts)) {
        free(creation);
        return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    }
    *creation = (struct creation){.args = args, .veto = veto, .member = member, .roll.facts = facts};
    member->control = &quern_net_control;
    creation->meeting.socket = creation->own.socket = -1;
    creation->began = quern_now();
    creation->deadline = member->timeout < 9e9 ? creation->began + (int64_t)(member->timeout * 1e9) : INT64_MAX / 2;
    for (int rank = 0; rank < QUERN_GROUP_LIMIT; rank++) creation->control[rank] = -1;
    if (hosts->meet) (hosts->all_gather ? quern_address_read_alone : quern_address_read)(hosts->meet, &creation->at);
    quern_make_key(hosts->secret, hosts->secret_bytes, name, args->job, creation->key);
    quern_status status = create(creation, name);
    log_rejections(creation);
    end_place(creation);
    quern_listener_close(&creation->own);
    for (int rank = 0; rank < QUERN_GROUP_LIMIT; rank++) quern_socket_close(&creation->control[rank]);
    free(facts);
    quern_wipe(creation, sizeof *creation);
    free(creation);
    return status;
}
