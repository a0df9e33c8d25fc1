// Self-test of memory that devices and the host share: virtual memory, peers, registered host memory,
// host functions, multicast objects; and of ordered accesses to memory.
// Usage: shared_memory DIRECTORY. Ends with "N passed, N failed".
#include <sys/mman.h>
#include <atomic>
#include <thread>

#include "devices.h"

static size_t free_bytes() {
  size_t free_now = 0, total;
  OK(cuMemGetInfo_v2(&free_now, &total));
  return free_now;
}

static void test_handles() {
  const size_t free_before = free_bytes();
  MemoryProp p = property(0);
  CHECK(GIVEN(cuMemGetAllocationGranularity, &p, 0) == block);
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
  const MemoryProp got = GIVEN(cuMemGetAllocationPropertiesFromHandle, h);
  CHECK(got.type == 1 && got.handle_types == 1 && got.location.type == 1 && got.location.id == 0);

  Pointer at = map(h, 2 * block, {0});
  const Handle again = GIVEN(cuMemRetainAllocationHandle, reinterpret_cast<void *>(at + block + 5));
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

// ---- fabric handles ----

struct Fabric { char bytes[64]; };

static Pointer map_fabric(const Fabric &f) {
  Fabric copy = f;
  const Handle h = GIVEN(cuMemImportFromShareableHandle, &copy, 8);
  const Pointer at = map(h, block, {0});
  OK(cuMemRelease(h));
  return at;
}

// In another process of the clique: the memory is that of the first one.  When it is freed, its handle is void.
static void be_in_the_clique(int socket) {
  Fabric f;
  Handle h;
  char byte = 1;
  CHECK(::read(socket, &f, sizeof f) == sizeof f);
  const Pointer at = map_fabric(f);
  CHECK(read<uint32_t>(at + 8) == 0x01010101);
  OK(cuMemsetD8_v2(at + 8, 2, 4));
  OK(cuCtxSynchronize());
  CHECK(write(socket, &byte, 1) == 1 && ::read(socket, &byte, 1) == 1);
  CHECK(read<uint32_t>(at + 8) == 0x02020202);  // the mapping keeps the memory
  unmap(at, block);
  GIVES(400, cuMemImportFromShareableHandle(&h, &f, 8));
}

static void test_fabric_of_two_processes(Handle h, const Fabric &f) {
  int socket;
  char byte = 0;
  const Pointer at = map(h, block, {0});
  OK(cuMemRelease(h));
  OK(cuMemsetD8_v2(at + 8, 1, 4));
  OK(cuCtxSynchronize());
  const pid_t child = start_role("clique", socket);
  CHECK(write(socket, &f, sizeof f) == sizeof f && ::read(socket, &byte, 1) == 1);
  CHECK(read<uint32_t>(at + 8) == 0x02020202);
  unmap(at, block);
  CHECK(write(socket, &byte, 1) == 1);
  CHECK(finish_role(child, socket) == 0);
}

static void test_fabric() {
  MemoryProp p = property(0, 8);
  Fabric f = {}, none = {};
  Handle h, again;
  GIVES(801, cuMemCreate(&h, block, &p, 0));
  GIVES(801, cuMemImportFromShareableHandle(&h, &none, 8));
  CHECK(GIVEN(cuDeviceGetAttribute, 128, 0) == 0);
  setenv("QUERN_EMULATOR_FABRIC", "one", 1);
  CHECK(GIVEN(cuDeviceGetAttribute, 128, 0) == (capability >= 90));
  if (capability < 90) return;
  h = create(0, block);
  GIVES(1, cuMemExportToShareableHandle(&f, h, 8, 0));  // not asked for
  OK(cuMemRelease(h));
  OK(cuMemCreate(&h, block, &p, 0));
  GIVES(1, cuMemExportToShareableHandle(&f, h, 1, 0));
  GIVES(1, cuMemExportToShareableHandle(&f, h, 8, 1));
  OK(cuMemExportToShareableHandle(&f, h, 8, 0));
  OK(cuMemImportFromShareableHandle(&again, &f, 8));
  CHECK(again == h);
  OK(cuMemRelease(again));
  GIVES(1, cuMemImportFromShareableHandle(&again, &none, 8));
  GIVES(1, cuMemImportFromShareableHandle(&again, nullptr, 8));
  setenv("QUERN_EMULATOR_FABRIC", "two", 1);
  GIVES(400, cuMemImportFromShareableHandle(&again, &f, 8));
  setenv("QUERN_EMULATOR_FABRIC", "one", 1);
  test_fabric_of_two_processes(h, f);
  unsetenv("QUERN_EMULATOR_FABRIC");
}

static void test_mappings() {
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
  MemoryLocation elsewhere = {1, 1};
  CHECK(GIVEN(cuMemGetAccess, &access.location, p + 5) == 3);
  CHECK(GIVEN(cuMemGetAccess, &elsewhere, p) == 0);

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
  FAILS(700, device);
}

static void test_access() {
#ifndef THREAD_SANITIZER
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

// Peer access opens no pool.
static void test_pools() {
#ifndef THREAD_SANITIZER
  use_device(1);
  const Pointer p = GIVEN(cuMemAllocAsync, 64, nullptr);
  void *own = nullptr, *pool = GIVEN(cuDeviceGetDefaultMemPool, 1);
  OK(cuPointerGetAttribute(&own, 17, p));
  CHECK(own == pool);
  Buffer<uint32_t> plain(1);
  OK(cuPointerGetAttribute(&own, 17, plain.p));
  CHECK(!own);
  use_device(0);
  OK(cuCtxEnablePeerAccess(contexts[1], 0));
  expect_fault(p, 0);
  OK(cuCtxEnablePeerAccess(contexts[1], 0));  // again, after the reset
  MemoryAccess access = {{1, 0}, 3};
  GIVES(1, cuMemPoolSetAccess(nullptr, &access, 1));
  OK(cuMemPoolSetAccess(pool, &access, 1));
  OK(launch("touch", {1, 1}, p, 5u));
  OK(cuCtxSynchronize());
  CHECK(read<uint32_t>(p) == 5);
  access.flags = 0;
  OK(cuMemPoolSetAccess(pool, &access, 1));
  expect_fault(p, 0);
  use_device(1);
  OK(launch("touch", {1, 1}, p, 6u));
  OK(cuMemFreeAsync(p, nullptr));
  OK(cuCtxSynchronize());
#endif
}

// Work that was put on a stream before its memory went.
static void test_gone() {
  void *stream = GIVEN(cuStreamCreate, 1);  // goes with the context
  Handle h = create(0, block);
  Pointer p = map(h, block, {0});
  OK(cuMemsetD32Async(p, 0, 4, stream));
  unmap(p, block);
  GIVES(700, cuStreamSynchronize(stream));
  OK(cuDevicePrimaryCtxReset_v2(0));
  OK(cuMemRelease(h));
}

static void test_peers() {
  int value = 0;
  CHECK(GIVEN(cuDeviceCanAccessPeer, 0, 1) == 1);
  CHECK(GIVEN(cuDeviceCanAccessPeer, 0, 0) == 0);
  OK(cuCtxEnablePeerAccess(contexts[1], 0));
  GIVES(704, cuCtxEnablePeerAccess(contexts[1], 0));
  GIVES(201, cuCtxEnablePeerAccess(contexts[0], 0));
  GIVES(1, cuCtxEnablePeerAccess(contexts[1], 1));
  OK(cuCtxDisablePeerAccess(contexts[1]));
  GIVES(705, cuCtxDisablePeerAccess(contexts[1]));
  CHECK(GIVEN(cuDeviceGetP2PAttribute, 2, 0, 1) == 1);
  GIVES(101, cuDeviceGetP2PAttribute(&value, 2, 0, 0));
  GIVES(1, cuDeviceGetP2PAttribute(&value, 9, 0, 1));
  char bus[32];
  OK(cuDeviceGetPCIBusId(bus, sizeof bus, 1));
  CHECK(!strcmp(bus, "0000:02:00.0"));
  CHECK(GIVEN(cuCtxGetDevice) == 0);
}

// In a process of its own, with QUERN_EMULATOR_PEERS=none.
static void test_no_peers() {
  CHECK(GIVEN(cuDeviceCanAccessPeer, 0, 1) == 0);
  GIVES(217, cuCtxEnablePeerAccess(contexts[1], 0));
  CHECK(GIVEN(cuDeviceGetP2PAttribute, 2, 0, 1) == 0);
  Handle h = create(1, block);
  Pointer p = map(h, block, {1});
  MemoryAccess access = {{1, 0}, 3};
  GIVES(101, cuMemSetAccess(p, block, &access, 1));
  unmap(p, block);
  OK(cuMemRelease(h));
}

// In a process of its own, with QUERN_EMULATOR_PEERS=lies: all seems well, but what a device writes to the other one's memory is
// lost.  Copies arrive: a driver may take them through host memory.
static void test_lying_peers() {
  CHECK(GIVEN(cuDeviceCanAccessPeer, 0, 1) == 1);
  Handle h[2];
  Pointer p[2];
  for (int d = 0; d < 2; d++) h[d] = create(d, block), p[d] = map(h[d], block, {0, 1});
  use_device(0);
  for (int d = 0; d < 2; d++) {
    OK(cuMemsetD32Async(p[d], 1, 4, nullptr));
    OK(launch("touch", {1, 1}, p[d] + 16, 2u));
    OK(cuMemcpyHtoD_v2(p[d] + 32, "abc", 4));
    OK(cuCtxSynchronize());
    const bool arrives = d == 0;
    CHECK((read<uint32_t>(p[d]) == 1) == arrives);
    CHECK((read<uint32_t>(p[d] + 16) == 2) == arrives);
    CHECK(read<char>(p[d] + 32) == 'a');
  }
  use_device(1);
  OK(launch("touch", {1, 1}, p[1], 7u));
  CHECK(read<uint32_t>(p[1]) == 7);
  for (int d = 0; d < 2; d++) unmap(p[d], block), OK(cuMemRelease(h[d]));
}

// In a process of its own, with QUERN_EMULATOR_PEERS=unfilled: a device fills its own memory only.
static void test_unfilled_peers() {
  Handle h[2];
  Pointer p[2];
  for (int d = 0; d < 2; d++) h[d] = create(d, block), p[d] = map(h[d], block, {0, 1});
  use_device(0);
  OK(cuMemsetD32Async(p[0], 1, 4, nullptr));
  GIVES(1, cuMemsetD32Async(p[1], 1, 4, nullptr));
  OK(cuMemcpyHtoD_v2(p[1] + 32, "abc", 4));
  OK(cuCtxSynchronize());
  CHECK(read<char>(p[1] + 32) == 'a');
  for (int d = 0; d < 2; d++) unmap(p[d], block), OK(cuMemRelease(h[d]));
}

// ---- host memory and host functions ----

// In a process of its own, with QUERN_EMULATOR_HOST_POINTERS=other.
static void test_other_host_pointers() {
  const int same = GIVEN(cuDeviceGetAttribute, 91, 0);
  CHECK(same == 0);
  auto *mine = static_cast<uint32_t *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  OK(cuMemHostRegister_v2(mine, 8192, 3));
  const Pointer p = GIVEN(cuMemHostGetDevicePointer_v2, mine + 4, 0);
  CHECK(p && p != reinterpret_cast<Pointer>(mine + 4));
  OK(launch("touch", {1, 1}, p, 5u));
  OK(cuCtxSynchronize());
  CHECK(mine[4] == 5);
  OK(cuMemcpyHtoD_v2(p + 4, &same, 4));
  CHECK(mine[5] == 0);
  GIVES(1, cuMemcpyHtoD_v2(reinterpret_cast<Pointer>(mine), &same, 4));
  OK(cuMemHostUnregister(mine));
  GIVES(1, cuMemcpyHtoD_v2(p, &same, 4));
  munmap(mine, 8192);
}

// In a process of its own, with QUERN_EMULATOR_WAITS=1: a mapping goes only when the device has nothing to do.
static void test_waits() {
  Buffer<uint32_t> out(1);
  Stream stream;
  auto *flag = static_cast<uint32_t *>(GIVEN(cuMemAllocHost_v2, 4));
  Handle h = create(1, block);
  Pointer p = map(h, block, {1});
  std::atomic<bool> is_set{false};
  *flag = 0;
  OK(launch("wait_for_host", {1, 32, 0, stream}, reinterpret_cast<Pointer>(flag), out.p));
  std::thread writer([&] {
    usleep(50000);
    is_set = true;
    __atomic_store_n(flag, 9u, __ATOMIC_RELEASE);
  });
  OK(cuMemUnmap(p, block));
  CHECK(is_set);
  writer.join();
  OK(cuMemAddressFree(p, block));
  OK(cuMemRelease(h));
  OK(cuMemFreeHost(flag));
}

// A fault that the first two calls of a process have.
static void test_passing_faults() {
  Pointer p = 0;
  setenv("QUERN_EMULATOR_FAIL", "cuMemAlloc_v2:2*2", 1);
  for (int i = 0; i < 2; i++) GIVES(2, cuMemAlloc_v2(&p, 16));
  OK(cuMemAlloc_v2(&p, 16));
  unsetenv("QUERN_EMULATOR_FAIL");
  OK(cuMemFree_v2(p));
}

// A context with a stream that captures cannot be waited for, in no mode.
static void test_waiting_beside_a_capture() {
  Stream stream;
  void *graph;
  int mode = 2;
  OK(cuStreamBeginCapture_v2(stream, 2));
  use_device(1);
  OK(cuCtxSynchronize());
  use_device(0);
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  GIVES(900, cuCtxSynchronize());
  GIVES(901, cuStreamEndCapture(stream, &graph));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  OK(cuCtxSynchronize());
}

static void test_green_contexts() {
  void *context, *part, *green = GIVEN(cuGreenCtxCreate, nullptr, 0, 1);
  void *stream = GIVEN(cuGreenCtxStreamCreate, green, 1, 0);
  OK(cuStreamGetCtx(stream, &context));
  CHECK(context && context != contexts[0]);
  OK(cuStreamGetCtx_v2(stream, &context, &part));
  CHECK(context == contexts[0] && part == green);
  Buffer<uint32_t> word(1);
  OK(launch("touch", {1, 1, 0, stream}, word.p, 3u));
  OK(cuStreamSynchronize(stream));
  CHECK(word.get()[0] == 3);
  OK(cuStreamDestroy_v2(stream));
  OK(cuGreenCtxDestroy(green));
  OK(cuStreamGetCtx_v2(Stream(), &context, &part));
  CHECK(context == contexts[0] && !part);
}

static void test_host_memory() {
  Stream stream;
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
  const Graph graph(stream, 2, [&] { OK(cuMemcpyHtoDAsync_v2(b.p, pageable.data(), 4, stream)); });
  pageable[0] = 3;
  graph.run();
  CHECK(b.get()[0] == 3);

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
  Stream stream;
  Buffer<uint32_t> x(1);
  HostCall first = {}, second_call = {};
  OK(cuLaunchHostFunc(stream, note_call, &first));
  OK(launch("touch", {1, 1, 0, stream}, x.p, 6u));
  OK(cuLaunchHostFunc(stream, note_call, &second_call));
  CHECK(host_calls == 0);
  OK(cuStreamSynchronize(stream));
  CHECK(first.order == 1 && second_call.order == 2 && first.refusal == 800);
  Graph(stream, 1, [&] { OK(cuLaunchHostFunc(stream, note_call, &first)); }).run(3);
  CHECK(host_calls == 5);
}

// ---- what graphs keep ----

static void await_end(const HostCall &call) { while (!__atomic_load_n(&call.order, __ATOMIC_ACQUIRE)) usleep(100); }

// A graph and what is made of it keep an object, and a launch does until it has ended.
static void test_user_objects() {
  Stream stream;
  HostCall kept = {}, dropped = {};
  void *object, *captured = nullptr, *graph, *executable;
  int status = 9;
  unsigned long long id = 0;
  OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &captured, nullptr, nullptr));
  CHECK(status == 0 && !captured);
  GIVES(1, cuUserObjectCreate(&object, &kept, note_call, 1, 0));
  OK(cuUserObjectCreate(&object, &dropped, note_call, 1, 1));
  OK(cuUserObjectRelease(object, 1));
  await_end(dropped);
  CHECK(dropped.refusal == 800);
  OK(cuStreamBeginCapture_v2(stream, 2));
  OK(cuLaunchHostFunc(stream, note_call, &dropped));
  OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &captured, nullptr, nullptr));
  CHECK(status == 1 && captured && id);
  OK(cuUserObjectCreate(&object, &kept, note_call, 1, 1));
  OK(cuGraphRetainUserObject(captured, object, 1, 1));
  GIVES(1, cuGraphRetainUserObject(captured, object, 1, 1));
  OK(cuStreamEndCapture(stream, &graph));
  CHECK(graph == captured);
  OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  OK(cuGraphDestroy(graph));
  OK(cuGraphLaunch(executable, stream));
  OK(cuGraphExecDestroy(executable));
  CHECK(kept.order == 0);
  OK(cuStreamSynchronize(stream));
  await_end(kept);
  CHECK(kept.order > dropped.order);
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

static void expect_fenced_aliases(const Multicast &m) {
  const Pointer word = m.everywhere + block + 8192, here = m.own[0] + 8192;
  use_device(0);
  OK(launch("multicast_unfenced", {1, 1}, word, here));
  FAILS(719, 0);
  OK(launch("multicast_fenced_too_soon", {1, 32}, word, here));
  FAILS(719, 0);
  OK(launch("multicast_acquired", {1, 1}, word, here));
  FAILS(719, 0);
}

// The second device's values are the first one's, but for those that are named.
static void put(const Multicast &m, size_t at, std::vector<uint32_t> both, std::vector<std::pair<size_t, uint32_t>> other) {
  for (int d = 0; d < 2; d++) {
    if (d) for (auto &one : other) both[one.first] = one.second;
    OK(cuMemcpyHtoD_v2(m.own[d] + at, both.data(), 4 * both.size()));
  }
}

// 2^-140 and partial sums of such size are 0 in a sum; a NaN has bits of its own.
static void check_sums(const Multicast &m) {
  const uint32_t one = 0x3f800000, tiny = 512, nan = 0xffc00001;
  const size_t at = 16384;
  Buffer<uint32_t> sum(14), halves(8);
  use_device(0);
  put(m, at, {one, one, tiny, 0x80000000, 0x7f800000, 0x7fc00000, one, 0x7f7fffff}, {{1, 0x33800000}, {4, 0xff800000}});
  OK(launch("multicast_sums", {1, 2}, m.everywhere + block + at, sum.p));
  const std::vector<uint32_t> expected = {0x40000000, one, 0, 0x80000000, 0x40000000, one, 0x40000000,
                                          nan, nan, 0x40000000, 0x7f800000, nan, nan, nan};
  CHECK(sum.get() == expected);
  put(m, at, {0x3c003c00, 0x7c003c00, 0x7e000001, 0x00007bff, 0x3f803f80, 0x7f803f80, 0x7fc00001, 0x00007f7f},
      {{0, 0x3c003c01}, {1, 0xfc001400}, {4, 0x3f803f81}, {5, 0xff803b80}});
  OK(launch("multicast_half_sums", {1, 1}, m.everywhere + block + at, halves.p));
  const std::vector<uint32_t> of_halves = {0x40004000, 0xfe013c01, 0xfe010002, 0x00007c00, 0x40004000, 0xffc13f80, 0xffc10000,
                                           0x00007f80};
  CHECK(halves.get() == of_halves);
  for (uint32_t too_soon = 0; too_soon < 2; too_soon++) {
    OK(launch("multicast_unfenced_sum", {1, 1}, m.everywhere + block + at, sum.p, bool(too_soon)));
    FAILS(719, 0);
    use_device(0);
  }
  sum.p = halves.p = 0;
}

static void test_multicast() {
  MulticastProp p = {2, 2 * block, 1, 0};
  Multicast m;
  if (!GIVEN(cuDeviceGetAttribute, 132, 0)) {
    GIVES(801, cuMulticastCreate(&m.handle, &p));
    return;
  }
  CHECK(GIVEN(cuMulticastGetGranularity, &p, 0) == block);
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
  OK(launch("multicast_vector", {1, 32}, word + 8192));
  OK(cuCtxSynchronize());
  for (int d = 0; d < 2; d++) CHECK(read<uint64_t>(m.own[d] + 8192 + 31 * 16 + 8) == (0x3f800000ull << 32 | 0x7f800020));
  const uint32_t different = uint32_t(-3);
  OK(cuMemcpyHtoD_v2(m.own[1] + 20, &different, 4));
  OK(launch("multicast_add", {1, 32}, word, wide));
  OK(launch("multicast_reduce", {1, 32}, word, wide, sum.p, least.p, all.p));
  CHECK(sum.get()[5] == 112 + 97 && sum.get()[6] == 226 && least.get()[5] == 97 && all.get()[3] == (1ull << 40 | 8));
#ifndef THREAD_SANITIZER
  use_device(0);
  OK(launch("touch", {1, 1}, word, 1u));  // only multimem may
  FAILS(700, 0);
  sum.p = least.p = all.p = 0;
#endif
  use_device(1);
  OK(launch("multicast_store", {1, 1}, word, wide));  // no access from there
  FAILS(700, 1);
  use_device(0);
  OK(launch("multicast_store", {1, 1}, m.everywhere, m.everywhere + 8));  // nothing bound
  FAILS(700, 0);
  sum.p = least.p = all.p = 0;
  expect_fenced_aliases(m);
  check_sums(m);
  for (int d = 0; d < 2; d++) OK(cuMulticastUnbind(m.handle, d, block, block));
  GIVES(1, cuMulticastUnbind(m.handle, 0, block, block));
  unmap(m.everywhere, 2 * block);
  for (int d = 0; d < 2; d++) unmap(m.own[d], block), OK(cuMemRelease(m.memory[d]));
  OK(cuMemRelease(m.handle));
}

// ---- instructions ----

static void test_ordered_accesses() {
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
  if (capability >= 100) std::copy(in.begin() + 128, in.begin() + 160, expected.begin() + 128);
  auto got = b.get();
  for (size_t i = 0; i < got.size(); i++)
    if (got[i] != expected[i]) printf("  byte %zu: %d, not %d\n", i, got[i], expected[i]);
  CHECK(got == expected);
}

// ---- processes with another environment ----

static void test_role(const char *role, const char *variable, const char *value) {
  int socket;
  setenv(variable, value, 1);
  pid_t child = start_role(role, socket);
  unsetenv(variable);
  CHECK(finish_role(child, socket) == 0);
}

static void test_launch_blocking() {
  auto *pinned = static_cast<uint32_t *>(GIVEN(cuMemAllocHost_v2, 4));
  OK(launch("touch", {1, 1}, reinterpret_cast<Pointer>(pinned), 5u));
  CHECK(*pinned == 5);  // without waiting for it
  OK(cuMemFreeHost(pinned));
}

// A test in a process of its own, and what that has in its environment.
#define ELSEWHERE(name, variable, value) {name, [] { test_role(name, variable, value); }}

static const Test tests[] = {
    {"handles", test_handles}, {"fabric", test_fabric}, {"mappings", test_mappings}, {"access", test_access}, {"gone", test_gone},
    {"pools", test_pools}, {"faults that pass", test_passing_faults}, {"green contexts", test_green_contexts},
    {"waiting beside a capture", test_waiting_beside_a_capture}, ELSEWHERE("lying peers", "QUERN_EMULATOR_PEERS", "lies"),
    ELSEWHERE("unfilled peers", "QUERN_EMULATOR_PEERS", "unfilled"),
    ELSEWHERE("other host pointers", "QUERN_EMULATOR_HOST_POINTERS", "other"), ELSEWHERE("waits", "QUERN_EMULATOR_WAITS", "1"),
    {"peers", test_peers}, {"host memory", test_host_memory}, {"host functions", test_host_functions},
    {"user objects", test_user_objects},
    {"multicast", test_multicast}, {"ordered accesses", test_ordered_accesses},
    ELSEWHERE("no peers", "QUERN_EMULATOR_PEERS", "none"), ELSEWHERE("launch blocking", "CUDA_LAUNCH_BLOCKING", "1"),
};

static const Role roles[] = {
    {"no peers", [](int) { test_no_peers(); }}, {"lying peers", [](int) { test_lying_peers(); }},
    {"unfilled peers", [](int) { test_unfilled_peers(); }},
    {"other host pointers", [](int) { test_other_host_pointers(); }}, {"waits", [](int) { test_waits(); }},
    {"launch blocking", [](int) { test_launch_blocking(); }}, {"clique", be_in_the_clique},
};

int main(int count, char **arguments) { return run_program(count, arguments, tests, roles); }
