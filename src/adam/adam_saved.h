/* The layout of a saved state, documented in quern.h.  For adam_saved.c and adam_load.c. */
#ifndef QUERN_ADAM_SAVED_H
#define QUERN_ADAM_SAVED_H

#include "adam/adam_list.h"
#include "runtime/ranges.h"

struct quern_adam_saved_header {
    char magic[8];
    uint32_t version;
    uint32_t param, m, v, master;      /* quern_dtype */
    uint32_t amsgrad;
    int64_t tensor_count;
    int64_t step;
    uint64_t seed;
    uint64_t zero;
};

/* The arrays of a tensor, in their order. */
enum quern_adam_saved_part {
    QUERN_SAVED_M,
    QUERN_SAVED_M_SCALE,
    QUERN_SAVED_V,
    QUERN_SAVED_V_SCALE,
    QUERN_SAVED_V_MAX,
    QUERN_SAVED_V_MAX_SCALE,
    QUERN_SAVED_PARAM,                 /* the upper halves of masters, of which the remainders are the lower ones */
    QUERN_SAVED_MASTER,
    QUERN_SAVED_PARTS
};

/* The properties that determine which arrays a state has, and their types. */
struct quern_adam_saved_form {
    quern_dtype m, v, master;
    bool amsgrad;
    bool steps;                        /* one of each tensor: version 2 */
};

struct quern_adam_saved_form quern_adam_saved_form_of(const quern_adam_args *args);

/* The bytes of an array; 0: the state does not have it. */
size_t quern_adam_saved_part_bytes(const struct quern_adam_saved_form *form, enum quern_adam_saved_part part, int64_t count);

/* An array of a tensor. */
void *quern_adam_saved_part_of(const quern_adam_tensor *tensor, enum quern_adam_saved_part part);

/* The padded size of an array. */
size_t quern_adam_saved_room(size_t bytes);

/* The bytes before the arrays of the first tensor. */
size_t quern_adam_saved_head(const struct quern_adam_saved_form *form, int64_t tensors);

/* Checks the arguments and tensors of the three public functions.  Gradients and copies are ignored. */
quern_status quern_adam_saved_check(const quern_device *device, const quern_adam_args *given, quern_adam_args *args);

/* Checks that the saved bytes are no part of the tensors, whose arrays are apart. */
quern_status quern_adam_saved_check_apart(const quern_device *device, const quern_adam_args *args, const void *saved, size_t bytes,
                                          enum quern_access access);

/* The bytes of a whole state, hash included, for a form and a list of tensors. */
quern_status quern_adam_saved_size(const quern_device *device, const struct quern_adam_saved_form *form,
                                   const struct quern_adam_list *list, size_t *bytes);

#endif
