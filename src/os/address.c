/* Reads, writes and converts addresses.  Called where the hosts of a group meet. */
#define _GNU_SOURCE
#include "os/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
    return is_four || system->ss_family == AF_INET6;
}

/* A datagram socket that is connected knows its own address, and nothing was sent. */
bool quern_address_towards(const struct quern_address *there, struct quern_address *here) {
    struct sockaddr_storage name;
    socklen_t bytes = quern_address_out(there, &name), room = sizeof name;
    const int probe = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool found = probe >= 0 && connect(probe, (struct sockaddr *)&name, bytes) == 0 &&
                       getsockname(probe, (struct sockaddr *)&name, &room) == 0 && quern_address_in(&name, here);
    const int reason = errno;
    if (probe >= 0) close(probe);
    errno = reason;
    here->port = 0;
    return found;
}
