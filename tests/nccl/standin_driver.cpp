// The functions of the driver that the stand-in calls: it opens libcuda.so.1, as NCCL does.
#include "standin.h"

#include <dlfcn.h>
#include <cstring>

namespace standin {

namespace {

const struct {
  size_t offset;
  const char *name;
} symbols[] = {
    {offsetof(Driver, current), "cuCtxGetCurrent"},       {offsetof(Driver, device), "cuCtxGetDevice"},
    {offsetof(Driver, push), "cuCtxPushCurrent_v2"},      {offsetof(Driver, pop), "cuCtxPopCurrent_v2"},
    {offsetof(Driver, make_stream), "cuStreamCreate"},    {offsetof(Driver, end_stream), "cuStreamDestroy_v2"},
    {offsetof(Driver, synchronize), "cuStreamSynchronize"}, {offsetof(Driver, to_host), "cuMemcpyDtoHAsync_v2"},
    {offsetof(Driver, to_device), "cuMemcpyHtoDAsync_v2"}, {offsetof(Driver, call), "cuLaunchHostFunc"},
    {offsetof(Driver, capture), "cuStreamGetCaptureInfo_v2"}, {offsetof(Driver, make_object), "cuUserObjectCreate"},
    {offsetof(Driver, keep_object), "cuGraphRetainUserObject"},
};

bool open(Driver &driver) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  for (auto &symbol : symbols) {
    void *address = library ? dlsym(library, symbol.name) : nullptr;
    if (!address) return false;
    memcpy(reinterpret_cast<char *>(&driver) + symbol.offset, &address, sizeof address);
  }
  return true;
}

}  // namespace

const Driver *driver() {
  static Driver functions;
  static const bool is_open = open(functions);
  return is_open ? &functions : nullptr;
}

}  // namespace standin
