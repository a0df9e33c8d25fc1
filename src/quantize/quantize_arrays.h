/* The arrays of a list of tensors that are quantised.  For the checks of calls and plans. */
#ifndef QUERN_QUANTIZE_ARRAYS_H
#define QUERN_QUANTIZE_ARRAYS_H

#include "quantize/quantize_call.h"

#define QUERN_QUANTIZE_LIST "args.tensors"  /* in details */

/* What decides which arrays of a tensor a call uses. */
struct quern_quantize_use {
    int64_t element;                   /* bytes of one of the input */
    int steps;
    bool in_blocks;
};

/* Arrays that a list of `count` tensors has at most. */
int64_t quern_quantize_most_arrays(int64_t count, struct quern_quantize_form form);

/* Lists the arrays of all tensors that have elements. */
int64_t quern_quantize_ranges(const struct quern_quantize_list *list, int64_t count, const struct quern_quantize_use *use,
                              struct quern_range *to);

/* Checks the arrays of a tensor with elements: not NULL, aligned, apart from each other. */
quern_status quern_quantize_check_tensor(const quern_device *device, const quern_quantize_tensor *tensor, int64_t place,
                                         const struct quern_quantize_use *use);

/* Checks that other buffers of a call are apart from the arrays of each tensor of a list. */
quern_status quern_quantize_check_others(const quern_device *device, const struct quern_quantize_list *list, int64_t count,
                                         const struct quern_quantize_use *use, const struct quern_range *others, int other_count);

#endif
