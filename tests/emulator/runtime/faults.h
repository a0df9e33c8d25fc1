// Turns a memory fault inside a kernel into a failed launch (CUDA_ERROR_ILLEGAL_ADDRESS).
#pragma once
#include <csetjmp>

#include "engine.h"

namespace emulator {

extern sigjmp_buf fault_return;
#define catch_fault() sigsetjmp(fault_return, 0)

void watch_faults();
void stop_watching_faults();
void fault_report(Block &);           // after catch_fault() returned non-zero
[[noreturn]] void leave_direct_call();

}  // namespace emulator
