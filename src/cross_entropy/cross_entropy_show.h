/* What calls of cross-entropy show of their tensors to those who look: see runtime/look.h.  For the public functions. */
#ifndef QUERN_CROSS_ENTROPY_SHOW_H
#define QUERN_CROSS_ENTROPY_SHOW_H

#include "cross_entropy/cross_entropy_call.h"
#include "runtime/look.h"

extern const struct quern_view quern_cross_entropy_views[QUERN_STEPS];  /* of a struct quern_cross_entropy_call */

#endif
