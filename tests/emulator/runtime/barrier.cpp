// bar.sync, bar.arrive and bar.red.
#include "engine.h"

namespace emulator {

namespace {

u32 expected(const Block &b, const Barrier &bar) { return bar.expected ? bar.expected : b.live; }

void complete(Block &b, Barrier &bar) {
  for (u32 w = 0; w < b.warp_count; w++) {
    for (u32 lanes = bar.waiting[w]; lanes; lanes &= lanes - 1) {
      FiberThread &t = b.thread[w * warp_size + u32(__builtin_ctz(lanes))];
      t.result = t.result == reduce_popc ? bar.sum : t.result == reduce_and ? bar.all : bar.any;
    }
    make_ready(b, w, bar.waiting[w]);
  }
  bar = Barrier{};
  note_progress();
}

Barrier &enter(FiberThread &t, u32 id, u32 threads, u32 line) {
  Block &b = *t.block;
  if (id >= named_barriers) fail_thread(t, 719, "barrier number above 15", line);
  check_acquired_alias(t, line);
  t.acquires = 0;
  Barrier &bar = b.barrier[id];
  if (!bar.arrived) bar.line = line, bar.expected = threads, bar.all = 1;
  if (bar.expected != threads) fail_thread(t, 719, "barrier used with different thread counts", line);
  if (threads == 0 && bar.line != line) {
    report_block(b, "divergent barrier: threads of one block meet in different barriers, PTX lines " +
                        std::to_string(bar.line) + " and " + std::to_string(line));
    fail_thread(t, 719, "divergent barrier", line);
  }
  bar.arrived++;
  happens_before(&b.sync_tag[id]);
  return bar;
}

u32 synchronise(FiberThread &t, u32 id, u32 threads, u32 operation, u32 predicate, u32 line) {
  Block &b = *t.block;
  Barrier &bar = enter(t, id, threads, line);
  bar.sum += predicate, bar.all &= predicate, bar.any |= predicate;
  bar.waiting[t.warp] |= 1u << t.lane;
  t.result = operation;  // what complete() is to leave here
  if (bar.arrived >= expected(b, bar)) {
    complete(b, bar);
    stay_running(t);
  } else {
    wait(t, State::at_barrier, line);
  }
  happens_after(&b.sync_tag[id]);
  return t.result;
}

}  // namespace

void service_barrier(Thread &t, u32 id, u32 threads, u32 line) {
  synchronise(fiber_thread(t), id, threads, reduce_popc, 0, line);
  fiber_thread(t).fenced_aliases = fiber_thread(t).fenced_reductions = false;
}

u32 service_barrier_reduce(Thread &t, u32 id, u32 threads, u32 operation, u32 predicate, u32 line) {
  return synchronise(fiber_thread(t), id, threads, operation, predicate, line);
}

void service_barrier_arrive(Thread &thread, u32 id, u32 threads, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Barrier &bar = enter(t, id, threads, line);
  if (bar.arrived >= expected(*t.block, bar)) complete(*t.block, bar);
}

// __syncthreads() waits for the threads that have not exited.
void thread_exits_barriers(FiberThread &t) {
  Block &b = *t.block;
  for (Barrier &bar : b.barrier)
    if (bar.arrived && !bar.expected && bar.arrived >= b.live) complete(b, bar);
}

}  // namespace emulator
