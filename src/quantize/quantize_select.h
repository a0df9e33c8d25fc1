/* The choice of the kernels of a quantisation.  For its public functions. */
#ifndef QUERN_QUANTIZE_SELECT_H
#define QUERN_QUANTIZE_SELECT_H

#include "quantize/quantize_call.h"

/* Selects the kernels of the call's steps. */
quern_status quern_quantize_select(struct quern_quantize_call *call);

#endif
