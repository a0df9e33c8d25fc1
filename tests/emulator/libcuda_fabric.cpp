// Fabric handles: 64 bytes by which processes of other hosts reach physical memory.  The environment says to which clique a process
// belongs.  A handle names the process and the file of the memory.
#include "libcuda.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstring>

namespace emulator {

namespace {

constexpr u32 magic = 0x51464142;

struct FabricHandle {
  u32 magic;
  pid_t process;
  int file;
  ino_t inode;
  char clique[32];
};
static_assert(sizeof(FabricHandle) <= fabric_handle_bytes, "a handle has 64 bytes");

const char *clique() {
  const char *name = getenv("QUERN_EMULATOR_FABRIC");
  return name ? name : "";
}

}  // namespace

bool has_fabric(const Device &d) { return d.capability.major >= 9 && *clique(); }

bool any_fabric() {
  for (auto &d : driver().devices)
    if (has_fabric(*d)) return true;
  return false;
}

Result export_fabric(const Physical &object, void *out) {
  struct stat s;
  FabricHandle h{magic, getpid(), object.file, 0, {}};
  if (fstat(object.file, &s) != 0) return out_of_memory;
  h.inode = s.st_ino;
  snprintf(h.clique, sizeof h.clique, "%s", clique());
  memset(out, 0, fabric_handle_bytes);
  memcpy(out, &h, sizeof h);
  return success;
}

// Memory that its owner has freed is of no handle any more.
Result open_fabric(const void *handle, int &file) {
  FabricHandle h;
  struct stat s;
  char path[64];
  memcpy(&h, handle, sizeof h);
  if (!any_fabric()) return not_supported;
  if (h.magic != magic) return invalid_value;
  if (strncmp(h.clique, clique(), sizeof h.clique - 1) != 0) return invalid_handle;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", h.process, h.file);
  file = open(path, O_RDWR | O_CLOEXEC);
  if (file >= 0 && fstat(file, &s) == 0 && s.st_ino == h.inode) return success;
  if (file >= 0) close(file);
  return invalid_handle;
}

}  // namespace emulator
