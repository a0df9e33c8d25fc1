// The driver's core: entry of API functions, fault injection, contexts of threads.
#include "libcuda.h"

#include <fnmatch.h>
#include <cstring>

namespace emulator {

Driver &driver() {
  static Driver *d = new Driver;  // never destroyed: the program may call the driver while it exits
  return *d;
}

int environment(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

bool logging() {
  static bool on = environment("QUERN_EMULATOR_LOG", 0) != 0;
  return on;
}

// ---- fault injection: QUERN_EMULATOR_FAIL=NAME:CODE[,NAME@KERNELS:CODE...] ----

namespace {

struct Alias { const char *name, *prefix; };
const Alias aliases[] = {
    {"init", "cuInit"}, {"load", "cuLibraryLoadData"}, {"load", "cuModuleLoadData"}, {"launch", "cuLaunchKernel"},
    {"alloc", "cuMemAlloc"}, {"memcpy", "cuMemcpy"}, {"memset", "cuMemset"}, {"synchronize", "cuStreamSynchronize"},
    {"synchronize", "cuCtxSynchronize"}, {"context", "cuDevicePrimaryCtxRetain"}, {"kernel", "cuLibraryGetKernel"},
};

bool matches(const std::string &name, const char *function) {
  if (name == function) return true;
  for (const Alias &a : aliases)
    if (name == a.name && !strncmp(function, a.prefix, strlen(a.prefix))) return true;
  return false;
}

// KERNELS is a glob for ARCHITECTURE/KERNEL; without it any call of the function fails.
bool matches(const std::string &item, const char *function, const std::vector<std::string> &kernels) {
  size_t at = item.find('@');
  if ((at == std::string::npos) != kernels.empty()) return false;
  for (const std::string &kernel : kernels)
    if (matches(item.substr(0, at), function) && !fnmatch(item.c_str() + at + 1, kernel.c_str(), 0)) return true;
  return kernels.empty() && matches(item, function);
}

}  // namespace

namespace {

// CODE*COUNT: only the first calls of the process fail.
int value_of(const std::string &item, const char *value) {
  static std::map<std::string, int> failed;
  const char *star = strchr(value, '*');
  return star && failed[item]++ >= atoi(star + 1) ? 0 : atoi(value);
}

}  // namespace

// Read at each call, so that a test may set and clear it.
int injected_value(const char *function, const std::vector<std::string> &kernels) {
  const char *p = getenv("QUERN_EMULATOR_FAIL");
  while (p && *p) {
    size_t n = strcspn(p, ",");
    std::string item(p, n);
    size_t colon = item.find(':');
    if (colon != std::string::npos && matches(item.substr(0, colon), function, kernels))
      return value_of(item, item.c_str() + colon + 1);
    p += n + (p[n] == ',');
  }
  return 0;
}

// ---- the k-th call fails: armed by a test through quern_emulator_fail_call ----

namespace {
struct Countdown {
  long calls, failing;  // of this thread since it was armed, and the number of the one that fails; 0: none
  int error;
  char failed[64];      // the function that failed; a copy, since cuBLAS may be unloaded
};
thread_local Countdown countdown;
}  // namespace

int counted_value(const char *function) {
  if (++countdown.calls != countdown.failing) return 0;
  snprintf(countdown.failed, sizeof countdown.failed, "%s", function);
  return countdown.error;
}

thread_local bool in_host_function;

Entry::Entry(const char *function, Need need) : lock_(driver().door, std::defer_lock) {
  if (in_host_function) {
    error_ = not_permitted;
    return;
  }
  lock_.lock();
  error_ = injected_value(function);
  if (!error_) error_ = counted_value(function);
  if (logging()) fprintf(stderr, "emulator: %s\n", function);
  if (error_ || need == nothing) return;
  if (!driver().initialized) error_ = not_initialized;
  else if (need == context) {
    Context *c = current_context();
    error_ = c ? c->error : int(invalid_context);
  }
}

// ---- contexts of the calling thread ----

namespace {
thread_local std::vector<Context *> context_stack;
}

Context *current_context() { return context_stack.empty() ? nullptr : context_stack.back(); }

void set_current_context(Context *c) {
  if (!context_stack.empty()) context_stack.pop_back();
  if (c) context_stack.push_back(c);
}

}  // namespace emulator

using namespace emulator;

API Result cuCtxSetCurrent(Context *c) {
  ENTER(initialization);
  set_current_context(c);
  return success;
}

API Result cuCtxGetCurrent(Context **c) {
  ENTER(initialization);
  *c = current_context();
  return success;
}

API Result cuCtxPushCurrent_v2(Context *c) {
  ENTER(initialization);
  if (!c) return invalid_value;
  context_stack.push_back(c);
  return success;
}
API Result cuCtxPushCurrent(Context *c) { return cuCtxPushCurrent_v2(c); }

API Result cuCtxPopCurrent_v2(Context **c) {
  ENTER(initialization);
  if (context_stack.empty()) return invalid_context;
  *c = context_stack.back();
  context_stack.pop_back();
  return success;
}

API Result cuCtxGetDevice(int *device) {
  ENTER(initialization);
  if (!current_context()) return invalid_context;
  *device = current_context()->device->ordinal;
  return success;
}

API Result cuCtxSynchronize() {
  ENTER(context);
  if (Result r = refuse_during_capture()) return r;
  if (Result r = refuse_beside_captures(*current_context())) return r;
  return run_everything(*current_context());
}

// ---- for tests ----

struct quern_emulator_statistics_t { unsigned long long launches, blocks, switches, allocations, bytes; };
struct quern_emulator_objects_t {
  long allocations, handles, reservations, mappings, imports, streams, events, libraries, references, pushed, capture_mode;
};

API void quern_emulator_statistics(quern_emulator_statistics_t *s) {
  std::lock_guard<Door> lock(driver().door);
  s->launches = statistics.launches, s->blocks = statistics.blocks, s->switches = statistics.switches;
  count_allocations(s->allocations, s->bytes);
}

#define COUNT(name, field)                         \
  API unsigned long long quern_emulator_##name() { \
    std::lock_guard<Door> lock(driver().door);     \
    return statistics.field;                       \
  }

COUNT(early_launches, early)   // kernels that have started before the one before them in the stream had ended
COUNT(reductions, reductions)  // multimem.ld_reduce instructions that threads have executed
COUNT(looks, looks)            // ordered loads that threads have executed
COUNT(waits, waits)            // looks at the word that the thread has looked at just before, without a store of its own between

// The streams of a priority that exist, default streams apart.
API long quern_emulator_streams(int priority) {
  std::lock_guard<Door> lock(driver().door);
  long count = 0;
  for (auto &d : driver().devices)
    if (d->context)
      for (auto &s : d->context->streams) count += s->priority == priority;
  return count;
}

// The objects that exist, and the state of the calling thread.
API void quern_emulator_objects(quern_emulator_objects_t *o) {
  std::lock_guard<Door> lock(driver().door);
  unsigned long long allocations, bytes;
  count_allocations(allocations, bytes);
  count_virtual(o->reservations, o->mappings);
  o->allocations = long(allocations), o->handles = count_handles(), o->imports = count_imports();
  o->streams = Counted<Stream>::count, o->events = Counted<Event>::count, o->libraries = Counted<Library>::count;
  o->references = 0, o->pushed = long(context_stack.size()), o->capture_mode = capture_mode_of_thread();
  for (auto &d : driver().devices) o->references += d->context ? d->context->references : 0;
}

// From now on the call with this number, of the calling thread, fails with the error.  0: none.
API void quern_emulator_fail_call(long number, int error) { countdown = {0, number, error, {}}; }

// The calls of the thread since then, and the function that failed, or null.
API long quern_emulator_calls(const char **failed) {
  *failed = *countdown.failed ? countdown.failed : nullptr;
  return countdown.calls;
}

// For libraries upon the driver, whose calls are counted with the driver's.
API int quern_emulator_enter(const char *function) { return counted_value(function); }
