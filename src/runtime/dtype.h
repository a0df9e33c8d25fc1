/* The properties of data types that quern.h does not publish.  For the checks of arguments. */
#ifndef QUERN_DTYPE_H
#define QUERN_DTYPE_H

#include <stdbool.h>

#include "quern.h"

/* The types of logits, parameters and gradients; of 8 bits; of labels and metadata.  Each list ends with QUERN_NO_DTYPE. */
extern const quern_dtype quern_floats[], quern_narrow_floats[], quern_integers[];

bool quern_is_float(quern_dtype dtype);

/* Whether moments of a type have one scale for each QUERN_SCALE_BLOCK elements. */
bool quern_is_scaled(quern_dtype dtype);

#endif
