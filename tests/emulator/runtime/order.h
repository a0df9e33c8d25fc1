// The order in which ready threads, warps and blocks run (QUERN_EMULATOR_ORDER).
#pragma once
#include "../emulator.h"

namespace emulator {

enum class Order { forward, reverse, random };

Order order();
u32 choose_bit(u32 set, u32 after);    // one bit of a non-empty set
u64 permute(u64 index, u64 count);     // a bijection of 0..count-1
bool interrupts();                     // the running block, so that the others run before it goes on
bool is_sampled();                     // whether to check now what is too dear to check each time a block goes on

}  // namespace emulator
