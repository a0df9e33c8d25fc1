/* Addresses of TCP over IPv4 and IPv6, in one form that can be sent as it is.  For src/ranks. */
#ifndef QUERN_ADDRESS_H
#define QUERN_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr_storage;

struct quern_address {
    uint16_t version;      /* 4 or 6; 0: none */
    uint16_t port;
    unsigned char ip[16];  /* of IPv4 the first 4 */
};

enum { QUERN_ADDRESS_TEXT = 56 };

/* Reads "10.77.0.1:4711" or "[fd00::1]:4711".  False: it is neither, or the port is 0. */
bool quern_address_read(const char *text, struct quern_address *address);

/* Reads an address without a port: "10.77.0.1" or "fd00::1". */
bool quern_address_read_alone(const char *text, struct quern_address *address);

/* Writes the same, or without a port the address alone. */
void quern_address_write(const struct quern_address *address, bool port, char text[QUERN_ADDRESS_TEXT]);

/*
 * To and from the system's form.  The first returns its bytes; 0: the address is none.  An address of IPv4 on a socket of IPv6 is
 * one of IPv4: hosts without IPv6 can use it, too.
 */
unsigned quern_address_out(const struct quern_address *address, struct sockaddr_storage *system);
bool quern_address_in(const struct sockaddr_storage *system, struct quern_address *address);

/* Two ports, of which the first is not above the last. */
struct quern_ports {
    uint16_t first, last;
};

/* Reads "20000-20063".  False: it is something else. */
bool quern_ports_read(const char *text, struct quern_ports *ports);

/* The address of this machine from which another one is reached, with port 0.  Sends nothing.  False: errno says why. */
bool quern_address_towards(const struct quern_address *there, struct quern_address *here);

/* An address of this machine, and how many of its first bits all addresses of its network have. */
struct quern_interface {
    struct quern_address address;
    uint32_t network_bits;
};

/*
 * The addresses of this machine at which others may reach it, those of IPv4 first; if there are none, its loopback address.
 * Returns their number, at most `most`; -1: errno says why.
 */
int quern_interfaces(struct quern_interface *list, int most);

/* Any address of this machine.  With version 6 those of IPv4, too. */
struct quern_address quern_address_any(int version);
bool quern_address_is_any(const struct quern_address *address);

bool quern_address_same(const struct quern_address *a, const struct quern_address *b);  /* whatever the ports */
bool quern_address_near(const struct quern_interface *here, const struct quern_address *there);  /* in the same network */

#endif
