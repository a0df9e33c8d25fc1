/* Checks of each tensor of a list.  For quern_adam, plans and saved states. */
#ifndef QUERN_ADAM_TENSORS_H
#define QUERN_ADAM_TENSORS_H

#include "adam/adam_list.h"

quern_status quern_adam_check_tensors(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list);

#endif
