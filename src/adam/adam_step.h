/* The scalars of a step, for adam.c. */
#ifndef QUERN_ADAM_STEP_H
#define QUERN_ADAM_STEP_H

#include "adam/adam_call.h"

/* Fills in control, rates and step of a call from its arguments. */
void quern_adam_fill_step(struct quern_adam_call *call);

#endif
