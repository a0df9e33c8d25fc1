/* The transports of GPUs of one host, for the table in form.c. */
#ifndef QUERN_CUDA_TRANSPORT_H
#define QUERN_CUDA_TRANSPORT_H

#include "ranks/membership.h"

extern const struct quern_transport quern_cuda_transport, quern_pinned_transport;

#endif
