// Which blocks are on which multiprocessor.  All running grids of a device share its threads, blocks and shared memory, whichever
// kernels, streams and groups they are of.  Registers are unknown in PTX.
#include <algorithm>
#include <map>

#include "engine.h"

namespace emulator {

namespace {

struct Room { u32 threads = 0, blocks = 0, shared = 0; };

// What is used of each multiprocessor, by device.
std::map<int, std::vector<Room>> devices;

std::vector<Room> &multiprocessors_of(const DeviceLimits &limits) {
  auto &all = devices[limits.ordinal];
  all.resize(limits.multiprocessors);
  return all;
}

Room block_of(const Grid &g) {
  const u32 threads = g.block.x * g.block.y * g.block.z;
  return {(threads + warp_size - 1) / warp_size * warp_size, 1, shared_of_block(*g.kernel, g.limits, g.dynamic_shared)};
}

bool fits(const Room &used, const Room &block, const DeviceLimits &limits) {
  return used.threads + block.threads <= limits.threads_per_sm && used.blocks < limits.blocks_per_sm &&
         used.shared + block.shared <= limits.shared_per_sm;
}

void add(Room &used, const Room &block, u32 sign) {
  used.threads += sign * block.threads, used.blocks += sign * block.blocks, used.shared += sign * block.shared;
}

// The one with the fewest threads of those that have room.
std::vector<Room>::iterator roomiest(std::vector<Room> &all, const Room &block, const DeviceLimits &limits) {
  auto best = all.end();
  for (auto m = all.begin(); m != all.end(); ++m)
    if (fits(*m, block, limits) && (best == all.end() || m->threads < best->threads)) best = m;
  return best;
}

}  // namespace

// One cluster always fits on an empty device, on however few multiprocessors.
std::vector<u32> take_room(const Grid &g) {
  auto &all = multiprocessors_of(g.limits);
  const Room block = block_of(g);
  const bool is_empty = std::all_of(all.begin(), all.end(), [](const Room &m) { return m.blocks == 0; });
  const u32 count = g.cluster.x * g.cluster.y * g.cluster.z;
  std::vector<u32> chosen;
  for (u32 i = 0; i < count; i++) {
    auto m = roomiest(all, block, g.limits);
    if (m == all.end() && is_empty) m = all.begin() + i % all.size();
    if (m == all.end()) break;
    add(*m, block, 1);
    chosen.push_back(u32(m - all.begin()));
  }
  if (chosen.size() == count) return chosen;
  for (u32 m : chosen) leave_room(g, m);
  return {};
}

void leave_room(const Grid &g, u32 multiprocessor) { add(multiprocessors_of(g.limits)[multiprocessor], block_of(g), u32(-1)); }

}  // namespace emulator
