/* Shows collectives to the trace and the dump. */
#ifndef QUERN_COLLECTIVE_SHOW_H
#define QUERN_COLLECTIVE_SHOW_H

#include "runtime/look.h"

extern const struct quern_view quern_all_gather_view, quern_reduce_scatter_view, quern_all_reduce_view, quern_broadcast_view;

#endif
