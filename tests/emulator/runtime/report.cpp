// Error messages: the state of a block's threads when it failed.
#include <cstdio>

#include "engine.h"

namespace emulator {

namespace {
const char *const state_names[] = {"have not started", "run", "wait at a barrier", "wait in a warp collective",
                                   "wait at the cluster barrier", "have let the next grid start", "wait for the grid before",
                                   "spin", "have exited"};
bool shows_line(State s) { return s != State::fresh && s != State::runnable && s != State::exited; }
}  // namespace

std::string describe(const Grid &g) {
  return std::string("kernel ") + g.kernel->name + " on device " + std::to_string(g.limits.ordinal);
}

// Threads in the same state at the same place share a line.
void report_block(const Block &b, const std::string &what) {
  fprintf(stderr, "emulator: %s: %s, block (%u,%u,%u)\n", what.c_str(), describe(*b.grid).c_str(), b.view.ctaid.x,
          b.view.ctaid.y, b.view.ctaid.z);
  for (size_t i = 0, end; i < b.thread.size(); i = end) {
    const FiberThread &t = b.thread[i];
    auto same = [&](const FiberThread &o) {
      return o.state == t.state && (!shows_line(t.state) || (o.line == t.line && o.mask == t.mask));
    };
    for (end = i + 1; end < b.thread.size() && same(b.thread[end]); end++) {}
    fprintf(stderr, "emulator:   threads %u..%u %s", t.linear, b.thread[end - 1].linear, state_names[int(t.state)]);
    if (shows_line(t.state)) fprintf(stderr, " at PTX line %u", t.line);
    if (t.state == State::in_collective) fprintf(stderr, ", mask %08x", t.mask);
    fputc('\n', stderr);
  }
}

}  // namespace emulator
