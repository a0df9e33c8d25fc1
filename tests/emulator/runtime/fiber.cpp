#include "fiber.h"

#include <sys/mman.h>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "annotations.h"

namespace emulator {

namespace {
constexpr size_t page = 4096;
constexpr size_t guard_bytes = TRANSLATED_FRAME;  // the compiler refuses larger frames: none steps over the guard
constexpr size_t stack_bytes = guard_bytes + 4 * TRANSLATED_FRAME + page;  // odd pages: not all stacks share the same cache sets
constexpr size_t stacks_at_once = 64;
constexpr size_t renewed_bytes = 8 * page;  // the top of a stack; kernels use less than 11 KB of it
std::vector<Stack> free_stacks;

void map_stacks() {
  if (free_stacks.capacity() == 0) free_stacks.reserve(1 << 16);  // never grown inside a fiber
  char *base = static_cast<char *>(mmap(nullptr, stacks_at_once * stack_bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED) abort();
  for (size_t i = stacks_at_once; i-- > 0;) {
    char *low = base + i * stack_bytes;
    mprotect(low, guard_bytes, PROT_NONE);
    size_t colour = i % 32 * 64;
    free_stacks.push_back({low + guard_bytes, stack_bytes - guard_bytes - colour});
  }
}
}  // namespace

Stack take_stack() {
  if (free_stacks.empty()) map_stacks();
  Stack stack = free_stacks.back();
  free_stacks.pop_back();
  // ThreadSanitizer forgets the previous fiber's accesses when it sees the range mapped anew.  A short range is cheap.
  if (under_tsan()) {
    uintptr_t end = (reinterpret_cast<uintptr_t>(stack.low) + stack.size + page - 1) / page * page;
    mmap(reinterpret_cast<void *>(end - renewed_bytes), renewed_bytes, PROT_READ | PROT_WRITE,
         MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  return stack;
}

void give_stack(Stack stack) { free_stacks.push_back(stack); }

#if defined(__x86_64__)
// Saves the callee-saved registers, exchanges the stack pointer, restores. The
// floating-point control words stay: no kernel changes them.
extern "C" void quern_emulator_exchange_stacks(void **save, void *load);
asm(R"(.text
.globl quern_emulator_exchange_stacks
.hidden quern_emulator_exchange_stacks
.type quern_emulator_exchange_stacks,@function
quern_emulator_exchange_stacks:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp,(%rdi)
  mov %rsi,%rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size quern_emulator_exchange_stacks,.-quern_emulator_exchange_stacks
)");

void prepare_fiber(Fiber &fiber, void (*entry)()) {
  void **top = reinterpret_cast<void **>(fiber.stack.low + fiber.stack.size - 64);
  *--top = nullptr;  // the return address `entry` never uses; keeps the ABI's alignment
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; i++) *--top = nullptr;
  fiber.stack_pointer = top;
}
static void exchange(Fiber &from, Fiber &to) { quern_emulator_exchange_stacks(&from.stack_pointer, to.stack_pointer); }
#else
void prepare_fiber(Fiber &fiber, void (*entry)()) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.low;
  fiber.context.uc_stack.ss_size = fiber.stack.size;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
}
static void exchange(Fiber &from, Fiber &to) { swapcontext(&from.context, &to.context); }
#endif

void switch_fiber(Fiber &from, Fiber &to) {
  if (under_tsan()) __tsan_switch_to_fiber(to.tsan, 1);  // 1: no happens-before edge
  exchange(from, to);
}

}  // namespace emulator
