/* Checks of the arguments of cross-entropy.  For all its public functions. */
#ifndef QUERN_CROSS_ENTROPY_ARGUMENTS_H
#define QUERN_CROSS_ENTROPY_ARGUMENTS_H

#include "cross_entropy/cross_entropy_call.h"
#include "runtime/ranges.h"

/* Fills in the defaults and checks everything but pointers: enough to compute the size of the workspace. */
quern_status quern_cross_entropy_check(const quern_device *device, const quern_cross_entropy_args *given,
                                       quern_cross_entropy_args *args);

/* The buffers that a step uses, without the workspace, and room for those of the layer. */
enum { QUERN_CROSS_ENTROPY_RANGES = 20 };
struct quern_cross_entropy_ranges {
    struct quern_range list[QUERN_CROSS_ENTROPY_RANGES];
    int count;
};

/* Checks the arguments of one step after they have passed the above, and lists its buffers for quern_check_apart. */
quern_status quern_cross_entropy_check_step(const struct quern_cross_entropy_call *call,
                                            struct quern_cross_entropy_ranges *ranges);

/* Only lists the buffers. */
void quern_cross_entropy_list_ranges(const struct quern_cross_entropy_call *call, struct quern_cross_entropy_ranges *ranges);

/* Whether an option is on that only full kernels implement. */
bool quern_cross_entropy_is_full(const quern_cross_entropy_args *args);

#endif
