// Host memory that devices may access: allocated by the driver, or the caller's own and registered.
#include "libcuda.h"

#include <sys/mman.h>

using namespace emulator;

namespace {

constexpr size_t page = 4096;
enum RegisterFlags : unsigned { all_register_flags = 1 | 2 | 8 };  // portable, device map, read-only; no I/O memory

DevicePointer number(const void *p) { return reinterpret_cast<DevicePointer>(p); }

Allocation *host_allocation(const void *p) {
  Allocation *a = find_allocation(number(p));
  return a && (a->kind == Memory::pinned || a->kind == Memory::registered) ? a : nullptr;
}

// Where devices see host memory at other addresses: a second mapping of the same pages.  Private pages can have none.
void add_alias(Allocation &a) {
  void *second = mremap(reinterpret_cast<void *>(a.address), 0, a.bytes, MREMAP_MAYMOVE);
  if (second == MAP_FAILED) return;
  a.alias = number(second);
  add_allocation(Memory::registered, number(second), a.bytes, nullptr);
}

void drop_alias(const Allocation &a) {
  if (!a.alias) return;
  munmap(reinterpret_cast<void *>(a.alias), a.bytes);
  forget_allocation(a.alias);
}

// mincore refuses ranges with holes; nothing that is not mapped can be pinned.
bool is_all_mapped(DevicePointer p, size_t bytes) {
  DevicePointer first = p / page * page;
  size_t pages = (p + bytes - first + page - 1) / page;
  std::vector<unsigned char> resident(pages);
  return mincore(reinterpret_cast<void *>(first), pages * page, resident.data()) == 0;
}

}  // namespace

API Result cuMemHostAlloc(void **p, size_t bytes, unsigned) {
  ENTER(context);
  if (Result r = refuse_during_capture()) return r;
  return allocate(Memory::pinned, bytes, nullptr, reinterpret_cast<DevicePointer *>(p));
}
API Result cuMemAllocHost_v2(void **p, size_t bytes) { return cuMemHostAlloc(p, bytes, 0); }

API Result cuMemFreeHost(void *p) {
  ENTER(context);
  Allocation *a = host_allocation(p);
  if (!a || a->kind != Memory::pinned || a->address != number(p)) return invalid_value;
  run_everything(*current_context());
  return release(number(p)) ? success : illegal_address;
}

API Result cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags) {
  ENTER(context);
  if (!p || !bytes || number(p) + bytes < number(p) || flags & ~all_register_flags) return invalid_value;
  if (Result r = refuse_during_capture()) return r;
  if (Allocation *a = find_overlapping(number(p), bytes))
    return a->kind == Memory::registered || a->kind == Memory::pinned ? already_registered : invalid_value;
  if (!is_all_mapped(number(p), bytes)) return invalid_value;
  Allocation &a = add_allocation(Memory::registered, number(p), bytes, nullptr);
  if (driver().host_aliases) add_alias(a);
  return success;
}
API Result cuMemHostRegister(void *p, size_t bytes, unsigned flags) { return cuMemHostRegister_v2(p, bytes, flags); }

API Result cuMemHostUnregister(void *p) {
  ENTER(context);
  if (!p) return invalid_value;
  Allocation *a = host_allocation(p);
  if (!a || a->kind != Memory::registered || a->address != number(p)) return not_registered;
  run_everything(*current_context());  // as cuMemFreeHost does
  wait_for_all_devices();
  drop_alias(*a);
  forget_allocation(number(p));
  return success;
}

API Result cuMemHostGetDevicePointer_v2(DevicePointer *d, void *p, unsigned flags) {
  ENTER(context);
  Allocation *a = host_allocation(p);
  if (!d || flags || !a) return invalid_value;
  *d = a->alias ? a->alias + (number(p) - a->address) : number(p);
  return success;
}
API Result cuMemHostGetDevicePointer(DevicePointer *d, void *p, unsigned flags) {
  return cuMemHostGetDevicePointer_v2(d, p, flags);
}
