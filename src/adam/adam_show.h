/* What a step of Adam shows of its tensors to those who look: see runtime/look.h.  For adam.c. */
#ifndef QUERN_ADAM_SHOW_H
#define QUERN_ADAM_SHOW_H

#include "runtime/look.h"

extern const struct quern_view quern_adam_view;  /* of a struct quern_adam_call */

#endif
