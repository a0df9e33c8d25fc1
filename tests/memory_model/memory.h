// The memory of the checker: what each thread may read, what happens before what, and which accesses race.  For threads.cpp and
// accesses.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace model {

constexpr int most_threads = 8;

enum Order { RELAXED = 0, CONSUME = 1, ACQUIRE = 2, RELEASE = 3, ACQ_REL = 4, SEQ_CST = 5 };  // as compilers pass them

// Of each thread the steps up to a number.
struct Steps {
  uint16_t of[most_threads];
  void join(const Steps &other) {
    for (int i = 0; i < most_threads; i++) of[i] = of[i] > other.of[i] ? of[i] : other.of[i];
  }
};

// What has happened before a point of a thread; what the thread has to see there at least, to which fences add; the last
// sequentially consistent fence before it.
struct Knowledge {
  Steps before, seen;
  uint32_t fence;
  void join(const Knowledge &other) {
    before.join(other.before);
    seen.join(other.seen);
    fence = fence > other.fence ? fence : other.fence;
  }
};

// Begins an execution: all that is in memory is known to all threads.
void forget_all();
uint32_t execution_number();

// Memory is freed, which races with all that others do there; it is allocated, and what was done there before matters no more.
void give_back(int thread, const void *memory, size_t bytes, uintptr_t site);
void take_anew(const void *memory, size_t bytes);

void plain_access(int thread, const void *address, size_t bytes, bool writes, uintptr_t site);

// Atomic accesses.  An update reads the newest value.  `expected` is updated by a comparison that fails.
uint64_t load(int thread, const void *address, size_t bytes, Order order, uintptr_t site);
void store(int thread, void *address, size_t bytes, uint64_t value, Order order, uintptr_t site);
uint64_t update(int thread, void *address, size_t bytes, uint64_t (*change)(uint64_t old, uint64_t by), uint64_t by, Order order,
                uintptr_t site);
bool compare_exchange(int thread, void *address, size_t bytes, uint64_t &expected, uint64_t value, Order order, Order failure,
                      uintptr_t site);
void fence(int thread, Order order);

// A thread's knowledge is handed to another by what is no access: a lock, the start or the end of a thread.
void hand_over(int thread, Knowledge &message);
void take_over(int thread, const Knowledge &message);

// What was seen by those that came before is seen, without an order of other data.
void see_all_of(int thread, Knowledge &queue);

}  // namespace model
