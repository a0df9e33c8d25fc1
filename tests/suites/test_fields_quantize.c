/*
 * Each field of a quantisation, by the table of tests/fields/quantize.h: rubbish in ignored fields changes nothing, illegal values
 * are refused with a detail that names the field, buffers are aligned and apart.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include "fields/quantize.h"

Test(fields_quantize, each_call) {
    fields_open(QUERN_QUANTIZE);
    for (size_t i = 0; i < sizeof quantize_calls / sizeof *quantize_calls; i++)
        for (const struct call *call = quantize_calls[i]; call->name; call++) {
            fields_walk(call);
            destroy_plans();
        }
    fields_close();
}
