// Pointer attributes: the driver's information about an address.
#include "libcuda.h"

#include <algorithm>
#include <cstring>
#include <iterator>

using namespace emulator;

API Result cuMemGetAddressRange_v2(DevicePointer *base, size_t *bytes, DevicePointer p) {
  ENTER(context);
  Allocation *a = find_allocation(p);
  if (!a) return not_found;
  if (base) *base = a->address;
  if (bytes) *bytes = a->bytes;
  return success;
}

namespace {

bool is_host(const Allocation *a) { return a && (a->kind == Memory::pinned || a->kind == Memory::registered); }

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

// Mapped memory belongs to no context; its range is its address reservation.
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
  const Device *device = a->device ? a->device : current_context() ? current_context()->device : nullptr;
  switch (attribute) {
    case attribute_context: return put(data, a->device ? a->device->context.get() : current_context());
    case memory_type: return put(data, host ? 1u : 2u);  // CU_MEMORYTYPE_HOST, _DEVICE
    case device_pointer: return put(data, p);
    case host_pointer: return host ? put(data, p) : int(invalid_value);
    case buffer_id: case memory_block: return put(data, a->id);
    case is_managed: return put(data, false);
    case device_ordinal: return put(data, device ? device->ordinal : 0);
    case is_ipc_capable: return put(data, a->kind == Memory::device && !a->is_pooled);
    case range_start: case mapping_start: return put(data, a->address);
    case range_bytes: case mapping_bytes: return put(data, a->bytes);
    case is_mapped: return put(data, true);
    case allowed_handles: return put(data, u64(0));
    case mempool: return put(data, a->is_pooled ? a->device : static_cast<Device *>(nullptr));
    case access_flags: return put(data, current_access(*a));
  }
  return invalid_value;
}

}  // namespace

API Result cuPointerGetAttribute(void *data, int attribute, DevicePointer p) {
  ENTER(initialization);
  return data ? pointer_attribute(data, attribute, p) : int(invalid_value);
}
