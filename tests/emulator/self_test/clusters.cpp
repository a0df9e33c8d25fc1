// Self-test of thread block clusters, mbarriers and bulk copies, on one device of the capability that QUERN_EMULATOR names.
// Usage: clusters DIRECTORY [fault KERNEL NUMBER]. Ends with "N passed, N failed".
#include <cmath>
#include <cstdint>
#include <cstring>

#include "driver.h"

// ---- launches ----

struct Clusters { unsigned grid, block, cluster; unsigned shared = 0; void *stream = nullptr; };

struct Config : LaunchConfig {
  LaunchAttribute list[2] = {};
  Config(const Clusters &c) : LaunchConfig{{c.grid, 1, 1}, {c.block, 1, 1}, c.shared, c.stream, nullptr, 0} {
    if (c.cluster) add(4, c.cluster, 1, 1);
  }
  void add(unsigned id, unsigned x, unsigned y = 0, unsigned z = 0) {
    list[count].id = id, list[count].x = x, list[count].y = y, list[count].z = z;
    attributes = list;
    count++;
  }
};

template <class... A> int launch_config(const char *name, const Config &c, A... arguments) {
  Config copy = c;
  copy.attributes = copy.list;
  void *list[] = {&arguments..., nullptr};
  return cuLaunchKernelEx(&copy, kernel(name), list, nullptr);
}
template <class... A> int launch_clusters(const char *name, const Clusters &c, A... arguments) {
  return launch_config(name, Config(c), arguments...);
}

// The launch fails with `code` and a message that holds `message`.
static void says(int code, const char *message, int launched, int line) {
  std::string text = printed_by([&] { fails(code, 0, line); });
  check_code(launched, 0, "launch", line);
  bool is_said = text.find(message) != std::string::npos;
  check(is_said, message, line);
  if (!is_said) printf("  it says: %s\n", text.c_str());
}
#define SAYS(code, message, launched) says(code, message, launched, __LINE__)

// ---- registers and addresses ----

static void test_registers() {
  const unsigned grid[3] = {4, 6, 2}, cluster[3] = {2, 3, 1};
  Buffer<uint32_t> out(20 * 48);
  Config c({0, 32, 0});
  memcpy(c.grid, grid, sizeof grid);
  c.add(4, cluster[0], cluster[1], cluster[2]);
  OK(launch_config("registers", c, out.p));
  auto o = out.get();
  int wrong = 0;
  for (unsigned z = 0; z < 2; z++)
    for (unsigned y = 0; y < 6; y++)
      for (unsigned x = 0; x < 4; x++) {
        const uint32_t expected[15] = {x % 2, y % 3, 0, 2, 3, 1, x / 2, y / 3, z, 2, 2, 2, x % 2 + y % 3 * 2, 6, 1};
        wrong += memcmp(&o[20 * (x + 4 * (y + 6 * z))], expected, sizeof expected) != 0;
      }
  CHECK(wrong == 0);
  OK(launch("registers", {3, 32}, out.p));
  o = out.get();
  CHECK(o[40 + 6] == 2 && o[40 + 9] == 3 && o[40 + 12] == 0 && o[40 + 13] == 1 && o[40 + 14] == 0);
  OK(launch_clusters("registers", {3, 32, 1}, out.p));
  CHECK(out.get()[40 + 14] == 1);
}

static void test_addresses() {
  Buffer<uint32_t> out(16 * 32);
  for (unsigned size : {1u, 2u, 8u}) {
    OK(launch_clusters("addresses", {16, 32, size}, out.p));
    CHECK(out.get() == std::vector<uint32_t>(16 * 32, 1));
  }
}

// ---- shared memory of another block ----

static void test_exchange() {
  Buffer<int> out(16 * 64 * 3);
  for (unsigned size : {2u, 4u, 8u}) {
    OK(launch_clusters("exchange", {16, 64, size}, out.p, 0));
    auto o = out.get();
    int wrong = 0;
    for (unsigned b = 0; b < 16; b++)
      for (unsigned i = 0; i < 64; i++) {
        const int *e = &o[3 * (b * 64 + i)];
        // The block two ranks further has in its box the number that the block after it has stored there.
        wrong += e[0] != int(1000 * ((b + 1) % size) + i) || e[1] != int(size * 64 * 63 / 2) || e[2] != int((size - 1) * 100 + 63);
      }
    CHECK(wrong == 0);
  }
  Buffer<float> floats(4 * 32 * 4);
  OK(launch_clusters("vectors_of_peers", {4, 32, 4}, floats.p));
  auto f = floats.get();
  CHECK(f[0] == 300 && f[4 * 32 + 4 * 5 + 3] == 5.75f && f[4 * 96 + 2] == 200.5f);
  Buffer<int> flags(4);
  OK(launch_clusters("gathered", {4, 32, 4}, flags.p, 0));
  CHECK(flags.get() == (std::vector<int>{0, 10, 20, 30}));
  OK(launch_clusters("flags_of_peers", {4, 32, 4}, flags.p));
  CHECK(flags.get() == (std::vector<int>{10, 7, 8, 9}));
}

static void test_barriers() {
  Buffer<int> out(8 * 32);
  OK(launch_clusters("cluster_barriers", {8, 32, 4}, out.p, 0));
  auto o = out.get();
  CHECK(o[0] == 1 + 11 + 21 && o[7 * 32 + 9] == 3 * 9 + 0 + 10 + 20);
  OK(launch_clusters("arrives_and_leaves", {4, 32, 4}, out.p));
  CHECK(out.get()[31] == 5);
}

static void test_cooperative() {
  Buffer<float> out(8 * 32);
  OK(launch("cooperative", {8, 32, 128}, out.p));  // the kernel says the size of its clusters itself
  auto o = out.get();
  CHECK(o[0] == 1000 + 192 + 4 && o[3 * 32 + 5] == 5 + 192 + 4 && o[4 * 32 + 1] == 1001 + 192 + 4);
  OK(launch_clusters("cooperative", {8, 32, 4, 128}, out.p));
  CHECK(out.get() == o);
}

static void test_mbarriers() {
  Buffer<uint32_t> out(8 * 32 * 4);
  OK(launch_clusters("mbarriers", {8, 32, 4}, out.p, 0));
  auto o = out.get();
  CHECK(o[3] == 4 && o[0] == 40 && o[1] == 41 && o[4 * 3 * 32 + 4 * 7 + 1] == 40 && o[4 * 5 * 32 + 4 * 7] == 41);
  OK(launch("mbarriers", {1, 32}, out.p, 0));
  CHECK(out.get()[4 * 31 + 1] == 40);
  Buffer<int> numbers(4 * 32);
  OK(launch_clusters("signalled", {4, 32, 4}, numbers.p, 0));
  CHECK(numbers.get()[0] == 63 && numbers.get()[127] == 62);
  std::vector<float> in(256);
  for (int i = 0; i < 256; i++) in[size_t(i)] = float(i);
  Buffer<float> a(in), copied(256);
  OK(launch("counted_copies", {1, 64}, a.p, copied.p, 0));
  CHECK(copied.get()[0] == 17 && copied.get()[255] == 16);
}

// ---- bulk copies ----

static std::vector<float> numbers(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; i++) v[i] = float(i % 97);
  return v;
}

static void test_rows() {
  const auto in = numbers(16 * 1024);
  for (unsigned size : {1u, 2u, 4u, 8u}) {
    Buffer<float> rows(in);
    OK(launch_clusters("row", {16, 128, size}, rows.p, 0));
    auto o = rows.get();
    int wrong = 0;
    for (size_t r = 0; r < 16 / size; r++) {
      float sum = 0;
      for (size_t b = 0; b < size; b++) {
        float part = 0;
        for (size_t i = 0; i < 1024; i++) part += in[(r * size + b) * 1024 + i];
        sum += part;
      }
      for (size_t i = r * size * 1024; i < (r + 1) * size * 1024; i++) wrong += o[i] != in[i] / sum;
    }
    CHECK(wrong == 0);
  }
}

static void test_bulk_ways() {
  const auto in = numbers(2048);
  Buffer<float> a(in), out(4 * 64 * 3);
  OK(launch_clusters("bulk_ways", {4, 64, 4}, a.p, out.p, 0));
  auto o = out.get();
  int wrong = 0;
  for (size_t r = 0; r < 4; r++)
    for (size_t i = 0; i < 64; i++)
      wrong += o[192 * r + i] != in[64 * r + i] || o[192 * r + 64 + i] != in[1024 + i] ||
               o[192 * r + 128 + i] != in[64 * ((r + 3) % 4) + i];
  CHECK(wrong == 0);
  Buffer<uint32_t> words(5);
  OK(launch_clusters("async_reductions", {4, 32, 4}, words.p, 0));
  CHECK(words.get() == (std::vector<uint32_t>{10, 15, 97, 1, 4}));
}

// ---- errors on a device ----

#ifndef THREAD_SANITIZER
static Pointer memory(size_t bytes) {
  Pointer p = 0;
  OK(cuMemAlloc_v2(&p, bytes));
  OK(cuMemsetD8_v2(p, 0, bytes));
  return p;
}

// What is said of a kernel's faults 1, 2, ...; code 0: it does not fail.
struct Said { int code; const char *message; };
template <size_t count, class F> static void check_faults(const Said (&faults)[count], F run) {
  int fault = 0;
  for (const Said &f : faults) {
    fault++;
    if (f.code) SAYS(f.code, f.message, run(fault));
  }
}

static void test_exchange_faults() {
  const Said faults[] = {
      {719, "changes while it is read"}, {719, "of a block of the cluster that has exited"},
      {719, "of a block of the cluster that has exited"}, {700, "past the end of the shared memory of a block"},
      {719, "cluster rank out of range"}, {700, "an address in shared::cluster used as one in shared::cta"},
      {716, "misaligned address in shared::cluster"}, {719, "mapa of an address outside shared memory"},
      {719, "of a block of the cluster that has not begun"}};
  check_faults(faults, [](int fault) { return launch_clusters("exchange", {4, 64, 4}, memory(1 << 16), fault); });
}

static void test_barrier_faults() {
  const Said faults[] = {{719, "barrier.cluster.arrive without barrier.cluster.wait"},
                         {719, "barrier.cluster.wait without barrier.cluster.arrive"}, {719, "divergent barrier.cluster"},
                         {719, "has exited"}};
  check_faults(faults, [](int fault) { return launch_clusters("cluster_barriers", {4, 32, 4}, memory(1 << 12), fault); });
}

static void test_mbarrier_faults() {
  const Said faults[] = {
      {719, "mbarrier used before mbarrier.init"}, {719, "more arrivals than expected"}, {719, ".noComplete completes the phase"},
      {719, "mbarrier.init of a valid mbarrier"}, {719, "mbarrier written over"}, {716, "misaligned mbarrier"},
      {719, "mbarrier outside shared memory"}, {719, "neither of the current phase nor of the one before"},
      {719, "phase parity other than 0 and 1"}, {719, "mbarrier count out of range"}, {719, "mbarrier used before mbarrier.init"},
      {702, "no progress"}, {719, "tx-count out of range"}, {719, "mbarrier outside shared memory"}};
  check_faults(faults, [](int fault) { return launch_clusters("mbarriers", {4, 32, 4}, memory(1 << 14), fault); });
}

static void test_row_faults() {
  enum { overwrites_early = 5 };
  const Said faults[] = {
      {719, "still writes its shared memory"}, {719, "still writes its shared memory"},  // what does not wait sees nothing of it
      {719, "no fence.proxy.async"}, {719, "while a bulk copy still reads its shared memory"}, {0, nullptr},
      {716, "not aligned to 16 bytes"}, {716, "not aligned to 16 bytes"}, {719, "no fence.mbarrier_init"},
      {719, "in another block than the destination"}, {700, "past the end of the shared memory"},
      {719, "still writes its shared memory"}, {719, "still writes its shared memory"}, {700, "past the end of an allocation"},
      {700, "past the end of an allocation"}, {719, "no fence.proxy.async"}, {716, "not aligned to 16 bytes"},
      {719, "wait without .acquire.cluster"}};
  const auto in = numbers(4096);
  check_faults(faults, [&](int fault) {
    Pointer rows = memory(in.size() * 4);
    OK(cuMemcpyHtoD_v2(rows, in.data(), in.size() * 4));
    return launch_clusters("row", {4, 128, 4}, rows, fault);
  });
  Buffer<float> rows(in);
  OK(launch_clusters("row", {4, 128, 4}, rows.p, int(overwrites_early)));
  auto o = rows.get();
  CHECK(o[3] == -1 && o[1024 + 3] == -1 && o[2] > 0);  // the copy reads late, but before .read says that it has
}

static void test_bulk_faults() {
  auto run = [](int fault) { return launch_clusters("bulk_ways", {4, 64, 4}, memory(8192), memory(8192), fault); };
  if (capability < 120) SAYS(719, "multicast to ranks that the cluster does not have", run(1));
  SAYS(719, "still writes its shared memory", run(2));
  SAYS(719, "no fence.proxy.async", run(3));
  SAYS(716, "misaligned cp.async", launch("counted_copies", {1, 64}, memory(2048), memory(1024), 1));
  SAYS(700, "past the end of an allocation", launch("counted_copies", {1, 64}, memory(1024), memory(1024), 4));
  SAYS(716, "misaligned st.async or red.async", launch_clusters("async_reductions", {4, 32, 4}, memory(64), 1));
  SAYS(719, "still writes its shared memory", launch_clusters("async_reductions", {4, 32, 4}, memory(64), 2));
}

static void test_mistakes() {
  const Said mistakes[] = {
      {719, "mbarrier.inval while copies are under way"}, {719, "mbarrier.init in another block's shared memory"},
      {719, "from another block's shared memory"}, {719, "to global memory with an address in shared memory"},
      {700, "asynchronous operation outside shared memory"}, {719, "mbarrier: count out of range"},
      {719, "access to the shared memory of a block of the cluster that has exited"},
      {719, "generic address outside the shared memory of the cluster"},
      {716, "cp.async.bulk.prefetch not aligned"}, {719, "access to the shared memory of a block of the cluster that has exited"},
      {719, "deadlock"}, {719, "wait at an mbarrier in another block's shared memory"}, {719, "cluster rank out of range"},
      {719, "in another block than the destination"}};
  auto run = [](int mistake) { return launch_clusters("mistakes", {4, 32, 4}, memory(4096), mistake); };
  OK(run(0));
  OK(cuCtxSynchronize());
  check_faults(mistakes, run);
  if (capability < 120) SAYS(719, "asynchronous operation on a block of the cluster that has exited", run(15));
}
#endif

// ---- the driver ----

static void test_launches() {
  Buffer<uint32_t> out(64);
  void *k = kernel("registers");
  Buffer<uint32_t> large(20 * 64);
  auto run = [&](unsigned grid, unsigned cluster) { return launch_clusters("registers", {grid, 32, cluster}, large.p); };
  OK(run(5, 0));
  OK(run(16, 8));
  GIVES(912, run(12, 8));
  GIVES(912, run(16, 16));
  OK(cuFuncSetAttribute(k, 14, 1));
  GIVES(capability >= 120 ? 912 : 0, run(16, 16));
  GIVES(912, run(32, 32));
  OK(cuFuncSetAttribute(k, 14, 0));
  GIVES(912, run(16, 16));

  // Sizes that the kernel was compiled with, or that its attributes ask for.
  GIVES(912, launch("any_cluster", {4, 32}, out.p));
  OK(launch_clusters("any_cluster", {4, 32, 2}, out.p));
  CHECK(out.get()[0] == 2);
  OK(launch_clusters("bounded_cluster", {8, 32, 4}, out.p));
  GIVES(912, launch_clusters("bounded_cluster", {8, 32, 8}, out.p));
  GIVES(912, launch_clusters("cooperative", {8, 32, 2, 128}, out.p));
  CHECK(GIVEN(cuFuncGetAttribute, 11, kernel("cooperative")) == 4);
  CHECK(GIVEN(cuFuncGetAttribute, 10, kernel("any_cluster")) == 1);
  GIVES(800, cuFuncSetAttribute(kernel("cooperative"), 11, 2));
  GIVES(800, cuFuncSetAttribute(kernel("any_cluster"), 10, 0));
  for (int attribute : {11, 12, 13}) OK(cuFuncSetAttribute(kernel("bounded_cluster"), attribute, attribute == 11 ? 2 : 1));
  OK(launch("bounded_cluster", {4, 32}, out.p));
  CHECK(out.get()[3] == 2);
  GIVES(912, launch_clusters("bounded_cluster", {8, 32, 4}, out.p));
  OK(cuFuncSetAttribute(k, 10, 1));
  GIVES(912, launch("registers", {4, 32}, large.p));
  OK(cuFuncSetAttribute(k, 10, 0));

  // Other attributes of a launch.
  Config preferred({16, 32, 2});
  preferred.add(11, 4, 1, 1);
  OK(launch_config("registers", preferred, large.p));
  preferred.list[1].x = 3;
  GIVES(1, launch_config("registers", preferred, large.p));
  Config priority({16, 32, 2});
  priority.add(8, 0);
  OK(launch_config("registers", priority, large.p));
  priority.list[1].id = 99;
  GIVES(801, launch_config("registers", priority, large.p));
  OK(cuCtxSynchronize());
}

static void test_occupancy() {
  int value = -1;
  void *k = kernel("registers");
  CHECK(GIVEN(cuDeviceGetAttribute, 120, 0) == 1);
  Config c({64, 1024, 0});
  CHECK(GIVEN(cuOccupancyMaxPotentialClusterSize, k, &c) == 8);
  OK(cuFuncSetAttribute(k, 14, 1));
  CHECK(GIVEN(cuOccupancyMaxPotentialClusterSize, k, &c) == (capability >= 120 ? 8 : 16));
  OK(cuFuncSetAttribute(k, 14, 0));
  CHECK(GIVEN(cuOccupancyMaxPotentialClusterSize, kernel("cooperative"), &c) == 4);
  GIVES(912, cuOccupancyMaxActiveClusters(&value, k, &c));
  const int blocks = 4 * (capability >= 120 ? 1 : 2);  // of 1024 threads, on 4 multiprocessors
  Config pairs({64, 1024, 2}), many({64, 1024, 16}), large({64, 1024, 8, 1 << 20});
  CHECK(GIVEN(cuOccupancyMaxActiveClusters, k, &pairs) == blocks / 2);
  GIVES(912, cuOccupancyMaxActiveClusters(&value, k, &many));
  CHECK(GIVEN(cuOccupancyMaxActiveClusters, k, &large) == 0);
  CHECK(GIVEN(cuOccupancyMaxPotentialClusterSize, k, &large) == 0);
}

static void test_capture() {
  Stream stream;
  Buffer<float> rows(numbers(8 * 1024));
  Graph(stream, 0, [&] {
    OK(launch_clusters("row", {8, 128, 4, 0, stream}, rows.p, 0));
    GIVES(912, launch_clusters("row", {6, 128, 4, 0, stream}, rows.p, 0));
  }).run(2);
  auto o = rows.get();
  double sum = 0;
  for (size_t i = 0; i < 4096; i++) sum += o[i];
  CHECK(std::fabs(sum - 1) < 1e-5);
}

// Large shared memory in the largest clusters: all blocks of one are there at once, on however few multiprocessors.
static void test_large_clusters() {
  const int optin = GIVEN(cuDeviceGetAttribute, 97, 0);
  const unsigned size = capability >= 120 ? 8 : 16;
  OK(cuFuncSetAttribute(kernel("exchange"), 14, 1));
  OK(cuFuncSetAttribute(kernel("exchange"), 8, optin - 1024));
  Buffer<int> out(32 * 64 * 3);
  OK(launch_clusters("exchange", {32, 64, size, unsigned(optin) - 1024}, out.p, 0));
  CHECK(out.get()[1] == int(size * 64 * 63 / 2));
}

int main(int count, char **arguments) {
  if (count < 2) return fprintf(stderr, "usage: clusters DIRECTORY [fault KERNEL NUMBER]\n"), 2;
  start(arguments[1], "1", "/clusters.fatbin");
  if (count == 5) {
    Buffer<float> out(1 << 14);
    launch_clusters(arguments[3], {4, 32, 4}, out.p, atoi(arguments[4]));
    return cuCtxSynchronize() != 0;
  }
  const Test tests[] = {
      {"registers", test_registers}, {"addresses", test_addresses}, {"exchange", test_exchange}, {"barriers", test_barriers},
      {"cooperative groups", test_cooperative}, {"mbarriers", test_mbarriers}, {"rows", test_rows}, {"bulk copies", test_bulk_ways},
      {"launches", test_launches}, {"occupancy", test_occupancy}, {"capture", test_capture},
      {"large clusters", test_large_clusters},
#ifndef THREAD_SANITIZER
      {"faults of exchanges", test_exchange_faults}, {"faults of barriers", test_barrier_faults},
      {"faults of mbarriers", test_mbarrier_faults}, {"faults of rows", test_row_faults},
      {"faults of bulk copies", test_bulk_faults},
      {"mistakes", test_mistakes},
#endif
  };
  run_tests(tests, " on " + std::to_string(capability));
#ifdef THREAD_SANITIZER
  test_name = "races";
  setenv("QUERN_EMULATOR_ORDER", "forward", 1);
  const struct { const char *kernel, *fault; } races[] = {{"exchange", "1"}, {"exchange", "2"}, {"gathered", "1"},
                                                          {"signalled", "1"}, {"signalled", "2"}, {"cluster_barriers", "5"}};
  for (auto &race : races) check_race({arguments[0], arguments[1], "fault", race.kernel, race.fault});
#endif
  return end();
}
