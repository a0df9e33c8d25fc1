/* Checks of the arguments of an accumulation.  For quern_accumulate and its plans. */
#ifndef QUERN_ACCUMULATE_ARGUMENTS_H
#define QUERN_ACCUMULATE_ARGUMENTS_H

#include "adam/gradients.h"

/* Copies arguments of this or an older header into this header's struct, with a main_dtype. */
quern_status quern_accumulate_take(const quern_device *device, const quern_accumulate_args *given, quern_accumulate_args *args);

/* The arrays that a call with these arguments uses. */
struct quern_gradient_access quern_accumulate_access(const quern_accumulate_args *args);

/* Checks what a plan depends on: types, zero_grads and the list, which it returns.  is_grouped: with its groups. */
quern_status quern_accumulate_check_list(const quern_device *device, const quern_accumulate_args *args, bool is_grouped,
                                         struct quern_gradient_list *list);

/* Checks that the plan was made for these arguments. */
quern_status quern_accumulate_check_plan(const quern_device *device, const quern_accumulate_args *args);

#endif
