/*
 * Each field of the calls on gradients, by the table of tests/fields/gradients.h: rubbish in ignored fields changes nothing,
 * illegal values are refused with a detail that names the field, buffers are aligned and apart.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include "fields/gradients.h"

Test(fields_gradients, each_call) {
    fields_open(QUERN_ADAM);
    for (size_t i = 0; i < sizeof gradient_calls / sizeof *gradient_calls; i++)
        for (const struct call *call = gradient_calls[i]; call->name; call++) {
            fields_walk(call);
            destroy_plans();
        }
    fields_close();
}
