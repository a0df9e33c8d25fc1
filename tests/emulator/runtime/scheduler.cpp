// Decides which CUDA thread runs next: first the lanes of one warp, then the warps of the block; another block only when the
// current one waits or spins. In random order blocks also begin while others run, and are interrupted where their threads meet.
#include <pthread.h>
#include <sys/mman.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine.h"
#include "faults.h"
#include "order.h"

namespace emulator {

Statistics statistics;

namespace {

std::vector<Grid *> active;
std::vector<std::unique_ptr<Cluster>> resident;
Fiber host;                  // the host thread that is in step()
FiberThread *current;        // the CUDA thread that runs, if any
bool direct;                 // it runs as a plain call on the host's stack
Stack retired;               // stack of the fiber that ended last: still in use until the next switch
u64 progress_events;
u64 looks_elsewhere;         // of spinning threads: possible progress

// ---- shared memory: it ends at a guard page, its bytes start as NaN ----

constexpr size_t page = 4096, guard = 16 * page;
struct Mapping { char *base; size_t bytes; };
std::vector<Mapping> free_mappings;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// An address in shared::cluster of another block, used as one in shared::cta, hits the guard too.
size_t guard_of(const BlockView &v) {
  return v.cluster_nctarank > 1 && !under_tsan() ? size_t(v.cluster_nctarank + 2) << 24 : guard;
}

char *map_guarded(size_t bytes, size_t guard_bytes) {
  void *base = mmap(nullptr, bytes + guard_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED || mprotect(base, bytes, PROT_READ | PROT_WRITE)) abort();
  return static_cast<char *>(base);
}

void map_shared(Block &b, const Kernel &k, u32 dynamic) {
  u32 align = std::max(k.shared_alignment, 16u);
  b.view.dynamic_shared_offset = u32(round_up(k.static_shared_bytes, align));
  b.view.dynamic_shared_bytes = dynamic;
  b.view.shared_bytes = b.view.dynamic_shared_offset + dynamic;
  b.guard_bytes = guard_of(b.view);
  size_t used = round_up(b.view.shared_bytes, std::max(align, 128u)), bytes = round_up(used, page) + b.guard_bytes;
  b.mapping = nullptr;
  for (size_t i = 0; i < free_mappings.size() && !b.mapping; i++)
    if (free_mappings[i].bytes == bytes) {
      b.mapping = free_mappings[i].base;
      free_mappings[i] = free_mappings.back();
      free_mappings.pop_back();
    }
  if (!b.mapping) b.mapping = map_guarded(bytes - b.guard_bytes, b.guard_bytes);
  b.mapping_bytes = bytes;
  b.view.shared = reinterpret_cast<u8 *>(b.mapping + bytes - b.guard_bytes - used);
  memset(b.view.shared, 0xff, used);
}

// True if the bytes between the shared memory's end and the guard page are untouched.
bool shared_end_intact(const Block &b) {
  const u8 *end = reinterpret_cast<u8 *>(b.mapping + b.mapping_bytes - b.guard_bytes);
  for (const u8 *p = b.view.shared + b.view.shared_bytes; p < end; p++)
    if (*p != 0xff) return false;
  return true;
}

void unmap_shared(Block &b) {
  if (b.is_closed) open_shared(b);
  if (under_tsan()) munmap(b.mapping, b.mapping_bytes);  // so that ThreadSanitizer forgets this block's accesses
  else free_mappings.push_back({b.mapping, b.mapping_bytes});
  b.mapping = nullptr;
}

// ---- choosing the next thread ----

FiberThread *pick(Block &b) {
  if (!b.ready_warps) {
    for (u32 w = 0; w < b.warp_count; w++) {
      if (b.spinning[w]) make_ready(b, w, b.spinning[w]);
      b.spinning[w] = 0;
    }
    b.spinning_warps = 0;
    return nullptr;  // the host lets other blocks run before this one spins on
  }
  if (interrupts()) return nullptr;  // no progress: the block may only spin
  u32 w = b.current_warp;
  if (order() == Order::random ? b.warp_count > 1 : !b.ready[w]) w = choose_bit(b.ready_warps, w);
  u32 lane = choose_bit(b.ready[w], w == b.current_warp ? b.current_lane : 31);
  b.ready[w] &= ~(1u << lane);
  if (!b.ready[w]) b.ready_warps &= ~(1u << w);
  b.current_warp = w, b.current_lane = lane;
  return &b.thread[w * warp_size + lane];
}

void fiber_entry();

void switch_to(Fiber &from, FiberThread *next) {
  statistics.switches++;
  current = next;
  if (!next) return switch_fiber(from, host);
  if (next->state == State::fresh) {
    History::Scope in_thread(next->fiber.tsan);  // mapping the stack counts as a write to it
    next->fiber.stack = take_stack();
    prepare_fiber(next->fiber, fiber_entry);
  }
  next->state = State::runnable;
  switch_fiber(from, next->fiber);
}

void thread_exits(FiberThread &t) {
  Block &b = *t.block;
  t.state = State::exited;
  b.live--;
  b.warp[t.warp].exited |= 1u << t.lane;
  note_progress();
  happens_before(b.grid->sync_tag);
  happens_before(&b.exit_tag);
  thread_exits_collectives(t);
  thread_exits_barriers(t);
  thread_exits_cluster(t);
  if (!b.live) let_next_start(b);
  if (!b.live && b.cluster->blocks.size() > 1) close_shared(b);
}

void fiber_entry() {
  for (;;) {
    FiberThread &t = *current;
    if (t.block->cluster->blocks.size() > 1) begin_shared(*t.block);
    t.block->grid->kernel->run(t);
    thread_exits(t);
    FiberThread *next = pick(*t.block);
    if (next && next->state == State::fresh && !under_tsan()) {
      std::swap(next->fiber.stack, t.fiber.stack);
      next->state = State::runnable;
      current = next;
      continue;
    }
    if (retired.low) give_stack(retired);
    retired = t.fiber.stack;
    t.fiber.stack = {};
    switch_to(t.fiber, next);
    abort();
  }
}

// ---- blocks ----

Dim unflatten(u64 i, const Dim &d) { return {u32(i % d.x), u32(i / d.x % d.y), u32(i / (u64(d.x) * d.y))}; }

std::unique_ptr<Block> make_block(Grid &g, Cluster &c, const Dim &cluster_id, u32 rank) {
  auto b = std::make_unique<Block>();
  BlockView &v = b->view;
  Dim in_cluster = unflatten(rank, g.cluster);
  v.ntid = g.block, v.nctaid = g.grid, v.clusterid = cluster_id, v.cluster_ctaid = in_cluster, v.cluster_nctaid = g.cluster;
  v.ctaid = {cluster_id.x * g.cluster.x + in_cluster.x, cluster_id.y * g.cluster.y + in_cluster.y,
             cluster_id.z * g.cluster.z + in_cluster.z};
  v.nclusterid = {g.grid.x / g.cluster.x, g.grid.y / g.cluster.y, g.grid.z / g.cluster.z};
  v.cluster_ctarank = rank, v.cluster_nctarank = g.cluster.x * g.cluster.y * g.cluster.z;
  v.is_explicit_cluster = g.is_explicit_cluster;
  v.nsmid = g.limits.multiprocessors, v.smid = u32((g.next_cluster + rank) % v.nsmid), v.gridid = g.id;
  v.param = g.params.data(), v.runtime = &runtime_services;
  b->grid = &g, b->cluster = &c, b->has_begun = v.cluster_nctarank == 1;
  b->threads = b->live = g.block.x * g.block.y * g.block.z;
  b->warp_count = v.nwarpid = (b->threads + warp_size - 1) / warp_size;
  map_shared(*b, *g.kernel, g.dynamic_shared);
  statistics.blocks++;
  return b;
}

void make_threads(Block &b) {
  b.thread.resize(b.threads);
  b.warp.resize(b.warp_count);
  if (under_tsan()) {  // no allocation inside a fiber: it would look like an access
    b.deliveries.reserve(256 * 1024 / 16);  // the smallest copies of a whole shared memory
    b.mbarriers.reserve(256);
    for (Warp &w : b.warp) w.groups.reserve(warp_size);
  }
  for (u32 i = 0; i < b.threads; i++) {
    FiberThread &t = b.thread[i];
    t.tid = unflatten(i, b.view.ntid), t.lane = i % warp_size, t.warp = i / warp_size, t.view = &b.view;
    t.block = &b, t.linear = i, t.state = State::fresh;
    if (under_tsan()) t.fiber.tsan = __tsan_create_fiber(0);
    b.warp[t.warp].present |= 1u << t.lane;
    make_ready(b, t.warp, 1u << t.lane);
  }
  b.current_lane = 31;
}

std::unique_ptr<Cluster> make_cluster(Grid &g, const std::vector<u32> &multiprocessors) {
  History::Scope in_history(*g.history);
  auto c = std::make_unique<Cluster>();
  u32 size = g.cluster.x * g.cluster.y * g.cluster.z;
  Dim clusters = {g.grid.x / g.cluster.x, g.grid.y / g.cluster.y, g.grid.z / g.cluster.z};
  Dim id = unflatten(permute(g.next_cluster, g.total_clusters), clusters);
  c->grid = &g;
  for (u32 rank = 0; rank < size; rank++) {
    c->blocks.push_back(make_block(g, *c, id, rank));
    c->blocks.back()->view.smid = multiprocessors[rank];
    c->live_threads += c->blocks.back()->threads;
  }
  for (auto &b : c->blocks) make_threads(*b);
  return c;
}

bool start_cluster() {
  for (Grid *g : active) {
    if (g->error || g->next_cluster == g->total_clusters) continue;
    const std::vector<u32> room = take_room(*g);
    if (room.empty()) continue;
    resident.push_back(make_cluster(*g, room));
    g->next_cluster++;
    note_progress();
    return true;
  }
  return false;
}

void release_block(Block &b) {
  drop_deliveries(b);
  drop_async_view(b);
  for (FiberThread &t : b.thread) {
    if (t.fiber.stack.low) give_stack(t.fiber.stack);
    if (t.fiber.tsan) end_history(t.fiber.tsan);
  }
  unmap_shared(b);
}

void check_finished_block(Block &b) {
  if (catch_fault()) fault_report(b);
  else finish_stores(b);
  if (!b.is_closed) check_ended_block(b);
}

// Threads of a failed grid never exit: their history ends here.
void release_abandoned(Cluster &c) {
  if (!under_tsan()) return;
  for (auto &b : c.blocks)
    for (FiberThread &t : b->thread) {
      if (t.state == State::exited) continue;
      History::Scope in_thread(t.fiber.tsan);
      happens_before(c.grid->sync_tag);
    }
}

void end_cluster(size_t index) {
  Cluster &c = *resident[index];
  if (!c.grid->error)
    for (auto &b : c.blocks) check_finished_block(*b);
  for (auto &b : c.blocks) leave_room(*c.grid, b->view.smid);
  c.grid->finished_clusters++;
  std::unique_ptr<Cluster> ended = std::move(resident[index]);
  resident.erase(resident.begin() + long(index));
  release_abandoned(*ended);
  after_all(ended->grid->sync_tag, [&] {
    for (auto &b : ended->blocks) release_block(*b);
    ended = nullptr;
  });
}

// While it exists, only memory that the grid's device may access is mapped. That costs system calls if devices may access
// different memory, so a grid stops doing it after so many of them. Where blocks are interrupted, chance spreads them over its run.
class Confinement {
 public:
  explicit Confinement(Grid &g) : active_((g.confining_calls < 128 && is_sampled()) || must_confine()) {
    if (active_) g.confining_calls += 2 * take_away_from(g.limits.ordinal);
  }
  ~Confinement() { if (active_) give_back(); }
  Confinement(const Confinement &) = delete;

 private:
  const bool active_;
};

// Runs the block until all its threads wait, spin or have exited.
void run_block(Block &b) {
  if (catch_fault()) {
    fault_report(b);
    return;
  }
  FiberThread *next = pick(b);
  if (!next) next = pick(b);
  if (next) switch_to(host, next);
  current = nullptr;
}

void check_deadlock(Cluster &c) {
  if (c.suspended) return;
  for (auto &b : c.blocks)
    if (b->ready_warps || b->spinning_warps) return;
  for (auto &b : c.blocks)
    if (b->live) report_block(*b, "deadlock: no thread of the block or cluster can continue (divergent barrier?)");
  c.grid->error = 719;
}

// ---- kernels that never wait: plain calls in a loop ----

void run_threads_directly(Grid &g, Block &b) {
  FiberThread &t = b.thread[0];
  for (u32 i = 0; i < b.threads; i++) {
    u32 n = order() == Order::reverse ? b.threads - 1 - i : i;
    t.tid = unflatten(n, g.block), t.lane = n % warp_size, t.warp = n / warp_size, t.linear = n;
    g.kernel->run(t);
  }
}

void run_block_directly(Grid &g, Block &b) {
  b.thread.resize(1);
  b.thread[0].view = &b.view, b.thread[0].block = &b, b.thread[0].state = State::runnable;
  current = &b.thread[0], direct = true;
  if (catch_fault()) fault_report(b);
  else run_threads_directly(g, b);
  current = nullptr, direct = false;
}

void run_direct(Grid &g) {
  Confinement confinement(g);
  while (g.next_cluster < g.total_clusters && !g.error) {
    Cluster c{};
    c.grid = &g;
    auto b = make_block(g, c, unflatten(permute(g.next_cluster, g.total_clusters), g.grid), 0);
    run_block_directly(g, *b);
    if (!g.error) check_finished_block(*b);
    unmap_shared(*b);
    let_next_start(*b);
    g.next_cluster++, g.finished_clusters++;
  }
}

bool runs_directly(const Grid &g) {
  return !(g.kernel->flags & kernel_may_block) && !under_tsan() && g.cluster.x * g.cluster.y * g.cluster.z == 1 &&
         g.kernel->local_bytes < 1 << 16;
}

void drop_failed_clusters() {
  for (size_t i = resident.size(); i-- > 0;)
    if (resident[i]->grid->error) end_cluster(i);
}

// Its last stores become visible only after all others have run as far as they can without them.
bool lingers_on(Cluster &c) {
  c.lingers = std::any_of(c.blocks.begin(), c.blocks.end(), [](auto &b) { return has_stores_under_way(*b); });
  return c.lingers && !c.may_end && !c.grid->error;
}

void end_lingering() {
  for (auto &c : resident) {
    if (!c->lingers) continue;
    c->may_end = true;
    note_progress();
  }
}

bool any_lets_start() { return std::any_of(active.begin(), active.end(), [](const Grid *g) { return g->has_dependent; }); }

// Whether a thread can go on, apart from those that spin.
bool any_can_go_on() {
  for (auto &c : resident)
    for (auto &b : c->blocks)
      for (const FiberThread &t : b->thread)
        if (t.state != State::spinning && b->ready[t.warp] >> t.lane & 1) return true;
  return false;
}

void one_pass() {
  for (size_t i = 0; i < resident.size(); i++) {
    Cluster &c = *resident[i];
    for (size_t n = 0; n < c.blocks.size(); n++) {
      Block &b = *c.blocks[permute(n, c.blocks.size())];
      if (!b.live || c.grid->error || !(b.ready_warps || b.spinning_warps)) continue;
      Confinement confinement(*c.grid);
      run_block(b);
    }
    bool finished = std::all_of(c.blocks.begin(), c.blocks.end(), [](auto &b) { return b->live == 0; });
    if (finished && !lingers_on(c)) end_cluster(i--);
    else if (finished) continue;
    else if (!c.grid->error) check_deadlock(c);
  }
  drop_failed_clusters();
}

void learn_host() {
  host = Fiber{};
  if (under_tsan()) host.tsan = __tsan_get_current_fiber();
}

}  // namespace

void check_ended_block(Block &b) {
  check_deliveries(b);
  if (shared_end_intact(b) || b.grid->error) return;
  report_block(b, "shared memory written past its end");
  b.grid->error = 700;
}

void make_ready(Block &b, u32 warp, u32 lanes) {
  b.ready[warp] |= lanes;
  if (lanes) b.ready_warps |= 1u << warp;
}

void stay_running(FiberThread &t) {
  Block &b = *t.block;
  b.ready[t.warp] &= ~(1u << t.lane);
  if (!b.ready[t.warp]) b.ready_warps &= ~(1u << t.warp);
}

void note_progress() { progress_events++; }

bool resume(const Grid *g, State state) {
  bool any = false;
  for (auto &c : resident)
    for (auto &b : c->blocks)
      for (FiberThread &t : b->thread) {
        if (t.state != state || (g && c->grid != g)) continue;
        make_ready(*b, t.warp, 1u << t.lane);
        any = true;
      }
  if (any) note_progress();
  return any;
}

void after_all(char *tag, const std::function<void()> &f) {
  static History *janitor = new History;
  janitor->begin();
  History::Scope in_history(*janitor);
  happens_after(tag);
  f();
}

void wait(FiberThread &t, State state, u32 line, const u8 *polled) {
  Block &b = *t.block;
  t.state = state, t.line = line;
  if (state == State::spinning) {
    // A thread has made progress if it has stored since, is at a different place, or reads a different word - unless it only
    // cycles between several of them.
    bool has_effect = t.effects != t.effects_seen, is_elsewhere = t.last_spin_line != line || t.last_polled != polled;
    if (has_effect) t.spins = 0, note_progress();
    else if (is_elsewhere && ++t.spins < 10000) looks_elsewhere++;
    t.last_spin_line = line, t.last_polled = polled, t.effects_seen = t.effects;
    b.spinning[t.warp] |= 1u << t.lane;
    b.spinning_warps |= 1u << t.warp;
  }
  switch_to(t.fiber, pick(b));
}

void fail_thread(Thread &thread, u32 error, const char *what, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Grid &g = *t.block->grid;
  const Dim &c = t.view->ctaid;
  if (!g.error)
    fprintf(stderr, "emulator: %s: %s, block (%u,%u,%u) thread (%u,%u,%u), PTX line %u\n", what, describe(g).c_str(),
            c.x, c.y, c.z, t.tid.x, t.tid.y, t.tid.z, line);
  g.error = error;
  if (direct) leave_direct_call();
  t.block->live = 0;
  for (u32 &w : t.block->ready) w = 0;
  t.block->ready_warps = 0;
  switch_to(t.fiber, nullptr);
  abort();
}

void start_grid(Grid *g) {
  static u64 ids;
  g->id = ++ids;
  g->total_clusters = u64(g->grid.x) * g->grid.y * g->grid.z / (u64(g->cluster.x) * g->cluster.y * g->cluster.z);
  g->holding_blocks = u64(g->grid.x) * g->grid.y * g->grid.z;
  statistics.launches++, statistics.early += g->awaited && !g->may_go_on;
  auto is_before = [](const Grid *one, const Grid *other) { return one->priority < other->priority; };
  active.insert(std::upper_bound(active.begin(), active.end(), g, is_before), g);
  note_progress();
}

// Clusters that begin while others run.  Any two interleave; with the stacks of 16 a run took two fifths more time, for page walks.
constexpr size_t side_by_side = 4;

Step step() {
  if (active.empty()) return Step::idle;
  learn_host();
  watch_faults();
  const u64 before = progress_events, looks_before = looks_elsewhere;
  for (Grid *g : active)
    if (runs_directly(*g)) run_direct(*g), note_progress();
  if (order() == Order::random && resident.size() < side_by_side) start_cluster();
  one_pass();
  if ((progress_events == before || resident.empty()) && !start_cluster()) {
    end_lingering();
    if (progress_events == before && any_lets_start() && !any_can_go_on()) resume(nullptr, State::at_launch);
  }
  active.erase(std::remove_if(active.begin(), active.end(), [](Grid *g) { return g->done(); }), active.end());
  stop_watching_faults();
  return progress_events != before || looks_elsewhere != looks_before ? Step::progressed : Step::stuck;
}

void abandon_grid(Grid *g, u32 error) {
  if (!g->error) g->error = error;
  drop_failed_clusters();
  active.erase(std::remove(active.begin(), active.end(), g), active.end());
}

void abandon_all_stuck() {
  for (auto &c : resident)
    for (auto &b : c->blocks)
      if (b->live) report_block(*b, "no progress: every thread waits or spins (deadlock?)");
  for (Grid *g : std::vector<Grid *>(active)) abandon_grid(g, 702);
}

u32 shared_of_block(const Kernel &k, const DeviceLimits &d, u32 dynamic_shared) {
  return u32(round_up(k.static_shared_bytes, 16)) + dynamic_shared + d.reserved_shared;
}

u32 blocks_per_multiprocessor(const Kernel &k, const DeviceLimits &d, u32 threads, u32 dynamic_shared) {
  u32 rounded = u32(round_up(threads, warp_size)), shared = shared_of_block(k, d, dynamic_shared);
  u32 blocks = std::min(d.blocks_per_sm, d.threads_per_sm / std::max(rounded, 1u));
  return shared ? std::min(blocks, d.shared_per_sm / shared) : blocks;
}

}  // namespace emulator
