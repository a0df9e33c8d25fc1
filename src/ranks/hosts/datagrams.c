/* Sends and takes the datagrams of monitors.  Called by monitor.c. */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "os/address.h"
#include "os/descriptor.h"

/* AF_INET6 if one of the peers needs it, which then also reaches those of IPv4; AF_UNSPEC: there is no peer over TCP. */
static int find_family(const int *sockets, int count) {
    int family = AF_UNSPEC;
    for (int i = 0; i < count; i++) {
        struct sockaddr_storage name;
        socklen_t room = sizeof name;
        if (sockets[i] < 0 || getsockname(sockets[i], (struct sockaddr *)&name, &room) != 0) continue;
        if (name.ss_family == AF_INET6 || (name.ss_family == AF_INET && family == AF_UNSPEC)) family = name.ss_family;
    }
    return family;
}

static bool bind_at(void *user, uint16_t port) {
    struct quern_datagrams *datagrams = user;
    struct quern_address at = quern_address_any(datagrams->family == AF_INET6 ? 6 : 4), bound;
    struct sockaddr_storage name;
    at.port = port;
    socklen_t bytes = quern_address_out(&at, &name), room = sizeof name;
    if (bind(datagrams->socket, (struct sockaddr *)&name, bytes) != 0 ||
        getsockname(datagrams->socket, (struct sockaddr *)&name, &room) != 0 || !quern_address_in(&name, &bound))
        return false;
    datagrams->port = bound.port;
    return true;
}

static bool bind_any(struct quern_datagrams *datagrams) {
    const int six_only = 0;
    if (datagrams->family == AF_INET6 &&
        setsockopt(datagrams->socket, IPPROTO_IPV6, IPV6_V6ONLY, &six_only, sizeof six_only) != 0)
        return false;
    return quern_try_ports(bind_at, datagrams);
}

bool quern_open_datagrams(struct quern_datagrams *datagrams, const int *sockets, int count, int host) {
    *datagrams = (struct quern_datagrams){.socket = -1, .family = find_family(sockets, count), .host = host};
    if (datagrams->family == AF_UNSPEC) return true;
    const int made = quern_above_two(socket(datagrams->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made < 0) return false;
    if (!quern_socket_own(made)) {
        close(made);
        errno = ENOMEM;
        return false;
    }
    datagrams->socket = made;
    if (getrandom(&datagrams->place, sizeof datagrams->place, 0) == sizeof datagrams->place && bind_any(datagrams)) return true;
    const int reason = errno;
    quern_close_datagrams(datagrams);
    errno = reason;
    return false;
}

void quern_close_datagrams(struct quern_datagrams *datagrams) { quern_socket_close(&datagrams->socket); }

/* On a socket of IPv6 an address of IPv4 is one of IPv6 that begins with ::ffff. */
static unsigned map(struct sockaddr_storage *name) {
    const struct sockaddr_in four = *(struct sockaddr_in *)name;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)name;
    *six = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = four.sin_port};
    memset(six->sin6_addr.s6_addr + 10, 0xff, 2);
    memcpy(six->sin6_addr.s6_addr + 12, &four.sin_addr, 4);
    return sizeof *six;
}

void quern_place_peer(const struct quern_datagrams *datagrams, struct quern_datagram_peer *peer, int socket, uint16_t port,
                      const struct quern_datagram_place *place) {
    socklen_t room = sizeof peer->name;
    peer->bytes = 0;
    peer->place = *place;
    if (datagrams->socket < 0 || getpeername(socket, (struct sockaddr *)&peer->name, &room) != 0) return;
    /* The port is at the same place in both. */
    ((struct sockaddr_in *)&peer->name)->sin_port = htons(port);
    const bool is_mapped = datagrams->family == AF_INET6 && peer->name.ss_family == AF_INET;
    peer->bytes = is_mapped ? map(&peer->name) : room;
}

bool quern_take_datagram(const struct quern_datagrams *datagrams, struct quern_datagram *taken) {
    enum { MOST = 256 };  /* at a time: a flood of them must not hold up the monitor */
    if (datagrams->socket < 0) return false;
    for (int i = 0; i < MOST; i++) {
        const ssize_t bytes = recv(datagrams->socket, taken, sizeof *taken, MSG_DONTWAIT | MSG_TRUNC);
        if (bytes < 0) return false;
        if (bytes == sizeof *taken && memcmp(&taken->to, &datagrams->place, sizeof taken->to) == 0) return true;
    }
    return false;
}

void quern_send_datagram(const struct quern_datagrams *datagrams, struct quern_datagram_peer *peer, bool asks, int64_t now) {
    struct quern_datagram said = {.to = peer->place, .number = (uint64_t)now, .host = datagrams->host, .asks = asks};
    peer->said = now;
    if (peer->bytes)
        sendto(datagrams->socket, &said, sizeof said, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&peer->name, peer->bytes);
}
