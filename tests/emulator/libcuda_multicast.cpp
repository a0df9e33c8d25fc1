// Multicast objects: addresses behind which each device of a team has its own memory. The bindings are stored in the object's
// file, for all processes; each maps the others' memory when a multimem instruction first needs it.
#include "libcuda.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>

namespace emulator {

namespace {

constexpr size_t most_devices = 64, most_bindings = 256;

struct Binding {
  int device, file;
  pid_t process;             // in which `file` is open
  size_t offset, memory_offset, bytes;
};

struct Shared {
  pthread_mutex_t lock;      // robust: a process may die with it
  unsigned handle_types;
  size_t bytes, team_size, team_count, binding_count;
  unsigned long long version;  // of the bindings
  int team[most_devices];
  Binding bindings[most_bindings];
};

class Locked {
 public:
  explicit Locked(Shared &s) : shared_(s) {
    if (pthread_mutex_lock(&s.lock) == EOWNERDEAD) pthread_mutex_consistent(&s.lock);
  }
  ~Locked() { pthread_mutex_unlock(&shared_.lock); }
  Locked(const Locked &) = delete;

 private:
  Shared &shared_;
};

struct Replica { size_t offset, bytes; char *memory; PhysicalRef object; };

}  // namespace

struct Multicast {
  Shared *shared;
  std::vector<PhysicalRef> bound_here;  // kept for the other processes
  std::vector<Replica> replicas;
  unsigned long long version = 0;       // of `replicas`
};

namespace {

// Memory bound by any process; null if that process has ended.
PhysicalRef bound_object(const Binding &b) {
  if (b.process == getpid()) return object_of_file(b.file);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", b.process, b.file);
  int file = open(path, O_RDWR | O_CLOEXEC);
  PhysicalRef object = file < 0 ? nullptr : object_of_file(file);
  if (file >= 0) close(file);
  return object;
}

void update_replicas(Multicast &m) {
  Shared &s = *m.shared;
  if (__atomic_load_n(&s.version, __ATOMIC_ACQUIRE) == m.version) return;
  Locked lock(s);
  std::vector<Replica> earlier = std::move(m.replicas);  // mappings stay valid meanwhile
  m.replicas.clear();
  for (size_t i = 0; i < s.binding_count; i++) {
    const Binding &b = s.bindings[i];
    PhysicalRef object = bound_object(b);
    char *view = object ? view_of(*object) : nullptr;
    m.replicas.push_back({b.offset, b.bytes, view ? view + b.memory_offset : nullptr, object});
  }
  m.version = s.version;
}

// Of this process.  A real driver keeps bound memory until it is unbound, even without a handle or a mapping.
long bindings_here = 0;

void change_version(Shared &s) { __atomic_store_n(&s.version, s.version + 1, __ATOMIC_RELEASE); }

bool overlaps(const Binding &b, const Binding &other) {
  return b.device == other.device && b.offset < other.offset + other.bytes && other.offset < b.offset + b.bytes;
}

Result bind(Physical &object, const PhysicalRef &memory, size_t offset, size_t memory_offset, size_t bytes) {
  Shared &s = *object.multicast->shared;
  Locked lock(s);
  Binding b{memory->device->ordinal, memory->file, getpid(), offset, memory_offset, bytes};
  for (size_t i = 0; i < s.binding_count; i++)
    if (overlaps(b, s.bindings[i])) return invalid_value;
  if (s.binding_count == most_bindings) return out_of_memory;
  s.bindings[s.binding_count++] = b;
  bindings_here++;
  change_version(s);
  object.multicast->bound_here.push_back(memory);
  return success;
}

void initialise(Shared &s, size_t bytes, size_t team_size, unsigned handle_types) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&s.lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  s.bytes = bytes, s.team_size = team_size, s.handle_types = handle_types, s.version = 1;
}

bool team_is_complete(const Physical &object) {
  Shared &s = *object.multicast->shared;
  Locked lock(s);
  return s.team_count == s.team_size;
}

}  // namespace

bool has_multicast(const Device &d) { return d.capability.major >= 9 && environment("QUERN_EMULATOR_MULTICAST", 0) != 0; }

bool open_multicast(Physical &object) {
  void *p = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, object.file, 0);
  if (p == MAP_FAILED) return false;
  object.multicast = new Multicast{static_cast<Shared *>(p), {}, {}};
  object.bytes = object.multicast->shared->bytes, object.handle_types = object.multicast->shared->handle_types;
  return true;
}

void close_multicast(Physical &object) {
  munmap(object.multicast->shared, sizeof(Shared));
  delete object.multicast;
}

bool in_team(const Physical &object, const Device &d) {
  Shared &s = *object.multicast->shared;
  Locked lock(s);
  return std::count(s.team, s.team + s.team_count, d.ordinal) > 0;
}

bool is_reached_by_multicast(u64 address) {
  Mapping *m = find_mapping(address);
  return m && m->memory->reached.count((m->offset + (address - m->address)) / 8);
}

// The real driver waits for ever; the emulator as long as for a kernel that makes no progress.
Result wait_for_team(const Physical &object) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(environment("QUERN_EMULATOR_TIMEOUT", 10));
  while (!team_is_complete(object)) {
    if (std::chrono::steady_clock::now() > end) {
      fprintf(stderr, "emulator: multicast object used before all its devices were added: the real driver would wait for ever\n");
      return illegal_state;
    }
    driver().door.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    driver().door.lock();
  }
  return success;
}

const char *multicast_replica(u64 address, u32 bytes, u32 index, int device, u8 **out) {
  Mapping *m = find_mapping(address);
  if (!m || !m->memory->multicast) return "multimem on an address that no multicast object is mapped to";
  if (access_of(*m, *device_of(device)) != access_read_write) return "multimem on a mapping this device has no access to";
  Multicast &multicast = *m->memory->multicast;
  update_replicas(multicast);
  const size_t offset = m->offset + (address - m->address);
  u32 found = 0;
  *out = nullptr;
  for (const Replica &r : multicast.replicas) {
    if (offset < r.offset || offset + bytes > r.offset + r.bytes) continue;
    if (!r.memory) return "multimem on memory of a process that has gone";
    if (found++ != index) continue;
    *out = reinterpret_cast<u8 *>(r.memory + (offset - r.offset));
    r.object->reached.insert(size_t(reinterpret_cast<char *>(*out) - r.object->view) / 8);
  }
  return found == multicast.shared->team_size ? nullptr : "multimem where not every device of the team has memory bound";
}

}  // namespace emulator

using namespace emulator;

namespace {

struct MulticastProp { unsigned device_count; size_t bytes; unsigned long long handle_types, flags; };  // as in cuda.h

bool any_multicast() {
  return std::any_of(driver().devices.begin(), driver().devices.end(), [](auto &d) { return has_multicast(*d); });
}

Result check_properties(const MulticastProp *p) {
  if (!p || p->flags || !p->device_count || p->device_count > most_devices || !is_aligned(0, p->bytes)) return invalid_value;
  return p->handle_types & ~handle_types() || !any_multicast() ? not_supported : success;
}

PhysicalRef multicast_of(unsigned long long handle) {
  PhysicalRef object = object_of(handle);
  return object && object->multicast ? object : nullptr;
}

Result check_bind(const Physical &object, const Physical &memory, size_t offset, size_t memory_offset, size_t bytes) {
  if (!bytes || (bytes | offset | memory_offset) % granularity || memory.multicast) return invalid_value;
  if (bytes > object.bytes || offset > object.bytes - bytes) return invalid_value;
  if (bytes > memory.bytes || memory_offset > memory.bytes - bytes) return invalid_value;
  if ((object.handle_types || object.is_imported) && !memory.handle_types) return invalid_value;
  return success;
}

}  // namespace

API Result cuMulticastGetGranularity(size_t *bytes, const MulticastProp *p, int option) {
  ENTER(initialization);
  if (!bytes || !p || option < 0 || option > 1) return invalid_value;
  if (!any_multicast()) return not_supported;
  *bytes = granularity;
  return success;
}

API Result cuMulticastCreate(unsigned long long *handle, const MulticastProp *p) {
  ENTER(initialization);
  if (!handle) return invalid_value;
  if (Result r = check_properties(p)) return r;
  auto object = std::make_shared<Physical>();
  object->file = make_multicast_file(unsigned(p->handle_types));
  if (object->file < 0 || ftruncate(object->file, sizeof(Shared)) != 0 || !open_multicast(*object)) return out_of_memory;
  initialise(*object->multicast->shared, p->bytes, p->device_count, unsigned(p->handle_types));
  object->bytes = p->bytes, object->handle_types = unsigned(p->handle_types);
  *handle = handle_for(object);
  return success;
}

API Result cuMulticastAddDevice(unsigned long long handle, int device) {
  ENTER(initialization);
  PhysicalRef object = multicast_of(handle);
  if (!object) return invalid_value;
  Device *d = device_of(device);
  if (!d) return invalid_device;
  if (!has_multicast(*d)) return not_supported;
  if (in_team(*object, *d)) return invalid_value;
  Shared &s = *object->multicast->shared;
  Locked lock(s);
  if (s.team_count == s.team_size) return invalid_value;
  s.team[s.team_count++] = device;
  return success;
}

API Result cuMulticastBindMem(unsigned long long handle, size_t offset, unsigned long long memory_handle, size_t memory_offset,
                              size_t bytes, unsigned long long flags) {
  ENTER(initialization);
  const PhysicalRef object = multicast_of(handle), memory = object_of(memory_handle);
  if (flags || !object || !memory) return invalid_value;
  if (Result r = check_bind(*object, *memory, offset, memory_offset, bytes)) return r;
  if (Result r = wait_for_team(*object)) return r;
  return in_team(*object, *memory->device) ? bind(*object, memory, offset, memory_offset, bytes) : int(invalid_device);
}

API Result cuMulticastUnbind(unsigned long long handle, int device, size_t offset, size_t bytes) {
  ENTER(initialization);
  PhysicalRef object = multicast_of(handle);
  if (!object) return invalid_value;
  if (!device_of(device)) return invalid_device;
  wait_for_device(*device_of(device));
  Shared &s = *object->multicast->shared;
  Locked lock(s);
  Binding *end = s.bindings + s.binding_count;
  auto is_wanted = [&](const Binding &b) { return b.device == device && b.offset == offset && b.bytes == bytes; };
  Binding *b = std::find_if(s.bindings, end, is_wanted);
  if (b == end) return invalid_value;
  if (b->process == getpid()) bindings_here--;
  *b = end[-1];
  s.binding_count--;
  change_version(s);
  return success;
}

// For tests: the memory that this process has bound and not unbound.
API long quern_emulator_bindings() {
  std::lock_guard<Door> lock(driver().door);
  return bindings_here;
}
