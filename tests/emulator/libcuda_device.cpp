// Devices and their primary contexts.
#include "libcuda.h"

#include <cstring>

namespace emulator {

namespace {

constexpr int KiB = 1024, MiB = 1024 * KiB;

const Generation generations[] = {
    {7, 0, 96 * KiB, 96 * KiB, 2048, 80, 6 * MiB, "Emulated Volta V100"},  // older than every kernel of the library
    {7, 5, 64 * KiB, 64 * KiB, 1024, 16, 4 * MiB, "Emulated Turing"},
    {8, 0, 163 * KiB, 164 * KiB, 2048, 32, 40 * MiB, "Emulated Ampere"},
    {8, 6, 99 * KiB, 100 * KiB, 1536, 16, 6 * MiB, "Emulated Ampere"},
    {8, 7, 163 * KiB, 164 * KiB, 1536, 16, 4 * MiB, "Emulated Orin"},
    {8, 9, 99 * KiB, 100 * KiB, 1536, 24, 72 * MiB, "Emulated Ada"},
    {9, 0, 227 * KiB, 228 * KiB, 2048, 32, 50 * MiB, "Emulated Hopper"},
    {10, 0, 227 * KiB, 228 * KiB, 2048, 32, 126 * MiB, "Emulated Blackwell"},
    {10, 3, 227 * KiB, 228 * KiB, 2048, 32, 126 * MiB, "Emulated Blackwell Ultra"},
    {11, 0, 227 * KiB, 228 * KiB, 2048, 32, 32 * MiB, "Emulated Thor"},
    {12, 0, 99 * KiB, 100 * KiB, 1536, 24, 96 * MiB, "Emulated Blackwell RTX"},
    {12, 1, 99 * KiB, 100 * KiB, 1536, 24, 24 * MiB, "Emulated Blackwell GB10"},
};

// The limits in the table; a capability that is missing there has those of the closest older one, or of the oldest.  A block has as
// much shared memory as QUERN_EMULATOR_SHARED_KB says.
const Generation *generation_of(Capability c) {
  const Generation *closest = &generations[0];
  for (const Generation &g : generations) {
    if (g.major < c.major || (g.major == c.major && g.minor <= c.minor)) closest = &g;
  }
  auto own = new Generation(*closest);  // never freed, like the table
  if (own->major != c.major || own->minor != c.minor) own->name = "Emulated GPU";
  own->major = c.major, own->minor = c.minor;
  own->shared_optin = environment("QUERN_EMULATOR_SHARED_KB", closest->shared_optin / KiB) * KiB;
  if (own->shared_per_sm < own->shared_optin + KiB) own->shared_per_sm = own->shared_optin + KiB;
  return own;
}

void add_device(Capability c) {
  const Generation *g = generation_of(c);
  auto d = std::make_unique<Device>();
  d->ordinal = int(driver().devices.size());
  d->capability = c, d->generation = g;
  u32 reserved = c.major >= 8 ? 1024 : 0;
  d->limits = {d->ordinal, u32(environment("QUERN_EMULATOR_SMS", 4)), u32(g->threads_per_sm), u32(g->blocks_per_sm),
               u32(g->shared_per_sm), reserved};
  d->memory_bytes = size_t(environment("QUERN_EMULATOR_MEMORY_MB", 16384)) * MiB;
  d->memory_used = 0;
  driver().devices.push_back(std::move(d));
}

Result make_devices() {
  const char *p = getenv("QUERN_EMULATOR");
  if (!p || !*p) p = "9.0";
  while (*p) {
    Capability c{};
    if (sscanf(p, "%d.%d", &c.major, &c.minor) != 2) return no_device;
    add_device(c);
    p += strcspn(p, ",");
    p += *p == ',';
  }
  return driver().devices.empty() ? int(no_device) : int(success);
}

// ---- attributes: CUdevice_attribute number -> value ----

struct FixedAttribute { int attribute, value; };
const FixedAttribute fixed_attributes[] = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64},                   // threads per block; block x, y, z
    {5, 0x7fffffff}, {6, 65535}, {7, 65535},                    // grid x, y, z
    {8, 48 * KiB}, {9, 64 * KiB}, {10, 32}, {11, 0x7fffffff},   // shared per block, constant memory, warp, pitch
    {12, 65536}, {13, 1500000}, {14, 512}, {15, 1},             // registers, clock, texture alignment, overlap
    {18, 0}, {19, 1}, {31, 1}, {32, 0},                         // integrated, map host, concurrent, ECC
    {34, 0}, {35, 0}, {36, 2600000}, {37, 5120}, {40, 2},       // PCI device, TCC, memory clock and bus, copy engines
    {41, 1}, {50, 0}, {78, 1}, {79, 1}, {80, 1}, {82, 65536},   // UVA, PCI domain, priorities, L1, registers per SM
    {83, 0}, {84, 0}, {86, 0}, {87, 2}, {88, 0}, {89, 0},       // managed, board, host atomics, ratio, pageable
    {90, 1}, {95, 1}, {96, 0}, {99, 1}, {100, 0},      // preemption, registered, cooperative, host page tables
    {102, 1}, {103, 1}, {104, 0}, {105, 0}, {107, 0}, {110, 0}, // virtual memory, file descriptors; no Windows, compression, RDMA
    {113, 1}, {115, 1}, {116, 0}, {119, 0}, {124, 0}, {125, 0}, // read-only registration, pools; no RDMA, DMA-BUF, IPC events
    {133, 0},                                                   // MPS
};

bool device_attribute(const Device &d, int attribute, int &value) {
  const Generation &g = *d.generation;
  switch (attribute) {
    case 16: value = int(d.limits.multiprocessors); return true;
    case 17: value = environment("QUERN_EMULATOR_WATCHDOG", 0) > 0; return true;
    case 20: value = environment("QUERN_EMULATOR_MODE", 0); return true;
    case 33: value = d.ordinal + 1; return true;
    case 38: value = g.l2_bytes; return true;
    case 39: value = g.threads_per_sm; return true;
    case 75: value = d.capability.major; return true;
    case 76: value = d.capability.minor; return true;
    case 81: value = g.shared_per_sm; return true;
    case 91: value = !driver().host_aliases; return true;
    case 97: value = g.shared_optin; return true;
    case 106: value = g.blocks_per_sm; return true;
    case 108: case 109: value = d.capability.major >= 8 ? g.l2_bytes / 2 : 0; return true;
    case 111: value = int(d.limits.reserved_shared); return true;
    case 120: case 127: value = d.capability.major >= 9; return true;
    case 128: value = has_fabric(d); return true;
    case 132: value = has_multicast(d); return true;
  }
  for (const FixedAttribute &f : fixed_attributes)
    if (f.attribute == attribute) return value = f.value, true;
  return false;
}

}  // namespace


Device *device_of(int ordinal) {
  auto &all = driver().devices;
  return ordinal >= 0 && size_t(ordinal) < all.size() ? all[size_t(ordinal)].get() : nullptr;
}

// By default that of a driver which is newer than the toolkits of its generation.
int driver_version() {
  int injected = injected_value("driver_version");
  return injected ? injected : 13090;
}

bool can_access(const Device &d, const Device &owner) { return &d == &owner || driver().peers; }

}  // namespace emulator

using namespace emulator;

API Result cuInit(unsigned flags) {
  ENTER(nothing);
  if (flags) return invalid_value;
  if (driver().initialized) return success;
  if (Result r = make_devices()) return r;
  const char *blocking = getenv("CUDA_LAUNCH_BLOCKING"), *peers = getenv("QUERN_EMULATOR_PEERS");
  driver().launch_blocking = blocking && !strcmp(blocking, "1");
  driver().peers = !peers || strcmp(peers, "none");
  driver().peers_lie = peers && !strcmp(peers, "lies");
  driver().fills_own_only = peers && !strcmp(peers, "unfilled");
  const char *pointers = getenv("QUERN_EMULATOR_HOST_POINTERS");
  driver().host_aliases = pointers && !strcmp(pointers, "other");
  driver().waits = environment("QUERN_EMULATOR_WAITS", 0) != 0;
  driver().begins_at_guard = environment("QUERN_EMULATOR_FRONT", 0) != 0;
  driver().initialized = true;
  return success;
}

API Result cuDriverGetVersion(int *version) {
  if (!version) return invalid_value;
  if (Result error = injected_value("cuDriverGetVersion")) return error;
  *version = driver_version();
  return success;
}

API Result cuDeviceGetCount(int *count) {
  ENTER(initialization);
  *count = int(driver().devices.size());
  return success;
}

API Result cuDeviceGet(int *device, int ordinal) {
  ENTER(initialization);
  if (!device_of(ordinal)) return invalid_device;
  *device = ordinal;
  return success;
}

API Result cuDeviceGetName(char *name, int bytes, int device) {
  ENTER_DEVICE(d, device, initialization);
  snprintf(name, size_t(bytes), "%s", d->generation->name);
  return success;
}

API Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER_DEVICE(d, device, initialization);
  return device_attribute(*d, attribute, *value) ? success : invalid_value;
}

API Result cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  ENTER(initialization);
  if (!device_of(device)) return invalid_device;
  memcpy(uuid, "quern emulator\0\0", 16);
  uuid[15] = static_cast<unsigned char>(device + 1);
  return success;
}
API Result cuDeviceGetUuid(unsigned char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

API Result cuDeviceGetPCIBusId(char *text, int bytes, int device) {
  ENTER(initialization);
  if (!text || bytes <= 0) return invalid_value;
  if (!device_of(device)) return invalid_device;
  snprintf(text, size_t(bytes), "0000:%02x:00.0", unsigned(device + 1));
  return success;
}

// ---- peers ----

API Result cuDeviceCanAccessPeer(int *can, int a, int b) {
  ENTER(initialization);
  if (!can) return invalid_value;
  if (!device_of(a) || !device_of(b)) return invalid_device;
  *can = a != b && driver().peers;
  return success;
}

namespace {
// Null unless the handle is another context than the current one.
Context *other_context(Context *handle) {
  for (auto &d : driver().devices)
    if (handle && d->context.get() == handle && handle != current_context()) return handle;
  return nullptr;
}
}  // namespace

API Result cuCtxEnablePeerAccess(Context *handle, unsigned flags) {
  ENTER(context);
  if (flags) return invalid_value;
  Context *peer = other_context(handle);
  if (!peer) return invalid_context;
  if (!can_access(*current_context()->device, *peer->device)) return peer_access_unsupported;
  rights_changed();
  return current_context()->peers.insert(peer).second ? success : peer_access_already_enabled;
}

API Result cuCtxDisablePeerAccess(Context *handle) {
  ENTER(context);
  Context *peer = other_context(handle);
  if (!peer) return invalid_context;
  rights_changed();
  return current_context()->peers.erase(peer) ? success : peer_access_not_enabled;
}

API Result cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
  ENTER(initialization);
  enum { performance_rank = 1, access_supported, native_atomics, array_access, partial_atomics };
  if (!device_of(from) || !device_of(to) || from == to) return invalid_device;
  if (!value || attribute < performance_rank || attribute > partial_atomics) return invalid_value;
  bool yes = attribute == access_supported || attribute == native_atomics || attribute == array_access;
  *value = yes && driver().peers;
  return success;
}

API Result cuDevicePrimaryCtxRetain(Context **context, int device) {
  ENTER_DEVICE(d, device, initialization);
  if (environment("QUERN_EMULATOR_MODE", 0) == 2) return device_unavailable;
  if (!d->context) {
    d->context = std::make_unique<Context>();
    d->context->device = d;
    d->context->legacy.context = d->context.get();
  }
  d->context->references++;
  *context = d->context.get();
  return success;
}

namespace {
// The object stays, so that a handle in use by another thread stays valid; its resources are freed.
void reset_context(Device &d) {
  drop_work(*d.context);
  d.context->error = 0;
  d.context->legacy.last = nullptr;
  d.context->streams.clear();
  d.context->queues.clear();
  d.context->per_thread.clear();
  d.context->peers.clear();
  d.pool_access.clear();
  rights_changed();
  close_imports(*d.context);
  free_device_memory(d);
}
}  // namespace

API Result cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER_DEVICE(d, device, initialization);
  if (!d->context || d->context->references == 0) return invalid_context;
  if (--d->context->references == 0) reset_context(*d);
  return success;
}

API Result cuDevicePrimaryCtxReset_v2(int device) {
  ENTER_DEVICE(d, device, initialization);
  if (d->context) reset_context(*d);
  return success;
}

API Result cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  ENTER_DEVICE(d, device, initialization);
  *flags = 0;
  *active = d->context && d->context->references > 0;
  return success;
}
