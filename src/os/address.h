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

/* Writes the same, or without a port the address alone. */
void quern_address_write(const struct quern_address *address, bool port, char text[QUERN_ADDRESS_TEXT]);

/* To and from the system's form.  The first returns its bytes; 0: the address is none. */
unsigned quern_address_out(const struct quern_address *address, struct sockaddr_storage *system);
bool quern_address_in(const struct sockaddr_storage *system, struct quern_address *address);

/* The address of this machine from which another one is reached, with port 0.  Sends nothing.  False: errno says why. */
bool quern_address_towards(const struct quern_address *there, struct quern_address *here);

#endif
