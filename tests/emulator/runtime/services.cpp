// The table of services, and those that are too small for a file.
#include <stdlib.h>

#include "clock.h"
#include "engine.h"

namespace emulator {

namespace {

char fence_tag;

void service_yield(Thread &thread, const u8 *polled, u32 line) {
  FiberThread &t = fiber_thread(thread);
  check_alias_proxy(t, polled, line);
  t.looks++, statistics.looks++;
  statistics.waits += t.last_polled == polled && t.last_spin_line == line && t.effects == t.effects_seen;
  wait(t, State::spinning, line, polled);
}

// Most atomics are not in spin loops: one in sixteen is enough to leave those that are.
void service_preempt(Thread &t, u32 line) {
  if (++fiber_thread(t).atomics % 16 == 0) wait(fiber_thread(t), State::spinning, line);
}

// ThreadSanitizer knows no fences: treat one as an edge to every other fence.
void service_fence(Thread &) {
  happens_before(&fence_tag);
  happens_after(&fence_tag);
}

void service_fail(Thread &t, u32 error, const char *what, u64 detail, u32 line) {
  char text[160];
  snprintf(text, sizeof text, detail ? "%s %#llx" : "%s", what, (unsigned long long)detail);
  fail_thread(t, error, text, line);
}

u32 service_address_space(Thread &thread, u64 address) {
  FiberThread &t = fiber_thread(thread);
  const u64 shared = u64(t.view->shared);
  if (address >= shared && address < shared + t.view->shared_bytes) return space_shared;
  if (block_with(*t.block->cluster, reinterpret_cast<void *>(address))) return space_shared_cluster;
  u64 stack = u64(t.fiber.stack.low), param = u64(t.view->param);
  if (address >= stack && address < stack + t.fiber.stack.size) return space_local;
  if (address >= param && address < param + t.block->grid->params.size()) return space_param;
  return space_global;
}

// A loop may wait for the clock alone. One that also reads memory is still at the same place.
u64 service_clock(Thread &thread, u32 line) {
  FiberThread &t = fiber_thread(thread);
  if (++t.atomics % 16 == 0) wait(t, State::spinning, t.last_polled ? t.last_spin_line : line, t.last_polled);
  return device_time();
}

// What the switch reads has been stored at ordinary addresses.
void note_reduction(FiberThread &t, u32 line) {
  statistics.reductions++;
  if (!t.fenced_reductions)
    fail_thread(t, 719, "no fence.proxy.alias between multimem.ld_reduce and the barrier or the grid before it", line);
}

u8 *service_multicast(Thread &t, u64 address, u32 bytes_and_kind, u32 index, u32 line) {
  constexpr u32 reads = 1u << 31;  // as in ptx_multimem.py
  const u32 bytes = bytes_and_kind & ~reads;
  u8 *at = nullptr;
  if (bytes_and_kind & reads && !index) note_reduction(fiber_thread(t), line);
  fiber_thread(t).block->grid->uses_multicast = true;
  fiber_thread(t).fenced_aliases = false;
  if (address % bytes) fail_thread(t, 716, "misaligned multimem", line);
  if (const char *problem = multicast_replica(address, bytes, index, fiber_thread(t).block->grid->limits.ordinal, &at))
    fail_thread(t, 700, problem, line);
  return at;
}

void service_released(Thread &, u64 address) { synchronise_alias(address, true); }

void service_acquired(Thread &t, u64 address, u32 line) {
  note_acquire(fiber_thread(t), address, line);
  synchronise_alias(address, false);
}

u32 approximation_seed() {
  const char *text = getenv("QUERN_EMULATOR_APPROXIMATE");
  return text ? u32(strtoul(text, nullptr, 10)) : 0;
}

}  // namespace

const Runtime runtime_services = {
    service_barrier, service_barrier_arrive, service_barrier_reduce, service_collective, service_active_mask, service_yield,
    service_fence, service_fail, service_copy_async, service_copy_commit, service_copy_wait, service_copy_arrive,
    service_bulk_load, service_bulk_store, service_bulk_commit, service_bulk_wait, service_store_async, service_proxy_fence,
    service_mbarrier_init, service_mbarrier_invalidate, service_mbarrier_arrive, service_mbarrier_expect,
    service_mbarrier_complete, service_mbarrier_test, service_cluster_arrive, service_cluster_wait, service_cluster_address,
    service_cluster_generic, service_cluster_window, service_cluster_map, service_cluster_map_generic, service_cluster_rank,
    service_address_space, service_clock, service_preempt, service_multicast, service_released, service_acquired,
    approximation_seed(), service_launch_dependents, service_wait_for_grid,
};

}  // namespace emulator
