/* Traces and dumps. */
#include "runtime/status.h"

quern_status quern_trace_begin(const char *path) { (void)path; return quern_fail(NULL, QUERN_NOT_SUPPORTED, "not yet"); }
quern_status quern_trace_end(void) { return quern_fail(NULL, QUERN_NOT_SUPPORTED, "not yet"); }
quern_status quern_dump_at(quern_device *device, const quern_dump_args *args) {
    (void)args;
    return quern_fail(device, QUERN_NOT_SUPPORTED, "not yet");
}
quern_status quern_step(quern_device *device, int64_t step) { (void)step; return quern_fail(device, QUERN_NOT_SUPPORTED, "not yet"); }
