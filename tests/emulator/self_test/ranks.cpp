// Self-test of what several ranks need: memory that devices and processes share,
// kernels that wait for each other, host memory and host functions.
// Usage: ranks DIRECTORY [ROLE [SOCKET]]. Ends with "N passed, N failed".
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "driver.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

static std::string directory, program;
static std::vector<void *> contexts;
static constexpr size_t block = 2 << 20;  // granularity of virtual memory
static constexpr uint64_t second = 1000000000;

static void use_device(int d) { OK(cuCtxSetCurrent(contexts[size_t(d)])); }

static double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

// ---- memory as the collective code will use it ----

static MemoryProp property(int device, unsigned handle_types = 1) { return {1, handle_types, {1, device}, nullptr, {}}; }

static Pointer map(Handle handle, size_t bytes, const std::vector<int> &devices) {
  Pointer p = 0;
  OK(cuMemAddressReserve(&p, bytes, 0, 0, 0));
  OK(cuMemMap(p, bytes, 0, handle, 0));
  for (int d : devices) {
    MemoryAccess access = {{1, d}, 3};
    OK(cuMemSetAccess(p, bytes, &access, 1));
  }
  return p;
}

static void unmap(Pointer p, size_t bytes) {
  OK(cuMemUnmap(p, bytes));
  OK(cuMemAddressFree(p, bytes));
}

static Handle create(int device, size_t bytes) {
  Handle h = 0;
  MemoryProp p = property(device);
  OK(cuMemCreate(&h, bytes, &p, 0));
  return h;
}

template <class T> static T read(Pointer p) {
  T value;
  OK(cuMemcpyDtoH_v2(&value, p, sizeof value));
  return value;
}

static size_t free_bytes() {
  size_t free_now = 0, total;
  OK(cuMemGetInfo_v2(&free_now, &total));
  return free_now;
}

static void test_handles() {
  use_device(0);
  size_t bytes = 0, free_before = free_bytes();
  MemoryProp p = property(0);
  OK(cuMemGetAllocationGranularity(&bytes, &p, 0));
  CHECK(bytes == block);
  Handle h;
  GIVES(1, cuMemCreate(&h, block + 4096, &p, 0));
  GIVES(1, cuMemCreate(&h, 0, &p, 0));
  GIVES(2, cuMemCreate(&h, size_t(1) << 50, &p, 0));
  MemoryProp wrong = property(99);
  GIVES(101, cuMemCreate(&h, block, &wrong, 0));
  wrong = property(0, 8);
  GIVES(801, cuMemCreate(&h, block, &wrong, 0));
  h = create(0, 2 * block);
  CHECK(free_bytes() == free_before - 2 * block);
  MemoryProp got = {};
  OK(cuMemGetAllocationPropertiesFromHandle(&got, h));
  CHECK(got.type == 1 && got.handle_types == 1 && got.location.type == 1 && got.location.id == 0);

  Pointer at = map(h, 2 * block, {0});
  Handle again = 0;
  OK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void *>(at + block + 5)));
  CHECK(again == h);
  OK(cuMemRelease(h));
  OK(cuMemRelease(again));
  GIVES(1, cuMemRelease(h));
  CHECK(free_bytes() == free_before - 2 * block);  // the mapping keeps the memory
  CHECK(read<uint32_t>(at + block) == 0xabababab);
  unmap(at, 2 * block);
  CHECK(free_bytes() == free_before);

  MemoryProp closed = property(0, 0);
  int file = -1;
  OK(cuMemCreate(&h, block, &closed, 0));
  GIVES(1, cuMemExportToShareableHandle(&file, h, 1, 0));
  OK(cuMemRelease(h));
  int other = memfd_create("something else", 0);
  GIVES(1, cuMemImportFromShareableHandle(&h, reinterpret_cast<void *>(intptr_t(other)), 1));
  close(other);
}

static void test_mappings() {
  use_device(0);
  Pointer p = 0;
  Handle h = create(0, 2 * block);
  GIVES(1, cuMemAddressReserve(&p, block + 1, 0, 0, 0));
  GIVES(1, cuMemAddressReserve(&p, block, 3, 0, 0));
  OK(cuMemAddressReserve(&p, 4 * block, 16 * block, 0, 0));
  CHECK(p % (16 * block) == 0);
  GIVES(1, cuMemMap(p, block + 4096, 0, h, 0));
  GIVES(1, cuMemMap(p, 3 * block, 0, h, 0));
  GIVES(1, cuMemMap(p, block, block, h, 0));  // the offset must be zero
  GIVES(1, cuMemMap(p + 3 * block, 2 * block, 0, h, 0));
  GIVES(1, cuMemMap(p, 2 * block, 0, h + 1000, 0));
  OK(cuMemMap(p, 2 * block, 0, h, 0));
  GIVES(1, cuMemMap(p + block, 2 * block, 0, h, 0));
  OK(cuMemMap(p + 2 * block, 2 * block, 0, h, 0));
  MemoryAccess access = {{1, 0}, 3};
  GIVES(1, cuMemSetAccess(p, block, &access, 1));
  GIVES(1, cuMemcpyHtoD_v2(p, &access, 8));  // no access yet
  OK(cuMemSetAccess(p, 4 * block, &access, 1));
  unsigned long long flags = 0;
  OK(cuMemGetAccess(&flags, &access.location, p + 5));
  CHECK(flags == 3);
  MemoryLocation elsewhere = {1, 1};
  OK(cuMemGetAccess(&flags, &elsewhere, p));
  CHECK(flags == 0);

  OK(cuMemsetD8_v2(p, 0, 2 * block));
  OK(launch("touch", {1, 1}, p + 64, 5u));
  CHECK(read<uint32_t>(p + 2 * block + 64) == 5);  // the same memory twice
  std::vector<char> across(64, 3);
  OK(cuMemcpyHtoD_v2(p + 2 * block - 32, across.data(), across.size()));
  CHECK(read<char>(p + 2 * block - 1) == 3 && read<char>(p + 2 * block + 31) == 3);

  Pointer start = 0;
  size_t bytes = 0;
  unsigned type = 0;
  OK(cuPointerGetAttribute(&start, 11, p + 3 * block));
  OK(cuPointerGetAttribute(&bytes, 12, p + 3 * block));
  CHECK(start == p && bytes == 4 * block);
  OK(cuPointerGetAttribute(&start, 19, p + 3 * block));
  OK(cuPointerGetAttribute(&type, 2, p));
  CHECK(start == p + 2 * block && type == 2);

  GIVES(1, cuMemAddressFree(p, 4 * block));
  GIVES(1, cuMemUnmap(p, block));
  OK(cuMemUnmap(p, 4 * block));
  GIVES(1, cuMemAddressFree(p, 2 * block));
  OK(cuMemAddressFree(p, 4 * block));
  OK(cuMemRelease(h));
}

static void expect_fault(Pointer p, int device) {
  OK(launch("touch", {1, 1}, p, 1u));
  GIVES(700, cuCtxSynchronize());
  OK(cuDevicePrimaryCtxReset_v2(device));
}

static void test_access() {
#ifndef SANITIZED
  use_device(0);
  Handle h = create(0, block);
  Pointer p = map(h, block, {});
  expect_fault(p, 0);
  MemoryAccess read_only = {{1, 0}, 1};
  OK(cuMemSetAccess(p, block, &read_only, 1));
  Buffer<uint32_t> out(1);
  OK(launch("copy_word", {1, 1}, p, out.p));
  CHECK(out.get()[0] == 0xabababab);
  GIVES(1, cuMemsetD8_v2(p, 0, 4));
  expect_fault(p, 0);
  OK(cuMemUnmap(p, block));
  expect_fault(p, 0);
  OK(cuMemAddressFree(p, block));
  OK(cuMemRelease(h));
  h = create(1, block);
  p = map(h, block, {1});
  expect_fault(p, 0);  // the other device may
  use_device(1);
  OK(launch("touch", {1, 1}, p, 7u));
  CHECK(read<uint32_t>(p) == 7);
  unmap(p, block);
  OK(cuMemRelease(h));
  Buffer<uint32_t> elsewhere(1);
  use_device(0);
  expect_fault(elsewhere.p, 0);
  OK(cuCtxEnablePeerAccess(contexts[1], 0));
  OK(launch("touch", {1, 1}, elsewhere.p, 8u));
  CHECK(elsewhere.get()[0] == 8);
  OK(cuCtxDisablePeerAccess(contexts[1]));
  expect_fault(elsewhere.p, 0);
  OK(cuMemFree_v2(elsewhere.p));
  elsewhere.p = 0;
#endif
}

static void test_peers() {
  use_device(0);
  int can = 0, value = 0;
  OK(cuDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 1);
  OK(cuDeviceCanAccessPeer(&can, 0, 0));
  CHECK(can == 0);
  OK(cuCtxEnablePeerAccess(contexts[1], 0));
  GIVES(704, cuCtxEnablePeerAccess(contexts[1], 0));
  GIVES(201, cuCtxEnablePeerAccess(contexts[0], 0));
  GIVES(1, cuCtxEnablePeerAccess(contexts[1], 1));
  OK(cuCtxDisablePeerAccess(contexts[1]));
  GIVES(705, cuCtxDisablePeerAccess(contexts[1]));
  OK(cuDeviceGetP2PAttribute(&value, 2, 0, 1));
  CHECK(value == 1);
  GIVES(101, cuDeviceGetP2PAttribute(&value, 2, 0, 0));
  GIVES(1, cuDeviceGetP2PAttribute(&value, 9, 0, 1));
  char bus[32];
  int device = -1;
  OK(cuDeviceGetPCIBusId(bus, sizeof bus, 1));
  CHECK(!strcmp(bus, "0000:02:00.0"));
  OK(cuCtxGetDevice(&device));
  CHECK(device == 0);
}

// In a process of its own, with QUERN_EMULATOR_PEERS=none.
static void test_no_peers() {
  use_device(0);
  int can = 1;
  OK(cuDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 0);
  GIVES(217, cuCtxEnablePeerAccess(contexts[1], 0));
  OK(cuDeviceGetP2PAttribute(&can, 2, 0, 1));
  CHECK(can == 0);
  Handle h = create(1, block);
  Pointer p = map(h, block, {1});
  MemoryAccess access = {{1, 0}, 3};
  GIVES(101, cuMemSetAccess(p, block, &access, 1));
  unmap(p, block);
  OK(cuMemRelease(h));
}

// ---- host memory and host functions ----

static void test_host_memory() {
  use_device(0);
  void *stream;
  OK(cuStreamCreate(&stream, 1));
  int file = memfd_create("host", 0);
  CHECK(ftruncate(file, 8192) == 0);
  auto *mine = static_cast<uint32_t *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  auto *other = static_cast<uint32_t *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  Pointer p = 0;
  GIVES(1, cuMemHostGetDevicePointer_v2(&p, mine, 0));
  OK(cuMemHostRegister_v2(mine, 8192, 2));
  GIVES(712, cuMemHostRegister_v2(mine, 8192, 2));
  GIVES(712, cuMemHostRegister_v2(mine + 1024, 64, 0));
  OK(cuMemHostGetDevicePointer_v2(&p, mine + 4, 0));
  CHECK(p == reinterpret_cast<Pointer>(mine + 4));
  GIVES(713, cuMemHostUnregister(mine + 4));
  GIVES(713, cuMemHostUnregister(&file));
  GIVES(1, cuMemHostRegister_v2(reinterpret_cast<void *>(16), 64, 0));

  // Pinned memory is read when the copy runs, pageable memory when it is issued.
  std::vector<uint32_t> pageable(1, 1);
  Buffer<uint32_t> a(1), b(1);
  mine[0] = 1;
  OK(cuMemcpyHtoDAsync_v2(a.p, mine, 4, stream));
  OK(cuMemcpyHtoDAsync_v2(b.p, pageable.data(), 4, stream));
  mine[0] = pageable[0] = 2;
  OK(cuStreamSynchronize(stream));
  CHECK(a.get()[0] == 2 && b.get()[0] == 1);

  // A captured copy keeps the address.
  void *graph, *exec;
  OK(cuStreamBeginCapture_v2(stream, 2));
  OK(cuMemcpyHtoDAsync_v2(b.p, pageable.data(), 4, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  pageable[0] = 3;
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(b.get()[0] == 3);
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));

  // A kernel waits for a word that the host writes through another mapping of the same file.
  mine[8] = 0;
  OK(launch("wait_for_host", {1, 32, 0, stream}, reinterpret_cast<Pointer>(mine + 8), a.p));
  std::thread writer([other] {
    usleep(20000);
    __atomic_store_n(other + 8, 9u, __ATOMIC_RELEASE);
  });
  OK(cuStreamSynchronize(stream));
  writer.join();
  CHECK(a.get()[0] == 9);
  OK(cuMemHostUnregister(mine));
  GIVES(713, cuMemHostUnregister(mine));
  munmap(mine, 8192), munmap(other, 8192), close(file);
  OK(cuStreamDestroy_v2(stream));
}

struct HostCall { int order, refusal; };
static std::atomic<int> host_calls;

static void note_call(void *data) {
  auto *call = static_cast<HostCall *>(data);
  Pointer p;
  call->order = ++host_calls;
  call->refusal = cuMemAlloc_v2(&p, 16);
}

static void test_host_functions() {
  use_device(0);
  void *stream, *graph, *exec;
  OK(cuStreamCreate(&stream, 1));
  Buffer<uint32_t> x(1);
  HostCall first = {}, second_call = {};
  OK(cuLaunchHostFunc(stream, note_call, &first));
  OK(launch("touch", {1, 1, 0, stream}, x.p, 6u));
  OK(cuLaunchHostFunc(stream, note_call, &second_call));
  CHECK(host_calls == 0);
  OK(cuStreamSynchronize(stream));
  CHECK(first.order == 1 && second_call.order == 2 && first.refusal == 800);
  OK(cuStreamBeginCapture_v2(stream, 1));
  OK(cuLaunchHostFunc(stream, note_call, &first));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 3; i++) OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(host_calls == 5);
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  OK(cuStreamDestroy_v2(stream));
}

// ---- instructions ----

static void test_ordered_accesses() {
  use_device(0);
  int major = 0;
  OK(cuDeviceGetAttribute(&major, 75, 0));
  std::vector<uint8_t> in(160), expected(160, 0);
  for (size_t i = 0; i < in.size(); i++) in[i] = uint8_t(i * 7 + 1);
  Buffer<uint8_t> a(in), b(160);
  OK(cuMemsetD8_v2(b.p, 0, 160));
  OK(launch("ordered_accesses", {1, 1}, a.p, b.p));
  std::copy(in.begin(), in.begin() + 80, expected.begin());
  expected[1] = 0, expected[20] = expected[21] = expected[22] = expected[23] = 0;
  const uint64_t exchanged = 0x1122334455667788, combined = 0xff00;
  const uint32_t swapped = 77, found = 5;
  memcpy(&expected[80], &swapped, 4), memcpy(&expected[88], &exchanged, 8), memcpy(&expected[96], &combined, 8);
  memcpy(&expected[104], &found, 4);
  if (major >= 10) std::copy(in.begin() + 128, in.begin() + 160, expected.begin() + 128);
  auto got = b.get();
  for (size_t i = 0; i < got.size(); i++)
    if (got[i] != expected[i]) printf("  byte %zu: %d, not %d\n", i, got[i], expected[i]);
  CHECK(got == expected);
}

// ---- barriers ----

struct Ranks { Pointer flags[16], data[16]; int rank, count; };

static constexpr size_t data_offset = 4096;

// Memory of each rank, on device rank % devices, that all devices may access.
struct Pads {
  Ranks ranks = {};
  std::vector<Handle> handles;
  explicit Pads(int count) {
    std::vector<int> all;
    for (size_t d = 0; d < contexts.size(); d++) all.push_back(int(d));
    ranks.count = count;
    for (int r = 0; r < count; r++) {
      use_device(device(r));
      handles.push_back(create(device(r), block));
      ranks.flags[r] = map(handles.back(), block, all);
      ranks.data[r] = ranks.flags[r] + data_offset;
      OK(cuMemsetD8_v2(ranks.flags[r], 0, 2 * data_offset));
      OK(cuCtxSynchronize());
    }
  }
  ~Pads() {
    for (int r = 0; r < ranks.count; r++) unmap(ranks.flags[r], block), OK(cuMemRelease(handles[size_t(r)]));
  }
  static int device(int rank) { return rank % int(contexts.size()); }
  Ranks of(int rank) const {
    Ranks r = ranks;
    r.rank = rank;
    return r;
  }
};

// One thread launches on all devices, then waits.
static void run_two(const Ranks (&ranks)[2]) {
  void *streams[2];
  Pointer wrong[2];
  for (int r = 0; r < 2; r++) {
    use_device(r);
    OK(cuStreamCreate(&streams[r], 1));
    OK(cuMemAlloc_v2(&wrong[r], 4));
    OK(cuMemsetD32Async(ranks[r].flags[r], 0xfffffff0u, 2, nullptr));  // the epoch wraps around
    OK(cuCtxSynchronize());
  }
  for (int r = 0; r < 2; r++) {
    use_device(r);
    OK(cuMemsetD32Async(wrong[r], 0, 1, streams[r]));
    OK(launch("barrier_rounds", {1, 64, 0, streams[r]}, ranks[r], 0xfffffff0u, 200u, 5 * second, wrong[r]));
  }
  for (int r = 0; r < 2; r++) {
    use_device(r);
    OK(cuStreamSynchronize(streams[r]));
    CHECK(read<uint32_t>(wrong[r]) == 0);
    OK(cuMemFree_v2(wrong[r]));
    OK(cuStreamDestroy_v2(streams[r]));
  }
}

static void test_one_thread() {
  Pads pads(2);
  run_two({pads.of(0), pads.of(1)});
}

// The second rank knows the flags by other addresses than the first.
static void test_aliases() {
  Pads pads(2);
  Ranks second_rank = pads.of(1);
  for (int r = 0; r < 2; r++) second_rank.flags[r] = map(pads.handles[size_t(r)], block, {0, 1});
  run_two({pads.of(0), second_rank});
  for (int r = 0; r < 2; r++) unmap(second_rank.flags[r], block);
}

// A thread for each rank; several ranks share a device if there are more ranks than devices.
static void run_threads(int count, uint32_t launches, uint32_t rounds) {
  Pads pads(count);
  std::vector<std::thread> threads;
  std::vector<uint32_t> wrong(size_t(count), 1);
  std::vector<int> results(size_t(count), -1);
  for (int r = 0; r < count; r++)
    threads.emplace_back([&, r] {
      void *stream, *found = kernel("barrier_rounds");
      Pointer p;
      Ranks ranks = pads.of(r);
      uint64_t limit = 5 * second;
      cuCtxSetCurrent(contexts[size_t(Pads::device(r))]);
      cuStreamCreate(&stream, 1);
      cuMemAlloc_v2(&p, 4);
      cuMemsetD32Async(p, 0, 1, stream);
      for (uint32_t n = 0; n < launches; n++) {
        uint32_t first = n * rounds * 2;
        void *params[] = {&ranks, &first, &rounds, &limit, &p};
        cuLaunchKernel(found, 1, 1, 1, 32, 1, 1, 0, stream, params, nullptr);
        results[size_t(r)] = cuStreamSynchronize(stream);
      }
      cuMemcpyDtoHAsync_v2(&wrong[size_t(r)], p, 4, stream);
      cuStreamSynchronize(stream);
      cuStreamDestroy_v2(stream);
    });
  for (auto &t : threads) t.join();
  CHECK(results == std::vector<int>(size_t(count), 0));
  CHECK(wrong == std::vector<uint32_t>(size_t(count), 0));
}

static void test_threads() {
  run_threads(2, 100, 3);
  run_threads(8, 5, 3);
}

// A rank that never comes: the kernel's own limit ends the wait, and nothing has failed.
static void test_missing_rank() {
  Pads pads(2);
  use_device(0);
  Buffer<uint32_t> wrong(std::vector<uint32_t>(1, 0));
  OK(launch("barrier_rounds", {1, 32}, pads.of(0), 0u, 1u, second / 5, wrong.p));
  OK(cuCtxSynchronize());
  CHECK(wrong.get()[0] == 1000000 * 32);
}

static void test_fences() {
  Pads pads(2);
  Buffer<uint32_t> out(2);
  for (int r = 0; r < 2; r++) {
    use_device(r);
    OK(launch("fenced_exchange", {1, 1}, pads.ranks.flags[r], pads.ranks.flags[1 - r], out.p + 4 * size_t(r)));
  }
  for (int r = 0; r < 2; r++) {
    use_device(r);
    OK(cuCtxSynchronize());
  }
  CHECK(out.get() == std::vector<uint32_t>(2, 42));
}

// ---- processes ----

static void send_file(int socket, int file) {
  char byte = 0, control[CMSG_SPACE(sizeof file)] = {};
  iovec data = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &data, message.msg_iovlen = 1, message.msg_control = control, message.msg_controllen = sizeof control;
  cmsghdr *c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof file);
  memcpy(CMSG_DATA(c), &file, sizeof file);
  CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_file(int socket) {
  char byte, control[CMSG_SPACE(sizeof(int))];
  iovec data = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &data, message.msg_iovlen = 1, message.msg_control = control, message.msg_controllen = sizeof control;
  int file = -1;
  CHECK(recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message));
  memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
  return file;
}

static void meet(int socket) {
  char byte = 1;
  CHECK(write(socket, &byte, 1) == 1 && ::read(socket, &byte, 1) == 1);
}

static int exported(Handle h) {
  int file = -1;
  OK(cuMemExportToShareableHandle(&file, h, 1, 0));
  return file;
}

static Handle imported(int file) {
  Handle h = 0;
  OK(cuMemImportFromShareableHandle(&h, reinterpret_cast<void *>(intptr_t(file)), 1));
  close(file);
  return h;
}

static Handle exchange_handle(int socket, Handle mine) {
  int file = exported(mine);
  send_file(socket, file);
  close(file);
  return imported(receive_file(socket));
}

// Each process has the other's cuMemAlloc memory too: an odd size, so that it does not start with its page.
static void exchange_allocations(int rank, int socket) {
  Buffer<uint32_t> mine(std::vector<uint32_t>(1001, uint32_t(rank) + 50));
  IpcHandle own = {}, other = {}, again = {};
  Pointer p = 0, same = 0;
  unsigned ordinal = 9;
  OK(cuIpcGetMemHandle(&own, mine.p));
  OK(cuIpcGetMemHandle(&again, mine.p));
  CHECK(!memcmp(&own, &again, sizeof own));
  GIVES(1, cuIpcGetMemHandle(&again, mine.p + 4));
  GIVES(201, cuIpcOpenMemHandle_v2(&p, own, 1));
  GIVES(400, cuIpcOpenMemHandle_v2(&p, {}, 1));
  CHECK(write(socket, &own, sizeof own) == sizeof own && ::read(socket, &other, sizeof other) == sizeof other);
  OK(cuIpcOpenMemHandle_v2(&p, other, 1));
  OK(cuIpcOpenMemHandle_v2(&same, other, 1));
  CHECK(p == same);
  OK(cuPointerGetAttribute(&ordinal, 9, p + 4000));
  CHECK(int(ordinal) == 1 - rank);
  CHECK(read<uint32_t>(p + 4000) == uint32_t(1 - rank) + 50);
  meet(socket);
  OK(launch("touch", {1, 1}, p, uint32_t(rank) + 70));
  OK(cuCtxSynchronize());
  meet(socket);
  CHECK(mine.get()[0] == uint32_t(1 - rank) + 70 && mine.get()[1000] == uint32_t(rank) + 50);
  GIVES(1, cuMemFree_v2(p));
  OK(cuIpcCloseMemHandle(p));
  CHECK(read<uint32_t>(p + 4000) == uint32_t(1 - rank) + 50);  // opened twice
  OK(cuIpcCloseMemHandle(p));
  GIVES(1, cuIpcCloseMemHandle(p));
  meet(socket);
  OK(cuMemFree_v2(mine.p));
  mine.p = 0;
  meet(socket);
  GIVES(400, cuIpcOpenMemHandle_v2(&p, other, 1));  // freed by its owner
}

// ---- multicast ----

struct Multicast {
  Handle handle = 0, memory[2] = {};
  Pointer everywhere = 0, own[2] = {};
};

static void check_team(Handle multicast) {
  Handle memory = create(0, block);
  GIVES(1, cuMulticastAddDevice(multicast, 0));
  GIVES(101, cuMulticastAddDevice(multicast, 9));
  GIVES(1, cuMulticastBindMem(multicast, 4096, memory, 0, block, 0));
  GIVES(1, cuMulticastBindMem(multicast, 0, memory, block, block, 0));
  GIVES(1, cuMulticastBindMem(multicast, 2 * block, memory, 0, block, 0));
  OK(cuMemRelease(memory));
}

static void test_multicast() {
  int supported = 0;
  OK(cuDeviceGetAttribute(&supported, 132, 0));
  MulticastProp p = {2, 2 * block, 1, 0};
  Multicast m;
  size_t bytes = 0;
  if (!supported) {
    GIVES(801, cuMulticastCreate(&m.handle, &p));
    return;
  }
  OK(cuMulticastGetGranularity(&bytes, &p, 0));
  CHECK(bytes == block);
  OK(cuMulticastCreate(&m.handle, &p));
  for (int d = 0; d < 2; d++) OK(cuMulticastAddDevice(m.handle, d));
  check_team(m.handle);
  for (int d = 0; d < 2; d++) {
    m.memory[d] = create(d, block);
    m.own[d] = map(m.memory[d], block, {0, 1});
    OK(cuMulticastBindMem(m.handle, block, m.memory[d], 0, block, 0));
    GIVES(1, cuMulticastBindMem(m.handle, block, m.memory[d], 0, block, 0));
    OK(cuMemsetD8_v2(m.own[d], 0, block));
  }
  m.everywhere = map(m.handle, 2 * block, {0});
  const Pointer word = m.everywhere + block, wide = word + 4096;
  use_device(0);
  Buffer<uint32_t> sum(32), least(32);
  Buffer<uint64_t> all(32);
  OK(launch("multicast_store", {1, 32}, word, wide));
  OK(cuCtxSynchronize());
  for (int d = 0; d < 2; d++) CHECK(read<uint32_t>(m.own[d] + 20) == 12 && read<uint64_t>(m.own[d] + 4096 + 31 * 8) == 1u << 31);
  const uint32_t different = uint32_t(-3);
  OK(cuMemcpyHtoD_v2(m.own[1] + 20, &different, 4));
  OK(launch("multicast_add", {1, 32}, word, wide));
  OK(launch("multicast_reduce", {1, 32}, word, wide, sum.p, least.p, all.p));
  CHECK(sum.get()[5] == 112 + 97 && sum.get()[6] == 226 && least.get()[5] == 97 && all.get()[3] == (1ull << 40 | 8));
#ifndef SANITIZED
  use_device(0);
  OK(launch("touch", {1, 1}, word, 1u));  // only multimem may
  GIVES(700, cuCtxSynchronize());
  OK(cuDevicePrimaryCtxReset_v2(0));
  sum.p = least.p = all.p = 0;
#endif
  use_device(1);
  OK(launch("multicast_store", {1, 1}, word, wide));  // no access from there
  GIVES(700, cuCtxSynchronize());
  OK(cuDevicePrimaryCtxReset_v2(1));
  use_device(0);
  OK(launch("multicast_store", {1, 1}, m.everywhere, m.everywhere + 8));  // nothing bound
  GIVES(700, cuCtxSynchronize());
  OK(cuDevicePrimaryCtxReset_v2(0));
  sum.p = least.p = all.p = 0;
  for (int d = 0; d < 2; d++) OK(cuMulticastUnbind(m.handle, d, block, block));
  GIVES(1, cuMulticastUnbind(m.handle, 0, block, block));
  unmap(m.everywhere, 2 * block);
  for (int d = 0; d < 2; d++) unmap(m.own[d], block), OK(cuMemRelease(m.memory[d]));
  OK(cuMemRelease(m.handle));
}

// One process makes the object, both add their device and bind their memory; kernels of both meet through it.
static void multicast_process(int rank, int socket) {
  MulticastProp p = {2, block, 1, 0};
  Handle multicast = 0, memory = create(rank, block);
  if (rank == 0) {
    OK(cuMulticastCreate(&multicast, &p));
    int file = exported(multicast);
    send_file(socket, file);
    close(file);
  } else {
    multicast = imported(receive_file(socket));
  }
  OK(cuMulticastAddDevice(multicast, rank));
  Pointer own = map(memory, block, {rank});
  OK(cuMemsetD8_v2(own, 0, 4096));
  OK(cuCtxSynchronize());
  OK(cuMulticastBindMem(multicast, 0, memory, 0, block, 0));  // waits for the other's device
  Pointer everywhere = map(multicast, block, {rank});
  meet(socket);
  Buffer<uint32_t> out(1);
  OK(launch("multicast_barrier", {1, 1}, everywhere, own, 2u, 100u, out.p));
  CHECK(out.get()[0] >= 200);
  meet(socket);
  unmap(everywhere, block), unmap(own, block);
  OK(cuMemRelease(memory));
  OK(cuMemRelease(multicast));
}

// Both processes run this, each with its own driver and device; kernels of both wait for each other.
static void run_process(int rank, int socket) {
  use_device(rank);
  Handle handles[2];
  handles[rank] = create(rank, block);
  Ranks ranks = {};
  ranks.rank = rank, ranks.count = 2;
  handles[1 - rank] = exchange_handle(socket, handles[rank]);
  for (int r = 0; r < 2; r++) ranks.flags[r] = map(handles[r], block, {rank}), ranks.data[r] = ranks.flags[r] + data_offset;
  MemoryProp p = {};
  OK(cuMemGetAllocationPropertiesFromHandle(&p, handles[1 - rank]));
  CHECK(p.location.id == 1 - rank);
  OK(cuMemsetD8_v2(ranks.flags[rank], 0, 2 * data_offset));
  OK(cuCtxSynchronize());
  meet(socket);
  Buffer<uint32_t> wrong(std::vector<uint32_t>(1, 0));
  const uint32_t rounds = 300;
  for (uint32_t n = 0; n < 3; n++) {
    auto start = std::chrono::steady_clock::now();
    OK(launch("barrier_rounds", {1, 32}, ranks, n * rounds * 2, rounds, 10 * second, wrong.p));
    OK(cuCtxSynchronize());
    if (n == 2 && rank == 0) printf("two processes: %.0f us for a barrier\n", seconds_since(start) / rounds / 2 * 1e6);
  }
  CHECK(wrong.get()[0] == 0);
  OK(launch("fenced_exchange", {1, 1}, ranks.flags[rank] + 64, ranks.flags[1 - rank] + 64, wrong.p));
  OK(cuCtxSynchronize());
  CHECK(wrong.get()[0] == 42);
  meet(socket);
  for (int r = 0; r < 2; r++) unmap(ranks.flags[r], block), OK(cuMemRelease(handles[r]));
  test_name += ", handles of cuMemAlloc", exchange_allocations(rank, socket);
  int has_multicast = 0;
  OK(cuDeviceGetAttribute(&has_multicast, 132, rank));
  if (has_multicast) test_name += ", multicast", multicast_process(rank, socket);
}

// Starts this program again in a role; returns its process number and the socket to it.
static pid_t start_role(const char *role, int &socket) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::string end = std::to_string(ends[1]);
    execl(program.c_str(), program.c_str(), directory.c_str(), role, end.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  socket = ends[0];
  return child;
}

static int finish_role(pid_t child, int socket) {
  int status = 0;
  close(socket);
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_processes() {
  int socket;
  pid_t child = start_role("process", socket);
  run_process(0, socket);
  CHECK(finish_role(child, socket) == 0);
}

static void test_role(const char *role, const char *variable, const char *value) {
  int socket;
  setenv(variable, value, 1);
  pid_t child = start_role(role, socket);
  unsetenv(variable);
  CHECK(finish_role(child, socket) == 0);
}

#ifdef THREAD_SANITIZER
// In a process of its own, which ThreadSanitizer ends: without its second barrier the protocol has a race.
static void run_racy() {
  Pads pads(2);
  Buffer<uint32_t> wrong(std::vector<uint32_t>(1, 0));
  for (int r = 0; r < 2; r++) {
    use_device(r);
    OK(launch("barrier_rounds_racy", {1, 32}, pads.of(r), 20u, 5 * second, wrong.p));
  }
  for (int r = 0; r < 2; r++) {
    use_device(r);
    OK(cuCtxSynchronize());
  }
}

static void test_race_is_found() {
  int socket;
  setenv("TSAN_OPTIONS", "exitcode=66", 1);
  pid_t child = start_role("race", socket);
  unsetenv("TSAN_OPTIONS");
  CHECK(finish_role(child, socket) == 66);
}
#endif

static void test_launch_blocking() {
  use_device(0);
  uint32_t *pinned;
  OK(cuMemAllocHost_v2(reinterpret_cast<void **>(&pinned), 4));
  OK(launch("touch", {1, 1}, reinterpret_cast<Pointer>(pinned), 5u));
  CHECK(*pinned == 5);  // without waiting for it
  OK(cuMemFreeHost(pinned));
}

struct Test { const char *name; void (*run)(); };
static const Test tests[] = {
    {"handles", test_handles}, {"mappings", test_mappings}, {"access", test_access}, {"peers", test_peers},
    {"host memory", test_host_memory}, {"host functions", test_host_functions}, {"ordered accesses", test_ordered_accesses},
    {"one thread", test_one_thread}, {"aliases", test_aliases}, {"threads", test_threads}, {"missing rank", test_missing_rank},
    {"fences", test_fences},
};

static void start_driver() {
  bind_driver();
  OK(cuInit(0));
  int devices = 0;
  OK(cuDeviceGetCount(&devices));
  for (int d = 0; d < devices; d++) {
    contexts.emplace_back();
    OK(cuDevicePrimaryCtxRetain(&contexts.back(), d));
  }
  auto image = read_file(directory + "/ranks.fatbin");
  OK(cuLibraryLoadData(&library, image.data(), 0, 0, 0, 0, 0, 0));
}

// The tests that one process runs alone or starts others for, on the devices of QUERN_EMULATOR.
static void run_all() {
  for (const Test &t : tests) test_name = t.name, t.run();
  test_name = "processes", test_processes();
  test_name = "multicast", test_multicast();
#ifdef THREAD_SANITIZER
  test_name = "race", test_race_is_found();
#endif
  test_name = "no peers", test_role("no peers", "QUERN_EMULATOR_PEERS", "none");
  test_name = "launch blocking", test_role("launch blocking", "CUDA_LAUNCH_BLOCKING", "1");
}

int main(int count, char **arguments) {
  if (count < 2) return fprintf(stderr, "usage: ranks DIRECTORY [ROLE SOCKET]\n"), 2;
  program = arguments[0], directory = arguments[1];
  setenv("QUERN_EMULATOR", "9.0,9.0", 0);
  setenv("QUERN_EMULATOR_KERNELS", arguments[1], 1);
  setenv("QUERN_EMULATOR_TIMEOUT", "5", 0);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  start_driver();
  const std::string role = count > 3 ? arguments[2] : "";
  const int socket = count > 3 ? atoi(arguments[3]) : -1;
  test_name = role;
  if (role == "process") run_process(1, socket);
#ifdef THREAD_SANITIZER
  else if (role == "race") run_racy();
#endif
  else if (role == "no peers") test_no_peers();
  else if (role == "launch blocking") test_launch_blocking();
  else run_all();
  if (role.empty()) printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
