// What compilers call for each access under -fsanitize=thread, and the calls of the library that order threads, give memory or tell
// the time: all go to the checker's memory and threads.  The program is linked with this in place of ThreadSanitizer.
#include <pthread.h>
#include <malloc.h>
#include <time.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "checker.h"
#include "memory.h"
#include "threads.h"

using namespace model;

#define HERE (reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1)

// ---- the orders of accesses ----

namespace {

struct Site {
  const char *kind;
  Order order, failure;
  bool explored = false;
  int weakened = -1, weakened_failure = -1;
};
std::map<uintptr_t, Site> sites;

struct Orders { Order order, failure; };

Orders orders_at(uintptr_t at, const char *kind, int order, int failure = RELAXED) {
  Site &site = sites[at];
  site.explored |= is_exploring();
  site.kind = kind, site.order = static_cast<Order>(order), site.failure = static_cast<Order>(failure);
  return {static_cast<Order>(site.weakened < 0 ? order : site.weakened),
          static_cast<Order>(site.weakened_failure < 0 ? failure : site.weakened_failure)};
}

bool is_seen(const void *address) { return is_exploring() && !is_of_thread(address); }

void access(const volatile void *address, size_t bytes, bool writes, uintptr_t site) {
  const void *plain = const_cast<const void *>(address);
  if (bytes && is_seen(plain)) plain_access(current_thread(), plain, bytes, writes, site);
}

template <typename T> uint64_t add(uint64_t old, uint64_t by) { return static_cast<T>(old + by); }
template <typename T> uint64_t subtract(uint64_t old, uint64_t by) { return static_cast<T>(old - by); }
uint64_t exchange(uint64_t, uint64_t by) { return by; }
uint64_t with_and(uint64_t old, uint64_t by) { return old & by; }
uint64_t with_or(uint64_t old, uint64_t by) { return old | by; }

template <typename T> T update_here(volatile T *at, T by, uint64_t (*change)(uint64_t, uint64_t), int order, uintptr_t site) {
  T *address = const_cast<T *>(at);
  const Orders orders = orders_at(site, "update", order);
  step();
  if (is_exploring()) return static_cast<T>(update(current_thread(), address, sizeof by, change, by, orders.order, site));
  const T old = *address;
  *address = static_cast<T>(change(old, by));
  return old;
}

}  // namespace

void checker_weaken(const char *list) {
  for (char *end; *list; list = *end ? end + 1 : end) {
    Site &site = sites[strtoull(list, &end, 0)];
    const bool of_failure = *end == 'f';
    (of_failure ? site.weakened_failure : site.weakened) = static_cast<int>(strtol(end + 1 + of_failure, &end, 0));
  }
}

void checker_print_sites() {
  for (const auto &[at, site] : sites)
    if (site.explored && (site.order || site.failure)) printf("site %#zx %s %d %d\n", at, site.kind, site.order, site.failure);
}

extern "C" {

// ---- plain accesses ----

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}

#define PLAIN(bytes)                                                                  \
  void __tsan_read##bytes(void *at) { access(at, bytes, false, HERE); }               \
  void __tsan_write##bytes(void *at) { access(at, bytes, true, HERE); }               \
  void __tsan_unaligned_read##bytes(void *at) { access(at, bytes, false, HERE); }     \
  void __tsan_unaligned_write##bytes(void *at) { access(at, bytes, true, HERE); }
PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)

void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
  access(from, bytes, false, HERE);
  access(to, bytes, true, HERE);
  return memcpy(to, from, bytes);
}
void *__wrap_memmove(void *to, const void *from, size_t bytes) {
  access(from, bytes, false, HERE);
  access(to, bytes, true, HERE);
  return memmove(to, from, bytes);
}
void *__wrap_memset(void *to, int value, size_t bytes) {
  access(to, bytes, true, HERE);
  return memset(to, value, bytes);
}
int __wrap_bcmp(const void *one, const void *other, size_t bytes) {
  access(one, bytes, false, HERE);
  access(other, bytes, false, HERE);
  return memcmp(one, other, bytes);
}

// ---- atomic accesses ----

#define ATOMIC(bits, T)                                                                                                          \
  T __tsan_atomic##bits##_load(const volatile T *at, int order) {                                                                \
    const T *address = const_cast<const T *>(at);                                                                                \
    const Orders orders = orders_at(HERE, "load", order);                                                                        \
    step();                                                                                                                      \
    return is_seen(address) ? static_cast<T>(load(current_thread(), address, sizeof(T), orders.order, HERE)) : *address;         \
  }                                                                                                                              \
  void __tsan_atomic##bits##_store(volatile T *at, T value, int order) {                                                         \
    T *address = const_cast<T *>(at);                                                                                            \
    const Orders orders = orders_at(HERE, "store", order);                                                                       \
    step();                                                                                                                      \
    if (is_seen(address)) store(current_thread(), address, sizeof(T), value, orders.order, HERE);                                \
    else *address = value;                                                                                                       \
  }                                                                                                                              \
  T __tsan_atomic##bits##_exchange(volatile T *at, T by, int order) { return update_here(at, by, exchange, order, HERE); }       \
  T __tsan_atomic##bits##_fetch_add(volatile T *at, T by, int order) { return update_here(at, by, add<T>, order, HERE); }        \
  T __tsan_atomic##bits##_fetch_sub(volatile T *at, T by, int order) { return update_here(at, by, subtract<T>, order, HERE); }   \
  T __tsan_atomic##bits##_fetch_and(volatile T *at, T by, int order) { return update_here(at, by, with_and, order, HERE); }      \
  T __tsan_atomic##bits##_fetch_or(volatile T *at, T by, int order) { return update_here(at, by, with_or, order, HERE); }        \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T *at, T expected, T value, int order, int failure) {                    \
    T *address = const_cast<T *>(at);                                                                                            \
    const Orders orders = orders_at(HERE, "compare", order, failure);                                                            \
    step();                                                                                                                      \
    uint64_t seen = expected;                                                                                                    \
    if (is_exploring()) {                                                                                                        \
      compare_exchange(current_thread(), address, sizeof(T), seen, value, orders.order, orders.failure, HERE);                   \
    } else {                                                                                                                     \
      seen = *address;                                                                                                           \
      if (seen == expected) *address = value;                                                                                    \
    }                                                                                                                            \
    return static_cast<T>(seen);                                                                                                 \
  }
ATOMIC(8, uint8_t) ATOMIC(16, uint16_t) ATOMIC(32, uint32_t) ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
  const Orders orders = orders_at(HERE, "fence", order);
  step();
  if (is_exploring()) fence(current_thread(), orders.order);
}

// ---- locks, threads, sleep ----

// What is known to those who have held a lock, or have used a futex.
struct Kept {
  bool held;
  uint32_t execution;  // of the message
  Knowledge message;
};

static Kept &kept_at(std::map<const void *, Kept> &all, const void *key) {
  Kept &kept = all[key];
  if (kept.execution != execution_number()) kept.message = {};
  kept.execution = execution_number();
  return kept;
}

static std::map<const void *, Kept> locks, queues;

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
  step();
  Kept &lock = kept_at(locks, mutex);
  if (lock.held) return EBUSY;
  lock.held = true;
  take_over(current_thread(), lock.message);
  return 0;
}
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  while (__wrap_pthread_mutex_trylock(mutex) != 0) block(mutex);
  return 0;
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  Kept &lock = locks[mutex];
  if (!lock.held) fail("a lock is released that nobody holds");
  lock.held = false;
  hand_over(current_thread(), lock.message);
  wake_all(mutex);
  step();
  return 0;
}
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *) { return locks.erase(mutex), 0; }
int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex) { return locks.erase(mutex), 0; }

int __wrap_pthread_once(pthread_once_t *once, void (*function)()) {
  static std::map<const void *, bool> called;
  if (called[once]) return 0;
  called[once] = true;  // it runs to its end: no function that the library calls so waits for another thread
  function();
  return 0;
}
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *, void *(*function)(void *), void *argument) {
  *thread = static_cast<pthread_t>(start_thread(function, argument));
  step();
  return 0;
}
int __wrap_pthread_join(pthread_t thread, void **) { return await_thread(static_cast<int>(thread)), 0; }

int __wrap_sched_yield() { return give_way(), 0; }
int __wrap_nanosleep(const timespec *, timespec *) { return give_way(), 0; }
int64_t __wrap_quern_now() { return next_time(); }
int __wrap_quern_usable_cores() { return 1; }
int __wrap_quern_count_cores(const void *) { return 1; }

// The system orders the waits and wakes of a word, and looks at it as a sequentially consistent load does.  No wait ends by its
// limit: a thread that nobody wakes has lost a wake-up.
void __wrap_quern_futex_wait(uint32_t *word, uint32_t value, int64_t nanoseconds) {
  step();
  if (nanoseconds <= 0) return;
  see_all_of(current_thread(), kept_at(queues, word).message);
  if ((is_exploring() ? load(current_thread(), word, sizeof *word, SEQ_CST, HERE) : *word) == value) block(word);
}
void __wrap_quern_futex_wake(uint32_t *word) {
  step();
  see_all_of(current_thread(), kept_at(queues, word).message);
  wake_all(word);
}

// ---- memory ----


static void *taken_anew(void *memory) {
  if (memory && is_exploring()) take_anew(memory, malloc_usable_size(memory));
  return memory;
}
void *__wrap_malloc(size_t bytes) { return taken_anew(malloc(bytes)); }
void *__wrap_calloc(size_t count, size_t bytes) { return taken_anew(calloc(count, bytes)); }
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) { return taken_anew(aligned_alloc(alignment, bytes)); }
void __wrap_free(void *memory) {
  if (memory && is_exploring()) give_back(current_thread(), memory, malloc_usable_size(memory), HERE);
}
void *__wrap_realloc(void *memory, size_t bytes) {
  void *made = __wrap_malloc(bytes);
  const size_t old = memory ? malloc_usable_size(memory) : 0;
  if (made) __wrap_memcpy(made, memory, old < bytes ? old : bytes);
  if (made) __wrap_free(memory);
  return made;
}

}  // extern "C"
