// The time of devices: %globaltimer, %clock64, events, and the limits on kernels (QUERN_EMULATOR_CLOCK).
#pragma once
#include "../emulator.h"

namespace emulator {

u64 device_time();             // nanoseconds
u64 rest_passes(u64 elapsed);  // after a rest of so many nanoseconds in which no kernel could go on: how many count as idle time

}  // namespace emulator
