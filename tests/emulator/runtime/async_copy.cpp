// cp.async, cp.async.bulk, st.async and red.async. A copy reads its source and writes its destination only when a thread waits for
// it: a kernel that forgets to wait finds the 0xff fill in its place.
#include <sys/mman.h>
#include <algorithm>
#include <cstring>

#include "engine.h"

namespace emulator {

namespace {

// ---- delivery ----

void perform(const Delivery &d) {
  u32 n = std::min(d.bytes, d.source_bytes);
  note_read(d.from, n);
  note_write(d.to, d.bytes);
  for (u32 i = 0; i < n; i++) d.to[i] = d.from[i];
  for (u32 i = n; i < d.bytes; i++) d.to[i] = 0;
}

void deliver(Block &from, const Delivery &d) {
  Cluster &c = *from.cluster;
  switch (d.kind) {
    case Delivery::arrive: mbarrier_settle(from, d.mbarrier, 1, 0); break;
    case Delivery::store:
      d.update(d.to, d.value);
      mbarrier_settle(from, d.mbarrier, 0, d.bytes);
      break;
    case Delivery::bulk_load:
      perform(d);
      if (Block *b = block_with(c, d.to)) note_async_write(*b, d.to, d.bytes);
      mbarrier_settle(from, d.mbarrier, 0, d.bytes);
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

void unstage(const Delivery &d) { if (d.staged_bytes) munmap(const_cast<u8 *>(d.from), d.staged_bytes); }

// Delivers, in order of issue, everything `due` selects. Element by element and
// in place: an allocation or a memmove inside a fiber would look to
// ThreadSanitizer like the kernel's threads racing for the runtime's own memory.
template <class F> void deliver_due(Block &b, F due) {
  for (Delivery &d : b.deliveries) d.is_due = due(d);
  for (const Delivery &d : b.deliveries)
    if (d.is_due) deliver(b, d);
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

// The destination is undefined from the issue on, and later writes to it come after that.
void hold_back(FiberThread &t, const Delivery &d) {
  if (d.kind == Delivery::copy || d.kind == Delivery::bulk_load) memset(d.to, 0xff, d.bytes);
  t.block->deliveries.push_back(d);
  if (d.mbarrier) happens_before(d.mbarrier);
}

void require(bool condition, Thread &t, u32 error, const char *what, u32 line) {
  if (!condition) fail_thread(t, error, what, line);
}

// The copy happens later, but its range is checked at the instruction.
void check_memory(Thread &t, const u8 *at, u32 bytes, u32 line) {
  require(!leaves_allocation(u64(at), bytes), t, 700, "asynchronous copy past the end of an allocation", line);
}

}  // namespace

void service_copy_async(Thread &thread, u8 *to, const u8 *from, u32 bytes, u32 source_bytes, u32 line) {
  FiberThread &t = fiber_thread(thread);
  require((u64(to) | u64(from)) % bytes == 0, t, 716, "misaligned cp.async", line);
  check_memory(t, from, std::min(bytes, source_bytes), line);
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
  Mbarrier &m = find_mbarrier(t, mbarrier, line);
  if (counted) mbarrier_add_pending(m);
  hold_back(t, {Delivery::arrive, t.linear, 0, nullptr, nullptr, 0, 0, mbarrier});
}

// ---- cp.async.bulk ----

namespace {

constexpr char misaligned[] = "cp.async.bulk not aligned to 16 bytes";

// The block of the cluster in whose shared memory the range lies, which must be there.
Block &shared_range(FiberThread &t, const u8 *at, u32 bytes, u32 line) {
  Block *b = block_with(*t.block->cluster, at);
  require(b && at + bytes <= b->view.shared + b->view.shared_bytes, t, 700, "asynchronous operation outside shared memory", line);
  require(b->live, t, 719, "asynchronous operation on a block of the cluster that has exited", line);
  return *b;
}

void check_completion(FiberThread &t, const Block &destination, u64 *mbarrier, u32 line) {
  find_mbarrier(t, mbarrier, line);
  require(block_with(*t.block->cluster, mbarrier) == &destination, t, 719,
          "the mbarrier lies in another block than the destination", line);
}

void load_one(FiberThread &t, u8 *to, const u8 *from, u32 bytes, u64 *mbarrier, u32 line) {
  Block &destination = shared_range(t, to, bytes, line);
  check_completion(t, destination, mbarrier, line);
  require(find_mbarrier(t, mbarrier, line).is_fenced, t, 719,
          "no fence.mbarrier_init or fence.proxy.async between mbarrier.init and cp.async.bulk", line);
  check_async_view(t, destination, to, bytes, line);
  hold_back(t, {Delivery::bulk_load, t.linear, 0, to, from, bytes, bytes, mbarrier});
  note_async_write(destination, to, bytes);
}

}  // namespace

// With a multicast the offsets of destination and mbarrier are the same in all of the blocks.
void service_bulk_load(Thread &thread, u8 *to, const u8 *from, u32 bytes, u64 *mbarrier, u32 ctas, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Cluster &c = *t.block->cluster;
  require((u64(to) | u64(from) | bytes) % 16 == 0, t, 716, misaligned, line);
  if (Block *source = block_with(c, from)) {
    require(source == t.block, t, 719, "cp.async.bulk from another block's shared memory", line);
    check_async_view(t, shared_range(t, from, bytes, line), from, bytes, line);
  } else {
    check_memory(t, from, bytes, line);
  }
  if (!ctas) return load_one(t, to, from, bytes, mbarrier, line);
  require(ctas >> c.blocks.size() == 0, t, 719, "cp.async.bulk: multicast to ranks that the cluster does not have", line);
  const u8 *base = shared_range(t, to, bytes, line).view.shared;
  for (auto &b : c.blocks) {
    if (!(ctas >> b->view.cluster_ctarank & 1)) continue;
    u8 *target = b->view.shared;
    load_one(t, target + (to - base), from, bytes, reinterpret_cast<u64 *>(target + (reinterpret_cast<u8 *>(mbarrier) - base)),
             line);
  }
}

void service_bulk_store(Thread &thread, u8 *to, const u8 *from, u32 bytes, u32 line) {
  FiberThread &t = fiber_thread(thread);
  require((u64(to) | u64(from) | bytes) % 16 == 0, t, 716, misaligned, line);
  require(&shared_range(t, from, bytes, line) == t.block, t, 719, "cp.async.bulk from another block's shared memory", line);
  require(!block_with(*t.block->cluster, to), t, 719, "cp.async.bulk to global memory with an address in shared memory", line);
  check_memory(t, to, bytes, line);
  check_async_view(t, *t.block, from, bytes, line);
  hold_back(t, {Delivery::bulk_store, t.linear, t.bulk_groups, to, from, bytes, bytes, nullptr});
}

void service_bulk_commit(Thread &t) { fiber_thread(t).bulk_groups++; }

// After .read the source may be used again, but no thread may rely on the destination yet.
void service_bulk_wait(Thread &thread, u32 groups_left, bool only_read) {
  FiberThread &t = fiber_thread(thread);
  u32 end = t.bulk_groups > groups_left ? t.bulk_groups - groups_left : 0;
  auto waited_for = [&](const Delivery &d) { return d.kind == Delivery::bulk_store && d.thread == t.linear && d.group < end; };
  if (!only_read) return deliver_due(*t.block, waited_for);
  for (Delivery &d : t.block->deliveries)
    if (waited_for(d)) stage(d);
}

// ---- st.async and red.async ----

void service_store_async(Thread &thread, u8 *to, const u8 *value, u32 bytes, AsyncUpdate update, u64 *mbarrier, u32 line) {
  FiberThread &t = fiber_thread(thread);
  require(u64(to) % bytes == 0, t, 716, "misaligned st.async or red.async", line);
  check_completion(t, shared_range(t, to, bytes, line), mbarrier, line);
  Delivery d{Delivery::store, t.linear, 0, to, nullptr, bytes, bytes, mbarrier, update};
  for (u32 i = 0; i < bytes; i++) d.value[i] = value[i];
  hold_back(t, d);
}

// ---- queries about operations in progress ----

bool is_bound(const Cluster &c, const u64 *mbarrier) {
  for (auto &b : c.blocks)
    for (const Delivery &d : b->deliveries)
      if (d.mbarrier == mbarrier) return true;
  return false;
}

// An arrival completes its thread's copies too.
void deliver_bound_to(FiberThread &t, const u64 *mbarrier) {
  if (!is_bound(*t.block->cluster, mbarrier)) return;
  void *edge = const_cast<u64 *>(mbarrier);
  happens_after(edge);
  for (auto &b : t.block->cluster->blocks) {
    auto arrives = [&](const Delivery &copy) {
      return std::any_of(b->deliveries.begin(), b->deliveries.end(), [&](const Delivery &d) {
        return d.kind == Delivery::arrive && d.mbarrier == mbarrier && d.thread == copy.thread;
      });
    };
    deliver_due(*b, [&](const Delivery &d) { return d.mbarrier == mbarrier || (d.kind == Delivery::copy && arrives(d)); });
  }
  happens_before(edge);
}

bool has_stores_under_way(const Block &b) {
  return std::any_of(b.deliveries.begin(), b.deliveries.end(), [](const Delivery &d) { return d.staged_bytes != 0; });
}

// A block that ends while an asynchronous operation still uses its shared memory is an error on the GPU too.
void check_deliveries(Block &b) {
  auto uses = [&](const u8 *at) { return at >= b.view.shared && at < b.view.shared + b.view.shared_bytes; };
  for (auto &other : b.cluster->blocks)
    for (const Delivery &d : other->deliveries) {
      bool reads = d.kind != Delivery::copy && uses(d.from);
      bool writes = (d.kind == Delivery::bulk_load || d.kind == Delivery::store) && uses(d.to);
      if ((!reads && !writes) || b.grid->error) continue;
      report_block(b, reads ? "block exits while a bulk copy still reads its shared memory"
                            : "block exits while an asynchronous operation still writes its shared memory");
      b.grid->error = 719;
    }
}

void read_sources(Block &b) {
  for (Delivery &d : b.deliveries)
    if (d.kind == Delivery::bulk_load || (d.kind == Delivery::copy && d.source_bytes == d.bytes)) stage(d);
}

// In a history of its own. That of after_all has the ends of other grids, behind which it would order what follows this one.
void finish_stores(Block &b) {
  if (!has_stores_under_way(b)) return;
  History history;
  history.begin();
  History::Scope in_history(history);
  happens_after(b.grid->sync_tag);
  deliver_due(b, [](const Delivery &d) { return d.staged_bytes != 0; });
  happens_before(b.grid->sync_tag);
}

void drop_deliveries(Block &b) {
  for (const Delivery &d : b.deliveries) unstage(d);
  b.deliveries.clear();
}

}  // namespace emulator
