/* The way of sockets, which is always there. */
#ifndef QUERN_SOCKET_ROW_H
#define QUERN_SOCKET_ROW_H

#include "ranks/hosts/rows.h"

extern const struct quern_data_row quern_socket_row;

#endif
