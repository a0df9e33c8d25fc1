// Fences between ordinary accesses to shared memory and those of the asynchronous proxy, which bulk copies use.
#include <sys/mman.h>

#include "engine.h"

namespace emulator {

namespace {

constexpr u32 granule = 16;

u32 granules(const Block &b) { return (b.view.shared_bytes + granule - 1) / granule; }

// Separate pages, not the heap: see deliver_due.
bool make_view(Block &b) {
  AsyncView &v = b.async_view;
  if (v.bytes) return true;
  const size_t memory = granules(b) * granule, bytes = memory + granules(b) * sizeof(u32);
  void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return false;
  v = {static_cast<u8 *>(pages), reinterpret_cast<u32 *>(static_cast<u8 *>(pages) + memory), bytes};
  for (size_t i = 0; i < memory; i++) v.bytes[i] = 0xff;  // as shared memory was at first
  return true;
}

bool differs(const Block &b, u32 first) {
  for (u32 i = first; i < first + granule; i++)
    if (b.view.shared[i] != b.async_view.bytes[i]) return true;
  return false;
}

void take_over(Block &b, u32 first) { for (u32 i = first; i < first + granule; i++) b.async_view.bytes[i] = b.view.shared[i]; }

}  // namespace

// Fences are not matched with the threads whose stores they order: only a fence that is missing altogether is found.
void service_proxy_fence(Thread &thread, u32 what) {
  FiberThread &t = fiber_thread(thread);
  if (what == fence_alias) {
    t.fenced_aliases = t.fenced_reductions = true, t.acquired_alias = false;
    return;
  }
  for (Mbarrier &m : t.block->mbarriers) m.is_fenced = true;
  if (what & fence_async_shared) t.block->cluster->proxy_fences++;
}

// One memory at two addresses: what was stored by multimem may be stale at the ordinary address.  A thread of a kernel that
// stores so needs the fence before it looks there, and again after each store and each barrier of its block.
void check_alias_proxy(FiberThread &t, const u8 *polled, u32 line) {
  if (!t.block->grid->uses_multicast || t.fenced_aliases || !is_reached_by_multicast(u64(polled))) return;
  fail_thread(t, 719, "no fence.proxy.alias between multimem instructions and a load of the same memory at another address", line);
}

// The words have come; what was stored before them may have been stored by multimem too.  Also finds waits that poll with acquires.
void note_acquire(FiberThread &t, u64 address, u32 line) {
  constexpr u32 most_acquires = 100;
  t.acquires = address == t.acquired && t.looks == 1 ? t.acquires + 1 : 1;
  t.acquired = address, t.looks = 0;
  if (t.acquires > most_acquires)
    fail_thread(t, 719, "a wait polls with ld.acquire, which empties the first-level cache: poll with ld.relaxed", line);
  if (t.block->grid->uses_multicast && is_reached_by_multicast(address)) t.acquired_alias = true;
}

void check_acquired_alias(FiberThread &t, u32 line) {
  if (t.acquired_alias)
    fail_thread(t, 719, "no fence.proxy.alias between ld.acquire of memory that multimem stores and the block's barrier", line);
}

// Bulk copies are aligned to granules.
void check_async_view(FiberThread &t, Block &b, const u8 *at, u32 bytes, u32 line) {
  if (!make_view(b)) return;
  const u32 begin = u32(at - b.view.shared), fences = b.cluster->proxy_fences;
  for (u32 i = begin; i < begin + bytes; i += granule) {
    if (!differs(b, i)) continue;
    u32 &seen = b.async_view.fences[i / granule];
    if (seen == fences)
      fail_thread(t, 719, "no fence.proxy.async between ordinary stores to shared memory and cp.async.bulk", line);
    seen = fences;
    take_over(b, i);
  }
}

void note_async_write(Block &b, const u8 *at, u32 bytes) {
  if (!b.async_view.bytes) return;
  const u32 begin = u32(at - b.view.shared);
  for (u32 i = begin; i < begin + bytes; i += granule) take_over(b, i);
}

void drop_async_view(Block &b) {
  if (b.async_view.bytes) munmap(b.async_view.bytes, b.async_view.mapped_bytes);
  b.async_view = {};
}

}  // namespace emulator
