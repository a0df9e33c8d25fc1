// cp.async, cp.async.bulk and mbarriers. A copy reads its source and writes its
// destination only when somebody waits for it: a kernel that forgets to wait
// finds the 0xff fill in its place.
#include <sys/mman.h>
#include <algorithm>
#include <cstring>

#include "engine.h"

namespace emulator {

namespace {

// ---- the mbarrier's 64 bits ----
// 0: phase; 1-20: arrivals still expected; 21-40: arrivals per phase; 41-63: bytes still expected, may be negative.

constexpr u64 count_mask = 0xfffff;
u64 pending_of(u64 word) { return word >> 1 & count_mask; }
u64 count_of(u64 word) { return word >> 21 & count_mask; }
s64 bytes_of(u64 word) { return s64(word) >> 41; }
u64 word_of(u64 phase, u64 pending, u64 count, s64 bytes) {
  return phase | pending << 1 | count << 21 | u64(bytes) << 41;
}

void update(u64 *word, u64 arrivals, s64 bytes) {
  u64 w = *word, pending = pending_of(w) - arrivals;
  s64 left = bytes_of(w) + bytes;
  if (pending == 0 && left == 0) *word = word_of((w & 1) ^ 1, count_of(w), count_of(w), 0);
  else *word = word_of(w & 1, pending, count_of(w), left);
}

void check_mbarrier(Thread &t, u64 *word, u32 line) {
  if (u64(word) & 7) fail_thread(t, 716, "misaligned mbarrier", line);
  if (*word == ~0ull) fail_thread(t, 719, "mbarrier used before mbarrier.init", line);
}

// ---- delivery ----

void perform(const Delivery &d) {
  u32 n = std::min(d.bytes, d.source_bytes);
  note_read(d.from, n);
  note_write(d.to, d.bytes);
  for (u32 i = 0; i < n; i++) d.to[i] = d.from[i];
  for (u32 i = n; i < d.bytes; i++) d.to[i] = 0;
}

void deliver(const Delivery &d) {
  switch (d.kind) {
    case Delivery::arrive: update(d.mbarrier, 1, 0); break;
    case Delivery::bulk_load:
      perform(d);
      update(d.mbarrier, 0, -s64(d.bytes));
      break;
    default: perform(d);
  }
  note_progress();
}

// The source has been read, nothing written yet. No heap: see deliver_due.
void stage(Delivery &d) {
  if (d.staged_bytes) return;
  void *pages = mmap(nullptr, d.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  note_read(d.from, d.bytes);
  for (u32 i = 0; i < d.bytes; i++) static_cast<u8 *>(pages)[i] = d.from[i];
  d.from = static_cast<u8 *>(pages), d.staged_bytes = d.bytes;
}

void unstage(const Delivery &d) {
  if (d.staged_bytes) munmap(const_cast<u8 *>(d.from), d.staged_bytes);
}

// Delivers, in order of issue, everything `due` selects. Element by element and
// in place: an allocation or a memmove inside a fiber would look to
// ThreadSanitizer like the kernel's threads racing for the runtime's own memory.
template <class F> void deliver_due(Block &b, F due) {
  for (Delivery &d : b.deliveries) d.is_due = due(d);
  for (const Delivery &d : b.deliveries)
    if (d.is_due) deliver(d);
  size_t kept = 0;
  for (size_t i = 0; i < b.deliveries.size(); i++) {
    if (b.deliveries[i].is_due) {
      unstage(b.deliveries[i]);
      continue;
    }
    if (kept != i) b.deliveries[kept] = b.deliveries[i];
    kept++;
  }
  b.deliveries.resize(kept);
}

// The destination is undefined from the issue on.
void hold_back(FiberThread &t, const Delivery &d) {
  if (d.kind != Delivery::arrive && d.kind != Delivery::bulk_store) memset(d.to, 0xff, d.bytes);
  t.block->deliveries.push_back(d);
}

void require(bool condition, Thread &t, u32 error, const char *what, u32 line) {
  if (!condition) fail_thread(t, error, what, line);
}

}  // namespace

void service_copy_async(Thread &thread, u8 *to, const u8 *from, u32 bytes, u32 source_bytes, u32 line) {
  FiberThread &t = fiber_thread(thread);
  require((u64(to) | u64(from)) % bytes == 0, t, 716, "misaligned cp.async", line);
  hold_back(t, {Delivery::copy, t.linear, t.copy_groups, to, from, bytes, source_bytes, nullptr});
}

void service_copy_commit(Thread &t) { fiber_thread(t).copy_groups++; }

void service_copy_wait(Thread &thread, u32 groups_left, bool uncommitted_too) {
  FiberThread &t = fiber_thread(thread);
  u32 end = uncommitted_too ? ~0u : t.copy_groups > groups_left ? t.copy_groups - groups_left : 0;
  deliver_due(*t.block, [&](const Delivery &d) {
    return d.kind == Delivery::copy && d.thread == t.linear && d.group < end;
  });
}

// The arrival follows all earlier copies of the thread. Without .noinc the
// pending count grows first, so that this arrival is not one of those expected.
void service_copy_arrive(Thread &thread, u64 *mbarrier, bool counted, u32 line) {
  FiberThread &t = fiber_thread(thread);
  check_mbarrier(t, mbarrier, line);
  if (counted) *mbarrier += 2;
  happens_before(mbarrier);
  hold_back(t, {Delivery::arrive, t.linear, 0, nullptr, nullptr, 0, 0, mbarrier});
}

void service_bulk_load(Thread &thread, u8 *to, const u8 *from, u32 bytes, u64 *mbarrier, u32 line) {
  FiberThread &t = fiber_thread(thread);
  require((u64(to) | u64(from) | bytes) % 16 == 0, t, 716, "cp.async.bulk not aligned to 16 bytes", line);
  check_mbarrier(t, mbarrier, line);
  happens_before(mbarrier);
  hold_back(t, {Delivery::bulk_load, t.linear, 0, to, from, bytes, bytes, mbarrier});
}

void service_bulk_store(Thread &thread, u8 *to, const u8 *from, u32 bytes, u32 line) {
  FiberThread &t = fiber_thread(thread);
  require((u64(to) | u64(from) | bytes) % 16 == 0, t, 716, "cp.async.bulk not aligned to 16 bytes", line);
  hold_back(t, {Delivery::bulk_store, t.linear, t.bulk_groups, to, from, bytes, bytes, nullptr});
}

void service_bulk_commit(Thread &t) { fiber_thread(t).bulk_groups++; }

// After .read the source may be used again, but nobody may count on the destination yet.
void service_bulk_wait(Thread &thread, u32 groups_left, bool only_read) {
  FiberThread &t = fiber_thread(thread);
  u32 end = t.bulk_groups > groups_left ? t.bulk_groups - groups_left : 0;
  auto waited_for = [&](const Delivery &d) { return d.kind == Delivery::bulk_store && d.thread == t.linear && d.group < end; };
  if (!only_read) return deliver_due(*t.block, waited_for);
  for (Delivery &d : t.block->deliveries)
    if (waited_for(d)) stage(d);
}

bool has_stores_under_way(const Block &b) {
  return std::any_of(b.deliveries.begin(), b.deliveries.end(), [](const Delivery &d) { return d.staged_bytes != 0; });
}

// A block that exits while a bulk store still reads its shared memory is wrong on the GPU too.
void finish_deliveries(Block &b) {
  after_all(b.grid->sync_tag, [&] {
    deliver_due(b, [](const Delivery &d) { return d.staged_bytes != 0; });
    happens_before(b.grid->sync_tag);
  });
  for (const Delivery &d : b.deliveries)
    if (d.kind == Delivery::bulk_store && !b.grid->error) {
      report_block(b, "block exits with a bulk store it did not wait for");
      b.grid->error = 719;
    }
  b.deliveries.clear();
}

void drop_deliveries(Block &b) {
  for (const Delivery &d : b.deliveries) unstage(d);
  b.deliveries.clear();
}

void service_mbarrier_init(Thread &t, u64 *word, u32 count, u32 line) {
  require(u64(word) % 8 == 0, t, 716, "misaligned mbarrier", line);
  require(count >= 1 && count < count_mask, t, 719, "mbarrier count out of range", line);
  *word = word_of(0, count, count, 0);
}

u64 service_mbarrier_arrive(Thread &t, u64 *word, u32 count, u32 expected_bytes, u32 line) {
  check_mbarrier(t, word, line);
  require(count <= pending_of(*word), t, 719, "mbarrier: more arrivals than expected", line);
  u64 state = *word;
  happens_before(word);
  if (expected_bytes) *word = word_of(*word & 1, pending_of(*word), count_of(*word), bytes_of(*word) + expected_bytes);
  update(word, count, 0);
  note_progress();
  return state;
}

void service_mbarrier_complete(Thread &t, u64 *word, u32 bytes, u32 line) {
  check_mbarrier(t, word, line);
  happens_before(word);
  update(word, 0, -s64(bytes));
  note_progress();
}

// True if the phase with this parity has completed. Copies bound to the
// mbarrier arrive now at the latest.
bool service_mbarrier_test(Thread &thread, u64 *word, u32 parity, bool, u32 line) {
  FiberThread &t = fiber_thread(thread);
  check_mbarrier(t, word, line);
  auto completed = [&] { return (*word & 1) != (parity & 1); };
  if (!completed()) {
    happens_after(word);
    for (auto &b : t.block->cluster->blocks) {
      std::vector<u32> threads;
      for (const Delivery &d : b->deliveries)
        if (d.kind == Delivery::arrive && d.mbarrier == word) threads.push_back(d.thread);
      deliver_due(*b, [&](const Delivery &d) {
        bool before_arrival = d.kind == Delivery::copy && std::count(threads.begin(), threads.end(), d.thread);
        return d.mbarrier == word || before_arrival;
      });
    }
    happens_before(word);
  }
  if (!completed()) wait(t, State::spinning, line);
  if (!completed()) return false;
  happens_after(word);
  return true;
}

}  // namespace emulator
