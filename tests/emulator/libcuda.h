// The driver's own objects: devices, contexts, streams, operations, libraries. The handles of the CUDA driver API are pointers to
// them. Work is lazy: an operation runs when a host thread waits for it, together with its dependencies only, so host code that
// forgets to synchronise reads stale data.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
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
  success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, device_unavailable = 46,
  no_device = 100, invalid_device = 101,
  invalid_image = 200, invalid_context = 201, map_failed = 205, no_binary_for_gpu = 209, peer_access_unsupported = 217,
  invalid_ptx = 218, unsupported_ptx = 222, shared_object_init_failed = 303, invalid_handle = 400, illegal_state = 401,
  not_found = 500,
  not_ready = 600, illegal_address = 700, launch_out_of_resources = 701, peer_access_already_enabled = 704,
  peer_access_not_enabled = 705, already_registered = 712, not_registered = 713, not_permitted = 800, not_supported = 801,
      capture_unsupported = 900, capture_invalidated = 901,
  capture_merge = 902, capture_unmatched = 903, capture_unjoined = 904, capture_isolation = 905, capture_implicit = 906,
  captured_event = 907, capture_wrong_thread = 908, invalid_cluster_size = 912,
};

// ---- devices ----

struct Capability { int major, minor; };

// The limits that differ between generations, from the table in the CUDA programming guide.
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
  std::map<int, unsigned> pool_access;  // of other devices to the memory of its pool
  std::unique_ptr<Context> context;
};

// How many objects of a type exist, for tests.
template <class T> struct Counted {
  static inline long count = 0;
  Counted() { count++; }
  Counted(const Counted &) { count++; }
  ~Counted() { count--; }
};

// ---- operations, streams, events, graphs ----

struct Operation {
  const char *what;
  Device *device;
  std::vector<std::shared_ptr<Operation>> after;   // these must have ended before
  std::shared_ptr<Operation> overlapped;           // a kernel that this one may start before the end of, as soon as it lets it
  std::vector<std::shared_ptr<Operation>> behind;  // these must have started before: they are ahead in the same hardware queue
  std::function<Result()> action;      // anything but a kernel or a host function
  std::function<bool()> condition;     // of memory, before which it does not start
  std::function<void()> host_function; // runs without the driver's lock, on a thread of its own
  std::unique_ptr<Grid> grid;          // a kernel
  bool is_dependent = false;           // a kernel that may overlap the one before it in its stream, and waits for it itself
  bool stores_rubbish = false;         // an injected fault of the kernel
  std::map<DevicePointer, std::vector<u8>> before;  // then: the contents of memory before it ran
  bool started = false, done = false;
  int priority = 0;                    // of its stream: what has the lower number starts first
  History history;
  char start_tag = 0, sync_tag = 0;
  u64 begun = 0, finished = 0;         // device_time
  std::vector<std::shared_ptr<struct UserObject>> objects;  // of the graph whose launch ends with it
};
typedef std::shared_ptr<Operation> OperationRef;
typedef std::function<OperationRef()> OperationMaker;

// What a graph keeps alive, with all that is made of it; its end is told on a thread of the driver's own.
struct UserObject;
typedef std::shared_ptr<UserObject> UserObjectRef;

struct Graph {
  struct Node { OperationMaker make; std::vector<size_t> after; };
  std::vector<Node> nodes;
  std::vector<UserObjectRef> objects;
};

struct Stream;

// A capture in progress; several streams may have joined it.
struct Capture {
  int mode;
  std::thread::id thread;
  Stream *origin;
  bool invalidated = false;
  unsigned long long id = 0;
  std::unique_ptr<Graph> graph;
  std::set<Stream *> streams;
};

struct GreenContext;

struct Stream : Counted<Stream> {
  Context *context;
  GreenContext *green = nullptr;       // the part of the context that it belongs to
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  size_t queue = 0;
  OperationRef last;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> capture_after;   // nodes the next captured one follows
  bool blocking() const { return !(flags & 1); }
};

struct Event : Counted<Event> {
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
  struct Queue { int streams = 0; OperationRef last; };  // how many streams use it, and its last kernel
  std::vector<Queue> queues;           // of the hardware, if CUDA_DEVICE_MAX_CONNECTIONS says how many
  std::set<Context *> peers;           // whose memory this one may access
};

// ---- code ----

struct Image {
  struct Entry { std::string architecture; bool is_ptx; std::vector<std::string> kernels; int driver = 0; };  // the oldest driver
  std::vector<Entry> entries;
};
// Reads a fatbin, a cubin or PTX text.  Fails if the driver of driver_version() is too old for it.
Result parse_image(const void *data, Image &);
const Image::Entry *choose_entry(const Image &, Capability);
// The translated kernels for an architecture, or null (reported on stderr).
const Kernel *translated_kernel(const std::string &architecture, const std::string &name, Result &);

struct Library;
struct Function {
  Library *library;
  std::string name;
  std::map<int, int> dynamic_shared_limit;  // by device, once raised
  std::map<int, int> preferred_carveout;    // likewise; a hint that changes nothing here
  std::map<int, int> nonportable_cluster, cluster_must_be_set;
  std::map<int, Dim> required_cluster;      // set at run time
};
struct Library : Counted<Library> {
  Image image;
  std::map<std::string, std::unique_ptr<Function>> functions;
  Context *context = nullptr;  // of a module, whose functions run in it only
};

// ---- memory ----

enum class Memory { device, pinned, registered, mapped, imported };

// A range of addresses that the driver knows.
struct Allocation {
  Memory kind;
  DevicePointer address;
  size_t bytes;
  Device *device;              // null for host memory
  unsigned long long id;       // never given twice
  char *mapping;               // with a guard at each end; of device, pinned and imported memory
  size_t mapping_bytes;
  int file = -1;               // that holds the pages once other processes may have them
  bool is_pooled = false;      // from cuMemAllocAsync
  DevicePointer alias = 0;     // of registered memory: where devices see it, if they see it elsewhere
};
constexpr size_t guard_bytes = 64 * 4096;
enum Access : unsigned { access_none = 0, access_read = 1, access_read_write = 3 };

constexpr u8 uninitialised = 0xab;

Result allocate(Memory, size_t bytes, Device *, DevicePointer *out);
bool release(DevicePointer);           // false if the canary is damaged
Allocation *find_allocation(DevicePointer);
Allocation *find_overlapping(DevicePointer, size_t bytes);
Allocation &add_allocation(Memory, DevicePointer, size_t bytes, Device *);
void forget_allocation(DevicePointer);
void poison_edges(const Allocation &); // what lies between its ends and the guard pages
unsigned long long next_memory_id();
void for_each_allocation(const std::function<void(const Allocation &)> &);
Allocation *find_allocation_around(DevicePointer);  // or the one whose edge or guard the address hits
bool loses_writes(const Device &, DevicePointer);  // of the device to this memory
void rights_changed();                 // to be called when memory or access rights come or go (libcuda_access.cpp)
bool canaries_intact();                // reports damage on stderr
void free_device_memory(Device &);     // when its context is reset
void close_imports(Context &);         // likewise (libcuda_ipc.cpp)
bool is_open_elsewhere(const Allocation &);

// ---- virtual memory (libcuda_physical.cpp, libcuda_virtual.cpp) ----

constexpr size_t granularity = 2 << 20;

// The object behind a generic allocation handle: memory, or a multicast object. The last handle or mapping frees it.
struct Multicast;
struct Physical {
  int file = -1;               // memfd, so that other processes can have it too
  size_t bytes = 0;
  Device *device = nullptr;    // null for a multicast object
  unsigned handle_types = 0;
  unsigned long long id = 0;   // and value of its handle
  bool is_imported = false;
  std::set<size_t> reached;    // words of 8 bytes that multimem instructions of this process have reached
  char *view = nullptr;        // the runtime's own mapping, made when needed
  Multicast *multicast = nullptr;
  ~Physical();
};
typedef std::shared_ptr<Physical> PhysicalRef;

// What a handle of memory can be given as to other processes: bits, as in cuda.h.
enum { handle_file = 1, handle_fabric = 8 };

// Fabric handles (libcuda_fabric.cpp).
constexpr size_t fabric_handle_bytes = 64;
bool has_fabric(const Device &);
bool any_fabric();
Result export_fabric(const Physical &, void *out);
Result open_fabric(const void *handle, int &file);

struct Mapping {
  DevicePointer address;
  size_t bytes, offset;
  PhysicalRef memory;
  std::map<int, unsigned> access;      // by device
};
Mapping *find_mapping(DevicePointer);
unsigned access_of(const Mapping &, const Device &);
int full_protection_of(const Mapping &);  // for all devices together (libcuda_access.cpp)
bool is_reserved(DevicePointer);
std::pair<DevicePointer, size_t> reservation_of(DevicePointer);  // the address must lie in one

// Laid out as in cuda.h.
struct Location { int type, id; };
Result check_location(const Location &);

PhysicalRef object_of(unsigned long long handle);
PhysicalRef object_of_file(int);       // null if it is none of ours
unsigned long long handle_for(const PhysicalRef &);  // of a new object
unsigned long long add_reference(const PhysicalRef &);
char *view_of(Physical &);             // null when it cannot be mapped
bool is_aligned(DevicePointer, size_t bytes);  // to the granularity
unsigned handle_types();                       // that memory may be made with

// ---- multicast objects (libcuda_multicast.cpp) ----

bool has_multicast(const Device &);
int make_multicast_file(unsigned handle_types);
bool open_multicast(Physical &);
void close_multicast(Physical &);
bool in_team(const Physical &, const Device &);
Result wait_for_team(const Physical &);  // until all its devices have been added

// ---- the driver ----

// The driver's lock. Threads get it in the order in which they asked: otherwise the thread that runs kernels would take it back
// before a thread that was woken could run.
class Door {
 public:
  void lock();
  void unlock();
  void let_others_in();                // to be called with the lock held

 private:
  struct Guest {
    std::condition_variable wake;
    bool is_in = false;
  };
  std::mutex mutex_;
  std::deque<Guest *> queue_;
  bool is_held_ = false;
};

// A thread that waits for an operation, and the operation's dependencies.
struct Waiter {
  OperationRef target;
  std::vector<OperationRef> closure;
  std::condition_variable_any wake;
};
typedef std::shared_ptr<Waiter> WaiterRef;

struct Driver {
  Door door;
  bool initialized = false, launch_blocking = false, peers = true;
  bool peers_lie = false;              // writes of a device to another one's memory are lost
  bool fills_own_only = false;         // fills of another device's memory are refused
  bool waits = false, host_aliases = false;  // QUERN_EMULATOR_WAITS, QUERN_EMULATOR_HOST_POINTERS
  bool begins_at_guard = false;              // QUERN_EMULATOR_FRONT
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<OperationRef> pending;   // in order of issue, finished ones are swept now and then
  std::vector<OperationRef> running;   // kernels that have started
  std::vector<std::shared_ptr<Capture>> captures;
  bool has_executor = false;           // a thread runs kernels, for all that wait
  std::vector<WaiterRef> waiters;
};
Driver &driver();

// Entry of every API function: takes the lock, applies fault injection.
class Entry {
 public:
  enum Need { nothing, initialization, context };
  Entry(const char *function, Need);
  Result error() const { return error_; }

 private:
  std::unique_lock<Door> lock_;
  Result error_ = success;
};
#define ENTER(need)                            \
  Entry entry_(__func__, Entry::need);         \
  if (entry_.error()) return entry_.error()
#define ENTER_STREAM(s, handle, need) \
  ENTER(need);                        \
  Stream *s = stream_of(handle);      \
  if (!s) return invalid_handle
#define ENTER_DEVICE(d, ordinal, need) \
  ENTER(need);                         \
  Device *d = device_of(ordinal);      \
  if (!d) return invalid_device
extern thread_local bool in_host_function;  // which may not call the API

int environment(const char *name, int otherwise);
// The code that QUERN_EMULATOR_FAIL has for a function, or 0.  kernels: of the call, each as ARCHITECTURE/KERNEL.
int injected_value(const char *function, const std::vector<std::string> &kernels = {});
int driver_version();                  // 13000 for CUDA 13.0
Device *device_of(int ordinal);        // null if there is none
bool can_access(const Device &, const Device &owner);
bool logging();

// What exists, for tests.
void count_allocations(unsigned long long &count, unsigned long long &bytes);
void count_virtual(long &reservations, long &mappings);
long count_handles();
long count_imports();
int capture_mode_of_thread();

Context *current_context();
constexpr int least_priority = 0, greatest_priority = -5;
Stream *make_stream(Context &, unsigned flags, int priority);  // which the range bounds
Stream *stream_of(void *handle);       // null if unknown
void set_current_context(Context *);

OperationRef make_operation(const char *what, Context &, std::function<Result()> action = nullptr);
// Puts the operation on the stream, or into its capture.
Result submit(Stream &, OperationMaker);
// Waits for what was just put on the stream if CUDA_LAUNCH_BLOCKING=1 asks for it.
Result block_if_asked(Stream &);
Result run_until_done(const OperationRef &, Context &);
Result run_everything(Context &);
// For calls that may wait for a device on a real driver: with QUERN_EMULATOR_WAITS=1 they do.
void wait_for_device(Device &);
void wait_for_all_devices();
void run_what_is_possible(const OperationRef &);
// For calls that are forbidden during a capture: invalidates the capture and returns its error.
Result refuse_during_capture();
// For calls that wait for a whole context: not even the relaxed mode permits them while one of its streams captures.
Result refuse_beside_captures(Context &);
void drop_work(Context &);

}  // namespace emulator
