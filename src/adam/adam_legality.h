/* The types that the step of Adam can have. */
#ifndef QUERN_ADAM_LEGALITY_H
#define QUERN_ADAM_LEGALITY_H

#include <stdbool.h>

#include "quern.h"

/* The arrays of the step, in the order in which a kernel's key has their types.  The copy is in no key. */
enum quern_adam_role { QUERN_ADAM_PARAM, QUERN_ADAM_GRAD, QUERN_ADAM_M, QUERN_ADAM_V, QUERN_ADAM_MASTER, QUERN_ADAM_COPY };

/* Whether an array can have a type; QUERN_NO_DTYPE: whether it can be missing. */
bool quern_adam_can_be(enum quern_adam_role role, quern_dtype dtype);

/* Whether there can be such a master copy, or none, of such parameters. */
bool quern_adam_completes(quern_dtype master, quern_dtype param);

/* Checks the types of the arguments. */
quern_status quern_adam_check_dtypes(const quern_device *device, const quern_adam_args *args);

#endif
