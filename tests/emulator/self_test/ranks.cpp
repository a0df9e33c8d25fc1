// Self-test of kernels that wait for each other, on devices that one thread, several threads or several processes drive.
// Usage: ranks DIRECTORY. Ends with "N passed, N failed".
#include <thread>

#include "devices.h"

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
  ~Pads() { for (int r = 0; r < ranks.count; r++) unmap(ranks.flags[r], block), OK(cuMemRelease(handles[size_t(r)])); }
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
    streams[r] = GIVEN(cuStreamCreate, 1);
    wrong[r] = GIVEN(cuMemAlloc_v2, 4);
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

// A rank is missing: the kernel's own limit ends the wait, and no call fails.
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

static void send_handle(int socket, Handle h) {
  int file = -1;
  OK(cuMemExportToShareableHandle(&file, h, 1, 0));
  send_file(socket, file);
  close(file);
}

static Handle receive_handle(int socket) {
  const int file = receive_file(socket);
  const Handle h = GIVEN(cuMemImportFromShareableHandle, reinterpret_cast<void *>(intptr_t(file)), 1);
  close(file);
  return h;
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
  GIVES(401, cuMemFree_v2(mine.p));  // the other process has it open
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

// One process makes the object, both add their device and bind their memory; kernels of both meet through it.
static void multicast_process(int rank, int socket) {
  MulticastProp p = {2, block, 1, 0};
  Handle multicast = 0, memory = create(rank, block);
  if (rank == 0) {
    OK(cuMulticastCreate(&multicast, &p));
    send_handle(socket, multicast);
  } else {
    multicast = receive_handle(socket);
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
  send_handle(socket, handles[rank]);
  handles[1 - rank] = receive_handle(socket);
  for (int r = 0; r < 2; r++) ranks.flags[r] = map(handles[r], block, {rank}), ranks.data[r] = ranks.flags[r] + data_offset;
  CHECK(GIVEN(cuMemGetAllocationPropertiesFromHandle, handles[1 - rank]).location.id == 1 - rank);
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
  if (GIVEN(cuDeviceGetAttribute, 132, rank)) test_name += ", multicast", multicast_process(rank, socket);
}

static void test_processes() {
  int socket;
  pid_t child = start_role("process", socket);
  run_process(0, socket);
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

static const Test tests[] = {
    {"one thread", test_one_thread}, {"aliases", test_aliases}, {"threads", test_threads}, {"missing rank", test_missing_rank},
    {"fences", test_fences}, {"processes", test_processes},
#ifdef THREAD_SANITIZER
    {"race", test_race_is_found},
#endif
};

static const Role roles[] = {
    {"process", [](int socket) { run_process(1, socket); }},
#ifdef THREAD_SANITIZER
    {"race", [](int) { run_racy(); }},
#endif
};

int main(int count, char **arguments) { return run_program(count, arguments, tests, roles); }
