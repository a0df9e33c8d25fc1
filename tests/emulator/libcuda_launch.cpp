// Libraries, modules, functions and kernel launches.
#include "libcuda.h"

#include <algorithm>
#include <cstring>

namespace emulator {

namespace {

constexpr int default_shared_limit = 48 * 1024;

Context &context() { return *current_context(); }

// For fault injection.
std::vector<std::string> names_of(const Image::Entry &e) {
  std::vector<std::string> names;
  for (const std::string &kernel : e.kernels) names.push_back(e.architecture + "/" + kernel);
  return names;
}

Result load(Library **out, const void *image) {
  auto library = std::make_unique<Library>();
  if (Result r = parse_image(image, library->image)) return r;
  *out = library.release();
  return success;
}

// Creates the handle at the first request; the name must be in an image that some device can use.
Result find_function(Function **out, Library *library, const char *name) {
  if (!out || !library || !name) return invalid_value;
  auto at = library->functions.find(name);
  if (at == library->functions.end()) {
    bool known = false;
    for (const Image::Entry &e : library->image.entries) known |= std::count(e.kernels.begin(), e.kernels.end(), name) > 0;
    if (!known) return not_found;
    auto f = std::make_unique<Function>();
    f->library = library, f->name = name;
    at = library->functions.emplace(name, std::move(f)).first;
  }
  *out = at->second.get();
  return success;
}

// The code that is injected for a function of the API when it is called for one kernel.
int injected_for(const char *function, const Function &f, const Device &device) {
  const Image::Entry *e = choose_entry(f.library->image, device.capability);
  return e ? injected_value(function, {e->architecture + "/" + f.name}) : 0;
}

// The kernel that `device` runs for a function.
const Kernel *kernel_for(const Function &f, const Device &device, Result &error) {
  const Image::Entry *e = choose_entry(f.library->image, device.capability);
  if (!e) return error = no_binary_for_gpu, nullptr;
  if (!std::count(e->kernels.begin(), e->kernels.end(), f.name)) return error = not_found, nullptr;
  return translated_kernel(e->architecture, f.name, error);
}

int dynamic_limit(const Function &f, const Kernel &k, const Device &d) {
  auto at = f.dynamic_shared_limit.find(d.ordinal);
  return at != f.dynamic_shared_limit.end() ? at->second : default_shared_limit - int(k.static_shared_bytes);
}

// ---- clusters ----

// x = 0 if neither the kernel nor an attribute requires one.
Dim required_cluster(const Function &f, const Kernel &k, const Device &d) {
  auto at = f.required_cluster.find(d.ordinal);
  return k.required_cluster.x || at == f.required_cluster.end() ? k.required_cluster : at->second;
}

bool must_set_cluster(const Function &f, const Kernel &k, const Device &d) {
  return k.flags & kernel_explicit_cluster || f.cluster_must_be_set.count(d.ordinal);
}

// Every device that has clusters takes 8 blocks; those of a data centre take 16 where the function allows it.
u32 largest_cluster(const Function &f, const Kernel &k, const Device &d) {
  constexpr u32 portable = 8, nonportable = 16;
  bool takes_more = f.nonportable_cluster.count(d.ordinal) && d.capability.major < 12;
  u32 largest = takes_more ? nonportable : portable;
  return k.max_cluster ? std::min(largest, k.max_cluster) : largest;
}

bool has_clusters(const Device &d) { return d.capability.major >= 9; }

// Whether the device has multiprocessors close enough to each other, which a part of a GPU may lack: QUERN_EMULATOR_CLUSTER.
bool has_room(const Dim &cluster) {
  const u64 blocks = u64(cluster.x) * cluster.y * cluster.z;
  return blocks <= 1 || blocks <= u64(environment("QUERN_EMULATOR_CLUSTER", 16));
}

// ---- attributes of functions ----

enum FunctionAttribute { max_threads = 0, static_shared = 1, const_bytes = 2, local_bytes = 3, registers = 4, ptx_version = 5,
                         binary_version = 6, cache_mode = 7, max_dynamic_shared = 8, carveout = 9, cluster_must_be_set = 10,
                         cluster_width = 11, cluster_height = 12, cluster_depth = 13, nonportable_cluster = 14,
                         cluster_policy = 15 };

Result get_attribute(int *value, int attribute, const Function &f, const Device &d) {
  Result error = success;
  const Kernel *k = kernel_for(f, d, error);
  if (!k) return error;
  int version = d.capability.major * 10 + d.capability.minor;
  switch (attribute) {
    case max_threads: *value = k->max_threads ? int(k->max_threads) : 1024; break;
    case static_shared: *value = int(k->static_shared_bytes); break;
    case const_bytes: case cache_mode: case cluster_policy: *value = 0; break;
    case local_bytes: *value = int(k->local_bytes); break;
    case registers: *value = 32; break;
    case ptx_version: case binary_version: *value = version; break;
    case max_dynamic_shared: *value = dynamic_limit(f, *k, d); break;
    case carveout: {
      auto at = f.preferred_carveout.find(d.ordinal);
      *value = at == f.preferred_carveout.end() ? -1 : at->second;
      break;
    }
    case cluster_must_be_set: *value = must_set_cluster(f, *k, d); break;
    case cluster_width: *value = int(required_cluster(f, *k, d).x); break;
    case cluster_height: *value = int(required_cluster(f, *k, d).y); break;
    case cluster_depth: *value = int(required_cluster(f, *k, d).z); break;
    case nonportable_cluster: *value = f.nonportable_cluster.count(d.ordinal) != 0; break;
    default: return invalid_value;
  }
  return success;
}

// The kernel's compiled value cannot be changed.
Result set_required_cluster(Function &f, const Kernel &k, int attribute, int value, const Device &d) {
  if (k.required_cluster.x) return not_permitted;
  if (value < 0) return invalid_value;
  Dim &required = f.required_cluster[d.ordinal];
  (attribute == cluster_width ? required.x : attribute == cluster_height ? required.y : required.z) = u32(value);
  return success;
}

void set_flag(std::map<int, int> &devices, const Device &d, bool value) {
  if (value) devices[d.ordinal] = 1;
  else devices.erase(d.ordinal);
}

Result set_attribute(Function &f, int attribute, int value, const Device &d) {
  Result error = success;
  const Kernel *k = kernel_for(f, d, error);
  if (!k) return error;
  switch (attribute) {
    case max_dynamic_shared:
      if (value < 0 || value + int(k->static_shared_bytes) > d.generation->shared_optin) return invalid_value;
      f.dynamic_shared_limit[d.ordinal] = value;
      return success;
    case nonportable_cluster:
      set_flag(f.nonportable_cluster, d, value);
      return success;
    case cluster_must_be_set:
      if (k->flags & kernel_explicit_cluster) return not_permitted;
      set_flag(f.cluster_must_be_set, d, value);
      return success;
    case cluster_width: case cluster_height: case cluster_depth: return set_required_cluster(f, *k, attribute, value, d);
    case carveout:
      if (value < -1 || value > 100) return invalid_value;
      f.preferred_carveout[d.ordinal] = value;
      return success;
    case cluster_policy: return success;
  }
  return invalid_value;
}

// ---- launches ----

// x = 0 means no cluster: the launch uses the function's clusters, else each block is its own.
struct Shape { Dim grid, block, cluster; u32 dynamic_shared; bool cooperative, is_dependent = false; };

u64 volume(const Dim &d) { return u64(d.x) * d.y * d.z; }
bool same(const Dim &a, const Dim &b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// Determines the launch's clusters, or returns why they are impossible.
Result settle_cluster(Dim &cluster, bool &is_explicit, const Function &f, const Kernel &k, const Device &d) {
  const Dim required = required_cluster(f, k, d);
  is_explicit = cluster.x || required.x;
  if (!is_explicit && must_set_cluster(f, k, d)) return invalid_cluster_size;
  if (cluster.x && required.x && !same(cluster, required)) return invalid_cluster_size;
  if (!cluster.x) cluster = required.x ? required : Dim{1, 1, 1};
  if (volume(cluster) == 0) return invalid_cluster_size;
  if (volume(cluster) > 1 && !has_clusters(d)) return not_supported;
  return volume(cluster) <= largest_cluster(f, k, d) ? success : invalid_cluster_size;
}

bool divides(const Dim &cluster, const Dim &grid) {
  return grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
}

Result check_shape(const Shape &s, const Function &f, const Kernel &k, const Device &d) {
  if (!volume(s.grid) || !volume(s.block)) return invalid_value;
  if (s.grid.y > 65535 || s.grid.z > 65535 || s.block.z > 64 || volume(s.block) > 1024) return invalid_value;
  if (k.max_threads && volume(s.block) > k.max_threads) return invalid_value;
  if (int(s.dynamic_shared) > dynamic_limit(f, k, d)) return invalid_value;
  u32 resident = blocks_per_multiprocessor(k, d.limits, u32(volume(s.block)), s.dynamic_shared);
  if (!resident) return launch_out_of_resources;
  if (s.cooperative && volume(s.grid) > u64(resident) * d.limits.multiprocessors) return 720;
  return divides(s.cluster, s.grid) ? success : invalid_cluster_size;
}

std::vector<u8> gather_params(const Kernel &k, void **params) {
  std::vector<u8> buffer(std::max(k.param_bytes, 8u));
  for (u32 i = 0; i < k.param_count; i++) memcpy(&buffer[k.params[i].offset], params[i], k.params[i].bytes);
  return buffer;
}

enum ExtraParam : uintptr_t { extra_end = 0, extra_pointer = 1, extra_bytes = 2 };

Result params_of(const Kernel &k, void **params, void **extra, std::vector<u8> &out) {
  if (params || !k.param_count) return out = gather_params(k, params), success;
  const void *buffer = nullptr;
  size_t bytes = 0;
  for (; extra && reinterpret_cast<uintptr_t>(*extra) != extra_end; extra += 2) {
    if (reinterpret_cast<uintptr_t>(*extra) == extra_pointer) buffer = extra[1];
    if (reinterpret_cast<uintptr_t>(*extra) == extra_bytes) bytes = *static_cast<size_t *>(extra[1]);
  }
  if (!buffer || bytes < k.param_bytes) return invalid_value;
  out.assign(static_cast<const u8 *>(buffer), static_cast<const u8 *>(buffer) + bytes);
  out.resize(std::max(bytes, size_t(8)));
  return success;
}

Result launch(Function *f, Shape shape, void *stream_handle, void **params, void **extra) {
  Stream *stream = stream_of(stream_handle);
  if (!f || !stream) return invalid_handle;
  if (stream->context != current_context()) return invalid_handle;
  if (f->library->context && f->library->context != stream->context) return invalid_handle;
  Device &device = *stream->context->device;
  if (int injected = injected_for("cuLaunchKernel", *f, device)) return injected;
  const bool stores_rubbish = injected_for("stores", *f, device);
  Result error = success;
  const Kernel *k = kernel_for(*f, device, error);
  if (!k) return error;
  bool is_explicit = false;
  if (Result r = settle_cluster(shape.cluster, is_explicit, *f, *k, device)) return r;
  if (Result r = check_shape(shape, *f, *k, device)) return r;
  if (!has_room(shape.cluster)) return invalid_cluster_size;
  if (shape.is_dependent && !has_clusters(device)) return not_supported;  // both since capability 9.0
  std::vector<u8> buffer;
  if (Result r = params_of(*k, params, extra, buffer)) return r;
  Result submitted = submit(*stream, [=, &device] {
    auto op = std::make_shared<Operation>();
    op->what = "kernel", op->device = &device, op->stores_rubbish = stores_rubbish, op->is_dependent = shape.is_dependent;
    op->grid = std::make_unique<Grid>();
    Grid &g = *op->grid;
    g.kernel = k, g.grid = shape.grid, g.block = shape.block, g.cluster = shape.cluster;
    g.is_explicit_cluster = is_explicit;
    g.dynamic_shared = shape.dynamic_shared, g.params = buffer, g.limits = device.limits;
    return op;
  });
  return submitted ? submitted : block_if_asked(*stream);
}

// CUlaunchConfig and CUlaunchAttribute, laid out as in cuda.h.
struct LaunchAttribute {
  unsigned id;
  char pad[4];
  union { char bytes[64]; struct { unsigned x, y, z; } dim; int flag; };
};
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void *stream;
  LaunchAttribute *attributes;
  unsigned attribute_count;
};
enum LaunchAttributeId {
  attribute_cooperative = 2, attribute_cluster = 4, attribute_stream_serialization = 6, attribute_preferred_cluster = 11
};

// Attributes that the emulator may ignore: hints.
bool may_be_ignored(unsigned id) {
  constexpr unsigned ignore = 0, access_policy = 1, scheduling_policy = 5, priority = 8,
                     domain_map = 9, domain = 10, shared_carveout = 14;
  for (unsigned known : {ignore, access_policy, scheduling_policy, priority, domain_map, domain, shared_carveout})
    if (id == known) return true;
  return false;
}

// Preferred clusters are larger ones, used if they fit; the emulator never uses them.
Result check_preferred(const Dim &preferred, const Shape &s) {
  if (!s.cluster.x || !volume(preferred)) return invalid_value;
  bool is_multiple = preferred.x % s.cluster.x == 0 && preferred.y % s.cluster.y == 0 && preferred.z == s.cluster.z;
  return is_multiple && divides(preferred, s.grid) ? success : invalid_value;
}

Result read_config(const LaunchConfig &c, Shape &s) {
  s = {{c.grid_x, c.grid_y, c.grid_z}, {c.block_x, c.block_y, c.block_z}, {0, 0, 0}, c.shared_bytes, false};
  Dim preferred{0, 0, 0};
  bool has_preferred = false;
  for (unsigned i = 0; i < c.attribute_count; i++) {
    const LaunchAttribute &a = c.attributes[i];
    const Dim dim{a.dim.x, a.dim.y, a.dim.z};
    if (a.id == attribute_cluster && !volume(dim)) return invalid_value;
    if (a.id == attribute_cluster) s.cluster = dim;
    else if (a.id == attribute_cooperative) s.cooperative = a.flag != 0;
    else if (a.id == attribute_stream_serialization) s.is_dependent = a.flag != 0;
    else if (a.id == attribute_preferred_cluster) preferred = dim, has_preferred = true;
    else if (!may_be_ignored(a.id)) return not_supported;
  }
  return has_preferred ? check_preferred(preferred, s) : success;
}

// The device for the occupancy functions: that of the configuration's stream.
Result kernel_of_config(const LaunchConfig *c, Function *f, Shape &s, const Kernel **k, const Device **d) {
  if (!c || !f) return invalid_value;
  Stream *stream = stream_of(c->stream);
  if (!stream) return invalid_handle;
  *d = stream->context->device;
  Result error = success;
  *k = kernel_for(*f, **d, error);
  if (!*k) return error;
  if (!has_clusters(**d)) return not_supported;
  return read_config(*c, s);
}

// 0 if a block of this shape does not fit.
u64 resident_blocks(const Shape &s, const Function &f, const Kernel &k, const Device &d) {
  u64 threads = volume(s.block);
  bool fits = threads && threads <= 1024 && !(k.max_threads && threads > k.max_threads)
      && int(s.dynamic_shared) <= dynamic_limit(f, k, d);
  return fits ? u64(blocks_per_multiprocessor(k, d.limits, u32(threads), s.dynamic_shared)) * d.limits.multiprocessors : 0;
}

}  // namespace

}  // namespace emulator

using namespace emulator;

API Result cuLibraryLoadData(Library **library, const void *code, int *, void **, unsigned, int *, void **, unsigned) {
  ENTER(initialization);
  if (!library) return invalid_value;
  if (Result r = refuse_during_capture()) return r;
  if (Result r = load(library, code)) return r;
  for (auto &d : driver().devices)
    if (choose_entry((*library)->image, d->capability)) return success;
  delete *library;
  *library = nullptr;
  return no_binary_for_gpu;
}

API Result cuLibraryUnload(Library *library) {
  ENTER(initialization);
  if (!library) return invalid_handle;
  delete library;
  return success;
}

API Result cuLibraryGetKernel(Function **kernel, Library *library, const char *name) {
  ENTER(initialization);
  return find_function(kernel, library, name);
}

API Result cuKernelGetFunction(Function **function, Function *kernel) {
  ENTER(context);
  if (!function || !kernel) return invalid_value;
  Result error = success;
  if (!kernel_for(*kernel, *context().device, error)) return error;
  *function = kernel;
  return success;
}

API Result cuModuleLoadData(Library **module, const void *image) {
  ENTER(context);
  if (!module) return invalid_value;
  if (Result r = refuse_during_capture()) return r;
  if (Result r = load(module, image)) return r;
  (*module)->context = current_context();
  const Image::Entry *e = choose_entry((*module)->image, context().device->capability);
  const int injected = e ? injected_value("cuModuleLoadData", names_of(*e)) : int(no_binary_for_gpu);
  if (!injected) return success;
  delete *module;
  *module = nullptr;
  return injected;
}
API Result cuModuleUnload(Library *module) {
  {
    ENTER(context);
    if (Result r = refuse_during_capture()) return r;
    wait_for_device(*context().device);
  }
  return cuLibraryUnload(module);
}

API Result cuModuleGetFunction(Function **function, Library *module, const char *name) {
  ENTER(context);
  if (Result r = find_function(function, module, name)) return r;
  Result error = success;
  return kernel_for(**function, *context().device, error) ? int(success) : error;
}

API Result cuFuncGetAttribute(int *value, int attribute, Function *f) {
  ENTER(context);
  return value && f ? get_attribute(value, attribute, *f, *context().device) : int(invalid_value);
}
API Result cuFuncSetAttribute(Function *f, int attribute, int value) {
  ENTER(context);
  return f ? set_attribute(*f, attribute, value, *context().device) : int(invalid_handle);
}
API Result cuFuncLoad(Function *f) {
  ENTER(context);
  return f ? injected_for("cuFuncLoad", *f, *context().device) : int(invalid_handle);
}

API Result cuLaunchKernel(Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared_bytes, void *stream, void **params, void **extra) {
  ENTER(context);
  return launch(f, {{gx, gy, gz}, {bx, by, bz}, {0, 0, 0}, shared_bytes, false}, stream, params, extra);
}

API Result cuLaunchKernelEx(const LaunchConfig *c, Function *f, void **params, void **extra) {
  ENTER(context);
  if (!c) return invalid_value;
  Shape s;
  if (Result r = read_config(*c, s)) return r;
  return launch(f, s, c->stream, params, extra);
}

API Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *f, int threads, size_t dynamic_shared) {
  ENTER(context);
  if (!blocks || !f || threads <= 0) return invalid_value;
  Result error = success;
  const Kernel *k = kernel_for(*f, *context().device, error);
  if (!k) return error;
  bool fits = threads <= 1024 && !(k->max_threads && threads > int(k->max_threads)) &&
              int(dynamic_shared) <= dynamic_limit(*f, *k, *context().device);
  *blocks = fits ? int(blocks_per_multiprocessor(*k, context().device->limits, u32(threads), u32(dynamic_shared))) : 0;
  return success;
}

API Result cuOccupancyMaxPotentialClusterSize(int *size, Function *f, const LaunchConfig *c) {
  ENTER(context);
  Shape s;
  const Kernel *k;
  const Device *d;
  if (!size) return invalid_value;
  if (Result r = kernel_of_config(c, f, s, &k, &d)) return r;
  const Dim required = required_cluster(*f, *k, *d);
  *size = int(required.x ? volume(required) : resident_blocks(s, *f, *k, *d) ? largest_cluster(*f, *k, *d) : 0);
  return success;
}

// Without QUERN_EMULATOR_CLUSTER one cluster always fits, however few multiprocessors the device has.
API Result cuOccupancyMaxActiveClusters(int *clusters, Function *f, const LaunchConfig *c) {
  ENTER(context);
  Shape s;
  const Kernel *k;
  const Device *d;
  bool is_explicit = false;
  if (!clusters) return invalid_value;
  if (Result r = kernel_of_config(c, f, s, &k, &d)) return r;
  if (Result r = settle_cluster(s.cluster, is_explicit, *f, *k, *d)) return r;
  if (!is_explicit) return invalid_cluster_size;
  u64 blocks = resident_blocks(s, *f, *k, *d);
  *clusters = blocks && has_room(s.cluster) ? int(std::max<u64>(blocks / volume(s.cluster), 1)) : 0;
  return success;
}
