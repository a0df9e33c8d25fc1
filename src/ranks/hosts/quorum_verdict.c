/* The decision of a shrink between hosts: which ranks continue, and where they meet.  Called by quorum.c. */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "runtime/status.h"

/* ---- who is still awaited ---- */

/* A process that has ended, or a handle that was destroyed, ends its connections. */
void quern_find_gone_hosts(struct quern_quorum *quorum) {
    const struct quern_membership *member = quorum->member;
    for (int rank = 0; rank < member->ranks; rank++)
        quorum->lines[rank] = (struct pollfd){.fd = member->span->socket[rank], .events = POLLRDHUP};
    poll(quorum->lines, (nfds_t)member->ranks, 0);
    memset(quorum->has_left, true, (size_t)quorum->hosts * sizeof *quorum->has_left);
    for (int rank = 0; rank < member->ranks; rank++) {
        const bool is_cut = quorum->lines[rank].revents & (POLLRDHUP | POLLHUP | POLLERR);
        if (!is_cut) quorum->has_left[member->roster->peer[rank].host] = false;
    }
}

bool quern_has_all_followers(const struct quern_quorum *quorum) {
    for (int host = 0; host < quorum->hosts; host++)
        if (host != quorum->own && !quorum->has_left[host] && !quorum->followers[host].is_whole) return false;
    return true;
}

/* ---- the verdict ---- */

static int find_first(const uint32_t set[QUERN_GROUP_WORDS]) {
    int rank = 0;
    while (!quern_mask_has(set, rank)) rank++;
    return rank;
}

/*
 * Where the others reach the lowest rank: at the address by which its host and this one are connected, and at the port that it has
 * reserved, since it speaks for its host.
 */
static struct quern_address find_place(const struct quern_quorum *quorum, const uint32_t living[QUERN_GROUP_WORDS]) {
    const struct quern_peer *first = &quorum->member->roster->peer[find_first(living)];
    struct quern_address place = first->address;
    struct sockaddr_storage name;
    socklen_t room = sizeof name;
    int named = -1;
    for (int host = 0; host < quorum->hosts && named != 0; host++) {
        const int socket = quorum->followers[host].socket;
        if (!quorum->followers[host].is_whole || (first->host != quorum->own && first->host != host)) continue;
        named = first->host == host ? getpeername(socket, (struct sockaddr *)&name, &room)
                                    : getsockname(socket, (struct sockaddr *)&name, &room);
    }
    if (named == 0) quern_address_in(&name, &place);
    place.port = first->host == quorum->own ? quorum->port : (uint16_t)quorum->followers[first->host].card.port;
    return place;
}

static void explain(struct quern_quorum *quorum, int answered) {
    struct quern_text text = quern_text_begin(quorum->verdict.reason, sizeof quorum->verdict.reason);
    const int ranks = quorum->member->ranks;
    quorum->verdict.status = QUERN_PEER_LOST;
    quern_text_add(&text, "only %d of the %d ranks have answered within %g s: %d are required", answered, ranks,
                   quern_seconds(quern_now() - quorum->began), ranks / 2 + 1);
    if (ranks % 2 == 0) quern_text_add(&text, ", or %d with rank 0", ranks / 2);
    quern_text_add(&text, "; the others may continue without these");
}

quern_status quern_decide_quorum(struct quern_quorum *quorum) {
    struct quern_verdict *verdict = &quorum->verdict;
    memset(verdict, 0, sizeof *verdict);
    memcpy(verdict->living, quorum->living, sizeof verdict->living);
    for (int host = 0; host < quorum->hosts; host++)
        for (int word = 0; word < QUERN_GROUP_WORDS && quorum->followers[host].is_whole; word++)
            verdict->living[word] |= quorum->followers[host].card.living[word];
    if (getrandom(verdict->number, sizeof verdict->number, 0) < 0)
        return quern_fail(quorum->member->device, QUERN_SYSTEM_ERROR, "no random numbers: %s", strerror(errno));
    verdict->place = find_place(quorum, verdict->living);
    if (!quern_is_quorum(verdict->living, quorum->member->ranks)) explain(quorum, quern_mask_count(verdict->living));
    quorum->is_decided = true;
    quern_tell_followers(quorum);
    return QUERN_OK;
}
