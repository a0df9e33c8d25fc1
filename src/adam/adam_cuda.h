/* A step of Adam on a GPU, for adam.c. */
#ifndef QUERN_ADAM_CUDA_H
#define QUERN_ADAM_CUDA_H

#include "adam/adam_call.h"

quern_status quern_adam_on_cuda(struct quern_adam_call *call);

#endif
