// Memory as C's model has it.  Each atomic word keeps all stores of an execution.  A load may return any of them that is not older
// than one which the thread has to see: one that it, or what happened before, has read or written, and what sequential consistency
// adds.  Each byte keeps the last accesses of each thread: two without an order, of which one writes and one is not atomic, race.
//
// Stores take effect in the order of the execution, and a load never returns a later store: these are limits of the model.
#include "memory.h"

#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "threads.h"

namespace model {

namespace {

struct Store {
  uint64_t value;
  Knowledge message;                // of who reads it with acquire
  uint16_t known[most_threads];     // the first step at which the thread had seen this store or a later one; 0: none
  uint32_t in_total_order;          // the first sequentially consistent access that had; 0: none
};

struct Word {
  size_t bytes;
  std::vector<Store> stores;        // in modification order
};

// The last step of each thread that has accessed a byte.
struct Byte {
  uint16_t read[most_threads], atomic_read[most_threads], write[most_threads], atomic_write[most_threads];
  uint32_t site;                    // of the last write
};

constexpr uintptr_t page_bytes = 256;

struct Page {
  uint32_t execution;
  uint16_t words;
  Byte byte[page_bytes];
  std::unique_ptr<Word> word[page_bytes];
};

std::unordered_map<uintptr_t, Page> pages;
uint32_t execution = 1, total_order;
Knowledge now[most_threads];        // of each thread
Knowledge released[most_threads];   // at its last release fence
Knowledge pending[most_threads];    // from its relaxed loads, for its next acquire fence
Steps fenced;                       // what has been seen before any sequentially consistent fence

bool acquires(Order order) { return order == ACQUIRE || order == CONSUME || order >= ACQ_REL; }
bool releases(Order order) { return order >= RELEASE; }

void advance(int thread) {
  if (++now[thread].before.of[thread] == UINT16_MAX) fail("the execution is too long");
  now[thread].seen.of[thread] = now[thread].before.of[thread];
}

Page &page_of(uintptr_t address) {
  static uintptr_t last_number = UINTPTR_MAX;
  static Page *last;
  const uintptr_t number = address / page_bytes;
  if (number != last_number) {
    last = &pages[number];
    last_number = number;
  }
  if (last->execution != execution) {
    memset(last->byte, 0, sizeof last->byte);
    if (last->words)
      for (auto &word : last->word) word.reset();
    last->words = 0;
    last->execution = execution;
  }
  return *last;
}

// ---- races ----

void check_order(const uint16_t *steps, int thread, const char *what, uintptr_t at, uintptr_t site) {
  for (int other = 0; other < most_threads; other++)
    if (steps[other] > now[thread].before.of[other])
      fail("a race at %#zx with %s by thread %d of %#zx, last written at %#x", site, what, other, at,
           page_of(at).byte[at % page_bytes].site);
}

void note_access(int thread, const void *address, size_t bytes, bool writes, bool atomic, uintptr_t site) {
  for (size_t i = 0; i < bytes; i++) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(address) + i;
    Byte &byte = page_of(at).byte[at % page_bytes];
    check_order(byte.write, thread, "a write", at, site);
    if (!atomic) check_order(byte.atomic_write, thread, "an atomic write", at, site);
    if (writes) check_order(byte.read, thread, "a read", at, site);
    if (writes && !atomic) check_order(byte.atomic_read, thread, "an atomic read", at, site);
    uint16_t *steps = writes ? atomic ? byte.atomic_write : byte.write : atomic ? byte.atomic_read : byte.read;
    steps[thread] = now[thread].before.of[thread];
    if (writes) byte.site = static_cast<uint32_t>(site);
  }
}

void drop_words(const void *memory, size_t bytes) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory), end = begin + bytes;
  for (uintptr_t at = begin & ~uintptr_t{7}; at < end;) {  // a word that begins before may reach into the memory
    Page &page = page_of(at);
    const uintptr_t next = (at / page_bytes + 1) * page_bytes;
    for (; at < next && at < end && page.words; at++) {
      std::unique_ptr<Word> &word = page.word[at % page_bytes];
      if (word && at + word->bytes > begin) word.reset(), page.words--;
    }
    if (!page.words) at = next;
  }
}

// ---- words ----

uint64_t value_in_memory(const void *address, size_t bytes) {
  uint64_t value = 0;
  memcpy(&value, address, bytes);
  return value;
}

Word &word_at(const void *address, size_t bytes) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  Page &page = page_of(at);
  std::unique_ptr<Word> &word = page.word[at % page_bytes];
  if (word && word->bytes != bytes) fail("the word at %p has %zu bytes and %zu", address, word->bytes, bytes);
  const uint64_t value = value_in_memory(address, bytes);
  page.words += !word;
  // Compilers tell of no plain store to a variable of which no other thread has the address.
  if (!word || word->stores.back().value != value) word.reset(new Word{bytes, {Store{value, {}, {}, 0}}});
  return *word;
}

bool must_see(const Store &store, const Knowledge &mine, Order order) {
  if (store.in_total_order && (order == SEQ_CST || store.in_total_order <= mine.fence)) return true;
  for (int other = 0; other < most_threads; other++) {
    const uint16_t step = store.known[other];
    if (step && (step <= mine.seen.of[other] || (order == SEQ_CST && step <= fenced.of[other]))) return true;
  }
  return false;
}

void note_read(int thread, Store &store, Order order) {
  if (!store.known[thread]) store.known[thread] = now[thread].before.of[thread];
  if (order == SEQ_CST && !store.in_total_order) store.in_total_order = ++total_order;
  (acquires(order) ? now : pending)[thread].join(store.message);
}

Store &choose(int thread, Word &word, Order order) {
  const size_t newest = word.stores.size() - 1;
  size_t oldest = newest;
  while (oldest > 0 && !must_see(word.stores[oldest], now[thread], order)) oldest--;
  return word.stores[newest - static_cast<size_t>(choose_store(static_cast<int>(newest - oldest + 1)))];
}

// `update`: the store continues the release sequence of the one before.
void append(int thread, Word &word, void *address, uint64_t value, Order order, bool update) {
  Store store{value, releases(order) ? now[thread] : released[thread], {}, 0};
  if (update) store.message.join(word.stores.back().message);
  store.known[thread] = now[thread].before.of[thread];
  if (order == SEQ_CST) store.in_total_order = ++total_order;
  word.stores.push_back(store);
  memcpy(address, &value, word.bytes);
  if (releases(order)) advance(thread);
}

}  // namespace

// ---- accesses ----

void plain_access(int thread, const void *address, size_t bytes, bool writes, uintptr_t site) {
  note_access(thread, address, bytes, writes, false, site);
  if (writes) drop_words(address, bytes);
}

uint64_t load(int thread, const void *address, size_t bytes, Order order, uintptr_t site) {
  note_access(thread, address, bytes, false, true, site);
  Store &store = choose(thread, word_at(address, bytes), order);
  note_read(thread, store, order);
  return store.value;
}

void store(int thread, void *address, size_t bytes, uint64_t value, Order order, uintptr_t site) {
  Word &word = word_at(address, bytes);
  note_access(thread, address, bytes, true, true, site);
  append(thread, word, address, value, order, false);
}

uint64_t update(int thread, void *address, size_t bytes, uint64_t (*change)(uint64_t old, uint64_t by), uint64_t by, Order order,
                uintptr_t site) {
  Word &word = word_at(address, bytes);
  note_access(thread, address, bytes, true, true, site);
  const uint64_t old = word.stores.back().value;
  note_read(thread, word.stores.back(), order);
  append(thread, word, address, change(old, by), order, true);
  return old;
}

bool compare_exchange(int thread, void *address, size_t bytes, uint64_t &expected, uint64_t value, Order order, Order failure,
                      uintptr_t site) {
  Word &word = word_at(address, bytes);
  Store *read = &choose(thread, word, failure);
  if (read->value == expected) read = &word.stores.back();
  const bool same = read->value == expected;
  note_access(thread, address, bytes, same, true, site);
  expected = read->value;
  note_read(thread, *read, same ? order : failure);
  if (same) append(thread, word, address, value, order, true);
  return same;
}

void fence(int thread, Order order) {
  if (acquires(order)) now[thread].join(pending[thread]);
  if (order == SEQ_CST) {
    now[thread].seen.join(fenced);
    fenced.join(now[thread].seen);
    now[thread].fence = ++total_order;
  }
  if (!releases(order)) return;
  released[thread] = now[thread];
  advance(thread);
}

void hand_over(int thread, Knowledge &message) {
  message.join(now[thread]);
  advance(thread);
}

void see_all_of(int thread, Knowledge &queue) {
  now[thread].seen.join(queue.seen);
  queue.seen.join(now[thread].seen);
  advance(thread);
}

void take_over(int thread, const Knowledge &message) { now[thread].join(message); }

// ---- executions ----

uint32_t execution_number() { return execution; }

void forget_all() {
  execution++;
  total_order = 0;
  fenced = {};
  for (int thread = 0; thread < most_threads; thread++) {
    now[thread] = released[thread] = pending[thread] = {};
    now[thread].before.of[thread] = now[thread].seen.of[thread] = 1;
  }
}

// What of a memory lies in pages that this execution has accessed: a large memory may have few.
template <typename Function> static void for_accessed(const void *memory, size_t bytes, Function function) {
  uintptr_t at = reinterpret_cast<uintptr_t>(memory);
  for (const uintptr_t end = at + bytes; at < end; at = (at / page_bytes + 1) * page_bytes) {
    const auto found = pages.find(at / page_bytes);
    if (found == pages.end() || found->second.execution != execution) continue;
    const uintptr_t next = (at / page_bytes + 1) * page_bytes;
    function(reinterpret_cast<void *>(at), (next < end ? next : end) - at);
  }
}

void give_back(int thread, const void *memory, size_t bytes, uintptr_t site) {
  for_accessed(memory, bytes, [&](void *part, size_t size) { note_access(thread, part, size, true, false, site); });
}

void take_anew(const void *memory, size_t bytes) {
  for_accessed(memory, bytes, [](void *part, size_t size) {
    drop_words(part, size);
    const uintptr_t first = reinterpret_cast<uintptr_t>(part) % page_bytes;
    for (size_t i = 0; i < size; i++) page_of(reinterpret_cast<uintptr_t>(part)).byte[first + i] = {};
  });
}

}  // namespace model
