/* quern_step: tells those who look at a device which step begins. */
#include "runtime/look.h"
#include "runtime/status.h"

quern_status quern_step(quern_device *device, int64_t step) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    device->step = step;
    device->has_step = true;
    return quern_look_step(device, step);
}
