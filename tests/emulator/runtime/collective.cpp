// Shuffles, votes, matches and reductions of a warp. The last lane to arrive
// computes the result of every lane, so no lane reads another's slot later.
#include <cstring>

#include "../arithmetic.h"
#include "engine.h"

namespace emulator {

namespace {

using Resolve = void (*)(Warp &, u32 lanes);

template <class F> void for_lanes(u32 lanes, F f) { for (; lanes; lanes &= lanes - 1) f(u32(__builtin_ctz(lanes))); }

// c: bits 0-4 the clamp, bits 8-12 the segment mask, as in the PTX manual.
template <u32 mode> void shuffle(Warp &w, u32 lanes) {
  for_lanes(lanes, [&](u32 lane) {
    u32 b = w.argument[lane] & 31, clamp = w.clamp[lane] & 31, segment = w.clamp[lane] >> 8 & 31;
    u32 highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    int source = 0;
    bool in_range = false;
    switch (mode) {
      case shuffle_up: source = int(lane) - int(b), in_range = source >= int(highest); break;
      case shuffle_down: source = int(lane + b), in_range = source <= int(highest); break;
      case shuffle_xor: source = int(lane ^ b), in_range = source <= int(highest); break;
      case shuffle_index: source = int(lowest | (b & ~segment)), in_range = source <= int(highest); break;
    }
    if (!in_range) source = int(lane);
    w.predicate[lane] = in_range;
    // A lane outside the mask has no defined value: make that visible.
    w.out[lane] = lanes >> source & 1 ? w.value[source] : 0xdeadbeef;
  });
}

u32 ballot(const Warp &w, u32 lanes) {
  u32 set = 0;
  for_lanes(lanes, [&](u32 lane) { set |= u32(w.value[lane] != 0) << lane; });
  return set;
}

template <u32 mode> void vote(Warp &w, u32 lanes) {
  u32 set = ballot(w, lanes), result = 0;
  switch (mode) {
    case vote_all: result = set == lanes; break;
    case vote_any: result = set != 0; break;
    case vote_uniform: result = set == lanes || set == 0; break;
    case vote_ballot: result = set; break;
  }
  for_lanes(lanes, [&](u32 lane) { w.out[lane] = result; });
}

u32 equal_lanes(const Warp &w, u32 lanes, u32 to) {
  u32 set = 0;
  for_lanes(lanes, [&](u32 lane) { set |= u32(w.value[lane] == w.value[to]) << lane; });
  return set;
}

void match_each(Warp &w, u32 lanes) { for_lanes(lanes, [&](u32 lane) { w.out[lane] = equal_lanes(w, lanes, lane); }); }

void match_every(Warp &w, u32 lanes) {
  for_lanes(lanes, [&](u32 lane) {
    w.predicate[lane] = equal_lanes(w, lanes, lane) == lanes;
    w.out[lane] = w.predicate[lane] ? lanes : 0;
  });
}

template <class F> void reduce(Warp &w, u32 lanes, F combine) {
  u32 result = u32(w.value[__builtin_ctz(lanes)]);
  for_lanes(lanes & (lanes - 1), [&](u32 lane) { result = combine(result, u32(w.value[lane])); });
  for_lanes(lanes, [&](u32 lane) { w.out[lane] = result; });
}

void reduce_add(Warp &w, u32 l) { reduce(w, l, [](u32 a, u32 b) { return a + b; }); }
void reduce_min_s(Warp &w, u32 l) { reduce(w, l, [](u32 a, u32 b) { return s32(a) < s32(b) ? a : b; }); }
void reduce_max_s(Warp &w, u32 l) { reduce(w, l, [](u32 a, u32 b) { return s32(a) > s32(b) ? a : b; }); }
void reduce_min_u(Warp &w, u32 l) { reduce(w, l, [](u32 a, u32 b) { return a < b ? a : b; }); }
void reduce_max_u(Warp &w, u32 l) { reduce(w, l, [](u32 a, u32 b) { return a > b ? a : b; }); }
void reduce_bits_and(Warp &w, u32 l) { reduce(w, l, [](u32 a, u32 b) { return a & b; }); }
void reduce_bits_or(Warp &w, u32 l) { reduce(w, l, [](u32 a, u32 b) { return a | b; }); }
void reduce_bits_xor(Warp &w, u32 l) { reduce(w, l, [](u32 a, u32 b) { return a ^ b; }); }

template <bool is_max, bool absolute, bool nan> void reduce_float(Warp &w, u32 lanes) {
  if (absolute) for_lanes(lanes, [&](u32 lane) { w.value[lane] &= 0x7fffffffu; });
  reduce(w, lanes, [](u32 a, u32 b) {
    float x = F32(a), y = F32(b);
    if (nan) return BITS32(is_max ? float_max_nan(x, y) : float_min_nan(x, y));
    return BITS32(is_max ? float_max(x, y) : float_min(x, y));
  });
}

void no_result(Warp &, u32) {}

void elect(Warp &w, u32 lanes) {
  u32 leader = u32(__builtin_ctz(lanes));
  for_lanes(lanes, [&](u32 lane) { w.out[lane] = leader, w.predicate[lane] = lane == leader; });
}

const Resolve resolve[] = {  // in the order of enum Collective
    shuffle<shuffle_up>, shuffle<shuffle_down>, shuffle<shuffle_xor>, shuffle<shuffle_index>,
    vote<vote_all>, vote<vote_any>, vote<vote_uniform>, vote<vote_ballot>,
    match_each, match_every,
    reduce_add, reduce_min_s, reduce_max_s, reduce_min_u, reduce_max_u, reduce_bits_and, reduce_bits_or, reduce_bits_xor,
    reduce_float<false, false, false>, reduce_float<true, false, false>,
    reduce_float<false, false, true>, reduce_float<true, false, true>,
    reduce_float<false, true, false>, reduce_float<true, true, false>,
    reduce_float<false, true, true>, reduce_float<true, true, true>,
    no_result, elect,
};

Group &find_group(FiberThread &t, u32 mask, u32 operation, u32 line) {
  Warp &w = t.block->warp[t.warp];
  for (Group &g : w.groups) {
    if (g.mask != mask) continue;
    if (g.operation != operation) {
      report_block(*t.block, "lanes of one warp meet in different collectives");
      fail_thread(t, 719, "divergent warp collective", line);
    }
    return g;
  }
  w.groups.push_back({mask, 0, operation, line});
  return w.groups.back();
}

bool complete_if_all_here(Block &b, u32 warp, size_t index) {
  Warp &w = b.warp[warp];
  Group g = w.groups[index];
  if (g.arrived != (g.mask & w.present & ~w.exited)) return false;
  w.groups[index] = w.groups.back();
  w.groups.pop_back();
  resolve[g.operation](w, g.arrived);
  make_ready(b, warp, g.arrived);
  note_progress();
  return true;
}

}  // namespace

u64 service_collective(Thread &thread, u32 operation, u32 mask, u64 value, u32 argument, u32 clamp, bool *predicate, u32 line) {
  FiberThread &t = fiber_thread(thread);
  Block &b = *t.block;
  Warp &w = b.warp[t.warp];
  if (!(mask >> t.lane & 1)) fail_thread(t, 719, "warp collective whose mask lacks the calling lane", line);
  w.value[t.lane] = value, w.argument[t.lane] = argument, w.clamp[t.lane] = clamp;
  Group &g = find_group(t, mask, operation, line);
  g.arrived |= 1u << t.lane;
  if (operation == warp_barrier) happens_before(&w.sync_tag);
  t.mask = mask;
  if (complete_if_all_here(b, t.warp, size_t(&g - w.groups.data()))) stay_running(t);
  else wait(t, State::in_collective, line);
  if (operation == warp_barrier) happens_after(&w.sync_tag);
  if (predicate) *predicate = w.predicate[t.lane];
  return w.out[t.lane];
}

// Lanes that have exited are not waited for.
void thread_exits_collectives(FiberThread &t) {
  Warp &w = t.block->warp[t.warp];
  for (size_t i = w.groups.size(); i-- > 0;)
    if (w.groups[i].arrived) complete_if_all_here(*t.block, t.warp, i);
}

u32 service_active_mask(Thread &thread) { return 1u << fiber_thread(thread).lane; }

}  // namespace emulator
