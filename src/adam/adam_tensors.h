/* The arrays of each tensor of a list, and their checks.  For quern_adam, plans and saved states. */
#ifndef QUERN_ADAM_TENSORS_H
#define QUERN_ADAM_TENSORS_H

#include <string.h>

#include "adam/adam_list.h"
#include "os/integers.h"
#include "runtime/ranges.h"

/* An array, or a number in device memory, of each tensor. */
struct quern_adam_part {
    const char *name;
    size_t offset;             /* of the pointer in a tensor */
    size_t element;            /* bytes; 0: not used */
    enum quern_access access;
    bool is_scale;             /* one element for each block of the tensor's */
    bool is_number;            /* one element */
};

enum { QUERN_ADAM_PARTS = 10 };

struct quern_adam_parts {
    struct quern_adam_part list[QUERN_ADAM_PARTS];
    int count;
};

/* The arrays that a call uses.  Made once for all tensors, since there may be many small ones. */
struct quern_adam_parts quern_adam_list_parts(const quern_adam_args *args);

static inline const void *quern_adam_part_pointer(const quern_adam_tensor *tensor, const struct quern_adam_part *part) {
    const void *pointer;
    memcpy(&pointer, (const char *)tensor + part->offset, sizeof pointer);
    return pointer;
}

static inline int64_t quern_adam_part_bytes(const struct quern_adam_part *part, int64_t count) {
    const int64_t elements = part->is_number ? 1 : part->is_scale ? quern_divide_up(count, QUERN_SCALE_BLOCK) : count;
    return elements * (int64_t)part->element;
}

/* Checks each tensor for itself. */
quern_status quern_adam_check_tensors(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list);

/* Checks the gradients that replace those of a plan, each with the other arrays of its tensor. */
quern_status quern_adam_check_new_grads(const quern_device *device, const quern_adam_args *args,
                                        const struct quern_adam_list *list);

#endif
