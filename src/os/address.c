/* Reads, writes and converts addresses.  Called where the hosts of a group meet. */
#define _GNU_SOURCE
#include "os/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/text.h"

/* ---- text ---- */

/* A port in decimal, to the end of the text; 0: it is none. */
static uint16_t read_port(const char *text) {
    uint32_t port = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && at - text < 5; at++) port = port * 10 + (uint32_t)(*at - '0');
    return *at || port > UINT16_MAX ? 0 : (uint16_t)port;
}

bool quern_address_read(const char *text, struct quern_address *address) {
    char ip[QUERN_ADDRESS_TEXT];
    const bool is_six = *text == '[';
    const char *colon = strrchr(text, ':');
    *address = (struct quern_address){.version = is_six ? 6 : 4};
    if (!colon || colon - text >= (int)sizeof ip) return false;
    const size_t length = (size_t)(colon - text);
    memcpy(ip, text, length);
    ip[length] = 0;
    if (is_six && (length < 3 || ip[length - 1] != ']')) return false;
    if (is_six) ip[length - 1] = 0;
    address->port = read_port(colon + 1);
    return address->port && inet_pton(is_six ? AF_INET6 : AF_INET, ip + is_six, address->ip) == 1;
}

bool quern_address_read_alone(const char *text, struct quern_address *address) {
    const bool is_six = strchr(text, ':') != NULL;
    *address = (struct quern_address){.version = is_six ? 6 : 4};
    return inet_pton(is_six ? AF_INET6 : AF_INET, text, address->ip) == 1;
}

bool quern_ports_read(const char *text, struct quern_ports *ports) {
    char first[8];
    const char *dash = strchr(text, '-');
    const size_t length = dash ? (size_t)(dash - text) : sizeof first;
    if (length >= sizeof first) return false;
    memcpy(first, text, length);
    first[length] = 0;
    *ports = (struct quern_ports){read_port(first), read_port(dash + 1)};
    return ports->first && ports->first <= ports->last;
}

void quern_address_write(const struct quern_address *address, bool port, char text[QUERN_ADDRESS_TEXT]) {
    char ip[INET6_ADDRSTRLEN] = "no address";
    const bool is_six = address->version == 6, brackets = is_six && port;
    if (address->version) inet_ntop(is_six ? AF_INET6 : AF_INET, address->ip, ip, sizeof ip);
    struct quern_text out = quern_text_begin(text, QUERN_ADDRESS_TEXT);
    quern_text_add(&out, "%s%s%s", brackets ? "[" : "", ip, brackets ? "]" : "");
    if (port) quern_text_add(&out, ":%u", (unsigned)address->port);
}

/* ---- the system's form ---- */

unsigned quern_address_out(const struct quern_address *address, struct sockaddr_storage *system) {
    memset(system, 0, sizeof *system);
    if (address->version == 4) {
        struct sockaddr_in *four = (struct sockaddr_in *)system;
        four->sin_family = AF_INET;
        four->sin_port = htons(address->port);
        memcpy(&four->sin_addr, address->ip, sizeof four->sin_addr);
        return sizeof *four;
    }
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)system;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(address->port);
    memcpy(&six->sin6_addr, address->ip, sizeof six->sin6_addr);
    return address->version == 6 ? sizeof *six : 0;
}

bool quern_address_in(const struct sockaddr_storage *system, struct quern_address *address) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)system;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)system;
    const bool is_four = system->ss_family == AF_INET;
    *address = (struct quern_address){.version = is_four ? 4 : 6, .port = ntohs(is_four ? four->sin_port : six->sin6_port)};
    memcpy(address->ip, is_four ? (const void *)&four->sin_addr : &six->sin6_addr, is_four ? 4 : 16);
    if (!is_four && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        *address = (struct quern_address){.version = 4, .port = address->port};
        memcpy(address->ip, six->sin6_addr.s6_addr + 12, 4);
    }
    return is_four || system->ss_family == AF_INET6;
}

/* A datagram socket that is connected knows its own address, and nothing was sent. */
bool quern_address_towards(const struct quern_address *there, struct quern_address *here) {
    struct sockaddr_storage name;
    socklen_t bytes = quern_address_out(there, &name), room = sizeof name;
    const int probe = quern_above_two(socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const bool found = probe >= 0 && connect(probe, (struct sockaddr *)&name, bytes) == 0 &&
                       getsockname(probe, (struct sockaddr *)&name, &room) == 0 && quern_address_in(&name, here);
    const int reason = errno;
    if (probe >= 0) close(probe);
    errno = reason;
    here->port = 0;
    return found;
}

/* ---- the addresses of this machine ---- */

static int bytes_of(const struct quern_address *address) { return address->version == 4 ? 4 : 16; }

struct quern_address quern_address_any(int version) { return (struct quern_address){.version = (uint16_t)version}; }

bool quern_address_is_any(const struct quern_address *address) {
    static const unsigned char zero[sizeof address->ip];
    return memcmp(address->ip, zero, sizeof zero) == 0;
}

bool quern_address_same(const struct quern_address *a, const struct quern_address *b) {
    return a->version == b->version && memcmp(a->ip, b->ip, (size_t)bytes_of(a)) == 0;
}

bool quern_address_near(const struct quern_interface *here, const struct quern_address *there) {
    if (here->address.version != there->version) return false;
    for (uint32_t bit = 0; bit < here->network_bits; bit++)
        if ((here->address.ip[bit / 8] ^ there->ip[bit / 8]) >> (7 - bit % 8) & 1) return false;
    return true;
}

/* Those of a link alone need the link's name with them. */
static bool is_of_link(const struct quern_address *address) {
    const unsigned char *ip = address->ip;
    return address->version == 4 ? ip[0] == 169 && ip[1] == 254 : ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

/* The list has them as short and as little aligned as they are. */
static void read_name(const struct sockaddr *name, struct quern_address *address) {
    struct sockaddr_storage aligned = {0};
    memcpy(&aligned, name, name->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    quern_address_in(&aligned, address);
}

static bool read_interface(const struct ifaddrs *entry, int version, struct quern_interface *interface) {
    struct quern_address mask;
    const bool fits = entry->ifa_addr && entry->ifa_netmask && entry->ifa_addr->sa_family == (version == 4 ? AF_INET : AF_INET6) &&
                      (entry->ifa_flags & IFF_UP) && !(entry->ifa_flags & IFF_LOOPBACK);
    if (!fits) return false;
    read_name(entry->ifa_addr, &interface->address);
    read_name(entry->ifa_netmask, &mask);
    interface->address.port = 0;
    interface->network_bits = 0;
    for (int i = 0; i < bytes_of(&mask); i++) interface->network_bits += (uint32_t)__builtin_popcount(mask.ip[i]);
    return !is_of_link(&interface->address);
}

int quern_interfaces(struct quern_interface *list, int most) {
    struct ifaddrs *all;
    int count = 0;
    if (getifaddrs(&all) != 0) return -1;
    for (int version = 4; version <= 6; version += 2)
        for (const struct ifaddrs *entry = all; entry && count < most; entry = entry->ifa_next)
            count += read_interface(entry, version, &list[count]);
    freeifaddrs(all);
    if (count == 0) list[count++] = (struct quern_interface){{.version = 4, .ip = {127, 0, 0, 1}}, 8};
    return count;
}
