/* Overlaps between the arrays of a list of tensors, and of other buffers of a call with them.  For all of src/adam. */
#ifndef QUERN_ADAM_APART_H
#define QUERN_ADAM_APART_H

#include "adam/adam_list.h"
#include "runtime/pieces.h"

/* Fails if two tensors share memory that the arguments write, or another buffer shares memory with them or with one another. */
quern_status quern_adam_check_apart(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list,
                                    const struct quern_range *others, int count);

/* The same for a list of any length.  Allocates memory while it works. */
quern_status quern_adam_check_long_apart(const quern_device *device, const quern_adam_args *args,
                                         const struct quern_adam_list *list, const struct quern_range *others, int count);

/* Checks the tensors of a plan against each other and stores their pieces in the plan. */
quern_status quern_adam_keep_pieces(struct quern_adam_plan *plan);

/* Checks other buffers of a call against the pieces of a plan, and against each other. */
quern_status quern_adam_check_against_plan(const quern_device *device, const struct quern_adam_plan *plan,
                                           const struct quern_range *others, int count);

#endif
