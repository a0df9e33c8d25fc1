// mbarrier objects. Their state is kept here; the 64 bits in shared memory only reveal whether a thread has overwritten them.
#include <algorithm>
#include <cstdlib>

#include "engine.h"

namespace emulator {

namespace {

constexpr u32 most_arrivals = (1 << 20) - 1;
constexpr s32 most_bytes = (1 << 20) - 1;
constexpr u32 most_at_once = 8;  // that a thread looks at by turns

// Bit 0: parity of the phase; 1-20: arrivals still expected; 21-40: arrivals per phase; 41-61: bytes still expected.
// Of a phase that an arrival returns: bit 0 and 21-63 number it, 1-20 are as above.
constexpr u64 phase_mask = ~0ull << 21 | 1;
u64 token_of(u64 phase, u32 pending) { return (phase & 1) | u64(pending) << 1 | (phase >> 1) << 21; }

void write_word(Mbarrier &m) {
  *m.word = m.written = (m.phase & 1) | u64(m.pending) << 1 | u64(m.count) << 21 | (u64(m.bytes) & 0x1fffff) << 41;
}

void count(Mbarrier &m, u32 arrivals, s64 bytes) {
  m.pending -= arrivals, m.bytes += s32(bytes);
  if (m.pending == 0 && m.bytes == 0) m.phase++, m.pending = m.count;
  write_word(m);
  note_progress();
}

Mbarrier *look_up(Block &b, const u64 *word) {
  auto at = std::find_if(b.mbarriers.begin(), b.mbarriers.end(), [&](const Mbarrier &m) { return m.word == word; });
  return at == b.mbarriers.end() ? nullptr : &*at;
}

Block &owner_of(FiberThread &t, const u64 *word, u32 line) {
  if (u64(word) % 8) fail_thread(t, 716, "misaligned mbarrier", line);
  Block *b = block_with(*t.block->cluster, word);
  if (!b) fail_thread(t, 719, "mbarrier outside shared memory", line);
  return *b;
}

Mbarrier &find_own(FiberThread &t, u64 *word, const char *problem, u32 line) {
  if (&owner_of(t, word, line) != t.block) fail_thread(t, 719, problem, line);
  return find_mbarrier(t, word, line);
}

// ThreadSanitizer's edges are at the word for the block's own threads, and one byte further for arrivals from other blocks, which
// are visible only to threads whose scope is the cluster.
char *own_edge(const Mbarrier &m) { return reinterpret_cast<char *>(m.word); }
char *cluster_edge(const Mbarrier &m) { return reinterpret_cast<char *>(m.word) + 1; }

void release(FiberThread &t, const Mbarrier &m, u32 options) {
  if (options & mbarrier_relaxed) return;
  if (block_with(*t.block->cluster, m.word) == t.block) happens_before(own_edge(m));
  else if (options & mbarrier_cluster_scope) happens_before(cluster_edge(m));
}

void acquire(const Mbarrier &m, u32 options) {
  if (options & mbarrier_relaxed) return;
  happens_after(own_edge(m));
  if (options & mbarrier_cluster_scope) happens_after(cluster_edge(m));
}

void expect_bytes(FiberThread &t, Mbarrier &m, s64 bytes, u32 line) {
  if (std::llabs(m.bytes + bytes) > most_bytes) fail_thread(t, 719, "mbarrier: tx-count out of range", line);
  m.bytes += s32(bytes);
}

bool has_completed(FiberThread &t, const Mbarrier &m, u64 phase, u32 options, u32 line) {
  if (options & mbarrier_parity) {
    if (phase > 1) fail_thread(t, 719, "mbarrier: phase parity other than 0 and 1", line);
    return (m.phase & 1) != phase;
  }
  const u64 current = token_of(m.phase, 0), previous = token_of(m.phase - 1, 0);
  if ((phase & phase_mask) != current && (!m.phase || (phase & phase_mask) != previous))
    fail_thread(t, 719, "mbarrier: the state is neither of the current phase nor of the one before", line);
  return (phase & phase_mask) != current;
}

}  // namespace

Mbarrier &find_mbarrier(FiberThread &t, u64 *word, u32 line) {
  Mbarrier *m = look_up(owner_of(t, word, line), word);
  if (!m) fail_thread(t, 719, "mbarrier used before mbarrier.init", line);
  if (*word != m->written) fail_thread(t, 719, "mbarrier written over by something else than mbarrier instructions", line);
  return *m;
}

void mbarrier_add_pending(Mbarrier &m) {
  m.pending++;
  write_word(m);
}

void mbarrier_settle(Block &from, u64 *word, u32 arrivals, u32 bytes) {
  Block *b = block_with(*from.cluster, word);
  Mbarrier *m = b ? look_up(*b, word) : nullptr;
  if (!m) return;
  if (b != &from) m->remote = m->phase + 1;
  count(*m, arrivals, -s64(bytes));
}

void service_mbarrier_init(Thread &thread, u64 *word, u32 count, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Block &b = owner_of(t, word, line);
  if (&b != t.block) fail_thread(t, 719, "mbarrier.init in another block's shared memory", line);
  if (count < 1 || count > most_arrivals) fail_thread(t, 719, "mbarrier count out of range", line);
  if (look_up(b, word)) fail_thread(t, 719, "mbarrier.init of a valid mbarrier (mbarrier.inval comes first)", line);
  b.mbarriers.push_back({word, 0, 0, count, count, 0, false, 0});
  write_word(b.mbarriers.back());
}

void service_mbarrier_invalidate(Thread &thread, u64 *word, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Mbarrier &m = find_own(t, word, "mbarrier.inval in another block's shared memory", line);
  if (is_bound(*t.block->cluster, word)) fail_thread(t, 719, "mbarrier.inval while copies are under way that complete on it", line);
  m = t.block->mbarriers.back();
  t.block->mbarriers.pop_back();
  *word = ~0ull;
}

u64 service_mbarrier_arrive(Thread &thread, u64 *word, u32 arrivals, u32 expected_bytes, u32 options, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Mbarrier &m = find_mbarrier(t, word, line);
  if (arrivals < 1 || arrivals > most_arrivals) fail_thread(t, 719, "mbarrier: count out of range", line);
  if (arrivals > m.pending) fail_thread(t, 719, "mbarrier: more arrivals than expected", line);
  release(t, m, options);
  const u64 state = token_of(m.phase, m.pending), phase = m.phase;
  expect_bytes(t, m, expected_bytes, line);
  if (options & mbarrier_drop) m.count -= arrivals;
  count(m, arrivals, 0);
  if ((options & mbarrier_no_complete) && m.phase != phase) fail_thread(t, 719, "mbarrier: .noComplete completes the phase", line);
  return state;
}

void service_mbarrier_expect(Thread &thread, u64 *word, u32 bytes, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Mbarrier &m = find_mbarrier(t, word, line);
  expect_bytes(t, m, bytes, line);
  count(m, 0, 0);
}

void service_mbarrier_complete(Thread &thread, u64 *word, u32 bytes, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Mbarrier &m = find_mbarrier(t, word, line);
  expect_bytes(t, m, -s64(bytes), line);
  count(m, 0, 0);
}

// Without the scope a thread may read what was in its block's memory before the bytes of other blocks.
void require_scope(FiberThread &t, const Mbarrier &m, u32 options, u32 line) {
  if (m.remote && m.remote == m.phase && !(options & (mbarrier_cluster_scope | mbarrier_relaxed)))
    fail_thread(t, 719, "wait without .acquire.cluster at an mbarrier that has bytes of other blocks", line);
}

// True if the phase has completed. A thread that finds it open gets false, even if it completes while the others run as far as
// they can; copies that complete it arrive when a thread tests again.
bool service_mbarrier_test(Thread &thread, u64 *word, u64 phase, u32 options, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Mbarrier &m = find_own(t, word, "wait at an mbarrier in another block's shared memory", line);
  const bool asks_again = (t.asked == word && t.asked_phase == m.phase) || t.found_open % most_at_once == most_at_once - 1;
  if (asks_again && !has_completed(t, m, phase, options, line)) deliver_bound_to(t, word);
  if (has_completed(t, m, phase, options, line)) return require_scope(t, m, options, line), acquire(m, options), true;
  t.asked = word, t.asked_phase = m.phase, t.found_open++;
  if (is_bound(*t.block->cluster, word)) note_progress();
  wait(t, State::spinning, line, reinterpret_cast<u8 *>(word));
  return false;
}

}  // namespace emulator
