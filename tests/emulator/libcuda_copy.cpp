// Copies and fills of memory, synchronous and on streams.
#include "libcuda.h"

#include <algorithm>
#include <cstring>

using namespace emulator;

namespace {

// True if a device may access all of the range. It may extend over several mappings, but not beyond an allocation.
bool accessible(DevicePointer p, size_t n, const Device &d, Access wanted) {
  const DevicePointer end = p + n;
  while (p < end) {
    Allocation *a = find_allocation(p);
    if (!a || end < p) return false;
    if (a->alias) return false;  // devices see it elsewhere
    p = a->address + a->bytes;
    if (a->kind != Memory::mapped) return p >= end;
    if ((access_of(*find_mapping(a->address), d) & wanted) != wanted) return false;
  }
  return true;
}

// A sanitizer's memmove goes byte by byte, its memcpy does not.
void copy_bytes(void *to, const void *from, size_t n) {
  const DevicePointer distance = reinterpret_cast<DevicePointer>(to) - reinterpret_cast<DevicePointer>(from);
  if (distance >= n && -distance >= n) memcpy(to, from, n);
  else memmove(to, from, n);
}

enum class Wait { no, yes };

Result copy(DevicePointer to, bool to_device, DevicePointer from, bool from_device, size_t n, void *stream_handle, Wait wait) {
  Stream *stream = stream_of(stream_handle);
  if (!stream) return invalid_handle;
  if (n == 0) return success;
  if (!to || !from) return invalid_value;
  const Device &device = *stream->context->device;
  // A host-side end may be any memory.
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
  Context &c = *stream->context;
  auto maker = [=, &c] {
    return make_operation("memcpy", c, [=, &c]() -> Result {
      const void *source = staged ? staged->data() : reinterpret_cast<const void *>(from);
      if (to_device && !accessible(to, n, *c.device, access_read_write)) return illegal_address;  // freed since
      if (from_device && !accessible(from, n, *c.device, access_read)) return illegal_address;
      copy_bytes(reinterpret_cast<void *>(to), source, n);  // perhaps through the host: it arrives where stores are lost
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
  Context &c = *stream->context;
  Allocation *a = driver().fills_own_only ? find_allocation(to) : nullptr;
  if (a && a->device && a->device != c.device) return invalid_value;
  auto maker = [=, &c] {
    return make_operation("memset", c, [=, &c]() -> Result {
      if (!accessible(to, count * sizeof(T), *c.device, access_read_write)) return illegal_address;  // freed since
      if (loses_writes(*c.device, to)) return success;
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

API Result cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t n) {
  ENTER(context);
  return copy(to, true, number(from), false, n, nullptr, Wait::yes);
}
API Result cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t n) {
  ENTER(context);
  return copy(number(to), false, from, true, n, nullptr, Wait::yes);
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
API Result cuMemcpyPeerAsync(DevicePointer to, Context *, DevicePointer from, Context *, size_t n, void *stream) {
  ENTER(context);
  return copy(to, true, from, true, n, stream, Wait::no);
}

API Result cuMemsetD8_v2(DevicePointer to, unsigned char v, size_t n) {
  ENTER(context);
  return fill<u8>(to, v, n, nullptr, Wait::yes);
}
API Result cuMemsetD8Async(DevicePointer to, unsigned char v, size_t n, void *stream) {
  ENTER(context);
  return fill<u8>(to, v, n, stream, Wait::no);
}
API Result cuMemsetD32Async(DevicePointer to, unsigned v, size_t n, void *stream) {
  ENTER(context);
  return fill<u32>(to, v, n, stream, Wait::no);
}
