// Virtual memory: address reservations, mappings of physical memory and access rights.
#include "libcuda.h"

#include <sys/mman.h>
#include <algorithm>

namespace emulator {

namespace {

struct Reservation { size_t bytes; char *base; size_t base_bytes; };

std::map<DevicePointer, Reservation> reservations;
std::map<DevicePointer, Mapping> mappings;

// The map's element that contains `p`; null if none does.
template <class T> T *containing(std::map<DevicePointer, T> &all, DevicePointer p) {
  auto at = all.upper_bound(p);
  if (at == all.begin()) return nullptr;
  --at;
  return p < at->first + at->second.bytes ? &at->second : nullptr;
}

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

// A multicast object's addresses have no memory: all accesses except multimem fault.
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

void count_virtual(long &all_reservations, long &all_mappings) {
  all_reservations = long(reservations.size()), all_mappings = long(mappings.size());
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

// Memory mapped at several addresses has one common address for ThreadSanitizer's edges: its view.
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

struct AccessDescription { Location location; unsigned flags; };

Result check_access(const AccessDescription &a) {
  if (a.flags != access_none && a.flags != access_read && a.flags != access_read_write) return invalid_value;
  return check_location(a.location);
}

}  // namespace

API Result cuMemAddressReserve(DevicePointer *out, size_t bytes, size_t alignment, DevicePointer, unsigned long long flags) {
  ENTER(initialization);
  if (!out || flags || !is_aligned(0, bytes) || (alignment & (alignment - 1))) return invalid_value;
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
  if (!object || flags || offset || !is_aligned(p, bytes) || bytes > object->bytes) return invalid_value;
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
  if (!is_aligned(p, bytes)) return invalid_value;
  std::vector<Mapping *> all = mappings_of(p, bytes);
  if (all.empty()) return invalid_value;
  wait_for_all_devices();
  for (Mapping *m : mappings_of(p, bytes)) {
    unmap_pages(*m);
    forget_allocation(m->address);
    mappings.erase(m->address);
  }
  return success;
}

API Result cuMemSetAccess(DevicePointer p, size_t bytes, const AccessDescription *description, size_t count) {
  ENTER(initialization);
  if (!description || !count || !is_aligned(p, bytes)) return invalid_value;
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
