#include "order.h"

#include <cstdlib>
#include <cstring>

namespace emulator {

namespace {
struct Choice {
  Order order = Order::forward;
  u64 seed = 1, first_seed = 1;
  Choice() {
    const char *text = getenv("QUERN_EMULATOR_ORDER");
    if (!text) return;
    if (!strcmp(text, "reverse")) order = Order::reverse;
    if (!strncmp(text, "random", 6)) {
      order = Order::random;
      seed = text[6] == ':' ? strtoull(text + 7, nullptr, 10) * 0x9e3779b97f4a7c15ull + 1 : 1;
      first_seed = seed;
    }
  }
} choice;

u32 next_random() {  // xorshift64
  u64 &x = choice.seed;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return u32(x >> 32);
}

u64 greatest_common_divisor(u64 a, u64 b) { return b ? greatest_common_divisor(b, a % b) : a; }
}  // namespace

Order order() { return choice.order; }

u32 choose_bit(u32 set, u32 after) {
  if (choice.order == Order::reverse) return 31 - u32(__builtin_clz(set));
  if (choice.order == Order::random) {
    u32 from = next_random() % 32;  // the first bit from here on: cheaper than the same chance for each bit
    u32 later = set >> from << from;
    return u32(__builtin_ctz(later ? later : set));
  }
  u32 later = after < 31 ? set & ~((2u << after) - 1) : 0;
  return u32(__builtin_ctz(later ? later : set));
}

// Often enough that a block of four warps is interrupted at most of its barriers.
bool interrupts() { return choice.order == Order::random && next_random() % 64 == 0; }

bool is_sampled() { return choice.order != Order::random || next_random() % 4 == 0; }

u64 permute(u64 index, u64 count) {
  if (choice.order == Order::forward) return index;
  if (choice.order == Order::reverse) return count - 1 - index;
  u64 step = count / 2 + 1;
  while (greatest_common_divisor(step, count) != 1) step++;
  return (index * step + choice.first_seed % count) % count;
}

}  // namespace emulator
