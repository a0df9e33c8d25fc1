/* A step of Adam on a CPU, for adam.c. */
#ifndef QUERN_ADAM_CPU_H
#define QUERN_ADAM_CPU_H

#include "adam/adam_call.h"

quern_status quern_adam_on_cpu(struct quern_adam_call *call);

#endif
