// Virtual memory: physical memory behind handles, address reservations, mappings
// and access rights. Physical memory is a file, which other processes can map too.
#include "libcuda.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>

namespace emulator {

namespace {

struct Handle { PhysicalRef object; unsigned references; };
struct Reservation { size_t bytes; char *base; size_t base_bytes; };

std::map<std::pair<dev_t, ino_t>, std::weak_ptr<Physical>> known;  // by file
std::map<unsigned long long, Handle> handles;
std::map<DevicePointer, Reservation> reservations;
std::map<DevicePointer, Mapping> mappings;

// What lies in the map's element that contains `p`; null if none does.
template <class T> T *containing(std::map<DevicePointer, T> &all, DevicePointer p) {
  auto at = all.upper_bound(p);
  if (at == all.begin()) return nullptr;
  --at;
  return p < at->first + at->second.bytes ? &at->second : nullptr;
}

bool fill_file(int file, size_t bytes) {
  static const std::vector<u8> pattern(1 << 18, uninitialised);
  for (size_t at = 0; at < bytes; at += pattern.size())
    if (pwrite(file, pattern.data(), std::min(pattern.size(), bytes - at), off_t(at)) < 0) return false;
  return true;
}

// ---- files that carry what an importing process must know in their names ----

constexpr char memory_name[] = "quern_emulator_memory:%d:%u", multicast_name[] = "quern_emulator_multicast:%u";

bool same_form(int file, const char *form, int *first, unsigned *second) {
  char link[64], target[256] = "", wanted[128];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (readlink(link, target, sizeof target - 1) < 0) return false;
  snprintf(wanted, sizeof wanted, "/memfd:%s", form);
  return sscanf(target, wanted, first, second) >= 1;
}

void remember(const PhysicalRef &object) {
  struct stat s;
  if (fstat(object->file, &s) == 0) known[{s.st_dev, s.st_ino}] = object;
  object->id = next_memory_id();
}

PhysicalRef recall(int file) {
  struct stat s;
  if (fstat(file, &s) != 0) return nullptr;
  auto at = known.find({s.st_dev, s.st_ino});
  return at == known.end() ? nullptr : at->second.lock();
}

unsigned long long add_reference(const PhysicalRef &object) {
  Handle &h = handles.try_emplace(object->id, Handle{object, 0}).first->second;
  h.references++;
  return object->id;
}

Result import_file(int file, PhysicalRef &object) {
  int first = 0;
  unsigned types = 0;
  bool is_memory = same_form(file, memory_name, &first, &types), is_multicast = !is_memory && same_form(file, multicast_name, &first, nullptr);
  if (!is_memory && !is_multicast) return invalid_value;
  if (is_memory && !device_of(first)) return not_supported;
  struct stat s;
  object = std::make_shared<Physical>();
  object->is_imported = true;
  object->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (object->file < 0 || fstat(object->file, &s) != 0) return out_of_memory;
  if (is_multicast && !open_multicast(*object)) return invalid_value;
  if (is_memory) object->bytes = size_t(s.st_size), object->device = device_of(first), object->handle_types = types;
  remember(object);
  return success;
}

// ---- mappings ----

// The mappings that fill the range exactly; empty if they do not.
std::vector<Mapping *> mappings_of(DevicePointer p, size_t bytes) {
  std::vector<Mapping *> all;
  const DevicePointer end = p + bytes;
  while (p < end) {
    auto at = mappings.find(p);
    if (at == mappings.end() || p + at->second.bytes > end) return {};
    all.push_back(&at->second);
    p += at->second.bytes;
  }
  return all;
}

bool is_free(DevicePointer p, size_t bytes) {
  if (find_mapping(p)) return false;
  auto next = mappings.lower_bound(p);
  return next == mappings.end() || next->first >= p + bytes;
}

// A multicast object's addresses hold nothing themselves: whatever but multimem touches them faults.
bool map_pages(const Mapping &m) {
  if (m.memory->multicast) return true;
  void *at = reinterpret_cast<void *>(m.address);
  return mmap(at, m.bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, m.memory->file, off_t(m.offset)) != MAP_FAILED;
}

void unmap_pages(const Mapping &m) {
  mmap(reinterpret_cast<void *>(m.address), m.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool may_access(const Device &d, const Physical &object) {
  return object.multicast ? in_team(object, d) : can_access(d, *object.device);
}

}  // namespace

Physical::~Physical() {
  if (view) munmap(view, bytes);
  if (multicast) close_multicast(*this);
  if (file >= 0) close(file);
  if (device && !is_imported) device->memory_used -= bytes;
}

PhysicalRef object_of(unsigned long long handle) {
  auto at = handles.find(handle);
  return at == handles.end() ? nullptr : at->second.object;
}

unsigned long long handle_for(const PhysicalRef &object) {
  remember(object);
  return add_reference(object);
}

PhysicalRef object_of_file(int file) {
  PhysicalRef object = recall(file);
  if (!object && import_file(file, object)) return nullptr;
  return object;
}

int make_multicast_file(unsigned handle_types) {
  char name[64];
  snprintf(name, sizeof name, multicast_name, handle_types);
  return memfd_create(name, MFD_CLOEXEC);
}

Mapping *find_mapping(DevicePointer p) { return containing(mappings, p); }

unsigned access_of(const Mapping &m, const Device &d) {
  auto at = m.access.find(d.ordinal);
  return at == m.access.end() ? unsigned(access_none) : at->second;
}

bool is_reserved(DevicePointer p) { return containing(reservations, p) != nullptr; }

std::pair<DevicePointer, size_t> reservation_of(DevicePointer p) {
  auto at = std::prev(reservations.upper_bound(p));
  return {at->first, at->second.bytes};
}

char *view_of(Physical &object) {
  if (object.view) return object.view;
  void *view = mmap(nullptr, object.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object.file, 0);
  return object.view = view == MAP_FAILED ? nullptr : static_cast<char *>(view);
}

// Memory mapped at several addresses has one place where ThreadSanitizer's edges meet: its view.
void synchronise_alias(u64 address, bool release) {
  Mapping *m = find_mapping(address);
  if (!m || !m->memory->view) return;
  void *place = m->memory->view + m->offset + (address - m->address);
  if (release) happens_before(place);
  else happens_after(place);
}

}  // namespace emulator

using namespace emulator;

namespace {

// As cuda.h lays them out.
struct Location { int type, id; };
struct AllocationProp {
  int type;
  unsigned handle_types;
  Location location;
  void *win32_metadata;
  struct { unsigned char compression, rdma; unsigned short usage; unsigned char reserved[4]; } flags;
};
struct AccessDescription { Location location; unsigned flags; };

enum { type_pinned = 1, location_device = 1, location_last = 4, handle_file = 1 };

Result check_location(const Location &l) {
  if (l.type < location_device || l.type > location_last) return invalid_value;
  if (l.type != location_device) return not_supported;
  return device_of(l.id) ? success : invalid_device;
}

Result check_properties(const AllocationProp *p) {
  if (!p || p->type != type_pinned || p->win32_metadata) return invalid_value;
  if (p->handle_types & ~unsigned(handle_file)) return not_supported;
  return p->flags.usage ? int(not_supported) : check_location(p->location);
}

Result check_access(const AccessDescription &a) {
  if (a.flags != access_none && a.flags != access_read && a.flags != access_read_write) return invalid_value;
  return check_location(a.location);
}

bool aligned(DevicePointer p, size_t bytes) { return bytes && (p | bytes) % granularity == 0 && p + bytes > p; }

Result create(size_t bytes, const AllocationProp &p, PhysicalRef &object) {
  Device &d = *device_of(p.location.id);
  if (bytes > d.memory_bytes || d.memory_used > d.memory_bytes - bytes) return out_of_memory;
  char name[64];
  snprintf(name, sizeof name, memory_name, d.ordinal, p.handle_types);
  object = std::make_shared<Physical>();
  object->file = memfd_create(name, MFD_CLOEXEC);
  if (object->file < 0 || ftruncate(object->file, off_t(bytes)) != 0 || !fill_file(object->file, bytes)) return out_of_memory;
  object->bytes = bytes, object->device = &d, object->handle_types = p.handle_types;
  d.memory_used += bytes;
  return success;
}

}  // namespace

API Result cuMemGetAllocationGranularity(size_t *bytes, const AllocationProp *p, int option) {
  ENTER(initialization);
  if (!bytes || option < 0 || option > 1) return invalid_value;
  if (Result r = check_properties(p)) return r;
  *bytes = granularity;
  return success;
}

API Result cuMemCreate(unsigned long long *handle, size_t bytes, const AllocationProp *p, unsigned long long flags) {
  ENTER(initialization);
  if (!handle || flags || !aligned(0, bytes)) return invalid_value;
  if (Result r = check_properties(p)) return r;
  PhysicalRef object;
  if (Result r = create(bytes, *p, object)) return r;
  *handle = handle_for(object);
  return success;
}

API Result cuMemRelease(unsigned long long handle) {
  ENTER(initialization);
  auto at = handles.find(handle);
  if (at == handles.end()) return invalid_value;
  if (--at->second.references == 0) handles.erase(at);
  return success;
}

API Result cuMemRetainAllocationHandle(unsigned long long *handle, void *address) {
  ENTER(initialization);
  Mapping *m = find_mapping(reinterpret_cast<DevicePointer>(address));
  if (!handle || !m) return invalid_value;
  *handle = add_reference(m->memory);
  return success;
}

API Result cuMemGetAllocationPropertiesFromHandle(AllocationProp *p, unsigned long long handle) {
  ENTER(initialization);
  PhysicalRef object = object_of(handle);
  if (!p || !object || object->multicast) return invalid_value;
  *p = {type_pinned, object->handle_types, {location_device, object->device->ordinal}, nullptr, {}};
  return success;
}

API Result cuMemExportToShareableHandle(void *out, unsigned long long handle, int type, unsigned long long flags) {
  ENTER(initialization);
  PhysicalRef object = object_of(handle);
  if (!out || !object || flags || type != handle_file || !(object->handle_types & handle_file)) return invalid_value;
  int file = fcntl(object->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return out_of_memory;
  memcpy(out, &file, sizeof file);
  return success;
}

API Result cuMemImportFromShareableHandle(unsigned long long *handle, void *os_handle, int type) {
  ENTER(initialization);
  if (!handle || type != handle_file) return invalid_value;
  const int file = int(reinterpret_cast<intptr_t>(os_handle));
  PhysicalRef object = recall(file);
  if (!object)
    if (Result r = import_file(file, object)) return r;
  *handle = add_reference(object);
  return success;
}

// ---- addresses ----

API Result cuMemAddressReserve(DevicePointer *out, size_t bytes, size_t alignment, DevicePointer, unsigned long long flags) {
  ENTER(initialization);
  if (!out || flags || !aligned(0, bytes) || (alignment & (alignment - 1))) return invalid_value;
  alignment = std::max(alignment, granularity);
  size_t base_bytes = bytes + alignment + 2 * guard_bytes;
  if (base_bytes < bytes) return out_of_memory;
  char *base = static_cast<char *>(mmap(nullptr, base_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED) return out_of_memory;
  *out = (reinterpret_cast<DevicePointer>(base) + guard_bytes + alignment - 1) / alignment * alignment;
  reservations[*out] = {bytes, base, base_bytes};
  return success;
}

API Result cuMemAddressFree(DevicePointer p, size_t bytes) {
  ENTER(initialization);
  auto at = reservations.find(p);
  if (at == reservations.end() || at->second.bytes != bytes || !is_free(p, bytes)) return invalid_value;
  munmap(at->second.base, at->second.base_bytes);
  reservations.erase(at);
  return success;
}

API Result cuMemMap(DevicePointer p, size_t bytes, size_t offset, unsigned long long handle, unsigned long long flags) {
  ENTER(initialization);
  PhysicalRef object = object_of(handle);
  // The offset "currently must be zero".
  if (!object || flags || offset || !aligned(p, bytes) || bytes > object->bytes) return invalid_value;
  if (object->multicast)
    if (Result r = wait_for_team(*object)) return r;
  Reservation *r = containing(reservations, p);
  if (!r || p + bytes > reservation_of(p).first + r->bytes || !is_free(p, bytes)) return invalid_value;
  Mapping m{p, bytes, offset, object, {}};
  if (!map_pages(m)) return out_of_memory;
  if (under_tsan() && !object->multicast) view_of(*object);
  add_allocation(Memory::mapped, p, bytes, object->device);
  mappings[p] = std::move(m);
  return success;
}

API Result cuMemUnmap(DevicePointer p, size_t bytes) {
  ENTER(initialization);
  if (!aligned(p, bytes)) return invalid_value;
  std::vector<Mapping *> all = mappings_of(p, bytes);
  if (all.empty()) return invalid_value;
  for (Mapping *m : all) {
    unmap_pages(*m);
    forget_allocation(m->address);
    mappings.erase(m->address);
  }
  return success;
}

API Result cuMemSetAccess(DevicePointer p, size_t bytes, const AccessDescription *description, size_t count) {
  ENTER(initialization);
  if (!description || !count || !aligned(p, bytes)) return invalid_value;
  std::vector<Mapping *> all = mappings_of(p, bytes);
  if (all.empty()) return invalid_value;
  for (size_t i = 0; i < count; i++) {
    if (Result r = check_access(description[i])) return r;
    for (Mapping *m : all)
      if (!may_access(*device_of(description[i].location.id), *m->memory)) return invalid_device;
  }
  for (Mapping *m : all) {
    for (size_t i = 0; i < count; i++) m->access[description[i].location.id] = description[i].flags;
    if (!m->memory->multicast) mprotect(reinterpret_cast<void *>(m->address), m->bytes, full_protection_of(*m));
  }
  rights_changed();
  return success;
}

API Result cuMemGetAccess(unsigned long long *flags, const Location *location, DevicePointer p) {
  ENTER(initialization);
  Mapping *m = find_mapping(p);
  if (!flags || !location || !m) return invalid_value;
  if (Result r = check_location(*location)) return r;
  *flags = access_of(*m, *device_of(location->id));
  return success;
}
