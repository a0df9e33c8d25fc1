// The driver's core: entry of API functions, and the execution of pending operations.
#include "libcuda.h"

#include <sched.h>
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

namespace {
thread_local bool in_host_function;
}

Entry::Entry(const char *function, Need need) : lock_(driver().door) {
  error_ = in_host_function ? int(not_permitted) : injected_value(function);
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

typedef std::chrono::steady_clock Clock;

// Threads that wait while another one executes sleep until something has finished.
struct News {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned long long count = 0;
};
News &news() {
  static News *n = new News;  // never destroyed, as the driver
  return *n;
}

void tell_news() {
  std::lock_guard<std::mutex> lock(news().mutex);
  news().count++;
  news().changed.notify_all();
}

void wait_for_news() {
  std::unique_lock<std::mutex> lock(news().mutex);
  unsigned long long seen = news().count;
  driver().door.unlock();
  news().changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return news().count != seen; });
  lock.unlock();
  driver().door.lock();
}

bool ready(const Operation &op) {
  return !op.started && std::all_of(op.after.begin(), op.after.end(), [](const OperationRef &d) { return d->done; });
}

void finish(Operation &op, int error) {
  op.done = true;
  op.finished = Clock::now();
  if (op.grid) after_all(&op.sync_tag, [&] { op.grid = nullptr; });
  op.after.clear();
  Context *c = op.device->context.get();
  if (error && c && !c->error) c->error = error;
  tell_news();
}

// On a thread of its own, as in reality: it may wait for what other threads do.
void call_host_function(OperationRef op) {
  in_host_function = true;
  {
    History::Scope in_history(op->history);
    op->host_function();
    happens_before(&op->sync_tag);
  }
  std::lock_guard<Door> lock(driver().door);
  if (!op->done) finish(*op, 0);
}

void start(const OperationRef &reference) {
  Operation &op = *reference;
  Context *c = op.device->context.get();
  op.started = true;
  op.history.begin();
  int error = 0;
  bool failed = !c || c->error;  // work behind a failure never runs
  {
    History::Scope in_history(op.history);
    for (auto &d : op.after) happens_after(&d->sync_tag);
    if (op.action && !failed) error = op.action();
    if (!op.grid || failed) happens_before(&op.sync_tag);
  }
  if (op.grid && !failed) {
    op.grid->history = &op.history, op.grid->sync_tag = &op.sync_tag;
    start_grid(op.grid.get());
    return;
  }
  if (op.host_function && !failed) std::thread(call_host_function, reference).detach();
  else finish(op, error);
}

// What `target` depends on, in order of issue. It never changes once issued.
Closure closure_of(const OperationRef &target) {
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
  return std::make_shared<const std::vector<OperationRef>>(std::move(ordered));
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
    start(op), any = true;
    if (op->grid) driver().running.push_back(op);
  }
  retire_finished();
  return any;
}

bool start_any_ready() {
  return start_ready(std::vector<OperationRef>(driver().pending));
}

bool start_awaited() {
  bool any = false;
  for (const Closure &c : std::vector<Closure>(driver().awaited)) any |= start_ready(*c);
  return any;
}

// Time without progress. The kernels that spin then wait for another thread or
// process, which needs the lock or the core.
class Patience {
 public:
  void renew() { since_ = Clock::now(); }
  bool is_over() const { return waited() > std::chrono::seconds(limit_); }

  void rest() const {
    constexpr auto shortest = std::chrono::microseconds(20), longest = std::chrono::microseconds(1000);
    driver().door.let_others_in();
    driver().door.unlock();
    auto nap = std::min<Clock::duration>(std::max<Clock::duration>(waited() / 8, shortest), longest);
    if (waited() < std::chrono::microseconds(300)) sched_yield();
    else std::this_thread::sleep_for(nap);
    driver().door.lock();
  }

 private:
  Clock::duration waited() const { return Clock::now() - since_; }
  Clock::time_point since_ = Clock::now();
  const int limit_ = environment("QUERN_EMULATOR_TIMEOUT", 10);
};

// Runs everything that threads wait for, until `target` is done.
void execute(const OperationRef &target) {
  driver().has_executor = true;
  Patience patience;
  while (!target->done) {
    bool started = start_awaited();
    Step s = step();
    retire_finished();
    if (started || s == Step::progressed || (!target->done && start_any_ready())) {
      patience.renew();
      driver().door.let_others_in();
      continue;
    }
    if (target->done) break;
    if (patience.is_over()) {
      abandon_all_stuck();
      retire_finished();
      patience.renew();
    }
    patience.rest();
  }
  driver().has_executor = false;
  tell_news();
}

}  // namespace

// A thread that was woken needs a moment to arrive at the lock.
void Door::let_others_in() {
  if (!waiting_) return;
  unlock();
  for (int i = 0; i < 1000 && waiting_; i++) sched_yield();
  lock();
}

// One thread executes for all; when it has what it waited for, another takes over.
Result run_until_done(const OperationRef &target, Context &context) {
  Closure closure = closure_of(target);
  driver().awaited.push_back(closure);
  while (!target->done) {
    if (driver().has_executor) wait_for_news();
    else execute(target);
  }
  auto &awaited = driver().awaited;
  awaited.erase(std::find(awaited.begin(), awaited.end(), closure));
  happens_after(&target->sync_tag);
  sweep_pending();
  if (!canaries_intact() && !context.error) context.error = illegal_address;
  return context.error;
}

// What a query does: everything that can run without waiting for others.
void run_what_is_possible(const OperationRef &target) {
  const Closure closure = closure_of(target);
  while (!target->done && (start_ready(*closure) || step() == Step::progressed)) retire_finished();
  retire_finished();
  sweep_pending();
}

Result block_if_asked(Stream &s) {
  return driver().launch_blocking && !s.capture ? run_until_done(s.last, *s.context) : success;
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
  std::lock_guard<Door> lock(driver().door);
  s->launches = statistics.launches, s->blocks = statistics.blocks, s->switches = statistics.switches;
  count_allocations(s->allocations, s->bytes);
}
