/* The types that a step of Adam can have.  For the checks of arguments, kernel packs and saved states. */
#ifndef QUERN_ADAM_LEGALITY_H
#define QUERN_ADAM_LEGALITY_H

#include <stdbool.h>

#include "quern.h"

/* The arrays of a step, in the order of their types in a kernel's key.  The type of the copy is not in the key. */
enum quern_adam_role { QUERN_ADAM_PARAM, QUERN_ADAM_GRAD, QUERN_ADAM_M, QUERN_ADAM_V, QUERN_ADAM_MASTER, QUERN_ADAM_COPY };

/* Whether an array can have a type.  For QUERN_NO_DTYPE: whether it can be missing. */
bool quern_adam_can_be(enum quern_adam_role role, quern_dtype dtype);

/* Whether parameters of a type can have a master copy of a type.  For QUERN_NO_DTYPE: whether they can have no master copy. */
bool quern_adam_completes(quern_dtype master, quern_dtype param);

/* Checks the types of the arguments. */
quern_status quern_adam_check_dtypes(const quern_device *device, const quern_adam_args *args);

#endif
