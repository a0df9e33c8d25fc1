// Physical memory behind handles: a file, which other processes can map too.
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

std::map<std::pair<dev_t, ino_t>, std::weak_ptr<Physical>> known;  // by file
std::map<unsigned long long, Handle> handles;

enum { type_pinned = 1, location_device = 1, location_last = 4 };

bool fill_file(int file, size_t bytes) {
  static const std::vector<u8> pattern(1 << 18, uninitialised);
  for (size_t at = 0; at < bytes; at += pattern.size())
    if (pwrite(file, pattern.data(), std::min(pattern.size(), bytes - at), off_t(at)) < 0) return false;
  return true;
}

// ---- files whose names contain the information for an importing process ----

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

Result import_file(int file, PhysicalRef &object) {
  int first = 0;
  unsigned types = 0;
  const bool is_memory = same_form(file, memory_name, &first, &types);
  const bool is_multicast = !is_memory && same_form(file, multicast_name, &first, nullptr);
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

}  // namespace

long count_handles() { return long(handles.size()); }

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

unsigned long long add_reference(const PhysicalRef &object) {
  Handle &h = handles.try_emplace(object->id, Handle{object, 0}).first->second;
  h.references++;
  return object->id;
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

char *view_of(Physical &object) {
  if (object.view) return object.view;
  void *view = mmap(nullptr, object.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object.file, 0);
  return object.view = view == MAP_FAILED ? nullptr : static_cast<char *>(view);
}

Result check_location(const Location &l) {
  if (l.type < location_device || l.type > location_last) return invalid_value;
  if (l.type != location_device) return not_supported;
  return device_of(l.id) ? success : invalid_device;
}

unsigned handle_types() { return any_fabric() ? handle_file | handle_fabric : handle_file; }

bool is_aligned(DevicePointer p, size_t bytes) { return bytes && (p | bytes) % granularity == 0 && p + bytes > p; }

}  // namespace emulator

using namespace emulator;

namespace {

// Laid out as in cuda.h.
struct AllocationProp {
  int type;
  unsigned handle_types;
  Location location;
  void *win32_metadata;
  struct { unsigned char compression, rdma; unsigned short usage; unsigned char reserved[4]; } flags;
};

Result check_properties(const AllocationProp *p) {
  if (!p || p->type != type_pinned || p->win32_metadata) return invalid_value;
  if (p->handle_types & ~handle_types()) return not_supported;
  return p->flags.usage ? int(not_supported) : check_location(p->location);
}

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
  if (!handle || flags || !is_aligned(0, bytes)) return invalid_value;
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
  const bool is_type = type == handle_file || type == handle_fabric;
  if (!out || !object || flags || !is_type || !(object->handle_types & unsigned(type))) return invalid_value;
  if (type == handle_fabric) return export_fabric(*object, out);
  int file = fcntl(object->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return out_of_memory;
  memcpy(out, &file, sizeof file);
  return success;
}

API Result cuMemImportFromShareableHandle(unsigned long long *handle, void *os_handle, int type) {
  ENTER(initialization);
  if (!handle || (type != handle_file && type != handle_fabric) || (type == handle_fabric && !os_handle)) return invalid_value;
  int file = int(reinterpret_cast<intptr_t>(os_handle));
  if (type == handle_fabric)
    if (Result r = open_fabric(os_handle, file)) return r;
  PhysicalRef object = recall(file);
  const Result r = object ? int(success) : import_file(file, object);
  if (type == handle_fabric) close(file);
  if (r == success) *handle = add_reference(object);
  return r;
}
