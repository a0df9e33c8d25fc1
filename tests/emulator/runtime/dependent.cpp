// Programmatic dependent launch: griddepcontrol. A grid that is launched so starts as soon as all blocks of the one before it have
// let it or have ended, and runs as far as it can before any of their threads goes on: it finds memory as the grid before has left
// it by then.
#include "engine.h"

namespace emulator {

namespace {

void suspend(FiberThread &t, State state, u32 line) {
  Cluster &c = *t.block->cluster;
  c.suspended++;
  wait(t, state, line);
  c.suspended--;
}

}  // namespace

void let_next_start(Block &b) {
  if (b.lets_next_start) return;
  b.lets_next_start = true;
  b.grid->holding_blocks--;
  note_progress();
}

// The thread goes on when no other thread can.
void service_launch_dependents(Thread &thread, u32 line) {
  FiberThread &t = fiber_thread(thread);
  let_next_start(*t.block);
  if (t.block->grid->has_dependent) suspend(t, State::at_launch, line);
}

void service_wait_for_grid(Thread &thread, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Grid &g = *t.block->grid;
  g.has_waited = true;
  t.fenced_reductions = false;
  if (!g.awaited) return;
  if (!g.may_go_on) read_sources(*t.block);  // a copy that is issued before the wait may find what is old, too
  while (!g.may_go_on) suspend(t, State::at_grid, line);
  happens_after(g.awaited);
}

void end_of_grid_before(Grid &g) {
  g.may_go_on = true;
  resume(&g, State::at_grid);
}

}  // namespace emulator
