/* What a quantisation shows of its tensors to those who look: see runtime/look.h.  For quantize.c. */
#ifndef QUERN_QUANTIZE_SHOW_H
#define QUERN_QUANTIZE_SHOW_H

#include "runtime/look.h"

/* The view of the function that does these steps (QUERN_QUANTIZE_FINDS, ...), of a struct quern_quantize_call. */
const struct quern_view *quern_quantize_view(int steps);

#endif
