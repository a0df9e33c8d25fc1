// All the memory the driver knows; allocation of device memory, copies and fills.
// Every allocation ends at a guard page; the bytes between its end and the page
// hold a canary.
#include "libcuda.h"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>

namespace emulator {

namespace {

constexpr size_t page = 4096, device_alignment = 256;
constexpr u8 canary = 0xc5;

std::map<DevicePointer, Allocation> allocations;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Mapped and registered memory ends at no canary.
bool has_canary(const Allocation &a) { return a.mapping != nullptr; }
u8 *end_of(const Allocation &a) { return reinterpret_cast<u8 *>(a.address) + a.bytes; }
size_t slack(const Allocation &a) { return size_t(reinterpret_cast<u8 *>(a.mapping) + a.mapping_bytes - guard_bytes - end_of(a)); }

bool canary_intact(const Allocation &a) {
  if (under_asan() || !has_canary(a)) return true;
  for (size_t i = 0; i < slack(a); i++)
    if (end_of(a)[i] != canary) {
      fprintf(stderr, "emulator: byte %zu after the end of the allocation of %zu bytes at %#llx was overwritten\n", i, a.bytes, a.address);
      memset(end_of(a), canary, slack(a));
      return false;
    }
  return true;
}

}  // namespace

unsigned long long next_memory_id() {
  static unsigned long long last;
  return ++last;
}

void for_each_allocation(const std::function<void(const Allocation &)> &f) {
  for (auto &[address, a] : allocations) f(a);
}

Allocation &add_allocation(Memory kind, DevicePointer address, size_t bytes, Device *device) {
  rights_changed();
  return allocations[address] = {kind, address, bytes, device, next_memory_id(), nullptr, 0, -1, false};
}

void forget_allocation(DevicePointer address) {
  allocations.erase(address);
  rights_changed();
}
void poison_slack(const Allocation &a) { poison(end_of(a), slack(a)); }

Result allocate(Memory kind, size_t bytes, Device *device, DevicePointer *out) {
  if (!out || bytes == 0) return invalid_value;
  if (device && (bytes > device->memory_bytes || device->memory_used > device->memory_bytes - bytes)) return out_of_memory;
  size_t used = round_up(bytes, device_alignment), mapping = round_up(used, page) + 2 * guard_bytes;
  char *base = static_cast<char *>(mmap(nullptr, mapping, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED) return out_of_memory;
  mprotect(base, guard_bytes, PROT_NONE);
  mprotect(base + mapping - guard_bytes, guard_bytes, PROT_NONE);
  Allocation &a = add_allocation(kind, reinterpret_cast<DevicePointer>(base + mapping - guard_bytes - used), bytes, device);
  a.mapping = base, a.mapping_bytes = mapping;
  memset(reinterpret_cast<void *>(a.address), uninitialised, bytes);
  memset(end_of(a), canary, slack(a));
  poison_slack(a);
  if (device) device->memory_used += bytes;
  *out = a.address;
  return success;
}

bool release(DevicePointer address) {
  auto at = allocations.find(address);
  if (at == allocations.end()) return true;
  Allocation a = at->second;
  bool intact = canary_intact(a);
  unpoison(end_of(a), slack(a));
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

Allocation *find_allocation_before(DevicePointer p) {
  auto at = allocations.upper_bound(p);
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

namespace {

OperationRef operation(const char *what, Context &c, std::function<Result()> action) {
  auto op = std::make_shared<Operation>();
  op->what = what, op->device = c.device, op->action = std::move(action);
  return op;
}

Context &context() { return *current_context(); }

// True if a device may access all of the range. It may go on from one mapping into the next, but not out of an allocation.
bool accessible(DevicePointer p, size_t n, const Device &d, Access wanted) {
  const DevicePointer end = p + n;
  while (p < end) {
    Allocation *a = find_allocation(p);
    if (!a || end < p) return false;
    p = a->address + a->bytes;
    if (a->kind != Memory::mapped) return p >= end;
    if ((access_of(*find_mapping(a->address), d) & wanted) != wanted) return false;
  }
  return true;
}

bool is_host(const Allocation *a) { return a && (a->kind == Memory::pinned || a->kind == Memory::registered); }

enum class Wait { no, yes };

Result copy(DevicePointer to, bool to_device, DevicePointer from, bool from_device, size_t n, void *stream_handle, Wait wait) {
  Stream *stream = stream_of(stream_handle);
  if (!stream) return invalid_handle;
  if (n == 0) return success;
  if (!to || !from) return invalid_value;
  const Device &device = *stream->context->device;  // a host-side end may be any memory
  if (to_device && !accessible(to, n, device, access_read_write)) return invalid_value;
  if (from_device && !accessible(from, n, device, access_read)) return invalid_value;
  bool pageable_source = !from_device && !find_allocation(from), pageable_target = !to_device && !find_allocation(to);
  bool capturing = stream->capture != nullptr;
  if (capturing && wait == Wait::yes) return refuse_during_capture();
  // Pageable memory is staged at the call, as the driver does; pinned memory is read when the copy runs.
  std::shared_ptr<std::vector<char>> staged;
  if (pageable_source && !capturing) {
    const char *p = reinterpret_cast<const char *>(from);
    staged = std::make_shared<std::vector<char>>(p, p + n);
  }
  Context &c = context();
  auto maker = [=, &c] {
    return operation("memcpy", c, [=]() -> Result {
      const void *source = staged ? staged->data() : reinterpret_cast<const void *>(from);
      memmove(reinterpret_cast<void *>(to), source, n);
      return success;
    });
  };
  if (Result r = submit(*stream, maker)) return r;
  if ((wait == Wait::yes || pageable_target) && !capturing) return run_until_done(stream->last, c);
  return success;
}

template <class T> Result fill(DevicePointer to, T value, size_t count, void *stream_handle, Wait wait) {
  Stream *stream = stream_of(stream_handle);
  if (!stream) return invalid_handle;
  if (count == 0) return success;
  if (to % sizeof(T) || !accessible(to, count * sizeof(T), *stream->context->device, access_read_write)) return invalid_value;
  Context &c = context();
  auto maker = [=, &c] {
    return operation("memset", c, [=]() -> Result {
      note_write(reinterpret_cast<void *>(to), count * sizeof(T));
      std::fill_n(reinterpret_cast<T *>(to), count, value);
      return success;
    });
  };
  if (stream->capture && wait == Wait::yes) return refuse_during_capture();
  if (Result r = submit(*stream, maker)) return r;
  return success;  // like the real one, cuMemset does not wait
}

DevicePointer number(const void *p) { return reinterpret_cast<DevicePointer>(p); }

}  // namespace

API Result cuMemAlloc_v2(DevicePointer *p, size_t bytes) {
  ENTER(context);
  if (Result r = refuse_during_capture()) return r;
  return allocate(Memory::device, bytes, context().device, p);
}
API Result cuMemAlloc(DevicePointer *p, size_t bytes) { return cuMemAlloc_v2(p, bytes); }

API Result cuMemFree_v2(DevicePointer p) {
  ENTER(context);
  if (!p) return success;
  if (Result r = refuse_during_capture()) return r;
  Allocation *a = find_allocation(p);
  if (!a || a->address != p || a->kind != Memory::device) return invalid_value;
  run_everything(*a->device->context);  // the real cuMemFree waits for the device
  if (!release(p)) context().error = illegal_address;
  return context().error;
}
API Result cuMemFree(DevicePointer p) { return cuMemFree_v2(p); }

API Result cuMemAllocAsync(DevicePointer *p, size_t bytes, void *stream) {
  ENTER(context);
  Stream *s = stream_of(stream);
  if (!s) return invalid_handle;
  if (s->capture) return refuse_during_capture() ? int(capture_unsupported) : int(not_supported);
  if (Result r = allocate(Memory::device, bytes, context().device, p)) return r;
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
  Context &c = context();
  return submit(*s, [=, &c] { return operation("free", c, [=]() -> Result { return release(p) ? success : illegal_address; }); });
}

API Result cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t n) {
  ENTER(context);
  return copy(to, true, number(from), false, n, nullptr, Wait::yes);
}
API Result cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t n) {
  ENTER(context);
  return copy(number(to), false, from, true, n, nullptr, Wait::yes);
}
API Result cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, size_t n) {
  ENTER(context);
  return copy(to, true, from, true, n, nullptr, Wait::no);
}
API Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t n, void *stream) {
  ENTER(context);
  return copy(to, true, number(from), false, n, stream, Wait::no);
}
API Result cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t n, void *stream) {
  ENTER(context);
  return copy(number(to), false, from, true, n, stream, Wait::no);
}
API Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t n, void *stream) {
  ENTER(context);
  return copy(to, true, from, true, n, stream, Wait::no);
}
API Result cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t n, void *stream) {
  ENTER(context);
  return copy(to, find_allocation(to) != nullptr, from, find_allocation(from) != nullptr, n, stream, Wait::no);
}
API Result cuMemcpy(DevicePointer to, DevicePointer from, size_t n) {
  ENTER(context);
  return copy(to, find_allocation(to) != nullptr, from, find_allocation(from) != nullptr, n, nullptr, Wait::yes);
}
API Result cuMemcpyPeerAsync(DevicePointer to, Context *, DevicePointer from, Context *, size_t n, void *stream) {
  ENTER(context);
  return copy(to, true, from, true, n, stream, Wait::no);
}

API Result cuMemsetD8_v2(DevicePointer to, unsigned char v, size_t n) {
  ENTER(context);
  return fill<u8>(to, v, n, nullptr, Wait::yes);
}
API Result cuMemsetD16_v2(DevicePointer to, unsigned short v, size_t n) {
  ENTER(context);
  return fill<u16>(to, v, n, nullptr, Wait::yes);
}
API Result cuMemsetD32_v2(DevicePointer to, unsigned v, size_t n) {
  ENTER(context);
  return fill<u32>(to, v, n, nullptr, Wait::yes);
}
API Result cuMemsetD8Async(DevicePointer to, unsigned char v, size_t n, void *stream) {
  ENTER(context);
  return fill<u8>(to, v, n, stream, Wait::no);
}
API Result cuMemsetD16Async(DevicePointer to, unsigned short v, size_t n, void *stream) {
  ENTER(context);
  return fill<u16>(to, v, n, stream, Wait::no);
}
API Result cuMemsetD32Async(DevicePointer to, unsigned v, size_t n, void *stream) {
  ENTER(context);
  return fill<u32>(to, v, n, stream, Wait::no);
}

API Result cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  ENTER(context);
  Device &d = *context().device;
  *total = d.memory_bytes, *free_bytes = d.memory_bytes - d.memory_used;
  return success;
}

API Result cuMemGetAddressRange_v2(DevicePointer *base, size_t *bytes, DevicePointer p) {
  ENTER(context);
  Allocation *a = find_allocation(p);
  if (!a) return not_found;
  if (base) *base = a->address;
  if (bytes) *bytes = a->bytes;
  return success;
}

namespace {

enum PointerAttribute { attribute_context = 1, memory_type = 2, device_pointer = 3, host_pointer = 4, buffer_id = 7,
                        is_managed = 8, device_ordinal = 9, is_ipc_capable = 10, range_start = 11, range_bytes = 12, is_mapped = 13,
                        allowed_handles = 14, access_flags = 16, mempool = 17, mapping_bytes = 18, mapping_start = 19,
                        memory_block = 20 };

template <class T> Result put(void *data, T value) {
  memcpy(data, &value, sizeof value);
  return success;
}

unsigned current_access(const Allocation &a) {
  if (!current_context()) return access_none;
  return a.kind == Memory::mapped ? access_of(*find_mapping(a.address), *current_context()->device) : access_read_write;
}

// Mapped memory belongs to no context; its range is the reservation it lies in.
Result mapping_attribute(void *data, int attribute, const Allocation &a) {
  const Mapping &m = *find_mapping(a.address);
  auto [start, bytes] = reservation_of(a.address);
  switch (attribute) {
    case attribute_context: return put(data, static_cast<Context *>(nullptr));
    case range_start: return put(data, start);
    case range_bytes: return put(data, bytes);
    case allowed_handles: return put(data, u64(m.memory->handle_types));
    case memory_block: return put(data, m.memory->id);
  }
  return invalid_value;
}

Result pointer_attribute(void *data, int attribute, DevicePointer p) {
  Allocation *a = find_allocation(p);
  if (!a) return attribute == is_mapped ? put(data, false) : int(invalid_value);
  if (a->kind == Memory::mapped && mapping_attribute(data, attribute, *a) == success) return success;
  const bool host = is_host(a);
  switch (attribute) {
    case attribute_context: return put(data, a->device ? a->device->context.get() : current_context());
    case memory_type: return put(data, host ? 1u : 2u);  // CU_MEMORYTYPE_HOST, _DEVICE
    case device_pointer: return put(data, p);
    case host_pointer: return host ? put(data, p) : int(invalid_value);
    case buffer_id: case memory_block: return put(data, a->id);
    case is_managed: return put(data, false);
    case device_ordinal: return put(data, a->device ? a->device->ordinal : current_context() ? current_context()->device->ordinal : 0);
    case is_ipc_capable: return put(data, a->kind == Memory::device && !a->is_pooled);
    case range_start: case mapping_start: return put(data, a->address);
    case range_bytes: case mapping_bytes: return put(data, a->bytes);
    case is_mapped: return put(data, true);
    case allowed_handles: case mempool: return put(data, u64(0));
    case access_flags: return put(data, current_access(*a));
  }
  return invalid_value;
}

}  // namespace

API Result cuPointerGetAttribute(void *data, int attribute, DevicePointer p) {
  ENTER(initialization);
  return data ? pointer_attribute(data, attribute, p) : int(invalid_value);
}

// Unlike the singular form this succeeds for unknown pointers and reports zeros.
API Result cuPointerGetAttributes(unsigned count, int *attributes, void **data, DevicePointer p) {
  ENTER(initialization);
  for (unsigned i = 0; i < count; i++) {
    if (pointer_attribute(data[i], attributes[i], p) == success) continue;
    bool wide = attributes[i] == attribute_context || attributes[i] == device_pointer || attributes[i] == host_pointer ||
                attributes[i] == range_start || attributes[i] == range_bytes || attributes[i] == buffer_id;
    memset(data[i], attributes[i] == device_ordinal ? 0xff : 0, wide ? 8 : 4);
  }
  return success;
}
