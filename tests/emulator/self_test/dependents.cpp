// Self-test of programmatic dependent launch, on one device of capability 9.0. Usage: dependents DIRECTORY. Ends with "N passed,
// N failed".
#include "driver.h"

constexpr unsigned threads = 64, cluster = 4, programmatic = 6;
static unsigned long long (*early_launches)();

// ---- launches ----

// A launch that may overlap the kernel before it.
template <class... A> int launch_dependent(const char *name, Shape s, unsigned blocks_of_cluster, A... arguments) {
  void *list[] = {&arguments..., nullptr};
  LaunchAttribute attributes[2] = {};
  attributes[0].id = programmatic, attributes[0].x = 1;
  attributes[1].id = 4, attributes[1].x = blocks_of_cluster, attributes[1].y = attributes[1].z = 1;
  LaunchConfig config{{s.grid, 1, 1}, {s.block, 1, 1}, s.shared, s.stream, attributes, blocks_of_cluster ? 2u : 1u};
  return cuLaunchKernelEx(&config, kernel(name), list, nullptr);
}

struct Two {
  const unsigned blocks;
  Buffer<int> data, out;
  unsigned long long early_before = early_launches();
  explicit Two(unsigned count = 3)
      : blocks(count), data(std::vector<int>(count * threads, 1)), out(std::vector<int>(count * threads, 0)) {}
  Shape shape() const { return {blocks, threads}; }
  unsigned long long early() const { return early_launches() - early_before; }
  std::vector<int> all(int value) const { return std::vector<int>(blocks * threads, value); }
};

// ---- what a kernel that starts early finds ----

// 2 is written by the first kernel, 1 is older.
static void test_reads() {
  const struct { const char *first, *second; int expected; unsigned early; } cases[] = {
      {"let_write", "wait_read", 2, 1},      {"let_write", "read_wait", 1, 1},      {"write_only", "wait_read", 2, 0},
      {"write_only", "read_wait", 2, 0},     {"one_lets_write", "wait_read", 2, 1}, {"one_lets_write", "read_wait", 1, 1},
      {"let_write", "one_waits_read", 2, 1}, {"let_write", "copy_wait", 1, 1},      {"write_only", "copy_wait", 2, 0},
  };
  for (auto &c : cases)
    for (unsigned blocks_of_cluster : {0u, cluster}) {
      Two two(2 * cluster);
      OK(launch(c.first, two.shape(), two.data.p, 2));
      OK(launch_dependent(c.second, two.shape(), blocks_of_cluster, two.data.p, two.out.p));
      OK(cuCtxSynchronize());
      CHECK(two.out.get() == two.all(c.expected));
      CHECK(two.early() == c.early);
    }
}

// The first kernel still reads what the second one writes.
static void test_early_writes() {
  Two two;
  OK(launch("let_read", two.shape(), two.data.p, two.out.p));
  OK(launch_dependent("write_wait", two.shape(), 0, two.data.p, 3));
  OK(cuCtxSynchronize());
  CHECK(two.out.get() == two.all(3));
}

// Without the attribute, and behind anything but a kernel, a launch waits for all that is before it.
static void test_order() {
  Two two;
  OK(launch("let_write", two.shape(), two.data.p, 2));
  OK(launch("read_wait", two.shape(), two.data.p, two.out.p));
  CHECK(two.out.get() == two.all(2));
  OK(launch("let_write", two.shape(), two.data.p, 4));
  OK(cuMemsetD32Async(two.data.p, 5, two.blocks * threads, nullptr));
  OK(launch_dependent("read_wait", two.shape(), 0, two.data.p, two.out.p));
  CHECK(two.out.get() == two.all(5));
  CHECK(two.early() == 0);
}

// Three kernels, of which each overlaps the next; the first one has more blocks than the device holds.
static void test_chain() {
  constexpr unsigned many = 4 * 32 + 5;  // four multiprocessors have 32 blocks each
  Two two(many);
  Buffer<int> between(two.all(0));
  OK(launch("let_write", two.shape(), two.data.p, 10));
  OK(launch_dependent("wait_let_add", two.shape(), 0, two.data.p, between.p, 1));
  OK(launch_dependent("wait_let_add", two.shape(), 0, between.p, two.out.p, 1));
  OK(launch("write_only", two.shape(), between.p, 0));
  OK(cuCtxSynchronize());
  CHECK(two.out.get() == two.all(12));
  CHECK(between.get() == two.all(0));
  CHECK(two.early() == 2);
}

static void test_capture() {
  Two two;
  Stream stream;
  const Shape shape = {two.blocks, threads, 0, stream};
  const Graph graph(stream, 0, [&] {
    OK(launch("let_write", shape, two.data.p, 2));
    OK(launch_dependent("wait_read", shape, 0, two.data.p, two.out.p));
    OK(launch_dependent("write_wait", shape, 0, two.data.p, 7));
  });
  for (int i = 1; i <= 2; i++) {
    OK(cuMemsetD32Async(two.out.p, 0, two.blocks * threads, stream));
    graph.run();
    CHECK(two.out.get() == two.all(2));
    CHECK(two.data.get() == two.all(7));
    CHECK(two.early() == unsigned(i));  // the second kernel lets none start
  }
}

// A kernel that may start early must wait, even where it need not.
static void test_missing_wait() {
  Two two;
  OK(launch_dependent("write_only", two.shape(), 0, two.data.p, 2));
  const std::string text = printed_by([] { FAILS(719, 0); });
  CHECK(text.find("griddepcontrol.wait missing: kernel write_only") != std::string::npos);
}

// The second kernel waits for one that fails.
static void test_failure() {
  Two two;
  OK(launch("let_trap", two.shape()));
  OK(launch_dependent("wait_read", two.shape(), 0, two.data.p, two.out.p));
  printed_by([] { FAILS(719, 0); });
  CHECK(two.early() == 1);
}

int main(int count, char **arguments) {
  if (count < 2) return fprintf(stderr, "usage: dependents DIRECTORY\n"), 2;
  start(arguments[1], "1", "/dependents.fatbin");
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  *reinterpret_cast<void **>(&early_launches) = dlsym(driver, "quern_emulator_early_launches");
  const Test tests[] = {
      {"reads", test_reads}, {"early writes", test_early_writes}, {"order", test_order}, {"chain", test_chain},
      {"capture", test_capture}, {"missing wait", test_missing_wait}, {"failure", test_failure},
  };
  run_tests(tests);
  return end();
}
