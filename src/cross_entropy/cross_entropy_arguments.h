/* Checks of the arguments of cross-entropy.  For all its public functions. */
#ifndef QUERN_CROSS_ENTROPY_ARGUMENTS_H
#define QUERN_CROSS_ENTROPY_ARGUMENTS_H

#include "cross_entropy/cross_entropy_call.h"
#include "runtime/ranges.h"

/* Fills in the defaults and checks everything but pointers: enough to compute the size of the workspace. */
quern_status quern_cross_entropy_check(const quern_device *device, const quern_cross_entropy_args *given,
                                       quern_cross_entropy_args *args);

/* Checks the arguments of one step after they have passed the above. */
quern_status quern_cross_entropy_check_step(const struct quern_cross_entropy_call *call);

/* Lists the buffers that a step uses, without the workspace.  Returns their number, less than QUERN_CROSS_ENTROPY_RANGES. */
enum { QUERN_CROSS_ENTROPY_RANGES = 14 };
int quern_cross_entropy_list_ranges(const struct quern_cross_entropy_call *call, struct quern_range *ranges);

/* Checks that no buffer that a step writes overlaps another one. */
quern_status quern_cross_entropy_check_apart(const struct quern_cross_entropy_call *call, const void *workspace, size_t bytes);

/* Whether an option is on that only full kernels implement. */
bool quern_cross_entropy_is_full(const quern_cross_entropy_args *args);

#endif
