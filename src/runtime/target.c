/* Decides whether code for a target runs on a device.  Called when kernels are prepared, explained and reported. */
#include "runtime/target.h"

#include "os/text.h"
#include "runtime/cpu_features.h"

bool quern_has_no_code(const struct quern_kernel *kernel) {
    return kernel->target.kind == QUERN_CUDA && kernel->cuda.image->packed == kernel->cuda.image->packed_end;
}

static bool cpu_target_refused(const quern_device *device, const struct quern_target *target, struct quern_text *why) {
    uint32_t missing = target->cpu_features & ~device->cpu_features;
    if (!missing) return false;
    quern_text_add(why, "this processor or its operating system lacks %s", quern_name_cpu_features(missing));
    return true;
}

bool quern_target_has_capability(const quern_device *device, const struct quern_target *target) {
    return device->compute_capability >= target->cc_min && device->compute_capability <= target->cc_max;
}

bool quern_driver_is_too_old(const quern_device *device, const struct quern_target *target) {
    return device->driver < target->images->driver;
}

static bool cuda_target_refused(const quern_device *device, const struct quern_target *target, struct quern_text *why) {
    const int has = device->compute_capability, driver = device->driver, needed = target->images->driver;
    if (quern_target_has_capability(device, target)) {
        if (!quern_driver_is_too_old(device, target)) return false;
        quern_text_add(why, "needs a driver for CUDA %d.%d, this one is for CUDA %d.%d", needed / 1000, needed % 1000 / 10,
                       driver / 1000, driver % 1000 / 10);
        return true;
    }
    quern_text_add(why, "needs compute capability %d.%d", target->cc_min / 10, target->cc_min % 10);
    if (target->cc_max > 999)
        quern_text_add(why, " or newer");
    else if (target->cc_max > target->cc_min)
        quern_text_add(why, " to %d.%d", target->cc_max / 10, target->cc_max % 10);
    quern_text_add(why, ", this device has %d.%d", has / 10, has % 10);
    return true;
}

bool quern_target_refused(const quern_device *device, const struct quern_target *target, char *buffer, size_t bytes) {
    struct quern_text why = quern_text_begin(buffer, bytes);
    if (target->kind != device->kind) {
        quern_text_add(&why, target->kind == QUERN_CPU ? "runs on a CPU" : "runs on a CUDA device");
        return true;
    }
    return (device->kind == QUERN_CPU ? cpu_target_refused : cuda_target_refused)(device, target, &why);
}
