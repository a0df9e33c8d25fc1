/*
 * Each field of Adam's calls, by the table of tests/fields/adam.h: rubbish in ignored fields changes nothing, illegal values are
 * refused with a detail that names the field, buffers are aligned and apart.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include "fields/adam.h"

Test(fields_adam, each_call) {
    fields_open(QUERN_ADAM);
    for (size_t i = 0; i < sizeof adam_calls / sizeof *adam_calls; i++)
        for (const struct call *call = adam_calls[i]; call->name; call++) {
            fields_walk(call);
            destroy_plans();
        }
    fields_close();
}
