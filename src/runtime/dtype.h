/* What data types are, beside the functions of quern.h. */
#ifndef QUERN_DTYPE_H
#define QUERN_DTYPE_H

#include <stdbool.h>

#include "quern.h"

/* Those that logits, parameters and gradients can have; closed by QUERN_NO_DTYPE. */
extern const quern_dtype quern_floats[];

bool quern_is_float(quern_dtype dtype);

/* Whether moments of a type have a scale for each QUERN_SCALE_BLOCK elements. */
bool quern_is_scaled(quern_dtype dtype);

#endif
