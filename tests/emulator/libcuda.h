// The driver's own objects: devices, contexts, streams, operations, libraries.
// The handles of the CUDA driver API are pointers to them.
//
// Work is lazy: an operation runs when somebody waits for it, and then only
// what it depends on, so host code that forgets to synchronise sees stale data.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine.h"

#define API extern "C" __attribute__((visibility("default")))

namespace emulator {

typedef int Result;
typedef unsigned long long DevicePointer;

enum Error : int {
  success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, no_device = 100, invalid_device = 101,
  invalid_image = 200, invalid_context = 201, no_binary_for_gpu = 209, invalid_ptx = 218, shared_object_init_failed = 303,
  invalid_handle = 400, illegal_state = 401, not_found = 500, not_ready = 600, illegal_address = 700,
  launch_out_of_resources = 701, not_supported = 801, capture_unsupported = 900, capture_invalidated = 901,
  capture_merge = 902, capture_unmatched = 903, capture_unjoined = 904, capture_isolation = 905, capture_implicit = 906,
  captured_event = 907, capture_wrong_thread = 908, invalid_cluster_size = 912,
};

// ---- devices ----

struct Capability { int major, minor; };

// What differs between generations, as the CUDA programming guide's table has it.
struct Generation {
  int major, minor;
  int shared_optin, shared_per_sm, threads_per_sm, blocks_per_sm, l2_bytes;
  const char *name;
};

struct Context;

struct Device {
  int ordinal;
  Capability capability;
  const Generation *generation;
  DeviceLimits limits;
  size_t memory_bytes, memory_used;
  std::unique_ptr<Context> context;
};

// ---- operations, streams, events, graphs ----

struct Operation {
  const char *what;
  Device *device;
  std::vector<std::shared_ptr<Operation>> after;
  std::function<Result()> action;      // anything but a kernel
  std::unique_ptr<Grid> grid;          // a kernel
  bool started = false, done = false;
  History history;
  char sync_tag = 0;
  std::chrono::steady_clock::time_point finished;
};
typedef std::shared_ptr<Operation> OperationRef;
typedef std::function<OperationRef()> OperationMaker;

struct Graph {
  struct Node { OperationMaker make; std::vector<size_t> after; };
  std::vector<Node> nodes;
};

struct Stream;

// A capture in progress; several streams may have joined it.
struct Capture {
  unsigned long long id;
  int mode;
  std::thread::id thread;
  Stream *origin;
  bool invalidated = false;
  std::unique_ptr<Graph> graph;
  std::set<Stream *> streams;
};

struct Stream {
  Context *context;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  OperationRef last;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> capture_after;   // nodes the next captured one follows
  bool blocking() const { return !(flags & 1); }
};

struct Event {
  Context *context;
  unsigned flags;
  OperationRef operation;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> capture_nodes;
};

struct Context {
  Device *device;
  int references = 0;
  int error = 0;                       // sticky: every later call returns it
  Stream legacy;
  std::vector<std::unique_ptr<Stream>> streams;
  std::map<std::thread::id, Stream *> per_thread;  // CU_STREAM_PER_THREAD
};

// ---- code ----

struct Image {
  struct Entry { std::string architecture; bool is_ptx; std::vector<std::string> kernels; };
  std::vector<Entry> entries;
};
// Reads a fatbin, a cubin or PTX text.
Result parse_image(const void *data, Image &);
const Image::Entry *choose_entry(const Image &, Capability);
// The translated kernels for an architecture, or null (reported on stderr).
const Kernel *translated_kernel(const std::string &architecture, const std::string &name, Result &);

struct Library;
struct Function {
  Library *library;
  std::string name;
  std::map<int, int> dynamic_shared_limit;  // by device, once raised
  std::map<int, int> nonportable_cluster;
};
struct Library {
  Image image;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

// ---- memory ----

struct Allocation {
  char *mapping;
  size_t mapping_bytes, bytes;
  Device *device;   // null for pinned host memory
  DevicePointer address;
};
Allocation *find_allocation(DevicePointer);
bool canaries_intact();                // reports damage on stderr
void free_device_memory(Device &);     // when its context is reset

// ---- the driver ----

struct Driver {
  std::mutex mutex;
  bool initialized = false;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<OperationRef> pending;   // in order of issue, finished ones are swept now and then
  std::vector<OperationRef> running;   // kernels that have started
  std::vector<std::shared_ptr<Capture>> captures;
};
Driver &driver();

// Entry of every API function: takes the lock, applies fault injection.
class Entry {
 public:
  enum Need { nothing, initialization, context };
  Entry(const char *function, Need);
  Result error() const { return error_; }

 private:
  std::unique_lock<std::mutex> lock_;
  Result error_ = success;
};
#define ENTER(need)                            \
  Entry entry_(__func__, Entry::need);         \
  if (entry_.error()) return entry_.error()

int environment(const char *name, int otherwise);
bool logging();
Context *current_context();
Stream *stream_of(void *handle);       // null if unknown
void set_current_context(Context *);

// Puts the operation on the stream, or into its capture.
Result submit(Stream &, OperationMaker);
Result run_until_done(const OperationRef &, Context &);
Result run_everything(Context &);
void run_what_is_possible(const OperationRef &);
// For calls that a capture in progress forbids: invalidates it and returns its error.
Result refuse_during_capture();
void drop_work(Context &);

}  // namespace emulator
