// Fibers: stacks that one host thread switches between.
#pragma once
#include <cstddef>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulator {

struct Stack {
  char *low = nullptr;  // above the guard page
  size_t size = 0;
};

struct Fiber {
  Stack stack;
  void *stack_pointer = nullptr;
  void *tsan = nullptr;
#if !defined(__x86_64__)
  ucontext_t context;
#endif
};

// Makes `fiber` start in `entry` on its stack at the first switch to it. `entry` never returns.
void prepare_fiber(Fiber &fiber, void (*entry)());
void switch_fiber(Fiber &from, Fiber &to);

Stack take_stack();
void give_stack(Stack);

}  // namespace emulator
