/* Checks of the arguments of a quantisation.  For the public functions on calls and plans. */
#ifndef QUERN_QUANTIZE_ARGUMENTS_H
#define QUERN_QUANTIZE_ARGUMENTS_H

#include "quantize/quantize_call.h"

/* Checks the struct's size and copies it.  What an older header does not have is 0. */
quern_status quern_quantize_take(const quern_device *device, const quern_quantize_args *given, quern_quantize_args *args);

/* Checks everything but the arrays of the call: what a workspace depends on.  The call has its device and steps. */
quern_status quern_quantize_check(struct quern_quantize_call *call, const quern_quantize_args *args);

/* Checks the numbers on which a scale and the rounding depend. */
quern_status quern_quantize_check_scale(const quern_device *device, double eps, int32_t power_of_two, quern_rounding rounding);

/* Checks the arrays of the call, whose workspace has so many bytes. */
quern_status quern_quantize_check_arrays(const struct quern_quantize_call *call, const void *workspace, size_t bytes);

/* Checks what a plan depends on: the dtypes, the scaling and the list.  Also finds how it is cast. */
quern_status quern_quantize_check_list(const quern_device *device, const quern_quantize_args *args, int steps,
                                       struct quern_quantize_form *form);

#endif
