/* A quantisation on a GPU.  For its public functions. */
#ifndef QUERN_QUANTIZE_CUDA_H
#define QUERN_QUANTIZE_CUDA_H

#include "quantize/quantize_call.h"

/* Launches the steps of a call. */
quern_status quern_quantize_on_cuda(struct quern_quantize_call *call);

#endif
