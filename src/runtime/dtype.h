/* What data types are, beside the functions of quern.h. */
#ifndef QUERN_DTYPE_H
#define QUERN_DTYPE_H

#include <stdbool.h>

#include "quern.h"

/* The types of logits, parameters and gradients, and those of labels and metadata; each list is closed by QUERN_NO_DTYPE. */
extern const quern_dtype quern_floats[], quern_integers[];

bool quern_is_float(quern_dtype dtype);

/* Whether moments of a type have a scale for each QUERN_SCALE_BLOCK elements. */
bool quern_is_scaled(quern_dtype dtype);

#endif
