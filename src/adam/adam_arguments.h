/* Checks of the arguments of Adam, without its tensors.  For quern_adam, plans and saved states. */
#ifndef QUERN_ADAM_ARGUMENTS_H
#define QUERN_ADAM_ARGUMENTS_H

#include "quern.h"

/* Copies arguments of this or an older header into this header's struct. */
quern_status quern_adam_take(const quern_device *device, const quern_adam_args *given, quern_adam_args *args);

/* Checks types, options and the list without its tensors.  Plans and saved states depend only on these. */
quern_status quern_adam_check_form(const quern_device *device, const quern_adam_args *args);

/* Checks the other arguments of quern_adam: scalars, control and the plan. */
quern_status quern_adam_check_step(const quern_device *device, const quern_adam_args *args);

/* Checks that the plan was made with the types and options of the arguments. */
quern_status quern_adam_check_plan(const quern_device *device, const quern_adam_args *args);

#endif
