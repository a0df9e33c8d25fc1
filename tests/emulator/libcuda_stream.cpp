// Streams, events, capture, graphs and what they keep alive.
#include "libcuda.h"

#include <algorithm>

namespace emulator {

namespace {

thread_local int thread_capture_mode;  // 0 global, 1 thread-local, 2 relaxed
enum { mode_global, mode_thread_local, mode_relaxed };

unsigned long long next_stream_id = 3, next_capture_id = 1;

// After another operation: a dependent kernel may overlap a kernel that has not ended.
void put_after(Operation &op, const OperationRef &before) {
  if (op.is_dependent && before->grid && !before->done && !op.overlapped) {
    op.overlapped = before;
    before->grid->has_dependent = true;
  } else {
    op.after.push_back(before);
  }
}

// Legacy default-stream rules: it waits for the blocking streams, and they for it.
void add_dependencies(Stream &s, Operation &op) {
  auto add = [&](const OperationRef &d) {
    if (d) op.after.push_back(d);  // including finished ones: their effects must come first
  };
  Context &c = *s.context;
  if (s.last) put_after(op, s.last);
  if (&s == &c.legacy) {
    for (auto &other : c.streams)
      if (other->blocking()) add(other->last);
  } else if (s.blocking()) {
    add(c.legacy.last);
  }
}

// A stream gets the hardware queue that has the fewest.
void join_queue(Stream &s) {
  auto &queues = s.context->queues;
  static const int count = environment("CUDA_DEVICE_MAX_CONNECTIONS", 0);
  if (count < 1) return;
  queues.resize(size_t(count));
  auto least = std::min_element(queues.begin(), queues.end(), [](auto &a, auto &b) { return a.streams < b.streams; });
  s.queue = size_t(least - queues.begin());
  least->streams++;
}

// A kernel that waits for its stream keeps those behind it in the queue from starting, and so does a wait for a value.
void add_to_queue(Stream &s, const OperationRef &op) {
  auto &queues = s.context->queues;
  if (queues.empty() || (!op->grid && !op->condition)) return;
  OperationRef &last = queues[s.queue].last;
  if (last && !last->started) op->behind.push_back(last);
  last = op;
}

void enqueue(Stream &s, const OperationRef &op) {
  add_dependencies(s, *op);
  add_to_queue(s, op);
  s.last = op;
  op->priority = s.priority;
  driver().pending.push_back(op);
}

void invalidate(Capture &c) { c.invalidated = true; }

// A call on the legacy stream while a blocking stream of the context captures.
Result refuse_implicit(Stream &s) {
  if (&s != &s.context->legacy) return success;
  Result r = success;
  for (auto &c : driver().captures)
    if (c->origin->context == s.context && c->origin->blocking()) invalidate(*c), r = capture_implicit;
  return r;
}

size_t add_node(Stream &s, OperationMaker make) {
  auto &nodes = s.capture->graph->nodes;
  nodes.push_back({std::move(make), s.capture_after});
  s.capture_after = {nodes.size() - 1};
  return nodes.size() - 1;
}

void leave_capture(Capture &c) {
  for (Stream *s : c.streams) s->capture_after.clear();
  auto streams = c.streams;
  auto &all = driver().captures;
  auto keep = std::find_if(all.begin(), all.end(), [&](auto &x) { return x.get() == &c; });
  std::shared_ptr<Capture> alive = keep != all.end() ? *keep : nullptr;
  if (keep != all.end()) all.erase(keep);
  for (Stream *s : streams) s->capture = nullptr;
}

Context &context() { return *current_context(); }

}  // namespace

Stream *make_stream(Context &c, unsigned flags, int priority) {
  c.streams.push_back(std::make_unique<Stream>());
  Stream &s = *c.streams.back();
  s.context = &c, s.flags = flags, s.priority = std::clamp(priority, greatest_priority, least_priority), s.id = next_stream_id++;
  join_queue(s);
  return &s;
}

int capture_mode_of_thread() { return thread_capture_mode; }

OperationRef make_operation(const char *what, Context &c, std::function<Result()> action) {
  auto op = std::make_shared<Operation>();
  op->what = what, op->device = c.device, op->action = std::move(action);
  return op;
}

Result refuse_during_capture() {
  if (thread_capture_mode == mode_relaxed) return success;
  Result r = success;
  for (auto &c : driver().captures) {
    bool own = c->thread == std::this_thread::get_id();
    bool forbids = (c->mode == mode_global && (own || thread_capture_mode == mode_global)) || (c->mode == mode_thread_local && own);
    if (forbids) invalidate(*c), r = capture_unsupported;
  }
  return r;
}

Result refuse_beside_captures(Context &context) {
  Result r = success;
  for (auto &c : driver().captures)
    for (Stream *s : c->streams)
      if (s->context == &context) invalidate(*c), r = capture_unsupported;
  return r;
}

Stream *stream_of(void *handle) {
  Context *c = current_context();
  auto number = reinterpret_cast<uintptr_t>(handle);
  if (number == 0 || number == 1) return c ? &c->legacy : nullptr;
  if (number == 2) {  // CU_STREAM_PER_THREAD
    if (!c) return nullptr;
    Stream *&s = c->per_thread[std::this_thread::get_id()];
    if (!s) {
      c->streams.push_back(std::make_unique<Stream>());
      s = c->streams.back().get();
      s->context = c, s->id = next_stream_id++;
    }
    return s;
  }
  for (auto &d : driver().devices)
    if (d->context)
      for (auto &s : d->context->streams)
        if (s.get() == handle) return s.get();
  return nullptr;
}

Result submit(Stream &s, OperationMaker make) {
  if (s.capture) {
    if (s.capture->invalidated) return capture_invalidated;
    add_node(s, std::move(make));
    return success;
  }
  if (Result r = refuse_implicit(s)) return r;
  enqueue(s, make());
  return success;
}

}  // namespace emulator

using namespace emulator;

// ---- streams ----

API Result cuStreamCreateWithPriority(Stream **out, unsigned flags, int priority) {
  ENTER(context);
  if (!out || flags > 1) return invalid_value;
  *out = make_stream(context(), flags, priority);
  return success;
}
API Result cuStreamCreate(Stream **out, unsigned flags) { return cuStreamCreateWithPriority(out, flags, 0); }

API Result cuStreamDestroy_v2(void *handle) {
  ENTER(context);
  Stream *s = stream_of(handle);
  if (!s || s == &s->context->legacy) return invalid_handle;
  if (s->capture) invalidate(*s->capture), leave_capture(*s->capture);
  if (!s->context->queues.empty()) s->context->queues[s->queue].streams--;
  // Pending work still completes: the legacy stream takes over the duty to wait for it.
  auto &all = s->context->streams;
  all.erase(std::find_if(all.begin(), all.end(), [&](auto &x) { return x.get() == s; }));
  return success;
}

API Result cuStreamSynchronize(void *handle) {
  Entry entry_(__func__, Entry::context);
  Stream *s = current_context() ? stream_of(handle) : nullptr;
  if (entry_.error()) {  // a wait that fails has ended: what was enqueued does not run later
    if (s && !s->capture && s->last && !current_context()->error) run_until_done(s->last, *s->context);
    return entry_.error();
  }
  if (!s) return invalid_handle;
  if (s->capture) return invalidate(*s->capture), capture_unsupported;
  if (Result r = refuse_implicit(*s)) return r;
  if (s == &s->context->legacy) {  // also all work that it would wait for
    auto all = make_operation("synchronise", *s->context);
    enqueue(*s, all);
  }
  return s->last ? run_until_done(s->last, *s->context) : s->context->error;
}

// The first query of unfinished work says so even where it could finish at
// once: host code must cope with both answers.
API Result cuStreamQuery(void *handle) {
  ENTER_STREAM(s, handle, context);
  if (s->capture) return invalidate(*s->capture), capture_unsupported;
  if (!s->last || s->last->done) return s->context->error;
  run_what_is_possible(s->last);
  return s->context->error ? s->context->error : int(not_ready);
}

// A function that tells one thing of a stream.
#define TELL(function, type, value) \
  API Result function(void *handle, type *out) { \
    ENTER_STREAM(s, handle, context); \
    *out = value; \
    return success; \
  }
TELL(cuStreamGetCtx, void *, s->green ? static_cast<void *>(s->green) : s->context)  // that of a green context is its own
TELL(cuStreamGetPriority, int, s->priority)
TELL(cuStreamGetId, unsigned long long, s->id)

API Result cuStreamGetCtx_v2(void *handle, Context **c, GreenContext **green) {
  ENTER_STREAM(s, handle, context);
  *c = s->context;
  *green = s->green;
  return success;
}
API Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  ENTER(context);
  if (least) *least = least_priority;
  if (greatest) *greatest = greatest_priority;
  return success;
}

namespace {
// An edge from another capture's nodes: the stream joins that capture.
Result join_capture(Stream &s, Event &e) {
  if (s.capture && s.capture != e.capture) return invalidate(*s.capture), invalidate(*e.capture), capture_merge;
  if (&s == &s.context->legacy) return invalidate(*e.capture), capture_implicit;
  s.capture = e.capture;
  s.capture->streams.insert(&s);
  for (size_t n : e.capture_nodes)
    if (!std::count(s.capture_after.begin(), s.capture_after.end(), n)) s.capture_after.push_back(n);
  return success;
}
}  // namespace

API Result cuStreamWaitEvent(void *handle, Event *e, unsigned) {
  ENTER(context);
  Stream *s = stream_of(handle);
  if (!s || !e) return invalid_handle;
  if (e->capture) return join_capture(*s, *e);
  if (!e->operation) return success;
  if (s->capture) return invalidate(*s->capture), capture_isolation;
  auto op = make_operation("wait for event", *s->context);
  op->after.push_back(e->operation);
  enqueue(*s, op);
  return success;
}

// A node like any other when captured.
API Result cuLaunchHostFunc(void *handle, void (*function)(void *), void *data) {
  ENTER_STREAM(s, handle, context);
  if (!function) return invalid_value;
  Context &c = *s->context;
  return submit(*s, [=, &c] {
    auto op = make_operation("host function", c);
    op->host_function = [=] { function(data); };
    return op;
  });
}

// ---- words ----

namespace {
u32 *word_at(DevicePointer address) {
  const Allocation *a = find_allocation(address);
  return a && !a->alias && address % 4 == 0 ? reinterpret_cast<u32 *>(address) : nullptr;
}
}  // namespace

API Result cuStreamWaitValue32_v2(void *handle, DevicePointer address, unsigned value, unsigned flags) {
  ENTER_STREAM(s, handle, context);
  static bool (*const kinds[])(u32, u32) = {[](u32 is, u32 wanted) { return s32(is - wanted) >= 0; },
                                            [](u32 is, u32 wanted) { return is == wanted; },
                                            [](u32 is, u32 wanted) { return (is & wanted) != 0; },
                                            [](u32 is, u32 wanted) { return ~(is | wanted) != 0; }};
  u32 *word = word_at(address);
  if (!word || flags >= sizeof kinds / sizeof *kinds) return invalid_value;
  Context &c = *s->context;
  return submit(*s, [=, &c] {
    auto op = make_operation("wait for value", c);
    op->condition = [=] { return kinds[flags](__atomic_load_n(word, __ATOMIC_ACQUIRE), value); };
    return op;
  });
}

API Result cuStreamWriteValue32_v2(void *handle, DevicePointer address, unsigned value, unsigned flags) {
  ENTER_STREAM(s, handle, context);
  u32 *word = word_at(address);
  if (!word || flags > 1) return invalid_value;
  Context &c = *s->context;
  return submit(*s, [=, &c] {
    return make_operation("write value", c, [=] { return __atomic_store_n(word, value, __ATOMIC_RELEASE), success; });
  });
}

// ---- events ----

API Result cuEventCreate(Event **out, unsigned flags) {
  ENTER(context);
  if (!out) return invalid_value;
  *out = new Event{{}, &context(), flags, nullptr, nullptr, {}};
  return success;
}

API Result cuEventDestroy_v2(Event *e) {
  ENTER(context);
  if (!e) return invalid_handle;
  delete e;
  return success;
}

API Result cuEventRecord(Event *e, void *handle) {
  ENTER(context);
  Stream *s = stream_of(handle);
  if (!s || !e) return invalid_handle;
  if (s->context != e->context) return invalid_handle;
  if (s->capture) {
    e->capture = s->capture, e->capture_nodes = s->capture_after;
    return s->capture->invalidated ? capture_invalidated : success;
  }
  if (Result r = refuse_implicit(*s)) return r;
  e->capture = nullptr;
  e->operation = make_operation("event", *s->context);
  enqueue(*s, e->operation);
  return success;
}

API Result cuEventSynchronize(Event *e) {
  ENTER(context);
  if (!e) return invalid_handle;
  if (e->capture) return captured_event;
  if (Result r = refuse_during_capture()) return r;
  return e->operation ? run_until_done(e->operation, *e->context) : success;
}

API Result cuEventQuery(Event *e) {
  ENTER(context);
  if (!e) return invalid_handle;
  if (e->capture) return captured_event;
  if (!e->operation || e->operation->done) return e->context->error;
  run_what_is_possible(e->operation);
  return e->context->error ? e->context->error : int(not_ready);
}

API Result cuEventElapsedTime_v2(float *milliseconds, Event *from, Event *to) {
  ENTER(context);
  constexpr unsigned disable_timing = 2;
  if (!from || !to || ((from->flags | to->flags) & disable_timing) || !from->operation || !to->operation) return invalid_handle;
  if (!from->operation->done || !to->operation->done) return not_ready;
  *milliseconds = float(double(s64(to->operation->finished - from->operation->finished)) * 1e-6);
  return success;
}
API Result cuEventElapsedTime(float *milliseconds, Event *from, Event *to) { return cuEventElapsedTime_v2(milliseconds, from, to); }

// ---- capture ----

API Result cuStreamBeginCapture_v2(void *handle, int mode) {
  ENTER(context);
  Stream *s = stream_of(handle);
  if (!s) return invalid_handle;
  if (mode < 0 || mode > 2) return invalid_value;
  if (s == &s->context->legacy) return capture_unsupported;
  if (s->capture) return illegal_state;
  s->capture = std::make_shared<Capture>();
  Capture &c = *s->capture;
  c.mode = mode, c.thread = std::this_thread::get_id(), c.origin = s, c.graph = std::make_unique<Graph>();
  c.id = next_capture_id++;
  c.streams.insert(s);
  s->capture_after.clear();
  driver().captures.push_back(s->capture);
  return success;
}
API Result cuStreamBeginCapture(void *handle, int mode) { return cuStreamBeginCapture_v2(handle, mode); }

namespace {
bool unjoined(const Capture &c) {
  std::set<size_t> reached(c.origin->capture_after.begin(), c.origin->capture_after.end());
  for (size_t n = c.graph->nodes.size(); n-- > 0;)
    if (reached.count(n)) reached.insert(c.graph->nodes[n].after.begin(), c.graph->nodes[n].after.end());
  for (Stream *s : c.streams)
    for (size_t n : s->capture_after)
      if (!reached.count(n)) return true;
  return false;
}
}  // namespace

API Result cuStreamEndCapture(void *handle, Graph **out) {
  ENTER_STREAM(s, handle, context);
  *out = nullptr;
  if (!s->capture) return illegal_state;
  std::shared_ptr<Capture> c = s->capture;
  if (c->origin != s) return capture_unmatched;
  if (c->mode != mode_relaxed && c->thread != std::this_thread::get_id()) return capture_wrong_thread;
  bool loose = unjoined(*c);
  leave_capture(*c);
  if (c->invalidated) return capture_invalidated;
  if (loose) return capture_unjoined;
  *out = c->graph.release();
  return success;
}

API Result cuStreamIsCapturing(void *handle, int *status) {
  ENTER_STREAM(s, handle, context);
  if (Result r = refuse_implicit(*s)) return r;
  *status = !s->capture ? 0 : s->capture->invalidated ? 2 : 1;
  return success;
}

// The dependencies, which nothing asks for, are not told.
API Result cuStreamGetCaptureInfo_v2(void *handle, int *status, unsigned long long *id, Graph **graph, void *const **dependencies,
                                     size_t *count) {
  ENTER_STREAM(s, handle, context);
  if (!status) return invalid_value;
  if (dependencies || count) return not_supported;
  if (Result r = refuse_implicit(*s)) return r;
  *status = !s->capture ? 0 : s->capture->invalidated ? 2 : 1;
  if (*status != 1) return success;
  if (id) *id = s->capture->id;
  if (graph) *graph = s->capture->graph.get();
  return success;
}

API Result cuThreadExchangeStreamCaptureMode(int *mode) {
  ENTER(nothing);
  if (!mode || *mode < 0 || *mode > 2) return invalid_value;
  std::swap(*mode, thread_capture_mode);
  return success;
}

// ---- what graphs keep alive ----

namespace emulator {

namespace {

// A thread that calls destructors, until the end of the process.
class Caller {
 public:
  void add(std::function<void()> call) {
    std::lock_guard<std::mutex> hold(lock_);
    if (!is_started_) std::thread([this] { run(); }).detach();
    is_started_ = true;
    calls_.push_back(std::move(call));
    wake_.notify_one();
  }

 private:
  void run() {
    in_host_function = true;  // they may not call the API
    for (;;) {
      std::unique_lock<std::mutex> hold(lock_);
      wake_.wait(hold, [&] { return !calls_.empty(); });
      std::function<void()> call = std::move(calls_.front());
      calls_.pop_front();
      hold.unlock();
      call();
    }
  }
  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> calls_;
  bool is_started_ = false;
};
Caller &caller = *new Caller;

}  // namespace

struct UserObject {
  void *data;
  void (*end)(void *);
  ~UserObject() { caller.add([data = data, end = end] { end(data); }); }
};

namespace {
std::map<UserObject *, UserObjectRef> unowned;  // by their handles: those that no graph has yet
}  // namespace

}  // namespace emulator

API Result cuUserObjectCreate(UserObject **out, void *data, void (*end)(void *), unsigned references, unsigned flags) {
  constexpr unsigned no_destructor_sync = 1;
  ENTER(context);
  if (!out || !end || flags != no_destructor_sync || !references) return invalid_value;
  if (references != 1) return not_supported;
  UserObjectRef object(new UserObject{data, end});
  unowned[*out = object.get()] = object;
  return success;
}

API Result cuUserObjectRelease(UserObject *object, unsigned references) {
  ENTER(context);
  auto at = unowned.find(object);
  if (at == unowned.end() || references != 1) return invalid_value;
  unowned.erase(at);
  return success;
}

// The caller's only reference goes to the graph.
API Result cuGraphRetainUserObject(Graph *graph, UserObject *object, unsigned references, unsigned flags) {
  constexpr unsigned move = 1;
  ENTER(context);
  auto at = unowned.find(object);
  if (!graph || at == unowned.end() || !references || flags > move) return invalid_value;
  if (references != 1 || flags != move) return not_supported;
  graph->objects.push_back(at->second);
  unowned.erase(at);
  return success;
}

// ---- graphs ----

API Result cuGraphInstantiateWithFlags(Graph **exec, Graph *graph, unsigned long long) {
  ENTER(context);
  if (!exec || !graph) return invalid_value;
  *exec = new Graph(*graph);
  return success;
}

API Result cuGraphLaunch(Graph *exec, void *handle) {
  ENTER(context);
  Stream *s = stream_of(handle);
  if (!s || !exec) return invalid_handle;
  if (s->capture) return not_supported;
  if (Result r = refuse_implicit(*s)) return r;
  auto first = make_operation("graph start", *s->context), last = make_operation("graph end", *s->context);
  enqueue(*s, first);
  std::vector<OperationRef> operations;
  last->objects = exec->objects;
  for (const Graph::Node &node : exec->nodes) {
    OperationRef op = node.make();
    op->after.push_back(first);
    op->priority = s->priority;
    for (size_t n : node.after) put_after(*op, operations[n]);
    driver().pending.push_back(op);
    last->after.push_back(op);
    operations.push_back(op);
  }
  enqueue(*s, last);
  return block_if_asked(*s);
}

API Result cuGraphExecDestroy(Graph *exec) {
  ENTER(initialization);
  if (!exec) return invalid_value;
  delete exec;
  return success;
}
API Result cuGraphDestroy(Graph *graph) { return cuGraphExecDestroy(graph); }
