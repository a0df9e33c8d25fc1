// Execution of pending operations: by one thread at a time, on behalf of all waiting threads.
#include "libcuda.h"

#include <sched.h>
#include <algorithm>

#include "runtime/clock.h"

namespace emulator {

namespace {

typedef std::chrono::steady_clock Clock;
constexpr u64 second = 1000000000;

// Some thread must execute: if none does, the first waiting one.
void appoint_executor() { if (!driver().has_executor && !driver().waiters.empty()) driver().waiters.front()->wake.notify_all(); }

// Whether a kernel that may overlap another one may start.
bool is_let(const Operation &op) {
  const Operation *before = op.overlapped.get();
  return !before || before->done || (before->started && !before->grid->holding_blocks);
}

bool ready(const Operation &op) {
  return !op.started && is_let(op) &&
         std::all_of(op.after.begin(), op.after.end(), [](const OperationRef &d) { return d->done; }) &&
         std::all_of(op.behind.begin(), op.behind.end(), [](const OperationRef &d) { return d->started; }) &&
         (!op.condition || op.condition());
}

// ---- kernels that store rubbish, by fault injection: each byte that has changed meanwhile on the device becomes another one ----

void remember_memory(Operation &op) {
  for_each_allocation([&](const Allocation &a) {
    auto *bytes = reinterpret_cast<const u8 *>(a.address);
    if (a.kind == Memory::device && a.device == op.device) op.before.emplace(a.address, std::vector<u8>(bytes, bytes + a.bytes));
  });
}

void spoil_stores(Operation &op) {
  constexpr u8 flipped = 0x40;  // in the last byte of a float a bit of its exponent
  for_each_allocation([&](const Allocation &a) {
    auto at = op.before.find(a.address);
    if (at == op.before.end() || at->second.size() != a.bytes) return;
    auto *bytes = reinterpret_cast<u8 *>(a.address);
    for (size_t i = 0; i < a.bytes; i++)
      if (bytes[i] != at->second[i]) bytes[i] ^= flipped;
  });
  op.before.clear();
}

void finish(Operation &op, int error) {
  if (op.stores_rubbish) spoil_stores(op);
  op.done = true;
  op.finished = device_time();
  if (op.grid) after_all(&op.sync_tag, [&] { op.grid = nullptr; });
  op.after.clear();
  op.overlapped = nullptr;
  op.objects.clear();
  Context *c = op.device->context.get();
  if (error && c && !c->error) c->error = error;
  for (const OperationRef &next : std::vector<OperationRef>(driver().running))
    if (next->overlapped.get() == &op && next->grid)
      error ? abandon_grid(next->grid.get(), u32(error)) : end_of_grid_before(*next->grid);
  for (const WaiterRef &w : driver().waiters)
    if (w->target.get() == &op) w->wake.notify_all();
}

// On a separate thread, as on a real driver: it may wait for other threads.
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
  op.begun = device_time();
  op.behind.clear();
  op.history.begin();
  int error = 0;
  bool failed = !c || c->error;  // work behind a failure never runs
  {
    History::Scope in_history(op.history);
    for (auto &d : op.after) happens_after(&d->sync_tag);
    if (op.overlapped) happens_after(op.overlapped->done ? &op.overlapped->sync_tag : &op.overlapped->start_tag);
    happens_before(&op.start_tag);
    if (op.action && !failed) error = op.action();
    if (!op.grid || failed) happens_before(&op.sync_tag);
  }
  if (op.grid && !failed) {
    if (op.stores_rubbish) remember_memory(op);
    op.grid->history = &op.history, op.grid->sync_tag = &op.sync_tag, op.grid->priority = op.priority;
    if (op.overlapped && !op.overlapped->done) op.grid->awaited = &op.overlapped->sync_tag;
    start_grid(op.grid.get());
    return;
  }
  if (op.host_function && !failed) std::thread(call_host_function, reference).detach();
  else finish(op, error);
}

// The dependencies of `target`, in order of issue. They never change once issued.
std::vector<OperationRef> closure_of(const OperationRef &target) {
  std::set<Operation *> found;
  std::vector<Operation *> todo{target.get()};
  while (!todo.empty()) {
    Operation *o = todo.back();
    todo.pop_back();
    if (o->done || !found.insert(o).second) continue;
    for (auto &d : o->after) todo.push_back(d.get());
    for (auto &d : o->behind) todo.push_back(d.get());
    if (o->overlapped) todo.push_back(o->overlapped.get());
  }
  std::vector<OperationRef> ordered;
  for (auto &op : driver().pending)
    if (found.count(op.get())) ordered.push_back(op);
  return ordered;
}

// A display's watchdog ends kernels that run for too long: QUERN_EMULATOR_WATCHDOG, in seconds.
void end_if_watched(Operation &op) {
  static const u64 limit = u64(environment("QUERN_EMULATOR_WATCHDOG", 0)) * second;
  if (limit && !op.done && !op.grid->done() && device_time() - op.begun > limit)
    abandon_grid(op.grid.get(), 702);
}

// PTX demands the wait of a kernel that is launched so, even if this launch has not overlapped any.
void check_wait(const Operation &op) {
  if (!op.is_dependent || op.grid->error || op.grid->has_waited) return;
  fprintf(stderr, "emulator: griddepcontrol.wait missing: %s may start before the kernel before it has ended\n",
          describe(*op.grid).c_str());
  op.grid->error = 719;
}

void retire_finished() {
  auto &running = driver().running;
  for (size_t i = 0; i < running.size(); i++) {
    OperationRef op = running[i];
    end_if_watched(*op);
    if (!op->done && op->grid->done()) check_wait(*op), finish(*op, int(op->grid->error));
    if (op->done) running.erase(running.begin() + long(i--));
  }
}

void sweep_pending() {
  auto &pending = driver().pending;
  pending.erase(std::remove_if(pending.begin(), pending.end(), [](auto &op) { return op->done; }), pending.end());
}

// Starts all operations that may start, those of a higher priority first. True if any did.
bool start_ready(std::vector<OperationRef> operations) {
  bool any = false;
  std::stable_sort(operations.begin(), operations.end(), [](auto &a, auto &b) { return a->priority < b->priority; });
  for (auto &op : operations) {
    if (!ready(*op)) continue;
    start(op), any = true;
    if (op->grid) driver().running.push_back(op);
  }
  retire_finished();
  return any;
}

bool start_any_ready() { return start_ready(driver().pending); }

bool start_awaited() {
  bool any = false;
  for (const WaiterRef &w : std::vector<WaiterRef>(driver().waiters)) any |= start_ready(w->closure);
  return any;
}

// Time without progress. The kernels that spin then wait for another thread or
// process, which needs the lock or the core.
class Patience {
 public:
  void renew() { since_ = Clock::now(), idle_ = 0; }
  bool is_over() const { return idle_ > limit_; }

  void rest() {
    const Clock::time_point before = Clock::now();
    const bool yields = waited() < microseconds(300) && before > crowded_until_;
    driver().door.let_others_in();
    driver().door.unlock();
    yields ? yield() : nap();
    driver().door.lock();
    if (!yields) idle_ += rest_passes(u64(std::chrono::nanoseconds(Clock::now() - before).count()));
  }

 private:
  typedef std::chrono::microseconds microseconds;
  Clock::duration waited() const { return Clock::now() - since_; }

  // A thread that gets the core may keep it for milliseconds; one that sleeps gets it back soon.
  void yield() {
    Clock::time_point start = Clock::now();
    sched_yield();
    if (Clock::now() - start > microseconds(500)) crowded_until_ = Clock::now() + microseconds(50000);
  }

  void nap() const {
    const Clock::duration shortest = microseconds(20), longest = microseconds(1000);
    std::this_thread::sleep_for(std::min(std::max(waited() / 8, shortest), longest));
  }

  Clock::time_point since_ = Clock::now(), crowded_until_ = since_;
  u64 idle_ = 0;
  const u64 limit_ = u64(environment("QUERN_EMULATOR_TIMEOUT", 10)) * second;
};

// Runs all work that threads wait for, until `target` is done.
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
}

}  // namespace

void Door::lock() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_held_) {
    Guest guest;
    queue_.push_back(&guest);
    guest.wake.wait(lock, [&] { return guest.is_in; });
  }
  is_held_ = true;
}

void Door::unlock() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_held_ = !queue_.empty();
  if (!is_held_) return;
  queue_.front()->is_in = true;
  queue_.front()->wake.notify_one();
  queue_.pop_front();
}

void Door::let_others_in() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.empty()) return;
  }
  unlock();
  lock();
}

// One thread executes for all; once its own operation is done, another takes over.
Result run_until_done(const OperationRef &target, Context &context) {
  auto self = std::make_shared<Waiter>();
  self->target = target, self->closure = closure_of(target);
  driver().waiters.push_back(self);
  while (!target->done) {
    if (driver().has_executor) self->wake.wait(driver().door);
    else execute(target);
  }
  auto &waiters = driver().waiters;
  waiters.erase(std::find(waiters.begin(), waiters.end(), self));
  appoint_executor();
  happens_after(&target->sync_tag);
  sweep_pending();
  if (!canaries_intact() && !context.error) context.error = illegal_address;
  return context.error;
}

// A query runs all work that does not wait for others.
void run_what_is_possible(const OperationRef &target) {
  const std::vector<OperationRef> closure = closure_of(target);
  while (!target->done && (start_ready(closure) || step() == Step::progressed)) retire_finished();
  retire_finished();
  sweep_pending();
}

Result block_if_asked(Stream &s) { return driver().launch_blocking && !s.capture ? run_until_done(s.last, *s.context) : success; }

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

void wait_for_device(Device &d) { if (driver().waits && d.context) run_everything(*d.context); }

void wait_for_all_devices() { for (auto &d : driver().devices) wait_for_device(*d); }

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

}  // namespace emulator
