// All memory that the driver knows, and allocation of device memory. Every allocation lies between two guard pages, at one of them;
// the bytes between its ends and the pages hold a canary.
#include "libcuda.h"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>

namespace emulator {

namespace {

constexpr size_t page = 4096, many_pages = 4 << 20;
constexpr size_t alignment = 16;  // CUDA promises 256; the widest access of a kernel needs 16, and what relies on more is found
constexpr u8 canary = 0xc5;

std::map<DevicePointer, Allocation> allocations;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Mapped and registered memory has no canary.
bool has_canary(const Allocation &a) { return a.mapping != nullptr; }
u8 *end_of(const Allocation &a) { return reinterpret_cast<u8 *>(a.address) + a.bytes; }
size_t slack(const Allocation &a) { return size_t(reinterpret_cast<u8 *>(a.mapping) + a.mapping_bytes - guard_bytes - end_of(a)); }

u8 *front_of(const Allocation &a) { return reinterpret_cast<u8 *>(a.mapping) + guard_bytes; }
size_t lead(const Allocation &a) { return size_t(reinterpret_cast<u8 *>(a.address) - front_of(a)); }

// By blocks: an allocation has up to a page of canary.
const u8 *first_other(const u8 *edge, size_t bytes) {
  constexpr size_t words = 16;
  const u8 *end = edge + bytes;
  u64 expected, block[words];
  memset(&expected, canary, sizeof expected);
  for (; size_t(end - edge) >= sizeof block; edge += sizeof block) {
    u64 differing = 0;
    memcpy(block, edge, sizeof block);
    for (size_t i = 0; i < words; i++) differing |= block[i] ^ expected;
    if (differing) break;
  }
  return std::find_if(edge, end, [](u8 byte) { return byte != canary; });
}

// Looks at the bytes between an end and its guard page, and repairs them.
bool edge_intact(const Allocation &a, u8 *edge, size_t bytes, bool is_front) {
  const u8 *wrong = first_other(edge, bytes);
  if (wrong == edge + bytes) return true;
  fprintf(stderr, "emulator: byte %zu %s the allocation of %zu bytes at %#llx was overwritten\n",
          size_t(is_front ? edge + bytes - wrong : wrong - edge), is_front ? "before" : "after the end of", a.bytes, a.address);
  unpoison(edge, bytes);
  std::fill(edge, edge + bytes, canary);
  poison(edge, bytes);
  return false;
}

bool canary_intact(const Allocation &a) {
  if (!has_canary(a)) return true;
  bool front = edge_intact(a, front_of(a), lead(a), true);
  return edge_intact(a, end_of(a), slack(a), false) && front;
}

}  // namespace

unsigned long long next_memory_id() {
  static unsigned long long last;
  return ++last;
}

void for_each_allocation(const std::function<void(const Allocation &)> &f) { for (auto &[address, a] : allocations) f(a); }

Allocation &add_allocation(Memory kind, DevicePointer address, size_t bytes, Device *device) {
  rights_changed();
  return allocations[address] = {kind, address, bytes, device, next_memory_id(), nullptr, 0, -1, false, 0};
}

void forget_allocation(DevicePointer address) {
  allocations.erase(address);
  rights_changed();
}

void poison_edges(const Allocation &a) {
  poison(front_of(a), lead(a));
  poison(end_of(a), slack(a));
}

void unpoison_edges(const Allocation &a) { unpoison(front_of(a), a.mapping_bytes - 2 * guard_bytes); }

Result allocate(Memory kind, size_t bytes, Device *device, DevicePointer *out) {
  if (!out || bytes == 0) return invalid_value;
  if (device && (bytes > device->memory_bytes || device->memory_used > device->memory_bytes - bytes)) return out_of_memory;
  size_t used = round_up(bytes, alignment), mapping = round_up(used, page) + 2 * guard_bytes;
  char *base = static_cast<char *>(mmap(nullptr, mapping, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                                        0));
  if (base == MAP_FAILED) return out_of_memory;
  if (mapping >= many_pages) madvise(base, mapping, MADV_HUGEPAGE);  // all of it is written below: fewer faults
  mprotect(base, guard_bytes, PROT_NONE);
  mprotect(base + mapping - guard_bytes, guard_bytes, PROT_NONE);
  const size_t offset = driver().begins_at_guard ? guard_bytes : mapping - guard_bytes - used;
  Allocation &a = add_allocation(kind, reinterpret_cast<DevicePointer>(base + offset), bytes, device);
  a.mapping = base, a.mapping_bytes = mapping;
  memset(reinterpret_cast<void *>(a.address), uninitialised, bytes);
  memset(front_of(a), canary, lead(a));
  memset(end_of(a), canary, slack(a));
  poison_edges(a);
  if (device) device->memory_used += bytes;
  *out = a.address;
  return success;
}

bool release(DevicePointer address) {
  auto at = allocations.find(address);
  if (at == allocations.end()) return true;
  Allocation a = at->second;
  bool intact = canary_intact(a);
  unpoison_edges(a);
  if (a.kind == Memory::device) a.device->memory_used -= a.bytes;
  munmap(a.mapping, a.mapping_bytes);
  if (a.file >= 0) close(a.file);
  forget_allocation(address);
  return intact;
}

Allocation *find_allocation(DevicePointer p) {
  auto at = allocations.upper_bound(p);
  if (at == allocations.begin()) return nullptr;
  Allocation &a = (--at)->second;
  return p < a.address + a.bytes ? &a : nullptr;
}

Allocation *find_allocation_around(DevicePointer p) {
  auto at = allocations.upper_bound(p);
  if (at != allocations.end() && at->second.mapping && p >= reinterpret_cast<DevicePointer>(at->second.mapping)) return &at->second;
  if (at == allocations.begin()) return nullptr;
  Allocation &a = (--at)->second;
  return a.mapping && p < reinterpret_cast<DevicePointer>(a.mapping + a.mapping_bytes) ? &a : nullptr;
}

Allocation *find_overlapping(DevicePointer p, size_t bytes) {
  if (Allocation *a = find_allocation(p)) return a;
  auto next = allocations.lower_bound(p);
  return next != allocations.end() && next->first < p + bytes ? &next->second : nullptr;
}

bool canaries_intact() {
  bool intact = true;
  for (auto &[address, a] : allocations) intact &= canary_intact(a);
  return intact;
}

void free_device_memory(Device &d) {
  std::vector<DevicePointer> mine;
  for (auto &[address, a] : allocations)
    if (a.kind == Memory::device && a.device == &d) mine.push_back(address);
  for (DevicePointer p : mine) release(p);
}

void count_allocations(unsigned long long &count, unsigned long long &bytes) {
  count = allocations.size(), bytes = 0;
  for (auto &[address, a] : allocations) bytes += a.bytes;
}

}  // namespace emulator

using namespace emulator;

API Result cuMemAlloc_v2(DevicePointer *p, size_t bytes) {
  ENTER(context);
  if (Result r = refuse_during_capture()) return r;
  return allocate(Memory::device, bytes, current_context()->device, p);
}
API Result cuMemAlloc(DevicePointer *p, size_t bytes) { return cuMemAlloc_v2(p, bytes); }

API Result cuMemFree_v2(DevicePointer p) {
  ENTER(context);
  if (!p) return success;
  if (Result r = refuse_during_capture()) return r;
  Allocation *a = find_allocation(p);
  if (!a || a->address != p || a->kind != Memory::device) return invalid_value;
  if (is_open_elsewhere(*a)) {  // undefined on a real driver
    fprintf(stderr, "emulator: cuMemFree of memory at %#llx that another process has open by its IPC handle\n", p);
    return illegal_state;
  }
  run_everything(*a->device->context);  // the real cuMemFree waits for the device
  if (!release(p)) current_context()->error = illegal_address;
  return current_context()->error;
}
API Result cuMemFree(DevicePointer p) { return cuMemFree_v2(p); }

API Result cuMemAllocAsync(DevicePointer *p, size_t bytes, void *stream) {
  ENTER_STREAM(s, stream, context);
  if (s->capture) return refuse_during_capture() ? int(capture_unsupported) : int(not_supported);
  if (Result r = allocate(Memory::device, bytes, current_context()->device, p)) return r;
  find_allocation(*p)->is_pooled = true;
  return success;
}

API Result cuMemFreeAsync(DevicePointer p, void *stream) {
  ENTER(context);
  Stream *s = stream_of(stream);
  Allocation *a = find_allocation(p);
  if (!s) return invalid_handle;
  if (!a || a->address != p || a->kind != Memory::device) return invalid_value;
  if (s->capture) return not_supported;
  Context &c = *current_context();
  return submit(*s, [=, &c] {
    return make_operation("free", c, [=]() -> Result { return release(p) ? success : illegal_address; });
  });
}

// ---- pools: one for each device, whose handle is the device's ----

namespace {

struct AccessDescription { Location location; unsigned flags; };

Device *device_of_pool(void *pool) {
  for (auto &d : driver().devices)
    if (d.get() == pool) return d.get();
  return nullptr;
}

}  // namespace

API Result cuDeviceGetDefaultMemPool(void **pool, int device) {
  ENTER(initialization);
  if (!pool) return invalid_value;
  *pool = device_of(device);
  return *pool ? success : invalid_device;
}

API Result cuMemPoolSetAccess(void *pool, const AccessDescription *description, size_t count) {
  ENTER(initialization);
  Device *owner = device_of_pool(pool);
  if (!owner || !description || !count) return invalid_value;
  for (size_t i = 0; i < count; i++) {
    if (Result r = check_location(description[i].location)) return r;
    const Device &d = *device_of(description[i].location.id);
    if (!can_access(d, *owner)) return invalid_device;
    if (&d == owner && description[i].flags != access_read_write) return invalid_value;  // it always has access
    owner->pool_access[d.ordinal] = description[i].flags;
  }
  rights_changed();
  return success;
}

API Result cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  ENTER(context);
  Device &d = *current_context()->device;
  *total = d.memory_bytes, *free_bytes = d.memory_bytes - d.memory_used;
  return success;
}
