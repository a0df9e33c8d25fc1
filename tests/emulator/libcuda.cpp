// The driver's core: entry of API functions, and the execution of pending operations.
#include "libcuda.h"

#include <algorithm>
#include <cstring>

namespace emulator {

Driver &driver() {
  static Driver *d = new Driver;  // never destroyed: the program may call in while it exits
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

// ---- fault injection: QUERN_EMULATOR_FAIL=NAME:CODE[,NAME:CODE...] ----

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

}  // namespace

// Read at each call, so that a test may set and clear it.
int injected_value(const char *function) {
  const char *p = getenv("QUERN_EMULATOR_FAIL");
  while (p && *p) {
    size_t n = strcspn(p, ",");
    std::string item(p, n);
    size_t colon = item.find(':');
    if (colon != std::string::npos && matches(item.substr(0, colon), function)) return atoi(item.c_str() + colon + 1);
    p += n + (p[n] == ',');
  }
  return 0;
}

Entry::Entry(const char *function, Need need) : lock_(driver().mutex) {
  error_ = injected_value(function);
  if (logging()) fprintf(stderr, "emulator: %s\n", function);
  if (error_ || need == nothing) return;
  if (!driver().initialized) error_ = not_initialized;
  else if (need == context) {
    Context *c = current_context();
    error_ = c ? c->error : int(invalid_context);
  }
}

// ---- execution ----

namespace {

bool ready(const Operation &op) {
  return !op.started && std::all_of(op.after.begin(), op.after.end(), [](const OperationRef &d) { return d->done; });
}

void finish(Operation &op, int error) {
  op.done = true;
  op.finished = std::chrono::steady_clock::now();
  if (op.grid) after_all(&op.sync_tag, [&] { op.grid = nullptr; });
  op.after.clear();
  Context *c = op.device->context.get();
  if (error && c && !c->error) c->error = error;
}

void start(Operation &op) {
  Context *c = op.device->context.get();
  op.started = true;
  op.history.begin();
  int error = 0;
  {
    History::Scope in_history(op.history);
    for (auto &d : op.after) happens_after(&d->sync_tag);
    bool failed = !c || c->error;  // work behind a failure never runs
    if (op.grid && !failed) {
      op.grid->history = &op.history, op.grid->sync_tag = &op.sync_tag;
      start_grid(op.grid.get());
      return;
    }
    if (op.action && !failed) error = op.action();
    happens_before(&op.sync_tag);
  }
  finish(op, error);
}

// What `target` depends on, in order of issue. It never changes once issued.
std::vector<OperationRef> closure_of(const OperationRef &target) {
  std::set<Operation *> found;
  std::vector<Operation *> todo{target.get()};
  while (!todo.empty()) {
    Operation *o = todo.back();
    todo.pop_back();
    if (o->done || !found.insert(o).second) continue;
    for (auto &d : o->after) todo.push_back(d.get());
  }
  std::vector<OperationRef> ordered;
  for (auto &op : driver().pending)
    if (found.count(op.get())) ordered.push_back(op);
  return ordered;
}

void retire_finished() {
  auto &running = driver().running;
  for (size_t i = 0; i < running.size(); i++) {
    OperationRef op = running[i];
    if (!op->done && op->grid->done()) finish(*op, int(op->grid->error));
    if (op->done) running.erase(running.begin() + long(i--));
  }
}

void sweep_pending() {
  auto &pending = driver().pending;
  pending.erase(std::remove_if(pending.begin(), pending.end(), [](auto &op) { return op->done; }), pending.end());
}

// Starts what may start. True if anything did.
bool start_ready(const std::vector<OperationRef> &operations) {
  bool any = false;
  for (auto &op : operations) {
    if (!ready(*op)) continue;
    start(*op), any = true;
    if (op->grid) driver().running.push_back(op);
  }
  retire_finished();
  return any;
}

bool start_any_ready() {
  return start_ready(std::vector<OperationRef>(driver().pending));
}

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

// Lets other host threads enqueue the work that the spinning kernels wait for.
void let_others_enqueue() {
  driver().mutex.unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  driver().mutex.lock();
}

}  // namespace

// The engine itself is entered by one thread at a time, but released between steps.
Result run_until_done(const OperationRef &target, Context &context) {
  auto last_progress = std::chrono::steady_clock::now();
  const std::vector<OperationRef> closure = closure_of(target);
  const int limit = environment("QUERN_EMULATOR_TIMEOUT", 10);
  while (!target->done) {
    bool started = start_ready(closure);
    Step s = step();
    retire_finished();
    if (started || s == Step::progressed) {
      last_progress = std::chrono::steady_clock::now();
      continue;
    }
    if (target->done || start_any_ready()) continue;
    if (seconds_since(last_progress) > limit) {
      abandon_all_stuck();
      retire_finished();
      last_progress = std::chrono::steady_clock::now();
    }
    let_others_enqueue();
  }
  happens_after(&target->sync_tag);
  sweep_pending();
  if (!canaries_intact() && !context.error) context.error = illegal_address;
  return context.error;
}

// What a query does: everything that can run without waiting for others.
void run_what_is_possible(const OperationRef &target) {
  const std::vector<OperationRef> closure = closure_of(target);
  while (!target->done && (start_ready(closure) || step() == Step::progressed)) retire_finished();
  retire_finished();
  sweep_pending();
}

Result run_everything(Context &c) {
  for (;;) {
    OperationRef next;
    for (auto &op : driver().pending)
      if (op->device == c.device && !op->done) next = op;
    if (!next) break;
    run_until_done(next, c);
  }
  if (!canaries_intact() && !c.error) c.error = illegal_address;
  return c.error;
}

void drop_work(Context &c) {
  for (auto &op : driver().pending)
    if (op->device == c.device && !op->done) {
      if (op->grid && op->started) abandon_grid(op->grid.get(), 1);
      op->started = true;
      finish(*op, 0);
    }
  retire_finished();
  sweep_pending();
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
  if (c) *c = context_stack.back();
  context_stack.pop_back();
  return success;
}
API Result cuCtxPopCurrent(Context **c) { return cuCtxPopCurrent_v2(c); }

API Result cuCtxGetDevice(int *device) {
  ENTER(initialization);
  if (!current_context()) return invalid_context;
  *device = current_context()->device->ordinal;
  return success;
}

API Result cuCtxSynchronize() {
  ENTER(context);
  if (Result r = refuse_during_capture()) return r;
  return run_everything(*current_context());
}

// ---- for tests ----

struct quern_emulator_statistics_t { unsigned long long launches, blocks, switches, allocations, bytes; };
namespace emulator { void count_allocations(unsigned long long &count, unsigned long long &bytes); }

API void quern_emulator_statistics(quern_emulator_statistics_t *s) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  s->launches = statistics.launches, s->blocks = statistics.blocks, s->switches = statistics.switches;
  count_allocations(s->allocations, s->bytes);
}
