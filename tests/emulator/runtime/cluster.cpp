// Blocks of a cluster: their barrier, and access to each other's shared memory.
#include <sys/mman.h>
#include <cstring>

#include "engine.h"
#include "order.h"

namespace emulator {

// ---- the barrier: one phase at a time, arrive and wait apart ----

namespace {

// With .aligned all lanes of a warp must execute the same instruction.
void check_alignment(FiberThread &last, Block &b) {
  const FiberThread *left = nullptr;
  for (FiberThread &t : b.thread) {
    if (!t.cluster_arrived) continue;
    bool apart = left && left->warp == t.warp && (left->cluster_arrive != t.cluster_arrive || left->cluster_wait != t.cluster_wait);
    if (apart) {
      report_block(b, "lanes of one warp come by different barrier.cluster instructions with .aligned");
      fail_thread(last, 719, "divergent barrier.cluster", t.line);
    }
    left = &t;
  }
}

void complete_phase(FiberThread &last) {
  Cluster &c = *last.block->cluster;
  for (auto &b : c.blocks) check_alignment(last, *b);
  c.arrived = 0, c.phase++;
  note_progress();
  for (auto &b : c.blocks)
    for (FiberThread &t : b->thread)
      if (t.state == State::at_cluster_barrier) make_ready(*b, t.warp, 1u << t.lane);
}

}  // namespace

void service_cluster_arrive(Thread &thread, u32 options, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Cluster &c = *t.block->cluster;
  if (t.cluster_arrived) fail_thread(t, 719, "barrier.cluster.arrive without barrier.cluster.wait after the one before", line);
  t.cluster_arrived = true, t.cluster_phase = c.phase, t.cluster_arrive = options & cluster_aligned ? line : 0;
  if (!(options & cluster_relaxed)) happens_before(&c.sync_tag);
  if (++c.arrived >= c.live_threads) complete_phase(t);
}

void service_cluster_wait(Thread &thread, u32 options, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Cluster &c = *t.block->cluster;
  if (!t.cluster_arrived) fail_thread(t, 719, "barrier.cluster.wait without barrier.cluster.arrive", line);
  while (c.phase == t.cluster_phase) wait(t, State::at_cluster_barrier, line);
  t.cluster_arrived = false, t.cluster_wait = options & cluster_aligned ? line : 0;
  happens_after(&c.sync_tag);
}

// A thread that has exited is neither waited for nor counted.
void thread_exits_cluster(FiberThread &t) {
  Cluster &c = *t.block->cluster;
  c.live_threads--;
  if (t.cluster_arrived && t.cluster_phase == c.phase) c.arrived--;
  t.cluster_arrived = false;
  if (c.arrived && c.arrived >= c.live_threads) complete_phase(t);
}

// ---- shared memory of the cluster ----

// Addresses in shared::cluster carry the rank plus one above bit 24; 0 there means the own block.
namespace {

constexpr u32 offset_mask = 0xffffff;
constexpr int rank_shift = 24;

bool holds(const Block &b, const u8 *at) { return at >= b.view.shared && at < b.view.shared + b.view.shared_bytes; }

void check_rank(FiberThread &t, u32 rank, u32 line) {
  if (rank >= t.block->cluster->blocks.size()) fail_thread(t, 719, "cluster rank out of range", line);
}

void check_access(FiberThread &t, const Block &b, const u8 *at, u32 bytes, u32 line) {
  if (!b.has_begun) fail_thread(t, 719, "access to the shared memory of a block of the cluster that has not begun", line);
  if (!b.live) fail_thread(t, 719, "access to the shared memory of a block of the cluster that has exited", line);
  if (at + bytes > b.view.shared + b.view.shared_bytes)
    fail_thread(t, 700, "access past the end of the shared memory of a block of the cluster", line);
}

// Whether weak stores to other blocks become visible at once or only after these have run as far as they can.
bool stores_late() { return order() == Order::reverse || (order() == Order::random && choose_bit(3, 0)); }

// The other blocks run as far as they can before this thread does. Its reads must not change meanwhile, nor may the block that
// owns the memory end: otherwise no synchronisation ordered the two.
void meet_peer(FiberThread &t, const Block &b, u8 *at, u32 bytes, u32 access, u32 line) {
  u8 before[32];
  const u32 compared = access == peer_read ? bytes : 0;
  for (u32 i = 0; i < compared; i++) before[i] = at[i];
  if (access == peer_read || (access == peer_write && stores_late())) {
    if (t.last_polled != at) note_progress();
    wait(t, State::spinning, line, at);
  }
  check_access(t, b, at, bytes, line);
  for (u32 i = 0; i < compared; i++)
    if (at[i] != before[i])
      fail_thread(t, 719, "shared memory of another block of the cluster changes while it is read (missing barrier?)", line);
}

u8 *access(FiberThread &t, Block &b, u8 *at, u32 bytes, u32 access, u32 line) {
  check_access(t, b, at, bytes, line);
  if (bytes && u64(at) % (bytes & -bytes)) fail_thread(t, 716, "misaligned address in shared::cluster", line);
  if (&b != t.block) meet_peer(t, b, at, bytes, access, line);
  return at;
}

Block &block_of(FiberThread &t, u32 address, u32 line) {
  u32 tag = address >> rank_shift;
  if (!tag) return *t.block;
  check_rank(t, tag - 1, line);
  return *t.block->cluster->blocks[tag - 1];
}

}  // namespace

// Describes a forbidden address in or behind the shared memory of the cluster; empty for all other addresses.
std::string describe_shared(const Block &own, const void *address) {
  const char *at = static_cast<const char *>(address);
  for (auto &b : own.cluster->blocks) {
    const char *end = b->mapping + b->mapping_bytes, *guard = end - b->guard_bytes;
    if (at < b->mapping || at >= end) continue;
    if (at < guard) return "shared memory of block " + std::to_string(b->view.cluster_ctarank)
        + " of the cluster, which has exited";
    bool is_mapped = at - reinterpret_cast<const char *>(b->view.shared) > offset_mask;
    return is_mapped ? "an address in shared::cluster used as one in shared::cta" : "past the end of shared memory";
  }
  return "";
}

Block *block_with(Cluster &c, const void *address) {
  for (auto &b : c.blocks)
    if (holds(*b, static_cast<const u8 *>(address))) return b.get();
  return nullptr;
}

u8 *service_cluster_address(Thread &thread, u32 address, u32 bytes, u32 kind, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Block &b = block_of(t, address, line);
  return access(t, b, b.view.shared + (address & offset_mask), bytes, kind, line);
}

u8 *service_cluster_generic(Thread &thread, u8 *address, u32 bytes, u32 kind, u32 line) {
  FiberThread &t = fiber_thread(thread);
  if (holds(*t.block, address)) return address;
  Block *b = block_with(*t.block->cluster, address);
  return b ? access(t, *b, address, bytes, kind, line) : address;
}

u32 service_cluster_window(Thread &thread, u64 generic, u32 line) {
  FiberThread &t = fiber_thread(thread);
  u8 *at = reinterpret_cast<u8 *>(generic);
  Block *b = block_with(*t.block->cluster, at);
  if (!b) fail_thread(t, 719, "generic address outside the shared memory of the cluster", line);
  return u32(at - b->view.shared) | (b == t.block ? 0 : (b->view.cluster_ctarank + 1) << rank_shift);
}

u32 service_cluster_map(Thread &thread, u32 address, u32 rank, u32 line) {
  FiberThread &t = fiber_thread(thread);
  check_rank(t, rank, line);
  block_of(t, address, line);
  return (address & offset_mask) | (rank + 1) << rank_shift;
}

u64 service_cluster_map_generic(Thread &thread, u64 address, u32 rank, u32 line) {
  FiberThread &t = fiber_thread(thread);
  check_rank(t, rank, line);
  Block *b = block_with(*t.block->cluster, reinterpret_cast<u8 *>(address));
  if (!b) fail_thread(t, 719, "mapa of an address outside shared memory", line);
  return address - u64(b->view.shared) + u64(t.block->cluster->blocks[rank]->view.shared);
}

u32 service_cluster_rank(Thread &thread, u32 address, u32 line) {
  return block_of(fiber_thread(thread), address, line).view.cluster_ctarank;
}

// ---- the start and the end of a block in its cluster ----

// For ThreadSanitizer each is a write to all of its shared memory, before or after all accesses of the block's own threads.
void begin_shared(Block &b) {
  if (b.has_begun) return happens_after(&b.begin_tag);
  note_write(b.view.shared, b.view.shared_bytes);
  happens_before(&b.begin_tag);
  b.has_begun = true;
}

// From here on no thread may use its shared memory.
void close_shared(Block &b) {
  happens_after(&b.exit_tag);
  note_write(b.view.shared, b.view.shared_bytes);
  check_ended_block(b);
  mprotect(b.mapping, b.mapping_bytes - b.guard_bytes, PROT_NONE);
  b.is_closed = true;
}

void open_shared(Block &b) {
  mprotect(b.mapping, b.mapping_bytes - b.guard_bytes, PROT_READ | PROT_WRITE);
  b.is_closed = false;
}

}  // namespace emulator
