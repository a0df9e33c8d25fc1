// Self-test of the emulator, through the fake libcuda.so.1 as the library would use it.
// Usage: self_test DIRECTORY [race]. Ends with "N passed, N failed".
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>

#include "driver.h"

static uint32_t bits(float f) { uint32_t b; memcpy(&b, &f, 4); return b; }
static float number(uint32_t b) { float f; memcpy(&f, &b, 4); return f; }
static bool same(float a, float b) { return bits(a) == bits(b) || (a != a && b != b); }

static uint32_t random_state = 1;
static uint32_t random_bits() { return random_state = random_state * 1664525u + 1013904223u; }

static std::vector<float> interesting_floats(size_t n) {
  std::vector<float> v = {0.f, -0.f, 1.f, -1.f, 0.5f, 65504.f, 65520.f, 65519.f, 1e-8f, 6e-8f, 3e-5f, 1e38f, INFINITY, -INFINITY,
                          NAN, 2.5f, -3.5f, 1e-40f, 2147483648.f, -2147483904.f, 4294967296.f, 0.99999994f, 1.00390625f};
  while (v.size() < n) v.push_back(std::ldexp(float(int(random_bits() >> 8) - (1 << 23)) / (1 << 20),
                                              int(random_bits() >> 28) - 8));
  v.resize(n);
  return v;
}

// ---- instructions ----

static void test_float_arithmetic() {
  const int n = 512;
  auto a = interesting_floats(n), b = interesting_floats(n), c = interesting_floats(n);
  for (int i = 0; i < n; i++) std::swap(b[i], b[(i * 37 + 11) % n]), std::swap(c[i], c[(i * 53 + 5) % n]);
  Buffer<float> da(a), db(b), dc(c), out(n * 16);
  OK(launch("float_arithmetic", {4, 128}, da.p, db.p, dc.p, out.p, n));
  auto o = out.get();
  int wrong[16] = {};
  for (int i = 0; i < n; i++) {
    float x = a[i], y = b[i], *r = &o[i * 16];
    double up = (double)x * y;
    float rounded_up = (float)up;
    if (rounded_up < up) rounded_up = nextafterf(rounded_up, INFINITY);
    float expected[16] = {x + y, x - y, x * y, x / y, fmaf(x, y, c[i]), sqrtf(fabsf(x)), fminf(x, y), fmaxf(x, y), 1 / x, -x,
                          floorf(x), rintf(x), truncf(x), r[13], rounded_up, copysignf(x, y)};
    if (std::isfinite(x + y)) {
      double sum = (double)x + y;  // exact enough to judge the direction for these magnitudes
      if (fabs((double)r[13]) > fabs(sum) || fabs(nextafterf(r[13], r[13] < 0 ? -INFINITY : INFINITY)) < fabs(sum)) wrong[13]++;
    }
    for (int k = 0; k < 16; k++) {
      bool zero_sign_free = (k == 6 || k == 7) && x == 0 && y == 0;
      wrong[k] += !same(r[k], expected[k]) && !zero_sign_free;
    }
  }
  for (int k = 0; k < 16; k++) {
    if (wrong[k]) printf("  operation %d: %d wrong\n", k, wrong[k]);
    CHECK(wrong[k] == 0);
  }
}

static void test_transcendental() {
  const int n = 256;
  std::vector<float> a(n);
  for (int i = 0; i < n; i++) a[i] = (i - 128) * 0.31f;
  Buffer<float> da(a), out(n * 4);
  OK(launch("transcendental", {2, 128}, da.p, out.p, n));
  auto o = out.get();
  double worst = 0;
  for (int i = 0; i < n; i++) {
    double x = a[i], expected[4] = {exp(x), log(fabs(x) + 1), tanh(x), 1 / sqrt(fabs(x) + 1)};
    for (int k = 0; k < 4; k++) {
      double e = fabs(o[i * 4 + k] - expected[k]) / (fabs(expected[k]) + 1e-30);
      if (expected[k] != 0) worst = std::max(worst, e);
    }
  }
  CHECK(worst < 1e-5);
}

// The bounds that the PTX ISA states: units of the last place from the rounded result, an absolute distance, or a relative share.
struct Bound {
  const char *name;
  double (*exact)(double);
  double distance, share;
  int units;
};

static const Bound bounds[] = {
    {"ex2", [](double x) { return exp2(x); }, 0, 0, 2},
    {"rcp", [](double x) { return 1 / x; }, 0, 0, 1},
    {"div", [](double x) { return 3 / x; }, 0, 0, 2},
    {"rsqrt", [](double x) { return 1 / sqrt(x); }, 0, 0x1.13p-23, 0},  // 2^-22.9
    {"sqrt", [](double x) { return sqrt(x); }, 0, 0x1p-23, 0},
    {"lg2", [](double x) { return log2(x); }, 0x1p-22, 0x1p-22, 0},
    {"tanh", [](double x) { return tanh(x); }, 0, 0x1.03p-11, 0},  // 2^-10.987
    {"sin", [](double x) { return sin(x); }, 0x1.6bp-21, 0, 0},    // 2^-20.5
    {"cos", [](double x) { return cos(x); }, 0x1.6bp-21, 0, 0},
    {"rcp.f64", [](double x) { return 1 / x; }, 0, 0x1p-19, 0},    // of 20 bits
    {"rsqrt.f64", [](double x) { return 1 / sqrt(x); }, 0, 0x1p-19, 0},
};
static double upper_half(double d) {
  uint64_t b;
  memcpy(&b, &d, 8), b = b >> 32 << 32, memcpy(&d, &b, 8);
  return d;
}

enum { APPROXIMATIONS = sizeof bounds / sizeof *bounds };

static double allowed(const Bound &b, double x, double exact) {
  if (b.units) return 0x1p-23 * b.units * exp2(floor(log2(fabs(exact))));
  const bool near = !strcmp(b.name, "lg2") ? x > 0.5 && x < 2 : b.share == 0;
  return near ? b.distance : b.share * fabs(exact);
}

// Without a seed the results are rounded once (f64: cut to the upper half).  With one they err to both sides, beyond half the
// bound and never beyond the bound.
static void test_approximations() {
  const int n = 512;
  const char *seed = getenv("QUERN_EMULATOR_APPROXIMATE");
  std::vector<float> a(n);
  for (int i = 0; i < n; i++) a[i] = 0.03f + i * 0.0061f;
  Buffer<float> da(a);
  Buffer<double> out(n * APPROXIMATIONS);
  OK(launch("approximations", {4, 128}, da.p, out.p, n));
  auto o = out.get();
  for (int k = 0; k < APPROXIMATIONS; k++) {
    double lowest = 0, highest = 0;
    for (int i = 0; i < n; i++) {
      const double x = k < 9 ? a[i] : upper_half(a[i]), exact = bounds[k].exact(x), rounded = k < 9 ? (float)exact : exact;
      const double share = (o[i * APPROXIMATIONS + k] - (bounds[k].units ? rounded : exact)) / allowed(bounds[k], x, exact);
      lowest = std::min(lowest, share), highest = std::max(highest, share);
    }
    if (seed) {
      if (highest > 1 || lowest < -1) printf("  %s: %g to %g of the bound\n", bounds[k].name, lowest, highest);
      CHECK(highest <= 1 && lowest >= -1);
      CHECK(highest > (k < 9 ? 0.5 : 0.1) && lowest < -0.5);
    } else {
      CHECK(highest <= 0.5 && lowest >= (k < 9 ? -0.5 : -1));
    }
  }
  CHECK(o[9] == upper_half(o[9]) && o[10] == upper_half(o[10]));
}

static uint16_t to_bf16(float f) {
  uint32_t b = bits(f);
  if (f != f) return 0x7fff;
  return uint16_t((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

// Rounds by searching the two neighbours: slow, obviously right.
static float half_value(uint16_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  float v = e == 31 ? (m ? NAN : INFINITY) : e ? std::ldexp(1 + m / 1024.f, e - 15) : std::ldexp(m / 1024.f, -14);
  return h & 0x8000 ? -v : v;
}
static uint16_t to_half(float f) {
  if (f != f) return 0x7fff;
  uint16_t sign = std::signbit(f) ? 0x8000 : 0;
  double x = fabs((double)f);
  if (x >= 65520) return sign | 0x7c00;
  uint16_t low = 0;
  for (uint16_t step = 0x4000; step; step >>= 1)
    if (low + step < 0x7c00 && half_value(uint16_t(low + step)) <= x) low = uint16_t(low + step);
  double below = half_value(low), above = low == 0x7bff ? 65536 : half_value(uint16_t(low + 1));
  bool up = x - below > above - x || (x - below == above - x && (low & 1));
  return uint16_t(sign | (low + up));
}

static void test_conversions() {
  const int n = 1024;
  auto a = interesting_floats(n);
  Buffer<float> da(a);
  Buffer<uint32_t> out(n * 12);
  OK(launch("conversions", {8, 128}, da.p, out.p, n));
  auto o = out.get();
  int bf = 0, half = 0, ints = 0, back = 0, pairs = 0, truncated = 0;
  for (int i = 0; i < n; i++) {
    float x = a[i];
    uint32_t *r = &o[i * 12];
    bf += r[0] != to_bf16(x);
    half += r[1] != to_half(x);
    if (x == x && std::isfinite(x)) {
      truncated += fabsf(half_value(uint16_t(r[2]))) > fabsf(x) || (r[3] << 16) != (bits(x) & 0xffff0000u);
    }
    int32_t cut = x != x ? 0 : x >= 2147483648.f ? INT32_MAX : x <= -2147483648.f ? INT32_MIN : int32_t(x);
    uint32_t nearest = x != x || x <= 0 ? 0 : x >= 4294967296.f ? UINT32_MAX : uint32_t(std::nearbyint((double)x));
    ints += r[4] != uint32_t(cut) || r[5] != nearest;
    back += !same(number(r[7]), number(r[0] << 16)) || !same(number(r[8]), half_value(uint16_t(r[1])))
        || !same(number(r[9]), float(cut)) || !same(number(r[10]), x);
    pairs += r[11] != (to_bf16(x) | uint32_t(to_bf16(-x)) << 16);
  }
  CHECK(bf == 0);
  CHECK(half == 0);
  CHECK(truncated == 0);
  CHECK(ints == 0);
  CHECK(back == 0);
  CHECK(pairs == 0);
}

static uint32_t pair(uint16_t low, uint16_t high) { return low | uint32_t(high) << 16; }
static float bf16_value(uint16_t h) { return number(uint32_t(h) << 16); }

static void test_half_pairs() {
  const int n = 64;
  std::vector<uint32_t> a(n), b(n), c(n), d(n);
  auto f = interesting_floats(4 * n);
  for (int i = 0; i < n; i++) {
    float *x = &f[i * 4];
    a[i] = pair(to_half(x[0] / 64), to_half(x[1])), b[i] = pair(to_half(x[2]), to_half(x[3] / 8));
    c[i] = pair(to_bf16(x[0]), to_bf16(x[1])), d[i] = pair(to_bf16(x[2]), to_bf16(x[3]));
  }
  Buffer<uint32_t> da(a), db(b), dc(c), dd(d), out(n * 4), bout(n * 4);
  OK(launch("half_pairs", {1, n}, da.p, db.p, out.p, dc.p, dd.p, bout.p));
  auto o = out.get(), bo = bout.get();
  int wrong = 0, bwrong = 0;
  for (int i = 0; i < n; i++)
    for (int shift = 0; shift < 32; shift += 16) {
      auto part = [&](uint32_t v) { return uint16_t(v >> shift); };
      auto equal = [&](uint16_t got, uint16_t want, float v) { return v != v ? (got & 0x7fff) == 0x7fff : got == want; };
      float x = half_value(part(a[i])), y = half_value(part(b[i]));
      float h[3] = {x + y, x * y, (float)((double)x * y + x)};
      for (int k = 0; k < 3; k++) wrong += !equal(part(o[i * 4 + k]), to_half(h[k]), h[k]);
      if (capability < 80) continue;
      float u = bf16_value(part(c[i])), v = bf16_value(part(d[i]));
      float e[2] = {u + v, u * v};
      for (int k = 0; k < 2; k++) bwrong += !equal(part(bo[i * 4 + k]), to_bf16(e[k]), e[k]);
    }
  CHECK(wrong == 0);
  CHECK(bwrong == 0);
}

static void test_integers() {
  const int n = 512;
  std::vector<int> a(n), b(n);
  for (int i = 0; i < n; i++) a[i] = int(random_bits() >> (i % 5 * 6)), b[i] = int(random_bits() >> (i % 7 * 4));
  a[0] = 0, a[1] = INT32_MIN, a[2] = -1, b[2] = 0;
  Buffer<int> da(a), db(b);
  Buffer<uint32_t> out(n * 20);
  OK(launch("integers", {4, 128}, da.p, db.p, out.p, n));
  auto o = out.get();
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    int x = a[i], y = b[i];
    uint32_t u = uint32_t(x), v = uint32_t(y), reversed = 0;
    for (int k = 0; k < 32; k++) reversed |= (u >> k & 1) << (31 - k);
    uint64_t both = uint64_t(v) << 32 | u, w = uint64_t(u) * v + u;
    auto byte = [&](int k) { return uint32_t(both >> 8 * k & 0xff); };
    bool safe = y != 0 && y != -1;
    uint32_t e[20] = {u * v, uint32_t(uint64_t(u) * v >> 32), uint32_t(uint64_t(int64_t(x) * y) >> 32), v ? u / v : 0,
                      v ? u % v : 0,
                      safe ? uint32_t(x / y) : 0, safe ? uint32_t(x % y) : 0, u ? uint32_t(__builtin_clz(u)) : 32,
                      uint32_t(__builtin_popcount(u)), reversed, byte(5) | byte(1) << 8 | byte(7) << 16 | byte(3) << 24,
                      uint32_t(both << 7 >> 32), v, (u & v) ^ (~u | v), uint32_t(std::min(x, y)), std::max(u, v),
                      x < 0 ? 0 - u : u, uint32_t(w >> 32), uint32_t(x >> (v & 31)), uint32_t(w % 1000003u)};
    for (int k = 0; k < 20; k++)
      if (o[i * 20 + k] != e[k]) {
        if (wrong++ < 5) printf("  integer operation %d of %d, %d: %x, not %x\n", k, x, y, o[i * 20 + k], e[k]);
      }
  }
  CHECK(wrong == 0);
}

struct Large { float value[1000]; int n; };

static void test_parameters_and_calls() {
  Large p;
  for (int i = 0; i < 1000; i++) p.value[i] = float(i);
  p.n = 1000;
  Buffer<float> out(1000);
  OK(launch("large_parameter", {8, 128}, p, out.p));
  auto o = out.get();
  int wrong = 0;
  for (int i = 0; i < 1000; i++) wrong += o[i] != (i * 7) % 1000 + 3.f;
  CHECK(wrong == 0);

  std::vector<int> index(32);
  for (int i = 0; i < 32; i++) index[i] = i * 5;
  Buffer<int> di(index);
  Buffer<float> table(32);
  OK(launch("local_and_calls", {1, 32}, table.p, di.p, 3));
  auto t = table.get();
  wrong = 0;
  for (int i = 0; i < 32; i++)
    for (int k = 0; k < 16; k++)
      if (((k * 3) & 15) == (index[i] & 15)) wrong += t[i] != (k - 3 > 0 ? float(k * (k - 3)) : -float(k));
  CHECK(wrong == 0);

  std::vector<int> in(32), start(32);
  for (int i = 0; i < 32; i++) in[i] = i % 9, start[i] = i;
  Buffer<int> dn(in), ds(start);
  OK(launch("switch_table", {1, 32}, dn.p, ds.p));
  auto s = ds.get();
  const int expected[] = {0 + 11, 1 * 3, 2 - 7, 3 ^ 5, 4 << 2, 5 | 64, 6 & 12, -1, -1};
  CHECK(s[0] == expected[0] && s[7] == -1 && s[8] == -1);
}

static void test_block_sum() {
  std::vector<float> in(5000, 0.5f);
  Buffer<float> a(in), out(3);
  for (unsigned block : {32u, 256u, 1024u}) {
    OK(launch("block_sum", {3, block, block * 4}, a.p, out.p, 5000));
    CHECK(out.get() == std::vector<float>(3, 2500.f));
  }
}

static void test_warps() {
  std::vector<int> in(64);
  for (int i = 0; i < 64; i++) in[i] = i * 3 - 40;
  Buffer<int> a(in);
  Buffer<uint32_t> out(64 * 12);
  OK(launch("warp_operations", {1, 64}, a.p, out.p));
  auto o = out.get();
  int wrong = 0;
  for (int i = 0; i < 64; i++) {
    int lane = i & 31, base = i & 32, sum = 0, largest = INT32_MIN;
    uint32_t positive = 0, equal = 0;
    bool seven = false;
    for (int k = 0; k < 32; k++) {
      int x = in[base + k];
      sum += x, largest = std::max(largest, x), seven |= x == 7;
      positive |= uint32_t(x > 0) << k, equal |= uint32_t((x & 3) == (in[i] & 3)) << k;
    }
    uint32_t e[12] = {uint32_t(in[base + (lane ^ 5)]), uint32_t(in[base + (lane < 3 ? lane : lane - 3)]),
                      uint32_t(in[base + (lane + 3 > 31 ? lane : lane + 3)]), uint32_t(in[base + 9]),
                          uint32_t(in[base + (lane ^ 4)]),
                      positive, seven, 1, equal, uint32_t(in[base + ((lane & 3) + 2 > 3 ? lane : lane + 2)]), uint32_t(sum),
                      uint32_t(largest)};
    for (int k = 0; k < (capability >= 80 ? 12 : 10); k++)
      if (o[i * 12 + k] != e[k] && wrong++ < 5) printf("  warp operation %d lane %d: %x, not %x\n", k, i, o[i * 12 + k], e[k]);
  }
  CHECK(wrong == 0);
  Buffer<int> sums(64);
  OK(launch("half_warps", {1, 64}, a.p, sums.p));
  auto s = sums.get();
  int expected = 0;
  for (int i = 16; i < 32; i++) expected += in[i];
  CHECK(s[16] == expected && s[31] == expected);
}

static void test_vectors() {
  std::vector<float> in(4 * 64);
  for (size_t i = 0; i < in.size(); i++) in[i] = float(i);
  std::vector<int> in2(128, 5);
  Buffer<float> a(in), out(4 * 64);
  Buffer<int> a2(in2), out2(128);
  OK(launch("vectors", {1, 64}, a.p, out.p, a2.p, out2.p));
  auto o = out.get();
  CHECK(o[0] == 3 && o[255] == 252);
  CHECK(out2.get() == in2);
  if (capability < 100) return;
  std::vector<uint32_t> w(8 * 32);
  for (size_t i = 0; i < w.size(); i++) w[i] = uint32_t(i);
  Buffer<uint32_t> wide(w), reversed(8 * 32);
  OK(launch("wide_vectors", {1, 32}, wide.p, reversed.p));
  auto r = reversed.get();
  CHECK(r[0] == 7 && r[15] == 8 && r[255] == 248);
}

static void test_atomics() {
  Buffer<uint32_t> u(6);
  Buffer<int> s(1);
  Buffer<float> f(1);
  Buffer<unsigned long long> w(1);
  OK(cuMemsetD8_v2(u.p, 0, 24));
  OK(cuMemsetD8_v2(s.p, 0, 4));
  OK(cuMemsetD8_v2(f.p, 0, 4));
  OK(cuMemsetD8_v2(w.p, 0, 8));
  OK(launch("atomics", {2, 128}, u.p, s.p, f.p, w.p));
  auto r = u.get();
  CHECK(r[0] == 256 && r[1] == 127 && r[2] == 0xffffffffu && r[3] == 256 % 10 && r[4] == 0 && r[5] == 512);
  CHECK(s.get()[0] == -127);
  CHECK(f.get()[0] == 128.f);
  CHECK(w.get()[0] == 256ull << 33);
}

static void test_asynchronous_copies() {
  std::vector<float> in(256);
  for (int i = 0; i < 256; i++) in[i] = float(i + 1);
  Buffer<float> a(in), out(256);
  if (capability >= 80) {
    OK(launch("async_copy", {1, 64}, a.p, out.p, 1));
    auto o = out.get();
    CHECK(o[0] == 1 && o[13] == 14 && o[14] == 0 && o[15] == 0 && o[255] == 256);
    OK(launch("async_copy", {1, 64}, a.p, out.p, 0));
    CHECK(std::isnan(out.get()[5]));
  }
  if (capability < 90) return;
  OK(launch("bulk_copy", {1, 256}, a.p, out.p));
  auto o = out.get();
  CHECK(o[0] == 2 && o[255] == 512);
#ifdef THREAD_SANITIZER
  const int first = 1;  // the other has a race, which it finds
#else
  const int first = 0;
#endif
  Buffer<uint32_t> flag(1);
  Buffer<float> seen(1);
  for (int whole = first; whole < 2; whole++) {
    OK(cuMemsetD8_v2(out.p, 0, 1024));
    OK(cuMemsetD8_v2(flag.p, 0, 4));
    OK(launch("bulk_store_signalled", {2, 256}, a.p, out.p, flag.p, seen.p, whole));
    CHECK(seen.get()[0] == (whole ? 6.f : 0.f));
    CHECK(out.get()[5] == 6);
  }
}

static void test_grid_barrier() {
  Buffer<uint32_t> count(1), out(8);
  OK(cuMemsetD8_v2(count.p, 0, 4));
  OK(launch("grid_barrier", {8, 64}, count.p, out.p));
  CHECK(out.get() == std::vector<uint32_t>(8, 8));
}

// ---- failures ----

// The context stays failed until it is reset.
static void expect_failure(int code, int launched, int device) {
  GIVES(0, launched);
  GIVES(code, cuCtxSynchronize());
  Pointer p;
  GIVES(code, cuMemAlloc_v2(&p, 16));
  FAILS(code, device);
  OK(cuMemFree_v2(GIVEN(cuMemAlloc_v2, 16)));
}

static Pointer allocate(size_t n) {
  const Pointer p = GIVEN(cuMemAlloc_v2, n);
  OK(cuMemsetD8_v2(p, 0, n));
  return p;
}

static void test_failures(int device) {
  expect_failure(719, launch("divergent", {1, 64}, allocate(1024)), device);
  expect_failure(702, launch("deadlock", {1, 64}, allocate(1024)), device);
  expect_failure(702, launch("circling", {1, 4}, allocate(1024)), device);
  expect_failure(719, launch("acquires_in_a_loop", {1, 1}, allocate(4)), device);
  expect_failure(716, launch("misaligned", {1, 1}, allocate(1024)), device);
  Pointer p = allocate(4);
  int trigger = 12345;
  OK(cuMemcpyHtoD_v2(p, &trigger, 4));
  expect_failure(719, launch("trapping", {1, 1}, p), device);
  Pointer out = allocate(4 * 64);
  OK(launch("early_exit", {1, 64}, out));
  OK(cuCtxSynchronize());
  OK(cuMemFree_v2(out));
#ifndef THREAD_SANITIZER
  expect_failure(700, launch("shared_overrun", {1, 64, 256}, 1024, allocate(256)), device);
#endif
  expect_failure(700, launch("shared_overrun", {1, 32, 192}, 24, allocate(256)), device);
}

// The bytes between an allocation of 100 bytes and the guard pages: writes into the canary are found, and any access to the page.
static void test_edges(int device) {
  const bool front = getenv("QUERN_EMULATOR_FRONT") != nullptr;
  CHECK(allocate(100) % (front ? 4096 : 16) == 0);
  for (int at : {-904, -4, 100, 112, 996}) {
    const bool in_page = front ? at < 0 : at > 100;
    const std::string distance = std::to_string(at < 0 ? -at : at - 100) + (at < 0 ? " bytes before" : " bytes after the end of");
    std::string text = in_page ? distance + " an allocation of 100 bytes" : "was overwritten";
#ifdef THREAD_SANITIZER
    if (in_page) continue;  // its own report ends the program
#endif
    const std::string printed =
        printed_by([&] { expect_failure(700, launch("add_one", {1, 1}, allocate(100) + Pointer(at), 1), device); });
    CHECK(printed.find(text) != std::string::npos);
  }
}

// With QUERN_EMULATOR_CLOCK=virtual: a read takes 100 ns, and a rest while nothing can go on 10 ms.
static void test_clock() {
  constexpr unsigned long long read = 100, rest = 10000000, wait = 20 * rest;
  Buffer<unsigned long long> out(2);
  OK(launch("read_clock", {1, 1}, wait, out.p));
  OK(cuCtxSynchronize());
  const auto took = out.get();
  CHECK(took[0] == read);
  CHECK(took[1] >= wait && took[1] < wait + rest);
}

static void test_launch_limits() {
  Buffer<int> out(64);
  int device = 0;
  while (contexts[size_t(device)] != GIVEN(cuCtxGetCurrent)) device++;
  const int optin = GIVEN(cuDeviceGetAttribute, 97, device);
  GIVES(1, launch("large_shared", {1, 32, 49153}, out.p));
  OK(cuFuncSetAttribute(kernel("large_shared"), 8, optin));
  OK(launch("large_shared", {1, 32, unsigned(optin)}, out.p));
  GIVES(1, cuFuncSetAttribute(kernel("large_shared"), 8, optin + 1));
  GIVES(1, launch("large_shared", {1, 1025}, out.p));
  GIVES(1, launch("large_shared", {0, 32}, out.p));
  OK(cuCtxSynchronize());
  LaunchAttribute cluster = {};
  cluster.id = 4, cluster.x = 2, cluster.y = cluster.z = 1;
  LaunchConfig config = {{4, 1, 1}, {32, 1, 1}, 0, nullptr, &cluster, 1};
  int clusters = GIVEN(cuDeviceGetAttribute, 120, device);
  void *params[] = {&out.p};
  CHECK(clusters == (capability >= 90));
  GIVES(clusters ? 0 : 801, cuLaunchKernelEx(&config, kernel("early_exit"), params, nullptr));
  LaunchAttribute serialization = {};
  serialization.id = 6, serialization.x = 1;
  LaunchConfig early = config;
  early.attributes = &serialization;
  if (!clusters) GIVES(801, cuLaunchKernelEx(&early, kernel("early_exit"), params, nullptr));
  GIVES(clusters ? 0 : 801, cuOccupancyMaxPotentialClusterSize(&clusters, kernel("early_exit"), &config));
  Buffer<float> u(64);
  OK(launch("uninitialised_shared", {1, 64, 256}, u.p));
  CHECK(std::isnan(u.get()[9]));
}

// ---- the driver ----

static void test_streams() {
  Stream a, b;
  void *event = GIVEN(cuEventCreate, 0);
  const int n = 256;
  Buffer<float> x(n);
  float *pinned;
  OK(cuMemAllocHost_v2(reinterpret_cast<void **>(&pinned), n * 4));
  pinned[0] = -1;
  OK(cuMemsetD32Async(x.p, bits(3.f), n, a));
  OK(launch("add_one", {1, n, 0, a}, x.p, n));
  OK(cuEventRecord(event, a));
  OK(cuStreamWaitEvent(b, event, 0));
  OK(launch("scale", {1, n, 0, b}, x.p, 10.f, n));
  OK(cuMemcpyDtoHAsync_v2(pinned, x.p, n * 4, b));
  CHECK(pinned[0] == -1);  // nothing runs before a thread waits
  GIVES(600, cuStreamQuery(b));
  OK(cuStreamSynchronize(b));
  CHECK(pinned[0] == 40);
  OK(cuStreamQuery(b));
  OK(cuEventQuery(event));

  // Without the event the streams are not ordered; the one waited for runs alone.
  OK(launch("add_one", {1, n, 0, a}, x.p, n));
  OK(cuMemcpyDtoHAsync_v2(pinned, x.p, n * 4, b));
  OK(cuStreamSynchronize(b));
  CHECK(pinned[0] == 40);
  OK(cuCtxSynchronize());

  // Legacy default stream: orders blocking streams.
  Stream blocking(0);
  OK(launch("add_one", {1, n, 0, blocking}, x.p, n));
  OK(launch("scale", {1, n, 0, nullptr}, x.p, 2.f, n));
  OK(launch("add_one", {1, n, 0, blocking}, x.p, n));
  OK(cuStreamSynchronize(blocking));
  CHECK(x.get()[5] == 85);

  const Pointer p = GIVEN(cuMemAllocAsync, 1024, a.stream);
  OK(cuMemFreeAsync(p, a));
  OK(cuStreamSynchronize(a));
  unsigned type = 0;
  OK(cuPointerGetAttribute(&type, 2, x.p));
  CHECK(type == 2);
  GIVES(1, cuPointerGetAttribute(&type, 2, p));
  OK(cuMemFreeHost(pinned));
  OK(cuEventDestroy_v2(event));
}

static int priority_of(void *stream) {
  int priority = 1;
  OK(cuStreamGetPriority(stream, &priority));
  return priority;
}

// What may start at once starts by priority; so do blocks that wait for room.
static void test_priorities() {
  enum { BLOCKS = 4000 };
  int least = 1, greatest = 1;
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  Stream low(1, least + 3), high(1, greatest - 3), both, plain;
  CHECK(priority_of(low) == 0 && priority_of(high) == greatest && priority_of(plain) == 0 && greatest < 0);
  void *event = GIVEN(cuEventCreate, 0), *other = GIVEN(cuEventCreate, 0);
  auto join = [&] {
    OK(cuEventRecord(event, low));
    OK(cuEventRecord(other, high));
    OK(cuStreamWaitEvent(both, event, 0));
    OK(cuStreamWaitEvent(both, other, 0));
    OK(cuStreamSynchronize(both));
  };
  Buffer<float> x(std::vector<float>{3.f});
  OK(cuMemsetD32Async(x.p, bits(1.f), 1, low));
  OK(cuMemsetD32Async(x.p, bits(2.f), 1, high));
  join();
  CHECK(x.get()[0] == 1);

  Buffer<uint32_t> next(std::vector<uint32_t>{0}), first(BLOCKS), second(1);
  OK(launch("add_one", {1, 1, 0, plain}, x.p, 1));
  OK(cuEventRecord(event, plain));
  OK(cuStreamWaitEvent(high, event, 0));
  OK(launch("take_tickets", {BLOCKS, 32, 0, low}, next.p, first.p));
  OK(launch("take_tickets", {1, 32, 0, high}, next.p, second.p));
  join();
  CHECK(second.get()[0] < BLOCKS / 2);
  OK(cuEventDestroy_v2(event));
  OK(cuEventDestroy_v2(other));
}

static void test_graphs() {
  Stream stream, other;
  void *graph, *event = GIVEN(cuEventCreate, 2);
  const int n = 128;
  Buffer<float> x(n);
  Graph(stream, 1, [&] {
    int status = 0;
    OK(cuStreamIsCapturing(stream, &status));
    CHECK(status == 1);
    OK(cuMemsetD32Async(x.p, bits(1.f), n, stream));
    OK(launch("add_one", {1, n, 0, stream}, x.p, n));
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    OK(launch("scale", {1, n, 0, other}, x.p, 5.f, n));
    GIVES(907, cuEventQuery(event));
    OK(cuEventRecord(event, other));
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(launch("add_one", {1, n, 0, stream}, x.p, n));
  }).run(3);
  OK(launch("add_one", {1, n, 0, stream}, x.p, n));
  OK(cuStreamSynchronize(stream));
  CHECK(x.get()[7] == 12);

  Pointer p;
  OK(cuStreamBeginCapture_v2(stream, 0));
  GIVES(900, cuMemAlloc_v2(&p, 16));
  GIVES(901, launch("add_one", {1, n, 0, stream}, x.p, n));
  GIVES(901, cuStreamEndCapture(stream, &graph));
  OK(cuStreamBeginCapture_v2(stream, 1));
  GIVES(900, cuStreamSynchronize(stream));
  GIVES(901, cuStreamEndCapture(stream, &graph));
  OK(cuStreamBeginCapture_v2(stream, 0));
  int mode = 2;
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  OK(cuMemAlloc_v2(&p, 16));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphDestroy(graph));
  OK(cuMemFree_v2(p));
  OK(cuStreamBeginCapture_v2(stream, 2));
  OK(cuEventRecord(event, stream));
  OK(cuStreamWaitEvent(other, event, 0));
  OK(launch("add_one", {1, n, 0, other}, x.p, n));
  GIVES(904, cuStreamEndCapture(stream, &graph));
  GIVES(401, cuStreamEndCapture(stream, &graph));
  OK(cuEventDestroy_v2(event));
}

static void test_images() {
  void *l;
  char garbage[64] = "not an image";
  GIVES(200, cuLibraryLoadData(&l, garbage, 0, 0, 0, 0, 0, 0));
  auto image = read_file(directory + "/sm_90a.fatbin");
  use_device(0);
  GIVES(209, cuModuleLoadData(&l, image.data()));
  auto cubin = read_file(directory + "/sm_90a.cubin");
  GIVES(209, cuModuleLoadData(&l, cubin.data()));
  auto broken = image;
  broken.resize(64);
  broken[20] = 1;
  GIVES(200, cuModuleLoadData(&l, broken.data()));
  for (size_t d = 0; d < contexts.size(); d++) {
    use_device(int(d));
    if (capability != 90) continue;
    void *f;
    OK(cuModuleLoadData(&l, cubin.data()));
    OK(cuModuleGetFunction(&f, l, "add_one"));
    GIVES(500, cuModuleGetFunction(&f, l, "no_such_kernel"));
    OK(cuLibraryUnload(l));
    auto ptx = read_file(directory + "/compute_90.ptx");
    ptx.push_back(0);
    OK(cuModuleLoadData(&l, ptx.data()));
    OK(cuModuleGetFunction(&f, l, "add_one"));
    OK(cuLibraryUnload(l));
  }
}

static void test_fault_injection() {
  Pointer p;
  setenv("QUERN_EMULATOR_FAIL", "alloc:2,launch:700,driver_version:11000", 1);
  GIVES(2, cuMemAlloc_v2(&p, 16));
  GIVES(700, launch("add_one", {1, 1}, Pointer(0), 0));
  int version;
  OK(cuDriverGetVersion(&version));
  CHECK(version == 11000);
  unsetenv("QUERN_EMULATOR_FAIL");
  OK(cuMemAlloc_v2(&p, 16));
  OK(cuMemFree_v2(p));
}

// Kernels of two devices wait for each other; two host threads launch them.
static void test_two_devices() {
  Pointer flag[2];
  for (int d = 0; d < 2; d++) {
    use_device(d);
    flag[d] = allocate(4);
    OK(cuCtxSynchronize());
  }
  int results[2] = {-1, -1};
  std::thread threads[2];
  for (int d = 0; d < 2; d++)
    threads[d] = std::thread([d, &flag, &results] {
      cuCtxSetCurrent(contexts[size_t(d)]);
      cuCtxEnablePeerAccess(contexts[size_t(1 - d)], 0);
      void *params[] = {&flag[d], &flag[1 - d]};
      cuLaunchKernel(kernel("cross_device"), 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr);
      results[d] = cuCtxSynchronize();
    });
  for (auto &t : threads) t.join();
  CHECK(results[0] == 0 && results[1] == 0);
}

static void test_device(int d) {
  use_device(d);
  const Test tests[] = {
      {"float arithmetic", test_float_arithmetic}, {"transcendental", test_transcendental}, {"approximations", test_approximations},
      {"conversions", test_conversions},
      {"half pairs", test_half_pairs}, {"integers", test_integers}, {"parameters and calls", test_parameters_and_calls},
      {"block sum", test_block_sum}, {"warps", test_warps}, {"vectors", test_vectors}, {"atomics", test_atomics},
      {"asynchronous copies", test_asynchronous_copies}, {"grid barrier", test_grid_barrier},
      {"launch limits", test_launch_limits},
  };
  run_tests(tests, " on " + std::to_string(capability));
}

int main(int count, char **arguments) {
  if (count < 2) return fprintf(stderr, "usage: self_test DIRECTORY [approximations | clock | edges | race]\n"), 2;
  setenv("QUERN_EMULATOR", "7.5,8.0,8.6,8.9,9.0,10.0,10.3,12.0,8.7", 0);
  start(arguments[1], "1", "/all.fatbin");
  const std::string only = count > 2 ? arguments[2] : "";
  if (only == "approximations" || only == "edges" || only == "clock") {
    test_name = only;
    if (only == "edges") test_edges(0);
    else if (only == "clock") test_clock();
    else test_approximations();
    return end();
  }
  if (!only.empty()) {
    std::vector<float> in(5000, 0.5f);
    Buffer<float> a(in), out(3);
    OK(launch("block_sum_racy", {3, 64, 256}, a.p, out.p, 5000));
    out.get();
    return 0;
  }
  for (size_t d = 0; d < contexts.size(); d++) test_device(int(d));
  use_device(0);
  run_tests({{"streams", test_streams}, {"priorities", test_priorities}, {"graphs", test_graphs},
             {"fault injection", test_fault_injection},
             {"images", test_images}, {"two devices", test_two_devices}});
  use_device(0);
  test_name = "failures", test_failures(0);
  test_name = "edges", test_edges(0);
#ifdef THREAD_SANITIZER
  test_name = "race", check_race({arguments[0], arguments[1], "race"});  // without a barrier
#endif
  return end();
}
