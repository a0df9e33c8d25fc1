#include "faults.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

namespace emulator {

sigjmp_buf fault_return;

namespace {

enum Return { after_signal = 1, after_failure = 2 };

volatile sig_atomic_t watching;
volatile sig_atomic_t reason;
pthread_t watched;
void *fault_address;
struct sigaction earlier_segv, earlier_bus;

void on_fault(int signal, siginfo_t *info, void *) {
  if (watching && pthread_equal(watched, pthread_self())) {
    fault_address = info->si_addr;
    reason = after_signal;
    siglongjmp(fault_return, after_signal);
  }
  sigaction(signal, signal == SIGSEGV ? &earlier_segv : &earlier_bus, nullptr);  // not a kernel's: fault again
}

void install_once() {
  static bool installed;
  if (installed) return;
  installed = true;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &earlier_segv);
  sigaction(SIGBUS, &action, &earlier_bus);
}

// The handler needs its own stack: a fault may be an overflow of the fiber's.  AddressSanitizer frees the one that it finds when a
// thread ends: that must be its own.
struct SignalStack {
  char *memory = static_cast<char *>(malloc(64 * 1024));
  stack_t earlier;
  SignalStack() {
    stack_t stack = {};
    stack.ss_sp = memory, stack.ss_size = 64 * 1024;
    sigaltstack(&stack, &earlier);
  }
  ~SignalStack() {
    sigaltstack(&earlier, nullptr);
    free(memory);
  }
};

}  // namespace

void watch_faults() {
  if (under_tsan()) return;  // its report is better
  thread_local SignalStack stack;
  install_once();
  watched = pthread_self();
  watching = 1;
}

void stop_watching_faults() { watching = 0; }

void fault_report(Block &b) {
  if (reason == after_signal) {
    char address[32];
    snprintf(address, sizeof address, "%p", fault_address);
    std::string place = describe_shared(b, fault_address);
    if (place.empty()) place = describe_address(u64(fault_address), b.grid->limits.ordinal);
    report_block(b, std::string("illegal address ") + address + " (" + place + ")");
    b.grid->error = 700;
    b.live = 0;
  }
  reason = 0;
}

void leave_direct_call() {
  reason = after_failure;
  siglongjmp(fault_return, after_failure);
}

}  // namespace emulator
