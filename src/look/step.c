/* quern_step: tells those who look at a device which step begins. */
#include "runtime/look.h"
#include "runtime/status.h"

quern_status quern_step(quern_device *device, int64_t step) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    __atomic_store_n(&device->step, step, __ATOMIC_RELAXED);
    __atomic_store_n(&device->has_step, true, __ATOMIC_RELEASE);
    return quern_look_step(device, step);
}
