// The real clock, or a virtual one, which moves when a kernel reads it and while no kernel can go on.
#include "clock.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace emulator {

namespace {

constexpr u64 read_takes = 100, virtual_rest = 10 * 1000 * 1000;  // nanoseconds
constexpr u64 longest_rest = 2 * 1000 * 1000;  // a longer one: the core had other work, and so had those that a kernel waits for

bool is_virtual() {
  static const char *text = getenv("QUERN_EMULATOR_CLOCK");
  return text && !strcmp(text, "virtual");
}

u64 real_time() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return u64(now.tv_sec) * 1000000000 + u64(now.tv_nsec);
}

u64 virtual_time = real_time();

}  // namespace

u64 device_time() { return is_virtual() ? virtual_time += read_takes : real_time(); }

u64 rest_passes(u64 elapsed) {
  if (!is_virtual()) return std::min(elapsed, longest_rest);
  virtual_time += virtual_rest;
  return virtual_rest;
}

}  // namespace emulator
