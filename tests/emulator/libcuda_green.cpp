// Green contexts: parts of a primary context, here without multiprocessors of their own.  Only their streams differ: they name the
// green context as theirs.
#include "libcuda.h"

namespace emulator {

struct GreenContext {
  Context *primary;
};

}  // namespace emulator

using namespace emulator;

API Result cuGreenCtxCreate(GreenContext **out, void *, int device, unsigned flags) {
  ENTER(initialization);
  constexpr unsigned default_stream = 1;
  if (!out || flags != default_stream) return invalid_value;
  Device *d = device_of(device);
  if (!d) return invalid_device;
  if (!d->context) return invalid_context;  // a real driver makes it, at a price; no test needs that
  *out = new GreenContext{d->context.get()};
  return success;
}

API Result cuGreenCtxStreamCreate(Stream **out, GreenContext *green, unsigned flags, int priority) {
  ENTER(initialization);
  constexpr unsigned non_blocking = 1;
  if (!out || !green || flags != non_blocking) return invalid_value;
  *out = make_stream(*green->primary, flags, priority);
  (*out)->green = green;
  return success;
}

API Result cuGreenCtxDestroy(GreenContext *green) {
  ENTER(initialization);
  if (!green) return invalid_value;
  delete green;
  return success;
}
