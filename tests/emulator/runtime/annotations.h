// Sanitizer entry points, weak: they exist only when the test program is built
// with a sanitizer, so one libcuda.so.1 serves plain and instrumented runs.
// AddressSanitizer is in the program alone: it knows nothing of kernels and fibers.
#pragma once
#include <sched.h>
#include <atomic>
#include <cstddef>
#include <utility>

#define WEAK __attribute__((weak))
extern "C" {
WEAK void __asan_poison_memory_region(const volatile void *, size_t);
WEAK void __asan_unpoison_memory_region(const volatile void *, size_t);
WEAK void *__tsan_get_current_fiber(void);
WEAK void *__tsan_create_fiber(unsigned flags);
WEAK void __tsan_destroy_fiber(void *);
WEAK void __tsan_switch_to_fiber(void *, unsigned flags);
WEAK void __tsan_acquire(void *);
WEAK void __tsan_release(void *);
WEAK void __tsan_read_range(void *, unsigned long);
WEAK void __tsan_write_range(void *, unsigned long);
}
#undef WEAK

namespace emulator {

inline bool under_tsan() { return &__tsan_create_fiber != nullptr; }

// Happens-before edges exist only where CUDA has them; a fiber switch creates none.
inline void happens_before(void *at) { if (&__tsan_release) __tsan_release(at); }
inline void happens_after(void *at) { if (&__tsan_acquire) __tsan_acquire(at); }

inline void poison(void *p, size_t n) { if (&__asan_poison_memory_region && n) __asan_poison_memory_region(p, n); }
inline void unpoison(void *p, size_t n) { if (&__asan_unpoison_memory_region && n) __asan_unpoison_memory_region(p, n); }

// The runtime itself is not instrumented: it must report its accesses on behalf of a kernel.
inline void note_read(const void *p, size_t n) { if (&__tsan_read_range && n) __tsan_read_range(const_cast<void *>(p), n); }
inline void note_write(void *p, size_t n) { if (&__tsan_write_range && n) __tsan_write_range(p, n); }

// Ends the history of a thread or an operation, but only after 255 others have ended. ThreadSanitizer has so many numbers for
// threads. It gives the number of an ended one to the next at once, and takes all that is ordered behind the next one to be ordered
// behind the ended one too. The numbers of those that have not ended are reused in the order of their age.
inline void end_history(void *fiber) {
  static void *ended[255];
  static unsigned next;
  static std::atomic_flag taken = ATOMIC_FLAG_INIT;  // not a mutex, which ThreadSanitizer would see
  while (taken.test_and_set(std::memory_order_acquire)) sched_yield();
  std::swap(ended[next++ % 255], fiber);
  taken.clear(std::memory_order_release);
  if (fiber) __tsan_destroy_fiber(fiber);
}

// A separate history for ThreadSanitizer. The host thread runs the work of all streams, and must not carry the accesses of one
// kernel over to the next: each operation runs in its own history, with edges only from its dependencies.
class History {
 public:
  ~History() { if (fiber_) end_history(fiber_); }
  void begin() { if (under_tsan() && !fiber_) fiber_ = __tsan_create_fiber(0); }

  class Scope {
   public:
    explicit Scope(History &h) : Scope(h.fiber_) {}
    explicit Scope(void *fiber) : fiber_(fiber) {
      if (!fiber_) return;
      outer_ = __tsan_get_current_fiber();
      __tsan_switch_to_fiber(fiber_, 1);
    }
    ~Scope() { if (fiber_) __tsan_switch_to_fiber(outer_, 1); }
    Scope(const Scope &) = delete;

   private:
    void *fiber_, *outer_ = nullptr;
  };

 private:
  void *fiber_ = nullptr;
};

}  // namespace emulator
