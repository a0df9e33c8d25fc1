/* The multicast object of an allocation on GPUs.  For symmetric_cuda.c. */
#ifndef QUERN_SYMMETRIC_MULTICAST_H
#define QUERN_SYMMETRIC_MULTICAST_H

#include "ranks/symmetric/symmetric_cuda_state.h"

enum { QUERN_FIRST_WITH_MULTICAST = 90 /* compute capability */ };

CUmulticastObjectProp quern_multicast_properties(const struct quern_membership *member, size_t bytes);

/* The steps, in this order.  A failure is a reason against multicast. */
quern_status quern_check_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_make_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_join_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_bind_multicast(struct quern_symmetric_memory *memory, const struct quern_membership *member);

/* Unmaps and unbinds what the steps have made.  The addresses stay reserved. */
void quern_close_multicast(struct quern_symmetric_memory *memory);

#endif
