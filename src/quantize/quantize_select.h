/* The choice of the kernels of a quantisation.  For its public functions, and for the quantised chunks of src/ranks. */
#ifndef QUERN_QUANTIZE_SELECT_H
#define QUERN_QUANTIZE_SELECT_H

#include "quantize/quantize_call.h"

/* Selects the kernels of the call's steps. */
quern_status quern_quantize_select(struct quern_quantize_call *call);

/* The kernel that finds largest magnitudes. */
quern_status quern_quantize_select_amax(quern_device *device, quern_dtype input, const struct quern_ready_kernel **chosen);

#endif
