/* A quantisation on the threads of a CPU.  For its public functions. */
#ifndef QUERN_QUANTIZE_CPU_H
#define QUERN_QUANTIZE_CPU_H

#include "quantize/quantize_call.h"

/* Runs the steps of a call. */
quern_status quern_quantize_on_cpu(struct quern_quantize_call *call);

#endif
