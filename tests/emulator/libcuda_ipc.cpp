// Access to another process's device memory through IPC handles, which predate virtual memory. A handle names the process and the
// file to which the memory is moved when it is first shared.
#include "libcuda.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstring>

using namespace emulator;

namespace {

constexpr u32 magic = 0x51434950;
constexpr unsigned lazy_peer_access = 1;

struct IpcHandle {
  u32 magic;
  pid_t process;
  int file, device;
  ino_t inode;
  size_t offset, bytes;
  unsigned long long id;  // of the allocation
};
struct OpaqueHandle { char bytes[64]; };
static_assert(sizeof(IpcHandle) <= sizeof(OpaqueHandle), "a handle has 64 bytes");

struct Import {
  Context *context;
  pid_t process;
  unsigned long long id;
  unsigned references;
  int file;  // whose lock tells the owner that the memory is open; it goes with the process
};
std::map<DevicePointer, Import> imports;

size_t shared_bytes(const Allocation &a) { return a.mapping_bytes - 2 * guard_bytes; }

// Replaces the allocation's pages by a file's, in place.
bool move_to_file(Allocation &a) {
  if (a.file >= 0) return true;
  char *pages = a.mapping + guard_bytes;
  int file = memfd_create("quern_emulator_ipc", MFD_CLOEXEC);
  if (file < 0) return false;
  unpoison(pages, shared_bytes(a));
  for (size_t done = 0; done < shared_bytes(a);) {
    ssize_t n = write(file, pages + done, shared_bytes(a) - done);
    if (n <= 0) return close(file), false;
    done += size_t(n);
  }
  void *moved = mmap(pages, shared_bytes(a), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  if (moved == MAP_FAILED) return close(file), false;
  poison_edges(a);
  a.file = file;
  return true;
}

int open_file(const IpcHandle &h) {
  char path[64];
  struct stat s;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", h.process, h.file);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file >= 0 && (fstat(file, &s) != 0 || s.st_ino != h.inode)) close(file), file = -1;  // the memory has been freed
  return file;
}

Result map_file(const IpcHandle &h, int file, DevicePointer *out) {
  struct stat s;
  if (fstat(file, &s) != 0) return map_failed;
  const size_t bytes = size_t(s.st_size), all = bytes + 2 * guard_bytes;
  char *base = static_cast<char *>(mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED) return map_failed;
  void *pages = mmap(base + guard_bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  if (pages == MAP_FAILED) return munmap(base, all), map_failed;
  *out = reinterpret_cast<DevicePointer>(base + guard_bytes) + h.offset;
  Allocation &a = add_allocation(Memory::imported, *out, h.bytes, device_of(h.device));
  a.mapping = base, a.mapping_bytes = all;
  poison_edges(a);
  return success;
}

struct flock lock_of(short type) {
  struct flock lock = {};
  lock.l_type = type, lock.l_whence = SEEK_SET;
  return lock;
}

bool opened_before(const IpcHandle &h, DevicePointer *out) {
  for (auto &[address, i] : imports)
    if (i.context == current_context() && i.process == h.process && i.id == h.id) {
      i.references++;
      *out = address;
      return true;
    }
  return false;
}

}  // namespace

// Whether another process has this memory open, so that its owner must not free it.
bool emulator::is_open_elsewhere(const Allocation &a) {
  struct flock lock = lock_of(F_WRLCK);
  return a.file >= 0 && fcntl(a.file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

long emulator::count_imports() { return long(imports.size()); }

void emulator::close_imports(Context &c) {
  for (auto at = imports.begin(); at != imports.end();) {
    if (at->second.context != &c) {
      ++at;
      continue;
    }
    release(at->first);
    close(at->second.file);
    at = imports.erase(at);
  }
}

API Result cuIpcGetMemHandle(OpaqueHandle *out, DevicePointer p) {
  ENTER(context);
  Allocation *a = find_allocation(p);
  struct stat s;
  if (!out || !a || a->address != p || a->kind != Memory::device || a->is_pooled) return invalid_value;
  if (!move_to_file(*a) || fstat(a->file, &s) != 0) return out_of_memory;
  const size_t offset = size_t(p - reinterpret_cast<DevicePointer>(a->mapping + guard_bytes));
  const IpcHandle h{magic, getpid(), a->file, a->device->ordinal, s.st_ino, offset, a->bytes, a->id};
  *out = {};
  memcpy(out, &h, sizeof h);
  return success;
}

API Result cuIpcOpenMemHandle_v2(DevicePointer *out, OpaqueHandle handle, unsigned flags) {
  ENTER(context);
  IpcHandle h;
  memcpy(&h, &handle, sizeof h);
  if (!out || flags != lazy_peer_access) return invalid_value;
  if (h.magic != magic || !device_of(h.device)) return invalid_handle;
  if (h.process == getpid()) return invalid_context;
  if (!can_access(*current_context()->device, *device_of(h.device))) return peer_access_unsupported;
  if (opened_before(h, out)) return success;
  int file = open_file(h);
  if (file < 0) return invalid_handle;
  Result r = map_file(h, file, out);
  struct flock lock = lock_of(F_RDLCK);
  if (r != success) return close(file), r;
  fcntl(file, F_OFD_SETLK, &lock);
  imports[*out] = {current_context(), h.process, h.id, 1, file};
  return success;
}
API Result cuIpcOpenMemHandle(DevicePointer *out, OpaqueHandle handle, unsigned flags) {
  return cuIpcOpenMemHandle_v2(out, handle, flags);
}

API Result cuIpcCloseMemHandle(DevicePointer p) {
  ENTER(context);
  auto at = imports.find(p);
  if (at == imports.end() || at->second.context != current_context()) return invalid_value;
  if (--at->second.references > 0) return success;
  run_everything(*current_context());  // as cuMemFree does
  close(at->second.file);
  imports.erase(at);
  return release(p) ? success : illegal_address;
}
