/* The properties of data types that quern.h does not publish.  For the checks of arguments. */
#ifndef QUERN_DTYPE_H
#define QUERN_DTYPE_H

#include <stdbool.h>

#include "quern.h"

/* All types; those of logits, parameters and gradients; of 8 bits; of labels and metadata.  Each list ends with QUERN_NO_DTYPE. */
extern const quern_dtype quern_dtypes[], quern_floats[], quern_narrow_floats[], quern_integers[];

/* Of the exponent; 0: an element has no value of its own. */
int quern_exponent_bits(quern_dtype dtype);

bool quern_is_float(quern_dtype dtype);
bool quern_is_narrow(quern_dtype dtype);

/* Whether moments of a type have one scale for each QUERN_SCALE_BLOCK elements. */
bool quern_is_scaled(quern_dtype dtype);

#endif
